/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that wait, so that the thread that runs a flow graph never does: some do jobs that block, one waits
 * for sessions. What has ended is handed to the running thread, one event after the other.
 */
#ifndef FLOW_CREW_H
#define FLOW_CREW_H

#include "util/error.h"
#include <espalier.h>
#include <stdbool.h>

#define CREW_MOST_THREADS 16

/* The first member of a job's own struct. */
struct crew_job {
    void (*work)(struct crew_job *job); /* in a thread of the crew */
    struct crew_job *next;
};

struct crew_event {
    struct crew_job *job; /* has been done; NULL: a session has ended */
    grpc_sessionid_t session;
    struct esp_session_info *info; /* of the session, for esp_session_info_free(); NULL without memory */
};

struct crew;

enum esp_status crew_create(struct crew **crew, struct esp_error *error);
/* Waits for the end of jobs under way. NULL is fine. */
void crew_destroy(struct crew *crew);

/* The job is done once, by any thread. It comes back as an event. */
void crew_give(struct crew *crew, struct crew_job *job);
/* One more session of esp_call_async() is under way. It comes back as an event. */
void crew_watch(struct crew *crew);
/* Whether jobs or sessions are under way, or events wait. */
bool crew_is_busy(struct crew *crew);
/* The next event. False: none has come within `patience_ms`. */
bool crew_next(struct crew *crew, long patience_ms, struct crew_event *event);

#endif
