/* SPDX-License-Identifier: Apache-2.0
 *
 * Children that were lost without a word, for those who look at the tree: a node that cannot be reached is
 * shown as such for a while, and not as if it had never been. Pure data; nothing is decided by it.
 */
#ifndef CORE_ABSENT_H
#define CORE_ABSENT_H

#include "core/children.h"

/* Tag in a record of a tree reply, no value: the node cannot be reached; it was last heard of `age_s` ago. */
#define EXTENSION_UNREACHABLE 12

/* So long, and so many at most: the one lost first gives way. */
#define ABSENT_KEPT_NS (600 * NS_PER_S)
#define ABSENT_MOST    1000

struct absent;

/* An all-zero struct is an empty list. */
struct absentees {
    struct absent *first; /* the one lost first */
    uint32_t n;
};

/* It was lost. Without memory it is not noted. */
void absent_note(struct absentees *absentees, const struct child *child);
/* It is there again. */
void absent_forget(struct absentees *absentees, const char *name);
/* Room for all of them in a tree reply. */
uint32_t absent_count(struct absentees *absentees, int64_t now_ns);
/* Writes absent_count() records of children of `parent`; texts lie in the arena. False without memory. */
bool absent_records(const struct absentees *absentees, const char *parent, int64_t now_ns,
                    struct arena *arena, struct node_record *records);
void absent_release(struct absentees *absentees);

#endif
