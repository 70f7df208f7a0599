/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/sessions/promises.h"

#include "util/clock.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#define MOST_LEASE_MS 3600000

struct promise {
    uint64_t key[3]; /* client, sequence */
    double seconds;
    struct timer lease;
    struct promise *prev, *next; /* in the order of arrival */
    UT_hash_handle hh;
};

struct promises {
    struct promises_options options;
    struct promise *by_session;
    struct promise *line; /* in the order of arrival */
    uint32_t n;
    struct placement_mark marks[PROMISES_MOST_MARKS];
    uint32_t n_marks, next_mark;
};

bool promises_create(const struct promises_options *options, struct promises **result)
{
    struct promises *promises = calloc(1, sizeof *promises);
    if (promises)
        promises->options = *options;
    *result = promises;
    return promises;
}

uint32_t promises_count(const struct promises *promises)
{
    return promises->n;
}

static void set_key(uint64_t *key, const struct session_id *id)
{
    key[0] = id->client_high;
    key[1] = id->client_low;
    key[2] = id->sequence;
}

static struct promise *find(struct promises *promises, const struct session_id *id)
{
    uint64_t key[3];
    struct promise *promise;
    set_key(key, id);
    HASH_FIND(hh, promises->by_session, key, sizeof key, promise);
    return promise;
}

static void drop(struct promises *promises, struct promise *promise)
{
    timers_cancel(promises->options.timers, &promise->lease);
    HASH_DEL(promises->by_session, promise);
    DL_DELETE(promises->line, promise);
    free(promise);
    promises->options.changed(promises->options.arg, --promises->n);
}

void promises_destroy(struct promises *promises)
{
    while (promises && promises->line)
        drop(promises, promises->line);
    free(promises);
}

static void lease_over(struct timer *timer, int64_t now_ns, void *context)
{
    struct promises *promises = context;
    struct promise *promise = (struct promise *)((char *)timer - offsetof(struct promise, lease));
    (void)now_ns;
    promises->options.expired(promises->options.arg, promise->seconds);
    drop(promises, promise);
}

void promises_add(struct promises *promises, const struct placement *placement)
{
    const uint64_t lease_ms = placement->lease_ms < MOST_LEASE_MS ? placement->lease_ms : MOST_LEASE_MS;
    promises_keep(promises, &placement->session);
    if (promises->n >= PROMISES_MOST)
        drop(promises, promises->line);
    struct promise *promise = calloc(1, sizeof *promise);
    if (!promise)
        return;
    set_key(promise->key, &placement->session);
    promise->seconds = placement->seconds;
    promise->lease.fire = lease_over;
    promise->lease.context = promises;
    HASH_ADD(hh, promises->by_session, key, sizeof promise->key, promise);
    if (!promise->hh.tbl) {
        free(promise);
        return;
    }
    DL_APPEND(promises->line, promise);
    promises->options.changed(promises->options.arg, ++promises->n);
    const int64_t now_ns = clock_now_ns(promises->options.clock);
    if (timers_set(promises->options.timers, &promise->lease, now_ns + (int64_t)lease_ms * NS_PER_MS, NULL) !=
        ESP_OK)
        drop(promises, promise);
}

void promises_keep(struct promises *promises, const struct session_id *id)
{
    struct promise *promise = find(promises, id);
    if (promise)
        drop(promises, promise);
}

void promises_each(const struct promises *promises, void (*use)(void *arg, double seconds), void *arg)
{
    const struct promise *promise;
    DL_FOREACH(promises->line, promise)
    use(arg, promise->seconds);
}

void promises_mark(struct promises *promises, uint64_t master, uint64_t number)
{
    uint32_t i = 0;
    if (master == 0)
        return;
    while (i < promises->n_marks && promises->marks[i].master != master)
        i++;
    if (i == promises->n_marks) {
        if (promises->n_marks < PROMISES_MOST_MARKS)
            promises->n_marks++;
        else
            i = promises->next_mark++ % PROMISES_MOST_MARKS; /* the oldest master makes room */
        promises->marks[i] = (struct placement_mark){.master = master};
    }
    if (promises->marks[i].number < number)
        promises->marks[i].number = number;
}

const struct placement_mark *promises_marks(const struct promises *promises, uint32_t *n)
{
    *n = promises->n_marks;
    return promises->marks;
}
