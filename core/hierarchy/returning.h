/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists servers that are away and expected back, with the problems they solve: requests for these problems
 * wait meanwhile. Such a server was ended, or has fallen silent (a stopped, frozen or cut off process
 * continues where it was). A server that announced a restart is expected for RETURNING_NS. A server that
 * was stopped in good order is expected for as long as it said. Its problems stay described until then, so
 * that a program that asks for one for the first time also waits. Pure data; time is passed in. */
#ifndef CORE_RETURNING_H
#define CORE_RETURNING_H

#include "core/hierarchy/catalog.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tag in a report: servers that were below the node and are expected back. Each has the milliseconds for
 * which it is still expected (8 bytes, little-endian; the highest bit is 1 if the server is silent), and
 * its name with its zero. The server itself mostly informed its parent only, so agents further up learn it
 * from this extension. */
#define EXTENSION_RETURNING 127

/* Tag without value, in the reply to a request that fails with ESP_UNREACHABLE: the server for it has
 * fallen silent with its connections intact, so the client waits as for a server that does not answer. */
#define EXTENSION_SILENT 128

/* RETURNING_NS: how long a restarting server is expected. RETURNING_MOST: most entries; beyond, the server
 * silent for longest is dropped, or, to make room for an ended server, the one that went first. A rolling
 * restart takes one server at a time; restarting a machine takes all servers on it. */
#define RETURNING_NS   INT64_C(60000000000)
#define RETURNING_MOST 256

struct returning_server;

/* An empty list has `catalogs` set and is zero otherwise. */
struct returning {
    struct catalog_store *catalogs;
    struct returning_server *first; /* the server that went first */
    size_t n;
};

/* Notes that a server is away; `record` and its catalogue (NULL: none) are as they are now. It is expected
 * until `until_ns`. `silent`: it did not end, as far as is known. It is not noted without memory, nor if
 * it is silent and the list is full of ended servers. */
void returning_note(struct returning *returning, const struct node_record *record,
                    struct known_catalog *catalog, bool silent, int64_t now_ns, int64_t until_ns);
/* Removes a server that is back or was lost. Returns whether it was listed. */
bool returning_forget(struct returning *returning, const char *server);

/* One server, for callers that save the list to a file. */
struct returning_entry {
    const char *name, *parent, *address;
    uint64_t incarnation;
    bool silent;
    int64_t gone_ns, until_ns;
    struct known_catalog *catalog; /* problems that it solves; NULL: see `problems` */
    const char *problems;          /* names, each with its zero, an empty one after the last; NULL: none */
};
/* Visits all servers, the one that went first at the beginning, until `visit` returns false. `visit` must
 * not change the list. Returns whether all were visited. */
bool returning_each(const struct returning *returning,
                    bool (*visit)(void *arg, const struct returning_entry *entry), void *arg);
/* Adds an entry that an earlier process saved; copies texts. */
void returning_restore(struct returning *returning, const struct returning_entry *entry);
/* Drops servers whose time is over. */
void returning_tick(struct returning *returning, int64_t now_ns);
/* When the next server's time is over; CLOCK_NEVER: the list is empty. */
int64_t returning_due(const struct returning *returning);
/* Whether the server is listed, ended or silent. */
bool returning_has(const struct returning *returning, const char *server, int64_t now_ns);
bool returning_is_silent(const struct returning *returning, const char *server, int64_t now_ns);
/* How much longer a server that was ended is expected; 0: it is not. */
int64_t returning_left_ns(const struct returning *returning, const char *server, int64_t now_ns);
/* Returns the name of a server that was ended and solves the problem, valid until the list changes; NULL:
 * none. */
const char *returning_solver(const struct returning *returning, const char *problem, int64_t now_ns);

/* Writes ended servers as records for a tree, at most `returning->n`: their age is the time since they
 * went, and an extension has the milliseconds for which they are still expected. Texts lie in the arena.
 * Returns how many; UINT32_MAX without memory. */
uint32_t returning_records(const struct returning *returning, int64_t now_ns, struct arena *arena,
                           struct node_record *records);

/* Packs an EXTENSION_RETURNING with the `n` named servers, or (`names` NULL) with all. Its length is 0 if
 * none of them is expected. False without memory. */
bool returning_pack(const struct returning *returning, int64_t now_ns, const char *const *names, uint32_t n,
                    struct arena *arena, struct extension *extension);
/* Reads the next server; its name points into the value. False at the end, or when the value is malformed. */
struct returning_reader {
    const uint8_t *at;
    uint32_t left;
};
bool returning_read(struct returning_reader *reader, const char **name, bool *silent, uint64_t *ms);
void returning_release(struct returning *returning);

#endif
