/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier call: one call of any problem.
 */
#include "config.h"

#include "command/bound_forecast.h"
#include "command/call_abstract.h"
#include "command/constraints.h"
#include "command/left_note.h"
#include "command/overflow.h"
#include "command/printing.h"
#include "command/problem_verb.h"
#include "command/session.h"
#include "command/verbs.h"
#include "command/waiting.h"
#include "core/values/values_storage.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What cannot be written should not be computed first. */
static enum esp_status save_to(struct values *values, const char *word, struct esp_error *error)
{
    const char *path = strchr(word, '=');
    enum esp_status status = values_save_to(values, word, error);
    bool datum = path && values_is_data(path + 1);
    return status == ESP_OK && path && !datum ? command_check_output(path + 1, error) : status;
}

static enum esp_status read_arguments(const struct command_line *command, struct values *values,
                                      struct esp_error *error)
{
    values->as_json = command->json;
    enum esp_status status = values_format(command, &values->format, error);
    if (status == ESP_OK)
        status = session_look_begin(command, &values->look_ns, error);
    if (status == ESP_OK)
        status = values_reading(command, &values->reading, error);
    session_reading(true);
    for (int i = 1; i < command->n_operands && status == ESP_OK; i++) {
        waiting_begin_argument(command->verb->name, command->operands[i]);
        status = values_assign(values, command->operands[i], error);
        waiting_end();
    }
    session_reading(false);
    session_look_end(values->look_ns);
    for (int i = 0; i < command->n_options && status == ESP_OK; i++)
        if (strcmp(command->options[i].name, "output") == 0)
            status = save_to(values, command->options[i].value, error);
    const char *leave = command_option_value(command, "leave");
    if (status == ESP_OK && leave)
        status = values_leave(values, leave, false, error);
    return status == ESP_OK ? values_prepare(values, error) : status;
}

/* How to name in orders what a session has left. */
static void print_left(const struct values *values, const struct esp_session_info *info)
{
    printf("session = session:%s\n", info->id);
    for (size_t i = 0; i < info->n_data; i++) {
        const struct esp_session_datum *datum = &info->data[i];
        bool is_printed = datum->side == ESP_SESSION_OUTPUTS && values->slots[datum->position].is_kept;
        if (!is_printed)
            printf("%s (%s) = data:%s\n", datum->argument,
                   datum->side == ESP_SESSION_INPUTS ? "input" : "output", datum->id);
    }
}

/* `unknown`: why there is no forecast, though it was asked for. */
static enum exit_code show(const struct command_line *command, const struct values *values,
                           const char *warning, const struct esp_session_info *info,
                           const struct esp_error *unknown)
{
    struct esp_error error = {0};
    bool leaves = info && command_option_value(command, "leave");
    if (!command->json && *warning)
        fprintf(stderr, "%s: %s\n", values->problem->name, warning);
    if (!command->json && info)
        session_print_note(info, values->problem->name);
    if (!command->json)
        values_warn(values, stderr);
    if (values_write(values, &error) != ESP_OK || (leaves && left_note_write(info, &error) != ESP_OK))
        return command_fail(command, &error);
    if (command->json)
        return command_json(json_pack("{s:o, s:s, s:o}", "outputs", values_json(values), "warning", warning,
                                      "session", info ? session_json(info) : json_null()));
    if (info && command_option_value(command, "verbose"))
        session_print(info, stdout);
    if (info && command_option_value(command, "verbose") && unknown->status != ESP_OK)
        printf("Forecast  none: %s\n", unknown->text);
    if (leaves)
        print_left(values, info);
    values_print(values);
    return command_flush();
}

/* ---- while it runs, on standard error ---- */

struct watching {
    bool output, bar, drawn;
    int percent;
    struct printing printing;
};

static void clear_bar(struct watching *watching)
{
    if (watching->drawn)
        fputs("\r\033[K", stderr);
    watching->drawn = false;
}

static void draw_bar(struct watching *watching)
{
    static const char full[] = "########################################";
    if (!watching->bar || watching->percent < 0 || watching->printing.within)
        return;
    int width = watching->percent * 40 / 100;
    fprintf(stderr, "\r[%.*s%*s] %3d %%", width, full, 40 - width, "", watching->percent);
    fflush(stderr);
    watching->drawn = true;
}

static void on_output(void *arg, const char *text, size_t length)
{
    struct watching *watching = arg;
    if (!watching->output)
        return;
    clear_bar(watching);
    printing_put(&watching->printing, text, length);
    draw_bar(watching);
}

static void on_progress(void *arg, double fraction)
{
    struct watching *watching = arg;
    int percent = (int)(fraction * 100);
    if (percent == watching->percent)
        return;
    watching->percent = percent;
    if (watching->bar) {
        draw_bar(watching);
    } else if (watching->output) {
        printing_end(&watching->printing);
        fprintf(stderr, "%d %% done\n", percent);
    }
}

static bool wants_forecast(const struct command_line *command)
{
    return command->json || command_option_value(command, "verbose");
}

static enum exit_code call(const struct command_line *command, const struct esp_problem *problem,
                           struct values *values)
{
    struct esp_error error = {0};
    struct esp_call_options options = {0};
    grpc_function_handle_t handle;
    struct constraint_words words;
    if (session_timeout(command, &options.deadline_s, &error) != ESP_OK ||
        constraints_read(command, &words, &options, &error) != ESP_OK)
        return command_fail(command, &error);
    if (read_arguments(command, values, &error) != ESP_OK)
        return problem_fail(command, problem, &error);
    enum exit_code code = session_handle(command, problem->name, &handle);
    if (code != EXIT_DONE)
        return code;
    if (session_time_left(command, &options.deadline_s, &error) != ESP_OK) {
        grpc_function_handle_destruct(&handle);
        return command_fail(command, &error);
    }
    struct esp_session_info *info = NULL;
    struct watching watching = {.output = command_option_value(command, "follow") != NULL,
                                .bar = isatty(STDERR_FILENO),
                                .percent = -1};
    options.follow = watching.output || watching.bar;
    options.output = on_output;
    options.progress = on_progress;
    options.arg = &watching;
    char warning[OVERFLOW_TEXT] = "";
    const bool finite = overflow_inputs_are_finite(values);
    struct bound_forecast bound;
    bound_forecast_ask(&bound, command, wants_forecast(command), problem->name, values->arguments,
                       problem->n_arguments);
    enum esp_status status = esp_call(&handle, values->arguments, problem->n_arguments, &options, &info);
    clear_bar(&watching);
    printing_end(&watching.printing);
    if (status != ESP_OK) {
        error = *esp_last_error();
        code = problem_fail(command, problem, &error);
    } else if (values_cut(values, &error) != ESP_OK) {
        code = command_fail(command, &error);
    } else {
        if (finite)
            overflow_look(values, warning);
        values_look_at_kept(values);
        if (info)
            bound_forecast_tell(&bound, info);
        code = show(command, values, warning, info, &bound.why);
    }
    bound_forecast_clear(&bound);
    esp_session_info_free(info);
    grpc_function_handle_destruct(&handle);
    return code;
}

enum exit_code verb_call(const struct command_line *command)
{
    return problem_verb(command, call,
                        command_option_value(command, "leave") ? refuse_to_leave : call_abstract);
}
