/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists children that were lost without a goodbye, so that a listing of the tree shows an unreachable node
 * for a while instead of leaving it out. Pure data; no decision depends on it. */
#ifndef CORE_ABSENT_H
#define CORE_ABSENT_H

#include "core/hierarchy/children.h"

/* Tag in a record of a tree reply, no value: the node cannot be reached; the last contact was `age_s` ago. */
#define EXTENSION_UNREACHABLE 12

/* Tag in an agent's record: the children that the agent has lost (absent_pack()). */
#define EXTENSION_ABSENT 30
#define ABSENT_TOLD      100 /* most children in an EXTENSION_ABSENT: the ones lost last */

/* Tag in a locate reply, no value: the redirector has just started, so some master agents may not have
 * registered yet. */
#define EXTENSION_LEARNING 85

/* A lost child is listed for ABSENT_KEPT_NS. Beyond ABSENT_MOST children, the one lost first is dropped. */
#define ABSENT_KEPT_NS (600 * NS_PER_S)
#define ABSENT_MOST    1000

struct absent;

/* An all-zero struct is an empty list. */
struct absentees {
    struct absent *first; /* the one lost first */
    uint32_t n;
};

/* Notes that the child was lost. Without memory it is not noted. */
void absent_note(struct absentees *absentees, const struct child *child);
/* Removes the child, which is connected again. */
void absent_forget(struct absentees *absentees, const char *name);
/* Returns how many children are listed: the records needed in a tree reply. */
uint32_t absent_count(struct absentees *absentees, int64_t now_ns);
/* Iterates: sets *at to the child after *at (NULL: to the first) and returns its name; NULL after the
 * last. */
const char *absent_next(const struct absentees *absentees, const struct absent **at);
/* Writes absent_count() records of children of `parent`; texts lie in the arena. False without memory. */
bool absent_records(const struct absentees *absentees, const char *parent, int64_t now_ns,
                    struct arena *arena, struct node_record *records);
/* Packs at most ABSENT_TOLD children as the value of an EXTENSION_ABSENT. Each has its role (1 byte), the
 * time since its last contact in milliseconds and its incarnation (8 bytes each), then name and address,
 * each with its zero. False without memory. */
bool absent_pack(const struct absentees *absentees, int64_t now_ns, struct arena *arena,
                 struct extension *extension);
/* Reads the next child from such a value; its texts point into the value. False at the end, or when the
 * value is malformed. */
struct absent_reader {
    const uint8_t *at;
    uint32_t left;
};
bool absent_read(struct absent_reader *reader, struct node_record *record);
/* Returns the extension that marks the record of an unreachable node in a tree reply. */
struct extensions absent_mark(void);
void absent_release(struct absentees *absentees);

#endif
