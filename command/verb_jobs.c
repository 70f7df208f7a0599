/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier jobs: how the jobs of the user's list stand, asked of their servers.
 */
#include "config.h"

#include "command/jobs.h"
#include "command/session.h"
#include "command/table.h"
#include "command/verbs.h"
#include "util/error.h"

#include <string.h>
#include <time.h>

/* One job and what its server says of it, or why nothing. */
struct listed {
    struct esp_job *job;
    struct esp_job_state state;
    struct esp_error error;
};

/* Nobody answers for its server, which may be gone for ever, with the whole platform. */
static bool is_unreachable(const struct listed *listed)
{
    const enum esp_status status = listed->error.status;
    return status == ESP_UNREACHABLE || status == ESP_TIMEOUT || status == ESP_MAYBE;
}

static const char *state_of(const struct listed *listed)
{
    if (listed->error.status == ESP_OK)
        return listed->state.state;
    if (listed->state.state) /* cancelled, whatever has become of its server */
        return listed->state.state;
    return listed->error.status == ESP_NOT_FOUND ? "lost"
           : is_unreachable(listed)              ? "unreachable"
                                                 : "unknown";
}

static const char *date_text(double seconds, char *text, size_t size)
{
    time_t when = (time_t)seconds;
    struct tm parts;
    if (!localtime_r(&when, &parts) || strftime(text, size, "%F %T", &parts) == 0)
        *text = 0;
    return text;
}

static bool has_ended(const struct listed *listed)
{
    return listed->error.status == ESP_OK && job_has_ended(&listed->state);
}

static void add_row(struct table *table, const struct listed *listed)
{
    char text[QUANTITY_TEXT], date[32];
    const struct esp_job_state *state = &listed->state;
    bool known = listed->error.status == ESP_OK;
    table_cell(table, "%s", listed->job->id);
    table_cell(table, "%s", listed->job->problem->name);
    table_cell(table, "%s", listed->job->server);
    table_cell(table, "%s", state_of(listed));
    if (known && strcmp(state->state, "queued") == 0)
        table_cell(table, "%u ahead", state->ahead);
    else if (known && !has_ended(listed) && state->progress >= 0)
        table_cell(table, "%.0f %%", 100 * state->progress);
    else
        table_cell(table, "%s", "");
    table_cell(table, "%s", date_text(listed->job->submitted_s, date, sizeof date));
    table_cell(table, "%s", has_ended(listed) ? quantity_seconds(state->compute_s, text) : "");
    table_cell(table, "%s", has_ended(listed) ? quantity_seconds(state->kept_s, text) : "");
}

static json_t *listed_json(const struct listed *listed)
{
    const struct esp_job *job = listed->job;
    const struct esp_job_state *state = &listed->state;
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:f, s:s}", "id", job->id, "problem", job->problem->name,
                             "server", job->server, "address", job->address, "submitted", job->submitted_s,
                             "state", state_of(listed));
    if (listed->error.status != ESP_OK) {
        json_t *error = status_json(listed->error.status);
        json_object_set_new(error, "text", command_json_text(listed->error.text));
        json_object_set_new(json, "error", error);
        return json;
    }
    json_object_set_new(json, "ahead", json_integer(state->ahead));
    json_object_set_new(json, "progress", state->progress >= 0 ? json_real(state->progress) : json_null());
    json_object_set_new(json, "wait_s", json_real(state->wait_s));
    json_object_set_new(json, "transfer_s", json_real(state->transfer_s));
    json_object_set_new(json, "queue_s", json_real(state->queue_s));
    json_object_set_new(json, "compute_s", json_real(state->compute_s));
    json_object_set_new(json, "forecast_s", json_real(state->forecast_s));
    json_object_set_new(json, "kept_s", json_real(state->kept_s));
    if (job_has_ended(state) && state->error.status != ESP_OK) {
        json_t *error = status_json(state->error.status);
        json_object_set_new(error, "text", command_json_text(state->error.text));
        json_object_set_new(json, "error", error);
    }
    return json;
}

/* Why those are as they are that are not well. */
static void print_reasons(const struct listed *listed, size_t n)
{
    bool some_unreachable = false;
    for (size_t i = 0; i < n; i++)
        some_unreachable |= is_unreachable(&listed[i]);
    for (size_t i = 0; i < n; i++) {
        const struct esp_error *error =
            listed[i].error.status != ESP_OK ? &listed[i].error : &listed[i].state.error;
        if (error->status == ESP_OK || error->status == ESP_PENDING)
            continue;
        bool named = strstr(error->text, listed[i].job->id) != NULL;
        printf("%s%s%s\n", named ? "" : listed[i].job->id, named ? "" : ": ", error->text);
    }
    if (some_unreachable)
        puts("'espalier jobs --forget JOB' takes a job off the list whose server will not come back.");
}

static enum exit_code show(const struct command_line *command, const struct listed *listed, size_t n)
{
    if (command->json) {
        json_t *list = json_array();
        for (size_t i = 0; i < n; i++)
            json_array_append_new(list, listed_json(&listed[i]));
        return command_json(list);
    }
    static const char *const headings[] = {"JOB",       "PROBLEM",   "SERVER",    "STATE",
                                           ">PROGRESS", "SUBMITTED", ">COMPUTED", ">KEPT FOR"};
    struct table table;
    if (n == 0) {
        puts("no jobs");
        return command_flush();
    }
    table_init(&table, 8, headings);
    for (size_t i = 0; i < n; i++)
        add_row(&table, &listed[i]);
    table_print(&table, 0, stdout);
    print_reasons(listed, n);
    return command_flush();
}

/* Off the list it is in any case: who names a job whose server is gone wants just that. */
static enum exit_code forget_one(const struct command_line *command, const struct esp_job *job,
                                 bool unreachable, int *forgotten)
{
    if (esp_job_forget(job) == ESP_OK) {
        command_progress(command, "%s is forgotten", job->id);
    } else if (unreachable) {
        fprintf(stderr, "espalier jobs: warning: %s\n", esp_last_error()->text);
    } else {
        return jobs_fail(command);
    }
    ++*forgotten;
    return EXIT_DONE;
}

/* Named ones are forgotten whatever they are; else what nobody can fetch. */
static enum exit_code forget(const struct command_line *command, const struct listed *listed, size_t n)
{
    enum exit_code worst = EXIT_DONE;
    int forgotten = 0;
    for (size_t i = 0; i < n; i++) {
        bool failed = listed[i].error.status == ESP_NOT_FOUND ||
                      (has_ended(&listed[i]) && listed[i].state.error.status != ESP_OK);
        if (command->n_operands == 0 && !failed)
            continue;
        const enum exit_code code =
            forget_one(command, listed[i].job, failed || is_unreachable(&listed[i]), &forgotten);
        worst = worst == EXIT_DONE ? code : worst;
    }
    if (command->json && worst == EXIT_DONE)
        return command_json(json_pack("{s:i}", "forgotten", forgotten));
    if (forgotten == 0 && worst == EXIT_DONE)
        command_progress(command, "no job is forgotten: none has failed or is lost");
    return worst;
}

/* What has been found of the server of `one`, when it was unreachable for a job before: to wait for it once
 * is enough. */
static const struct esp_error *silence_before(const struct listed *listed, size_t n, const struct listed *one)
{
    for (size_t i = 0; i < n; i++)
        if (is_unreachable(&listed[i]) && strcmp(listed[i].job->address, one->job->address) == 0)
            return &listed[i].error;
    return NULL;
}

static void look(const struct listed *listed, size_t n, struct listed *one)
{
    const struct esp_error *silence = silence_before(listed, n, one);
    if (silence)
        error_set(&one->error, silence->status, "server %s at %s does not answer either", one->job->server,
                  one->job->address);
    else if (esp_job_look(one->job, 0, &one->state) != ESP_OK)
        one->error = *esp_last_error();
}

/* A record that cannot be read is told of, and the others are shown. */
static size_t look_at_all(const struct command_line *command, const char *const *ids, size_t n,
                          struct listed *listed, enum exit_code *code)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        struct listed *one = &listed[found];
        *one = (struct listed){0};
        if (esp_job_find(ids[i], &one->job) != ESP_OK) {
            *code = jobs_fail(command);
            continue;
        }
        look(listed, found, one);
        found++;
    }
    return found;
}

enum exit_code verb_jobs(const struct command_line *command)
{
    const char *const *ids = NULL;
    size_t n = (size_t)command->n_operands;
    enum exit_code found = EXIT_DONE, code = session_within(command, session_open_for_jobs(command));
    if (code != EXIT_DONE)
        return code;
    if (n == 0 && esp_job_list(&ids, &n) != ESP_OK)
        code = jobs_fail(command);
    struct listed *listed = code == EXIT_DONE ? calloc(n + 1, sizeof *listed) : NULL;
    if (listed) {
        n = look_at_all(command, ids ? ids : (const char *const *)command->operands, n, listed, &found);
        /* With names that are wrong, standard output has the error already. */
        if (found == EXIT_DONE || (!command->json && n > 0))
            code = command_option_value(command, "forget") ? forget(command, listed, n)
                                                           : show(command, listed, n);
        for (size_t i = 0; i < n; i++)
            esp_job_free(listed[i].job);
    }
    free(listed);
    esp_job_list_free(ids);
    grpc_finalize();
    return found != EXIT_DONE ? found : code;
}
