/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "flow/flow_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum esp_status flow_data_create(struct flow_data *data, const struct flow_plan *plan,
                                 struct esp_error *error)
{
    uint64_t n = 0;
    *data = (struct flow_data){.plan = plan};
    data->first = malloc(((size_t)plan->n_tasks + 1) * sizeof *data->first);
    if (!data->first)
        return error_no_memory(error, "the data of a flow");
    for (uint32_t t = 0; t < plan->n_tasks; t++) {
        data->first[t] = n;
        n += plan->tasks[t].n_outputs;
    }
    data->first[plan->n_tasks] = n;
    data->data = calloc(n + 1, sizeof *data->data);
    if (!data->data) {
        flow_data_clear(data);
        return error_no_memory(error, "the data of a flow");
    }
    for (uint32_t t = 0; t < plan->n_tasks; t++)
        for (uint32_t i = 0; i < plan->tasks[t].n_inputs; i++) {
            struct flow_datum *datum = flow_data_input(data, plan->tasks[t].first_input + i);
            if (datum)
                datum->uses++;
        }
    return ESP_OK;
}

void flow_data_clear(struct flow_data *data)
{
    uint64_t n = data->data ? data->first[data->plan->n_tasks] : 0;
    for (uint64_t i = 0; i < n; i++) {
        struct flow_datum *datum = &data->data[i];
        free(datum->id);
        free(datum->memory);
        free(datum->copies);
        while (datum->waiting) {
            struct waiting *next = datum->waiting->next;
            free(datum->waiting);
            datum->waiting = next;
        }
    }
    free(data->first);
    free(data->data);
    *data = (struct flow_data){0};
}

struct flow_datum *flow_data_output(const struct flow_data *data, uint32_t task, uint8_t output)
{
    return &data->data[data->first[task] + output];
}

struct flow_datum *flow_data_input(const struct flow_data *data, uint32_t input)
{
    const struct task_input *read = &data->plan->inputs[input];
    return read->output == PLAN_CONTROL ? NULL : flow_data_output(data, read->producer, read->output);
}

bool datum_has_copy(const struct flow_datum *datum, uint32_t server)
{
    for (uint32_t i = 0; i < datum->n_copies; i++)
        if (datum->copies[i] == server)
            return true;
    return false;
}

bool datum_add_copy(struct flow_datum *datum, uint32_t server)
{
    if (datum_has_copy(datum, server))
        return true;
    uint32_t *moved = realloc(datum->copies, ((size_t)datum->n_copies + 1) * sizeof *moved);
    if (!moved)
        return false;
    datum->copies = moved;
    datum->copies[datum->n_copies++] = server;
    return true;
}

void datum_remove_copy(struct flow_datum *datum, uint32_t server)
{
    for (uint32_t i = 0; i < datum->n_copies; i++)
        if (datum->copies[i] == server) {
            datum->copies[i] = datum->copies[--datum->n_copies];
            return;
        }
}

/* ---- kinds ---- */

static enum esp_status describe(const struct flow_plan *plan, const struct task *task, uint32_t argument,
                                struct flow_array *array, struct esp_error *error)
{
    const struct program_operation *operation = task_operation(plan, task);
    const struct problem *problem = operation->problem;
    const void *values[PROBLEM_MAX_ARGUMENTS] = {0};
    struct number numbers[PROBLEM_MAX_ARGUMENTS] = {0};
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    for (unsigned i = 0; i < operation->n_scalars; i++)
        if (task->call->statement->scalars[i])
            values[operation->scalar_arguments[i]] = task->call->scalars[i];
    enum esp_status status = problem_bind(problem, values, numbers, shapes, error);
    if (status != ESP_OK)
        return status;
    const struct argument *described = &problem->arguments[argument];
    *array = (struct flow_array){.type = described->type,
                                 .row_major = (described->properties & PROPERTY_ROW_MAJOR) != 0,
                                 .storage = described->storage,
                                 .shape = shapes[argument]};
    return ESP_OK;
}

/* Which input of the reader's statement an input of its task belongs to. */
static unsigned input_of(const struct task *task, uint32_t position)
{
    unsigned k = 0;
    while (k + 1 < task->call->statement->n_inputs && position >= task->call->input_ends[k])
        k++;
    return k;
}

enum esp_status flow_data_array(const struct flow_data *data, uint32_t index, uint8_t output,
                                struct flow_array *array, struct esp_error *error)
{
    const struct flow_plan *plan = data->plan;
    const struct task *task = &plan->tasks[index];
    if (task_is(task, STATEMENT_CALL))
        return describe(plan, task, task_operation(plan, task)->output_arguments[output], array, error);
    for (uint32_t r = task->first_reader; r < task->first_reader + task->n_readers; r++) {
        const struct task *reader = &plan->tasks[plan->readers[r].task];
        if (plan->readers[r].output == output && task_is(reader, STATEMENT_CALL))
            return describe(
                plan, reader,
                task_operation(plan, reader)->input_arguments[input_of(reader, plan->readers[r].position)],
                array, error);
    }
    return error_set(error, ESP_INVALID, "input '%s' is read by no operation", task->call->targets[0]);
}

void task_place(const struct flow_plan *plan, const struct task *task, char *text, size_t size)
{
    const struct statement *statement = task->call->statement;
    const char *target = NULL;
    for (unsigned i = 0; i < task->n_outputs && !target; i++)
        target = task->call->targets[i];
    const char *name = statement->kind == STATEMENT_CALL ? task_operation(plan, task)->name : NULL;
    snprintf(text, size, "%s:%u:%u: %s%s%s%s%s%s", plan->program->file, statement->place.line,
             statement->place.column, name ? "operation '" : "", name ? name : "", name ? "'" : "",
             target ? (name ? " (" : "input ") : (name ? "" : "result"), target ? target : "",
             target && name ? ")" : "");
}
