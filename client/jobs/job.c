/* SPDX-License-Identifier: Apache-2.0 */
#include "client/jobs/job.h"
#include "client/session/backlog.h"
#include "client/session/deadline.h"
#include "client/session/given_up.h"
#include "client/session/link.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TELL_MS    5000 /* for a server that is told to stop or forget */
#define MOST_LOOKS 5    /* at a server that is silent */

/* ---- submitting ---- */

static bool has_bulk(const struct session *session)
{
    for (uint32_t i = 0; i < session->invocation.n_values; i++)
        if (session->invocation.values[i].bulk)
            return true;
    return false;
}

bool job_is_handed_over(const struct session *session)
{
    int state = atomic_load(&session->remote);
    /* While it waits for memory, the server holds the small arguments only. */
    return state >= SESSION_QUEUED || (state == SESSION_WAITING && !has_bulk(session));
}

static enum esp_status greet(struct engine *engine, const char *address, uint64_t *incarnation,
                             struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}}, reply = {0};
    enum esp_status status =
        deadline_call(engine->transport, address, &request, engine->call_timeout_ms, &reply, error);
    *incarnation = status == ESP_OK ? reply.greet_reply.incarnation : 0;
    message_clear(&reply);
    return status;
}

static double seconds_since_1970(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fill_record(struct session *session, struct job_record *record)
{
    record->session = session->id;
    record->origin = session->origin;
    free(record->keepers);
    record->keepers = session->keepers;
    session->keepers = NULL;
    record->submitted_s = seconds_since_1970();
    snprintf(record->server, sizeof record->server, "%s", session->server);
    snprintf(record->address, sizeof record->address, "%s", session->link->address);
    record->incarnation = session->candidates[session->next_candidate - 1].incarnation;
}

enum esp_status job_hand_over(struct session *session, bool patient, struct job_record *record,
                              struct esp_error *error)
{
    session->has_owner = job_store_owner(session->owner);
    enum session_step step;
    while ((step = session_advance(session)) == STEP_HELD ||
           (step == STEP_WAIT && !job_is_handed_over(session)))
        if (step == STEP_WAIT)
            session_follow(session);
        else if (patient)
            backlog_wait(session);
        else
            session_end(session, session->error.status == ESP_PENDING
                                     ? error_set(&session->error, ESP_LIMIT, "all servers are full")
                                     : ESP_LIMIT);
    if (atomic_load(&session->phase) == PHASE_ENDED) {
        *error = session->error;
        /* What a server may have of it nobody asks for any more. */
        if (session->link) {
            struct job_record left = {.session = session->log_id};
            snprintf(left.address, sizeof left.address, "%s", session->link->address);
            job_drop(session->engine, &left, NULL);
        }
        return error->status;
    }
    fill_record(session, record);
    engine_retire(session->engine, session);
    return ESP_OK;
}

enum esp_status job_keep(struct engine *engine, const struct job_record *record, struct esp_error *error)
{
    struct extension keep = {EXTENSION_KEEP, (const uint8_t *)"", 0};
    struct follow follow = {.extensions = {&keep, 1}};
    struct message reply = {0};
    uint64_t left_ms;
    enum job_fate fate;
    enum esp_status status = job_ask(engine, record, &follow, &reply, &fate, error);
    if (status == ESP_OK && !lease_get(&reply.follow_reply.extensions, &left_ms))
        status = error_set(error, ESP_VERSION, "server %s is of a release that has no jobs", record->server);
    message_clear(&reply);
    return status;
}

/* ---- asking ---- */

static bool is_silent(enum esp_status status)
{
    return status == ESP_UNREACHABLE || status == ESP_TIMEOUT || status == ESP_MAYBE;
}

/* One that does not answer: whether it is in the tree, perhaps elsewhere (`address`). */
static enum job_fate fate_of_silent(struct engine *engine, const struct job_record *record,
                                    char address[CAP_ADDRESS + 1])
{
    struct esp_error ignored;
    strcpy(address, record->address);
    if (!*record->server || strchr(record->server, ':'))
        return JOB_SILENT; /* it was named by its address, which is no name in the tree */
    enum esp_status status = engine_resolve(engine, record->server, address, &ignored);
    return status == ESP_NOT_FOUND                                     ? JOB_GONE
           : status != ESP_OK || strcmp(address, record->address) == 0 ? JOB_SILENT
                                                                       : JOB_THERE;
}

bool job_find_moved(struct engine *engine, const struct job_record *record, enum esp_status why,
                    char address[CAP_ADDRESS + 1])
{
    return is_silent(why) && why != ESP_TIMEOUT && fate_of_silent(engine, record, address) == JOB_THERE;
}

/* Also where its server was started again: it has the results that it had when it ended. */
static enum esp_status ask_server(struct engine *engine, const struct job_record *record,
                                  const struct message *request, int64_t timeout_ms, struct message *reply,
                                  struct esp_error *error)
{
    char address[CAP_ADDRESS + 1];
    enum esp_status status =
        deadline_call(engine->transport, record->address, request, timeout_ms, reply, error);
    if (!job_find_moved(engine, record, status, address))
        return status;
    message_clear(reply);
    return deadline_call(engine->transport, address, request, timeout_ms, reply, error);
}

/* The server does not have it, or does not answer: what has become of the job. */
static enum esp_status explain(struct engine *engine, const struct job_record *record, enum job_fate *fate,
                               struct esp_error *error)
{
    char address[CAP_ADDRESS + 1], id[SESSION_TEXT];
    uint64_t incarnation = 0;
    struct esp_error ignored, why = *error;
    job_id(record, id);
    strcpy(address, record->address);
    *fate = is_silent(error->status) ? fate_of_silent(engine, record, address) : JOB_THERE;
    if (*fate == JOB_SILENT)
        return error_set(error, ESP_UNREACHABLE,
                         "job %s: server %s at %s does not answer; it may still have the job: %s", id,
                         record->server, record->address, why.text);
    if (*fate == JOB_GONE)
        return error_set(error, ESP_NOT_FOUND,
                         "job %s is lost: server %s at %s does not answer, and is not in the tree any more; "
                         "submit it again (should that server come back, it may still have the job): %s",
                         id, record->server, record->address, why.text);
    enum esp_status greeted = greet(engine, address, &incarnation, &ignored);
    if (job_find_moved(engine, record, greeted, address))
        greeted = greet(engine, address, &incarnation, &ignored);
    if (greeted == ESP_OK && record->incarnation != 0 && incarnation != record->incarnation) {
        *fate = JOB_LOST;
        return error_set(error, ESP_NOT_FOUND,
                         "job %s is lost: server %s was restarted after it was submitted; submit it again",
                         id, record->server);
    }
    *fate = record->unsure ? JOB_LOST : JOB_OVER;
    return error_set(error, ESP_NOT_FOUND,
                     "server %s does not have job %s any more: it was fetched or forgotten, or its result "
                     "waited longer than the server keeps jobs",
                     record->server, id);
}

enum esp_status job_explain(struct engine *engine, const struct job_record *record, enum job_fate *fate,
                            struct esp_error *error)
{
    const enum esp_status status = error->status;
    *fate = JOB_THERE;
    if (status != ESP_NOT_FOUND && status != ESP_STALE && !is_silent(status))
        return status;
    return explain(engine, record, fate, error);
}

/* Its server ends, and has cut it short. */
static enum esp_status is_given_up(const struct job_record *record, const struct session_report *report,
                                   enum job_fate *fate, struct esp_error *error)
{
    char id[SESSION_TEXT];
    *fate = JOB_LOST;
    return error_set(error, ESP_NOT_FOUND, "job %s is lost: server %s: %s; submit it again",
                     job_id(record, id), record->server, report->outcome.text);
}

/* The server of a job that is waited for did not answer in time: asked anew, which is answered at once, until
 * it answers, or agents have lost it and the job can be called again. Then, or when it took too long, the
 * last try is the one that counts. */
static enum esp_status watch(struct engine *engine, const struct job_record *record, struct message *request,
                             struct message *reply, struct esp_error *error)
{
    char address[CAP_ADDRESS + 1];
    const bool kept = job_is_kept(record);
    enum esp_status status = error->status;
    request->follow.patience_ms = 0;
    for (unsigned unanswered = 1; kept && unanswered <= MOST_LOOKS && status == ESP_TIMEOUT; unanswered++) {
        if (deadline_left_ms(engine->clock, TELL_MS) == 0)
            return status;
        message_clear(reply);
        status = ask_server(engine, record, request, given_up_answer_ms(engine, unanswered, 0), reply, error);
        if (status == ESP_TIMEOUT && fate_of_silent(engine, record, address) == JOB_GONE)
            return status;
    }
    if (status != ESP_TIMEOUT)
        return status;
    message_clear(reply);
    return ask_server(engine, record, request, engine->call_timeout_ms, reply, error);
}

enum esp_status job_ask(struct engine *engine, const struct job_record *record, const struct follow *follow,
                        struct message *reply, enum job_fate *fate, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_FOLLOW, .follow = *follow};
    struct esp_error found = {0};
    request.follow.session = record->session;
    const bool waits = follow->patience_ms > 0;
    int64_t timeout_ms =
        waits ? given_up_answer_ms(engine, 0, (int64_t)follow->patience_ms) : engine->call_timeout_ms;
    enum esp_status status = ESP_UNREACHABLE;
    *fate = JOB_THERE;
    /* One that has said nothing for so long would say nothing again. */
    for (unsigned attempt = 0; attempt < 2 && is_silent(status) && status != ESP_TIMEOUT; attempt++) {
        message_clear(reply);
        status = ask_server(engine, record, &request, timeout_ms, reply, &found);
    }
    if (status == ESP_TIMEOUT && waits)
        status = watch(engine, record, &request, reply, &found);
    const struct session_report *report = &reply->follow_reply.session;
    if (status == ESP_OK && report->state == SESSION_UNKNOWN)
        return is_given_up(record, report, fate, error);
    if (status == ESP_OK)
        return status;
    status = job_explain(engine, record, fate, &found);
    return error_set(error, status, "%s", found.text);
}

/* ---- ending ---- */

enum esp_status job_cancel(struct engine *engine, const struct job_record *record, int64_t timeout_ms,
                           enum job_fate *fate, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_CANCEL, .cancel = {.session = record->session}}, reply = {0};
    struct esp_error found = {0};
    *fate = JOB_THERE;
    enum esp_status status = ask_server(engine, record, &request, timeout_ms, &reply, &found);
    message_clear(&reply);
    if (status != ESP_OK)
        status = job_explain(engine, record, fate, &found);
    return status == ESP_OK ? ESP_OK : error_set(error, status, "%s", found.text);
}

enum esp_status job_drop(struct engine *engine, const struct job_record *record, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_AWAIT}, reply = {0};
    request.await = (struct await){.client_high = record->session.client_high,
                                   .client_low = record->session.client_low,
                                   .oldest_unacknowledged = record->session.sequence + 1};
    enum esp_status status = ask_server(engine, record, &request, TELL_MS, &reply, error);
    message_clear(&reply);
    if (status != ESP_OK && error && is_silent(status)) {
        enum job_fate fate;
        status = explain(engine, record, &fate, error);
        if (fate == JOB_GONE)
            return error->status = ESP_UNREACHABLE;
        status = status == ESP_NOT_FOUND ? ESP_OK : status; /* the server has forgotten more than that */
    }
    return status;
}
