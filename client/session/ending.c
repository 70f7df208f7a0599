/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a session: the server is informed, lent memory is taken back, and the sequence number is
 * retired.
 */
#include "client/session/ahead.h"
#include "client/session/backlog.h"
#include "client/session/lend.h"
#include "client/session/link.h"
#include "client/session/marks.h"
#include "client/session/session.h"
#include "util/clock.h"

#include <string.h>

#define GIVEN_UP_MS 1000 /* limit for informing a server that a state is not wanted */
#define CANCEL_MS   5000 /* limit for informing a server that a session is cancelled */
#define LATE_MS     200  /* both limits after the session's deadline, because the caller waits */

static int64_t farewell_ms(const struct session *session, int64_t most_ms)
{
    const bool late = session->deadline_ns != CLOCK_NEVER && session_left_ms(session) <= 1;
    return late && most_ms > LATE_MS ? LATE_MS : most_ms;
}

/* Stops the computation at the server that has the session, and takes lent memory back. Best effort: a
 * server that does not get the message drops the session at its deadline, or when the client acknowledges
 * it. */
static void stop_remote(struct session *session)
{
    int remote = atomic_load(&session->remote);
    if (!session->link || remote >= SESSION_DONE)
        return;
    if (session->attached) { /* the wait for a job may end without the job */
        if (atomic_load(&session->cancelled))
            session->job_ops->call_off(session, farewell_ms(session, CANCEL_MS));
        return;
    }
    if (session->lost)
        return;
    struct message request = {.kind = MESSAGE_CANCEL, .cancel = {.session = session->id}}, reply = {0};
    transport_call(session->engine->transport, session->link->address, &request,
                   farewell_ms(session, CANCEL_MS), &reply, NULL);
    message_clear(&reply);
}

void session_tell_given_up(struct session *session)
{
    struct message request = {.kind = MESSAGE_CANCEL, .cancel = {.session = session->given_up_id}},
                   reply = {0};
    if (session->given_up && transport_call(session->engine->transport, session->given_up->address, &request,
                                            farewell_ms(session, GIVEN_UP_MS), &reply, NULL) == ESP_OK)
        session->given_up = NULL;
    message_clear(&reply);
}

void session_end(struct session *session, enum esp_status status)
{
    session_tell_given_up(session); /* the server may be back */
    session->error.status = status;
    if (status == ESP_OK) /* note the servers of its results */
        memcpy(session->error.text, session->remote_error.text, sizeof session->error.text);
    session->ended_ns = clock_now_ns(session->engine->clock);
    if (status == ESP_OK)
        ahead_ended(session);
    lend_end(&session->invocation, status == ESP_OK);
    session->left = left_gather(&session->invocation);
    if (session->record) /* the data of a job's inputs were left by the process that submitted the job */
        session->left = left_join(session->left, session->job_ops->left(session->record));
    marks_retire(session->engine, session);
    backlog_left(session);
    /* Small results are acknowledged by the next call. Large results are acknowledged at once, to free the
     * server's memory. */
    if (session->link && session->heavy && !session->lost && !session->is_job)
        link_acknowledge(session->link);
    atomic_store(&session->phase, PHASE_ENDED);
}

void session_end_late(struct session *session)
{
    const struct esp_error before = session->error;
    const bool tell = before.status != ESP_PENDING && before.text[0];
    session_end(session, error_set(&session->error, ESP_TIMEOUT, "%s: the deadline of %.3g s passed%s%s",
                                   session->problem, session->limit_s, tell ? "; before that: " : "",
                                   tell ? before.text : ""));
}

bool session_called_off(struct session *session)
{
    if (session_is_cancelled(session)) {
        stop_remote(session);
        session_end(session, error_set(&session->error, ESP_CANCELLED, "cancelled"));
        return true;
    }
    if (session->deadline_ns != CLOCK_NEVER && clock_now_ns(session->engine->clock) >= session->deadline_ns) {
        stop_remote(session);
        session_end_late(session);
        return true;
    }
    return false;
}
