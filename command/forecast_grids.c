/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/forecast_grids.h"
#include "command/forecast_machine.h"

#include "core/forecast/grid_table.h"
#include "core/forecast/parallel_alike.h"
#include "core/forecast/parallel_model.h"
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
    static const char *const known[] = {"m", "n", "k", "nrhs", "uplo", "side", "trans", "transa"};
    for (size_t i = 0; i < values->n; i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(values->items[i].name, known[k]) != 0)
            k++;
        if (k == sizeof known / sizeof *known)
            return error_set(error, ESP_INVALID,
                             "expected m, n, k, nrhs, uplo, side, trans or transa, found %s",
                             values->items[i].name);
    }
    return ESP_OK;
}

static enum esp_status read_case(const struct values *values, struct parallel_problem *problem,
                                 struct esp_error *error)
{
    const char trans = letter(values, "transa", letter(values, "trans", 'N'));
    problem->trsm_case = parallel_trsm_case(letter(values, "uplo", 'U'), letter(values, "side", 'L'),
                                            trans == 'C' || trans == 'c' ? 'T' : trans);
    return problem->trsm_case > 0
               ? ESP_OK
               : error_set(error, ESP_INVALID, "expected uplo=U or L, side=L or R, trans=N, T or C");
}

static bool is_named(const char *routine, const char *name)
{
    return strcmp(routine + 2, name) == 0;
}

/* As servers reckon: gesv is an LU of the same work, C of A A' is as wide as high. */
static enum esp_status read_problem(const char *routine, const struct values *values,
                                    struct parallel_problem *problem, struct parallel_alike *alike,
                                    struct esp_error *error)
{
    char names[160];
    int64_t nrhs = 1;
    if (!parallel_alike(routine, alike))
        return error_set(error, ESP_INVALID,
                         "expected p, then s, d, c or z, then %s, found '%s': others have no model",
                         parallel_alike_names(names, sizeof names), routine);
    *problem = (struct parallel_problem){.routine = alike->model};
    enum esp_status status = check_names(values, error);
    if (status == ESP_OK)
        status = take_size(values, "n", true, 0, &problem->n, error);
    if (status == ESP_OK)
        status = take_size(values, "m", false, problem->n, &problem->m, error);
    if (status == ESP_OK)
        status = take_size(values, "k", false, problem->m, &problem->k, error);
    if (status == ESP_OK)
        status = take_size(values, "nrhs", false, 1, &nrhs, error);
    if (status == ESP_OK && parallel_alike_has_rhs(alike))
        problem->k = nrhs;
    const double n = (double)problem->n;
    if (status == ESP_OK && is_named(routine, "gesv"))
        problem->n = (int64_t)cbrt(n * n * n + 3 * n * n * (double)nrhs);
    return status == ESP_OK && is_named(routine, "trsm") ? read_case(values, problem, error) : status;
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

/* The block size that B.4.1's derivative asks for there; 0: only that of an LU is known. */
static double root_of(const struct parallel_problem *problem, const struct parallel_machine *machine,
                      struct parallel_grid grid)
{
    const struct parallel_machine own = parallel_machine_for(machine, (double)(grid.p * grid.q));
    return strcmp(problem->routine, "pdgetrf") == 0 ? parallel_getrf_block(&own, grid, problem->n) : 0;
}

static json_t *as_json(const struct parallel_problem *problem, const struct parallel_machine *machine,
                       const struct parallel_forecast *forecasts, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const double root = root_of(problem, machine, forecasts[i].grid);
        json_t *grid = json_pack("{s:I, s:I, s:I, s:f}", "rows", (json_int_t)forecasts[i].grid.p, "cols",
                                 (json_int_t)forecasts[i].grid.q, "block", (json_int_t)forecasts[i].block,
                                 "seconds", isfinite(forecasts[i].seconds) ? forecasts[i].seconds : -1);
        if (root > 0)
            json_object_set_new(grid, "block_by_derivative", json_real(root));
        json_array_append_new(list, grid);
    }
    return list;
}

static enum exit_code print(const struct command_line *command, const struct parallel_problem *problem,
                            const struct parallel_profile *profile, const struct parallel_forecast *forecasts,
                            size_t n)
{
    struct esp_error error = {0};
    const struct parallel_machine machine = parallel_profile_machine(profile);
    const char *svg = command_option_value(command, "svg");
    const struct table_of table = {forecasts, n, command->operands[0], false};
    const struct table_of picture = {forecasts, n, command->operands[0], true};
    if (svg && show(svg, &picture, &error) != ESP_OK)
        return command_fail(command, &error);
    if (command->json)
        return command_json(as_json(problem, &machine, forecasts, n));
    if (svg && strcmp(svg, "-") == 0)
        return command_flush();
    printf("%s, %s on rows x columns of ranks of %.3g Gflop/s, %.3g us and %.3g GB/s between two%s:\n",
           command->operands[0], grid_table_unit(forecasts, n), profile->speed.flops / 1e9,
           profile->speed.latency_s * 1e6, profile->speed.byte_s > 0 ? 1e-9 / profile->speed.byte_s : 0,
           command_option_value(command, "machine") ? " (as given)"
           : profile->ranks                         ? ""
                                                    : " (not measured)");
    if (show("-", &table, &error) != ESP_OK)
        return command_fail(command, &error);
    const double root = root_of(problem, &machine, forecasts->grid);
    if (root > 0)
        printf("block size there by the derivative of the model: %.1f\n", root);
    return command_flush();
}

static int by_seconds(const void *a, const void *b)
{
    const struct parallel_forecast *x = a, *y = b;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* What it takes of the model's time, and by what calls took on each grid: another one may be the fastest
 * then. */
static void correct(const struct parallel_experience *experience, const char *symbol,
                    const struct parallel_alike *alike, struct parallel_forecast *forecasts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        forecasts[i].seconds *= alike->part * alike->type;
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
    struct parallel_alike alike;
    struct parallel_profile profile;
    struct parallel_forecast *forecasts;
    char symbol[EXPERIENCE_NAME];
    size_t count;
    int64_t ranks = 1;
    if (read_most(command, &ranks, &error) != ESP_OK ||
        read_problem(routine, &given, &problem, &alike, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    enum exit_code code = forecast_machine(command, &profile);
    if (code != EXIT_DONE)
        return code;
    const struct parallel_machine machine = parallel_profile_machine(&profile);
    if (parallel_grids(&machine, &problem, ranks, parallel_blocks, PARALLEL_BLOCKS, &forecasts, &count,
                       &error) != ESP_OK)
        return command_fail(command, &error);
    snprintf(symbol, sizeof symbol, "%s_", routine);
    correct(&profile.experience, symbol, &alike, forecasts, count);
    code = print(command, &problem, &profile, forecasts, count);
    free(forecasts);
    return code;
}
