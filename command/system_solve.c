/* SPDX-License-Identifier: Apache-2.0
 *
 * Solves a system by the problem that the user names, or by what the abstract problem `solve` picks. The
 * description of the problem says which arguments are the matrix, the right-hand sides and the solution.
 */
#include "config.h"

#include "command/abstract_arguments.h"
#include "command/constraints.h"
#include "command/session.h"
#include "command/system.h"
#include "command/values.h"
#include "core/values/signature.h"
#include "core/values/values_storage.h"
#include "core/problem/problem_solves.h"
#include "util/clock.h"

#include <string.h>

static enum esp_status last_error(struct esp_error *error)
{
    *error = *esp_last_error();
    return error->status;
}

/* ---- roles, as the description says them ---- */

static const struct problem *described(const struct values *values)
{
    return values->described->problems[0];
}

static const char *role_name(const struct problem *problem, uint32_t index)
{
    return problem->arguments[index].name;
}

/* ESP_INVALID: what the problem solves is no system of its matrix. */
static enum esp_status check_equation(const struct problem *problem, struct esp_error *error)
{
    if (problem->solves)
        return ESP_OK;
    return error_set(
        error, ESP_INVALID,
        "%s solves no system A X = B, as far as its description says (it has no line 'solves' or "
        "'fits'): 'espalier call %s' calls it",
        problem->name, problem->name);
}

/* How far from the diagonal the elements of A reach: [0] below it, [1] above. */
static void measure_band(const struct matrix *a, int64_t reach[2])
{
    const bool sparse = matrix_is_sparse(a);
    reach[0] = reach[1] = 0;
    for (int64_t j = 0; j < a->cols; j++) {
        const int64_t from = sparse ? a->starts[j] : 0, to = sparse ? a->starts[j + 1] : a->rows;
        for (int64_t k = from; k < to; k++) {
            const int64_t i = sparse ? a->indices[k] : k;
            double re, im;
            matrix_element(a, i, j, &re, &im);
            if (re == 0 && im == 0)
                continue;
            reach[0] = i - j > reach[0] ? i - j : reach[0];
            reach[1] = j - i > reach[1] ? j - i : reach[1];
        }
    }
}

/* The widths of a band follow from its elements. */
static void know_widths(const struct problem *problem, const struct matrix *a, struct number *scope)
{
    const struct argument *matrix = &problem->arguments[problem->solves->matrix];
    int64_t reach[2];
    if (matrix->storage != STORAGE_BANDED)
        return;
    measure_band(a, reach);
    for (unsigned side = 0; side < 2; side++) {
        uint32_t name;
        bool both;
        if (!problem_band_width(matrix, side, &name, &both) || problem->arguments[name].initial)
            continue;
        const int64_t width = both && reach[1 - side] > reach[side] ? reach[1 - side] : reach[side];
        scope[name] = (struct number){.kind = NUMBER_INTEGER, .integer = width};
    }
}

/* The scalars that follow from A and the extents of B, and defaults. */
static enum esp_status infer(const struct problem *problem, const struct system *system, struct number *scope,
                             struct esp_error *error)
{
    const struct matrix *a = &system->file.matrix;
    const struct argument *matrix = &problem->arguments[problem->solves->matrix];
    const int64_t *known[PROBLEM_MAX_ARGUMENTS] = {0};
    uint32_t ranks[PROBLEM_MAX_ARGUMENTS] = {0};
    const int64_t of_a[] = {a->rows, a->cols}, of_b[] = {system->b.rows, system->b.cols};
    const int64_t of_indices[] = {matrix_is_sparse(a) ? matrix_stored(a) : matrix_nonzeros(a)};
    memset(scope, 0, PROBLEM_MAX_ARGUMENTS * sizeof *scope);
    know_widths(problem, a, scope);
    known[problem->solves->matrix] = of_a;
    if (matrix->storage == STORAGE_CSC || matrix->storage == STORAGE_CSR) {
        known[matrix->indices] = of_indices;
        ranks[matrix->indices] = 1;
    }
    known[problem->solves->rhs] = of_b;
    ranks[problem->solves->matrix] = ranks[problem->solves->rhs] = 2;
    return problem_infer(problem, known, ranks, scope, error);
}

/* Where an element is that the problem would not read; false: it reads all of A. */
static bool finds_unread(const struct matrix *a, bool upper, int64_t *row, int64_t *col)
{
    for (*col = 0; *col < a->cols; ++*col) {
        const bool sparse = matrix_is_sparse(a);
        const int64_t from = sparse ? a->starts[*col] : 0, to = sparse ? a->starts[*col + 1] : a->rows;
        for (int64_t k = from; k < to; k++) {
            double re, im;
            *row = sparse ? a->indices[k] : k;
            if (upper ? *row <= *col : *row >= *col)
                continue;
            matrix_element(a, *row, *col, &re, &im);
            if (re != 0 || im != 0)
                return true;
        }
    }
    return false;
}

/* Of a problem that reads one triangle of A: the one that A has. ESP_INVALID: A has both. */
static enum esp_status choose_triangle(struct values *values, const struct system *system,
                                       struct esp_error *error)
{
    const struct problem *problem = described(values);
    const struct solves *solves = problem->solves;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct system_shape shape;
    uint32_t letter;
    int64_t row, col;
    enum esp_status status = infer(problem, system, scope, error);
    if (status != ESP_OK || !solves_shape(problem, scope, &shape) || !shape.triangle || shape.mirrored ||
        !finds_unread(&system->file.matrix, shape.upper, &row, &col))
        return status;
    const struct argument *matrix = &problem->arguments[solves->matrix];
    const struct expr *by = matrix->triangle ? matrix->triangle : matrix->layout[0];
    int64_t other_row, other_col;
    if (by && expr_is_name(by, &letter) &&
        !finds_unread(&system->file.matrix, !shape.upper, &other_row, &other_col)) {
        char word[PROBLEM_MAX_NAME + 4];
        snprintf(word, sizeof word, "%s=%c", role_name(problem, letter), shape.upper ? 'L' : 'U');
        return values_assign(values, word, error);
    }
    return error_set(
        error, ESP_INVALID,
        "%s reads the %s triangle of A only, but A(%lld,%lld) is not zero: choose another problem",
        problem->name, shape.upper ? "upper" : "lower", (long long)row + 1, (long long)col + 1);
}

static double tolerance_of(const struct problem *problem, const struct system *system)
{
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct system_shape shape;
    const enum base_type type = problem->arguments[problem->solves->matrix].type;
    return infer(problem, system, scope, NULL) == ESP_OK && solves_shape(problem, scope, &shape)
               ? shape.tolerance
               : solves_tolerance(type == TYPE_FLOAT || type == TYPE_COMPLEX, system->file.matrix.rows);
}

/* The first rows of what came back: least squares have room for more. */
static enum esp_status take_solution(const struct values *values, struct system *system,
                                     struct esp_error *error)
{
    const struct problem *problem = described(values);
    const int index = signature_find(values->problem, role_name(problem, problem->solves->solution));
    const int64_t n = system->file.matrix.cols, nrhs = system->b.cols;
    struct matrix whole;
    enum esp_status status = values_matrix(values, (size_t)index, &whole, error);
    if (status != ESP_OK)
        return status;
    if (whole.rows < n || whole.cols != nrhs || whole.is_complex != system->b.is_complex)
        status = error_set(error, ESP_INVALID, "%s: expected a solution of %lld x %lld, found %lld x %lld",
                           problem->name, (long long)n, (long long)nrhs, (long long)whole.rows,
                           (long long)whole.cols);
    else
        status = matrix_init(&system->x, n, nrhs, whole.is_complex, 0, error);
    const size_t element = whole.is_complex ? 2 : 1;
    for (int64_t j = 0; status == ESP_OK && j < nrhs; j++)
        memcpy(system->x.values + (size_t)(j * n) * element,
               whole.values + (size_t)(j * whole.rows) * element, (size_t)n * element * sizeof(double));
    matrix_clear(&whole);
    return status;
}

/* ---- a problem by its name ---- */

static enum esp_status give_arrays(struct values *values, struct system *system, struct esp_error *error)
{
    const struct problem *problem = described(values);
    const struct solves *solves = problem->solves;
    const bool full = problem->arguments[solves->matrix].storage == STORAGE_FULL;
    enum esp_status status = ESP_OK;
    if (full)
        status = values_too_large(matrix_make_dense(&system->file.matrix, system->max_input, error), error);
    if (status == ESP_OK)
        status = choose_triangle(values, system, error);
    if (status == ESP_OK)
        status =
            values_assign_matrix(values, role_name(problem, solves->matrix), &system->file.matrix, error);
    if (status == ESP_OK)
        status = values_assign_matrix(values, role_name(problem, solves->rhs), &system->b, error);
    return status == ESP_OK ? values_prepare(values, error) : status;
}

static enum esp_status call_with(const struct command_line *command, const struct esp_problem *problem,
                                 struct system *system, struct values *values, struct esp_error *error)
{
    struct esp_call_options options = {0};
    struct constraint_words words;
    grpc_function_handle_t handle;
    enum esp_status status;
    if ((status = give_arrays(values, system, error)) != ESP_OK ||
        (status = constraints_read(command, &words, &options, error)) != ESP_OK ||
        (status = session_find(command, problem->name, constraints_bound(command), &handle, error)) != ESP_OK)
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
    return status == ESP_OK ? take_solution(values, system, error) : status;
}

static enum esp_status solve_by_name(const struct command_line *command, const struct esp_problem *problem,
                                     struct system *system, struct esp_error *error)
{
    enum esp_status status = call_with(command, problem, system, &system->values, error);
    if (status != ESP_OK)
        return status;
    snprintf(system->problem, sizeof system->problem, "%s", problem->name);
    snprintf(system->title, sizeof system->title, "%s", problem->title);
    return ESP_OK;
}

/* ---- by rules, as `espalier call solve` does it ---- */

static enum esp_status give_numbers(struct system *system, struct esp_error *error)
{
    const struct problem *problem = described(&system->values);
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    enum esp_status status = infer(problem, system, scope, error);
    if (status != ESP_OK)
        return status;
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_arguments; i++)
        if (problem->arguments[i].mode == MODE_IN && problem->arguments[i].n_dims == 0 &&
            scope[i].kind != NUMBER_UNKNOWN)
            status = esp_run_give_number(system->run, problem->arguments[i].name,
                                         scope[i].kind == NUMBER_INTEGER ? (double)scope[i].integer
                                                                         : scope[i].real);
    return session_told(status, error);
}

static enum esp_status give_arrays_as_they_are(struct system *system, struct esp_error *error)
{
    const struct problem *problem = described(&system->values);
    const struct esp_matrix a = abstract_matrix(&system->file.matrix), b = abstract_matrix(&system->b);
    enum esp_status status = esp_run_give(system->run, role_name(problem, problem->solves->matrix), &a);
    if (status == ESP_OK)
        status = esp_run_give(system->run, role_name(problem, problem->solves->rhs), &b);
    return session_told(status, error);
}

/* Which one it was, and which was tried before. */
static void note_problem(const struct esp_run_info *run, const struct esp_problem *solve,
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

static enum esp_status run_rules(const struct command_line *command, const struct esp_problem *solve,
                                 struct system *system, struct esp_error *error)
{
    struct esp_call_options options = {0};
    struct constraint_words words;
    struct esp_matrix x;
    const struct problem *problem = described(&system->values);
    const char *solution = role_name(problem, problem->solves->solution);
    enum esp_status status = constraints_read(command, &words, &options, error);
    if (status == ESP_OK)
        status = session_time_left(command, &options.deadline_s, error);
    if (status == ESP_OK)
        status = session_told(esp_run_create(solve, constraints_bound(command), &system->run), error);
    if (status == ESP_OK)
        status = give_numbers(system, error);
    if (status == ESP_OK)
        status = give_arrays_as_they_are(system, error);
    if (status != ESP_OK)
        return status;
    const int64_t begun_ns = clock_now_ns(&clock_system);
    status =
        session_told(esp_run_execute(system->run, &options, true), error); /* the table shows forecasts */
    session_called(begun_ns);
    if (status != ESP_OK)
        return status;
    note_problem(esp_run_info(system->run), solve, system);
    status = session_told(esp_run_result(system->run, solution, system->file.matrix.cols, system->b.cols, &x),
                          error);
    if (status != ESP_OK)
        return status;
    system->x = abstract_take(&x);
    return matrix_make_dense(&system->x, 0, error);
}

static bool takes_complex(const struct problem *problem)
{
    const enum base_type type = problem->arguments[problem->solves->matrix].type;
    return type == TYPE_COMPLEX || type == TYPE_DOUBLE_COMPLEX;
}

static enum esp_status attempt(const struct command_line *command, const char *name, struct system *system,
                               struct esp_error *error)
{
    struct esp_problem *problem = NULL;
    enum esp_status status = session_describe(command, name, &problem, error);
    if (status != ESP_OK)
        return status;
    system->solver = problem;
    status = values_init(&system->values, problem, &values_library, error);
    if (status == ESP_OK)
        status = check_equation(described(&system->values), error);
    if (status == ESP_OK && takes_complex(described(&system->values)))
        status = system_make_complex(system, error);
    if (status == ESP_OK && !described(&system->values)->abstract)
        status = solve_by_name(command, problem, system, error);
    else if (status == ESP_OK)
        status = run_rules(command, problem, system, error);
    if (status == ESP_OK) {
        system->tolerance = tolerance_of(described(&system->values), system);
        system->fits = described(&system->values)->solves->fits;
    }
    return status;
}

enum esp_status system_solve(const struct command_line *command, struct system *system,
                             struct esp_error *error)
{
    const bool is_complex = system->file.matrix.is_complex;
    const char *asked = command_option_value(command, "problem");
    if (asked)
        return attempt(command, asked, system, error);
    enum esp_status status = attempt(command, is_complex ? "zsolve" : "solve", system, error);
    if (status != ESP_UNKNOWN_PROBLEM || system->solver)
        return status;
    /* A platform with other problems than the shipped ones. */
    snprintf(system->instead, sizeof system->instead, "%s", is_complex ? "zsolve" : "solve");
    snprintf(system->note, sizeof system->note, "no server has %s", system->instead);
    system->instead_why = status;
    return attempt(command, is_complex ? "zgesv" : "dgesv", system, error);
}
