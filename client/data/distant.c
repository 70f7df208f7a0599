/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/distant.h"

#include "client/data/data.h"
#include "client/data/sequence.h"
#include "client/session/engine.h"
#include "services/data/transfer.h"
#include "util/clock.h"
#include "util/fingerprint.h"
#include "util/fork_lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit for deletions when the library ends; servers delete the rest by themselves. */
#define STOP_NS (2 * NS_PER_S)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool reachable = true; /* false while the library ends */
static _Atomic int64_t until_ns;      /* data are deleted until then; 0: not at all */

struct distant *distant_create(struct sequence *sequence, struct engine *engine, struct holding *holding,
                               void *memory, uint64_t bytes, const char *problem, const char *argument)
{
    struct distant *distant = calloc(1, sizeof *distant);
    if (!distant)
        return NULL;
    distant->users = 1;
    distant->sequence = sequence;
    distant->engine = engine;
    distant->holding = holding_use(holding);
    distant->memory = memory;
    distant->bytes = bytes;
    distant->may_guard = guard_can(memory, bytes);
    snprintf(distant->what, sizeof distant->what, "result \"%s\" of a call of %s at %p", argument, problem,
             memory);
    return distant;
}

struct distant *distant_use(struct distant *distant)
{
    pthread_mutex_lock(&lock);
    distant->users++;
    pthread_mutex_unlock(&lock);
    return distant;
}

void distant_release(struct distant *distant)
{
    if (!distant)
        return;
    pthread_mutex_lock(&lock);
    const bool last = --distant->users == 0;
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    holding_release(distant->holding);
    free(distant);
}

/* ---- deletions ---- */

struct deletion {
    struct thread_job job;
    struct engine *engine;
    char datum[DATUM_TEXT];
};

static unsigned deletions; /* under way; under the lock */
static pthread_cond_t deleted = PTHREAD_COND_INITIALIZER;

static void delete_now(void *arg)
{
    struct deletion *deletion = arg;
    data_drop(deletion->engine, deletion->datum, NULL, false, NULL); /* it may be gone */
    free(deletion);
    pthread_mutex_lock(&lock);
    deletions--;
    pthread_cond_broadcast(&deleted);
    pthread_mutex_unlock(&lock);
}

static void delete_later(struct engine *engine, const char *datum)
{
    struct deletion *deletion = malloc(sizeof *deletion);
    if (!deletion)
        return; /* the server deletes it when the client is gone */
    deletion->engine = engine;
    snprintf(deletion->datum, sizeof deletion->datum, "%s", datum);
    deletion->job = (struct thread_job){.run = delete_now, .arg = deletion};
    pthread_mutex_lock(&lock);
    deletions++;
    pthread_mutex_unlock(&lock);
    if (!thread_pool_submit(engine->runners, &deletion->job))
        delete_now(deletion);
}

static void wait_for_deletions(void)
{
    const struct timespec until = clock_ms_from_now(CLOCK_MONOTONIC, STOP_NS / NS_PER_MS);
    int late = 0;
    pthread_mutex_lock(&lock);
    while (deletions > 0 && late == 0)
        late = pthread_cond_clockwait(&deleted, &lock, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&lock);
}

void distant_delete(struct engine *engine, struct holding *holding)
{
    char datum[DATUM_TEXT];
    if (!holding_datum(holding, datum))
        return;
    holding_unset(holding, datum);
    if (reachable) {
        delete_later(engine, datum);
    } else if (until_ns > 0) {
        const int64_t before_ns = deadline_begin(until_ns);
        data_drop(engine, datum, NULL, false, NULL);
        deadline_end(before_ns);
    }
}

void distant_stop(struct engine *engine)
{
    if (engine)
        wait_for_deletions();
    until_ns = engine ? clock_now_ns(engine->clock) + STOP_NS : 0;
    reachable = false;
    guard_stop();
    reachable = true;
}

/* ---- operations of guards ---- */

/* Fetches the result from its server, or computes it again. */
static enum esp_status get(struct distant *distant, void *contents, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    enum esp_status status = ESP_NOT_FOUND;
    if (holding_datum(distant->holding, datum))
        status = data_get(distant->engine, datum, contents, distant->bytes, (struct data_told){0}, error);
    else
        error_set(error, ESP_NOT_FOUND, "it is on no server");
    if ((transfer_may_go_on(status) || status == ESP_NOT_FOUND) &&
        sequence_make_again(distant->sequence, distant->holding, error) == ESP_OK &&
        holding_datum(distant->holding, datum))
        status = data_get(distant->engine, datum, contents, distant->bytes, (struct data_told){0}, error);
    return status;
}

static enum esp_status fetch(void *arg, void *contents, struct esp_error *error)
{
    struct distant *distant = arg;
    holding_wait(distant->holding, NULL); /* the end of its call may be about to be reported */
    const enum esp_status status = get(distant, contents, error);
    if (status != ESP_OK)
        return status;
    const uint64_t print = fingerprint(contents, distant->bytes);
    pthread_mutex_lock(&lock);
    distant->print = print;
    pthread_mutex_unlock(&lock);
    return ESP_OK;
}

static void ended(void *arg, enum guard_end end)
{
    struct distant *distant = arg;
    pthread_mutex_lock(&lock);
    distant->state = end == GUARD_CAME ? DISTANT_HOME : DISTANT_NONE;
    const bool last = distant->outlives || end == GUARD_LOST;
    pthread_mutex_unlock(&lock);
    if (last)
        distant_delete(distant->engine, distant->holding);
    sequence_release(distant->sequence);
    distant_release(distant);
}

static const struct guard_ops guard_ops = {fetch, ended};

/* ---- the end of its call ---- */

static enum esp_status bring_home(struct distant *distant, const char *datum, struct esp_error *error)
{
    guard_forget(distant->memory, distant->bytes);
    const enum esp_status status =
        data_get(distant->engine, datum, distant->memory, distant->bytes, (struct data_told){0}, error);
    const uint64_t print = status == ESP_OK ? fingerprint(distant->memory, distant->bytes) : 0;
    pthread_mutex_lock(&lock);
    distant->state = status == ESP_OK ? DISTANT_HOME : DISTANT_NONE;
    distant->print = print;
    pthread_mutex_unlock(&lock);
    return status;
}

static void prints_of_edges(const struct distant *distant, uint64_t *head, uint64_t *tail)
{
    uint64_t first, last;
    guard_edges(distant->memory, distant->bytes, &first, &last);
    *head = fingerprint(distant->memory, first);
    *tail = fingerprint(distant->memory + distant->bytes - last, last);
}

/* `edges`: the bytes of both ends, one behind the other. */
static bool leave(struct distant *distant, const char *edges)
{
    uint64_t head, tail;
    guard_edges(distant->memory, distant->bytes, &head, &tail);
    pthread_mutex_lock(&lock);
    distant->state = DISTANT_LEFT;
    distant->users++; /* used by the guard */
    pthread_mutex_unlock(&lock);
    sequence_use(distant->sequence);
    if (!guard_set(distant->memory, distant->bytes, &guard_ops, distant, distant->what)) {
        sequence_release(distant->sequence);
        distant_release(distant);
        return false;
    }
    memcpy(distant->memory, edges, head);
    memcpy(distant->memory + distant->bytes - tail, edges + head, tail);
    prints_of_edges(distant, &head, &tail);
    pthread_mutex_lock(&lock);
    distant->head = head;
    distant->tail = tail;
    pthread_mutex_unlock(&lock);
    return true;
}

bool distant_edges(const struct distant *distant, uint64_t *head, uint64_t *tail)
{
    guard_edges(distant->memory, distant->bytes, head, tail);
    return distant->may_guard;
}

static bool fetch_edges_and_leave(struct distant *distant, const char *datum)
{
    struct esp_error why; /* else the whole result is fetched, which finds the reason */
    uint64_t head, tail;
    distant_edges(distant, &head, &tail);
    char *edges = malloc(head + tail);
    bool left =
        edges && data_get_ends(distant->engine, datum, edges, distant->bytes, head, tail, &why) == ESP_OK;
    left = left && leave(distant, edges);
    free(edges);
    return left;
}

enum esp_status distant_settle(struct distant *distant, const char *datum, const void *edges,
                               struct esp_error *error)
{
    if (distant->may_guard && (edges ? leave(distant, edges) : fetch_edges_and_leave(distant, datum)))
        return ESP_OK;
    return bring_home(distant, datum, error);
}

void distant_void(struct distant *distant)
{
    pthread_mutex_lock(&lock);
    if (distant->state == DISTANT_DUE)
        distant->state = DISTANT_NONE;
    pthread_mutex_unlock(&lock);
}

/* ---- for its sequence ---- */

enum distant_state distant_state(struct distant *distant, uint64_t *print)
{
    pthread_mutex_lock(&lock);
    const enum distant_state state = distant->state;
    if (print)
        *print = distant->print;
    pthread_mutex_unlock(&lock);
    return state;
}

bool distant_is_untouched(const struct distant *distant)
{
    uint64_t head, tail;
    if (!guard_is_set(distant))
        return false;
    prints_of_edges(distant, &head, &tail);
    pthread_mutex_lock(&lock);
    const bool same = distant->head == head && distant->tail == tail;
    pthread_mutex_unlock(&lock);
    return same;
}

bool distant_outlive(struct distant *distant)
{
    pthread_mutex_lock(&lock);
    distant->outlives = distant->state == DISTANT_LEFT;
    const bool outlives = distant->outlives;
    pthread_mutex_unlock(&lock);
    return outlives;
}

bool distant_after_fork(void)
{
    deleted = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    deletions = 0;
    reachable = true;
    return fork_lock_was_free(&lock) && guard_after_fork();
}
