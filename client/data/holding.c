/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/holding.h"
#include "util/clock.h"
#include "util/fork_lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

/* One lock for all holdings, so that a thread can wait for any of several. It is held briefly, and changes
 * are as rare as calls. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

struct old_value {
    char datum[DATUM_TEXT];
    struct old_value *next;
};

struct holding *holding_create(enum datum_mode mode, uint32_t flags, bool required)
{
    struct holding *holding = calloc(1, sizeof *holding);
    if (!holding)
        return NULL;
    holding->users = 1;
    holding->mode = mode;
    holding->flags = flags;
    holding->required = required;
    return holding;
}

struct holding *holding_use(struct holding *holding)
{
    pthread_mutex_lock(&lock);
    holding->users++;
    pthread_mutex_unlock(&lock);
    return holding;
}

void holding_release(struct holding *holding)
{
    if (!holding)
        return;
    pthread_mutex_lock(&lock);
    bool last = --holding->users == 0;
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    while (holding->old) {
        struct old_value *old = holding->old;
        holding->old = old->next;
        free(old);
    }
    free(holding);
}

/* Without memory the old value stays on its server. */
static void keep_old(struct holding *holding)
{
    struct old_value *old = malloc(sizeof *old);
    if (!old)
        return;
    memcpy(old->datum, holding->datum, sizeof old->datum);
    old->next = holding->old;
    holding->old = old;
}

static void set(struct holding *holding, const char *datum, bool own)
{
    bool same = strcmp(holding->datum, datum ? datum : "") == 0;
    if (!same && holding->disposes && holding->own)
        keep_old(holding);
    holding->own = datum && *datum && (same ? holding->own : own);
    snprintf(holding->datum, sizeof holding->datum, "%s", datum ? datum : "");
    holding->version++;
    pthread_cond_broadcast(&changed);
}

bool holding_datum(struct holding *holding, char *text)
{
    pthread_mutex_lock(&lock);
    bool found = holding->datum[0] != 0;
    strcpy(text, holding->datum);
    pthread_mutex_unlock(&lock);
    return found;
}

void holding_set(struct holding *holding, const char *datum)
{
    pthread_mutex_lock(&lock);
    holding->lost = (struct esp_error){0};
    set(holding, datum, false);
    pthread_mutex_unlock(&lock);
}

void holding_unset(struct holding *holding, const char *datum)
{
    pthread_mutex_lock(&lock);
    if (strcmp(holding->datum, datum) == 0) {
        holding->own = false;
        set(holding, NULL, false);
    }
    pthread_mutex_unlock(&lock);
}

bool holding_claim(struct holding *holding, char *text)
{
    pthread_mutex_lock(&lock);
    while (holding->moving)
        pthread_cond_wait(&changed, &lock);
    holding->moving = !holding->datum[0];
    bool claimed = holding->moving;
    strcpy(text, holding->datum);
    pthread_mutex_unlock(&lock);
    return claimed;
}

void holding_put_done(struct holding *holding, const char *datum)
{
    pthread_mutex_lock(&lock);
    holding->moving = false;
    set(holding, datum, true);
    pthread_mutex_unlock(&lock);
}

/* Called with the lock held. */
static void expect(struct holding *holding, struct holding_due *due)
{
    DL_APPEND(holding->due, due);
    due->listed = true;
}

uint64_t holding_enter(struct holding *const *holdings, struct holding_due *const *dues, size_t n)
{
    static uint64_t last;
    pthread_mutex_lock(&lock);
    const uint64_t turn = ++last;
    for (size_t i = 0; i < n; i++) {
        dues[i]->turn = turn;
        expect(holdings[i], dues[i]);
    }
    pthread_mutex_unlock(&lock);
    return turn;
}

void holding_expect(struct holding *holding, struct holding_due *due)
{
    pthread_mutex_lock(&lock);
    expect(holding, due);
    pthread_mutex_unlock(&lock);
}

void holding_arrived(struct holding *holding, struct holding_due *due, const char *datum,
                     const struct esp_error *why)
{
    if (!due->listed)
        return;
    pthread_mutex_lock(&lock);
    DL_DELETE(holding->due, due);
    due->listed = false;
    if (datum)
        holding->lost = (struct esp_error){0};
    else if (why)
        holding->lost = *why;
    if (datum)
        set(holding, datum, true);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void holding_tell(struct holding *holding)
{
    pthread_mutex_lock(&lock);
    holding->own = false;
    pthread_mutex_unlock(&lock);
}

void holding_read(struct holding *holding)
{
    pthread_mutex_lock(&lock);
    holding->readers++;
    pthread_mutex_unlock(&lock);
}

void holding_read_done(struct holding *holding)
{
    pthread_mutex_lock(&lock);
    holding->readers--;
    pthread_mutex_unlock(&lock);
}

bool holding_doom(struct holding *holding)
{
    pthread_mutex_lock(&lock);
    holding->doomed = holding->readers > 0;
    const bool later = holding->doomed;
    pthread_mutex_unlock(&lock);
    return later;
}

/* Called with the lock held. Takes the value of a doomed holding that no session reads. */
static bool take_doomed(struct holding *holding, char *text)
{
    if (!holding->doomed || holding->readers > 0 || holding->moving || !holding->datum[0])
        return false;
    memcpy(text, holding->datum, sizeof holding->datum);
    holding->own = false;
    set(holding, NULL, false);
    return true;
}

bool holding_take_old(struct holding *holding, bool even_read, char *text)
{
    pthread_mutex_lock(&lock);
    struct old_value *old = even_read || holding->readers == 0 ? holding->old : NULL;
    if (old)
        holding->old = old->next;
    const bool last = !old && take_doomed(holding, text);
    pthread_mutex_unlock(&lock);
    if (!old)
        return last;
    memcpy(text, old->datum, sizeof old->datum);
    free(old);
    return true;
}

/* Called with the lock held. */
static bool is_due_before(const struct holding *holding, uint64_t turn)
{
    const struct holding_due *due;
    DL_FOREACH(holding->due, due)
    if (due->turn < turn)
        return true;
    return false;
}

enum esp_status holding_wait_before(struct holding *holding, uint64_t turn, int64_t timeout_ms,
                                    struct esp_error *error)
{
    const struct timespec until = clock_ms_from_now(CLOCK_MONOTONIC, timeout_ms);
    bool is_late = false;
    pthread_mutex_lock(&lock);
    while (is_due_before(holding, turn) && !is_late)
        if (timeout_ms > 0)
            is_late = pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT;
        else
            pthread_cond_wait(&changed, &lock);
    enum esp_status status = is_due_before(holding, turn) ? ESP_PENDING : holding->lost.status;
    if (status != ESP_OK && status != ESP_PENDING && error)
        *error = holding->lost;
    pthread_mutex_unlock(&lock);
    return status;
}

enum esp_status holding_wait(struct holding *holding, struct esp_error *error)
{
    return holding_wait_before(holding, UINT64_MAX, 0, error);
}

/* Called with the lock held. */
static bool none_is_due(struct holding *const *holdings, size_t from, size_t to)
{
    while (from < to && !holdings[from]->due)
        from++;
    return from == to;
}

size_t holding_wait_any(struct holding *const *holdings, const size_t *ends, size_t n)
{
    size_t found = n;
    pthread_mutex_lock(&lock);
    while (found == n) {
        for (found = 0; found < n && !none_is_due(holdings, found > 0 ? ends[found - 1] : 0, ends[found]);)
            found++;
        if (found == n)
            pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

bool holding_is_settled(struct holding *holding)
{
    pthread_mutex_lock(&lock);
    bool settled = !holding->due;
    pthread_mutex_unlock(&lock);
    return settled;
}

bool holding_after_fork(void)
{
    changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    return fork_lock_was_free(&lock);
}

void holding_enter_call(struct invocation *invocation)
{
    struct holding *results[PROBLEM_MAX_ARGUMENTS];
    struct holding_due *dues[PROBLEM_MAX_ARGUMENTS];
    size_t n = 0;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (!value->result)
            continue;
        results[n] = value->result;
        dues[n++] = &value->due;
    }
    const uint64_t turn = holding_enter(results, dues, n);
    for (uint32_t i = 0; i < invocation->n_values; i++)
        invocation->values[i].due.turn = turn;
}
