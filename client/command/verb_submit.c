/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier submit: a call that goes on without the command.
 */
#include "config.h"

#include "client/command/bar.h"
#include "client/command/call_abstract.h"
#include "client/command/constraints.h"
#include "client/command/jobs.h"
#include "client/command/problem_verb.h"
#include "client/command/session.h"

static void on_sent(void *arg, double fraction)
{
    bar_draw(arg, fraction, "arguments sent");
}

static enum exit_code submit(const struct command_line *command, const struct esp_problem *problem,
                             struct values *values)
{
    struct bar bar;
    struct esp_error error = {0};
    struct esp_call_options options = {.sent = on_sent, .arg = &bar};
    struct constraint_words words;
    enum esp_status status = session_timeout(command, &options.deadline_s, &error);
    if (status == ESP_OK)
        status = constraints_read(command, &words, &options, &error);
    if (status == ESP_OK)
        status = values_max_input(command, &values->max_input, &error);
    session_reading(true);
    for (int i = 1; i < command->n_operands && status == ESP_OK; i++)
        status = values_assign(values, command->operands[i], &error);
    session_reading(false);
    if (status == ESP_OK)
        status = values_prepare(values, &error);
    if (status != ESP_OK)
        return problem_fail(command, problem, &error);
    grpc_function_handle_t handle;
    enum exit_code code = session_handle(command, problem->name, &handle);
    if (code != EXIT_DONE)
        return code;
    struct esp_job *job = NULL;
    bar_init(&bar);
    status = esp_job_submit(&handle, values->arguments, problem->n_arguments, &options, 1, &job);
    if (status != ESP_OK)
        error = *esp_last_error();
    bar_clear(&bar);
    grpc_function_handle_destruct(&handle);
    if (status != ESP_OK)
        return problem_fail(command, problem, &error);
    if (command->json) {
        code = command_json(json_pack("{s:s, s:s, s:s, s:s}", "id", job->id, "problem", job->problem->name,
                                      "server", job->server, "address", job->address));
    } else {
        puts(job->id);
        code = command_flush();
    }
    esp_job_free(job);
    return code;
}

enum exit_code verb_submit(const struct command_line *command)
{
    return problem_verb(command, submit, submit_abstract);
}
