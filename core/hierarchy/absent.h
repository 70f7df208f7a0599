/* SPDX-License-Identifier: Apache-2.0
 *
 * Children that were lost without a word, for those who look at the tree: a node that cannot be reached is
 * shown as such for a while, and not as if it had never been. Pure data; nothing is decided by it.
 */
#ifndef CORE_ABSENT_H
#define CORE_ABSENT_H

#include "core/hierarchy/children.h"

/* Tag in a record of a tree reply, no value: the node cannot be reached; it was last heard of `age_s` ago. */
#define EXTENSION_UNREACHABLE 12

/* Tag in an agent's record: the children that it lost, for those above (absent_pack()). */
#define EXTENSION_ABSENT 30
#define ABSENT_TOLD      100 /* of them at most, those lost last */

/* Tag in a locate reply, no value: the redirector was just started, and there may be master agents that it
 * has not heard of yet. */
#define EXTENSION_LEARNING 85

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
/* The name of the one after *at (NULL: of the first), which *at becomes; NULL: there are no more. */
const char *absent_next(const struct absentees *absentees, const struct absent **at);
/* Writes absent_count() records of children of `parent`; texts lie in the arena. False without memory. */
bool absent_records(const struct absentees *absentees, const char *parent, int64_t now_ns,
                    struct arena *arena, struct node_record *records);
/* All of them (ABSENT_TOLD at most) as the value of an EXTENSION_ABSENT: for each its role (one byte), how
 * long ago it was heard of in milliseconds and its incarnation (8 bytes each), name and address with their
 * zeros. False without memory. */
bool absent_pack(const struct absentees *absentees, int64_t now_ns, struct arena *arena,
                 struct extension *extension);
/* Reads the next one: its texts lie in the value. False at the end, and where the value makes no sense. */
struct absent_reader {
    const uint8_t *at;
    uint32_t left;
};
bool absent_read(struct absent_reader *reader, struct node_record *record);
/* What marks a record of a tree reply. */
struct extensions absent_mark(void);
void absent_release(struct absentees *absentees);

#endif
