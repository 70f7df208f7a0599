/* SPDX-License-Identifier: Apache-2.0
 *
 * The mex function [value, id, text, note] = __espalier__(VERB, ...): the connection, its problems, and what
 * functions of Octave ask for. */
#include "gateway.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern volatile int octave_interrupt_state;

static struct esp_error last_fault;
static char last_note[sizeof last_fault.text];
static struct known *known_problems;
static bool is_connected;

/* ---- errors ---- */

bool fail(enum esp_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    last_fault.status = status;
    vsnprintf(last_fault.text, sizeof last_fault.text, format, list);
    va_end(list);
    return false;
}

bool fail_by_library(void)
{
    last_fault = *esp_last_error();
    return false;
}

bool fail_argument(const struct call *call, size_t position, const char *format, ...)
{
    const struct esp_problem_argument *formal = &call->known->problem->arguments[position];
    char found[512], extents[256] = "";
    va_list list;
    va_start(list, format);
    vsnprintf(found, sizeof found, format, list);
    va_end(list);
    for (unsigned d = 0; d < formal->n_dims; d++) {
        size_t used = strlen(extents);
        snprintf(extents + used, sizeof extents - used, "%s%s", d ? ", " : "[", formal->dims[d]);
    }
    return fail(ESP_INVALID, "%s: argument \"%s\": expected %s%s%s, found %s", call->known->problem->name,
                formal->name, esp_type_name(formal->type), extents, formal->n_dims ? "]" : "", found);
}

void note(const char *text)
{
    snprintf(last_note, sizeof last_note, "%s", text);
}

/* Sets outputs 1 to 3 of the mex function: identifier and text of an error, and a note. */
static void give_fault(int nlhs, mxArray **plhs, bool is_done)
{
    static const char *const names[] = {
        "ok",        "invalid",     "syntax",  "no_memory", "system",  "not_found", "unknown_problem",
        "no_server", "unreachable", "maybe",   "timeout",   "refused", "limit",     "version",
        "stale",     "failed",      "crashed", "cancelled", "pending", "protocol",  "security",
        "config",    "internal",    "busy",    "inaccurate"};
    char id[64] = "";
    size_t status = (size_t)last_fault.status;
    if (!is_done)
        snprintf(id, sizeof id, "espalier:%s",
                 status < sizeof names / sizeof *names ? names[status] : "error");
    if (nlhs < 4) {
        if (!is_done)
            mexErrMsgIdAndTxt(id, "%s", last_fault.text);
        return;
    }
    plhs[1] = mxCreateString(id);
    plhs[2] = mxCreateString(is_done ? "" : last_fault.text);
    plhs[3] = mxCreateString(last_note);
}

/* ---- descriptions ---- */

bool is_input(const struct esp_problem_argument *formal)
{
    return formal->mode != ESP_MODE_OUT;
}

bool is_output(const struct esp_problem_argument *formal)
{
    return formal->mode != ESP_MODE_IN;
}

bool is_textual(const struct esp_problem_argument *formal)
{
    return formal->type == ESP_TYPE_STRING || formal->type == ESP_TYPE_FILE || formal->type == ESP_TYPE_STATE;
}

mxClassID class_of(enum esp_type type, bool *is_complex)
{
    *is_complex = type == ESP_TYPE_COMPLEX || type == ESP_TYPE_DOUBLE_COMPLEX;
    switch (type) {
    case ESP_TYPE_CHAR:
        return mxCHAR_CLASS;
    case ESP_TYPE_SHORT:
        return mxINT16_CLASS;
    case ESP_TYPE_INT:
        return mxINT32_CLASS;
    case ESP_TYPE_LONG:
    case ESP_TYPE_INT64:
        return mxINT64_CLASS;
    case ESP_TYPE_FLOAT:
    case ESP_TYPE_COMPLEX:
        return mxSINGLE_CLASS;
    default:
        return mxDOUBLE_CLASS;
    }
}

size_t position_of(const struct esp_problem *problem, const char *name)
{
    size_t i = 0;
    while (i < problem->n_arguments && strcmp(problem->arguments[i].name, name) != 0)
        i++;
    return i;
}

bool companions_of(const struct esp_problem *problem, size_t position, struct companions *companions)
{
    char pointers[128], indices[128];
    const char *storage = problem->arguments[position].storage;
    companions->base = 0;
    if ((strncmp(storage, "csc(", 4) != 0 && strncmp(storage, "csr(", 4) != 0) ||
        sscanf(storage + 4, "%127[^, ] , %127[^,) ]", pointers, indices) != 2)
        return false;
    const char *base = strrchr(storage, ',');
    companions->base = base && strchr(storage, ',') != base ? strtol(base + 1, NULL, 10) : 0;
    companions->by_rows = storage[2] == 'r';
    companions->pointers = position_of(problem, pointers);
    companions->indices = position_of(problem, indices);
    return companions->pointers < problem->n_arguments && companions->indices < problem->n_arguments;
}

bool is_companion(const struct esp_problem *problem, size_t position)
{
    struct companions companions;
    for (size_t i = 0; i < problem->n_arguments; i++) {
        if (is_output(&problem->arguments[i]) && companions_of(problem, i, &companions) &&
            (companions.pointers == position || companions.indices == position) &&
            problem->arguments[position].mode == ESP_MODE_OUT)
            return true;
    }
    return false;
}

/* The result that "solves A X = B giving X = B" names; n_arguments: none. */
static size_t solution_of(const struct esp_problem *problem)
{
    char name[128];
    const char *solves = strstr(problem->source, "solves ");
    const char *giving = solves ? strstr(solves, "giving ") : NULL;
    if (!giving || sscanf(giving, "giving %*[^=]= %127[A-Za-z0-9_]", name) != 1)
        return problem->n_arguments;
    return position_of(problem, name);
}

/* The solution first, then what no input is overwritten by, then the inputs that are overwritten. */
static void order_results(struct known *known)
{
    const struct esp_problem *problem = known->problem;
    size_t solution = solution_of(problem);
    if (solution < problem->n_arguments && is_output(&problem->arguments[solution]))
        known->results[known->n_results++] = solution;
    for (int mode = ESP_MODE_OUT; mode <= ESP_MODE_INOUT; mode++) {
        for (size_t i = 0; i < problem->n_arguments; i++) {
            if (i != solution && problem->arguments[i].mode == (enum esp_mode)mode &&
                !is_companion(problem, i))
                known->results[known->n_results++] = i;
        }
    }
}

/* ---- the connection ---- */

static void disconnect(void)
{
    if (!is_connected)
        return;
    is_connected = false;
    grpc_finalize(); /* cancels all sessions, and waits for them */
    futures_clear();
    while (known_problems) {
        struct known *known = known_problems;
        known_problems = known->next;
        esp_problem_free(known->problem);
        free(known);
    }
}

static bool connect_with(const struct esp_options *options)
{
    disconnect();
    if (esp_initialize(options) != ESP_OK)
        return fail_by_library();
    is_connected = true;
    return true;
}

static bool ensure_connected(void)
{
    return is_connected || connect_with(NULL);
}

/* ---- problems ---- */

/* A thread asks the agents for a problem, so that Ctrl-C need not wait for nodes that do not answer. */
struct inquiry {
    pthread_mutex_t lock;
    char *name;
    struct known *known;
    struct esp_error error;
    bool has_ended, is_abandoned;
};

static void inquiry_free(struct inquiry *inquiry)
{
    if (inquiry->known)
        esp_problem_free(inquiry->known->problem);
    free(inquiry->known);
    free(inquiry->name);
    pthread_mutex_destroy(&inquiry->lock);
    free(inquiry);
}

static void *inquire(void *arg)
{
    struct inquiry *inquiry = arg;
    if (esp_problem_describe(inquiry->name, &inquiry->known->problem) != ESP_OK ||
        grpc_function_handle_default(&inquiry->known->handle, inquiry->name) != GRPC_NO_ERROR)
        inquiry->error = *esp_last_error();
    pthread_mutex_lock(&inquiry->lock);
    inquiry->has_ended = true;
    bool is_abandoned = inquiry->is_abandoned;
    pthread_mutex_unlock(&inquiry->lock);
    if (is_abandoned)
        inquiry_free(inquiry);
    return NULL;
}

/* False: Ctrl-C came first, and the thread frees the inquiry. */
static bool inquiry_wait(struct inquiry *inquiry)
{
    struct timespec pause = {0, 100000};
    for (;;) {
        pthread_mutex_lock(&inquiry->lock);
        bool has_ended = inquiry->has_ended;
        inquiry->is_abandoned = !has_ended && octave_interrupt_state > 0;
        bool is_abandoned = inquiry->is_abandoned;
        pthread_mutex_unlock(&inquiry->lock);
        if (has_ended || is_abandoned)
            return has_ended;
        nanosleep(&pause, NULL);
        pause.tv_nsec += pause.tv_nsec < 5000000 ? pause.tv_nsec / 2 : 0;
    }
}

static struct inquiry *inquiry_start(const char *name)
{
    struct inquiry *inquiry = calloc(1, sizeof *inquiry);
    pthread_t thread;
    if (!inquiry)
        return NULL;
    pthread_mutex_init(&inquiry->lock, NULL);
    inquiry->name = strdup(name);
    inquiry->known = calloc(1, sizeof *inquiry->known);
    if (!inquiry->name || !inquiry->known || pthread_create(&thread, NULL, inquire, inquiry) != 0) {
        inquiry_free(inquiry);
        return NULL;
    }
    pthread_detach(thread);
    return inquiry;
}

struct known *known_find(const char *name)
{
    if (!ensure_connected())
        return NULL;
    for (struct known *known = known_problems; known; known = known->next) {
        if (strcmp(known->problem->name, name) == 0)
            return known;
    }
    struct inquiry *inquiry = inquiry_start(name);
    if (!inquiry) {
        fail(ESP_NO_MEMORY, "no memory to ask for %s", name);
        return NULL;
    }
    if (!inquiry_wait(inquiry)) {
        fail(ESP_CANCELLED, "%s: cancelled by Ctrl-C", name);
        return NULL;
    }
    struct known *known = NULL;
    if (inquiry->error.status != ESP_OK) {
        last_fault = inquiry->error;
    } else {
        known = inquiry->known;
        inquiry->known = NULL;
        order_results(known);
        known->next = known_problems;
        known_problems = known;
    }
    inquiry_free(inquiry);
    return known;
}

/* ---- verbs ---- */

static char *text_at(int n, const mxArray **values, int i)
{
    return i < n && mxIsChar(values[i]) && mxGetNumberOfElements(values[i]) ? mxArrayToString(values[i])
                                                                            : NULL;
}

static bool verb_connect(int nrhs, const mxArray **prhs)
{
    char *config = text_at(nrhs, prhs, 0), *redirector = text_at(nrhs, prhs, 1),
         *agent = text_at(nrhs, prhs, 2);
    bool done =
        connect_with(&(struct esp_options){.config = config, .redirector = redirector, .agent = agent});
    mxFree(config);
    mxFree(redirector);
    mxFree(agent);
    return done;
}

static bool verb_problems(mxArray **plhs)
{
    static const char *fields[] = {"name", "title"};
    struct esp_problem_entry *entries = NULL;
    size_t n = 0;
    if (!ensure_connected())
        return false;
    if (esp_problem_list(&entries, &n) != ESP_OK)
        return fail_by_library();
    *plhs = mxCreateStructMatrix((mwSize)n, 1, 2, fields);
    for (size_t i = 0; i < n; i++) {
        mxSetField(*plhs, (mwIndex)i, "name", mxCreateString(entries[i].name));
        mxSetField(*plhs, (mwIndex)i, "title", mxCreateString(entries[i].title));
    }
    esp_problem_list_free(entries);
    return true;
}

static mxArray *describe_arguments(const struct esp_problem *problem)
{
    static const char *fields[] = {"name", "mode", "type", "text", "initial", "follows", "storage"};
    static const char *const modes[] = {"in", "out", "inout"};
    mxArray *made = mxCreateStructMatrix((mwSize)problem->n_arguments, 1, 7, fields);
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &problem->arguments[i];
        char type[512];
        snprintf(type, sizeof type, "%s%s", esp_type_name(formal->type), formal->n_dims ? "[" : "");
        for (unsigned d = 0; d < formal->n_dims; d++) {
            size_t used = strlen(type);
            snprintf(type + used, sizeof type - used, "%s%s", formal->dims[d],
                     d + 1 < formal->n_dims ? ", " : "]");
        }
        mxSetField(made, (mwIndex)i, "name", mxCreateString(formal->name));
        mxSetField(made, (mwIndex)i, "mode", mxCreateString(modes[formal->mode]));
        mxSetField(made, (mwIndex)i, "type", mxCreateString(type));
        mxSetField(made, (mwIndex)i, "text", mxCreateString(formal->text));
        mxSetField(made, (mwIndex)i, "initial", mxCreateString(formal->initial ? formal->initial : ""));
        mxSetField(made, (mwIndex)i, "follows", mxCreateLogicalScalar(formal->follows));
        mxSetField(made, (mwIndex)i, "storage", mxCreateString(formal->storage));
    }
    return made;
}

static bool verb_describe(mxArray **plhs, int nrhs, const mxArray **prhs)
{
    static const char *fields[] = {"name", "title", "text", "arguments", "results", "conditions"};
    char *name = text_at(nrhs, prhs, 0);
    const struct known *known = name ? known_find(name) : NULL;
    if (!name)
        return fail(ESP_INVALID, "expected the name of a problem");
    mxFree(name);
    if (!known)
        return false;
    const struct esp_problem *problem = known->problem;
    mxArray *results = mxCreateCellMatrix(1, (mwSize)known->n_results);
    for (size_t i = 0; i < known->n_results; i++)
        mxSetCell(results, (mwIndex)i, mxCreateString(problem->arguments[known->results[i]].name));
    mxArray *conditions = mxCreateCellMatrix(1, (mwSize)problem->n_preconditions);
    for (size_t i = 0; i < problem->n_preconditions; i++)
        mxSetCell(conditions, (mwIndex)i, mxCreateString(problem->preconditions[i]));
    *plhs = mxCreateStructMatrix(1, 1, 6, fields);
    mxSetField(*plhs, 0, "name", mxCreateString(problem->name));
    mxSetField(*plhs, 0, "title", mxCreateString(problem->title));
    mxSetField(*plhs, 0, "text", mxCreateString(problem->text));
    mxSetField(*plhs, 0, "arguments", describe_arguments(problem));
    mxSetField(*plhs, 0, "results", results);
    mxSetField(*plhs, 0, "conditions", conditions);
    return true;
}

static bool run(const char *verb, mxArray **plhs, int nrhs, const mxArray **prhs)
{
    bool has_number = nrhs > 0 && mxIsDouble(prhs[0]) && mxGetNumberOfElements(prhs[0]) == 1;
    uint64_t number = has_number && mxGetScalar(prhs[0]) >= 0 ? (uint64_t)mxGetScalar(prhs[0]) : 0;
    if (strcmp(verb, "call") == 0 && has_number)
        return call_now(plhs, nrhs, prhs);
    if (strcmp(verb, "async") == 0)
        return call_later(plhs, nrhs, prhs);
    if (strcmp(verb, "fetch") == 0 && nrhs == 2)
        return future_fetch(number, (int)mxGetScalar(prhs[1]), plhs);
    if (strcmp(verb, "probe") == 0)
        return future_probe(number, plhs);
    if (strcmp(verb, "cancel") == 0)
        return future_cancel(number);
    if (strcmp(verb, "problems") == 0)
        return verb_problems(plhs);
    if (strcmp(verb, "describe") == 0)
        return verb_describe(plhs, nrhs, prhs);
    if (strcmp(verb, "connect") == 0)
        return verb_connect(nrhs, prhs);
    if (strcmp(verb, "release") == 0)
        future_release(number);
    else if (strcmp(verb, "disconnect") == 0)
        disconnect();
    else
        return fail(ESP_INVALID, "__espalier__ serves the functions of the package only: see help espalier");
    return true;
}

void mexFunction(int nlhs, mxArray **plhs, int nrhs, const mxArray **prhs)
{
    static bool is_locked;
    if (!is_locked) {
        mexLock(); /* `clear all` must not unload a library with threads */
        mexAtExit(disconnect);
        is_locked = true;
    }
    *last_note = '\0';
    char *verb = text_at(nrhs, prhs, 0);
    bool done = run(verb ? verb : "", plhs, nrhs > 0 ? nrhs - 1 : 0, prhs + 1);
    mxFree(verb);
    if (!done || !plhs[0])
        plhs[0] = mxCreateCellMatrix(0, 0);
    give_fault(nlhs, plhs, done);
}
