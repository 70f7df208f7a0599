/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of data that have gone from here and may be elsewhere: that one was deleted while other servers kept
 * it, too, or where it has moved. Who asks is told, and one of those that was away meanwhile asks when it is
 * back. Of durable data they are in the file that had the names of the others (store_places.c), so that a
 * restart forgets none.
 */
#include "services/data/store_state.h"

#include "util/fingerprint.h"
#include "util/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define MOST_TRACES 1024u

static const char *head_of(const struct store_trace *trace, char head[PLACES_HEAD_BYTES])
{
    snprintf(head, PLACES_HEAD_BYTES, "espalier %s 1 %016" PRIx64 "\n", trace->moved ? "moved" : "deleted",
             trace->owner);
    return head;
}

bool store_trace_head(const char *line, struct store_trace *trace)
{
    char word[16];
    uint64_t owner;
    if (sscanf(line, "espalier %15s 1 %16" SCNx64, word, &owner) != 2)
        return false;
    trace->moved = strcmp(word, "moved") == 0;
    trace->owner = owner;
    return trace->moved || strcmp(word, "deleted") == 0;
}

struct store_trace *store_find_trace(const struct store *store, struct datum_key key)
{
    struct store_trace *trace;
    DL_FOREACH(store->traces, trace)
    if (datum_key_equal(trace->key, key))
        return trace;
    return NULL;
}

static void destroy(struct store_trace *trace)
{
    free(trace->names);
    free(trace);
}

/* One whose file stays behind is there again after a restart, which is no harm. */
static void forget(struct store *store, struct store_trace *trace)
{
    if (trace->on_disk)
        store_remove_places(store, trace->key);
    DL_DELETE(store->traces, trace);
    store->n_traces--;
    destroy(trace);
}

void store_add_trace(struct store *store, struct store_trace *trace)
{
    struct store_trace *old = store_find_trace(store, trace->key);
    if (old) { /* its file is the new one's now */
        old->on_disk = false;
        forget(store, old);
    }
    if (store->n_traces == MOST_TRACES)
        forget(store, store->traces);
    DL_APPEND(store->traces, trace);
    store->n_traces++;
}

static void write(struct store *store, struct store_trace *trace)
{
    char head[PLACES_HEAD_BYTES];
    struct esp_error error;
    trace->on_disk = store_write_places(store, trace->key, head_of(trace, head), trace->names, trace->bytes,
                                        &error) == ESP_OK;
    if (!trace->on_disk)
        log_warning("data: after the next start nobody hears from here which servers have a datum that has "
                    "gone: %s",
                    error.text);
}

/* The place that it moves to, and those that keep it besides. */
static bool take_names(struct store_trace *trace, const struct datum *datum, const char *to)
{
    const size_t own = to ? strlen(to) + 1 : 0;
    trace->names = malloc(own + datum->places_bytes);
    if (!trace->names)
        return false;
    if (own > 0)
        memcpy(trace->names, to, own);
    trace->bytes = own;
    for (size_t at = 0; at < datum->places_bytes; at += strlen(datum->places + at) + 1) {
        const char *name = datum->places + at;
        if (to && strcmp(name, to) == 0)
            continue;
        memcpy(trace->names + trace->bytes, name, strlen(name) + 1);
        trace->bytes += strlen(name) + 1;
    }
    return true;
}

struct store_trace *store_trace_begin(struct store *store, struct datum *datum, const char *to)
{
    struct store_trace *trace = calloc(1, sizeof *trace);
    if (!trace || !take_names(trace, datum, to)) {
        free(trace);
        return NULL; /* then who asks is told less */
    }
    trace->key = datum->key;
    trace->owner = store_owner_digest(datum->owner);
    trace->moved = to != NULL;
    if (datum->on_disk)
        write(store, trace);
    if (trace->on_disk)
        datum->places_on_disk = false; /* the file goes on without it */
    return trace;
}

void store_trace_end(struct store *store, struct store_trace *trace)
{
    struct datum *datum = trace ? store_find(store, trace->key) : NULL;
    if (datum && datum->state == DATUM_VISIBLE) { /* it has not gone after all; the names are the same */
        datum->places_on_disk |= trace->on_disk;
        destroy(trace);
    } else if (trace) {
        store_add_trace(store, trace);
    }
}

void store_forget_trace(struct store *store, struct datum_key key)
{
    struct store_trace *trace = store->traces ? store_find_trace(store, key) : NULL;
    if (trace)
        forget(store, trace);
}

void store_trace_deleted(struct store *store, struct datum_key key, const char *identity)
{
    struct store_trace *trace = store_find_trace(store, key);
    if (!trace || !trace->moved || trace->owner != store_owner_digest(identity))
        return;
    trace->moved = false;
    if (trace->on_disk)
        write(store, trace);
}

/* Without those names. */
static void cut(struct store_trace *trace, const char *names, size_t bytes)
{
    size_t used = 0;
    for (size_t at = 0, length; at < trace->bytes; at += length) {
        length = strlen(trace->names + at) + 1;
        bool settled = false;
        for (size_t i = 0; i < bytes && !settled; i += strlen(names + i) + 1)
            settled = strcmp(names + i, trace->names + at) == 0;
        if (settled)
            continue;
        memmove(trace->names + used, trace->names + at, length);
        used += length;
    }
    trace->bytes = used;
}

void store_settle_places(struct store *store, const struct store_asker *asker, struct datum_key key,
                         const char *names, size_t bytes)
{
    struct store_trace *trace = store_find_trace(store, key);
    const uint64_t owner = store_owner_digest(asker->identity ? asker->identity : "");
    if (bytes == 0 || names[bytes - 1] != 0 || !trace || trace->moved ||
        !(asker->trusted || trace->owner == owner))
        return;
    const size_t before = trace->bytes;
    cut(trace, names, bytes);
    if (trace->bytes == 0)
        forget(store, trace);
    else if (trace->bytes < before && trace->on_disk)
        write(store, trace);
}

void store_forget_traces(struct store *store)
{
    struct store_trace *trace, *next;
    DL_FOREACH_SAFE(store->traces, trace, next)
    {
        DL_DELETE(store->traces, trace);
        destroy(trace);
    }
}
