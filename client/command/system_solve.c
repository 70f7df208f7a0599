/* SPDX-License-Identifier: Apache-2.0
 *
 * The way of a system to the problem that solves it: one that is asked for by name, or what the abstract
 * problem `solve` picks, as `espalier call solve` does.
 */
#include "config.h"

#include "client/abstract/abstract.h"
#include "client/command/constraints.h"
#include "client/command/session.h"
#include "client/command/system.h"
#include "client/command/values.h"
#include "client/arguments/signature.h"
#include "util/clock.h"

#include <string.h>

static enum esp_status last_error(struct esp_error *error)
{
    *error = *esp_last_error();
    return error->status;
}

static enum esp_status call_with(const struct command_line *command, const struct esp_problem *problem,
                                 struct system *system, struct values *values, struct esp_error *error)
{
    struct esp_call_options options = {0};
    grpc_function_handle_t handle;
    enum esp_status status;
    if ((status = matrix_file_fault(matrix_make_dense(&system->file.matrix, 0, error), error)) != ESP_OK ||
        (status = values_assign_matrix(values, "A", &system->file.matrix, error)) != ESP_OK ||
        (status = values_assign_matrix(values, "B", &system->b, error)) != ESP_OK ||
        (status = values_prepare(values, error)) != ESP_OK ||
        (status = session_find(command, problem->name, command_option_value(command, "server"), &handle,
                               error)) != ESP_OK)
        return status;
    if ((status = session_time_left(command, &options.deadline_s, error)) != ESP_OK) {
        grpc_function_handle_destruct(&handle);
        return status;
    }
    const int64_t begun_ns = clock_now_ns(&clock_system);
    esp_session_info_free(system->info);
    system->info = NULL;
    status = esp_call(&handle, values->arguments, problem->n_arguments, &options, &system->info);
    if (status != ESP_OK)
        status = last_error(error);
    session_called(begun_ns);
    grpc_function_handle_destruct(&handle);
    int b = signature_find(problem, "B");
    system->is_single = b >= 0 && (problem->arguments[b].type == ESP_TYPE_FLOAT ||
                                   problem->arguments[b].type == ESP_TYPE_COMPLEX);
    return status == ESP_OK ? values_matrix(values, (size_t)b, &system->x, error) : status;
}

/* One attempt with one problem that has an A to be overwritten and a B that becomes X. */
static enum esp_status attempt(const struct command_line *command, const char *name, struct system *system,
                               struct esp_error *error)
{
    struct esp_problem *problem = NULL;
    struct values values = {0};
    enum esp_status status = session_describe(command, name, &problem, error);
    if (status == ESP_OK)
        status = values_init(&values, problem, error);
    if (status == ESP_OK)
        status = call_with(command, problem, system, &values, error);
    if (status == ESP_OK) {
        snprintf(system->problem, sizeof system->problem, "%s", problem->name);
        snprintf(system->title, sizeof system->title, "%s", problem->title);
    }
    values_clear(&values);
    esp_problem_free(problem);
    return status;
}

/* ---- as the platform's `solve` does it ---- */

static enum esp_status give(struct abstract_run *run, const char *name, struct matrix *matrix,
                            struct esp_error *error)
{
    enum esp_status status = abstract_give(run, name, matrix, error);
    *matrix = (struct matrix){0}; /* the run's now */
    return status;
}

static enum esp_status give_size(struct abstract_run *run, const char *name, int64_t size,
                                 struct esp_error *error)
{
    struct matrix one;
    enum esp_status status = matrix_init(&one, 1, 1, false, 0, error);
    if (status != ESP_OK)
        return status;
    one.values[0] = (double)size;
    return abstract_give(run, name, &one, error);
}

static void take_back(struct abstract_run *run, const char *name, struct matrix *matrix)
{
    for (uint32_t i = 0; i < run->n_given; i++)
        if (strcmp(run->variables[i].name, name) == 0) {
            *matrix = run->variables[i].matrix;
            run->variables[i].matrix = (struct matrix){0};
        }
}

/* Which one it was, and which was tried before. */
static void note_problem(const struct abstract_run *run, const struct esp_problem *solve,
                         struct system *system)
{
    struct esp_problem *taken = NULL;
    const bool is_one = !strchr(run->taken, ',') && esp_problem_describe(run->taken, &taken) == ESP_OK;
    snprintf(system->problem, sizeof system->problem, "%s", run->taken);
    snprintf(system->title, sizeof system->title, "%s", is_one ? taken->title : solve->title);
    esp_problem_free(taken);
    if (!*run->passed_over)
        return;
    snprintf(system->note, sizeof system->note, "%s", run->passed_over);
    snprintf(system->instead, sizeof system->instead, "%.*s", (int)strcspn(run->passed_over, " :"),
             run->passed_over);
    system->instead_why = run->passed_status;
}

static enum esp_status run_abstract(const struct command_line *command, const struct esp_problem *solve,
                                    struct abstract_run *run, struct system *system, struct esp_error *error)
{
    struct esp_call_options options = {0};
    const int64_t n = system->file.matrix.rows, nrhs = system->b.cols;
    enum esp_status status = session_time_left(command, &options.deadline_s, error);
    run->options = &options;
    run->server = constraints_bound(command);
    run->foretells = true; /* its table shows them */
    if (status != ESP_OK || (status = give_size(run, "m", n, error)) != ESP_OK ||
        (status = give_size(run, "n", n, error)) != ESP_OK ||
        (status = give_size(run, "nrhs", nrhs, error)) != ESP_OK ||
        (status = give(run, "A", &system->file.matrix, error)) != ESP_OK ||
        (status = give(run, "B", &system->b, error)) != ESP_OK)
        return status;
    const int64_t begun_ns = clock_now_ns(&clock_system);
    status = abstract_execute(run, error);
    session_called(begun_ns);
    take_back(run, "A", &system->file.matrix);
    take_back(run, "B", &system->b);
    if (status != ESP_OK)
        return status;
    note_problem(run, solve, system);
    system->info = run->info;
    run->info = NULL;
    const int x = problem_argument_index(run->problem, "X");
    if (x < 0)
        return error_set(error, ESP_INVALID, "%s: expected an output X, found none", run->problem->name);
    status = abstract_result(run, &run->problem->arguments[x], n, nrhs, &system->x, error);
    return status == ESP_OK ? matrix_make_dense(&system->x, 0, error) : status;
}

static enum esp_status solve_by_rules(const struct command_line *command, const struct esp_problem *solve,
                                      struct system *system, struct esp_error *error)
{
    struct values values = {0}; /* for the description */
    struct abstract_run run = {0};
    enum esp_status status = values_init(&values, solve, error);
    if (status == ESP_OK)
        status = abstract_open(&run, values.described->problems[0], error);
    if (status == ESP_OK)
        status = run_abstract(command, solve, &run, system, error);
    abstract_close(&run);
    values_clear(&values);
    return status;
}

enum esp_status system_solve(const struct command_line *command, struct system *system,
                             struct esp_error *error)
{
    const bool is_complex = system->file.matrix.is_complex;
    const char *asked = command_option_value(command, "problem");
    struct esp_problem *solve = NULL;
    if (asked)
        return attempt(command, asked, system, error);
    enum esp_status status = session_describe(command, is_complex ? "zsolve" : "solve", &solve, error);
    if (status == ESP_UNKNOWN_PROBLEM) { /* a platform with other problems than the shipped ones */
        snprintf(system->instead, sizeof system->instead, "%s", is_complex ? "zsolve" : "solve");
        snprintf(system->note, sizeof system->note, "no server has %s", system->instead);
        system->instead_why = status;
        return attempt(command, is_complex ? "zgesv" : "dgesv", system, error);
    }
    if (status == ESP_OK)
        status = solve_by_rules(command, solve, system, error);
    esp_problem_free(solve);
    return status;
}
