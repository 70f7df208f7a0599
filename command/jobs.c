/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/jobs.h"
#include "command/session.h"
#include "util/clock.h"

#include <math.h>
#include <time.h>

#define SILENCE_S 60.0 /* with a server that does not answer, or for one that takes its job */

enum exit_code jobs_exit_code(enum esp_status status)
{
    return status == ESP_NOT_FOUND ? EXIT_GONE : command_exit_code(status);
}

enum exit_code jobs_fail(const struct command_line *command)
{
    struct esp_error error = *esp_last_error();
    command_fail(command, &error);
    return jobs_exit_code(error.status);
}

bool job_has_ended(const struct esp_job_state *state)
{
    return state->error.status != ESP_PENDING;
}

bool jobs_may_come_back(struct job_absence *absence, double pause_s)
{
    const int64_t now_ns = clock_now_ns(&clock_system);
    if (absence->since_ns == 0)
        absence->since_ns = now_ns;
    if (esp_last_error()->status != ESP_UNREACHABLE ||
        (double)(now_ns - absence->since_ns) / NS_PER_S >= SILENCE_S)
        return false;
    const struct timespec pause = {.tv_sec = (time_t)pause_s,
                                   .tv_nsec = (long)((pause_s - floor(pause_s)) * 1e9)};
    nanosleep(&pause, NULL);
    return true;
}

enum exit_code jobs_each(const struct command_line *command,
                         enum exit_code (*run)(const struct command_line *command, const struct esp_job *job))
{
    enum exit_code worst = session_open_for_jobs(command);
    if (worst != EXIT_DONE)
        return worst;
    for (int i = 0; i < command->n_operands; i++) {
        struct esp_job *job;
        enum exit_code code =
            esp_job_find(command->operands[i], &job) == ESP_OK ? run(command, job) : jobs_fail(command);
        esp_job_free(job);
        if (worst == EXIT_DONE)
            worst = code;
    }
    grpc_finalize();
    return worst;
}
