/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/command/forecast_grids.h"

#include "core/forecast/grid_table.h"
#include "core/forecast/parallel_profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 4096
#define MOST_SIZE  9e15
#define WIDTH      100
#define SVG_WIDTH  800
#define MOST_TEXT  (16u << 20)

static const int64_t blocks[] = {8, 16, 32, 64, 128, 256};

struct values {
    const struct fast_value *items;
    size_t n;
};

static bool find(const struct values *values, const char *name, double *value)
{
    for (size_t i = 0; i < values->n; i++)
        if (strcmp(values->items[i].name, name) == 0) {
            *value = values->items[i].value;
            return true;
        }
    return false;
}

static enum esp_status take_size(const struct values *values, const char *name, bool needed,
                                 int64_t otherwise, int64_t *size, struct esp_error *error)
{
    double value = (double)otherwise;
    if (!find(values, name, &value) && needed)
        return error_set(error, ESP_INVALID, "expected %s=SIZE", name);
    if (!(value >= 1) || value > MOST_SIZE || value != floor(value))
        return error_set(error, ESP_INVALID, "%s: expected a whole number of 1 or more, found %g", name,
                         value);
    *size = (int64_t)value;
    return ESP_OK;
}

static char letter(const struct values *values, const char *name, char otherwise)
{
    double value = otherwise;
    find(values, name, &value);
    return value > 0 && value < 128 ? (char)value : 0;
}

static enum esp_status check_names(const struct values *values, struct esp_error *error)
{
    static const char *const known[] = {"m", "n", "k", "uplo", "side", "trans"};
    for (size_t i = 0; i < values->n; i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(values->items[i].name, known[k]) != 0)
            k++;
        if (k == sizeof known / sizeof *known)
            return error_set(error, ESP_INVALID, "expected m, n, k, uplo, side or trans, found %s",
                             values->items[i].name);
    }
    return ESP_OK;
}

static enum esp_status read_problem(const char *routine, const struct values *values,
                                    struct parallel_problem *problem, struct esp_error *error)
{
    *problem = (struct parallel_problem){.routine = routine};
    enum esp_status status = check_names(values, error);
    if (status == ESP_OK)
        status = take_size(values, "n", true, 0, &problem->n, error);
    if (status == ESP_OK)
        status = take_size(values, "m", false, problem->n, &problem->m, error);
    if (status == ESP_OK)
        status = take_size(values, "k", false, problem->m, &problem->k, error);
    if (status == ESP_OK && strcmp(routine, "pdtrsm") == 0) {
        problem->trsm_case = parallel_trsm_case(letter(values, "uplo", 'U'), letter(values, "side", 'L'),
                                                letter(values, "trans", 'N'));
        if (problem->trsm_case == 0)
            status = error_set(error, ESP_INVALID, "expected uplo=U or L, side=L or R, trans=N or T");
    }
    return status;
}

/* Where nobody has measured: a core of these years, and links between processes of one machine. */
static const struct parallel_profile guess = {
    .speed = {.flops = 1e10, .latency_s = 5e-6, .byte_s = 1e-9, .update_s = 1e-9}};

static enum esp_status read_machine(const struct command_line *command, struct parallel_profile *profile,
                                    struct esp_error *error)
{
    const char *path = command_option_value(command, "ranks");
    *profile = guess;
    return path ? parallel_profile_load(path, profile, error) : ESP_OK;
}

static enum esp_status read_most(const struct command_line *command, int64_t *ranks, struct esp_error *error)
{
    const char *word = command_option_value(command, "grids");
    char *end;
    long value = strtol(word, &end, 10);
    if (end == word || *end || value < 1 || value > MOST_RANKS)
        return error_set(error, ESP_INVALID, "--grids: expected 1 to %d ranks, found %s", MOST_RANKS, word);
    *ranks = value;
    return ESP_OK;
}

struct table_of {
    const struct parallel_forecast *forecasts;
    size_t n;
    const char *title;
    bool svg;
};

static enum esp_status make_text(const struct table_of *what, char **text, struct esp_error *error)
{
    for (size_t size = 1 << 14; size <= MOST_TEXT; size *= 4) {
        struct text writer;
        char *room = malloc(size);
        if (!room)
            return error_no_memory(error, "a table");
        text_open(&writer, room, size);
        if (what->svg)
            grid_table_svg(what->forecasts, what->n, SVG_WIDTH, what->title, &writer);
        else
            grid_table_text(what->forecasts, what->n, WIDTH, &writer);
        if (writer.length < size) {
            *text = room;
            return ESP_OK;
        }
        free(room);
    }
    return error_set(error, ESP_LIMIT, "the table takes more than %u bytes", MOST_TEXT);
}

static enum esp_status show(const char *path, const struct table_of *what, struct esp_error *error)
{
    char *text = NULL;
    enum esp_status status = make_text(what, &text, error);
    if (status != ESP_OK)
        return status;
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    bool written = file && fputs(text, file) >= 0;
    if (file && file != stdout)
        written = fclose(file) == 0 && written;
    free(text);
    return written ? ESP_OK : error_errno(error, "%s cannot be written", path);
}

static json_t *as_json(const struct parallel_forecast *forecasts, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:I, s:I, s:I, s:f}", "rows", (json_int_t)forecasts[i].grid.p,
                                              "cols", (json_int_t)forecasts[i].grid.q, "block",
                                              (json_int_t)forecasts[i].block, "seconds",
                                              isfinite(forecasts[i].seconds) ? forecasts[i].seconds : -1));
    return list;
}

static enum exit_code print(const struct command_line *command, const struct parallel_profile *profile,
                            const struct parallel_forecast *forecasts, size_t n)
{
    struct esp_error error = {0};
    const char *svg = command_option_value(command, "svg");
    const struct table_of table = {forecasts, n, command->operands[0], false};
    const struct table_of picture = {forecasts, n, command->operands[0], true};
    if (svg && show(svg, &picture, &error) != ESP_OK)
        return command_fail(command, &error);
    if (command->json)
        return command_json(as_json(forecasts, n));
    if (svg && strcmp(svg, "-") == 0)
        return command_flush();
    printf("%s, seconds on rows x columns of ranks of %.3g Gflop/s, %.3g us and %.3g GB/s between two%s:\n",
           command->operands[0], profile->speed.flops / 1e9, profile->speed.latency_s * 1e6,
           profile->speed.byte_s > 0 ? 1e-9 / profile->speed.byte_s : 0,
           profile->ranks ? "" : " (not measured)");
    return show("-", &table, &error) == ESP_OK ? command_flush() : command_fail(command, &error);
}

static int by_seconds(const void *a, const void *b)
{
    const struct parallel_forecast *x = a, *y = b;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* By what calls took on each grid: another one may be the fastest then. */
static void correct(const struct parallel_experience *experience, const char *symbol,
                    struct parallel_forecast *forecasts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        forecasts[i].seconds *= experience_factor(experience, symbol, forecasts[i].grid, forecasts[i].block,
                                                  forecasts[i].seconds);
    qsort(forecasts, n, sizeof *forecasts, by_seconds);
}

enum exit_code forecast_grids(const struct command_line *command, const struct fast_value *values, size_t n)
{
    const struct values given = {values, n};
    const char *routine = command->operands[0];
    struct esp_error error = {0};
    struct parallel_problem problem;
    struct parallel_profile profile;
    struct parallel_forecast *forecasts;
    char symbol[EXPERIENCE_NAME];
    size_t count;
    int64_t ranks = 1;
    if (read_most(command, &ranks, &error) != ESP_OK ||
        read_problem(routine, &given, &problem, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    enum esp_status status = read_machine(command, &profile, &error);
    const struct parallel_machine machine = parallel_profile_machine(&profile);
    if (status == ESP_OK)
        status = parallel_grids(&machine, &problem, ranks, blocks, sizeof blocks / sizeof *blocks, &forecasts,
                                &count, &error);
    if (status != ESP_OK)
        return command_fail(command, &error);
    snprintf(symbol, sizeof symbol, "%s_", routine);
    correct(&profile.experience, symbol, forecasts, count);
    enum exit_code code = print(command, &profile, forecasts, count);
    free(forecasts);
    return code;
}
