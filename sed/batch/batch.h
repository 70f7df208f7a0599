/* SPDX-License-Identifier: Apache-2.0
 *
 * Words that all parts of the batch room share: the states of a job, and what a batch system says about a
 * job.
 *
 * A batch job is one run of a script under a batch system. doc/batch.md explains the room to administrators.
 */
#ifndef SED_BATCH_H
#define SED_BATCH_H

#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BATCH_NAME_BYTES 48   /* of Espalier's name of a job, with its NUL */
#define BATCH_ID_BYTES   64   /* of the batch system's id of a job, with its NUL */
#define BATCH_SAID_BYTES 2048 /* of what a batch system prints, kept word for word, with its NUL */

/* In the order in which a job passes through them. The last three are final. */
enum batch_state {
    BATCH_NEW,       /* the batch system has not confirmed that it has the job */
    BATCH_QUEUED,    /* the batch system has the job, which has not started */
    BATCH_ACTIVE,    /* the job has started; a job that was requeued stays ACTIVE */
    BATCH_COMPLETED, /* the job wrote exit code 0 */
    BATCH_FAILED,    /* the job was refused, failed, was killed or got lost */
    BATCH_CANCELED,  /* Espalier, a user or an administrator cancelled the job */
    BATCH_N_STATES
};

/* "NEW", "QUEUED", "ACTIVE", "COMPLETED", "FAILED", "CANCELED". Never NULL. */
const char *batch_state_name(enum batch_state state);
/* Finds the state of that name. False: no state has that name. */
bool batch_state_find(const char *name, enum batch_state *state);

static inline bool batch_state_is_final(enum batch_state state)
{
    return state >= BATCH_COMPLETED;
}

/* The states of all batch systems, reduced to those that matter to Espalier. */
enum batch_hint {
    BATCH_HINT_NONE,    /* nothing is known, or the state says nothing */
    BATCH_HINT_WAITING, /* in the queue, also again after a requeue */
    BATCH_HINT_RUNNING, /* started, also suspended or ending */
    BATCH_HINT_ENDED,   /* the script has ended by itself, with whatever exit code */
    BATCH_HINT_CANCELED,
    BATCH_HINT_TIME_LIMIT, /* killed at its time limit, or at the deadline of the batch system */
    BATCH_HINT_NODE_FAILED,
    BATCH_HINT_OUT_OF_MEMORY,
    BATCH_HINT_PREEMPTED,
    BATCH_HINT_NOT_STARTED, /* the batch system could not start the script */
    BATCH_N_HINTS
};

/* Whether the job is over, as far as the batch system knows. */
static inline bool batch_hint_is_end(enum batch_hint hint)
{
    return hint >= BATCH_HINT_ENDED;
}

/* One job as one answer of a batch system shows it. */
struct batch_sighting {
    char id[BATCH_ID_BYTES];
    char name[BATCH_NAME_BYTES]; /* "": the answer does not tell it, or it is too long to be one of ours */
    enum batch_hint hint;
    char said[160];      /* the site's own words: "PENDING (PartitionDown)" */
    char note[160];      /* what these words mean, for people: "its partition is down"; "": nothing to add */
    char nodes[128];     /* where it runs or ran, cut to this; "": not known */
    uint32_t restarts;   /* how often the batch system has requeued the job after its first start */
    int32_t exit_code;   /* of the script, as the batch system saw it; meaningful after BATCH_HINT_ENDED */
    int32_t signal;      /* that ended the script; 0: none */
    int64_t submitted_s; /* seconds since 1970; 0: not known */
    int64_t started_s;   /* of a waiting job: when the batch system expects to start it; 0: not known */
    int64_t ended_s;     /* of a running job: its time limit; 0: not known */
};

#endif
