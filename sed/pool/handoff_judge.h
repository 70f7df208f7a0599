/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside reading a worker's answer: what went wrong, in words. Each sets end->error.
 */
#ifndef SED_HANDOFF_JUDGE_H
#define SED_HANDOFF_JUDGE_H

#include "sed/pool/handoff.h"

/* "?" for a number that is none of the problem's. */
const char *handoff_argument_name(const struct job *job, int32_t argument);
/* Text out of shared memory: it ends, and has no control characters. */
void handoff_take_text(char *to, size_t size, const char *from);

/* Looks at all fences, and at inputs that a routine may not change. Leaves *end alone when they are whole. */
void handoff_describe_overrun(const struct ring *ring, const struct handoff *handoff, struct job_end *end);
/* The worker found what a large array leaves of its pages damaged. */
void handoff_describe_stray(const struct ring_answer *answer, const struct handoff *handoff,
                            struct job_end *end);

void handoff_describe_signal(const struct ring_answer *answer, const struct handoff *handoff,
                             struct job_end *end);
/* BLAS or LAPACK refused a parameter. */
void handoff_describe_illegal(const struct ring_answer *answer, const struct handoff *handoff,
                              struct job_end *end);
/* A string that the routine left is none. */
void handoff_describe_no_text(const struct ring_answer *answer, const struct handoff *handoff,
                              struct job_end *end);

#endif
