/* SPDX-License-Identifier: Apache-2.0
 *
 * What became of data that are not here any more: told to who asks, and what was deleted does not come back
 * as a copy that was on its way.
 */
#include "services/data/store_state.h"

#include "util/fingerprint.h"

#include <stdio.h>
#include <string.h>

static const char *const ends[N_ENDS] = {
    [END_DELETED] = "it was deleted",
    [END_BARRED] = "it was deleted",
    [END_DROPPED] =
        "it was dropped to make room (a volatile datum or a replica; put it as persistent to keep "
        "it)",
    [END_EXPIRED] = "its client was not heard of for its lease (put it as persistent to keep it)",
    [END_DAMAGED] = "its file was damaged, and is set aside there (damaged/KEY.datum, "
                    "KEY being its 32 digits; 'espalier data ls --damaged')",
    [END_CONSUMED] = "it was strictly volatile, and a session has used it",
    [END_PASSED] = "it was a copy for a session, and nobody has used it since",
    [END_DEPARTED] = "its copy here was deleted, and it may be on other servers",
    [END_MOVED] = "it was moved to another server",
    [END_REMOVED] = "its file was damaged, and was removed",
    [END_ABORTED] = "its transfer was given up before it was complete",
};

uint64_t store_owner_digest(const char *name)
{
    return fingerprint(name, strlen(name));
}

void store_note_end(struct store *store, struct datum_key key, const char *owner, enum store_end end)
{
    struct store_epitaph *epitaph = &store->epitaphs[store->n_epitaphs++ % STORE_EPITAPHS];
    *epitaph = (struct store_epitaph){.key = key, .owner = store_owner_digest(owner), .end = end};
}

/* The latest word on it; NULL: there is none. */
static const struct store_epitaph *find(const struct store *store, struct datum_key key)
{
    for (uint32_t i = 0; i < STORE_EPITAPHS && i < store->n_epitaphs; i++) {
        const struct store_epitaph *epitaph = &store->epitaphs[(store->n_epitaphs - 1 - i) % STORE_EPITAPHS];
        if (datum_key_equal(epitaph->key, key))
            return epitaph;
    }
    return NULL;
}

const char *store_moved_to(const struct store *store, struct datum_key key)
{
    const struct store_trace *trace = store_has(store, key) ? NULL : store_find_trace(store, key);
    return trace && trace->moved ? trace->names : NULL;
}

/* Of the datum, and not of the copy here only. */
static bool ends_all(const struct store_epitaph *epitaph)
{
    return epitaph->end == END_DELETED || epitaph->end == END_CONSUMED;
}

const char *store_epitaph(const struct store *store, const struct datum_id *id, char text[STORE_EPITAPH_TEXT])
{
    const struct store_epitaph *epitaph = find(store, id->key);
    const struct store_trace *trace = store_find_trace(store, id->key);
    /* What became since of a copy here, or of one that did not come, is not what became of the datum. */
    if (trace && trace->moved && !(epitaph && (ends_all(epitaph) || epitaph->end == END_BARRED))) {
        snprintf(text, STORE_EPITAPH_TEXT, "it was moved to server %.*s", CAP_NAME, trace->names);
        return text;
    }
    if (epitaph && epitaph->end == END_DAMAGED && !store_is_set_aside(store, id->key))
        return "its file there was damaged, or somebody has removed it";
    if (epitaph)
        return ends[epitaph->end];
    if (trace)
        return ends[END_DELETED];
    if (store_is_set_aside(store, id->key))
        return ends[END_DAMAGED];
    if (strcmp(id->origin, store->node) != 0)
        return "it was made by another server, and there is no copy here";
    return "it is not known here: deleted or dropped long ago, volatile before a restart, or never put";
}

void store_bar(struct store *store, const struct store_asker *asker, struct datum_key key)
{
    const char *identity = asker->identity ? asker->identity : "";
    store_note_end(store, key, identity, END_BARRED);
    store_trace_deleted(store, key, identity);
}

bool store_is_barred(const struct store *store, struct datum_key key, const char *owner, uint32_t flags)
{
    const struct store_epitaph *epitaph = find(store, key);
    const struct store_trace *trace = store_find_trace(store, key);
    const uint64_t own = store_owner_digest(owner);
    return (trace && !trace->moved && (flags & DATUM_SHARED || trace->owner == own)) ||
           (epitaph && (ends_all(epitaph) || epitaph->end == END_BARRED) &&
            (flags & DATUM_SHARED || epitaph->owner == own));
}

bool store_was_deleted(const struct store *store, struct datum_key key)
{
    const struct store_epitaph *epitaph = find(store, key);
    const struct store_trace *trace = store_has(store, key) ? NULL : store_find_trace(store, key);
    return (epitaph && ends_all(epitaph)) || (trace && !trace->moved);
}

bool store_has_lost(const struct store *store, struct datum_key key)
{
    const struct store_epitaph *epitaph = find(store, key);
    return epitaph && epitaph->end == END_DAMAGED;
}
