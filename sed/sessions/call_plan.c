/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/sessions/call_plan.h"

#include "core/problem/fill.h"
#include "core/problem/texts.h"
#include "util/segment.h"
#include "sed/pool/workers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ALIGNMENT 64u /* of data in a session's block: vector registers and cache lines */

static bool has_variable_length(const struct argument *argument)
{
    return base_type_is_variable(argument->type);
}

/* Their datum is what would come with the call (core/problem/texts.h), and is mapped as it is. */
static bool are_read_strings(const struct argument *argument)
{
    return argument_is_texts(argument) && argument->type == TYPE_STRING && argument->mode == MODE_IN;
}

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = {"absent", "inline", "bulk", "wanted", "datum"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

/* ---- what the call mentions ---- */

static enum esp_status check_kind(const struct problem *problem, const struct argument *argument,
                                  const struct call_argument *found, struct esp_error *error)
{
    bool input = argument_is_input(argument);
    switch (found->kind) {
    case KIND_ABSENT:
        return ESP_OK;
    case KIND_INLINE:
        if (input && found->length != found->bytes)
            return error_set(error, ESP_INVALID,
                             "%s: %s: %" PRIu64 " bytes are announced, %" PRIu32 " are here", problem->name,
                             argument->name, found->bytes, found->length);
        if (input)
            return ESP_OK;
        break;
    case KIND_BULK:
        if (input && (argument->n_dims > 0 || has_variable_length(argument)))
            return ESP_OK;
        break;
    case KIND_WANTED:
        if (!input || argument->unread) /* whether this call reads it is known when it is bound */
            return ESP_OK;
        break;
    case KIND_DATUM:
        if (input && argument->n_dims > 0 && (!has_variable_length(argument) || are_read_strings(argument)))
            return ESP_OK;
        if (input)
            return error_set(
                error, ESP_INVALID,
                "%s: %s: expected a value, found a datum: only arrays of numbers and characters, "
                "and arrays of strings that only go in, can be data",
                problem->name, argument->name);
        break;
    default:
        break;
    }
    return error_set(error, ESP_INVALID, "%s: %s: expected %s, found kind \"%s\"", problem->name,
                     argument->name,
                     !input                  ? "an output (absent or wanted)"
                     : argument->n_dims == 0 ? "a scalar input (inline)"
                                             : "an input (inline or bulk)",
                     kind_name(found->kind));
}

/* "node7:0123...[1:10,2] address": the bracket at the end of the first word. */
static bool names_section(const struct call_argument *found)
{
    const uint8_t *blank = found->length > 0 ? memchr(found->data, ' ', found->length) : NULL;
    size_t length = blank ? (size_t)(blank - found->data) : found->length;
    return length > 0 && found->data[length - 1] == ']';
}

static enum esp_status take_argument(struct call_plan *plan, const struct call_argument *found,
                                     uint64_t *seen, struct esp_error *error)
{
    const struct problem *problem = plan->problem;
    if (found->index >= problem->n_arguments || !argument_is_passed(&problem->arguments[found->index]))
        return error_set(error, ESP_INVALID, "%s: it has no argument number %" PRIu32 " that callers pass",
                         problem->name, found->index);
    const struct argument *argument = &problem->arguments[found->index];
    if (*seen >> found->index & 1)
        return error_set(error, ESP_INVALID, "%s: %s is given twice", problem->name, argument->name);
    *seen |= UINT64_C(1) << found->index;
    enum esp_status status = check_kind(problem, argument, found, error);
    if (status != ESP_OK)
        return status;
    struct planned_argument *planned = &plan->arguments[found->index];
    planned->kind = found->kind;
    if (found->kind == KIND_INLINE || found->kind == KIND_BULK || found->kind == KIND_DATUM)
        planned->bytes = found->bytes;
    if (found->kind == KIND_DATUM) {
        planned->datum = found->data;
        planned->datum_length = found->length;
        planned->cut = argument->is_section || names_section(found);
        if (planned->cut && has_variable_length(argument))
            return error_set(error, ESP_INVALID, "%s: %s: an array of strings is a datum as a whole",
                             problem->name, argument->name);
        plan->data = true;
    }
    if (found->kind == KIND_INLINE)
        planned->data = found->data ? found->data : (const uint8_t *)"";
    plan->bulk |= found->kind == KIND_BULK;
    return ESP_OK;
}

static uint32_t little(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static enum esp_status keep_output(struct call_plan *plan, const uint8_t *item, struct esp_error *error)
{
    const struct problem *problem = plan->problem;
    uint32_t index = little(item), mode = little(item + 4);
    if (index >= problem->n_arguments || !argument_is_output(&problem->arguments[index]))
        return error_set(error, ESP_INVALID, "%s: it has no output number %" PRIu32 " to be kept",
                         problem->name, index);
    const struct argument *argument = &problem->arguments[index];
    struct planned_argument *planned = &plan->arguments[index];
    if (argument->n_dims == 0 || has_variable_length(argument) || argument->is_section)
        return error_set(error, ESP_INVALID,
                         "%s: %s cannot be kept: only whole arrays of numbers and characters can be data",
                         problem->name, argument->name);
    if (planned->kind == KIND_ABSENT || mode >= DATUM_N_MODES)
        return error_set(error, ESP_INVALID, "%s: %s is to be kept, but %s", problem->name, argument->name,
                         mode >= DATUM_N_MODES ? "in no mode that is known" : "is not wanted");
    planned->kept = plan->data = true;
    planned->keep_mode = mode;
    planned->keep_flags = little(item + 8) & (DATUM_ALL_FLAGS | DATUM_AS_IT_LIES) & ~(uint32_t)DATUM_REPLICA;
    return ESP_OK;
}

/* When it is there: nothing is known of its length before. */
static enum esp_status keep_texts(struct call_plan *plan, const uint8_t *item, struct esp_error *error)
{
    const struct problem *problem = plan->problem;
    const uint32_t index = little(item), mode = little(item + 4);
    const struct argument *argument = index < problem->n_arguments ? &problem->arguments[index] : NULL;
    if (!argument || !argument_is_output(argument) || !argument_is_texts(argument) ||
        argument->type != TYPE_STRING || plan->arguments[index].kind == KIND_ABSENT || mode >= DATUM_N_MODES)
        return error_set(error, ESP_INVALID,
                         "%s: expected an array of strings that comes out and a mode in which it is to be "
                         "kept, found argument %" PRIu32 " and mode %" PRIu32,
                         problem->name, index, mode);
    struct planned_argument *planned = &plan->arguments[index];
    planned->kept_late = plan->data = true;
    planned->keep_mode = mode;
    planned->keep_flags = little(item + 8) & DATUM_ALL_FLAGS & ~(uint32_t)DATUM_REPLICA;
    return ESP_OK;
}

static enum esp_status keep_each(struct call_plan *plan, const struct extension *kept,
                                 enum esp_status (*keep)(struct call_plan *plan, const uint8_t *item,
                                                         struct esp_error *error),
                                 struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (uint32_t at = 0; status == ESP_OK && kept && at + KEPT_BYTES <= kept->length; at += KEPT_BYTES)
        status = keep(plan, kept->value + at, error);
    return status;
}

static double real_at(const uint8_t *bytes)
{
    const uint64_t bits = little(bytes) | (uint64_t)little(bytes + 4) << 32;
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* The client has analysed the patterns of compressed matrices. A number that no matrix of that order leads to
 * is not taken: the law counts. */
static void take_fills(struct call_plan *plan, const struct extension *fills, const struct shape *shapes)
{
    const struct problem *problem = plan->problem;
    for (uint32_t at = 0; fills && at + FILL_BYTES <= fills->length; at += FILL_BYTES) {
        const uint32_t index = little(fills->value + at);
        const struct fill fill = {real_at(fills->value + at + 4), real_at(fills->value + at + 12)};
        if (index >= problem->n_arguments || (problem->arguments[index].storage != STORAGE_CSC &&
                                              problem->arguments[index].storage != STORAGE_CSR))
            continue;
        const double n = (double)shapes[index].dims[0];
        if (fill.elements >= n && fill.elements <= n * (n + 1) / 2 && fill.flop >= 0 &&
            fill.flop <= n * n * n)
            plan->scope[index] = fill_number(&fill);
    }
}

/* Notes which ends of results are returned with the answer. The client reads other ends from the datum. */
static void note_edges(struct call_plan *plan, const struct extension *edges)
{
    for (uint32_t at = 0; edges && at + EDGES_BYTES <= edges->length; at += EDGES_BYTES) {
        const uint8_t *item = edges->value + at;
        const uint32_t index = little(item), head = little(item + 4), tail = little(item + 8);
        if (index >= plan->problem->n_arguments || !plan->arguments[index].kept || head > EDGES_MOST ||
            tail > EDGES_MOST)
            continue;
        plan->arguments[index].head = head;
        plan->arguments[index].tail = tail;
    }
}

static enum esp_status keep_outputs(struct call_plan *plan, const struct extensions *extensions,
                                    struct esp_error *error)
{
    enum esp_status status = keep_each(plan, extension_find(extensions, EXTENSION_KEPT), keep_output, error);
    note_edges(plan, extension_find(extensions, EXTENSION_EDGES));
    return status == ESP_OK
               ? keep_each(plan, extension_find(extensions, EXTENSION_KEPT_TEXTS), keep_texts, error)
               : status;
}

/* ---- values ---- */

static enum esp_status check_scalars(const struct call_plan *plan, const void **values,
                                     struct esp_error *error)
{
    for (uint32_t i = 0; i < plan->problem->n_arguments; i++) {
        const struct argument *argument = &plan->problem->arguments[i];
        const struct planned_argument *planned = &plan->arguments[i];
        bool elsewhere = planned->kind == KIND_BULK || planned->kind == KIND_DATUM;
        values[i] = elsewhere ? (const void *)"" : planned->data;
        if (argument->n_dims > 0 || has_variable_length(argument) || planned->kind != KIND_INLINE)
            continue;
        if (planned->bytes != base_type_size(argument->type))
            return error_set(error, ESP_INVALID, "%s: %s: expected a scalar %s of %zu bytes, found %" PRIu64,
                             plan->problem->name, argument->name, base_type_name(argument->type),
                             base_type_size(argument->type), planned->bytes);
    }
    return ESP_OK;
}

static enum esp_status check_bytes(struct call_plan *plan, uint32_t index, const struct shape *shape,
                                   struct esp_error *error)
{
    const struct argument *argument = &plan->problem->arguments[index];
    struct planned_argument *planned = &plan->arguments[index];
    bool given = planned->kind == KIND_INLINE || planned->kind == KIND_BULK || planned->kind == KIND_DATUM;
    if (planned->kind == KIND_DATUM && planned->bytes == 0) /* the caller need not know */
        planned->bytes = shape->bytes;
    if (argument_is_texts(argument) && argument_is_input(argument) && !given)
        return error_set(error, ESP_INVALID, "%s: the input %s (%" PRIu64 " %ss) is missing",
                         plan->problem->name, argument->name, shape->count, base_type_name(argument->type));
    if (has_variable_length(argument))
        return ESP_OK;
    planned->blank = shape->unread && !given;
    if (argument_is_input(argument) && argument->n_dims > 0 && !given && !planned->blank && shape->bytes > 0)
        return error_set(error, ESP_INVALID, "%s: the input %s (%" PRIu64 " bytes) is missing",
                         plan->problem->name, argument->name, shape->bytes);
    if (argument_is_queried(argument)) /* the worker gives it memory */
        return __builtin_add_overflow(plan->reserve_bytes, shape->bytes, &plan->reserve_bytes)
                   ? error_set(error, ESP_INVALID, "%s: it needs more bytes than 64 bits can count",
                               plan->problem->name)
                   : ESP_OK;
    if (__builtin_add_overflow(plan->reserve_bytes, shape->whole_bytes, &plan->reserve_bytes))
        return error_set(error, ESP_INVALID, "%s: it needs more bytes than 64 bits can count",
                         plan->problem->name);
    if (!given) {
        planned->bytes = shape->bytes;
        return ESP_OK;
    }
    if (planned->bytes == shape->bytes)
        return ESP_OK;
    char dims[PROBLEM_MAX_DIMS * 24] = "";
    size_t length = 0;
    for (uint32_t d = 0; d < shape->n_dims; d++)
        length += (size_t)snprintf(dims + length, sizeof dims - length, "%s%" PRId64, d ? " x " : "",
                                   shape->dims[d]);
    return error_set(error, ESP_INVALID, "%s: %s: expected %" PRIu64 " bytes (%s %s), found %" PRIu64,
                     plan->problem->name, argument->name, shape->bytes, dims, base_type_name(argument->type),
                     planned->bytes);
}

static enum esp_status take_default(struct call_plan *plan, uint32_t index, struct esp_error *error)
{
    const struct argument *argument = &plan->problem->arguments[index];
    struct planned_argument *planned = &plan->arguments[index];
    if (argument->n_dims > 0 || !argument_is_input(argument) || planned->kind != KIND_ABSENT ||
        !argument->initial)
        return ESP_OK;
    planned->has_initial = true;
    return problem_default(plan->problem, index, plan->scope, planned->initial, error);
}

/* ---- where everything lies ---- */

/* Whether all values fit beside a segment, counted as WORKERS_INLINE_BYTES is. */
static bool fits_inline(const struct call_plan *plan)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < plan->problem->n_arguments; i++)
        if (!plan->arguments[i].in_store && (plan->arguments[i].bytes > WORKERS_INLINE_BYTES ||
                                             (total += plan->arguments[i].bytes + 64) > WORKERS_INLINE_BYTES))
            return false;
    return true;
}

/* A datum is read where it is, and a result that is kept is written where it stays; one that the routine
 * writes over is copied into the segment first. */
static void place_data(struct call_plan *plan)
{
    for (uint32_t i = 0; plan->data && i < plan->problem->n_arguments; i++) {
        struct planned_argument *planned = &plan->arguments[i];
        bool read_only = plan->problem->arguments[i].mode == MODE_IN;
        /* One that the routine writes over is copied by the worker: out of the datum, or out of the segment
         * when the client sends it or it is a section. */
        bool in_segment = planned->kind == KIND_INLINE || planned->kind == KIND_BULK || planned->cut;
        planned->in_store =
            (planned->kept && !in_segment) || (planned->kind == KIND_DATUM && read_only && !planned->cut);
    }
}

static enum esp_status lay_out(struct call_plan *plan, struct esp_error *error)
{
    const struct problem *problem = plan->problem;
    place_data(plan);
    bool small = fits_inline(plan);
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        struct planned_argument *planned = &plan->arguments[i];
        bool text = problem->arguments[i].n_dims == 0 &&
                    (problem->arguments[i].type == TYPE_STRING || problem->arguments[i].type == TYPE_STATE);
        planned->in_segment = planned->in_store ||
                              ((planned->kept || planned->kind == KIND_DATUM) && planned->bytes > 0) ||
                              (!small && !text && planned->bytes > PLAN_SMALL_ARRAY);
        if (planned->in_segment && !planned->in_store) {
            planned->offset = segment_place(&plan->segment_bytes, planned->bytes);
            if (planned->offset == UINT64_MAX)
                return error_set(error, ESP_INVALID,
                                 "%s: the arguments have more bytes than 64 bits can count", problem->name);
        } else if (argument_is_passed(&problem->arguments[i]) && !planned->in_store) {
            planned->offset = plan->block_bytes;
            plan->block_bytes += (planned->bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
        }
    }
    return ESP_OK;
}

/* Results whose length nobody knows yet: as long as they may be. */
static uint64_t unknown_results(const struct problem *problem)
{
    const struct implementation *first = problem->n_implementations > 0 ? problem->implementations : NULL;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        const bool limited = first && (first->command || argument->type == TYPE_FILE);
        if (has_variable_length(argument) && argument_is_output(argument) &&
            (limited || argument_is_texts(argument)) &&
            __builtin_add_overflow(bytes, limited ? first->output_bytes : TEXTS_MOST_BYTES, &bytes))
            return UINT64_MAX;
    }
    return bytes;
}

enum esp_status call_plan_make(const struct problem *problem, const struct call_request *call,
                               struct call_plan *plan, struct esp_error *error)
{
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    const void *values[PROBLEM_MAX_ARGUMENTS];
    uint64_t seen = 0;
    plan->problem = problem;
    plan->block_bytes = plan->segment_bytes = plan->inline_bytes = plan->reserve_bytes = 0;
    plan->bulk = plan->data = false;
    plan->beyond_bytes = 0;
    memset(plan->arguments, 0, problem->n_arguments * sizeof *plan->arguments);
    for (uint32_t i = 0; i < call->n_arguments; i++) {
        enum esp_status status = take_argument(plan, &call->arguments[i], &seen, error);
        if (status != ESP_OK)
            return status;
        plan->inline_bytes += call->arguments[i].length;
    }
    enum esp_status status = keep_outputs(plan, &call->extensions, error);
    if (status == ESP_OK)
        status = check_scalars(plan, values, error);
    if (status == ESP_OK)
        status = problem_bind(problem, values, plan->scope, shapes, error);
    if (status == ESP_OK)
        take_fills(plan, extension_find(&call->extensions, EXTENSION_FILL), shapes);
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_arguments; i++) {
        status = check_bytes(plan, i, &shapes[i], error);
        if (status == ESP_OK)
            status = take_default(plan, i, error);
        if (status == ESP_OK && (plan->arguments[i].kept || plan->arguments[i].kept_late ||
                                 plan->arguments[i].kind == KIND_DATUM))
            status = datum_shape_of_argument(problem, i, plan->scope, &shapes[i], &plan->arguments[i].shape,
                                             error);
    }
    if (status == ESP_OK)
        status = lay_out(plan, error);
    if (status == ESP_OK)
        status = problem_work(problem, plan->scope, &plan->work_flop, error);
    if (status == ESP_OK)
        status = problem_memory(problem, plan->scope, &plan->beyond_bytes, error);
    if (status == ESP_OK &&
        (__builtin_add_overflow(plan->reserve_bytes, plan->beyond_bytes, &plan->reserve_bytes) ||
         __builtin_add_overflow(plan->reserve_bytes, plan->segment_bytes, &plan->reserve_bytes) ||
         __builtin_add_overflow(plan->reserve_bytes, unknown_results(problem), &plan->reserve_bytes) ||
         __builtin_add_overflow(plan->reserve_bytes, plan->block_bytes, &plan->reserve_bytes)))
        status =
            error_set(error, ESP_INVALID, "%s: it needs more bytes than 64 bits can count", problem->name);
    return status;
}
