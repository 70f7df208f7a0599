/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier solve: a system of linear equations from files, and how good the solution is.
 */
#include "config.h"

#include "client/command/condition.h"
#include "client/command/constraints.h"
#include "client/command/session.h"
#include "client/command/table.h"
#include "client/signature.h"
#include "client/command/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct system {
    struct matrix_file file; /* A */
    struct matrix b, x;
    enum rhs_origin { RHS_ONES, RHS_OWN, RHS_FILE } rhs;
    char note[256];              /* for people: why this problem, when another was tried first */
    const char *instead;         /* the problem that was tried first, or NULL */
    enum esp_status instead_why; /* it did not do */
    FILE *people;                /* where the report goes: standard error when X takes standard output */
    char problem[64];            /* that solved it */
    char title[256];
    struct esp_session_info *info;
    double backward_error;
    char warning[CONDITION_TEXT]; /* or "" */
};

static void system_clear(struct system *system)
{
    matrix_file_clear(&system->file);
    matrix_clear(&system->b);
    matrix_clear(&system->x);
    esp_session_info_free(system->info);
}

/* Every element gets an imaginary part of 0. */
static enum esp_status make_complex(struct matrix *matrix, struct esp_error *error)
{
    struct matrix wide;
    if (matrix->is_complex)
        return ESP_OK;
    enum esp_status status = matrix_init(&wide, matrix->rows, matrix->cols, true, 0, error);
    if (status != ESP_OK)
        return status;
    for (size_t k = 0; k < matrix_bytes(matrix) / sizeof(double); k++)
        wide.values[2 * k] = matrix->values[k];
    matrix_clear(matrix);
    *matrix = wide;
    return ESP_OK;
}

static enum esp_status check_finite(const char *path, const struct matrix *matrix, struct esp_error *error)
{
    int64_t row, col;
    if (matrix_is_finite(matrix, &row, &col))
        return ESP_OK;
    return error_set(error, ESP_SYNTAX, "%s: the element in row %lld, column %lld is not a finite number",
                     path, (long long)row + 1, (long long)col + 1);
}

static enum esp_status load_a(const char *path, struct system *system, struct esp_error *error)
{
    enum esp_status status = matrix_load_dense(path, 0, &system->file, error);
    if (status != ESP_OK)
        return matrix_file_fault(status, error);
    const struct matrix *a = &system->file.matrix;
    if (a->rows != a->cols)
        return error_set(error, ESP_INVALID,
                         "%s: expected a square matrix, found %lld x %lld ('espalier call dgels' finds least "
                         "squares solutions)",
                         path, (long long)a->rows, (long long)a->cols);
    return check_finite(path, a, error);
}

static enum esp_status make_ones(struct system *system, struct esp_error *error)
{
    enum esp_status status = matrix_init(&system->b, system->file.matrix.rows, 1, false, 0, error);
    for (int64_t i = 0; status == ESP_OK && i < system->b.rows; i++)
        system->b.values[i] = 1;
    system->rhs = RHS_ONES;
    return status;
}

static enum esp_status load_b(const struct command_line *command, struct system *system,
                              struct esp_error *error)
{
    bool own = command_option_value(command, "own-rhs");
    const char *path = command->n_operands > 1 ? command->operands[1] : NULL;
    enum esp_status status = ESP_OK;
    if (own && path)
        return error_set(error, ESP_INVALID,
                         "--own-rhs takes the right-hand side of A's file: B is not needed");
    if (own && !system->file.rhs.values)
        return error_set(error, ESP_INVALID, "--own-rhs: %s has no right-hand side", command->operands[0]);
    if (own) {
        system->b = system->file.rhs;
        system->file.rhs = (struct matrix){0};
        system->rhs = RHS_OWN;
    } else if (path) {
        struct matrix_file file;
        status = matrix_load_dense(path, 0, &file, error);
        if (status != ESP_OK)
            return matrix_file_fault(status, error);
        system->b = file.matrix;
        file.matrix = (struct matrix){0};
        matrix_file_clear(&file);
        system->rhs = RHS_FILE;
    } else {
        status = make_ones(system, error);
    }
    if (status != ESP_OK)
        return status;
    if (system->b.rows != system->file.matrix.rows)
        return error_set(error, ESP_INVALID, "B has %lld rows, but A has %lld", (long long)system->b.rows,
                         (long long)system->file.matrix.rows);
    status = check_finite(path ? path : command->operands[0], &system->b, error);
    if (status == ESP_OK && system->file.matrix.is_complex)
        status = make_complex(&system->b, error);
    if (status == ESP_OK && system->b.is_complex)
        status = make_complex(&system->file.matrix, error);
    return status;
}

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
    const char *server = command_option_value(command, "server");
    enum esp_status status;
    if ((status = values_assign_matrix(values, "A", &system->file.matrix, error)) != ESP_OK ||
        (status = values_assign_matrix(values, "B", &system->b, error)) != ESP_OK ||
        (status = session_timeout(command, &options.deadline_s, error)) != ESP_OK ||
        (status = values_prepare(values, error)) != ESP_OK)
        return status;
    if ((server ? grpc_function_handle_init(&handle, (char *)server, (char *)problem->name)
                : grpc_function_handle_default(&handle, (char *)problem->name)) != GRPC_NO_ERROR)
        return last_error(error);
    esp_session_info_free(system->info);
    system->info = NULL;
    status = esp_call(&handle, values->arguments, problem->n_arguments, &options, &system->info);
    if (status != ESP_OK)
        status = last_error(error);
    grpc_function_handle_destruct(&handle);
    int b = signature_find(problem, "B");
    return status == ESP_OK ? values_matrix(values, (size_t)b, &system->x, error) : status;
}

/* One attempt with one problem that has an A to be overwritten and a B that becomes X. */
static enum esp_status attempt(const struct command_line *command, const char *name, struct system *system,
                               struct esp_error *error)
{
    struct esp_problem *problem = NULL;
    struct values values = {0};
    if (esp_problem_describe(name, &problem) != ESP_OK)
        return last_error(error);
    enum esp_status status = values_init(&values, problem, error);
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

static enum esp_status solve(const struct command_line *command, struct system *system,
                             struct esp_error *error)
{
    const struct matrix *a = &system->file.matrix;
    const char *general = a->is_complex ? "zgesv" : "dgesv", *definite = a->is_complex ? "zposv" : "dposv";
    const char *asked = command_option_value(command, "problem");
    if (asked)
        return attempt(command, asked, system, error);
    if (!matrix_is_symmetric(a, NULL, NULL) || !matrix_has_positive_diagonal(a))
        return attempt(command, general, system, error);
    const char *kind = a->is_complex ? "Hermitian" : "symmetric";
    enum esp_status status = attempt(command, definite, system, error);
    if (status == ESP_FAILED)
        snprintf(system->note, sizeof system->note, "%s, but not positive definite (%s: %.150s)", kind,
                 definite, error->text);
    else if (status == ESP_UNKNOWN_PROBLEM || status == ESP_NO_SERVER)
        snprintf(system->note, sizeof system->note, "%s, but no server has %s", kind, definite);
    else
        return status;
    system->instead = definite;
    system->instead_why = status;
    if (!command->json)
        fprintf(system->people, "%s: solved with %s instead\n", system->note, general);
    return attempt(command, general, system, error);
}

static const char *describe_rhs(const struct command_line *command, const struct system *system)
{
    switch (system->rhs) {
    case RHS_OWN:
        return "in the same file";
    case RHS_FILE:
        return command->operands[1];
    default:
        return system->file.rhs.values ? "ones (--own-rhs takes the one in A's file)" : "ones";
    }
}

static void print_system(const struct command_line *command, const struct system *system)
{
    const struct matrix *a = &system->file.matrix;
    const char *structure = matrix_is_symmetric(a, NULL, NULL)
                                ? (a->is_complex ? "complex Hermitian" : "symmetric")
                                : (a->is_complex ? "complex, not Hermitian" : "unsymmetric");
    fprintf(system->people, "A         %s: %lld x %lld, %lld nonzeros, %s (%s)\n", command->operands[0],
            (long long)a->rows, (long long)a->cols, (long long)matrix_nonzeros(a), structure,
            matrix_format_name(system->file.format));
    fprintf(system->people, "B         %s\n", describe_rhs(command, system));
    fflush(system->people);
}

static void print_solution(const struct system *system, const char *output)
{
    fprintf(system->people, "Problem   %s: %s\n", system->problem, system->title);
    if (system->info)
        session_print(system->info, system->people);
    if (*system->warning)
        fprintf(stderr, "espalier solve: %s\n", system->warning);
    fprintf(system->people, "Backward error ||b - A x|| / (||A|| ||x|| + ||b||) = %.2e\n",
            system->backward_error);
    if (output) {
        if (strcmp(output, "-") != 0)
            printf("X         %lld x %lld, written to %s\n", (long long)system->x.rows,
                   (long long)system->x.cols, output);
        return;
    }
    printf("X (%lld x %lld):\n", (long long)system->x.rows, (long long)system->x.cols);
    matrix_print(&system->x, false);
}

/* Words for programs: a file, or one of these. */
static const char *rhs_word(const struct command_line *command, const struct system *system)
{
    return system->rhs == RHS_FILE ? command->operands[1] : system->rhs == RHS_OWN ? "own" : "ones";
}

static json_t *solution_json(const struct command_line *command, const struct system *system,
                             const char *output)
{
    json_t *value =
        json_pack("{s:s, s:s, s:I, s:I, s:s, s:s?, s:o, s:o, s:o, s:s}", "A", command->operands[0], "B",
                  rhs_word(command, system), "n", (json_int_t)system->x.rows, "nrhs",
                  (json_int_t)system->x.cols, "problem", system->problem, "instead_of", system->instead,
                  "instead_why", system->instead ? status_json(system->instead_why) : json_null(), "session",
                  system->info ? session_json(system->info) : json_null(), "backward_error",
                  command_json_real(system->backward_error), "warning", system->warning);
    if (value && output)
        json_object_set_new(value, "output", json_string(output));
    else if (value)
        json_object_set_new(value, "X", matrix_json(&system->x, false, false));
    return value;
}

static enum esp_status save_solution(const struct command_line *command, const struct system *system,
                                     const char *path, struct esp_error *error)
{
    const struct matrix_format *format;
    const struct matrix_file file = matrix_as_file(&system->x);
    enum esp_status status = values_format(command, &format, error);
    return status == ESP_OK ? matrix_save(path, &file, format, error) : status;
}

static enum exit_code report(const struct command_line *command, struct system *system)
{
    struct esp_error error = {0};
    const char *output = command_option_value(command, "output");
    if (matrix_backward_error(&system->file.matrix, &system->x, &system->b, &system->backward_error,
                              &error) != ESP_OK)
        return command_fail(command, &error);
    condition_look(constraints_bound(command), &system->file.matrix, false, system->warning);
    if (output && save_solution(command, system, output, &error) != ESP_OK)
        return command_fail(command, &error);
    if (command->json)
        return command_json(solution_json(command, system, output));
    print_solution(system, output);
    return command_flush();
}

/* What cannot be written should not be computed first. */
static enum exit_code check_output(const struct command_line *command, struct system *system)
{
    struct esp_error error = {0};
    const char *output = command_option_value(command, "output");
    const struct matrix_format *format;
    if (values_format(command, &format, &error) != ESP_OK)
        return command_fail(command, &error);
    bool takes_stdout = output && strcmp(output, "-") == 0;
    system->people = takes_stdout ? stderr : stdout;
    if (command->json && takes_stdout)
        return command_usage(command, "--json and '-o -' want both standard output");
    if (output && !format && matrix_check_ending(output, &error) != ESP_OK) {
        error_prefix(&error, "-o");
        return command_fail(command, &error);
    }
    return output && command_check_output(output, &error) != ESP_OK ? command_fail(command, &error)
                                                                    : EXIT_DONE;
}

static enum exit_code solve_and_report(const struct command_line *command, struct system *system)
{
    struct esp_error error = {0};
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    if (!command->json)
        print_system(command, system);
    if (solve(command, system, &error) != ESP_OK)
        code = error.status == ESP_NOT_FOUND ? (command_fail(command, &error), EXIT_UNREACHABLE)
                                             : command_fail(command, &error);
    else
        code = report(command, system);
    grpc_finalize();
    return code;
}

enum exit_code verb_solve(const struct command_line *command)
{
    struct esp_error error = {0};
    struct system system = {0};
    enum exit_code code = check_output(command, &system);
    if (code == EXIT_DONE && (load_a(command->operands[0], &system, &error) != ESP_OK ||
                              load_b(command, &system, &error) != ESP_OK))
        code = command_fail(command, &error);
    if (code == EXIT_DONE) {
        session_catch_signals();
        code = solve_and_report(command, &system);
    }
    system_clear(&system);
    session_end_by_signal();
    return code;
}
