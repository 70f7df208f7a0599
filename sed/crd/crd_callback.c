/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks for routines: closures that put a question into the ring, ring the bell and sleep until the
 * answer is there. One question at a time, from any thread of the routine. */
#include "sed/crd/crd.h"

#include "core/problem/foreign.h"
#include "core/problem/problem_callback.h"
#include "util/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A closure for its signature; kept for the next call with the same one. */
struct closure {
    char text[RING_CALLBACK_TEXT];
    bool fortran, returns;
    uint32_t argument;
    uint64_t outer[CALLBACK_MAX_OUTER]; /* raw scalars of the problem around it, in this call */
    struct problem_set *set;
    struct problem problem; /* as in the set, and which of its arguments are such scalars */
    ffi_closure *closure;
    void *code;
    ffi_cif cif;
    ffi_type *types[2 * CALLBACK_MAX_PARAMETERS]; /* with the hidden lengths of Fortran */
    uint32_t n_parameters;                        /* without the result */
    bool has_strings;
};

/* One call of it. */
struct asking {
    const struct closure *closure;
    void *values[PROBLEM_MAX_ARGUMENTS];  /* addresses; for an input string of C, the text itself */
    uint64_t room[PROBLEM_MAX_ARGUMENTS]; /* for a string of Fortran: its characters */
    struct callback_layout layout;
};

/* The strings of the question, one after the other, until its layout is computed. */
static char strings[CALLBACK_MOST_BYTES];

static struct closure closures[RING_MAX_CALLBACKS];
static struct ring *our_ring;
static int our_bell;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

void callback_install(struct ring *ring, int bell)
{
    our_ring = ring;
    our_bell = bell;
}

/* The routine cannot continue, and cannot be told: the call ends, and this process with it. */
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
    const struct argument *argument = &closure->problem.arguments[index];
    return !closure->fortran && argument->n_dims == 0 && argument->mode == MODE_IN;
}

static _Noreturn void give_up_on(const struct closure *closure, uint32_t index, const char *why)
{
    char text[RING_ANSWER_TEXT];
    snprintf(text, sizeof text, "callback %s: %s %s", closure->problem.name, why,
             closure->problem.arguments[index].name);
    give_up(text);
}

/* ---- strings of the question ---- */

/* Trailing blanks, and everything after a byte 0, do not belong to a string of Fortran. */
static uint64_t take_characters(const struct asking *asking, uint32_t index, char *to, uint64_t most)
{
    const char *from = asking->values[index];
    uint64_t length = strnlen(from, asking->room[index]);
    while (length > 0 && from[length - 1] == ' ')
        length--;
    if (length > most)
        give_up_on(asking->closure, index, "the question has no room for");
    memcpy(to, from, length);
    return length;
}

/* Copies through a file, so that an invalid address is an error and no crash. */
static uint64_t take_text(const struct asking *asking, uint32_t index, char *to, uint64_t most)
{
    const bool in_place = by_value(asking->closure, index);
    const char *from = in_place ? asking->values[index] : *(char **)asking->values[index];
    uint64_t length;
    if (!from)
        give_up_on(asking->closure, index, "the routine passed a null pointer for");
    const int fd = memfd_create("string", MFD_CLOEXEC);
    if (fd < 0)
        give_up_on(asking->closure, index, "the worker cannot make a file for");
    if (!text_write(fd, from, most, &length) || length > most)
        give_up_on(asking->closure, index,
                   "in the at most 65536 bytes that a call may have, no 0 ends the string");
    const ssize_t n = pread(fd, to, length, 0);
    close(fd);
    if (n != (ssize_t)length)
        give_up_on(asking->closure, index, "the worker cannot read");
    return length;
}

static void take_strings(struct asking *asking)
{
    const struct closure *closure = asking->closure;
    uint64_t used = 0;
    for (uint32_t i = 0; i < closure->n_parameters; i++) {
        const struct argument *argument = &closure->problem.arguments[i];
        if (!argument_is_string(argument))
            continue;
        if (!asking->values[i])
            give_up_on(closure, i, "the routine passed a null pointer for");
        if (!argument_is_input(argument))
            continue;
        const uint64_t most = sizeof strings - used;
        asking->layout.question.length[i] = closure->fortran
                                                ? take_characters(asking, i, strings + used, most)
                                                : take_text(asking, i, strings + used, most);
        used += asking->layout.question.length[i];
    }
}

static void put_question(const struct asking *asking)
{
    const struct closure *closure = asking->closure;
    const struct callback_side *side = &asking->layout.question;
    struct ring_question *question = &our_ring->question;
    const char *string = strings;
    for (uint32_t i = 0; i < closure->n_parameters; i++) {
        const uint64_t bytes = asking->layout.shapes[i].bytes;
        if (side->text[i] != CALLBACK_ABSENT) {
            memcpy(question->data + side->at[i], &side->length[i], sizeof side->length[i]);
            memcpy(question->data + side->text[i], string, side->length[i]);
            question->data[side->text[i] + side->length[i]] = 0;
            string += side->length[i];
            continue;
        }
        if (!asking->values[i] && bytes > 0)
            give_up_on(closure, i, "the routine passed a null pointer for");
        if (side->at[i] != CALLBACK_ABSENT && bytes > 0)
            memcpy(question->data + side->at[i], asking->values[i], bytes);
    }
    question->argument = closure->argument;
    question->bytes = side->bytes;
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

/* ---- the answer ---- */

static void check_answer(struct asking *asking)
{
    const struct ring_question *question = &our_ring->question;
    const struct problem *callback = &asking->closure->problem;
    struct esp_error error;
    char text[RING_ANSWER_TEXT];
    if (question->status != ESP_OK) {
        snprintf(text, sizeof text, "callback %s failed in the client: %.*s", callback->name,
                 (int)(question->answer_bytes < 300 ? question->answer_bytes : 300), question->data);
        give_up(text);
    }
    if (callback_take_answer(callback, question->data, question->answer_bytes, &asking->layout, &error) !=
        ESP_OK)
        give_up(error.text);
}

/* The routine frees the copy. */
static char *copy_text(const struct asking *asking, uint32_t index)
{
    const struct callback_side *side = &asking->layout.answer;
    char *copy = malloc(side->length[index] + 1);
    if (!copy)
        give_up_on(asking->closure, index, "there is no memory for");
    memcpy(copy, our_ring->question.data + side->text[index], side->length[index]);
    copy[side->length[index]] = 0;
    return copy;
}

static void give_characters(const struct asking *asking, uint32_t index)
{
    const struct callback_side *side = &asking->layout.answer;
    char text[RING_ANSWER_TEXT];
    if (side->length[index] > asking->room[index]) {
        snprintf(text, sizeof text,
                 "callback %s: the client gave %llu characters for %s, the routine has room for %llu",
                 asking->closure->problem.name, (unsigned long long)side->length[index],
                 asking->closure->problem.arguments[index].name, (unsigned long long)asking->room[index]);
        give_up(text);
    }
    memset(asking->values[index], ' ', asking->room[index]);
    memcpy(asking->values[index], our_ring->question.data + side->text[index], side->length[index]);
}

static void take_answer(const struct asking *asking, void *returned)
{
    const struct closure *closure = asking->closure;
    const struct callback_side *side = &asking->layout.answer;
    const unsigned char *data = our_ring->question.data;
    const uint32_t n = closure->n_parameters;
    for (uint32_t i = 0; i < n; i++)
        if (side->text[i] != CALLBACK_ABSENT && closure->fortran)
            give_characters(asking, i);
        else if (side->text[i] != CALLBACK_ABSENT)
            *(char **)asking->values[i] = copy_text(asking, i);
        else if (side->at[i] != CALLBACK_ABSENT && asking->layout.shapes[i].bytes > 0)
            memcpy(asking->values[i], data + side->at[i], asking->layout.shapes[i].bytes);
    if (closure->returns && side->text[n] != CALLBACK_ABSENT)
        *(char **)returned = copy_text(asking, n);
    else if (closure->returns)
        foreign_return(closure->problem.arguments[n].type, data + side->at[n], returned);
}

/* ---- a call ---- */

/* Collects the values that the routine has passed. */
static void take_parameters(struct asking *asking, void **parameters)
{
    const struct closure *closure = asking->closure;
    uint32_t hidden = closure->n_parameters;
    for (uint32_t i = 0; i < closure->n_parameters; i++) {
        const struct argument *argument = &closure->problem.arguments[i];
        const bool number_by_value = by_value(closure, i) && argument->type != TYPE_STRING;
        asking->values[i] = number_by_value ? parameters[i] : *(void **)parameters[i];
        if (closure->fortran && closure->has_strings &&
            (argument->type == TYPE_STRING || argument->type == TYPE_CHAR))
            asking->room[i] = *(size_t *)parameters[hidden++];
    }
}

static void lay_out(struct asking *asking)
{
    const struct closure *closure = asking->closure;
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {0};
    struct esp_error error;
    for (uint32_t i = 0; i < closure->n_parameters; i++)
        if (closure->problem.arguments[i].n_dims == 0 && argument_is_input(&closure->problem.arguments[i]))
            inputs[i] = asking->values[i];
    for (uint32_t k = 0; k < closure->problem.n_outer; k++)
        inputs[callback_n_own(&closure->problem) + k] = &closure->outer[k];
    if (callback_lay_out(&closure->problem, inputs, &asking->layout, &error) != ESP_OK)
        give_up(error.text);
}

static void on_call(ffi_cif *cif, void *returned, void **parameters, void *context)
{
    struct asking asking = {.closure = context};
    (void)cif;
    pthread_mutex_lock(&one_at_a_time);
    take_parameters(&asking, parameters);
    if (asking.closure->has_strings)
        take_strings(&asking);
    lay_out(&asking);
    put_question(&asking);
    await_answer(&our_ring->question);
    check_answer(&asking);
    take_answer(&asking, returned);
    pthread_mutex_unlock(&one_at_a_time);
}

/* ---- creating them ---- */

static void forget(struct closure *closure)
{
    if (closure->closure)
        ffi_closure_free(closure->closure);
    problem_set_destroy(closure->set);
    *closure = (struct closure){.text = ""};
}

static enum esp_status prepare(struct closure *closure, struct esp_error *error)
{
    const struct problem *problem = &closure->problem;
    ffi_type *result = &ffi_type_void;
    uint32_t n = closure->n_parameters = callback_n_own(problem) - closure->returns;
    closure->has_strings = false;
    if (closure->returns)
        result = foreign_type(problem->arguments[n].type);
    bool possible = result != NULL;
    for (uint32_t i = 0; i < closure->n_parameters; i++) {
        closure->types[i] =
            by_value(closure, i) ? foreign_type(problem->arguments[i].type) : &ffi_type_pointer;
        possible = possible && closure->types[i];
        closure->has_strings |= problem->arguments[i].type == TYPE_STRING;
    }
    for (uint32_t i = 0; closure->fortran && closure->has_strings && i < closure->n_parameters; i++)
        if (problem->arguments[i].type == TYPE_STRING || problem->arguments[i].type == TYPE_CHAR)
            closure->types[n++] = sizeof(size_t) == 8 ? &ffi_type_uint64 : &ffi_type_uint32;
    possible = possible && ffi_prep_cif(&closure->cif, FFI_DEFAULT_ABI, n, result, closure->types) == FFI_OK;
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
    closure->problem = *closure->set->problems[0];
    closure->problem.n_outer = wanted->n_outer;
    if (wanted->n_outer > CALLBACK_MAX_OUTER ||
        closure->problem.n_arguments < wanted->n_outer + closure->returns ||
        callback_n_own(&closure->problem) > CALLBACK_MAX_PARAMETERS + 1)
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
        closure->problem.n_outer != wanted->n_outer || closure->fortran != (wanted->fortran != 0) ||
        closure->returns != (wanted->returns != 0)) {
        forget(closure);
        if (make(closure, wanted, error) != ESP_OK) {
            forget(closure);
            return NULL;
        }
    }
    closure->argument = wanted->argument;
    memcpy(closure->outer, wanted->outer, sizeof closure->outer);
    return closure->code;
}
