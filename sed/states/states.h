/* SPDX-License-Identifier: Apache-2.0
 *
 * States that routines leave in their workers for later calls (`state:<id>@<server>`). A state is found by an
 * identity that nobody can guess, its memory is counted, and one session at a time works on it. A state ends
 * when a routine closes it, when it is unused for the lease, or with its worker.
 *
 * All functions are called under the endpoint's lock.
 */
#ifndef SED_STATES_H
#define SED_STATES_H

#include "sed/pool/workers.h"
#include "sed/sessions/session.h"
#include "util/timer.h"

struct states;

/* All pointers are borrowed. */
struct states_options {
    const char *name; /* of the server */
    const struct clock *clock;
    int64_t lease_ns;
    struct workers *workers;
    struct timers *timers;
    struct admission *admission; /* memory of states is given back to it */
    struct queue *queue;         /* sessions that waited for a state are put into it */
};

/* False without memory. */
bool states_create(const struct states_options *options, struct states **states);
/* NULL is nothing to do. */
void states_destroy(struct states *states);
uint32_t states_count(const struct states *states);
/* Before a session is opened: whether the state that it works on is here. */
enum esp_status states_check(struct states *states, const struct session *session, struct esp_error *error);
/* Before the job starts: reserves the state for the session. *wait: another session uses the state; this one
 * is queued again afterwards. */
enum esp_status states_take(struct states *states, struct session *session, bool *wait,
                            struct esp_error *error);
/* The job could not start: gives the state back. */
void states_not_started(struct states *states, struct session *session);
/* The session no longer waits for a state. */
void states_step_aside(struct session *session);
/* The job has ended: makes the new state known, or gives the state back, or ends it. The session fails with
 * an error. */
enum esp_status states_after(struct states *states, struct session *session, const struct job_end *end,
                             struct esp_error *error);
/* The client of a session that has ended will not get the result: closes the state that the session has
 * opened. */
void states_give_up(struct states *states, const struct session *session);
/* Nobody will come for the result of the session: if it is a job whose result was not fetched, closes the
 * state that it has opened. */
void states_uncollected(struct states *states, const struct session *session);
/* The worker of that job has died. */
void states_lost(struct states *states, uint64_t job_id);

#endif
