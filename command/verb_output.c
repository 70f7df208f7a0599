/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier output: what a job has printed, so far or until its end.
 */
#include "config.h"

#include "command/jobs.h"
#include "command/verbs.h"

#include <inttypes.h>
#include <stdio.h>

#define PATIENCE_S 1.0

/* All that there is now. False: the library has said why not. */
static bool print_fresh(const struct esp_job *job, double patience_s, uint64_t *position)
{
    static char text[65536];
    size_t length;
    do {
        uint64_t before = *position;
        if (esp_job_output(job, patience_s, position, text, sizeof text, &length) != ESP_OK)
            return false;
        if (*position - before > length)
            fprintf(stderr, "[%" PRIu64 " bytes of output are lost]\n", *position - before - length);
        fwrite(text, 1, length, stdout);
        patience_s = 0;
    } while (length > 0);
    fflush(stdout);
    return true;
}

static enum exit_code output(const struct command_line *command, const struct esp_job *job)
{
    bool follow = command_option_value(command, "follow") != NULL;
    uint64_t position = 0;
    struct esp_job_state state;
    do { /* asked before the output is, so that nothing is left when it has ended */
        state = (struct esp_job_state){0};
        if (esp_job_look(job, 0, &state) != ESP_OK ||
            !print_fresh(job, follow && !job_has_ended(&state) ? PATIENCE_S : 0, &position))
            return jobs_fail(command);
    } while (follow && !job_has_ended(&state) && !ferror(stdout));
    return command_flush();
}

enum exit_code verb_output(const struct command_line *command)
{
    return jobs_each(command, output);
}
