/* SPDX-License-Identifier: Apache-2.0
 *
 * Internal to reading a worker's answer: explains errors. Each function sets end->error. */
#ifndef SED_HANDOFF_JUDGE_H
#define SED_HANDOFF_JUDGE_H

#include "sed/pool/handoff.h"

/* Returns the argument's name; "?" for an invalid number. */
const char *handoff_argument_name(const struct job *job, int32_t argument);
/* Copies a text from shared memory: terminated, and without control characters. */
void handoff_take_text(char *to, size_t size, const char *from);

/* Checks all fences, and inputs that a routine must not change. Leaves *end unchanged if they are intact. */
void handoff_describe_overrun(const struct ring *ring, const struct handoff *handoff, struct job_end *end);
/* The worker found the unused part of a large array's pages damaged. */
void handoff_describe_stray(const struct ring_answer *answer, const struct handoff *handoff,
                            struct job_end *end);

void handoff_describe_signal(const struct ring_answer *answer, const struct handoff *handoff,
                             struct job_end *end);
/* BLAS or LAPACK refused a parameter. */
void handoff_describe_illegal(const struct ring_answer *answer, const struct handoff *handoff,
                              struct job_end *end);
/* The routine returned an invalid string. */
void handoff_describe_no_text(const struct ring_answer *answer, const struct handoff *handoff,
                              struct job_end *end);

#endif
