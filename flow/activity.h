/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of an execution: activities, each of which brings one task to its end. The run of the graph
 * begins one for each computation; more are begun to make data again that were lost.
 */
#ifndef FLOW_ACTIVITY_H
#define FLOW_ACTIVITY_H

#include "flow/crew.h"
#include "flow/execution.h"
#include "flow/flow_data.h"
#include "flow/journal.h"
#include "util/hash.h"

struct activity {
    UT_hash_handle hh; /* by session */
    grpc_sessionid_t session;
    uint32_t task;
    void *ticket;    /* of the run; NULL: it makes lost data again */
    uint32_t server; /* that it was sent to, or that took it; SERVERS_NONE: not known */
    uint32_t missing, attempts;
    uint32_t noted;        /* the server where its memory is noted, or SERVERS_NONE */
    uint64_t memory_bytes; /* noted there */
    struct esp_error error;
    char *kept[PROGRAM_MAX_OUTPUTS];
    char scalars[PROGRAM_MAX_OUTPUTS][16]; /* outputs that are no arrays */
    struct activity *next_held;
    struct activity *previous, *next; /* of all */
};

/* Activities that wait until the memory of a server is free. */
struct held_back {
    struct activity *first, **last;
};

/* What the run has asked for, and is not to hear of before it has returned. */
struct due {
    struct due *next;
    void *ticket;
    bool is_transfer; /* it has ended already; else a task is to be begun */
    uint32_t task;
};

struct execution {
    const struct execution_spec *spec;
    struct flow_plan *plan;
    struct flow_servers *servers;
    struct execution_result *result;
    struct flow_data data;
    struct journal *journal; /* or NULL */
    bool *finished;          /* tasks that had ended before, by the journal; NULL without one */
    struct crew *crew;
    struct flow_run *run;
    struct activity *sessions;
    struct held_back *held; /* of each server */
    struct due *due, **last_due;
    struct flow_observer recorder;
    uint32_t ended_server; /* of the step that ends now; SERVERS_NONE: as the graph says */
    struct activity *activities;
    uint64_t done; /* tasks of the run */
    bool failed;
    struct esp_error error;
};

/* Ends the run, unless it has failed already, with the error of what a task did. */
void execution_fail(struct execution *execution, const struct task *task, const struct esp_error *error);

/* Begins a task. `ticket`: flow_step_ended() is called with it at the end. */
void activity_begin(struct execution *execution, uint32_t task, void *ticket);
/* A session has ended: of an activity. */
void activity_session_ended(struct execution *execution, grpc_sessionid_t session,
                            const struct esp_session_info *info);
/* Brings a message's datum to the server. False: nothing is to be done. */
bool activity_copy(struct execution *execution, struct flow_datum *datum, uint32_t server, void *ticket);
/* What a job has done. */
void activity_job_ended(struct execution *execution, struct crew_job *job);
/* Deletes a datum on servers if nothing needs it any more. */
void activity_forget(struct execution *execution, struct flow_datum *datum);
/* Frees activities that have not ended: the run has failed, and no session or job of theirs is under way. */
void activity_destroy_all(struct execution *execution);
/* Deletes all data that are still on servers. */
void activity_forget_all(struct execution *execution);

#endif
