/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/states/states.h"

#include "util/log.h"
#include "util/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define STATE_TEXT    (8 + 32 + CAP_NAME + 1) /* state:<id>@<server> */
#define MOST_WHY      200
#define MOST_EPITAPHS 64
#define MOST_STATES   256u

/* A state that a routine has left in its worker. */
struct state {
    uint64_t id[2];
    uint64_t job_id; /* the job that made it, by which workers know it */
    uint64_t bytes;  /* of memory that is counted for it */
    char *library;   /* of the routine that made it: only routines of that library understand it */
    char problem[PROBLEM_MAX_NAME + 1];
    bool busy;               /* a session works on it */
    struct session *waiting; /* sessions that wait to work on it */
    struct timer lease;
    struct state *prev, *next;
};

struct states {
    struct states_options options;
    struct state *all;
    uint32_t n, n_epitaphs;
    struct {
        uint64_t id[2];
        char why[MOST_WHY];
    } epitaphs[MOST_EPITAPHS]; /* why the last states ended */
};

#define PREFIX    "state:"
#define ID_DIGITS 32

/* ---- identities ---- */

static void write_identity(const struct states *states, const uint64_t id[2], char *text)
{
    snprintf(text, STATE_TEXT, PREFIX "%016" PRIx64 "%016" PRIx64 "@%s", id[0], id[1], states->options.name);
}

/* "state:<32 digits>@server" */
static enum esp_status read_identity(const struct states *states, const struct session *session,
                                     uint32_t index, uint64_t id[2], struct esp_error *error)
{
    const struct job_argument *argument = &session->job.arguments[index];
    char text[STATE_TEXT] = "", digits[ID_DIGITS + 1] = "";
    if (argument->data)
        snprintf(text, sizeof text, "%.*s",
                 (int)(argument->bytes < STATE_TEXT ? argument->bytes : STATE_TEXT - 1),
                 (const char *)argument->data);
    const char *at = strchr(text, '@');
    size_t length = strlen(PREFIX);
    bool whole = at && strncmp(text, PREFIX, length) == 0 && (size_t)(at - text) == length + ID_DIGITS &&
                 strspn(text + length, "0123456789abcdef") == ID_DIGITS;
    if (!whole)
        return error_set(error, ESP_INVALID,
                         "%s: %s: expected a state, as state:<%d digits>@SERVER, found \"%.60s\"",
                         session->problem->name, session->problem->arguments[index].name, ID_DIGITS, text);
    if (strcmp(at + 1, states->options.name) != 0)
        return error_set(error, ESP_NOT_FOUND, "%s: the state is kept by server %s: this is %s",
                         session->problem->name, at + 1, states->options.name);
    memcpy(digits, text + length + ID_DIGITS / 2, ID_DIGITS / 2);
    id[1] = strtoull(digits, NULL, 16);
    memcpy(digits, text + length, ID_DIGITS / 2);
    id[0] = strtoull(digits, NULL, 16);
    return ESP_OK;
}

static struct state *find(const struct states *states, const uint64_t id[2])
{
    struct state *state;
    DL_FOREACH(states->all, state)
    {
        if (state->id[0] == id[0] && state->id[1] == id[1])
            return state;
    }
    return NULL;
}

/* Why a state is not there (any more). */
static const char *epitaph(const struct states *states, const uint64_t id[2])
{
    for (unsigned i = 0; i < MOST_EPITAPHS; i++)
        if (states->epitaphs[i].id[0] == id[0] && states->epitaphs[i].id[1] == id[1])
            return states->epitaphs[i].why;
    return "it was closed or dropped, or the server was restarted";
}

/* The name of the library. A relative name is looked for beside the description first. */
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

/* A library would take a state of another library for its own, and destroy it. */
static enum esp_status check_library(const struct session *session, uint32_t index, const struct state *state,
                                     struct esp_error *error)
{
    char *library = library_of(session);
    if (!library)
        return error_no_memory(error, "a library's name");
    bool same = strcmp(library, state->library) == 0;
    if (!same)
        error_set(
            error, ESP_INVALID,
            "%s: %s: expected a state that a routine of %s made, found one that problem %s made with %s",
            session->problem->name, session->problem->arguments[index].name,
            *library ? library : "the worker itself", state->problem,
            *state->library ? state->library : "the worker itself");
    free(library);
    return same ? ESP_OK : ESP_INVALID;
}

static void state_free(struct state *state)
{
    free(state->library);
    free(state);
}

static enum esp_status find_of(struct states *states, const struct session *session, uint32_t index,
                               struct state **state, struct esp_error *error)
{
    uint64_t id[2];
    enum esp_status status = read_identity(states, session, index, id, error);
    if (status != ESP_OK)
        return status;
    *state = find(states, id);
    if (*state)
        return check_library(session, index, *state, error);
    return error_set(error, ESP_NOT_FOUND, "%s: %s: server %s has no such state (any more): %s",
                     session->problem->name, session->problem->arguments[index].name, states->options.name,
                     epitaph(states, id));
}

/* ---- the end of one ---- */

/* Queues the first waiting session, or all: they find the state free, or gone. */
static void let_in(struct states *states, struct state *state, bool all)
{
    while (state->waiting) {
        struct session *session = state->waiting;
        DL_DELETE2(state->waiting, session, prev_aside, next_aside);
        session->aside = NULL;
        queue_push_front(states->options.queue, &session_share_of(session)->run, &session->queued);
        if (!all)
            break;
    }
}

static void state_end(struct states *states, struct state *state, const char *why)
{
    unsigned place = states->n_epitaphs++ % MOST_EPITAPHS;
    memcpy(states->epitaphs[place].id, state->id, sizeof state->id);
    snprintf(states->epitaphs[place].why, sizeof states->epitaphs[place].why, "%.*s",
             (int)sizeof states->epitaphs[place].why - 1, why);
    log_notice("state %016" PRIx64 "... of %s: %s", state->id[0], state->problem, why);
    let_in(states, state, true);
    timers_cancel(states->options.timers, &state->lease);
    DL_DELETE(states->all, state);
    states->n--;
    admission_release(states->options.admission, state->bytes);
    state_free(state);
    admission_admit(states->options.admission);
}

static void lease_over(struct timer *timer, int64_t now_ns, void *context)
{
    struct states *states = context;
    struct state *state = (struct state *)((char *)timer - offsetof(struct state, lease));
    char why[80];
    (void)now_ns;
    snprintf(why, sizeof why, "it was dropped: nobody used it for %.3g s",
             (double)states->options.lease_ns / 1e9);
    states->options.workers->ops->drop(states->options.workers, state->job_id);
    state_end(states, state, why);
}

static void renew_lease(struct states *states, struct state *state)
{
    state->lease.fire = lease_over;
    state->lease.context = states;
    timers_set(states->options.timers, &state->lease,
               clock_now_ns(states->options.clock) + states->options.lease_ns, NULL);
}

void states_lost(struct states *states, uint64_t job_id)
{
    struct state *state, *next;
    DL_FOREACH_SAFE(states->all, state, next)
    {
        if (state->job_id == job_id && !state->busy)
            state_end(states, state, "its worker has died");
    }
    queue_start(states->options.queue);
}

void states_give_up(struct states *states, const struct session *session)
{
    int index = problem_state_index(session->problem);
    struct state *state, *next;
    if (index < 0 || session->problem->arguments[index].mode != MODE_OUT)
        return;
    DL_FOREACH_SAFE(states->all, state, next)
    {
        if (state->job_id != session->job.id || state->busy)
            continue;
        states->options.workers->ops->drop(states->options.workers, state->job_id);
        state_end(states, state, "the call that opened it was given up by its client");
    }
}

void states_uncollected(struct states *states, const struct session *session)
{
    if (session->state == SESSION_DONE && session->detached && !session->collected)
        states_give_up(states, session);
}

bool states_create(const struct states_options *options, struct states **result)
{
    struct states *states = calloc(1, sizeof *states);
    if (states)
        states->options = *options;
    *result = states;
    return states;
}

void states_destroy(struct states *states)
{
    struct state *state, *next;
    if (!states)
        return;
    DL_FOREACH_SAFE(states->all, state, next)
    {
        DL_DELETE(states->all, state);
        state_free(state);
    }
    free(states);
}

uint32_t states_count(const struct states *states)
{
    return states->n;
}

/* ---- sessions that work on one ---- */

static bool works_on_one(const struct session *session, int *index)
{
    *index = problem_state_index(session->problem);
    return *index >= 0 && argument_is_input(&session->problem->arguments[*index]);
}

enum esp_status states_check(struct states *states, const struct session *session, struct esp_error *error)
{
    int index;
    struct state *state;
    if (problem_state_index(session->problem) < 0)
        return ESP_OK;
    if (!states->options.workers->ops->drop)
        return error_set(error, ESP_INVALID, "%s: this server keeps no states", session->problem->name);
    if (works_on_one(session, &index))
        return find_of(states, session, (uint32_t)index, &state, error);
    if (states->n >= MOST_STATES)
        return error_set(error, ESP_LIMIT, "server %s keeps %u states; at most %u", states->options.name,
                         states->n, MOST_STATES);
    return ESP_OK;
}

enum esp_status states_take(struct states *states, struct session *session, bool *wait,
                            struct esp_error *error)
{
    int index;
    struct state *state;
    *wait = false;
    session->job.state = 0;
    if (!works_on_one(session, &index))
        return ESP_OK;
    enum esp_status status = find_of(states, session, (uint32_t)index, &state, error);
    if (status != ESP_OK)
        return status;
    if (state->busy) {
        DL_APPEND2(state->waiting, session, prev_aside, next_aside);
        session->aside = state;
        *wait = true;
        return ESP_OK;
    }
    state->busy = true;
    session->works_on = state;
    session->job.state = state->job_id;
    timers_cancel(states->options.timers, &state->lease);
    return ESP_OK;
}

void states_step_aside(struct session *session)
{
    struct state *state = session->aside;
    if (!state)
        return;
    DL_DELETE2(state->waiting, session, prev_aside, next_aside);
    session->aside = NULL;
}

void states_not_started(struct states *states, struct session *session)
{
    if (!session->works_on)
        return;
    session->works_on->busy = false;
    renew_lease(states, session->works_on);
    session->works_on = NULL;
}

static enum esp_status tell_identity(struct states *states, struct session *session, uint32_t index,
                                     const uint64_t *id, struct esp_error *error)
{
    char text[STATE_TEXT] = "";
    struct job_argument *argument = &session->job.arguments[index];
    if (id)
        write_identity(states, id, text);
    free(argument->owned);
    if (!(argument->owned = strdup(text)))
        return error_no_memory(error, "a state");
    argument->data = argument->owned;
    argument->bytes = strlen(text);
    argument->in_segment = false;
    return ESP_OK;
}

/* The state takes over the memory that the description asks for beyond the arguments. */
static enum esp_status state_make(struct states *states, struct session *session, uint32_t index,
                                  struct esp_error *error)
{
    struct state *state = calloc(1, sizeof *state);
    if (!state || !(state->library = library_of(session)) ||
        random_bytes(state->id, sizeof state->id, error) != ESP_OK ||
        tell_identity(states, session, index, state->id, error) != ESP_OK) {
        if (state)
            state_free(state);
        states->options.workers->ops->drop(states->options.workers, session->job.id);
        return error_no_memory(error, "a state");
    }
    state->job_id = session->job.id;
    state->bytes =
        session->beyond_bytes < session->memory.bytes ? session->beyond_bytes : session->memory.bytes;
    session->memory.bytes -= state->bytes;
    snprintf(state->problem, sizeof state->problem, "%s", session->problem->name);
    DL_APPEND(states->all, state);
    states->n++;
    renew_lease(states, state);
    return ESP_OK;
}

static void end_call_on(struct states *states, struct session *session, const struct job_end *end)
{
    struct state *state = session->works_on;
    char why[MOST_WHY];
    session->works_on = NULL;
    state->busy = false;
    if (end->keeps_state) {
        renew_lease(states, state);
        let_in(states, state, false);
        return;
    }
    if (end->error.status == ESP_OK)
        snprintf(why, sizeof why, "it was closed by %s", session->problem->name);
    else
        snprintf(why, sizeof why, "it ended with a call of %s: %.100s", session->problem->name,
                 end->error.text);
    state_end(states, state, why);
}

enum esp_status states_after(struct states *states, struct session *session, const struct job_end *end,
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
        return state_make(states, session, (uint32_t)index, error);
    }
    uint64_t id[2] = {0, 0};
    if (session->works_on) {
        memcpy(id, session->works_on->id, sizeof id);
        end_call_on(states, session, end);
    }
    if (mode == MODE_INOUT && end->error.status == ESP_OK)
        return tell_identity(states, session, (uint32_t)index, end->keeps_state ? id : NULL, error);
    return ESP_OK;
}
