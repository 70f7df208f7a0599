/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles two nodes of one name below different agents. The lowest agent above both keeps the node that it
 * knew first, and has the other one refused by its parent. This module has the message that travels down
 * to that parent, and the parent's memory of refused nodes. Pure data. */
#ifndef CORE_NAMESAKES_H
#define CORE_NAMESAKES_H

#include "core/message/message.h"

/* Tag in a welcome to a present child: that child, or a node below it, has a name that is taken. The
 * value: the incarnation in 8 bytes, little-endian, then name and reason with their zeros. */
#define EXTENSION_NAMESAKE 7

struct namesake {
    const char *name;
    uint64_t incarnation;
    const char *why; /* for people: the owner of the name, and what to do */
};

/* Packs the namesake into the arena. False without memory. */
bool namesake_pack(const struct namesake *namesake, struct arena *arena, struct extension *extension);
/* Reads the namesake; its texts point into the extension. False when it is missing or malformed. */
bool namesake_read(const struct extensions *extensions, struct namesake *namesake);

/* Tag in a master agent's report to its redirectors: all nodes below it, so that redirectors find a name
 * used below two master agents. Each node has its incarnation in 8 bytes, little-endian, and its name with
 * its zero. Not sent if longer than NAMES_BYTES. */
#define EXTENSION_NAMES 88
#define NAMES_BYTES     (16 << 10)

/* `bytes` has NAMES_BYTES bytes, of which *length are used. False: it does not fit. */
bool names_add(uint8_t *bytes, uint32_t *length, const char *name, uint64_t incarnation);
/* Reads the node at *at, which starts as 0; false at the end, or when the value is malformed. */
bool names_next(const struct extension *told, uint32_t *at, const char **name, uint64_t *incarnation);

#define REFUSALS_MOST 64 /* beyond, the refusal that ends first is dropped: that node is tried once more */

struct refusal {
    char name[CAP_NAME + 1];
    char why[CAP_ERROR_TEXT / 4];
    uint64_t incarnation;
    int64_t pause_ns, until_ns;
};

/* An all-zero struct is an empty list. */
struct refusals {
    struct refusal *items;
    uint32_t n;
};

/* Refuses the node's hellos for `pause_ns`, doubled with each further call up to `most_ns`. Only agents
 * further up know whether the name is free, so the node must be let in now and then. */
void refusals_note(struct refusals *refusals, const struct namesake *namesake, int64_t now_ns,
                   int64_t pause_ns, int64_t most_ns);
/* Returns why that node is refused now; NULL: it is not. */
const char *refusals_find(const struct refusals *refusals, const char *name, uint64_t incarnation,
                          int64_t now_ns);
/* Whether that node was refused before. */
bool refusals_know(const struct refusals *refusals, const char *name, uint64_t incarnation);
void refusals_release(struct refusals *refusals);

#endif
