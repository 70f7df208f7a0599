/* SPDX-License-Identifier: Apache-2.0
 *
 * What nodes solved that were lost, for who asks for a problem that nobody solves now: one that was lost is
 * missing, every other one is unknown. Kept are digests of names and how long they count. Pure data.
 */
#ifndef CORE_LOST_PROBLEMS_H
#define CORE_LOST_PROBLEMS_H

#include "core/message/message.h"
#include "util/hash.h"

/* Tag in an agent's record, beside EXTENSION_ABSENT: lost_problem() of what the children that it lost solved,
 * 8 bytes each, little-endian. An agent that has lost nodes and does not tell it may have lost every problem.
 */
#define EXTENSION_LOST_PROBLEMS 9
#define LOST_PROBLEMS_TOLD      4096 /* where there are more, none are told */

/* Tag in the record of a master agent for the redirector: lost_problem() of what is solved below it, or was
 * by nodes that it has lost, as above. One that does not tell it may solve every problem. */
#define EXTENSION_SOLVES 73

/* Beyond so many (1 MB) the one lost first gives way, and for as long as it would have counted nothing is
 * sure to be unknown. */
#define LOST_PROBLEMS_MOST 16384

struct lost_problem;

/* An all-zero struct is an empty list. */
struct lost_problems {
    struct lost_problem *first; /* in the order in which they were lost last */
    int64_t unsure_ns;          /* until then, any problem may have been lost */
};

/* As what a problem's name is kept. */
uint64_t lost_problem(const char *name);
/* The same of a node's name, for who asks where it is: it cannot be one of a problem. */
uint64_t lost_node(const char *name);
#define LOST_NODES_MOST 500 /* of a larger tree they are not noted: they would take the problems' room */

/* A node that solved it was lost: this counts until then. */
void lost_problems_note(struct lost_problems *lost, uint64_t problem, int64_t until_ns);
/* A node was lost, and what it solved is not known. */
void lost_problems_note_any(struct lost_problems *lost, int64_t until_ns);
/* Whether a lost node may have solved it. */
bool lost_problems_may(const struct lost_problems *lost, uint64_t problem, int64_t now_ns);

/* For those above: *extension as EXTENSION_LOST_PROBLEMS, in `arena`. False where what was lost is not sure,
 * is too much to be told, or without memory: then nothing is to be told. */
bool lost_problems_tell(const struct lost_problems *lost, int64_t now_ns, struct arena *arena,
                        struct extension *extension);
/* Whether one of the lost children of the agent whose record has these extensions may have solved it. */
bool lost_problems_told(const struct extensions *extensions, uint64_t problem);
/* An agent was lost, whose record had these extensions: with it, what it knew to be lost. */
void lost_problems_inherit(struct lost_problems *lost, const struct extensions *extensions, int64_t until_ns);

void lost_problems_release(struct lost_problems *lost);

#endif
