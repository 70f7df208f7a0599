/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that Octave waits for, and futures. */
#include "gateway.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Octave sets this when the user presses Ctrl-C. */
extern volatile int octave_interrupt_state;

static struct call *futures;

/* ---- one call ---- */

static void call_free(struct call *call)
{
    if (!call)
        return;
    size_t n = call->known ? call->known->problem->n_arguments : 0;
    for (size_t i = 0; i < n; i++) {
        struct output *output = &call->outputs[i];
        char **texts = output->memory;
        for (uint64_t t = 0; output->is_text && t < output->elements; t++) {
            if (texts[t] != output->before)
                free(texts[t]);
        }
        free(output->memory);
        if (output->array)
            mxDestroyArray(output->array);
    }
    for (size_t i = 0; i < call->n_owned; i++)
        free(call->owned[i]);
    free(call->owned);
    free(call);
}

static char *text_of(struct call *call, const mxArray *value)
{
    char *text = mxIsChar(value) ? mxArrayToString(value) : NULL;
    char *copy = text ? call_own(call, strlen(text) + 1) : NULL;
    if (copy)
        memcpy(copy, text, strlen(text));
    mxFree(text);
    return copy;
}

static bool want_one(struct call *call, const mxArray *value)
{
    const struct esp_problem *problem = call->known->problem;
    const char *name = text_of(call, value);
    size_t position = name ? position_of(problem, name) : problem->n_arguments;
    if (position == problem->n_arguments || !is_output(&problem->arguments[position]))
        return fail(ESP_INVALID, "%s: want: no result is called \"%s\" (see espalier_help %s)", problem->name,
                    name ? name : mxGetClassName(value), problem->name);
    if (call->n_wanted == ESP_MAX_ARGUMENTS)
        return fail(ESP_INVALID, "%s: want: too many names", problem->name);
    call->wanted[call->n_wanted++] = position;
    return true;
}

static bool take_want(struct call *call, const mxArray *value)
{
    if (!mxIsCell(value))
        return want_one(call, value);
    for (size_t i = 0; i < mxGetNumberOfElements(value); i++) {
        if (!want_one(call, mxGetCell(value, i)))
            return false;
    }
    return true;
}

/* An option of calls that is no argument of the problem. */
static bool take_option(struct call *call, const char *name, const mxArray *value)
{
    const struct esp_problem *problem = call->known->problem;
    if (strcmp(name, "want") == 0)
        return take_want(call, value);
    if (strcmp(name, "server") == 0) {
        call->options.server = text_of(call, value);
        return call->options.server ||
               fail(ESP_INVALID, "%s: server: expected a name, found a value of class %s", problem->name,
                    mxGetClassName(value));
    }
    if (strcmp(name, "deadline") == 0) {
        bool is_number = mxIsDouble(value) && mxGetNumberOfElements(value) == 1 && !mxIsComplex(value);
        call->options.deadline_s = is_number ? mxGetScalar(value) : -1;
        return call->options.deadline_s >= 0 ||
               fail(ESP_INVALID, "%s: deadline: expected seconds", problem->name);
    }
    return fail(ESP_INVALID, "%s: no input or option is called \"%s\" (see espalier_help %s)", problem->name,
                name, problem->name);
}

static bool take_named(struct call *call, const mxArray *key, const mxArray *value)
{
    const struct esp_problem *problem = call->known->problem;
    const char *name = text_of(call, key);
    if (!name)
        return fail(ESP_INVALID,
                    "%s: expected a name of an input or option behind the inputs, found a value of class %s",
                    problem->name, mxGetClassName(key));
    size_t position = position_of(problem, name);
    if (position == problem->n_arguments)
        return take_option(call, name, value);
    const struct esp_problem_argument *formal = &problem->arguments[position];
    if (!is_input(formal) && formal->type != ESP_TYPE_FILE)
        return fail(ESP_INVALID, "%s: \"%s\" is a result, and no input", problem->name, name);
    if (call->vector[position].data)
        return fail(ESP_INVALID, "%s: argument \"%s\" was given twice", problem->name, name);
    return input_take(call, position, value);
}

/* Names first: elements of a sparse matrix may come with pointers and indices of their own. */
static bool take_inputs(struct call *call, int n, const mxArray **values)
{
    const struct esp_problem *problem = call->known->problem;
    int n_required = 0;
    for (size_t i = 0; i < problem->n_arguments; i++)
        n_required += is_input(&problem->arguments[i]) && !problem->arguments[i].follows;
    for (int i = n_required; i < n; i += 2) {
        if (i + 1 == n)
            return fail(ESP_INVALID,
                        "%s: expected %d inputs, then names with values; the last name has no value",
                        problem->name, n_required);
        if (!take_named(call, values[i], values[i + 1]))
            return false;
    }
    int taken = 0;
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &problem->arguments[i];
        if (!is_input(formal) || formal->follows)
            continue;
        if (taken == n)
            return fail_argument(call, i, "none");
        if (!input_take(call, i, values[taken++]))
            return false;
    }
    return true;
}

static bool choose_results(struct call *call, int n_asked)
{
    const struct known *known = call->known;
    size_t most = call->n_wanted ? call->n_wanted : known->n_results;
    size_t n = n_asked < 0 ? most : n_asked == 0 && most > 0 ? 1 : (size_t)n_asked;
    if (n > most)
        return fail(ESP_INVALID, "%s: expected at most %zu results, found %zu (see espalier_help %s)",
                    known->problem->name, most, n, known->problem->name);
    if (!call->n_wanted)
        memcpy(call->wanted, known->results, n * sizeof *known->results);
    call->n_wanted = n;
    for (size_t i = 0; i < n; i++)
        call->outputs[call->wanted[i]].is_wanted = true;
    return true;
}

/* A call with a problem's name and inputs, ready to start. `n_asked`: results; below 0: all. */
static struct call *call_make(int n_asked, bool lasts, int n, const mxArray **values)
{
    struct call *call = calloc(1, sizeof *call);
    if (!call) {
        fail(ESP_NO_MEMORY, "no memory for a call");
        return NULL;
    }
    call->lasts = lasts;
    char *name = n > 0 ? text_of(call, values[0]) : NULL;
    if (!name)
        fail(ESP_INVALID, "expected the name of a problem first, as in espalier (\"dgesv\", A, b)");
    call->known = name ? known_find(name) : NULL;
    const struct esp_problem *problem = call->known ? call->known->problem : NULL;
    for (size_t i = 0; problem && i < problem->n_arguments; i++)
        call->vector[i].type = problem->arguments[i].type;
    bool done = problem && take_inputs(call, n - 1, values + 1) && choose_results(call, n_asked);
    if (done && esp_arguments_complete(problem, call->vector, problem->n_arguments) != ESP_OK)
        done = fail_by_library();
    if (done && outputs_prepare(call))
        return call;
    call_free(call);
    return NULL;
}

static bool call_start(struct call *call)
{
    return esp_call_async(&call->known->handle, call->vector, call->known->problem->n_arguments,
                          &call->options, &call->session) == ESP_OK ||
           fail_by_library();
}

/* Waits for the end. Ctrl-C cancels the session. `ended`: a descriptor of the session, or -1. */
static bool call_wait(struct call *call, int ended)
{
    struct timespec pause = {0, 200000};
    bool is_cancelled = false;
    while (grpc_probe(call->session) == GRPC_NOT_COMPLETED) {
        if (octave_interrupt_state > 0 && !is_cancelled) {
            is_cancelled = true;
            grpc_cancel(call->session);
        }
        if (ended >= 0 && !is_cancelled) {
            poll(&(struct pollfd){ended, POLLIN, 0}, 1, 20);
            continue;
        }
        nanosleep(&pause, NULL);
        pause.tv_nsec += pause.tv_nsec < 5000000 ? pause.tv_nsec / 2 : 0;
    }
    if (grpc_wait(call->session) != GRPC_NO_ERROR) {
        grpc_get_error(call->session);
        return is_cancelled ? fail(ESP_CANCELLED, "%s: cancelled by Ctrl-C", call->known->problem->name)
                            : fail_by_library();
    }
    return true;
}

/* Makes a warning of the note that the description has on the results. */
static void take_note(const struct call *call)
{
    struct esp_session_info *info = NULL;
    if (esp_session_info_get(call->session, &info) == ESP_OK && info && *info->error.text)
        note(info->error.text);
    esp_session_info_free(info);
}

/* The results as a cell array. */
static bool call_results(struct call *call, size_t n, mxArray **results)
{
    *results = mxCreateCellMatrix(1, (mwSize)n);
    for (size_t i = 0; i < n; i++) {
        mxArray *value = NULL;
        if (!output_make(call, i, &value))
            return false;
        mxSetCell(*results, (mwIndex)i, value);
    }
    return true;
}

static bool call_cut(struct call *call)
{
    const struct esp_problem *problem = call->known->problem;
    bool counts = false;
    for (size_t i = 0; i < problem->n_arguments; i++)
        counts = counts || (call->outputs[i].is_wanted && problem->arguments[i].count);
    return !counts || esp_arguments_cut(problem, call->vector, problem->n_arguments) == ESP_OK ||
           fail_by_library();
}

bool call_now(mxArray **plhs, int nrhs, const mxArray **prhs)
{
    int n_asked = nrhs > 0 ? (int)mxGetScalar(prhs[0]) : 0;
    struct call *call = call_make(n_asked, false, nrhs - 1, prhs + 1);
    if (!call)
        return false;
    int ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    call->options.ended_fd = ended > 0 ? ended : 0;
    bool done = call_start(call) && call_wait(call, ended);
    if (done)
        take_note(call);
    done = done && call_cut(call) && call_results(call, call->n_wanted, plhs);
    if (ended >= 0)
        close(ended);
    call_free(call);
    return done;
}

/* ---- futures ---- */

bool call_later(mxArray **plhs, int nrhs, const mxArray **prhs)
{
    /* Numbers do not begin at 1: a future that was saved by another process must not be one of this process.
     */
    static uint64_t next;
    struct timespec now;
    struct call *call = call_make(-1, true, nrhs, prhs);
    if (!call)
        return false;
    if (!call_start(call)) {
        call_free(call);
        return false;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    if (!next)
        next = ((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000) % (1ull << 51);
    call->number = next++;
    call->next = futures;
    futures = call;
    *plhs = mxCreateDoubleScalar((double)call->number);
    return true;
}

static struct call *future_find(uint64_t number)
{
    struct call *call = futures;
    while (call && call->number != number)
        call = call->next;
    if (!call)
        fail(ESP_NOT_FOUND, "this call is gone: its connection has ended, or another process made it");
    return call;
}

bool future_fetch(uint64_t number, int n_asked, mxArray **plhs)
{
    struct call *call = future_find(number);
    if (!call || !call_wait(call, -1))
        return false;
    if (!call->has_ended) {
        take_note(call);
        if (!call_cut(call))
            return false;
        call->has_ended = true;
    }
    size_t n = n_asked == 0 && call->n_wanted > 0 ? 1 : (size_t)n_asked;
    if (n > call->n_wanted)
        return fail(ESP_INVALID, "%s: expected at most %zu results, found %zu", call->known->problem->name,
                    call->n_wanted, n);
    return call_results(call, n, plhs);
}

bool future_probe(uint64_t number, mxArray **plhs)
{
    struct call *call = future_find(number);
    if (call)
        *plhs = mxCreateLogicalScalar(grpc_probe(call->session) != GRPC_NOT_COMPLETED);
    return call != NULL;
}

bool future_cancel(uint64_t number)
{
    struct call *call = future_find(number);
    return call && (grpc_cancel(call->session) == GRPC_NO_ERROR || fail_by_library());
}

/* The session must have ended before its memory goes. */
static void future_end(struct call *call)
{
    if (grpc_probe(call->session) == GRPC_NOT_COMPLETED) {
        grpc_cancel(call->session);
        grpc_wait(call->session);
    }
    call_free(call);
}

void future_release(uint64_t number)
{
    for (struct call **at = &futures; *at; at = &(*at)->next) {
        struct call *call = *at;
        if (call->number != number)
            continue;
        *at = call->next;
        future_end(call);
        return;
    }
}

void futures_clear(void)
{
    while (futures) {
        struct call *call = futures;
        futures = call->next;
        call_free(call);
    }
}
