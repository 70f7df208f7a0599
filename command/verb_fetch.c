/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier fetch: the results of a job, as a call would have shown or saved them.
 */
#include "config.h"

#include "command/bar.h"
#include "command/jobs.h"
#include "command/left_note.h"
#include "command/session.h"
#include "command/values.h"
#include "command/verbs.h"
#include "util/clock.h"

#include <string.h>

#define PATIENCE_S 0.5

static enum esp_status take_options(const struct command_line *command, struct values *values,
                                    struct esp_error *error)
{
    values->as_json = command->json;
    enum esp_status status = values_format(command, &values->format, error);
    if (status == ESP_OK)
        status = session_look_begin(command, &values->look_ns, error);
    for (int i = 0; i < command->n_options && status == ESP_OK; i++) {
        const char *word = command->options[i].value, *path = strchr(word, '=');
        if (strcmp(command->options[i].name, "input") == 0)
            status = values_assign(values, word, error);
        if (strcmp(command->options[i].name, "output") != 0)
            continue;
        status = values_save_to(values, word, error);
        if (status == ESP_OK && path)
            status = command_check_output(path + 1, error);
    }
    session_look_end(values->look_ns);
    return status;
}

/* EXIT_DONE: it is done; else the message has been printed. A job that failed stays in the list: what it has
 * printed may tell why. */
static enum exit_code wait_for(const struct command_line *command, const struct esp_job *job)
{
    bool patient = command_option_value(command, "wait") != NULL, late = false;
    double left_s = 0;
    struct esp_job_state state = {.error.status = ESP_PENDING};
    struct esp_error error = {0};
    struct job_absence absence = {0};
    struct bar bar;
    if (session_time_left(command, &left_s, &error) != ESP_OK)
        return command_fail(command, &error);
    const int64_t until_ns =
        left_s > 0 ? clock_now_ns(&clock_system) + (int64_t)(left_s * NS_PER_S) : CLOCK_NEVER;
    const double patience_s = left_s > 0 && left_s / 4 < PATIENCE_S ? left_s / 4 : PATIENCE_S;
    bar_init(&bar);
    do {
        late = clock_now_ns(&clock_system) >= until_ns;
        if (esp_job_look(job, patient && !late ? patience_s : 0, &state) != ESP_OK) {
            if (patient && !late && jobs_may_come_back(&absence, patience_s))
                continue;
            bar_clear(&bar);
            return jobs_fail(command);
        }
        absence = (struct job_absence){0};
        if (state.progress >= 0)
            bar_draw(&bar, state.progress, "%s", state.state);
    } while (patient && !late && !job_has_ended(&state));
    bar_clear(&bar);
    if (state.error.status == ESP_OK)
        return EXIT_DONE;
    const bool failed = job_has_ended(&state);
    if (failed)
        error_set(&error, state.error.status, "%s on %s: %s", job->problem->name, job->server,
                  state.error.text);
    else if (patient)
        error_set(&error, ESP_TIMEOUT, "job %s has not ended in time: it is %s, and goes on", job->id,
                  state.state);
    else
        error_set(&error, ESP_PENDING, "job %s has not ended: it is %s; --wait waits for it", job->id,
                  state.state);
    enum exit_code code = command_fail(command, &error);
    if (failed && !command->json)
        fprintf(stderr,
                "'espalier output %s' shows what it has printed, 'espalier jobs --forget %s' forgets it\n",
                job->id, job->id);
    return code;
}

static enum exit_code show(const struct command_line *command, struct values *values,
                           const struct esp_job *job, const struct esp_session_info *info)
{
    struct esp_error error = {0};
    if (!command->json)
        session_print_note(info, job->problem->name);
    if (values_cut(values, &error) != ESP_OK || values_write(values, &error) != ESP_OK)
        return command_fail(command, &error);
    if (command->json)
        return command_json(json_pack("{s:s, s:s, s:o}", "id", job->id, "note", session_note(info), "outputs",
                                      values_json(values)));
    values_print(values);
    return command_flush();
}

/* What the job has left on servers goes by its id from now on, its results too. */
static enum esp_status note_left(const struct esp_job *job, const struct esp_session_info *info,
                                 struct esp_error *error)
{
    bool any = false;
    for (size_t i = 0; i < info->n_data; i++)
        any |= info->data[i].own;
    const struct esp_session_info left = {.id = job->id, .data = info->data, .n_data = info->n_data};
    return any ? left_note_write(&left, error) : ESP_OK;
}

static enum exit_code receive(const struct command_line *command, struct values *values,
                              const struct esp_job *job)
{
    struct esp_error error = {0};
    grpc_sessionid_t session;
    struct esp_session_info *info;
    struct esp_call_options options = {0};
    if (session_time_left(command, &options.deadline_s, &error) != ESP_OK ||
        values_of_job(values, job, &error) != ESP_OK)
        return command_fail(command, &error);
    if (esp_job_attach(job, values->arguments, job->n_arguments, &options, &session) != ESP_OK ||
        grpc_wait(session) != GRPC_NO_ERROR || esp_session_info_get(session, &info) != ESP_OK)
        return jobs_fail(command);
    const enum exit_code code = note_left(job, info, &error) == ESP_OK ? show(command, values, job, info)
                                                                       : command_fail(command, &error);
    esp_session_info_free(info);
    return code;
}

static enum exit_code fetch(const struct command_line *command, const struct esp_job *job)
{
    struct values values = {0};
    struct esp_error error = {0};
    enum esp_status status = values_init(&values, job->problem, &values_library, &error);
    values.others = job->names;
    values.n_others = job->n_names;
    if (status != ESP_OK || take_options(command, &values, &error) != ESP_OK) {
        values_clear(&values);
        return command_fail(command, &error);
    }
    const int64_t begun_ns = clock_now_ns(&clock_system);
    enum exit_code code = wait_for(command, job);
    session_called(begun_ns);
    if (code == EXIT_DONE)
        code = receive(command, &values, job);
    if (code == EXIT_DONE && !command_option_value(command, "keep") && esp_job_forget(job) != ESP_OK)
        fprintf(stderr, "espalier fetch: %s\n", esp_last_error()->text);
    values_clear(&values);
    return code;
}

enum exit_code verb_fetch(const struct command_line *command)
{
    session_catch_signals();
    enum exit_code code = jobs_each(command, fetch);
    session_end_by_signal();
    return code;
}
