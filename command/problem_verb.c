/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/problem_verb.h"
#include "command/session.h"
#include "core/values/signature.h"

#include <stdio.h>
#include <string.h>

enum exit_code problem_verb(const struct command_line *command, problem_run *run,
                            problem_run_abstract *run_abstract)
{
    session_catch_signals();
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    struct esp_problem *problem = NULL;
    struct values values = {0};
    struct esp_error error = {0};
    if (session_describe(command, command->operands[0], &problem, &error) != ESP_OK)
        code = session_fail_with(command, &error);
    else if (values_init(&values, problem, &values_library, &error) != ESP_OK)
        code = command_fail(command, &error);
    else if (values.described->problems[0]->abstract)
        code = run_abstract(command, problem, run);
    else
        code = run(command, problem, &values);
    values_clear(&values);
    esp_problem_free(problem);
    grpc_finalize();
    session_end_by_signal();
    return code;
}

static bool names_kept(const struct command_line *command)
{
    for (int i = 1; i < command->n_operands; i++) {
        const char *equal = strchr(command->operands[i], '=');
        if (equal && (strncmp(equal + 1, "state:", 6) == 0 || strncmp(equal + 1, "data:", 5) == 0))
            return true;
    }
    return false;
}

enum exit_code problem_exit_code(const struct command_line *command, const struct esp_error *error)
{
    const struct esp_error *told = esp_last_error();
    const size_t all = strlen(error->text), own = strlen(told->text); /* with the argument in front */
    const enum exit_code code = command_exit_code(error->status);
    if (error->status != ESP_NOT_FOUND || told->status != ESP_NOT_FOUND || own > all ||
        strcmp(error->text + all - own, told->text) != 0)
        return code;
    return names_kept(command) ? EXIT_GONE : EXIT_UNREACHABLE;
}

enum exit_code problem_fail(const struct command_line *command, const struct esp_problem *problem,
                            const struct esp_error *error)
{
    const enum exit_code code = problem_exit_code(command, error);
    command_fail(command, error);
    if (error->status == ESP_INVALID && !session_interrupted()) {
        fputs("The problem is ", stderr);
        signature_print(problem, stderr);
        if (problem->signatures && !strstr(error->text, problem->signatures))
            fprintf(stderr, "Servers differ: %s.\n", problem->signatures);
    }
    return code;
}
