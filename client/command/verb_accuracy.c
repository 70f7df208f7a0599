/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier accuracy: how good the forecasts of servers have been, by what each of a platform tells, or from
 * the file in a server's state_dir.
 */
#include "config.h"

#include "client/command/admin.h"
#include "client/command/session.h"
#include "client/command/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PROBLEMS 1000
#define MOST_KEPT     100000 /* of one problem; older ones make room */

struct row {
    char problem[64];
    double *off; /* (actual - forecast) / actual */
    size_t n, capacity, next;
};

struct summary {
    struct row rows[MOST_PROBLEMS];
    size_t n, wrong;
};

static struct row *row_of(struct summary *summary, const char *problem)
{
    for (size_t i = 0; i < summary->n; i++)
        if (strcmp(summary->rows[i].problem, problem) == 0)
            return &summary->rows[i];
    if (summary->n == MOST_PROBLEMS)
        return NULL;
    struct row *row = &summary->rows[summary->n++];
    snprintf(row->problem, sizeof row->problem, "%s", problem);
    return row;
}

static bool add(struct row *row, double off)
{
    if (row->n < MOST_KEPT && row->n == row->capacity) {
        size_t capacity = row->capacity ? 2 * row->capacity : 64;
        double *grown = realloc(row->off, capacity * sizeof *grown);
        if (!grown)
            return false;
        row->off = grown;
        row->capacity = capacity;
    }
    if (row->n < MOST_KEPT)
        row->off[row->n++] = off;
    else
        row->off[row->next++ % MOST_KEPT] = off;
    return true;
}

static void read_line(struct summary *summary, const char *line)
{
    char problem[64];
    double forecast_s, actual_s;
    if (sscanf(line, "%*s\t%63s\t%lf\t%lf", problem, &forecast_s, &actual_s) != 3 || !(actual_s > 0) ||
        !(forecast_s >= 0) || !isfinite(forecast_s)) {
        summary->wrong++;
        return;
    }
    struct row *row = row_of(summary, problem);
    if (row)
        add(row, (actual_s - forecast_s) / actual_s);
}

static bool read_file(struct summary *summary, const char *path)
{
    char line[512];
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        read_line(summary, line);
    if (file)
        fclose(file);
    return file != NULL;
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

struct figures {
    double mean, bias, median, ninth;
};

static struct figures figures_of(struct row *row)
{
    struct figures figures = {0};
    for (size_t i = 0; i < row->n; i++) {
        figures.mean += fabs(row->off[i]) / (double)row->n;
        figures.bias += row->off[i] / (double)row->n;
    }
    qsort(row->off, row->n, sizeof *row->off, by_size);
    figures.median = fabs(row->off[row->n / 2]);
    figures.ninth = fabs(row->off[row->n * 9 / 10]);
    return figures;
}

static enum exit_code print_summary(const struct command_line *command, struct summary *summary)
{
    static const char *const headings[] = {"problem", ">sessions", ">mean error",
                                           ">median", ">9 of 10",  ">bias"};
    struct table table;
    json_t *list = command->json ? json_array() : NULL;
    table_init(&table, 6, headings);
    for (size_t i = 0; i < summary->n; i++) {
        struct row *row = &summary->rows[i];
        if (row->n == 0)
            continue;
        struct figures f = figures_of(row);
        if (list) {
            json_array_append_new(list, json_pack("{s:s, s:I, s:f, s:f, s:f, s:f}", "problem", row->problem,
                                                  "sessions", (json_int_t)row->n, "mean_error", f.mean,
                                                  "median_error", f.median, "ninth_decile", f.ninth, "bias",
                                                  f.bias));
            continue;
        }
        table_cell(&table, "%s", row->problem);
        table_cell(&table, "%zu", row->n);
        table_cell(&table, "%.1f %%", 100 * f.mean);
        table_cell(&table, "%.1f %%", 100 * f.median);
        table_cell(&table, "%.1f %%", 100 * f.ninth);
        table_cell(&table, "%+.1f %%", 100 * f.bias);
    }
    if (list)
        return command_json(list);
    table_print(&table, 0, stdout);
    return command_flush();
}

/* ---- a platform ---- */

static void add_line(struct table *table, json_t *list, const char *server, const char *line)
{
    char problem[64];
    unsigned n;
    struct figures f;
    if (sscanf(line, "%63s %u %lf %lf %lf %lf", problem, &n, &f.mean, &f.median, &f.ninth, &f.bias) != 6)
        return;
    table_cell(table, "%s", server);
    table_cell(table, "%s", problem);
    table_cell(table, "%u", n);
    table_cell(table, "%.1f %%", 100 * f.mean);
    table_cell(table, "%.1f %%", 100 * f.median);
    table_cell(table, "%.1f %%", 100 * f.ninth);
    table_cell(table, "%+.1f %%", 100 * f.bias);
    json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:f, s:f, s:f, s:f}", "server", server, "problem",
                                          problem, "sessions", (json_int_t)n, "mean_error", f.mean,
                                          "median_error", f.median, "ninth_decile", f.ninth, "bias", f.bias));
}

/* One that does not answer is missing, which has been said. */
static enum exit_code ask_servers(const struct command_line *command, const struct view *view,
                                  struct table *table, json_t *list)
{
    enum exit_code code = EXIT_DONE;
    for (size_t i = 0; i < view->n; i++) {
        char *text = NULL, *rest = NULL;
        if (view->nodes[i].role != ESP_ROLE_SERVER || view->nodes[i].unreachable)
            continue;
        const enum exit_code one =
            admin_order(command, view, &view->nodes[i], "accuracy", NULL, 0, NULL, &text);
        for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
            add_line(table, list, view->nodes[i].name, line);
        free(text);
        code = one == EXIT_DONE ? code : one;
    }
    return code;
}

static enum exit_code summarise_platform(const struct command_line *command)
{
    static const char *const headings[] = {"server",  "problem",  ">sessions", ">mean error",
                                           ">median", ">9 of 10", ">bias"};
    struct table table;
    struct view view;
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    if ((code = view_open(command, &view)) != EXIT_DONE) {
        grpc_finalize();
        return code;
    }
    table_init(&table, 7, headings);
    json_t *list = json_array();
    code = ask_servers(command, &view, &table, list);
    const bool none = json_array_size(list) == 0;
    view_close(&view);
    grpc_finalize();
    if (command->json) {
        const enum exit_code printed = command_json(list);
        return code == EXIT_DONE ? printed : code;
    }
    json_decref(list);
    if (none)
        puts("no server has a session of a millisecond or longer to tell of (or a state_dir to note it in)");
    else
        table_print(&table, 0, stdout);
    const enum exit_code printed = command_flush();
    return code == EXIT_DONE ? printed : code;
}

enum exit_code verb_accuracy(const struct command_line *command)
{
    if (command->n_operands == 0)
        return summarise_platform(command);
    struct summary *summary = calloc(1, sizeof *summary);
    struct esp_error error = {0};
    char old[4200];
    if (!summary) {
        error_no_memory(&error, "a summary");
        return command_fail(command, &error);
    }
    enum exit_code code = EXIT_DONE;
    for (int i = 0; i < command->n_operands && code == EXIT_DONE; i++) {
        snprintf(old, sizeof old, "%s.old", command->operands[i]);
        read_file(summary, old);
        if (!read_file(summary, command->operands[i])) {
            error_set(&error, ESP_NOT_FOUND, "%s: %s (a server writes accuracy.tsv into its state_dir)",
                      command->operands[i], strerror(errno));
            code = command_fail(command, &error);
        }
    }
    if (summary->wrong > 0)
        fprintf(stderr, "espalier accuracy: %zu lines are left out: they are not as a server writes them\n",
                summary->wrong);
    if (code == EXIT_DONE)
        code = print_summary(command, summary);
    for (size_t i = 0; i < summary->n; i++)
        free(summary->rows[i].off);
    free(summary);
    return code;
}
