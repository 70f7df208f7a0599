/* SPDX-License-Identifier: Apache-2.0
 *
 * Remembers the problems of lost nodes. If no present node solves a requested problem, the problem is
 * missing when a lost node solved it, and unknown otherwise. The list has digests of names and when each
 * expires. Pure data. */
#ifndef CORE_LOST_PROBLEMS_H
#define CORE_LOST_PROBLEMS_H

#include "core/message/message.h"
#include "util/hash.h"

/* Tag in an agent's record, beside EXTENSION_ABSENT: lost_problem() of each problem that its lost children
 * solved, 8 bytes each, little-endian. An agent that has lost nodes and does not send this may have lost
 * any problem. */
#define EXTENSION_LOST_PROBLEMS 9
#define LOST_PROBLEMS_TOLD      4096 /* above this number, none are sent */

/* Tag in the record of a master agent for the redirector: lost_problem() of each problem that is solved
 * below it or was solved by its lost nodes. A master agent that does not send this may solve any problem. */
#define EXTENSION_SOLVES 73

/* Beyond this number (1 MB) the problem lost first is dropped. For the rest of that problem's time, no
 * problem counts as unknown. */
#define LOST_PROBLEMS_MOST 16384

struct lost_problem;

/* An all-zero struct is an empty list. */
struct lost_problems {
    struct lost_problem *first; /* in order of the last loss */
    int64_t unsure_ns;          /* until then, any problem may have been lost */
};

/* Returns the digest of a problem's name. */
uint64_t lost_problem(const char *name);
/* Returns the digest of a node's name, which differs from every digest of a problem's name. */
uint64_t lost_node(const char *name);
#define LOST_NODES_MOST 500 /* nodes of a larger tree are not noted, because they would displace problems */

/* Notes that a node which solved the problem was lost; expires at `until_ns`. */
void lost_problems_note(struct lost_problems *lost, uint64_t problem, int64_t until_ns);
/* Notes that a node whose problems are unknown was lost. */
void lost_problems_note_any(struct lost_problems *lost, int64_t until_ns);
/* Whether a lost node may have solved the problem. */
bool lost_problems_may(const struct lost_problems *lost, uint64_t problem, int64_t now_ns);

/* Writes the list as an EXTENSION_LOST_PROBLEMS, in `arena`. False when the list is incomplete or too
 * long, or without memory: the caller then sends none. */
bool lost_problems_tell(const struct lost_problems *lost, int64_t now_ns, struct arena *arena,
                        struct extension *extension);
/* Whether the agent's record with these extensions says that one of its lost children may have solved the
 * problem. */
bool lost_problems_told(const struct extensions *extensions, uint64_t problem);
/* An agent whose record had these extensions was lost: takes over its list. */
void lost_problems_inherit(struct lost_problems *lost, const struct extensions *extensions, int64_t until_ns);

void lost_problems_release(struct lost_problems *lost);

#endif
