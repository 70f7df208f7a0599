/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions that wait for a job, wherever it is: one whose server is lost goes on with what the job is then.
 */
#include "client/data/lend.h"
#include "client/jobs/job_end.h"
#include "client/session/attempt_parts.h"
#include "client/session/link.h"
#include "util/clock.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_AGAIN_MS 200 /* at a server that is silent, or for one that takes the job */

/* From now on it waits for what its record says. False without memory. */
static bool point(struct session *session)
{
    const struct job_record *record = session->record;
    struct link *link = link_find(session->engine, record->address);
    if (!link)
        return false;
    attempt_set_server(session, link, record->server);
    pthread_mutex_lock(&session->engine->marks_lock);
    session->id = session->log_id = record->session;
    session->following.told = -1;
    pthread_mutex_unlock(&session->engine->marks_lock);
    session->following.seen = 0;
    session->lost = false;
    session->absence.begun_ns = 0;
    atomic_store(&session->remote, SESSION_QUEUED);
    return true;
}

static struct session *make(struct engine *engine, struct invocation *invocation, double deadline_s)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session) {
        invocation_release(invocation);
        return NULL;
    }
    session->engine = engine;
    session->invocation = *invocation;
    memset(invocation, 0, sizeof *invocation);
    session->started_ns = clock_now_ns(engine->clock);
    session->deadline_ns = CLOCK_NEVER;
    session->limit_s = deadline_s;
    if (deadline_s > 0 && deadline_s < 1e9)
        session->deadline_ns = session->started_ns + (int64_t)(deadline_s * NS_PER_S);
    session->error.status = ESP_PENDING;
    session->is_job = session->attached = session->bound = session->follow = true;
    atomic_store(&session->phase, PHASE_REMOTE);
    return session;
}

enum esp_status job_attach(struct engine *engine, const struct job_record *record,
                           struct invocation *invocation, double deadline_s, struct session **result,
                           struct esp_error *error)
{
    struct session *session = make(engine, invocation, deadline_s);
    if (session && (session->record = job_record_copy(record)) && point(session)) {
        session->origin = record->origin;
        strcpy(session->problem, record->function->problem->name);
        *result = session;
        return ESP_OK;
    }
    session_discard(session);
    return error_no_memory(error, "a session");
}

static void go_on(struct session *session)
{
    lend_end(&session->invocation, false); /* what is lent is the new server's */
    if (!point(session))
        session_end(session, error_no_memory(&session->error, "a session"));
}

void job_recover(struct session *session)
{
    struct engine *engine = session->engine;
    struct esp_error *error = &session->error;
    enum job_fate fate = JOB_THERE;
    struct job_end end;
    char address[CAP_ADDRESS + 1];
    const bool silent = error->status == ESP_TIMEOUT;
    if (job_find_moved(engine, session->record, error->status, address)) {
        strcpy(session->record->address, address);
        go_on(session);
        return;
    }
    enum esp_status status = job_explain(engine, session->record, &fate, error);
    if (fate != JOB_THERE && job_end_known(session->record, &end)) {
        *error = end.error;
        session_end(session, error->status);
        return;
    }
    const bool again = job_is_kept(session->record);
    const int64_t now_ns = clock_now_ns(engine->clock);
    if (again && (status = job_call_again(engine, session->record, fate, error)) == ESP_OK) {
        go_on(session);
        return;
    }
    if (session->absence.begun_ns == 0)
        session->absence = engine_patience(engine);
    if (!again || status != ESP_UNREACHABLE || !patience_lasts(&session->absence, silent, now_ns)) {
        session_end(session, status);
        return;
    }
    engine_pause(&engine->closing, LOOK_AGAIN_MS);
    session->lost = fate != JOB_SILENT; /* it may answer again */
}
