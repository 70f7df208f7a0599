/* SPDX-License-Identifier: Apache-2.0
 *
 * When to ask a batch system next, and when to look for files of jobs next. Pure logic.
 *
 * A batch system gets one question for all jobs: BATCH_PACE_FIRST_NS after something has changed, then less
 * and less often, down to one question in BATCH_PACE_MOST_NS.
 */
#ifndef SED_BATCH_PACE_H
#define SED_BATCH_PACE_H

#include <stdint.h>

#define BATCH_PACE_FIRST_NS INT64_C(2000000000)
#define BATCH_PACE_MOST_NS  INT64_C(30000000000)

struct batch_pace {
    int64_t interval_ns; /* between the latest question and the next one */
    int64_t asked_ns;    /* the latest question */
    int64_t due_ns;      /* the next question */
};

/* No question is due. */
void batch_pace_begin(struct batch_pace *pace);
/* A job was submitted, cancelled or has changed: the next question is due BATCH_PACE_FIRST_NS from now, or
 * earlier if it was. */
void batch_pace_hurry(struct batch_pace *pace, int64_t now_ns);
/* A question was just asked. */
void batch_pace_asked(struct batch_pace *pace, int64_t now_ns);
/* No job is left to ask about. */
void batch_pace_rest(struct batch_pace *pace);

/* How long to wait before looking for the files of a job again that was submitted `age_ns` ago: a twentieth
 * of its age, so that the end of a job is noticed late by about 5 % of its time, from 50 ms to 2 s. */
int64_t batch_pace_look_ns(int64_t age_ns);

#endif
