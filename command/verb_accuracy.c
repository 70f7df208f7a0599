/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier accuracy: how good the forecasts of servers have been, by what each of a platform tells, or from
 * the file in a server's state_dir.
 */
#include "config.h"

#include "command/admin.h"
#include "command/asking.h"
#include "command/missing.h"
#include "command/session.h"
#include "command/table.h"
#include "command/verbs.h"
#include "core/forecast/accuracy_line.h"
#include "util/regular_file.h"

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
    size_t n_short;               /* sessions noted together */
    struct accuracy_figures sums; /* of them, each line by how many it is of */
};

struct summary {
    struct row rows[MOST_PROBLEMS];
    size_t n, wrong;
    size_t right;         /* lines of the file that is read, and of the one before it in its place */
    char first_wrong[60]; /* how the first of those begins */
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

static void add_short(struct row *row, unsigned n, const struct accuracy_figures *figures)
{
    row->n_short += n;
    row->sums.mean += n * figures->mean;
    row->sums.median += n * figures->median;
    row->sums.ninth += n * figures->ninth;
    row->sums.bias += n * figures->bias;
}

/* A line of a session, or of many short ones. */
static void read_line(struct summary *summary, const char *text)
{
    struct accuracy_line line;
    if (!accuracy_line_read(text, &line)) {
        if (summary->wrong++ == 0)
            snprintf(summary->first_wrong, sizeof summary->first_wrong, "%.*s", (int)strcspn(text, "\r\n"),
                     text);
        return;
    }
    summary->right++;
    struct row *row = row_of(summary, line.problem);
    if (row && line.together > 0)
        add_short(row, line.together, &line.figures);
    else if (row)
        add(row, accuracy_line_off(&line));
}

static bool read_file(struct summary *summary, const char *path, struct esp_error *error)
{
    char text[ACCURACY_LINE];
    FILE *file = regular_file_open(path, "r", error);
    while (file && fgets(text, sizeof text, file))
        read_line(summary, text);
    if (file)
        fclose(file);
    return file != NULL;
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

static struct accuracy_figures figures_of(struct row *row)
{
    struct accuracy_figures figures = {0};
    for (size_t i = 0; i < row->n; i++) {
        figures.mean += fabs(row->off[i]) / (double)row->n;
        figures.bias += row->off[i] / (double)row->n;
    }
    qsort(row->off, row->n, sizeof *row->off, by_size);
    figures.median = fabs(row->off[row->n / 2]);
    figures.ninth = fabs(row->off[row->n * 9 / 10]);
    return figures;
}

static struct accuracy_figures figures_of_short(const struct row *row)
{
    const double n = (double)row->n_short;
    return (struct accuracy_figures){row->sums.mean / n, row->sums.median / n, row->sums.ninth / n,
                                     row->sums.bias / n};
}

/* What is shown of a problem: a row of the table, and an object of the list. `server` NULL: of a file. */
static void show_figures(struct table *table, json_t *list, const char *server, const char *problem,
                         bool is_short, size_t n, const struct accuracy_figures *f)
{
    json_t *object = json_pack("{s:s, s:b, s:I, s:f, s:f, s:f, s:f}", "problem", problem, "short", is_short,
                               "sessions", (json_int_t)n, "mean_error", f->mean, "median_error", f->median,
                               "ninth_decile", f->ninth, "bias", f->bias);
    if (server)
        json_object_set_new(object, "server", command_json_text(server));
    json_array_append_new(list, object);
    if (server)
        table_text_cell(table, server);
    table_text_cell(table, problem);
    table_cell(table, "%s", is_short ? "below 1 ms" : "");
    table_cell(table, "%zu", n);
    table_cell(table, "%.1f %%", 100 * f->mean);
    table_cell(table, "%.1f %%", 100 * f->median);
    table_cell(table, "%.1f %%", 100 * f->ninth);
    table_cell(table, "%+.1f %%", 100 * f->bias);
}

static const char *const headings[] = {"server",      "problem", "sessions of", ">number",
                                       ">mean error", ">median", ">9 of 10",    ">bias"};

static void gather(struct summary *summary, struct table *table, json_t *list)
{
    for (size_t i = 0; i < summary->n; i++) {
        struct row *row = &summary->rows[i];
        if (row->n > 0) {
            const struct accuracy_figures figures = figures_of(row);
            show_figures(table, list, NULL, row->problem, false, row->n, &figures);
        }
        if (row->n_short > 0) {
            const struct accuracy_figures figures = figures_of_short(row);
            show_figures(table, list, NULL, row->problem, true, row->n_short, &figures);
        }
    }
}

/* Either the table or the list; both are empty afterwards. `missing` (may be NULL): who did not tell. */
static enum exit_code show(const struct command_line *command, struct table *table, json_t *list,
                           struct missing *missing, const char *nothing)
{
    const bool none = json_array_size(list) == 0;
    if (command->json) {
        table_clear(table);
        if (missing)
            missing_json(missing, list);
        return command_json(list);
    }
    json_decref(list);
    if (none)
        puts(nothing);
    else
        table_print(table, 0, stdout);
    return command_flush();
}

static enum exit_code print_summary(const struct command_line *command, struct summary *summary)
{
    struct table table;
    json_t *list = json_array();
    table_init(&table, 7, headings + 1);
    gather(summary, &table, list);
    return show(command, &table, list, NULL, "the file tells of no session");
}

/* ---- a platform ---- */

static void add_line(struct table *table, json_t *list, const char *server, const char *line)
{
    char problem[64], length[8] = "";
    unsigned n;
    struct accuracy_figures f;
    if (sscanf(line, "%63s %u %lf %lf %lf %lf %7s", problem, &n, &f.mean, &f.median, &f.ninth, &f.bias,
               length) >= 6 &&
        accuracy_figures_possible(&f))
        show_figures(table, list, server, problem, strcmp(length, "short") == 0, n, &f);
}

/* A server that is asked, by a thread. */
struct asked {
    const struct view *view;
    const struct esp_node *node;
    enum esp_status status;
    char *text; /* what it said; "" where that is nothing */
    struct esp_error error;
};

static void ask(void *arg)
{
    struct asked *asked = arg;
    asked->status = admin_send(asked->view, asked->node, "accuracy", NULL, 0, NULL, &asked->text);
    if (asked->status != ESP_OK)
        asked->error = *esp_last_error();
}

static void take(struct asked *asked, struct table *table, json_t *list, struct missing *missing)
{
    char *rest = NULL, *text = asked->text;
    if (asked->status != ESP_OK)
        missing_add(missing, asked->node->name, asked->status, asked->error.text);
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        add_line(table, list, asked->node->name, line);
    free(text);
}

/* Side by side: one that hangs keeps nobody waiting but for itself. */
static enum exit_code ask_servers(const struct command_line *command, const struct view *view,
                                  struct table *table, json_t *list, struct missing *missing)
{
    size_t n = 0;
    struct asked *all = calloc(view->n + 1, sizeof *all);
    if (!all) {
        command_complain(command->verb->name, "no memory for the answers of servers");
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < view->n; i++)
        if (view->nodes[i].role == ESP_ROLE_SERVER && !view->nodes[i].unreachable)
            all[n++] = (struct asked){.view = view, .node = &view->nodes[i]};
    asking_all(ask, all, n, sizeof *all);
    for (size_t i = 0; i < n; i++)
        take(&all[i], table, list, missing);
    free(all);
    missing_all_lost(missing, view);
    return EXIT_DONE;
}

static enum exit_code summarise_platform(const struct command_line *command)
{
    struct table table;
    struct view view;
    enum exit_code code = session_within(command, session_open(command));
    if (code != EXIT_DONE)
        return code;
    if ((code = view_open(command, &view)) != EXIT_DONE) {
        grpc_finalize();
        return code;
    }
    table_init(&table, 8, headings);
    json_t *list = json_array();
    struct missing missing = missing_begin(command);
    code = ask_servers(command, &view, &table, list, &missing);
    view_close(&view);
    grpc_finalize();
    const enum exit_code printed =
        show(command, &table, list, &missing,
             missing.code == EXIT_DONE ? "no server has a session to tell of (or a state_dir to note it in)"
                                       : "no server that answers has a session to tell of");
    const enum exit_code partial = missing_end(&missing);
    return code != EXIT_DONE ? code : partial != EXIT_DONE ? partial : printed;
}

/* With what was before it in its place. A file in which no line is one of a server's is another file. */
static enum esp_status add_file(struct summary *summary, const char *path, struct esp_error *error)
{
    char old[4200];
    struct esp_error why = {0};
    snprintf(old, sizeof old, "%s.old", path);
    summary->right = 0;
    const size_t wrong = summary->wrong;
    read_file(summary, old, NULL);
    if (!read_file(summary, path, &why))
        return error_set(error, why.status, "%s (a server writes accuracy.tsv into its state_dir)", why.text);
    if (summary->wrong > wrong && summary->right == 0)
        return error_set(
            error, ESP_SYNTAX,
            "%s: expected lines as a server writes them into accuracy.tsv in its state_dir (time, "
            "problem, forecast and actual seconds, with tabs between them), found \"%s\"; "
            "without a file, the servers of the platform are asked",
            path, summary->first_wrong);
    return ESP_OK;
}

enum exit_code verb_accuracy(const struct command_line *command)
{
    if (command->n_operands == 0)
        return summarise_platform(command);
    struct summary *summary = calloc(1, sizeof *summary);
    struct esp_error error = {0};
    if (!summary) {
        error_no_memory(&error, "a summary");
        return command_fail(command, &error);
    }
    enum exit_code code = EXIT_DONE;
    for (int i = 0; i < command->n_operands && code == EXIT_DONE; i++) {
        if (add_file(summary, command->operands[i], &error) != ESP_OK) {
            command_fail(command, &error);
            code = EXIT_INPUT;
        }
    }
    if (summary->wrong > 0 && code == EXIT_DONE)
        fprintf(stderr, "espalier accuracy: %zu lines are left out: they are not as a server writes them\n",
                summary->wrong);
    if (code == EXIT_DONE)
        code = print_summary(command, summary);
    for (size_t i = 0; i < summary->n; i++)
        free(summary->rows[i].off);
    free(summary);
    return code;
}
