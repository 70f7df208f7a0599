/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier solve: a system of linear equations from files, and how good the solution is.
 */
#include "config.h"

#include "core/values/values_storage.h"
#include "command/session.h"
#include "command/steps_view.h"
#include "command/system.h"
#include "command/table.h"
#include "command/values.h"
#include "command/verbs.h"
#include "util/clock.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

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
    const char *structure = matrix_is_symmetric(a, DBL_EPSILON, NULL, NULL)
                                ? (a->is_complex ? "complex Hermitian" : "symmetric")
                                : (a->is_complex ? "complex, not Hermitian" : "unsymmetric");
    fprintf(system->people, "A         %s: %lld x %lld, %lld nonzeros, %s (%s)\n", command->operands[0],
            (long long)a->rows, (long long)a->cols, (long long)matrix_nonzeros(a), structure,
            matrix_format_name(system->file.format));
    fprintf(system->people, "B         %s\n", describe_rhs(command, system));
    fflush(system->people);
}

/* How the solution was made. */
struct way {
    const char *rule, *weighed;                  /* of an abstract problem; or "" */
    const struct esp_session_info *const *infos; /* the sessions, in their order */
    size_t n;
    const struct esp_session_info *last; /* or NULL */
    bool is_checked;
    double backward_error;
};

static struct way way_of(const struct system *system)
{
    const struct esp_run_info *run = system->run ? esp_run_info(system->run) : NULL;
    if (!run)
        return (struct way){.rule = "",
                            .weighed = "",
                            .infos = (const struct esp_session_info *const *)&system->info,
                            .n = system->info ? 1 : 0,
                            .last = system->info};
    return (struct way){.rule = run->rule,
                        .weighed = run->weighed,
                        .infos = run->steps,
                        .n = run->n_steps,
                        .last = run->n_steps > 0 ? run->steps[run->n_steps - 1] : NULL,
                        .is_checked = run->is_checked,
                        .backward_error = run->backward_error};
}

/* -v: the rule that was taken, what was weighed, and each step. */
static void print_way(const struct system *system)
{
    const struct way way = way_of(system);
    if (*way.rule)
        fprintf(system->people, "Rule      %s\n", way.rule);
    if (*way.weighed)
        fprintf(system->people, "Weighed   %s\n", way.weighed);
    steps_print(way.infos, way.n, system->people);
}

static void print_solution(const struct system *system, bool verbose, const char *output)
{
    const struct way way = way_of(system);
    char text[4][QUANTITY_TEXT];
    if (*system->note)
        fprintf(system->people, "%s: solved with %s instead\n", system->note, system->problem);
    fprintf(system->people, "Problem   %s: %s\n", system->problem, system->title);
    if (verbose)
        print_way(system);
    else if (way.last)
        session_print(way.last, system->people);
    for (size_t i = 0; i < way.n; i++)
        session_print_note(way.infos[i], "espalier solve");
    fprintf(system->people,
            system->is_fit ? "No X solves the system; this one makes ||b - A x|| smallest\n"
                             "Backward error ||A^H (b - A x)|| / (||A^H|| (||A|| ||x|| + ||b||)) = %.2e\n"
                           : "Backward error ||b - A x|| / (||A|| ||x|| + ||b||) = %.2e\n",
            system->backward_error);
    fprintf(system->people, "Elapsed   %s: reading %s, solving %s, checking %s\n",
            quantity_seconds(system->read_s + system->solve_s + system->check_s, text[0]),
            quantity_seconds(system->read_s, text[1]), quantity_seconds(system->solve_s, text[2]),
            quantity_seconds(system->check_s, text[3]));
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

/* The first note of a session; "" when there is none. */
static const char *warning_of(const struct esp_session_info *const *infos, size_t n)
{
    const char *warning = "";
    for (size_t i = 0; i < n && !*warning; i++)
        warning = session_note(infos[i]);
    return warning;
}

static json_t *solution_json(const struct command_line *command, const struct system *system,
                             const char *output)
{
    const struct way way = way_of(system);
    json_t *value =
        json_pack("{s:o, s:o, s:I, s:I, s:s, s:s?, s:o, s:o, s:o, s:b, s:f, s:s, s:s, s:s, s:o}", "A",
                  command_json_text(command->operands[0]), "B", command_json_text(rhs_word(command, system)),
                  "n", (json_int_t)system->x.rows, "nrhs", (json_int_t)system->x.cols, "problem",
                  system->problem, "instead_of", *system->instead ? system->instead : NULL, "instead_why",
                  *system->instead ? status_json(system->instead_why) : json_null(), "session",
                  way.last ? session_json(way.last) : json_null(), "backward_error",
                  command_json_real(system->backward_error), "least_squares", system->is_fit, "elapsed_s",
                  system->read_s + system->solve_s + system->check_s, "warning", warning_of(way.infos, way.n),
                  "rule", way.rule, "weighed", way.weighed, "steps", steps_json(way.infos, way.n));
    if (value && output)
        json_object_set_new(value, "output", command_json_text(output));
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

/* The error of X as a least squares solution, where no solution of the system was found: a singular system
 * may have none. */
static enum esp_status check_fit(struct system *system, struct esp_error *error)
{
    double fit_error;
    enum esp_status status =
        matrix_fit_error(&system->file.matrix, &system->x, &system->b, &fit_error, error);
    system->is_fit = status == ESP_OK && fit_error <= system->tolerance;
    if (system->is_fit)
        system->backward_error = fit_error;
    return status;
}

/* ESP_INACCURATE: X does not solve the system. NaN is larger than what is expected, too. */
static enum esp_status check_solution(struct system *system, struct esp_error *error)
{
    const int64_t begun_ns = clock_now_ns(&clock_system);
    const struct way way = way_of(system);
    enum esp_status status = ESP_OK;
    if (way.is_checked)
        system->backward_error = way.backward_error;
    else
        status = matrix_backward_error(&system->file.matrix, &system->x, &system->b, &system->backward_error,
                                       error);
    if (status == ESP_OK && system->fits && !(system->backward_error <= system->tolerance))
        status = check_fit(system, error);
    system->check_s = (double)(clock_now_ns(&clock_system) - begun_ns) / 1e9;
    if (status != ESP_OK || system->backward_error <= system->tolerance)
        return status;
    return error_set(error, ESP_INACCURATE,
                     "%s: X does not solve the system: its backward error is %.2g, expected at most %.2g",
                     system->problem, system->backward_error, system->tolerance);
}

static enum exit_code report(const struct command_line *command, struct system *system)
{
    struct esp_error error = {0};
    const char *output = command_option_value(command, "output");
    if (check_solution(system, &error) != ESP_OK)
        return command_fail(command, &error);
    if (output && save_solution(command, system, output, &error) != ESP_OK)
        return command_fail(command, &error);
    if (command->json)
        return command_json(solution_json(command, system, output));
    print_solution(system, command_option_value(command, "verbose") != NULL, output);
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
    enum exit_code code = EXIT_DONE;
    if (!command->json)
        print_system(command, system);
    const int64_t begun_ns = clock_now_ns(&clock_system);
    enum esp_status status = system_solve(command, system, &error);
    system->solve_s = (double)(clock_now_ns(&clock_system) - begun_ns) / 1e9;
    if (status != ESP_OK)
        code = error.status == ESP_NOT_FOUND ? (command_fail(command, &error), EXIT_UNREACHABLE)
                                             : command_fail(command, &error);
    else
        code = report(command, system);
    return code;
}

/* Reads the files before the platform is looked for, except large ones, which are bounded by what it can
 * take. */
static enum exit_code load_and_open(const struct command_line *command, struct system *system)
{
    struct esp_error error = {0};
    const bool early = values_have_large_file(command);
    enum exit_code code = early ? session_open(command) : EXIT_DONE;
    if (code != EXIT_DONE)
        return code;
    if (system_load(command, system, &error) != ESP_OK)
        code = command_fail(command, &error);
    if (code != EXIT_DONE && early)
        grpc_finalize();
    if (code != EXIT_DONE)
        return code;
    session_catch_signals();
    return early ? EXIT_DONE : session_open(command);
}

enum exit_code verb_solve(const struct command_line *command)
{
    struct system system = {0};
    enum exit_code code = check_output(command, &system);
    for (int i = 0; code == EXIT_DONE && i < command->n_operands; i++)
        if (values_is_data(command->operands[i]))
            code =
                command_usage(command,
                              "expected a matrix file, found %s: with data the system is solved by 'espalier "
                              "call solve A=%s B=...'",
                              command->operands[i], i == 0 ? command->operands[i] : "...");
    if (code == EXIT_DONE)
        code = load_and_open(command, &system);
    if (code == EXIT_DONE) {
        code = solve_and_report(command, &system);
        grpc_finalize();
    }
    system_clear(&system);
    session_end_by_signal();
    return code;
}
