/* SPDX-License-Identifier: Apache-2.0
 *
 * States: what routines have left in their workers for later calls. Each is found by an identity that nobody
 * can guess, counts its memory, is worked on by one session at a time, and ends when a routine closes it,
 * when nobody has used it for its lease, or with its worker.
 */
#include "sed/server/server_state.h"
#include "util/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define KEPT_TEXT     (8 + 32 + CAP_NAME + 1) /* state:<id>@<server> */
#define KEPT_WHY      200
#define KEPT_EPITAPHS 64
#define KEPT_MOST     256u

/* A state that a routine has left in its worker. */
struct kept {
    uint64_t id[2];
    uint64_t job_id; /* that made it: what the workers know it by */
    uint64_t bytes;  /* counted for it */
    char *library;   /* whose routine made it: only that library's routines know what it is */
    char problem[PROBLEM_MAX_NAME + 1];
    bool busy;               /* a session works on it */
    struct session *waiting; /* others that want to */
    struct timer lease;
    struct kept *prev, *next;
};

struct kept_states {
    struct kept *all;
    uint32_t n, n_epitaphs;
    struct {
        uint64_t id[2];
        char why[KEPT_WHY];
    } epitaphs[KEPT_EPITAPHS]; /* what became of the last ones */
};

#define PREFIX    "state:"
#define ID_DIGITS 32

/* ---- identities ---- */

static void write_identity(const struct server *server, const uint64_t id[2], char *text)
{
    snprintf(text, KEPT_TEXT, PREFIX "%016" PRIx64 "%016" PRIx64 "@%s", id[0], id[1], server->name);
}

/* "state:<32 digits>@server" */
static enum esp_status read_identity(const struct server *server, const struct session *session,
                                     uint32_t index, uint64_t id[2], struct esp_error *error)
{
    const struct job_argument *argument = &session->job.arguments[index];
    char text[KEPT_TEXT] = "", digits[ID_DIGITS + 1] = "";
    if (argument->data)
        snprintf(text, sizeof text, "%.*s",
                 (int)(argument->bytes < KEPT_TEXT ? argument->bytes : KEPT_TEXT - 1),
                 (const char *)argument->data);
    const char *at = strchr(text, '@');
    size_t length = strlen(PREFIX);
    bool whole = at && strncmp(text, PREFIX, length) == 0 && (size_t)(at - text) == length + ID_DIGITS &&
                 strspn(text + length, "0123456789abcdef") == ID_DIGITS;
    if (!whole)
        return error_set(error, ESP_INVALID,
                         "%s: %s: expected a state, as state:<%d digits>@SERVER, found \"%.60s\"",
                         session->problem->name, session->problem->arguments[index].name, ID_DIGITS, text);
    if (strcmp(at + 1, server->name) != 0)
        return error_set(error, ESP_NOT_FOUND, "%s: the state is kept by server %s: this is %s",
                         session->problem->name, at + 1, server->name);
    memcpy(digits, text + length + ID_DIGITS / 2, ID_DIGITS / 2);
    id[1] = strtoull(digits, NULL, 16);
    memcpy(digits, text + length, ID_DIGITS / 2);
    id[0] = strtoull(digits, NULL, 16);
    return ESP_OK;
}

static struct kept *find(const struct server *server, const uint64_t id[2])
{
    struct kept *kept;
    DL_FOREACH(server->states->all, kept)
    {
        if (kept->id[0] == id[0] && kept->id[1] == id[1])
            return kept;
    }
    return NULL;
}

/* What became of one that is not there (any more). */
static const char *epitaph(const struct server *server, const uint64_t id[2])
{
    for (unsigned i = 0; i < KEPT_EPITAPHS; i++)
        if (server->states->epitaphs[i].id[0] == id[0] && server->states->epitaphs[i].id[1] == id[1])
            return server->states->epitaphs[i].why;
    return "it was closed or dropped, or the server was restarted";
}

/* A library as one text: a relative name is looked for beside the description first. */
static char *library_of(const struct session *session)
{
    const struct problem *problem = session->problem;
    const char *library = problem->n_implementations > 0 ? problem->implementations[0].library : "";
    const char *folder = library[0] && library[0] != '/' ? problem->folder : "";
    size_t size = strlen(folder) + strlen(library) + 2;
    char *text = malloc(size);
    if (text)
        snprintf(text, size, "%s%s%s", folder, *folder ? "/" : "", library);
    return text;
}

/* What another library left behind would be taken for this one's own, and destroyed. */
static enum esp_status check_library(const struct session *session, uint32_t index, const struct kept *kept,
                                     struct esp_error *error)
{
    char *library = library_of(session);
    if (!library)
        return error_no_memory(error, "a library's name");
    bool same = strcmp(library, kept->library) == 0;
    if (!same)
        error_set(
            error, ESP_INVALID,
            "%s: %s: expected a state that a routine of %s made, found one that problem %s made with %s",
            session->problem->name, session->problem->arguments[index].name,
            *library ? library : "the worker itself", kept->problem,
            *kept->library ? kept->library : "the worker itself");
    free(library);
    return same ? ESP_OK : ESP_INVALID;
}

static void free_kept(struct kept *kept)
{
    free(kept->library);
    free(kept);
}

static enum esp_status find_of(struct server *server, const struct session *session, uint32_t index,
                               struct kept **kept, struct esp_error *error)
{
    uint64_t id[2];
    enum esp_status status = read_identity(server, session, index, id, error);
    if (status != ESP_OK)
        return status;
    *kept = find(server, id);
    if (*kept)
        return check_library(session, index, *kept, error);
    return error_set(error, ESP_NOT_FOUND, "%s: %s: server %s has no such state (any more): %s",
                     session->problem->name, session->problem->arguments[index].name, server->name,
                     epitaph(server, id));
}

/* ---- the end of one ---- */

/* Who waited for it finds out that it is gone, or that it is free, in turn. */
static void let_in(struct server *server, struct kept *kept, bool all)
{
    while (kept->waiting) {
        struct session *session = kept->waiting;
        DL_DELETE2(kept->waiting, session, prev_aside, next_aside);
        session->aside = NULL;
        queue_push_front(&server->queue, &session_share_of(session)->run, &session->queued);
        if (!all)
            break;
    }
}

static void end_kept(struct server *server, struct kept *kept, const char *why)
{
    unsigned place = server->states->n_epitaphs++ % KEPT_EPITAPHS;
    memcpy(server->states->epitaphs[place].id, kept->id, sizeof kept->id);
    snprintf(server->states->epitaphs[place].why, sizeof server->states->epitaphs[place].why, "%.*s",
             (int)sizeof server->states->epitaphs[place].why - 1, why);
    log_notice("state %016" PRIx64 "... of %s: %s", kept->id[0], kept->problem, why);
    let_in(server, kept, true);
    timers_cancel(&server->timers, &kept->lease);
    DL_DELETE(server->states->all, kept);
    server->states->n--;
    admission_release(&server->admission, kept->bytes);
    free_kept(kept);
    admission_admit(&server->admission);
}

static void lease_over(struct timer *timer, int64_t now_ns, void *context)
{
    struct server *server = context;
    struct kept *kept = (struct kept *)((char *)timer - offsetof(struct kept, lease));
    char why[80];
    (void)now_ns;
    snprintf(why, sizeof why, "it was dropped: nobody used it for %.3g s",
             (double)server->options.state_lease_ns / 1e9);
    server->workers->ops->drop(server->workers, kept->job_id);
    end_kept(server, kept, why);
}

static void renew_lease(struct server *server, struct kept *kept)
{
    kept->lease.fire = lease_over;
    kept->lease.context = server;
    timers_set(&server->timers, &kept->lease, server_now(server) + server->options.state_lease_ns, NULL);
}

void server_kept_lost(void *arg, uint64_t job_id)
{
    struct server *server = arg;
    struct kept *kept, *next;
    endpoint_enter(server->endpoint);
    DL_FOREACH_SAFE(server->states->all, kept, next)
    {
        if (kept->job_id == job_id && !kept->busy)
            end_kept(server, kept, "its worker has died");
    }
    queue_start(&server->queue);
    endpoint_leave(server->endpoint);
}

void server_kept_give_up(struct server *server, const struct session *session)
{
    int index = problem_state_index(session->problem);
    struct kept *kept, *next;
    if (index < 0 || session->problem->arguments[index].mode != MODE_OUT)
        return;
    DL_FOREACH_SAFE(server->states->all, kept, next)
    {
        if (kept->job_id != session->job.id || kept->busy)
            continue;
        server->workers->ops->drop(server->workers, kept->job_id);
        end_kept(server, kept, "the call that opened it was given up by its client");
    }
}

/* Nobody will use the state that the session has opened, as nobody has its result. */
static void on_result_goes(struct server *server, struct session *session)
{
    if (session->state == SESSION_DONE && session->detached && !session->collected)
        server_kept_give_up(server, session);
}

bool server_kept_create(struct server *server)
{
    return (server->states = calloc(1, sizeof *server->states));
}

void server_kept_destroy(struct server *server)
{
    struct kept *kept, *next;
    if (!server->states)
        return;
    DL_FOREACH_SAFE(server->states->all, kept, next)
    {
        DL_DELETE(server->states->all, kept);
        free_kept(kept);
    }
    free(server->states);
}

uint32_t server_kept_count(const struct server *server)
{
    return server->states->n;
}

/* ---- sessions that work on one ---- */

static bool works_on_one(const struct session *session, int *index)
{
    *index = problem_state_index(session->problem);
    return *index >= 0 && argument_is_input(&session->problem->arguments[*index]);
}

enum esp_status server_kept_check(struct server *server, const struct session *session,
                                  struct esp_error *error)
{
    int index;
    struct kept *kept;
    if (problem_state_index(session->problem) < 0)
        return ESP_OK;
    if (!server->workers->ops->drop)
        return error_set(error, ESP_INVALID, "%s: this server keeps no states", session->problem->name);
    if (works_on_one(session, &index))
        return find_of(server, session, (uint32_t)index, &kept, error);
    if (server->states->n >= KEPT_MOST)
        return error_set(error, ESP_LIMIT, "server %s keeps %u states; at most %u", server->name,
                         server->states->n, KEPT_MOST);
    return ESP_OK;
}

enum esp_status server_kept_take(struct server *server, struct session *session, bool *wait,
                                 struct esp_error *error)
{
    int index;
    struct kept *kept;
    *wait = false;
    session->job.state = 0;
    if (!works_on_one(session, &index))
        return ESP_OK;
    enum esp_status status = find_of(server, session, (uint32_t)index, &kept, error);
    if (status != ESP_OK)
        return status;
    if (kept->busy) {
        DL_APPEND2(kept->waiting, session, prev_aside, next_aside);
        session->aside = kept;
        *wait = true;
        return ESP_OK;
    }
    kept->busy = true;
    session->works_on = kept;
    session->job.state = kept->job_id;
    timers_cancel(&server->timers, &kept->lease);
    return ESP_OK;
}

static void on_unqueued(struct server *server, struct session *session)
{
    (void)server;
    struct kept *kept = session->aside;
    if (!kept)
        return;
    DL_DELETE2(kept->waiting, session, prev_aside, next_aside);
    session->aside = NULL;
}

void server_kept_not_started(struct server *server, struct session *session)
{
    if (!session->works_on)
        return;
    session->works_on->busy = false;
    renew_lease(server, session->works_on);
    session->works_on = NULL;
}

static enum esp_status tell_identity(struct server *server, struct session *session, uint32_t index,
                                     const uint64_t *id, struct esp_error *error)
{
    char text[KEPT_TEXT] = "";
    struct job_argument *argument = &session->job.arguments[index];
    if (id)
        write_identity(server, id, text);
    free(argument->owned);
    if (!(argument->owned = strdup(text)))
        return error_no_memory(error, "a state");
    argument->data = argument->owned;
    argument->bytes = strlen(text);
    argument->in_segment = false;
    return ESP_OK;
}

/* The memory that the description asks for beyond the arguments is the state's from now on. */
static enum esp_status make_kept(struct server *server, struct session *session, uint32_t index,
                                 struct esp_error *error)
{
    struct kept *kept = calloc(1, sizeof *kept);
    if (!kept || !(kept->library = library_of(session)) ||
        random_bytes(kept->id, sizeof kept->id, error) != ESP_OK ||
        tell_identity(server, session, index, kept->id, error) != ESP_OK) {
        if (kept)
            free_kept(kept);
        server->workers->ops->drop(server->workers, session->job.id);
        return error_no_memory(error, "a state");
    }
    kept->job_id = session->job.id;
    kept->bytes =
        session->beyond_bytes < session->memory.bytes ? session->beyond_bytes : session->memory.bytes;
    session->memory.bytes -= kept->bytes;
    snprintf(kept->problem, sizeof kept->problem, "%s", session->problem->name);
    DL_APPEND(server->states->all, kept);
    server->states->n++;
    renew_lease(server, kept);
    return ESP_OK;
}

static void end_call_on(struct server *server, struct session *session, const struct job_end *end)
{
    struct kept *kept = session->works_on;
    char why[KEPT_WHY];
    session->works_on = NULL;
    kept->busy = false;
    if (end->keeps_state) {
        renew_lease(server, kept);
        let_in(server, kept, false);
        return;
    }
    if (end->error.status == ESP_OK)
        snprintf(why, sizeof why, "it was closed by %s", session->problem->name);
    else
        snprintf(why, sizeof why, "it ended with a call of %s: %.100s", session->problem->name,
                 end->error.text);
    end_kept(server, kept, why);
}

enum esp_status server_kept_after(struct server *server, struct session *session, const struct job_end *end,
                                  struct esp_error *error)
{
    int index = problem_state_index(session->problem);
    if (index < 0)
        return ESP_OK;
    enum argument_mode mode = session->problem->arguments[index].mode;
    if (mode == MODE_OUT) {
        if (end->error.status != ESP_OK)
            return ESP_OK;
        if (!end->keeps_state)
            return error_set(error, ESP_FAILED, "%s left no state behind",
                             session->job.implementation->symbol);
        return make_kept(server, session, (uint32_t)index, error);
    }
    uint64_t id[2] = {0, 0};
    if (session->works_on) {
        memcpy(id, session->works_on->id, sizeof id);
        end_call_on(server, session, end);
    }
    if (mode == MODE_INOUT && end->error.status == ESP_OK)
        return tell_identity(server, session, (uint32_t)index, end->keeps_state ? id : NULL, error);
    return ESP_OK;
}

const struct session_observer kept_observer = {.unqueued = on_unqueued, .result_goes = on_result_goes};
