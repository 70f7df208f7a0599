/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers that have gone and are expected back, and what they solve: who asks for that meanwhile waits. They
 * were ended, or have fallen silent: whoever is stopped, frozen or cut off goes on where it was. Those
 * that said they start again are expected for RETURNING_NS, those that were stopped in good order (by
 * whatever starts daemons, perhaps to start them again) for as long as they say. What they solve stays
 * described until then, so that a program that asks for it first waits as one that knows it. Pure data; time
 * is passed in.
 */
#ifndef CORE_RETURNING_H
#define CORE_RETURNING_H

#include "core/hierarchy/catalog.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tag in a report, of servers that were below the node and are expected back: for each the milliseconds for
 * which it is expected yet (8 bytes, little-endian; the highest one is 1 where it is silent, else 0), and its
 * name with its zero. Who goes has told its parent
 * so, but mostly not those above it: that word is older than this by less than a report. */
#define EXTENSION_RETURNING 127

/* Empty, in the reply to a request that fails with ESP_UNREACHABLE: who would take it has fallen silent, with
 * its connections as they were: it is worth waiting as for one that is there and says nothing. */
#define EXTENSION_SILENT 128

/* So long they are expected, and so many at most: the first that fell silent gives way, or, for one that was
 * ended, the one that went first. A rolling restart takes
 * one at a time; the machine of several may restart them all. */
#define RETURNING_NS   INT64_C(60000000000)
#define RETURNING_MOST 256

struct returning_server;

/* An empty list has its catalogues and is zero otherwise. */
struct returning {
    struct catalog_store *catalogs;
    struct returning_server *first; /* the one that went first */
    size_t n;
};

/* That one went, `record` and its catalogue (NULL: none) are as they are now, and it is expected until then.
 * `silent`: it did not end, as far as is known. Without memory it is not noted, nor a silent
 * one where as many as may be were ended. */
void returning_note(struct returning *returning, const struct node_record *record,
                    struct known_catalog *catalog, bool silent, int64_t now_ns, int64_t until_ns);
/* It is there again, or was lost. Whether it was expected. */
bool returning_forget(struct returning *returning, const char *server);

/* One of them, for who keeps them beyond this process. */
struct returning_entry {
    const char *name, *parent, *address;
    uint64_t incarnation;
    bool silent;
    int64_t gone_ns, until_ns;
    struct known_catalog *catalog; /* what it solves; NULL: see `problems` */
    const char *problems;          /* names, each with its zero, an empty one behind the last; NULL: none */
};
/* All, the one that went first at the beginning. `visit` (false: no more of them) changes nothing. Whether it
 * wanted all. */
bool returning_each(const struct returning *returning,
                    bool (*visit)(void *arg, const struct returning_entry *entry), void *arg);
/* Notes one that an earlier life had; texts are copied. */
void returning_restore(struct returning *returning, const struct returning_entry *entry);
/* Forgets those that are expected no longer. */
void returning_tick(struct returning *returning, int64_t now_ns);
/* When the first of them is so; CLOCK_NEVER: none is expected. */
int64_t returning_due(const struct returning *returning);
/* Ended or silent. */
bool returning_has(const struct returning *returning, const char *server, int64_t now_ns);
bool returning_is_silent(const struct returning *returning, const char *server, int64_t now_ns);
/* How long one that was ended is expected yet; 0: it is not. */
int64_t returning_left_ns(const struct returning *returning, const char *server, int64_t now_ns);
/* The name of one that solves it, if there is one that was ended, valid until the list changes; NULL: none.
 */
const char *returning_solver(const struct returning *returning, const char *problem, int64_t now_ns);

/* Those that were ended as records for a tree, `returning->n` at most: how long they have been gone as their
 * age, and the milliseconds for which they are expected. Texts lie in the arena. How many; UINT32_MAX without
 * memory. */
uint32_t returning_records(const struct returning *returning, int64_t now_ns, struct arena *arena,
                           struct node_record *records);

/* For those above, as the value of an EXTENSION_RETURNING: of the `n` that are named, or (`names` NULL) of
 * all. Its length is 0 where none of them is expected. False without memory. */
bool returning_pack(const struct returning *returning, int64_t now_ns, const char *const *names, uint32_t n,
                    struct arena *arena, struct extension *extension);
/* Reads the next one: its name lies in the value. False at the end, and where the value makes no sense. */
struct returning_reader {
    const uint8_t *at;
    uint32_t left;
};
bool returning_read(struct returning_reader *reader, const char **name, bool *silent, uint64_t *ms);
void returning_release(struct returning *returning);

#endif
