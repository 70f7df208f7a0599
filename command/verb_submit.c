/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier submit: a call that goes on without the command.
 */
#include "config.h"

#include "command/bar.h"
#include "command/call_abstract.h"
#include "command/constraints.h"
#include "command/jobs.h"
#include "command/left_note.h"
#include "command/problem_verb.h"
#include "command/session.h"
#include "command/verbs.h"
#include "command/waiting.h"

static void on_sent(void *arg, double fraction)
{
    bar_draw(arg, fraction, "arguments sent");
}

static enum exit_code tell(const struct command_line *command, const struct esp_job *job)
{
    if (command->json)
        return command_json(json_pack("{s:s, s:s, s:s, s:s, s:o}", "id", job->id, "problem",
                                      job->problem->name, "server", job->server, "address", job->address,
                                      "data", session_data_json(job->data, job->n_data)));
    puts(job->id);
    return command_flush();
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
        status = values_reading(command, &values->reading, &error);
    if (status == ESP_OK)
        status = session_look_begin(command, &values->look_ns, &error);
    session_reading(true);
    for (int i = 1; i < command->n_operands && status == ESP_OK; i++) {
        waiting_begin_argument(command->verb->name, command->operands[i]);
        status = values_assign(values, command->operands[i], &error);
        waiting_end();
    }
    session_reading(false);
    session_look_end(values->look_ns);
    const char *leave = command_option_value(command, "leave");
    if (status == ESP_OK && leave)
        status = values_leave(values, leave, true, &error);
    if (status == ESP_OK)
        status = values_prepare(values, &error);
    if (status != ESP_OK)
        return problem_fail(command, problem, &error);
    grpc_function_handle_t handle;
    enum exit_code code = session_handle(command, problem->name, &handle);
    if (code != EXIT_DONE)
        return code;
    if (session_time_left(command, &options.deadline_s, &error) != ESP_OK) {
        grpc_function_handle_destruct(&handle);
        return command_fail(command, &error);
    }
    struct esp_job *job = NULL;
    bar_init(&bar);
    status = esp_job_submit(&handle, values->arguments, problem->n_arguments, &options, 1, &job);
    if (status != ESP_OK)
        error = *esp_last_error();
    bar_clear(&bar);
    grpc_function_handle_destruct(&handle);
    if (status != ESP_OK)
        return problem_fail(command, problem, &error);
    const struct esp_session_info left = {.id = job->id, .data = job->data, .n_data = job->n_data};
    if (leave && left_note_write(&left, &error) != ESP_OK)
        code = command_fail(command, &error);
    const enum exit_code told = tell(command, job);
    esp_job_free(job);
    return code == EXIT_DONE ? told : code;
}

enum exit_code verb_submit(const struct command_line *command)
{
    return problem_verb(command, submit,
                        command_option_value(command, "leave") ? refuse_to_leave : submit_abstract);
}
