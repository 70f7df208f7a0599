/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/command/problem_verb.h"
#include "client/command/session.h"
#include "client/signature.h"

#include <stdio.h>

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
    if (esp_problem_describe(command->operands[0], &problem) != ESP_OK)
        code = session_fail(command);
    else if (values_init(&values, problem, &error) != ESP_OK)
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

enum exit_code problem_fail(const struct command_line *command, const struct esp_problem *problem,
                            const struct esp_error *error)
{
    enum exit_code code = command_fail(command, error);
    if (error->status == ESP_INVALID) {
        fputs("The problem is ", stderr);
        signature_print(problem, stderr);
    }
    return code;
}
