/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier forecast: what a call would take on each server, without making it; and a plot of a model.
 */
#include "config.h"

#include "client/command/constraints.h"
#include "client/command/forecast_grids.h"
#include "client/command/plot.h"
#include "client/command/session.h"
#include "client/command/table.h"
#include "fast.h"

#include <stdlib.h>
#include <string.h>

#define MOST_VALUES 64
#define MOST_NAME   64

struct words {
    char names[MOST_VALUES][MOST_NAME];
    struct fast_value values[MOST_VALUES];
    size_t n;
};

/* n=1000, uplo=U */
static enum esp_status read_word(const char *word, struct words *words, struct esp_error *error)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word || (size_t)(equals - word) >= MOST_NAME || words->n == MOST_VALUES)
        return error_set(error, ESP_INVALID, "expected NAME=VALUE, such as n=1000, found '%s'", word);
    struct fast_value *value = &words->values[words->n];
    char *name = words->names[words->n], *end;
    memcpy(name, word, (size_t)(equals - word));
    name[equals - word] = 0;
    value->name = name;
    value->value = strtod(equals + 1, &end);
    bool letter = equals[1] && !equals[2] && (equals[1] < '0' || equals[1] > '9');
    if (letter)
        value->value = equals[1];
    else if (end == equals + 1 || *end)
        return error_set(error, ESP_INVALID, "%s: expected a number or a letter, found '%s'", name,
                         equals + 1);
    words->n++;
    return ESP_OK;
}

static const char *ground_text(const struct fast_server *server)
{
    static const char *const texts[] = {"not measured: work over speed", "measured",
                                        "extrapolated beyond what was measured",
                                        "measured with other options"};
    return server->excluded                                        ? server->excluded
           : (size_t)server->ground < sizeof texts / sizeof *texts ? texts[server->ground]
                                                                   : "";
}

static enum exit_code print_servers(const struct fast_server *servers, size_t n)
{
    static const char *const headings[] = {"server", ">computation", ">\302\261", ">transfers",
                                           ">queue", ">total",       ">memory",   "by"};
    struct table table;
    char text[6][QUANTITY_TEXT];
    table_init(&table, 8, headings);
    for (size_t i = 0; i < n; i++) {
        const struct fast_server *server = &servers[i];
        table_cell(&table, "%s", server->server);
        if (server->excluded) {
            for (int k = 0; k < 6; k++)
                table_cell(&table, "%s", "");
            table_cell(&table, "excluded: %s", server->excluded);
            continue;
        }
        table_cell(&table, "%s", quantity_seconds(server->compute_s, text[0]));
        table_cell(&table, "%s", quantity_seconds(server->error_s, text[1]));
        table_cell(&table, "%s", quantity_seconds(server->transfer_s, text[2]));
        table_cell(&table, "%s", quantity_seconds(server->queue_s, text[3]));
        table_cell(&table, "%s", quantity_seconds(server->total_s, text[4]));
        table_cell(&table, "%s", quantity_bytes(server->memory_bytes, text[5]));
        table_cell(&table, "%s", ground_text(server));
    }
    table_print(&table, 0, stdout);
    return command_flush();
}

static json_t *server_json(const struct fast_server *server)
{
    if (server->excluded)
        return json_pack("{s:s, s:s}", "server", server->server, "excluded", server->excluded);
    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:s}", "server", server->server, "address",
                     server->address, "compute_s", server->compute_s, "error_s", server->error_s,
                     "transfer_s", server->transfer_s, "queue_s", server->queue_s, "total_s", server->total_s,
                     "memory_bytes", (json_int_t)server->memory_bytes, "by", ground_text(server));
}

static enum exit_code print_json(const struct fast_server *servers, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, server_json(&servers[i]));
    return command_json(list);
}

/* ---- abstract problems ---- */

static void step_row(struct table *table, const struct fast_step *step, bool first)
{
    char text[QUANTITY_TEXT];
    const double columns[] = {step->best.compute_s, step->best.error_s, step->best.transfer_s,
                              step->best.queue_s, step->best.total_s};
    table_cell(table, "%s", step->problem);
    table_cell(table, "%s", step->why ? "" : step->best.server);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        table_cell(table, "%s", step->why ? "" : quantity_seconds(columns[i], text));
    table_cell(table, "%s", step->why ? step->why : ground_text(&step->best));
    table_cell(table, "%s", first ? step->text : "");
}

static enum exit_code print_steps(const struct fast_step *steps, size_t n)
{
    static const char *const headings[] = {"problem", "server", ">computation", ">\302\261", ">transfers",
                                           ">queue",  ">total", "by",           "rule"};
    struct table table;
    table_init(&table, 9, headings);
    for (size_t i = 0; i < n; i++)
        step_row(&table, &steps[i], i == 0 || steps[i].rule != steps[i - 1].rule);
    table_print(&table, 0, stdout);
    return command_flush();
}

static enum exit_code print_steps_json(const struct fast_step *steps, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *step =
            steps[i].why ? json_pack("{s:s}", "unknown", steps[i].why) : server_json(&steps[i].best);
        json_object_set_new(step, "rule", json_integer(steps[i].rule + 1));
        json_object_set_new(step, "problem", json_string(steps[i].problem));
        json_object_set_new(step, "text", json_string(steps[i].text));
        json_array_append_new(list, step);
    }
    return command_json(list);
}

static enum exit_code forecast(const struct command_line *command, const struct fast_call *call,
                               const struct esp_call_options *options)
{
    struct fast_server *servers = NULL;
    struct fast_step *steps = NULL;
    enum exit_code code;
    size_t n = 0;
    enum esp_status status = fast_forecast_rules(call, options, &steps, &n);
    if (status == ESP_OK)
        code = command->json ? print_steps_json(steps, n) : print_steps(steps, n);
    else if (status != ESP_NOT_FOUND || fast_forecast_within(call, options, &servers, &n) != ESP_OK)
        code = session_fail(command);
    else
        code = command->json ? print_json(servers, n) : print_servers(servers, n);
    fast_rules_free(steps);
    fast_forecast_free(servers);
    return code;
}

/* --plot: a file of models, no platform. */
static enum exit_code plot(const struct command_line *command, const char *path)
{
    struct arena arena = {0};
    struct cost_model model;
    struct esp_error error = {0};
    enum esp_status status = cost_load(command->operands[0], &arena, &model, &error);
    FILE *file = status == ESP_OK ? (strcmp(path, "-") == 0 ? stdout : fopen(path, "we")) : NULL;
    if (status == ESP_OK && !file)
        status = error_errno(&error, "%s cannot be written", path);
    if (status == ESP_OK) {
        plot_model(file, &model);
        bool whole = fflush(file) == 0 && !ferror(file);
        if ((file != stdout && fclose(file) != 0) || !whole)
            status = error_errno(&error, "%s cannot be written", path);
    }
    arena_clear(&arena);
    if (status == ESP_INVALID) { /* of the file, not of the command line */
        command_fail(command, &error);
        return EXIT_INPUT;
    }
    return status == ESP_OK ? EXIT_DONE : command_fail(command, &error);
}

enum exit_code verb_forecast(const struct command_line *command)
{
    static struct words words;
    struct esp_error error = {0};
    const char *path = command_option_value(command, "plot");
    if (path)
        return plot(command, path);
    for (int i = 1; i < command->n_operands; i++)
        if (read_word(command->operands[i], &words, &error) != ESP_OK)
            return command_fail(command, &error);
    if (command_option_value(command, "grids"))
        return forecast_grids(command, words.values, words.n);
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    const struct fast_call call = {command->operands[0], words.values, words.n};
    struct constraint_words constraints;
    struct esp_call_options options = {0};
    if (constraints_read(command, &constraints, &options, &error) != ESP_OK) {
        grpc_finalize();
        return command_fail(command, &error);
    }
    options.server = command_option_value(command, "server"); /* also when it is the only one */
    code = forecast(command, &call, &options);
    grpc_finalize();
    return code;
}
