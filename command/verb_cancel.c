/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier cancel: stops jobs.
 */
#include "config.h"

#include "command/jobs.h"
#include "command/verbs.h"

#include <stdio.h>
#include <string.h>

static enum exit_code cancel(const struct command_line *command, const struct esp_job *job)
{
    struct esp_job_state state = {0};
    if (esp_job_cancel(job) != ESP_OK)
        return jobs_fail(command);
    if (esp_job_look(job, 0, &state) == ESP_OK && job_has_ended(&state) &&
        strcmp(state.state, "cancelled") != 0) {
        struct esp_error error;
        error_set(&error, ESP_FAILED, "%s was not cancelled: it had ended (%s)", job->id, state.state);
        return command_fail(command, &error);
    }
    command_progress(command, "%s is cancelled", job->id);
    return EXIT_DONE;
}

enum exit_code verb_cancel(const struct command_line *command)
{
    enum exit_code code = jobs_each(command, cancel);
    if (command->json && code == EXIT_DONE)
        return command_json(json_pack("{s:i}", "cancelled", command->n_operands));
    return code;
}
