/* SPDX-License-Identifier: Apache-2.0 */
#include "client/arguments/callback.h"
#include "core/problem/foreign.h"
#include "core/problem/problem_callback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REASON 300

static _Thread_local bool running;
static _Thread_local char *reason; /* error text of the running function, MOST_REASON bytes; "": no error */

bool callback_is_running(void)
{
    return running;
}

void esp_callback_fail(const char *text)
{
    if (reason)
        snprintf(reason, MOST_REASON, "%s", text && *text ? text : "it gave no reason");
}

/* One call of a function. */
struct errand {
    const struct argument *argument;
    const struct problem *problem;
    const uint64_t *outer; /* raw scalars of the problem that takes the function */
    struct callback_layout layout;
    char *question, *answer; /* aligned */
    void *values[PROBLEM_MAX_ARGUMENTS];
    char *strings[PROBLEM_MAX_ARGUMENTS]; /* before the function as it gets them, afterwards as it leaves them
                                           */
};

static enum esp_status find(const struct invocation *invocation, uint32_t index, struct errand *call,
                            void (**function)(void), struct esp_error *error)
{
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        call->argument = &invocation->function->problem->arguments[value->index];
        if (value->index != index || call->argument->type != TYPE_CALLBACK)
            continue;
        if (!value->in)
            break;
        call->problem = call->argument->callback;
        call->outer = value->loaded;
        memcpy(function, &value->in, sizeof *function);
        return ESP_OK;
    }
    return error_set(error, ESP_PROTOCOL,
                     "the server asks for argument %u, which is no function of this program", index);
}

static void place_string(struct errand *call, uint32_t index)
{
    const uint32_t in = call->layout.question.text[index];
    call->strings[index] = in != CALLBACK_ABSENT ? call->question + in : NULL;
    call->values[index] = &call->strings[index];
}

static enum esp_status make_room(struct errand *call, const struct follow_reply *from,
                                 struct esp_error *error)
{
    size_t answer = call->layout.answer.bytes + CALLBACK_ALIGNMENT;
    size_t question = (from->question_length / CALLBACK_ALIGNMENT + 1) * CALLBACK_ALIGNMENT;
    call->question = aligned_alloc(CALLBACK_ALIGNMENT, question);
    call->answer = aligned_alloc(CALLBACK_ALIGNMENT, answer);
    if (!call->question || !call->answer)
        return error_no_memory(error, "the arguments of a callback");
    memset(call->answer, 0, answer);
    if (from->question_length > 0)
        memcpy(call->question, from->question, from->question_length);
    for (uint32_t i = 0; i < callback_n_own(call->problem); i++) {
        uint32_t in = call->layout.question.at[i], out = call->layout.answer.at[i];
        if (argument_is_string(&call->problem->arguments[i])) {
            place_string(call, i);
            continue;
        }
        call->values[i] = out != CALLBACK_ABSENT ? call->answer + out : call->question + in;
        if (in != CALLBACK_ABSENT && out != CALLBACK_ABSENT && call->layout.shapes[i].bytes > 0)
            memcpy(call->answer + out, call->question + in, call->layout.shapes[i].bytes);
    }
    return ESP_OK;
}

static enum esp_status invoke(struct errand *call, void (*function)(void), struct esp_error *error)
{
    ffi_cif cif;
    ffi_type *types[CALLBACK_MAX_PARAMETERS], *result = &ffi_type_void;
    void *parameters[CALLBACK_MAX_PARAMETERS];
    _Alignas(16) unsigned char returned[16] = {0};
    const struct problem *problem = call->problem;
    uint32_t n = callback_n_parameters(call->argument);
    bool possible = true;
    if (call->argument->callback_returns)
        result = foreign_type(problem->arguments[n].type);
    for (uint32_t i = 0; i < n; i++) {
        bool by_value = problem->arguments[i].n_dims == 0 && problem->arguments[i].mode == MODE_IN;
        types[i] = by_value ? foreign_type(problem->arguments[i].type) : &ffi_type_pointer;
        parameters[i] = by_value ? call->values[i] : (void *)&call->values[i];
        possible &= types[i] != NULL;
    }
    if (!possible || !result || ffi_prep_cif(&cif, FFI_DEFAULT_ABI, n, result, types) != FFI_OK)
        return error_set(error, ESP_SYSTEM, "libffi cannot call such a function on this machine");
    running = true;
    ffi_call(&cif, function, returned, parameters);
    running = false;
    if (call->argument->callback_returns)
        foreign_store_result(problem->arguments[n].type, returned, call->values[n]);
    return ESP_OK;
}

/* Appends the strings that the function leaves to the answer, whose other values keep their places. The
 * function owns the strings, so they are not freed. */
static enum esp_status put_strings(struct errand *call, struct esp_error *error)
{
    struct callback_side *side = &call->layout.answer;
    bool some = false;
    for (uint32_t i = 0; i < callback_n_own(call->problem); i++)
        if (side->text[i] != CALLBACK_ABSENT) {
            side->length[i] = call->strings[i] ? strnlen(call->strings[i], CALLBACK_MOST_BYTES) : 0;
            some = true;
        }
    if (!some)
        return ESP_OK;
    enum esp_status status = callback_lay_out_answer(call->problem, &call->layout, error);
    char *answer = status == ESP_OK ? realloc(call->answer, side->bytes + CALLBACK_ALIGNMENT) : NULL;
    if (!answer)
        return status == ESP_OK ? error_no_memory(error, "the strings of a callback") : status;
    call->answer = answer;
    for (uint32_t i = 0; i < callback_n_own(call->problem); i++)
        if (side->text[i] != CALLBACK_ABSENT) {
            char *to = answer + side->text[i];
            const uint32_t end =
                (uint32_t)(side->length[i] + CALLBACK_ALIGNMENT) & ~(uint32_t)(CALLBACK_ALIGNMENT - 1);
            memcpy(answer + side->at[i], &side->length[i], sizeof side->length[i]);
            memset(to, 0, end);
            if (side->length[i] > 0)
                memcpy(to, call->strings[i], side->length[i]);
        }
    return ESP_OK;
}

static enum esp_status run(const struct invocation *invocation, const struct follow_reply *question,
                           struct errand *call, struct esp_error *error)
{
    void (*function)(void) = NULL;
    char why[MOST_REASON] = "";
    enum esp_status status = find(invocation, question->argument, call, &function, error);
    if (status == ESP_OK)
        status = callback_lay_out_question(call->problem, call->outer, question->question,
                                           question->question_length, &call->layout, error);
    if (status == ESP_OK)
        status = make_room(call, question, error);
    if (status != ESP_OK)
        return status;
    reason = why;
    status = invoke(call, function, error);
    reason = NULL;
    if (status == ESP_OK && why[0])
        return error_set(error, ESP_FAILED, "%s", why);
    return status == ESP_OK ? put_strings(call, error) : status;
}

void callback_run(const struct invocation *invocation, const struct follow_reply *question,
                  struct callback_answer *answer)
{
    struct errand call = {.argument = NULL};
    struct esp_error error;
    *answer = (struct callback_answer){.number = question->asked};
    answer->status = run(invocation, question, &call, &error);
    free(call.question);
    if (answer->status == ESP_OK) {
        answer->data = call.answer;
        answer->length = call.layout.answer.bytes;
        return;
    }
    free(call.answer);
    answer->data = strdup(error.text);
    answer->length = answer->data ? (uint32_t)strlen(error.text) : 0;
}

void callback_answer_release(struct callback_answer *answer)
{
    free(answer->data);
    *answer = (struct callback_answer){.number = 0};
}
