/* SPDX-License-Identifier: Apache-2.0
 *
 * Leases: what vanished clients leave behind does not stay for ever.
 */
#include "services/data/store_state.h"

#include <stdlib.h>
#include <string.h>

static struct store_client *find_client(const struct store *store, const uint64_t id[2])
{
    struct store_client *client;
    HASH_FIND(hh, store->clients, id, sizeof client->id, client);
    return client;
}

static struct store_client *make_client(struct store *store, const uint64_t id[2])
{
    struct store_client *client = calloc(1, sizeof *client);
    if (!client)
        return NULL;
    memcpy(client->id, id, sizeof client->id);
    HASH_ADD(hh, store->clients, id, sizeof client->id, client);
    if (client->hh.tbl)
        return client;
    free(client);
    return NULL;
}

/* Without memory for it, the datum has no lease: it goes when room is needed. */
void store_join_client(struct store *store, struct datum *datum, const uint64_t id[2])
{
    if (store->options.client_lease_ns == 0 || (id[0] == 0 && id[1] == 0))
        return;
    struct store_client *client = find_client(store, id);
    if (!client && !(client = make_client(store, id)))
        return;
    client->seen_ns = store_now(store);
    datum->client = client;
    DL_APPEND2(client->data, datum, prev_of_client, next_of_client);
}

void store_leave_client(struct store *store, struct datum *datum)
{
    struct store_client *client = datum->client;
    if (!client)
        return;
    datum->client = NULL;
    DL_DELETE2(client->data, datum, prev_of_client, next_of_client);
    if (client->data)
        return;
    HASH_DEL(store->clients, client);
    free(client);
}

void store_client_seen(struct store *store, const uint64_t id[2])
{
    struct store_client *client = find_client(store, id);
    if (client)
        client->seen_ns = store_now(store);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* All of the client's; its record goes with the last one. */
static void expire_client(struct store *store, struct store_client *client)
{
    struct datum *datum, *next;
    for (datum = client->data; datum; datum = next) {
        next = datum->next_of_client;
        store_end(store, datum, END_EXPIRED);
    }
}

static int64_t tick_clients(struct store *store, int64_t now_ns)
{
    struct store_client *client, *next;
    int64_t next_ns = CLOCK_NEVER;
    HASH_ITER(hh, store->clients, client, next)
    {
        int64_t due_ns = client->seen_ns + store->options.client_lease_ns;
        if (due_ns <= now_ns)
            expire_client(store, client);
        else
            next_ns = earlier(next_ns, due_ns);
    }
    return next_ns;
}

/* What moves or is being written is not idle. */
static int64_t tick_unfinished(struct store *store, int64_t now_ns)
{
    struct datum *datum, *next;
    int64_t next_ns = CLOCK_NEVER;
    if (store->options.put_lease_ns == 0)
        return next_ns;
    DL_FOREACH_SAFE(store->unfinished, datum, next)
    {
        bool busy = datum->areas > 0 || datum->state == DATUM_COMMITTING;
        int64_t due_ns = (busy ? now_ns : datum->used_ns) + store->options.put_lease_ns;
        if (due_ns <= now_ns)
            store_end(store, datum, END_ABORTED);
        else
            next_ns = earlier(next_ns, due_ns);
    }
    return next_ns;
}

void store_stay(struct store *store, struct datum_key key)
{
    struct datum *datum = store_find(store, key);
    if (!datum || !datum->passing)
        return;
    datum->passing = false;
    store->n_passing--;
}

void store_spare(struct store *store, struct datum_key key, int64_t for_ns)
{
    struct datum *datum = store_find(store, key);
    if (!datum || datum->state != DATUM_VISIBLE)
        return;
    store->n_spared += datum->spared_until_ns == 0;
    datum->spared_until_ns = store_now(store) + for_ns;
    store_line_up(store, datum);
}

void store_spare_no_more(struct store *store, struct datum *datum)
{
    if (datum->spared_until_ns == 0)
        return;
    datum->spared_until_ns = 0;
    store->n_spared--;
    store_line_up(store, datum);
}

static int64_t tick_spared(struct store *store, int64_t now_ns)
{
    int64_t next_ns = CLOCK_NEVER;
    for (struct datum *datum = store->data; store->n_spared > 0 && datum; datum = datum->hh.next) {
        if (datum->spared_until_ns == 0)
            continue;
        if (datum->spared_until_ns <= now_ns)
            store_spare_no_more(store, datum);
        else
            next_ns = earlier(next_ns, datum->spared_until_ns);
    }
    return next_ns;
}

/* What may be dropped is in the order of its last use: behind the first one that is not due, none is. */
static int64_t tick_line(struct store *store, enum datum_line line, int64_t now_ns)
{
    struct datum *datum, *next;
    DL_FOREACH_SAFE(store->lines[line], datum, next)
    {
        int64_t due_ns = datum->used_ns + store->options.passing_ns;
        if (due_ns > now_ns)
            return due_ns;
        if (datum->passing)
            store_end(store, datum, END_PASSED);
    }
    return now_ns + store->options.passing_ns; /* those that are pinned now */
}

static int64_t tick_passing(struct store *store, int64_t now_ns)
{
    if (store->n_passing == 0 || store->options.passing_ns == 0)
        return CLOCK_NEVER;
    return earlier(tick_line(store, LINE_DROP, now_ns), tick_line(store, LINE_BORNE, now_ns));
}

int64_t store_tick(struct store *store)
{
    int64_t now_ns = store_now(store);
    int64_t due_ns = earlier(tick_clients(store, now_ns), tick_unfinished(store, now_ns));
    return earlier(earlier(due_ns, tick_spared(store, now_ns)), tick_passing(store, now_ns));
}
