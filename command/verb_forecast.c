/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier forecast: what a call would take on each server, without making it; and a plot of a model.
 */
#include "config.h"

#include "command/call_abstract.h"
#include "command/constraints.h"
#include "command/forecast_grids.h"
#include "command/forecast_strategies.h"
#include "command/forecast_tables.h"
#include "command/plot.h"
#include "command/problem_verb.h"
#include "command/session.h"
#include "command/verbs.h"
#include "core/forecast/cost_model.h"
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
    for (size_t i = 0; i < words->n; i++)
        if (strcmp(words->names[i], name) == 0)
            return error_set(error, ESP_INVALID, "%s is given twice", name);
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

/* A number or a letter: what an array is given as is neither. */
static bool is_size(const char *word)
{
    const char *equals = strchr(word, '=');
    char *end;
    if (!equals || (equals[1] && !equals[2]))
        return true;
    (void)strtod(equals + 1, &end);
    return end != equals + 1 && !*end;
}

static bool has_arguments(const struct command_line *command)
{
    for (int i = 1; i < command->n_operands; i++)
        if (!is_size(command->operands[i]))
            return true;
    return false;
}

/* ---- of sizes ---- */

static enum exit_code forecast(const struct command_line *command, const struct fast_call *call,
                               const struct esp_call_options *options)
{
    struct fast_server *servers = NULL;
    struct fast_step *steps = NULL;
    enum exit_code code;
    size_t n = 0;
    enum esp_status status = fast_forecast_rules(call, options, &steps, &n);
    if (status == ESP_OK)
        code = forecast_show_steps(command, steps, n);
    else if (status != ESP_NOT_FOUND || fast_forecast_within(call, options, &servers, &n) != ESP_OK)
        code = session_fail(command);
    else
        code = forecast_show_servers(command, servers, n);
    fast_rules_free(steps);
    fast_forecast_free(servers);
    return code;
}

static enum exit_code forecast_sizes(const struct command_line *command, const struct words *words)
{
    struct esp_error error = {0};
    enum exit_code code = session_within(command, session_open(command));
    if (code != EXIT_DONE)
        return code;
    const struct fast_call call = {command->operands[0], words->values, words->n};
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

/* ---- of arguments, as a call has them ---- */

static enum exit_code forecast_plain(const struct command_line *command, const struct esp_problem *problem,
                                     struct values *values)
{
    struct esp_error error = {0};
    struct esp_call_options options = {0};
    struct constraint_words words;
    struct fast_server *servers = NULL;
    size_t n = 0;
    enum esp_status status = values_reading(command, &values->reading, &error);
    if (status == ESP_OK)
        status = constraints_read(command, &words, &options, &error);
    options.server = command_option_value(command, "server");
    session_reading(true);
    for (int i = 1; i < command->n_operands && status == ESP_OK; i++)
        status = values_assign(values, command->operands[i], &error);
    session_reading(false);
    if (status == ESP_OK)
        status = values_prepare(values, &error);
    if (status != ESP_OK)
        return problem_fail(command, problem, &error);
    status = fast_forecast_arguments(problem->name, values->arguments, problem->n_arguments, &options,
                                     &servers, &n);
    if (status != ESP_OK) {
        error = *esp_last_error();
        return problem_fail(command, problem, &error);
    }
    enum exit_code code = forecast_show_servers(command, servers, n);
    fast_forecast_free(servers);
    return code;
}

static enum esp_status foresee(struct abstract_arguments *arguments, const struct esp_call_options *options,
                               struct esp_error *error)
{
    return session_told(fast_forecast_run(arguments->run, options, &arguments->steps, &arguments->n_steps),
                        error);
}

static enum exit_code show_foreseen(const struct command_line *command,
                                    const struct abstract_arguments *arguments)
{
    return forecast_show_steps(command, arguments->steps, arguments->n_steps);
}

static enum exit_code forecast_abstract(const struct command_line *command, const struct esp_problem *problem,
                                        problem_run *run_plain)
{
    static const struct abstract_use use = {foresee, show_foreseen};
    return use_abstract(command, problem, &use, run_plain);
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
    const bool grids = command_option_value(command, "grids") != NULL,
               strategies = command_option_value(command, "strategies") != NULL;
    if (grids && strategies)
        return command_usage(command, "expected --grids or --strategies, found both");
    if (path && command->n_operands > 1)
        return command_usage(command, "--plot draws one model: expected the file of one, found %d operands",
                             command->n_operands);
    if (path)
        return plot(command, path);
    if (!grids && !strategies && has_arguments(command))
        return problem_verb(command, forecast_plain, forecast_abstract);
    for (int i = 1; i < command->n_operands; i++)
        if (read_word(command->operands[i], &words, &error) != ESP_OK)
            return command_fail(command, &error);
    if (strategies)
        return forecast_strategies(command, words.values, words.n);
    return grids ? forecast_grids(command, words.values, words.n) : forecast_sizes(command, &words);
}
