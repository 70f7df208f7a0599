/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of a job, stored in the user's list beside its record: a line of JSON, padded with blanks
 * to a multiple of ALIGNMENT bytes, then each value as it was sent, padded likewise. 64-bit numbers are
 * hexadecimal, because JSON's numbers are doubles.
 */
#include "client/jobs/job.h"
#include "util/contents.h"
#include "client/arguments/invocation_data.h"
#include "client/data/binding.h"
#include "client/data/sequence.h"
#include "client/session/library.h"
#include "client/session/backlog.h"
#include "client/session/engine.h"
#include "client/session/given_up.h"
#include "client/session/lend.h"
#include "client/session/link.h"
#include "client/session/marks.h"
#include "client/session/session.h"
#include "core/problem/problem_callback.h"
#include "util/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FORMAT      1
#define ALIGNMENT   64 /* suits any type, and a cache line */
#define MOST_HEADER (16 << 20)

static const struct session_job_ops job_ops;

void job_call_clear(struct job_call *call)
{
    invocation_release(&call->invocation);
    json_decref(call->texts);
    free(call->properties);
    memset(call, 0, sizeof *call);
}

static json_t *hex64(uint64_t number)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, number);
    return json_string(text);
}

static uint64_t padding(uint64_t bytes)
{
    return (ALIGNMENT - bytes % ALIGNMENT) % ALIGNMENT;
}

/* ---- whether to store ---- */

static uint64_t bytes_of(const struct invocation *invocation)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        bytes += invocation->values[i].in ? invocation->values[i].bytes : 0;
    return bytes;
}

bool job_call_is_wanted(const struct session *session, uint64_t most_bytes)
{
    const struct problem *problem = session->invocation.function->problem;
    return problem->idempotent && !session->bound && !session->wishes.server &&
           problem_state_index(problem) < 0 && most_bytes > 0 && bytes_of(&session->invocation) <= most_bytes;
}

/* ---- writing ---- */

static json_t *value_json(const struct invocation *invocation, const struct value *value)
{
    json_t *json =
        json_pack("{s:s, s:o, s:b}", "name", invocation->function->problem->arguments[value->index].name,
                  "bytes", hex64(value->bytes), "sent", value->in != NULL);
    /* If the value itself is sent again, a copy of it elsewhere is not needed for so long. */
    if (value->datum && !value->in) { /* its identity and its present holders */
        json_object_set_new(json, "datum", json_stringn(value->datum, strcspn(value->datum, " ")));
        json_object_set_new(json, "holder", json_string(value->holder));
    }
    if (value->is_kept) {
        json_object_set_new(json, "kept", json_integer(value->kept_mode));
        json_object_set_new(json, "flags", json_integer(value->kept_flags));
    }
    return json;
}

static json_t *wishes_json(const struct wishes *wishes)
{
    json_t *properties = json_array();
    for (size_t i = 0; i < wishes->n_properties; i++)
        json_array_append_new(properties, json_string(wishes->properties[i]));
    return json_pack("{s:o, s:f, s:o}", "properties", properties, "finish", wishes->finish_s, "memory",
                     hex64(wishes->memory_bytes));
}

static char *header_text(const struct session *session)
{
    const struct invocation *invocation = &session->invocation;
    const bool limited = session->deadline_ns != CLOCK_NEVER;
    const double deadline_s =
        limited ? (double)(session->deadline_ns - session->started_ns) / (double)NS_PER_S : 0;
    json_t *values = json_array();
    for (uint32_t i = 0; i < invocation->n_values; i++)
        json_array_append_new(values, value_json(invocation, &invocation->values[i]));
    json_t *json = json_pack("{s:i, s:f, s:o, s:f, s:o, s:o}", "espalier_job_call", FORMAT, "work",
                             invocation->work_flop, "memory", hex64(invocation->memory_bytes), "deadline",
                             deadline_s, "wishes", wishes_json(&session->wishes), "values", values);
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(json);
    return text;
}

static bool put(FILE *file, const void *data, uint64_t bytes, char filling)
{
    char blanks[ALIGNMENT];
    memset(blanks, filling, sizeof blanks);
    return (bytes == 0 || fwrite(data, 1, (size_t)bytes, file) == bytes) &&
           fwrite(blanks, 1, (size_t)padding(bytes), file) == padding(bytes);
}

static bool put_all(FILE *file, const char *header, const struct invocation *invocation)
{
    const size_t length = strlen(header);
    bool good = fwrite(header, 1, length, file) == length;
    for (uint64_t i = padding(length + 1); good && i > 0; i--)
        good = putc(' ', file) != EOF;
    good = good && putc('\n', file) != EOF;
    for (uint32_t i = 0; good && i < invocation->n_values; i++)
        if (invocation->values[i].in)
            good = put(file, invocation->values[i].in, invocation->values[i].bytes, 0);
    return good;
}

/* Not synced: after a power failure the job may not be called again. A file that is too short is detected
 * by its length. */
enum esp_status job_call_write(const char *path, const struct session *session, struct esp_error *error)
{
    char *header = header_text(session);
    if (!header)
        return error_no_memory(error, "the arguments of a job");
    char *fresh = NULL;
    const int fd = asprintf(&fresh, "%s.XXXXXX", path) < 0 ? -1 : mkstemp(fresh); /* 0600 */
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    bool good = file && put_all(file, header, &session->invocation);
    good = (!file || fclose(file) == 0) && good && rename(fresh, path) == 0;
    enum esp_status status =
        good ? ESP_OK
             : error_errno(error, "cannot keep the arguments of the job in %s (job_arguments = 0 keeps none)",
                           path);
    if (!good && fd >= 0)
        unlink(fresh);
    if (!file && fd >= 0)
        close(fd);
    free(fresh);
    free(header);
    return status;
}

/* ---- reading ---- */

static enum esp_status damaged(const char *path, const char *what, struct esp_error *error)
{
    return error_set(error, ESP_SYNTAX, "%s: expected the arguments of a job, found %s", path, what);
}

static bool read_hex(const json_t *json, const char *name, uint64_t *number)
{
    const char *text = json_string_value(json_object_get(json, name));
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return false;
    *number = strtoull(text, NULL, 16);
    return true;
}

/* The bytes of the sent value are at *at in the contents. */
static bool read_value(const json_t *json, const struct problem *problem, struct value *value,
                       const char *contents, uint64_t n_contents, uint64_t *at)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *datum = json_string_value(json_object_get(json, "datum"));
    const char *holder = json_string_value(json_object_get(json, "holder"));
    const json_t *kept = json_object_get(json, "kept");
    if (!name || strcmp(name, problem->arguments[value->index].name) != 0 ||
        !read_hex(json, "bytes", &value->bytes) || (holder && strlen(holder) > CAP_NAME))
        return false;
    value->is_kept = kept != NULL;
    value->kept_mode = (uint32_t)json_integer_value(kept);
    value->kept_flags = (uint32_t)json_integer_value(json_object_get(json, "flags"));
    if (holder)
        strcpy(value->holder, holder);
    if (datum && !(value->datum = strdup(datum)))
        return false;
    if (!json_is_true(json_object_get(json, "sent")))
        return true;
    if (value->bytes > n_contents || n_contents - value->bytes < *at ||
        *at + value->bytes + padding(value->bytes) > n_contents)
        return false;
    value->in = contents + *at;
    *at += value->bytes + padding(value->bytes);
    return true;
}

static bool read_wishes(const json_t *json, struct job_call *call)
{
    struct esp_call_options *options = &call->options;
    const json_t *properties = json_object_get(json, "properties");
    const size_t n = json_array_size(properties);
    options->finish_s = json_number_value(json_object_get(json, "finish"));
    call->properties = calloc(n + 1, sizeof *call->properties);
    if (!call->properties || !read_hex(json, "memory", &options->memory_bytes))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!(call->properties[i] = json_string_value(json_array_get(properties, i))))
            return false;
    options->properties = call->properties;
    options->n_properties = n;
    return true;
}

/* Reads all members of the line. The first value owns the contents, and frees them. */
static bool read_all(struct job_call *call, char *contents, uint64_t n_contents, uint64_t at)
{
    struct invocation *invocation = &call->invocation;
    const json_t *values = json_object_get(call->texts, "values");
    bool good = json_array_size(values) == invocation->n_values;
    for (uint32_t i = 0; good && i < invocation->n_values; i++)
        good = read_value(json_array_get(values, i), invocation->function->problem, &invocation->values[i],
                          contents, n_contents, &at);
    invocation->work_flop = json_number_value(json_object_get(call->texts, "work"));
    call->options.deadline_s = json_number_value(json_object_get(call->texts, "deadline"));
    return good && at == n_contents && read_hex(call->texts, "memory", &invocation->memory_bytes) &&
           read_wishes(json_object_get(call->texts, "wishes"), call);
}

enum esp_status job_call_read(const char *path, struct function *function, struct job_call *call,
                              struct esp_error *error)
{
    void *contents = NULL;
    uint64_t bytes = 0;
    memset(call, 0, sizeof *call);
    enum esp_status status = contents_load(path, &contents, &bytes, error);
    if (status != ESP_OK)
        return status;
    const char *end = memchr(contents, '\n', bytes < MOST_HEADER ? (size_t)bytes : MOST_HEADER);
    const uint64_t at = end ? (uint64_t)(end - (const char *)contents) + 1 : 0;
    call->texts = end ? json_loadb(contents, (size_t)at, 0, NULL) : NULL;
    if (json_integer_value(json_object_get(call->texts, "espalier_job_call")) != FORMAT)
        status = damaged(path, call->texts ? "those of another release" : "something else", error);
    if (status == ESP_OK)
        status = invocation_begin(&call->invocation, function, error);
    if (status == ESP_OK && call->invocation.n_values > 0) {
        call->invocation.values[0].loaded = contents;
        contents = NULL;
    }
    if (status == ESP_OK &&
        !read_all(call, call->invocation.n_values > 0 ? call->invocation.values[0].loaded : contents, bytes,
                  at))
        status = damaged(path, "less than its first line says, or others", error);
    free(contents);
    if (status != ESP_OK)
        job_call_clear(call);
    return status;
}

#define TELL_MS    5000 /* limit for a request to stop or forget a job */
#define MOST_LOOKS 5    /* tries at a silent server */

/* ---- submitting ---- */

static bool has_bulk(const struct session *session)
{
    for (uint32_t i = 0; i < session->invocation.n_values; i++)
        if (session->invocation.values[i].bulk)
            return true;
    return false;
}

static bool is_handed_over(const struct session *session)
{
    int state = atomic_load(&session->remote);
    /* While the session waits for memory, the server holds the small arguments only. */
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

/* Runs a session that is a job until the server has it, and fills the record (except the function and the
 * scalars). On failure nothing is left on a server. If not `patient`, returns ESP_LIMIT when no server has
 * room. */
static enum esp_status job_hand_over(struct session *session, bool patient, struct job_record *record,
                                     struct esp_error *error)
{
    session->has_owner = job_store_owner(session->owner);
    enum session_step step;
    while ((step = session_advance(session)) == STEP_HELD || (step == STEP_WAIT && !is_handed_over(session)))
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
        /* No client will ask for what the server may have. */
        if (session->link) {
            struct job_record left = {.session = session->log_id};
            snprintf(left.address, sizeof left.address, "%s", session->link->address);
            job_drop(session->engine, &left, NULL);
        }
        return error->status;
    }
    fill_record(session, record);
    marks_retire(session->engine, session);
    return ESP_OK;
}

/* The record is stored: the server keeps the job from now on. */
static enum esp_status job_keep(struct engine *engine, const struct job_record *record,
                                struct esp_error *error)
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

/* ---- questions to the server ---- */

static bool is_silent(enum esp_status status)
{
    return status == ESP_UNREACHABLE || status == ESP_TIMEOUT || status == ESP_MAYBE;
}

/* The server does not answer: checks whether it is in the tree, perhaps at another `address`. */
static enum job_fate fate_of_silent(struct engine *engine, const struct job_record *record,
                                    char address[CAP_ADDRESS + 1])
{
    struct esp_error ignored;
    strcpy(address, record->address);
    if (!*record->server || strchr(record->server, ':'))
        return JOB_SILENT; /* the server was given by its address, which is no name in the tree */
    enum esp_status status = engine_resolve(engine, record->server, address, &ignored);
    return status == ESP_NOT_FOUND                                     ? JOB_GONE
           : status != ESP_OK || strcmp(address, record->address) == 0 ? JOB_SILENT
                                                                       : JOB_THERE;
}

/* Whether the server that failed with `why` is in the tree at another address; sets that address. */
static bool job_find_moved(struct engine *engine, const struct job_record *record, enum esp_status why,
                           char address[CAP_ADDRESS + 1])
{
    return is_silent(why) && why != ESP_TIMEOUT && fate_of_silent(engine, record, address) == JOB_THERE;
}

/* The server may have been restarted since; it still has the results that it had when it stopped. */
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

/* The server does not have the job, or does not answer: finds out what has become of the job. */
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

/* Finds out what has become of a job whose server failed with `error`, which is replaced by a text that
 * says so; returns its status. */
static enum esp_status job_explain(struct engine *engine, const struct job_record *record,
                                   enum job_fate *fate, struct esp_error *error)
{
    const enum esp_status status = error->status;
    *fate = JOB_THERE;
    if (status != ESP_NOT_FOUND && status != ESP_STALE && !is_silent(status))
        return status;
    return explain(engine, record, fate, error);
}

/* The server is stopping, and has cut the job short. */
static enum esp_status is_given_up(const struct job_record *record, const struct session_report *report,
                                   enum job_fate *fate, struct esp_error *error)
{
    char id[SESSION_TEXT];
    *fate = JOB_LOST;
    return error_set(error, ESP_NOT_FOUND, "job %s is lost: server %s: %s; submit it again",
                     job_id(record, id), record->server, report->outcome.text);
}

/* The server did not answer a wait for the job in time. It is asked for the present state, which it
 * answers at once, until it answers, or until agents have lost it and the job can be called again. Then,
 * or after too long a time, the result of the last try counts. */
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
    /* A server that was silent for so long would be silent again. */
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

/* Has the server stop the job if it runs or waits there; its end is reported later. Errors are those of
 * job_ask(). ---- ending ---- */
static enum esp_status job_cancel(struct engine *engine, const struct job_record *record, int64_t timeout_ms,
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
        status = status == ESP_NOT_FOUND ? ESP_OK : status; /* forgotten already */
    }
    return status;
}

/* A job whose server is lost is called again elsewhere by the next process that asks for it. Of several
 * processes the first one does so, under a lock on the file of the arguments; the others find the new
 * record in the list.
 */

/* Returns -1 if no arguments are stored (status ESP_OK), or if another process holds the lock (ESP_LIMIT). */
static int lock_call(const char *path, enum esp_status *status, struct esp_error *error)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    *status = ESP_OK;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    *status = error_set(error, ESP_LIMIT, "another program is calling it again");
    return -1;
}

/* Copies members that stay the same. The scalars of `fresh` point into the record, which it will become. */
static void inherit(struct job_record *fresh, const struct job_record *record)
{
    free(fresh->data);
    fresh->data = record->data;
    fresh->function = record->function;
    fresh->submitted_s = record->submitted_s;
    memcpy(fresh->values, record->values, sizeof fresh->values);
    memcpy(fresh->scalars, record->scalars, sizeof fresh->scalars);
}

static void become(struct job_record *record, const struct job_record *fresh)
{
    free(record->keepers);
    *record = *fresh;
}

static bool is_same(const struct session_id *one, const struct session_id *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

/* Whether the list has the job as another session by now; then the record becomes that one. */
static bool job_refresh(struct job_record *record)
{
    char id[SESSION_TEXT], *token = NULL;
    struct job_record found;
    struct esp_error ignored;
    if (job_store_read(job_id(record, id), &token, &ignored) != ESP_OK)
        return false;
    const bool read = job_token_read(token, &found, &ignored) == ESP_OK;
    const bool other =
        read && is_same(&found.origin, &record->origin) && !is_same(&found.session, &record->session);
    free(token);
    if (read)
        function_release(found.function);
    if (other) {
        inherit(&found, record);
        become(record, &found);
    } else if (read) {
        free(found.keepers);
        free(found.data);
    }
    return other;
}

/* ---- calling again ---- */

static double passed_s(const struct job_record *record)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const double passed = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - record->submitted_s;
    return passed > 0 ? passed : 0;
}

/* Subtracts the time since the submission from the job's limits. */
static enum esp_status lessen(const struct job_record *record, struct esp_call_options *options,
                              struct esp_error *error)
{
    const double passed = passed_s(record);
    if (options->deadline_s > 0 && (options->deadline_s -= passed) <= 0)
        return error_set(error, ESP_TIMEOUT, "its time is over");
    if (options->finish_s > 0 && (options->finish_s -= passed) <= 0)
        return error_set(error, ESP_TIMEOUT, "its results were wanted by now");
    return ESP_OK;
}

static enum esp_status begin(struct engine *engine, const struct job_record *record, struct job_call *call,
                             struct session **session, struct esp_error *error)
{
    static char somewhere;
    const struct target target = {.job = &job_ops, .options = &call->options};
    const struct problem *problem = record->function->problem;
    for (uint32_t i = 0; i < call->invocation.n_values; i++)
        if (argument_is_output(&problem->arguments[call->invocation.values[i].index]))
            call->invocation.values[i].out = &somewhere; /* nothing is written through it */
    enum esp_status status = lessen(record, &call->options, error);
    if (status == ESP_OK)
        status = invocation_find_data(&call->invocation, engine,
                                      session_until_ns(engine, call->options.deadline_s), error);
    if (status == ESP_OK)
        status = session_begin(engine, &call->invocation, &target, call->options.deadline_s, session, error);
    if (status != ESP_OK)
        return status;
    (*session)->origin = record->origin;
    session_note_again(*session, record->server, " was lost");
    /* The session need not wait: the caller tries again. */
    (*session)->absence = patience_begin(0, 0, (*session)->started_ns);
    if (record->keepers && !((*session)->keepers = calloc(1, KEEPERS_BYTES)))
        return error_no_memory(error, "a session");
    if (record->keepers)
        strncpy((*session)->keepers, record->keepers, KEEPERS_BYTES - 1);
    return ESP_OK;
}

/* The record is written first, as at submission; a process that dies before the server keeps the job
 * leaves a record that says so. */
static enum esp_status note(struct engine *engine, const char *id, struct job_record *record,
                            struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (int told = 0; told < 2 && status == ESP_OK; told++) {
        record->unsure = told == 0;
        char *token = job_token_write(record);
        status = token ? job_store_write(id, token, error) : error_no_memory(error, "a job");
        free(token);
        if (status == ESP_OK && told == 0)
            status = job_keep(engine, record, error);
    }
    if (status != ESP_OK)
        job_drop(engine, record, NULL);
    return status;
}

static void note_loss(struct job_record *fresh, const struct job_record *before, enum job_fate fate)
{
    fresh->losses = before->losses + 1;
    fresh->n_left = before->n_left;
    memcpy(fresh->left, before->left, sizeof fresh->left);
    if (fate != JOB_GONE)
        return;
    struct job_left *left = &fresh->left[fresh->n_left++]; /* the array has room for all losses */
    left->session = before->session;
    strcpy(left->address, before->address);
}

static enum esp_status call_again(struct engine *engine, const char *id, const char *path,
                                  struct job_record *record, enum job_fate fate, struct esp_error *error)
{
    struct job_call call;
    struct session *session = NULL;
    struct job_record fresh = {0};
    enum esp_status status = job_call_read(path, record->function, &call, error);
    if (status != ESP_OK)
        return status;
    status = begin(engine, record, &call, &session, error);
    if (status == ESP_OK)
        status = job_hand_over(session, false, &fresh, error);
    session_discard(session);
    job_call_clear(&call);
    if (status == ESP_OK) {
        inherit(&fresh, record);
        note_loss(&fresh, record, fate);
        struct link *link = fate == JOB_GONE ? link_find(engine, record->address) : NULL;
        if (link)
            given_up_note(engine, link, &record->session);
        status = note(engine, id, &fresh, error);
    }
    if (status == ESP_OK)
        become(record, &fresh);
    else
        free(fresh.keepers);
    return status;
}

/* Whether another server may take the job later. ESP_CONFIG: this program knows no agents to ask. */
static bool is_for_now(enum esp_status status)
{
    return status == ESP_CONFIG || status == ESP_NO_SERVER || status == ESP_UNREACHABLE ||
           status == ESP_LIMIT || status == ESP_MAYBE || status == ESP_UNKNOWN_PROBLEM || status == ESP_STALE;
}

bool job_is_kept(const struct job_record *record)
{
    char path[PATH_MAX], id[SESSION_TEXT];
    struct job_end end;
    return job_store_call_path(job_id(record, id), path, sizeof path, NULL) == ESP_OK &&
           access(path, R_OK) == 0 && !job_end_known(record, &end);
}

enum esp_status job_call_again(struct engine *engine, struct job_record *record, enum job_fate fate,
                               struct esp_error *error)
{
    char path[PATH_MAX], id[SESSION_TEXT];
    struct esp_error why = {0};
    struct job_end end;
    enum esp_status status;
    job_id(record, id);
    if ((fate != JOB_GONE && fate != JOB_LOST) || job_store_call_path(id, path, sizeof path, &why) != ESP_OK)
        return error->status;
    const int lock = lock_call(path, &status, &why);
    if (lock < 0 && status == ESP_OK)
        return error->status;
    if (lock >= 0) {
        if (job_refresh(record))
            status = ESP_OK;
        else if (job_end_known(record, &end))
            status = error_set(&why, end.error.status, "%s", end.error.text);
        else if (record->losses >= JOB_MOST_LOSSES)
            status =
                error_set(&why, ESP_FAILED, "so many servers were lost with it that it may be the cause");
        else
            status = call_again(engine, id, path, record, fate, &why);
        close(lock);
    }
    if (status == ESP_OK && job_end_known(record, &end))
        job_stop(engine, record); /* a process that knew only the former server has cancelled it meanwhile */
    if (status == ESP_OK)
        return ESP_OK;
    if (is_for_now(status))
        return error_set(error, ESP_UNREACHABLE,
                         "job %s was lost with server %s, and is called again later: %s", id, record->server,
                         why.text);
    return error_set(error, ESP_NOT_FOUND, "job %s was lost with server %s, and cannot be called again: %s",
                     id, record->server, why.text);
}

void job_drop_left(struct engine *engine, const struct job_record *record)
{
    for (uint32_t i = 0; i < record->n_left; i++) {
        struct job_record left = {.session = record->left[i].session};
        strcpy(left.address, record->left[i].address);
        job_drop(engine, &left, NULL);
    }
}

#define STOPPING_MS 5000 /* for a worker that is killed */

static const struct job_end cancelled = {.error = {ESP_CANCELLED, "cancelled"}};

/* ---- the list ---- */

static bool end_read(const char *text, struct job_end *end)
{
    json_t *json = json_loads(text, 0, NULL);
    const json_int_t status = json_integer_value(json_object_get(json, "status"));
    const char *why = json_string_value(json_object_get(json, "text"));
    const bool good = json_integer_value(json_object_get(json, "espalier_job_end")) == FORMAT && why &&
                      status > ESP_OK && status <= INT32_MAX;
    memset(end, 0, sizeof *end);
    if (good) {
        error_set(&end->error, (enum esp_status)status, "%s", why);
        end->wanted = json_is_true(json_object_get(json, "wanted"));
        end->compute_s = json_number_value(json_object_get(json, "computed"));
    }
    json_decref(json);
    return good;
}

bool job_end_known(const struct job_record *record, struct job_end *end)
{
    char id[SESSION_TEXT], *text = NULL;
    memset(end, 0, sizeof *end);
    const bool known = job_store_read_end(job_id(record, id), &text) && end_read(text, end);
    free(text);
    return known;
}

enum esp_status job_end_note(const struct job_record *record, const struct job_end *end,
                             struct esp_error *error)
{
    char id[SESSION_TEXT];
    job_id(record, id);
    if (!job_store_has(id))
        return ESP_OK;
    json_t *json =
        json_pack("{s:i, s:i, s:s, s:b, s:f}", "espalier_job_end", FORMAT, "status", (int)end->error.status,
                  "text", end->error.text, "wanted", end->wanted, "computed", end->compute_s);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    enum esp_status status =
        text ? job_store_write_end(id, text, error) : error_no_memory(error, "the end of a job");
    if (status == ESP_OK && !end->wanted)
        job_store_remove_call(id); /* the arguments are not needed any more */
    if (status == ESP_OK && !job_store_has(id))
        job_store_remove_end(id); /* the job was forgotten meanwhile */
    free(text);
    json_decref(json);
    return status;
}

static void end_unnote(const struct job_record *record)
{
    char id[SESSION_TEXT];
    job_store_remove_end(job_id(record, id));
}

/* ---- reports of servers ---- */

static bool has_ended(const struct session_report *report)
{
    return report->state == SESSION_DONE || report->state == SESSION_FAILED ||
           report->state == SESSION_CANCELLED;
}

void job_end_take(const struct job_record *record, const struct session_report *report)
{
    struct job_end before, end = {.compute_s = report->timings.compute_s};
    const bool known = job_end_known(record, &before);
    const bool called_off = known && before.error.status == ESP_CANCELLED;
    if (report->state == SESSION_DONE && called_off) {
        end_unnote(record); /* it was too late */
        return;
    }
    if (report->state == SESSION_FAILED ? known && !before.wanted
                                        : report->state != SESSION_CANCELLED || !before.wanted)
        return;
    const enum esp_status status = report->outcome.status            ? (enum esp_status)report->outcome.status
                                   : report->state == SESSION_FAILED ? ESP_FAILED
                                                                     : ESP_CANCELLED;
    const char *text = report->outcome.text;
    error_set(&end.error, status, "%s", text && *text ? text : esp_status_string(status));
    job_end_note(record, &end, NULL); /* best effort: the server knows the end, too */
}

/* ---- cancelling ---- */

/* Waits for its end, if that comes soon. */
static enum esp_status await_end(struct engine *engine, const struct job_record *record, enum job_fate *fate,
                                 struct esp_error *error)
{
    const struct follow follow = {.seen = UINT64_MAX, .progress = 2, .patience_ms = STOPPING_MS};
    struct message reply = {0};
    enum esp_status status = job_ask(engine, record, &follow, &reply, fate, error);
    if (status == ESP_OK && has_ended(&reply.follow_reply.session))
        job_end_take(record, &reply.follow_reply.session);
    message_clear(&reply);
    return status;
}

void job_stop(struct engine *engine, const struct job_record *record)
{
    enum job_fate fate;
    struct esp_error ignored;
    if (job_cancel(engine, record, engine->call_timeout_ms, &fate, &ignored) == ESP_OK)
        await_end(engine, record, &fate, &ignored);
}

bool job_end_instead(const struct job_record *record, enum job_fate fate, struct job_end *end,
                     struct esp_error *why)
{
    char id[SESSION_TEXT];
    if (fate == JOB_THERE || !job_end_known(record, end))
        return false;
    if (!end->wanted)
        return true;
    if (fate == JOB_LOST || fate == JOB_OVER) { /* no server computes it */
        end->wanted = false;
        job_end_note(record, end, NULL);
        return true;
    }
    error_set(
        why, ESP_UNREACHABLE,
        "job %s is cancelled in your list and not called again, but server %s at %s does not answer and "
        "may still compute it: it is told when it answers and the job is looked after ('espalier jobs')",
        job_id(record, id), record->server, record->address);
    return false;
}

/* If the list cannot be written, the computation is stopped all the same: the arguments are deleted, so
 * that the job is not called again. */
static void note_wish(const struct job_record *record)
{
    char id[SESSION_TEXT];
    struct job_end wish = cancelled;
    wish.wanted = true;
    if (job_end_note(record, &wish, NULL) != ESP_OK)
        job_store_remove_call(job_id(record, id));
}

enum esp_status job_call_off(struct engine *engine, struct job_record *record, int64_t timeout_ms,
                             struct esp_error *error)
{
    struct job_end end;
    struct esp_error why = {0};
    enum job_fate fate = JOB_THERE;
    if (job_end_known(record, &end) && !end.wanted)
        return ESP_OK;
    note_wish(record);
    job_refresh(record); /* another process may have called it again before it saw the note */
    enum esp_status status = job_cancel(engine, record, timeout_ms, &fate, &why);
    if (status == ESP_OK)
        status = await_end(engine, record, &fate, &why);
    if (status == ESP_OK)
        return ESP_OK;
    if (fate == JOB_THERE || fate == JOB_OVER)
        end_unnote(record);
    else if (job_end_instead(record, fate, &end, &why))
        return ESP_OK;
    return error_set(error, why.status, "%s", why.text);
}

/* Sessions that wait for a job, wherever it is: if its server is lost, the session continues with the
 * job's new server.
 */

#define LOOK_AGAIN_MS 200 /* pause for a silent server, or until a server takes the job */

/* Makes the session wait for the job of its record. Returns false without memory. */
static bool point(struct session *session)
{
    const struct job_record *record = session->record;
    struct link *link = link_find(session->engine, record->address);
    if (!link)
        return false;
    session_set_server(session, link, record->server);
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
    session->job_ops = &job_ops;
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
    lend_end(&session->invocation, false); /* lent memory is offered to the new server */
    if (!point(session))
        session_end(session, error_no_memory(&session->error, "a session"));
}

static void recover(struct session *session)
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

static void call_off(struct session *session, int64_t timeout_ms)
{
    job_call_off(session->engine, session->record, timeout_ms, NULL);
}

static const struct left *left_of(const struct job_record *record)
{
    return record->data;
}

static const struct session_job_ops job_ops = {
    .is_handed_over = is_handed_over,
    .recover = recover,
    .is_kept = job_is_kept,
    .call_off = call_off,
    .take_end = job_end_take,
    .left = left_of,
    .destroy = job_record_destroy,
};

/* Submits jobs: from arguments to a session that a server has, its record, and the server that keeps it. */

/* The process that fetches the results may want all outputs; nothing is written through this pointer. */
static void want_outputs(struct invocation *invocation)
{
    static char somewhere;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (argument_is_output(&invocation->function->problem->arguments[value->index]) && !value->out)
            value->out = &somewhere;
    }
}

static void note_scalars(const struct invocation *invocation, struct job_record *record)
{
    record->function = function_use(invocation->function);
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        const struct argument *argument = &invocation->function->problem->arguments[value->index];
        size_t size = base_type_size(argument->type);
        if (argument->n_dims > 0 || !argument_is_input(argument) || value->form != VALUE_MEMORY ||
            !value->in || size > sizeof record->values[0])
            continue;
        memcpy(record->values[value->index], value->in, size);
        record->scalars[value->index] = record->values[value->index];
    }
}

/* The record is written before the server gets the order to keep the job: see client/jobs/job.h. */
static enum esp_status keep(struct library *library, const struct session *session, struct job_record *record,
                            bool listed, struct esp_job **job, struct esp_error *error)
{
    char id[SESSION_TEXT], path[PATH_MAX];
    struct job_record copy = *record; /* for undoing, after the job has taken over the record */
    job_id(record, id);
    char *token = job_token_write(record);
    enum esp_status status = token ? ESP_OK : error_no_memory(error, "a job");
    if (status == ESP_OK && listed)
        status = job_store_write(id, token, error);
    if (status == ESP_OK && listed && job_call_is_wanted(session, library->settings.job_arguments) &&
        (status = job_store_call_path(id, path, sizeof path, error)) == ESP_OK)
        status = job_call_write(path, session, error);
    if (status == ESP_OK && (status = job_keep(library->engine, record, error)) == ESP_OK)
        status = job_make(record, token, job, error);
    if (status != ESP_OK) {
        job_drop(library->engine, &copy, NULL);
        if (listed)
            job_store_remove(id, NULL);
    }
    free(token);
    return status;
}

enum esp_status job_gather(struct library *library, struct handle *handle,
                           const struct esp_argument *arguments, size_t n_arguments,
                           const struct esp_call_options *options, struct invocation *invocation,
                           struct esp_error *error)
{
    bool was_paused = sequence_pause(); /* the job continues after the sequence has ended */
    const struct room room = {library->engine, handle->server};
    enum esp_status status =
        invocation_from_vector(invocation, handle->function, &room, arguments, n_arguments, error);
    sequence_resume(was_paused);
    if (status != ESP_OK)
        return function_tell_signatures(handle->function, error);
    status = hold_for_job(invocation, error);
    if (status == ESP_OK)
        status = invocation_find_data(invocation, library->engine, start_until_ns(library, handle, options),
                                      error);
    if (status != ESP_OK)
        invocation_release(invocation);
    return status;
}

enum esp_status job_submit(struct library *library, struct handle *handle, struct invocation *invocation,
                           const struct esp_call_options *options, bool listed, struct esp_job **job,
                           struct esp_error *error)
{
    struct session *session = NULL;
    struct job_record record = {0};
    const struct target target = {handle->server, handle->address, &job_ops, options};
    double deadline_s = options ? options->deadline_s : 0;
    if (deadline_s <= 0)
        deadline_s = atomic_load(&handle->deadline_s);
    if (problem_has_callbacks(handle->function->problem)) {
        invocation_release(invocation);
        return error_set(
            error, ESP_INVALID,
            "%s calls functions of its client, which has to stay: call it, it cannot be submitted",
            handle->function->problem->name);
    }
    want_outputs(invocation);
    note_scalars(invocation, &record);
    enum esp_status status = session_begin(library->engine, invocation, &target, deadline_s, &session, error);
    if (status == ESP_OK && options) {
        session->following.sent = options->sent;
        session->following.arg = options->arg;
    }
    if (status == ESP_OK)
        status = job_hand_over(session, true, &record, error);
    if (status == ESP_OK)
        record.data = left_gather(&session->invocation);
    if (status == ESP_OK)
        status = keep(library, session, &record, listed, job, error);
    session_discard(session);
    job_record_clear(&record);
    return status;
}
