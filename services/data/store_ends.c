/* SPDX-License-Identifier: Apache-2.0
 *
 * What became of data that are not here any more: told to who asks, and what was deleted does not come back
 * as a copy that was on its way.
 */
#include "services/data/store_state.h"

#include "util/fingerprint.h"

#include <string.h>

static const char *const ends[N_ENDS] = {
    [END_DELETED] = "it was deleted",
    [END_DROPPED] =
        "it was dropped to make room (a volatile datum or a replica; put it as persistent to keep "
        "it)",
    [END_EXPIRED] = "its client was not heard of for its lease (put it as persistent to keep it)",
    [END_DAMAGED] = "its file was damaged, and is set aside there (damaged/KEY.datum, "
                    "KEY being its 32 digits)",
    [END_CONSUMED] = "it was strictly volatile, and a session has used it",
    [END_PASSED] = "it was a copy for a session, and nobody has used it since",
    [END_DEPARTED] = "it was moved to another server, or its copy here was deleted",
    [END_ABORTED] = "its transfer was given up before it was complete",
};

static uint64_t digest(const char *name)
{
    return fingerprint(name, strlen(name));
}

void store_note_end(struct store *store, struct datum_key key, const char *owner, enum store_end end)
{
    store->epitaphs[store->n_epitaphs++ % STORE_EPITAPHS] =
        (struct store_epitaph){.key = key, .owner = digest(owner), .end = end};
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

const char *store_epitaph(const struct store *store, const struct datum_id *id)
{
    const struct store_epitaph *epitaph = find(store, id->key);
    if (epitaph)
        return ends[epitaph->end];
    if (store_is_set_aside(store, id->key))
        return ends[END_DAMAGED];
    if (strcmp(id->origin, store->node) != 0)
        return "it was made by another server, and there is no copy here";
    return "it is not known here: deleted or dropped long ago, volatile before a restart, or never put";
}

void store_bar(struct store *store, const struct store_asker *asker, struct datum_key key)
{
    store_note_end(store, key, asker->identity ? asker->identity : "", END_DELETED);
}

bool store_is_barred(const struct store *store, struct datum_key key, const char *owner, uint32_t flags)
{
    const struct store_epitaph *epitaph = find(store, key);
    return epitaph && (epitaph->end == END_DELETED || epitaph->end == END_CONSUMED) &&
           (flags & DATUM_SHARED || epitaph->owner == digest(owner));
}

bool store_let_go(const struct store *store, struct datum_key key)
{
    const struct store_epitaph *epitaph = find(store, key);
    return epitaph &&
           (epitaph->end == END_DELETED || epitaph->end == END_CONSUMED || epitaph->end == END_DEPARTED);
}
