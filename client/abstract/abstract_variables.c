/* SPDX-License-Identifier: Apache-2.0
 *
 * What is given and what steps leave, by name.
 */
#include "client/abstract/abstract_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum esp_status abstract_open(struct abstract_run *run, const struct problem *problem,
                              struct esp_error *error)
{
    *run = (struct abstract_run){.problem = problem,
                                 .variables = calloc(ABSTRACT_MAX_VARIABLES, sizeof *run->variables)};
    return run->variables ? ESP_OK : error_no_memory(error, "an abstract problem");
}

void abstract_forget_after(struct abstract_run *run, uint32_t n)
{
    while (run->n_variables > n) {
        struct variable *variable = &run->variables[--run->n_variables];
        matrix_clear(&variable->matrix);
        free(variable->text);
        variable->text = NULL;
        if (variable->datum)
            free(variable->datum->reference);
        free(variable->datum);
        variable->datum = NULL;
        variable->from = NULL;
    }
}

void abstract_forget_infos(struct abstract_run *run)
{
    while (run->n_before > 0)
        esp_session_info_free(run->before[--run->n_before]);
    esp_session_info_free(run->info);
    run->info = NULL;
}

void abstract_add_info(struct abstract_run *run, struct esp_session_info *info)
{
    if (run->info && run->n_before < ABSTRACT_MAX_STEPS)
        run->before[run->n_before++] = run->info;
    else
        esp_session_info_free(run->info);
    run->info = info;
}

uint32_t abstract_infos(const struct abstract_run *run,
                        const struct esp_session_info *infos[ABSTRACT_MAX_STEPS])
{
    uint32_t n = 0;
    for (; n < run->n_before; n++)
        infos[n] = run->before[n];
    if (run->info && n < ABSTRACT_MAX_STEPS)
        infos[n++] = run->info;
    return n;
}

void abstract_begin_again(struct abstract_run *run)
{
    abstract_forget_after(run, 0);
    run->n_given = 0;
    abstract_fates_destroy(run);
    abstract_forget_infos(run);
    *run->passed_over = *run->weighed = *run->at = 0;
    abstract_forget_plans(run);
    run->passed_status = ESP_OK;
    run->lacked_memory = false;
}

void abstract_close(struct abstract_run *run)
{
    abstract_forget_plans(run);
    abstract_begin_again(run);
    free(run->variables);
    *run = (struct abstract_run){0};
}

enum esp_status abstract_set(struct abstract_run *run, const char *name, struct matrix *matrix,
                             struct esp_error *error)
{
    if (run->n_variables == ABSTRACT_MAX_VARIABLES) {
        matrix_clear(matrix);
        return error_set(error, ESP_LIMIT, "%s: the steps of a rule give at most %d results",
                         run->problem->name, ABSTRACT_MAX_VARIABLES);
    }
    struct variable *variable = &run->variables[run->n_variables++];
    snprintf(variable->name, sizeof variable->name, "%s", name);
    variable->matrix = *matrix;
    *matrix = (struct matrix){0};
    return ESP_OK;
}

static struct variable *find_variable(const struct abstract_run *run, const char *name)
{
    for (uint32_t i = run->n_variables; i-- > 0;)
        if (strcmp(run->variables[i].name, name) == 0)
            return &run->variables[i];
    return NULL;
}

const struct matrix *abstract_find(const struct abstract_run *run, const char *name)
{
    const struct variable *variable = find_variable(run, name);
    return variable && !variable->text && variable->matrix.values ? &variable->matrix : NULL;
}

const struct datum_variable *abstract_find_datum(const struct abstract_run *run, const char *name)
{
    const struct variable *variable = find_variable(run, name);
    return variable ? variable->datum : NULL;
}

const struct value *abstract_find_from(const struct abstract_run *run, const char *name)
{
    const struct variable *variable = find_variable(run, name);
    return variable ? variable->from : NULL;
}

const char *abstract_find_state(const struct abstract_run *run, const char *name)
{
    const struct variable *variable = find_variable(run, name);
    return variable && variable->text && *variable->text ? variable->text : NULL;
}

enum esp_status abstract_set_state(struct abstract_run *run, const char *name, const char *text,
                                   struct esp_error *error)
{
    struct matrix none = {0};
    char *copy = strdup(text);
    if (!copy)
        return error_no_memory(error, "a state");
    enum esp_status status = abstract_set(run, name, &none, error);
    if (status == ESP_OK)
        run->variables[run->n_variables - 1].text = copy;
    else
        free(copy);
    return status;
}

enum esp_status abstract_give(struct abstract_run *run, const char *name, struct matrix *matrix,
                              struct esp_error *error)
{
    enum esp_status status = abstract_set(run, name, matrix, error);
    run->n_given = run->n_variables;
    return status;
}

enum esp_status abstract_give_datum(struct abstract_run *run, const char *name, const char *reference,
                                    enum base_type type, int64_t rows, int64_t cols, struct esp_error *error)
{
    struct matrix none = {0};
    enum esp_status status = abstract_give(run, name, &none, error);
    return status == ESP_OK ? abstract_also_datum(run, reference, type, rows, cols, error) : status;
}

enum esp_status abstract_also_datum(struct abstract_run *run, const char *reference, enum base_type type,
                                    int64_t rows, int64_t cols, struct esp_error *error)
{
    struct datum_variable *datum = calloc(1, sizeof *datum);
    char *copy = strdup(reference);
    if (!datum || !copy) {
        free(datum);
        free(copy);
        return error_no_memory(error, "the identity of a datum");
    }
    *datum = (struct datum_variable){copy, type, rows, cols};
    run->variables[run->n_variables - 1].datum = datum;
    return ESP_OK;
}

void abstract_bring(struct abstract_run *run, const char *name, struct matrix *matrix)
{
    struct variable *variable = find_variable(run, name);
    matrix_clear(&variable->matrix);
    variable->matrix = *matrix;
    *matrix = (struct matrix){0};
}

void abstract_is_from(struct abstract_run *run, const struct value *value)
{
    run->variables[run->n_variables - 1].from = value;
}
