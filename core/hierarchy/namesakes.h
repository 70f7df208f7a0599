/* SPDX-License-Identifier: Apache-2.0
 *
 * Two nodes of one name below different agents: the lowest agent above both sees it, keeps the one that it
 * knew first, and has the other one refused by its parent. What is said down the path, and what a parent
 * remembers of those it had to refuse. Pure data.
 */
#ifndef CORE_NAMESAKES_H
#define CORE_NAMESAKES_H

#include "core/message/message.h"

/* Tag in a welcome to a child that is one already: somebody below it, or itself, bears a name that is taken.
 * The value: the incarnation in 8 bytes, little-endian, then name and reason with their zeros. */
#define EXTENSION_NAMESAKE 7

struct namesake {
    const char *name;
    uint64_t incarnation;
    const char *why; /* for people: whose the name is and what to do */
};

/* Packed into the arena. False without memory. */
bool namesake_pack(const struct namesake *namesake, struct arena *arena, struct extension *extension);
/* Its texts lie in the extension. False when it is not there or makes no sense. */
bool namesake_read(const struct extensions *extensions, struct namesake *namesake);

/* Tag in a master agent's report to its redirectors: who is below it, so that they see names that two of
 * them have, each as 8 bytes, little-endian, its incarnation, and its name with its zero. Not told where they
 * are more than NAMES_BYTES. */
#define EXTENSION_NAMES 88
#define NAMES_BYTES     (16 << 10)

/* `bytes` of NAMES_BYTES, of which *length are used. False: it does not fit. */
bool names_add(uint8_t *bytes, uint32_t *length, const char *name, uint64_t incarnation);
/* The next one behind *at, which begins as 0; false: there is none, or it makes no sense. */
bool names_next(const struct extension *told, uint32_t *at, const char **name, uint64_t *incarnation);

#define REFUSALS_MOST 64 /* beyond, the one that ends first is forgotten: that node is tried once more */

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

/* Its hellos are to be refused for `pause_ns`, twice as long with each further time, but not beyond
 * `most_ns`: whether the name is free is known by those above only, so now and then it must be let in. */
void refusals_note(struct refusals *refusals, const struct namesake *namesake, int64_t now_ns,
                   int64_t pause_ns, int64_t most_ns);
/* Why that node is to be refused now; NULL: it is not. */
const char *refusals_find(const struct refusals *refusals, const char *name, uint64_t incarnation,
                          int64_t now_ns);
/* Whether that node was refused before. */
bool refusals_know(const struct refusals *refusals, const char *name, uint64_t incarnation);
void refusals_release(struct refusals *refusals);

#endif
