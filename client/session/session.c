/* SPDX-License-Identifier: Apache-2.0
 *
 * A session's life: made, driven from phase to phase, ended.
 */
#include "client/session/session.h"
#include "client/library.h"
#include "client/abstract/abstract.h"
#include "client/arguments/invocation_data.h"
#include "client/arguments/invocation_hold.h"
#include "client/data/lend.h"
#include "client/jobs/job.h"
#include "client/session/ahead.h"
#include "client/session/attempt.h"
#include "client/session/backlog.h"
#include "client/session/bulk.h"
#include "client/session/given_up.h"
#include "client/session/link.h"
#include "client/state_folder.h"
#include "core/choice/terms.h"
#include "core/problem/problem_callback.h"
#include "util/clock.h"

#include <limits.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void session_run(void *arg);

#define NO_LIMIT_MS    INT64_C(2592000000) /* 30 days: as long as anything here lasts */
#define GIVEN_UP_MS    1000                /* how long to tell one that a state is not wanted */
#define CANCEL_MS      5000                /* how long to tell a server that a session is cancelled */
#define LATE_MS        200                 /* the same behind the session's deadline: its caller waits */
#define END_PATIENCE_S 1e9                 /* a longer deadline is none */

/* What is asked for; 0: the engine's. */
static double limit_s(const struct engine *engine, double deadline_s)
{
    return deadline_s <= 0 && engine->session_timeout_ms > 0 ? (double)engine->session_timeout_ms / 1e3
                                                             : deadline_s;
}

int64_t session_until_ns(const struct engine *engine, double deadline_s)
{
    const int64_t now_ns = clock_now_ns(engine->clock);
    deadline_s = limit_s(engine, deadline_s);
    if (deadline_s <= 0 || deadline_s >= END_PATIENCE_S)
        return CLOCK_NEVER;
    return now_ns + (int64_t)(deadline_s * NS_PER_S);
}

static enum esp_status take_wishes(struct session *session, const struct esp_call_options *options,
                                   struct esp_error *error)
{
    enum esp_status status = wishes_take(&session->wishes, options, error);
    if (status != ESP_OK || !session->bound || !wishes_any(&session->wishes))
        return status;
    return error_set(error, ESP_INVALID,
                     "the handle is bound to server \"%s\": there is nothing left to choose by constraints",
                     session->server);
}

enum esp_status session_begin(struct engine *engine, struct invocation *invocation,
                              const struct target *target, double deadline_s, struct session **result,
                              struct esp_error *error)
{
    struct session *session = calloc(1, sizeof *session);
    enum esp_status status = ESP_OK;
    if (!session) {
        invocation_release(invocation);
        return error_no_memory(error, "a session");
    }
    session->engine = engine;
    session->invocation = *invocation;
    memset(invocation, 0, sizeof *invocation);
    invocation_split(&session->invocation, engine->inline_bytes);
    session->started_ns = clock_now_ns(engine->clock);
    session->limit_s = limit_s(engine, deadline_s);
    session->deadline_ns =
        session->invocation.until_ns ? session->invocation.until_ns : session_until_ns(engine, deadline_s);
    session->error.status = ESP_PENDING;
    session->following.told = -1;
    session->is_job = target->job;
    strcpy(session->problem, session->invocation.function->problem->name);
    if (target->address) {
        session->bound = true;
        snprintf(session->server, sizeof session->server, "%s", target->server);
        if (!(session->bound_address = strdup(target->address)))
            status = error_no_memory(error, "a session");
    }
    if (status == ESP_OK)
        status = take_wishes(session, target->options, error);
    if (status == ESP_OK)
        status = engine_draw(engine, session, error);
    if (status == ESP_OK) {
        session->log_id = session->origin = session->id;
        *result = session;
    } else {
        session_discard(session);
    }
    return status;
}

void session_compact(struct session *session)
{
    wishes_release(&session->wishes);
    invocation_release(&session->invocation);
    for (uint32_t i = 0; i < session->n_excluded; i++)
        free(session->excluded[i]);
    free(session->excluded);
    free(session->bound_address);
    free(session->loss);
    session->loss = NULL;
    session->excluded = NULL;
    session->bound_address = NULL;
    session->n_excluded = 0;
}

void session_discard(struct session *session)
{
    if (!session)
        return;
    session_compact(session);
    free(session->following.kept);
    free(session->candidates);
    free(session->plan);
    free(session->keepers);
    free(session->left);
    job_record_destroy(session->record);
    free(session);
}

int64_t session_left_ms(const struct session *session)
{
    if (session->deadline_ns == CLOCK_NEVER)
        return NO_LIMIT_MS;
    int64_t left_ms = (session->deadline_ns - clock_now_ns(session->engine->clock)) / NS_PER_MS;
    return left_ms < 1 ? 1 : left_ms > NO_LIMIT_MS ? NO_LIMIT_MS : left_ms;
}

bool session_is_cancelled(struct session *session)
{
    return atomic_load(&session->cancelled) || atomic_load(&session->engine->closing) ||
           (session->whole && atomic_load(&session->whole->cancelled));
}

/* ---- the end ---- */

static int64_t farewell_ms(const struct session *session, int64_t most_ms)
{
    const bool late = session->deadline_ns != CLOCK_NEVER && session_left_ms(session) <= 1;
    return late && most_ms > LATE_MS ? LATE_MS : most_ms;
}

/* The server that has it stops computing; what it has of it is given back. Best effort: a server that does
 * not hear this lets go of the session at its deadline, or when the client acknowledges it. */
static void stop_remote(struct session *session)
{
    int remote = atomic_load(&session->remote);
    if (!session->link || remote >= SESSION_DONE)
        return;
    if (session->attached) { /* who waits for a job may stop waiting */
        if (atomic_load(&session->cancelled))
            job_call_off(session->engine, session->record, farewell_ms(session, CANCEL_MS), NULL);
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
    session_tell_given_up(session); /* it may be back */
    session->error.status = status;
    if (status == ESP_OK) /* the note on its results */
        memcpy(session->error.text, session->remote_error.text, sizeof session->error.text);
    session->ended_ns = clock_now_ns(session->engine->clock);
    if (status == ESP_OK)
        ahead_ended(session);
    lend_end(&session->invocation, status == ESP_OK);
    session->left = left_gather(&session->invocation);
    if (session->record) /* of a job, what it took was left by who submitted it */
        session->left = left_join(session->left, session->record->data);
    engine_retire(session->engine, session);
    backlog_left(session);
    /* Small results wait for the next call to acknowledge them; memory for large ones is wanted back. */
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

/* True when it has to end because its caller or its deadline says so. */
static bool called_off(struct session *session)
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

/* ---- a server has it ---- */

void session_absorb(struct session *session, const struct session_report *report)
{
    enum session_state state = (enum session_state)report->state;
    session->timings = report->timings;
    session->ranks = session_ranks_get(&report->extensions);
    if (!terms_get_real(&report->extensions, EXTENSION_FETCH_TIME, &session->fetch_s) ||
        !(session->fetch_s > 0))
        session->fetch_s = 0;
    error_set(&session->remote_error, ESP_OK, "%s",
              state == SESSION_DONE && report->outcome.text ? report->outcome.text : "");
    if (state == SESSION_FAILED || state == SESSION_CANCELLED || state == SESSION_UNKNOWN) {
        enum esp_status status = report->outcome.status       ? (enum esp_status)report->outcome.status
                                 : state == SESSION_CANCELLED ? ESP_CANCELLED
                                 : state == SESSION_UNKNOWN   ? ESP_NOT_FOUND
                                                              : ESP_FAILED;
        const char *text =
            report->outcome.text && *report->outcome.text ? report->outcome.text : esp_status_string(status);
        error_set(&session->remote_error, status, "%s", text);
    }
    if (state == SESSION_UNKNOWN) {
        session->lost = true;
        session->unbegun = extension_find(&report->extensions, EXTENSION_UNBEGUN) != NULL;
        session->awaited = extension_find(&report->extensions, EXTENSION_AWAITED) != NULL;
    }
    if (session->attached && state >= SESSION_DONE)
        job_end_take(session->record, report);
    /* The results of a job are for whoever attaches to it. */
    bool wanted = !session->is_job || session->attached;
    if (state == SESSION_DONE && wanted)
        invocation_take_edges(&session->invocation, &report->extensions);
    if (state == SESSION_DONE && wanted &&
        invocation_results(&session->invocation, report->results, report->n_results,
                           &session->remote_error) != ESP_OK)
        state = SESSION_FAILED;
    atomic_store(&session->remote, state);
}

static enum esp_status finish_results(struct session *session)
{
    enum esp_status status = invocation_finish(&session->invocation, &session->error);
    return status == ESP_OK ? hold_results(&session->invocation, session->engine, session->server,
                                           session->link->address, &session->error)
                            : status;
}

static void finish(struct session *session)
{
    enum esp_status status = bulk_receive(session);
    if (status == ESP_OK)
        status = finish_results(session);
    else if (session->lost)
        return;
    session_end(session, status);
}

/* Goes on with a session that a server has. False: the server computes. */
static bool remote(struct session *session)
{
    const bool doubted = session->doubted;
    session->doubted = false;
    if (doubted && !session->lost && atomic_load(&session->remote) < SESSION_DONE && given_up_leaves(session))
        link_doubt(session->link, session->problem);
    if (session->lost) {
        attempt_recover(session);
        return true;
    }
    if (session->is_job && !session->attached && job_is_handed_over(session))
        return false;
    switch (atomic_load(&session->remote)) {
    case SESSION_RECEIVING:
        bulk_send(session);
        return true;
    case SESSION_DONE:
        finish(session);
        return true;
    case SESSION_FAILED:
        if (attempt_finds_data(session) || attempt_was_shut_out(session) || attempt_lost_worker(session))
            return true;
        /* fall through */
    case SESSION_CANCELLED:
        error_set(&session->error, session->remote_error.status, "%s", session->remote_error.text);
        if (session->error.status != ESP_CANCELLED)
            error_prefix(&session->error, "%s on %s", session->problem, session->server);
        session_end(session, session->error.status);
        return true;
    default:
        return false;
    }
}

enum session_step session_advance(struct session *session)
{
    while (atomic_load(&session->phase) != PHASE_ENDED) {
        /* A result that is there is not thrown away for being late. */
        if (atomic_load(&session->remote) < SESSION_DONE && called_off(session))
            break;
        switch (atomic_load(&session->phase)) {
        case PHASE_CHOOSE:
            attempt_choose(session);
            if (session->holding)
                return STEP_HELD;
            break;
        case PHASE_OFFER:
            attempt_offer(session);
            break;
        case PHASE_REMOTE:
            if (!remote(session))
                return STEP_WAIT;
            break;
        }
    }
    return STEP_ENDED;
}

/* ---- who runs it ---- */

enum esp_status session_call(struct session *session)
{
    enum session_step step;
    while ((step = session_advance(session)) != STEP_ENDED)
        if (step == STEP_HELD)
            backlog_wait(session);
        else if (session->follow)
            session_follow(session);
        else
            link_wait(session->link, session);
    return session->error.status;
}

static void follow_run(void *arg)
{
    struct session *session = arg;
    session_follow(session);
    session->job.run = session_run;
    thread_pool_submit(session->engine->runners, &session->job); /* there is one: the session came from it */
}

/* A session that is followed holds a thread while the server computes: none of those that all others need. */
static bool hand_to_follower(struct session *session)
{
    session->job.run = follow_run;
    if (thread_pool_submit(session->engine->followers, &session->job))
        return true;
    session->job.run = session_run;
    return false;
}

/* The pool's job for an asynchronous session. */
static void session_run(void *arg)
{
    struct session *session = arg;
    enum session_step step = STEP_ENDED;
    if (session->work)
        session->work(session);
    else
        step = session_advance(session);
    while (step != STEP_ENDED) {
        if (step == STEP_HELD && backlog_park(session))
            return;
        if (step == STEP_WAIT && !session->follow) {
            link_park(session->link, session);
            return;
        }
        if (step == STEP_WAIT && hand_to_follower(session))
            return;
        if (step == STEP_WAIT)
            session_follow(session);
        step = session_advance(session);
    }
    session->ended(session, session->arg);
}

enum esp_status session_start(struct session *session, struct esp_error *error)
{
    session->job = (struct thread_job){.run = session_run, .arg = session};
    struct engine *engine = session->engine;
    if (thread_pool_submit(session->work ? engine->chains : engine->runners, &session->job))
        return ESP_OK;
    return error_set(error, ESP_SYSTEM, "cannot start a thread for asynchronous sessions");
}

void session_cancel(struct session *session)
{
    struct engine *engine = session->engine;
    atomic_store(&session->cancelled, true);
    backlog_release(session);
    pthread_mutex_lock(&engine->marks_lock);
    const struct session *remote = session->step ? session->step : session;
    struct link *link = remote->link;
    struct session_id id = remote->id;
    pthread_mutex_unlock(&engine->marks_lock);
    if (!link || id.sequence == 0)
        return; /* its runner looks at the flag before each step */
    struct message request = {.kind = MESSAGE_CANCEL, .cancel = {.session = id}}, reply = {0};
    transport_call(engine->transport, link->address, &request, CANCEL_MS, &reply, NULL);
    message_clear(&reply);
    link_release(link, id.sequence);
}

static double deadline_s(struct handle *handle, const struct esp_call_options *options)
{
    return options && options->deadline_s > 0 ? options->deadline_s : atomic_load(&handle->deadline_s);
}

int64_t start_until_ns(const struct library *library, struct handle *handle,
                       const struct esp_call_options *options)
{
    return session_until_ns(library->engine, deadline_s(handle, options));
}

static enum esp_status create(struct library *library, struct handle *handle, struct invocation *invocation,
                              const struct esp_call_options *options, struct session **session,
                              struct esp_error *error)
{
    const struct target target = {handle->server, handle->address, false, options};
    bool asks = problem_has_callbacks(invocation->function->problem);
    enum esp_status status =
        session_begin(library->engine, invocation, &target, deadline_s(handle, options), session, error);
    if (status != ESP_OK)
        return status;
    if (options) {
        (*session)->ended_fd = options->ended_fd;
        (*session)->following.sent = options->sent;
        (*session)->following.arg = options->arg;
    }
    if (options && options->follow) {
        (*session)->follow = true;
        (*session)->following.output = options->output;
        (*session)->following.progress = options->progress;
        (*session)->following.arg = options->arg;
    }
    if (asks)
        (*session)->follow = true; /* whatever the caller wants to see of it */
    return ESP_OK;
}

/* What cancels the whole finds its step here. */
static void set_step(struct session *whole, struct session *step)
{
    pthread_mutex_lock(&whole->engine->marks_lock);
    whole->step = step;
    pthread_mutex_unlock(&whole->engine->marks_lock);
}

static void add_times(struct session *whole, const struct session *step)
{
    whole->sent_ns += step->sent_ns;
    whole->submitted_ns = whole->submitted_ns ? whole->submitted_ns : step->submitted_ns;
    whole->timings.wait_s += step->timings.wait_s;
    whole->timings.transfer_s += step->timings.transfer_s;
    whole->timings.queue_s += step->timings.queue_s;
    whole->fetch_s += step->fetch_s;
    whole->timings.compute_s += step->timings.compute_s;
    whole->forecast_s += step->forecast_s;
    whole->forecast_compute_s += step->forecast_compute_s;
}

enum esp_status start_blocking(struct library *library, struct handle *handle, struct invocation *invocation,
                               const struct esp_call_options *options, struct session *whole,
                               struct session **session, struct esp_error *error)
{
    *session = NULL;
    enum esp_status status = create(library, handle, invocation, options, session, error);
    if (status != ESP_OK)
        return status;
    (*session)->whole = whole;
    if (whole)
        set_step(whole, *session);
    status = session_call(*session);
    if (whole) {
        set_step(whole, NULL);
        add_times(whole, *session);
    }
    if (status != ESP_OK)
        *error = (*session)->error;
    return status;
}

enum esp_status start_asynchronous(struct library *library, struct handle *handle,
                                   grpc_function_handle_t *given, struct invocation *invocation,
                                   const struct esp_call_options *options, grpc_sessionid_t *id,
                                   struct esp_error *error)
{
    struct session *session;
    bool is_abstract = handle->function->problem->abstract != NULL;
    enum esp_status status = create(library, handle, invocation, options, &session, error);
    if (status == ESP_OK && is_abstract &&
        (status = abstract_plan(session, handle, options, error)) != ESP_OK)
        session_discard(session);
    if (status == ESP_OK)
        status = table_start(library->table, session, given, id, error);
    return status;
}

grpc_error_t outcome_code(enum esp_status status)
{
    switch (status) {
    case ESP_OK:
        return GRPC_NO_ERROR;
    case ESP_PENDING:
        return GRPC_NOT_COMPLETED;
    case ESP_UNKNOWN_PROBLEM:
        return GRPC_FUNCTION_NOT_FOUND;
    case ESP_NO_SERVER:
    case ESP_UNREACHABLE:
        return GRPC_SERVER_NOT_FOUND;
    case ESP_MAYBE:
    case ESP_PROTOCOL:
        return GRPC_COMMUNICATION_FAILED;
    case ESP_REFUSED:
    case ESP_LIMIT:
    case ESP_NO_MEMORY:
    case ESP_VERSION:
    case ESP_STALE:
    case ESP_SECURITY:
        return GRPC_RPC_REFUSED;
    case ESP_INVALID:
    case ESP_FAILED:
    case ESP_CRASHED:
    case ESP_INACCURATE:
    case ESP_CANCELLED:
    case ESP_TIMEOUT:
    case ESP_NOT_FOUND: /* a file that is an argument */
    case ESP_SYSTEM:
        return GRPC_SESSION_FAILED;
    default:
        return GRPC_OTHER_ERROR_CODE;
    }
}

grpc_error_t outcome_handle_code(enum esp_status status)
{
    switch (status) {
    case ESP_NOT_FOUND:
    case ESP_TIMEOUT:
    case ESP_MAYBE:
        return GRPC_SERVER_NOT_FOUND;
    case ESP_SYNTAX: /* a description that this library does not understand */
        return GRPC_COMMUNICATION_FAILED;
    case ESP_INVALID:
    case ESP_SYSTEM:
    case ESP_NO_MEMORY:
        return GRPC_OTHER_ERROR_CODE;
    default:
        return outcome_code(status);
    }
}

grpc_error_t outcome_config_code(enum esp_status status)
{
    switch (status) {
    case ESP_OK:
        return GRPC_NO_ERROR;
    case ESP_NOT_FOUND:
        return GRPC_CONFIGFILE_NOT_FOUND;
    case ESP_CONFIG:
    case ESP_SYNTAX:
    case ESP_LIMIT:
    case ESP_SECURITY: /* certificates that the file names */
        return GRPC_CONFIGFILE_ERROR;
    default:
        return GRPC_OTHER_ERROR_CODE;
    }
}

static bool path_of(char *folder, char *path, size_t size, bool make)
{
    if (state_folder("last", folder, PATH_MAX, NULL) != ESP_OK ||
        (make && state_folder_make(folder, NULL) != ESP_OK))
        return false;
    return (size_t)snprintf(path, size, "%s/session", folder) < size;
}

/* Programs that end at the same time each replace the file as a whole. */
void last_session_keep(const struct session_id *session)
{
    char folder[PATH_MAX], path[PATH_MAX + 16], fresh[PATH_MAX + 40], text[SESSION_TEXT];
    if (!path_of(folder, path, sizeof path, true))
        return;
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(fresh, "we");
    if (!file)
        return;
    const bool written = fprintf(file, "%s\n", session_id_text(session, text)) > 0;
    if (fclose(file) != 0 || !written || rename(fresh, path) != 0)
        unlink(fresh);
}

bool last_session_find(char text[SESSION_TEXT])
{
    char folder[PATH_MAX], path[PATH_MAX + 16];
    FILE *file = path_of(folder, path, sizeof path, false) ? fopen(path, "re") : NULL;
    const bool found = file && fgets(text, SESSION_TEXT, file);
    if (file)
        fclose(file);
    if (found)
        text[strcspn(text, "\n")] = '\0';
    return found && *text;
}

struct package {
    struct arena arena;
    alignas(max_align_t) unsigned char payload[];
};

void *package_create(size_t bytes)
{
    struct package *package = calloc(1, sizeof *package + bytes);
    return package ? package->payload : NULL;
}

static struct package *package_of(void *payload)
{
    return (struct package *)((unsigned char *)payload - offsetof(struct package, payload));
}

struct arena *package_arena(void *payload)
{
    return &package_of(payload)->arena;
}

void package_destroy(void *payload)
{
    if (!payload)
        return;
    arena_clear(package_arena(payload));
    free(package_of(payload));
}

const char *package_text(void *payload, const char *text)
{
    return text ? arena_strdup(package_arena(payload), text) : NULL;
}
