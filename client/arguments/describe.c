/* SPDX-License-Identifier: Apache-2.0
 *
 * Problems as espalier.h shows them.
 */
#include "client/arguments/describe.h"
#include "client/arguments/invocation.h"
#include "core/problem/problem_help.h"
#include "core/problem/section.h"
#include "util/package.h"

#include <stdlib.h>
#include <string.h>

/* The result of esp_problem_describe(): the public struct first, then its memory. */
struct description {
    struct esp_problem problem;
    struct function *function;
};

_Static_assert((int)ESP_MODE_IN == (int)MODE_IN && (int)ESP_MODE_INOUT == (int)MODE_INOUT,
               "modes are numbered alike");
_Static_assert((int)ESP_PROPERTY_UNIT_DIAGONAL == (int)PROPERTY_UNIT_DIAGONAL &&
                   (int)ESP_PROPERTY_ROW_MAJOR == (int)PROPERTY_ROW_MAJOR,
               "properties are numbered alike");
_Static_assert(ESP_MAX_DIMS == PROBLEM_MAX_DIMS && ESP_MAX_ARGUMENTS == PROBLEM_MAX_ARGUMENTS,
               "limits are alike");

static enum esp_status describe_storage(const struct problem *problem, const struct argument *from,
                                        struct arena *arena, struct esp_problem_argument *to,
                                        struct esp_error *error)
{
    char text[4 * PROBLEM_MAX_NAME];
    to->storage = to->section = "";
    if (from->is_section) {
        char dims[1000];
        struct text writer;
        text_open(&writer, dims, sizeof dims);
        argument_write_dims(&writer, from);
        to->section = arena_strdup(arena, dims);
        return to->section ? ESP_OK : error_no_memory(error, "a description");
    }
    if (from->storage == STORAGE_FULL)
        return ESP_OK;
    problem_storage_text(problem, from, text, sizeof text);
    to->storage = arena_strdup(arena, text);
    return to->storage ? ESP_OK : error_no_memory(error, "a description");
}

static enum esp_status describe_index(const struct argument *from, struct arena *arena,
                                      struct esp_problem_argument *to, struct esp_error *error)
{
    char text[1000];
    struct text writer;
    if (!from->index_of)
        return ESP_OK;
    text_open(&writer, text, sizeof text);
    argument_write_index(&writer, from);
    to->index = arena_strdup(arena, text);
    return to->index ? ESP_OK : error_no_memory(error, "a description");
}

static enum esp_status describe_callback(const struct argument *from, struct arena *arena,
                                         struct esp_problem_argument *to, struct esp_error *error)
{
    char text[2048];
    if (from->type != TYPE_CALLBACK)
        return ESP_OK;
    problem_callback_text(from, text, sizeof text);
    to->callback = arena_strdup(arena, text);
    return to->callback ? ESP_OK : error_no_memory(error, "a description");
}

static void describe_argument(const struct argument *from, struct esp_problem_argument *to)
{
    *to = (struct esp_problem_argument){.name = from->name,
                                        .text = from->text ? from->text : "",
                                        .mode = (enum esp_mode)from->mode,
                                        .type = (enum esp_type)(from->type + 1),
                                        .properties = from->properties,
                                        .n_dims = from->n_dims,
                                        .initial = from->initial ? expr_text(from->initial) : NULL,
                                        .count = from->count ? expr_text(from->count) : NULL,
                                        .unread = from->unread ? expr_text(from->unread) : NULL};
    for (uint32_t d = 0; d < from->n_dims; d++)
        to->dims[d] = expr_text(from->dims[d]);
}

static enum esp_status describe(struct description *description, struct esp_error *error)
{
    const struct function *function = description->function;
    const struct problem *problem = function->problem;
    struct arena *arena = package_arena(description);
    struct esp_problem_argument *arguments = arena_alloc(arena, problem->n_arguments * sizeof *arguments);
    const char **preconditions = arena_alloc(arena, problem->n_preconditions * sizeof *preconditions);
    if (!arguments || !preconditions)
        return error_no_memory(error, "a description");
    struct esp_problem *public = &description->problem;
    *public = (struct esp_problem){.name = problem->name,
                                   .title = problem->title ? problem->title : "",
                                   .text = problem->text ? problem->text : "",
                                   .gams = problem->gams ? problem->gams : "",
                                   .source = problem->source,
                                   .preconditions = preconditions,
                                   .n_preconditions = problem->n_preconditions,
                                   .work = problem->work ? expr_text(problem->work) : NULL,
                                   .memory = problem->memory ? expr_text(problem->memory) : NULL,
                                   .idempotent = problem->idempotent,
                                   .digest = function->digest,
                                   .servers = function->servers,
                                   .signatures = function->signatures,
                                   .arguments = arguments};
    for (uint32_t i = 0; i < problem->n_preconditions; i++)
        preconditions[i] = expr_text(problem->preconditions[i].condition);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (argument_is_passed(&problem->arguments[i])) {
            struct esp_problem_argument *to = &arguments[public->n_arguments++];
            describe_argument(&problem->arguments[i], to);
            to->follows = problem_argument_follows(problem, i);
            enum esp_status status = describe_storage(problem, &problem->arguments[i], arena, to, error);
            if (status == ESP_OK)
                status = describe_index(&problem->arguments[i], arena, to, error);
            if (status == ESP_OK)
                status = describe_callback(&problem->arguments[i], arena, to, error);
            if (status != ESP_OK)
                return status;
        }
    return ESP_OK;
}

enum esp_status describe_function(struct function *function, struct esp_problem **problem,
                                  struct esp_error *error)
{
    struct description *description = package_create(sizeof *description);
    if (!description) {
        function_release(function);
        return error_no_memory(error, "a description");
    }
    description->function = function;
    enum esp_status status = describe(description, error);
    if (status == ESP_OK)
        *problem = &description->problem;
    else
        esp_problem_free(&description->problem);
    return status;
}

void esp_problem_free(struct esp_problem *problem)
{
    if (!problem)
        return;
    struct description *description = (struct description *)problem;
    function_release(description->function);
    package_destroy(description);
}

enum esp_status describe_complete(const struct esp_problem *problem, struct esp_argument *arguments,
                                  size_t n_arguments, struct esp_error *error)
{
    const struct description *description = (const struct description *)(const void *)problem;
    return invocation_complete(description->function->problem, arguments, n_arguments, error);
}

void describe_scope(const struct problem *problem, const struct esp_argument *arguments,
                    struct number scope[PROBLEM_MAX_ARGUMENTS])
{
    memset(scope, 0, PROBLEM_MAX_ARGUMENTS * sizeof *scope);
    for (uint32_t i = 0, k = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!argument_is_passed(argument))
            continue;
        const struct esp_argument *given = &arguments[k++];
        if (argument->n_dims > 0 || argument->type > TYPE_DOUBLE)
            continue;
        if (given->data)
            scope[i] = number_load(argument->type, given->data);
        else if (given->completed && argument->type >= TYPE_FLOAT)
            scope[i] = (struct number){.kind = NUMBER_REAL, .real = given->value.real};
        else if (given->completed)
            scope[i] = (struct number){.kind = NUMBER_INTEGER, .integer = given->value.integer};
    }
}

enum esp_status describe_elements(const struct esp_problem *problem, const struct esp_argument *arguments,
                                  size_t n_arguments, uint64_t *elements, struct esp_error *error)
{
    const struct description *description = (const struct description *)(const void *)problem;
    return invocation_elements(description->function->problem, arguments, n_arguments, elements, error);
}

enum esp_status describe_cut(const struct esp_problem *problem, struct esp_argument *arguments,
                             size_t n_arguments, struct esp_error *error)
{
    if (n_arguments != problem->n_arguments)
        return error_set(error, ESP_INVALID, "%s: expected %zu arguments, found %zu", problem->name,
                         problem->n_arguments, n_arguments);
    const struct problem *described = ((const struct description *)problem)->function->problem;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    describe_scope(described, arguments, scope);
    for (uint32_t i = 0, k = 0; i < described->n_arguments; i++) {
        if (!argument_is_passed(&described->arguments[i]))
            continue;
        struct esp_argument *given = &arguments[k++];
        if (!described->arguments[i].count || given->n_dims != described->arguments[i].n_dims)
            continue;
        struct shape shape = {.n_dims = given->n_dims};
        memcpy(shape.dims, given->dims, sizeof shape.dims);
        if (problem_cut(described, i, scope, &shape, error) != ESP_OK)
            return error->status = ESP_FAILED; /* the routine's count, not the caller's */
        given->dims[given->n_dims - 1] = shape.dims[given->n_dims - 1];
    }
    return ESP_OK;
}

const struct function *description_function(const struct esp_problem *problem)
{
    return ((const struct description *)(const void *)problem)->function;
}
