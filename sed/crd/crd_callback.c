/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the caller as a routine sees them: closures that put a question into the ring, ring the bell
 * and sleep until the answer is there. One question at a time, from whichever thread of the routine.
 */
#include "sed/crd/crd.h"

#include "core/problem/foreign.h"
#include "core/problem/problem_callback.h"
#include "util/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A closure with the signature that it was made for; kept for the next call of the same. */
struct closure {
    char text[RING_CALLBACK_TEXT];
    bool fortran, returns;
    uint32_t argument;
    struct problem_set *set;
    const struct problem *problem;
    ffi_closure *closure;
    void *code;
    ffi_cif cif;
    ffi_type *types[CALLBACK_MAX_PARAMETERS];
    uint32_t n_parameters; /* without what is returned */
};

static struct closure closures[RING_MAX_CALLBACKS];
static struct ring *our_ring;
static int our_bell;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

void callback_install(struct ring *ring, int bell)
{
    our_ring = ring;
    our_bell = bell;
}

/* The routine cannot go on, and nothing tells it so: the call ends, and this process with it. */
static _Noreturn void give_up(const char *text)
{
    our_ring->answer.kind = ANSWER_CALLBACK;
    our_ring->answer.compute_ns = our_ring->answer.cpu_ns = 0;
    snprintf(our_ring->answer.text, sizeof our_ring->answer.text, "%s", text);
    worker_reply(our_ring, our_bell);
    _exit(0);
}

static bool by_value(const struct closure *closure, uint32_t index)
{
    const struct argument *argument = &closure->problem->arguments[index];
    return !closure->fortran && argument->n_dims == 0 && argument->mode == MODE_IN;
}

static void put_question(const struct closure *closure, const struct callback_layout *layout,
                         void *const *values)
{
    struct ring_question *question = &our_ring->question;
    char text[200];
    for (uint32_t i = 0; i < closure->n_parameters; i++) {
        const struct argument *argument = &closure->problem->arguments[i];
        if (!values[i] && layout->shapes[i].bytes > 0) {
            snprintf(text, sizeof text, "callback %s: the routine passed a null pointer for %s",
                     closure->problem->name, argument->name);
            give_up(text);
        }
        if (layout->question[i] != CALLBACK_ABSENT && layout->shapes[i].bytes > 0)
            memcpy(question->data + layout->question[i], values[i], layout->shapes[i].bytes);
    }
    question->argument = closure->argument;
    question->bytes = layout->question_bytes;
}

static void await_answer(struct ring_question *question)
{
    static const uint64_t one = 1;
    uint32_t number = atomic_load(&question->asked) + 1;
    atomic_store(&question->asked, number);
    if (write(our_bell, &one, sizeof one) != sizeof one)
        _exit(0); /* the routine has closed it */
    for (uint32_t answered; (answered = atomic_load(&question->answered)) != number;)
        ring_sleep(&question->answered, answered, CLOCK_NEVER);
}

static void check_answer(const struct closure *closure, const struct callback_layout *layout)
{
    const struct ring_question *question = &our_ring->question;
    char text[RING_ANSWER_TEXT];
    if (question->status != ESP_OK)
        snprintf(text, sizeof text, "callback %s failed in the client: %.*s", closure->problem->name,
                 (int)(question->answer_bytes < 300 ? question->answer_bytes : 300), question->data);
    else if (question->answer_bytes != layout->answer_bytes)
        snprintf(text, sizeof text, "callback %s: expected an answer of %u bytes from the client, found %u",
                 closure->problem->name, layout->answer_bytes, question->answer_bytes);
    else
        return;
    give_up(text);
}

static void take_answer(const struct closure *closure, const struct callback_layout *layout,
                        void *const *values, void *returned)
{
    const unsigned char *data = our_ring->question.data;
    for (uint32_t i = 0; i < closure->n_parameters; i++)
        if (layout->answer[i] != CALLBACK_ABSENT && layout->shapes[i].bytes > 0)
            memcpy(values[i], data + layout->answer[i], layout->shapes[i].bytes);
    if (closure->returns)
        foreign_return(closure->problem->arguments[closure->n_parameters].type,
                       data + layout->answer[closure->n_parameters], returned);
}

static void on_call(ffi_cif *cif, void *returned, void **parameters, void *context)
{
    const struct closure *closure = context;
    struct callback_layout layout;
    struct esp_error error;
    void *values[PROBLEM_MAX_ARGUMENTS] = {0};
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {0};
    (void)cif;
    for (uint32_t i = 0; i < closure->n_parameters; i++) {
        const struct argument *argument = &closure->problem->arguments[i];
        values[i] = by_value(closure, i) ? parameters[i] : *(void **)parameters[i];
        if (argument->n_dims == 0 && argument_is_input(argument))
            inputs[i] = values[i];
    }
    if (callback_lay_out(closure->problem, inputs, &layout, &error) != ESP_OK)
        give_up(error.text);
    pthread_mutex_lock(&one_at_a_time);
    put_question(closure, &layout, values);
    await_answer(&our_ring->question);
    check_answer(closure, &layout);
    take_answer(closure, &layout, values, returned);
    pthread_mutex_unlock(&one_at_a_time);
}

/* ---- making them ---- */

static void forget(struct closure *closure)
{
    if (closure->closure)
        ffi_closure_free(closure->closure);
    problem_set_destroy(closure->set);
    *closure = (struct closure){.text = ""};
}

static enum esp_status prepare(struct closure *closure, struct esp_error *error)
{
    const struct problem *problem = closure->problem;
    ffi_type *result = &ffi_type_void;
    closure->n_parameters = problem->n_arguments - closure->returns;
    if (closure->returns)
        result = foreign_type(problem->arguments[closure->n_parameters].type);
    bool possible = result != NULL;
    for (uint32_t i = 0; i < closure->n_parameters; i++) {
        closure->types[i] =
            by_value(closure, i) ? foreign_type(problem->arguments[i].type) : &ffi_type_pointer;
        possible = possible && closure->types[i];
    }
    possible = possible && ffi_prep_cif(&closure->cif, FFI_DEFAULT_ABI, closure->n_parameters, result,
                                        closure->types) == FFI_OK;
    if (possible)
        closure->closure = ffi_closure_alloc(sizeof *closure->closure, &closure->code);
    if (!closure->closure ||
        ffi_prep_closure_loc(closure->closure, &closure->cif, on_call, closure, closure->code) != FFI_OK)
        return error_set(error, ESP_SYSTEM, "callback %s: libffi cannot make such a function here",
                         problem->name);
    return ESP_OK;
}

static enum esp_status make(struct closure *closure, const struct ring_callback *wanted,
                            struct esp_error *error)
{
    memcpy(closure->text, wanted->text, sizeof closure->text);
    closure->fortran = wanted->fortran != 0;
    closure->returns = wanted->returns != 0;
    enum esp_status status =
        problem_parse(closure->text, strlen(closure->text), "a callback's signature", &closure->set, error);
    if (status != ESP_OK)
        return status;
    closure->problem = closure->set->problems[0];
    if (closure->problem->n_arguments < closure->returns ||
        closure->problem->n_arguments > CALLBACK_MAX_PARAMETERS + 1)
        return error_set(error, ESP_INTERNAL, "the worker was handed a malformed callback");
    return prepare(closure, error);
}

void *callback_address(uint32_t index, struct esp_error *error)
{
    const struct ring_job *job = &our_ring->job;
    if (index >= job->n_callbacks || index >= RING_MAX_CALLBACKS ||
        !memchr(job->callbacks[index].text, 0, RING_CALLBACK_TEXT)) {
        error_set(error, ESP_INTERNAL, "the worker was handed a malformed callback");
        return NULL;
    }
    struct closure *closure = &closures[index];
    const struct ring_callback *wanted = &job->callbacks[index];
    if (!closure->closure || strcmp(closure->text, wanted->text) != 0 ||
        closure->fortran != (wanted->fortran != 0) || closure->returns != (wanted->returns != 0)) {
        forget(closure);
        if (make(closure, wanted, error) != ESP_OK) {
            forget(closure);
            return NULL;
        }
    }
    closure->argument = wanted->argument;
    return closure->code;
}
