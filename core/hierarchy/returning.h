/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers that went to be started again, as they said, and what they solve: who asks for that meanwhile
 * waits. They are named by digests of problems (core/hierarchy/lost_problems.h). Pure data; time is passed
 * in.
 */
#ifndef CORE_RETURNING_H
#define CORE_RETURNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So long they are expected, and so many at most: the one that went first gives way. A rolling restart takes
 * one at a time; the machine of several may restart them all. */
#define RETURNING_NS   INT64_C(60000000000)
#define RETURNING_MOST 256

struct returning_server;

/* An all-zero struct is an empty list. */
struct returning {
    struct returning_server *first; /* the one that went first */
    size_t n;
};

/* It went; the problems are copied. Without memory it is not noted. */
void returning_note(struct returning *returning, const char *server, const uint64_t *problems, size_t n,
                    int64_t now_ns);
/* It is there again, or was lost. */
void returning_forget(struct returning *returning, const char *server);
bool returning_has(const struct returning *returning, const char *server, int64_t now_ns);
/* The name of one that solves it, valid until the list changes; NULL: none. */
const char *returning_solver(const struct returning *returning, uint64_t problem, int64_t now_ns);
void returning_release(struct returning *returning);

#endif
