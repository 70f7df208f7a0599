/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier flow check: what a flow would do; espalier flow simulate: how long it would take.
 */
#include "config.h"

#include "command/verbs.h"
#include "command/table.h"

#include "core/problem/problem.h"
#include "simulate/picture.h"
#include "simulate/study.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_INTERVALS 10
#define MOST_INTERVALS    1000
#define MOST_NODES_SHOWN  32

/* ---- problems ---- */

#define MOST_PATHS 100

/* Those of --problems; NULL without the option. */
static enum esp_status load_problems(const struct command_line *command, struct problem_set **problems,
                                     struct esp_error *error)
{
    const char *paths[MOST_PATHS];
    size_t n = 0;
    *problems = NULL;
    for (int i = 0; i < command->n_options; i++) {
        if (strcmp(command->options[i].name, "problems") != 0)
            continue;
        if (n == MOST_PATHS)
            return error_set(error, ESP_LIMIT, "expected --problems at most %d times", MOST_PATHS);
        paths[n++] = command->options[i].value;
    }
    return n ? problem_load_all(paths, n, problems, error) : ESP_OK;
}

/* ---- check ---- */

static json_t *check_json(const struct study *study, const struct flow_plan_counts *counts)
{
    json_t *kinds = json_object();
    for (unsigned kind = 0; kind < 4; kind++)
        json_object_set_new(kinds, flow_kind_name((enum flow_kind)kind),
                            json_integer((json_int_t)counts->by_kind[kind]));
    return json_pack("{s:o, s:s, s:i, s:I, s:o, s:I, s:I, s:I}", "flow",
                     command_json_text(flow_program_name(study->program)), "title",
                     flow_program_title(study->program), "nodes", (int)study->platform.star.n_nodes,
                     "operations", (json_int_t)counts->tasks, "kinds", kinds, "dependencies",
                     (json_int_t)counts->edges, "bytes", (json_int_t)counts->bytes, "most_memory_bytes",
                     (json_int_t)counts->most_memory_bytes);
}

static void print_check(const char *path, const struct study *study, const struct flow_plan_counts *counts)
{
    char bytes[QUANTITY_TEXT], memory[QUANTITY_TEXT];
    const char *title = flow_program_title(study->program);
    printf("%s: the flow %s is good\n", path, flow_program_name(study->program));
    if (*title)
        printf("  title         %s\n", title);
    printf("  operations    %llu on %u nodes: %llu leaves, %llu splits, %llu merges, %llu streams\n",
           (unsigned long long)counts->tasks, study->platform.star.n_nodes,
           (unsigned long long)counts->by_kind[FLOW_LEAF], (unsigned long long)counts->by_kind[FLOW_SPLIT],
           (unsigned long long)counts->by_kind[FLOW_MERGE], (unsigned long long)counts->by_kind[FLOW_STREAM]);
    printf("  dependencies  %llu\n", (unsigned long long)counts->edges);
    printf("  data          %s, at most %s of memory for one operation\n",
           quantity_bytes(counts->bytes, bytes), quantity_bytes(counts->most_memory_bytes, memory));
}

static bool read_count(const struct command_line *command, const char *option, unsigned initial,
                       unsigned most, unsigned *count)
{
    const char *text = command_option_value(command, option);
    char *end;
    *count = initial;
    if (!text)
        return true;
    unsigned long value = strtoul(text, &end, 10);
    *count = (unsigned)value;
    return *text >= '0' && *text <= '9' && !*end && value > 0 && value <= most;
}

enum exit_code verb_flow_check(const struct command_line *command)
{
    struct study study;
    struct flow_plan_counts counts;
    struct esp_error error = {0};
    unsigned n_nodes;
    const char *path = command->operands[0];
    if (!read_count(command, "nodes", 1, PLATFORM_MOST_NODES, &n_nodes))
        return command_usage(command, "--nodes: expected a number from 1 to %d, found '%.40s'",
                             PLATFORM_MOST_NODES, command_option_value(command, "nodes"));
    if (strcmp(path, STUDY_LU) == 0)
        return command_usage(command, "%s is no file", path);
    struct problem_set *problems;
    if (load_problems(command, &problems, &error) != ESP_OK)
        return command_fail(command, &error);
    if (study_open(path, NULL, n_nodes, problems, (const char *const *)command->operands + 1,
                   (size_t)command->n_operands - 1, &study, &error) != ESP_OK) {
        problem_set_destroy(problems);
        return command_fail(command, &error);
    }
    flow_plan_counts(study.plan, &counts);
    enum exit_code code = EXIT_DONE;
    if (command->json)
        code = command_json(check_json(&study, &counts));
    else
        print_check(path, &study, &counts);
    study_close(&study);
    problem_set_destroy(problems);
    return command->json ? code : command_flush();
}

/* ---- simulate ---- */

static double efficiency_of(const struct simulation_result *result)
{
    double computing_s = 0;
    for (unsigned i = 0; i < result->n_nodes; i++)
        computing_s += result->use[i].computing_s;
    return result->node_s > 0 ? computing_s / result->node_s : 0;
}

static json_t *nodes_json(const struct simulation_result *result)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < result->n_nodes; i++) {
        const struct star_use *use = &result->use[i];
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:I}", "computing_s",
                                              command_json_real(use->computing_s), "communicating_s",
                                              command_json_real(use->communicating_s), "sending_s",
                                              command_json_real(use->sending_s), "receiving_s",
                                              command_json_real(use->receiving_s), "peak_bytes",
                                              (json_int_t)result->peak_bytes[i]));
    }
    return list;
}

static json_t *counts_json(const struct simulation_result *result)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "seconds", command_json_real(result->seconds),
        "work_s", command_json_real(result->work_s), "node_s", command_json_real(result->node_s),
        "efficiency", command_json_real(efficiency_of(result)), "operations",
        (json_int_t)result->counts.instances, "messages", (json_int_t)result->counts.messages,
        "remote_messages", (json_int_t)result->counts.remote_messages, "bytes",
        (json_int_t)result->counts.bytes, "remote_bytes", (json_int_t)result->counts.remote_bytes);
}

static json_t *result_json(const struct simulation_result *result, const double *efficiency, unsigned n)
{
    json_t *value = counts_json(result), *list = json_array();
    for (unsigned i = 0; i < n; i++)
        json_array_append_new(list, command_json_real(efficiency[i]));
    json_object_set_new(value, "dynamic_efficiency", list);
    json_object_set_new(value, "nodes", nodes_json(result));
    return value;
}

static void print_nodes(const struct simulation_result *result)
{
    static const char *const headings[] = {"node", ">computing", ">for transfers", ">sending", ">receiving"};
    struct table table;
    table_init(&table, 5, headings);
    for (unsigned i = 0; i < result->n_nodes && i < MOST_NODES_SHOWN; i++) {
        const struct star_use *use = &result->use[i];
        double all = result->seconds > 0 ? result->seconds / 100 : 1;
        table_cell(&table, "%u", i);
        table_cell(&table, "%.1f %%", use->computing_s / all);
        table_cell(&table, "%.1f %%", use->communicating_s / all);
        table_cell(&table, "%.1f %%", use->sending_s / all);
        table_cell(&table, "%.1f %%", use->receiving_s / all);
    }
    table_print(&table, 2, stdout);
    if (result->n_nodes > MOST_NODES_SHOWN)
        printf("  ... and %u more nodes (--json shows all)\n", result->n_nodes - MOST_NODES_SHOWN);
}

static void print_result(const char *path, const struct simulation_result *result, const double *efficiency,
                         unsigned n)
{
    char time[QUANTITY_TEXT], bytes[QUANTITY_TEXT], remote[QUANTITY_TEXT];
    printf("%s: %s on %u nodes\n", path, quantity_seconds(result->seconds, time), result->n_nodes);
    printf("  operations  %llu, which compute %.6g s\n", (unsigned long long)result->counts.instances,
           result->work_s);
    printf("  messages    %llu with %s, of which %llu with %s between nodes\n",
           (unsigned long long)result->counts.messages, quantity_bytes(result->counts.bytes, bytes),
           (unsigned long long)result->counts.remote_messages,
           quantity_bytes(result->counts.remote_bytes, remote));
    printf("  nodes       %.6g s in use, %.1f %% of it computing\n", result->node_s,
           100 * efficiency_of(result));
    printf("  over time  ");
    for (unsigned i = 0; i < n; i++)
        printf(" %.0f%%", 100 * efficiency[i]);
    printf("\n");
    print_nodes(result);
}

static enum esp_status write_picture(const struct command_line *command, const char *option,
                                     const struct study *study, const struct simulation_result *result,
                                     void (*write)(const struct picture *picture, FILE *file),
                                     struct esp_error *error)
{
    const char *path = command_option_value(command, option);
    if (!path)
        return ESP_OK;
    FILE *file = fopen(path, "w");
    if (!file)
        return error_set(error, ESP_SYSTEM, "%s: %s", path, strerror(errno));
    struct picture picture = {.record = &result->record,
                              .graph = study->graph,
                              .seconds = result->seconds,
                              .n_nodes = result->n_nodes};
    write(&picture, file);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        return error_set(error, ESP_SYSTEM, "%s: cannot be written", path);
    return ESP_OK;
}

static enum exit_code simulate_once(const struct command_line *command, const char *platform,
                                    const struct problem_set *problems, unsigned intervals)
{
    struct study study;
    struct simulation_result result;
    struct esp_error error = {0};
    double efficiency[MOST_INTERVALS];
    if (study_open(command->operands[0], platform, 0, problems, (const char *const *)command->operands + 1,
                   (size_t)command->n_operands - 1, &study, &error) != ESP_OK)
        return command_fail(command, &error);
    enum esp_status status = study_run(&study, true, &result, &error);
    if (status == ESP_OK) {
        status = write_picture(command, "gantt", &study, &result, picture_gantt, &error);
        if (status == ESP_OK)
            status = write_picture(command, "trace", &study, &result, picture_trace, &error);
    }
    enum exit_code code = status == ESP_OK ? EXIT_DONE : command_fail(command, &error);
    if (code == EXIT_DONE) {
        simulation_efficiency(&result, intervals, efficiency);
        if (command->json)
            code = command_json(result_json(&result, efficiency, intervals));
        else
            print_result(command->operands[0], &result, efficiency, intervals);
    }
    simulation_clear(&result);
    study_close(&study);
    return code == EXIT_DONE && !command->json ? command_flush() : code;
}

/* ---- sweeps ---- */

struct sweep {
    const struct command_line *command;
    const char *platform;
    const struct problem_set *problems;
    struct study_axis axes[STUDY_MOST_AXES];
    unsigned n_axes;
    struct variant {
        const char *text; /* as given; "original" of the first one, which varies nothing */
        struct study_axis settings;
    } * variants; /* with --vary */
    size_t n_variants;
    double original_s; /* of the combination that runs */
    size_t n_runs;     /* combinations and, of each, variants */
    struct table table;
    json_t *list; /* with --json */
};

static enum esp_status read_axes(struct sweep *sweep, struct esp_error *error)
{
    sweep->n_runs = 1;
    for (int i = 0; i < sweep->command->n_options; i++) {
        if (strcmp(sweep->command->options[i].name, "sweep") != 0)
            continue;
        if (sweep->n_axes == STUDY_MOST_AXES)
            return error_set(error, ESP_INVALID, "expected --sweep at most %d times", STUDY_MOST_AXES);
        struct study_axis *axis = &sweep->axes[sweep->n_axes];
        enum esp_status status = study_axis_read(sweep->command->options[i].value, axis, error);
        if (status != ESP_OK)
            return status;
        sweep->n_axes++;
        sweep->n_runs *= axis->n_values;
        if (sweep->n_runs > STUDY_MOST_RUNS)
            return error_set(error, ESP_LIMIT, "a sweep has at most %d combinations", STUDY_MOST_RUNS);
    }
    return ESP_OK;
}

static enum esp_status read_variants(struct sweep *sweep, struct esp_error *error)
{
    for (int i = 0; i < sweep->command->n_options; i++) {
        if (strcmp(sweep->command->options[i].name, "vary") != 0)
            continue;
        if (sweep->n_variants > STUDY_MOST_VARIANTS)
            return error_set(error, ESP_INVALID, "expected --vary at most %d times", STUDY_MOST_VARIANTS);
        if (sweep->n_variants == 0)
            sweep->variants[sweep->n_variants++].text = "original";
        struct variant *variant = &sweep->variants[sweep->n_variants];
        variant->text = sweep->command->options[i].value;
        enum esp_status status = study_variant_read(variant->text, &variant->settings, error);
        if (status != ESP_OK)
            return status;
        sweep->n_variants++;
    }
    sweep->n_runs *= sweep->n_variants ? sweep->n_variants : 1;
    return ESP_OK;
}

/* Of a run; NULL without --vary. */
static const struct variant *variant_of(const struct sweep *sweep, size_t run)
{
    return sweep->n_variants ? &sweep->variants[run % sweep->n_variants] : NULL;
}

/* Which value of an axis a run has; behind the variants, the last axis changes fastest. */
static const char *value_of(const struct sweep *sweep, size_t run, unsigned axis)
{
    run /= sweep->n_variants ? sweep->n_variants : 1;
    for (unsigned i = sweep->n_axes; i-- > axis + 1;)
        run /= sweep->axes[i].n_values;
    return sweep->axes[axis].values[run % sweep->axes[axis].n_values];
}

static void note_run(struct sweep *sweep, size_t run, const struct simulation_result *result)
{
    char bytes[QUANTITY_TEXT];
    json_t *row = sweep->list ? counts_json(result) : NULL;
    for (unsigned i = 0; i < sweep->n_axes; i++) {
        const char *value = value_of(sweep, run, i);
        if (row)
            json_object_set_new(row, sweep->axes[i].name, command_json_text(value));
        else
            table_text_cell(&sweep->table, value);
    }
    const struct variant *variant = variant_of(sweep, run);
    if (variant == sweep->variants)
        sweep->original_s = result->seconds;
    double more = sweep->original_s > 0 ? result->seconds / sweep->original_s - 1 : 0;
    if (row && variant) {
        json_object_set_new(row, "varied", command_json_text(variant->text));
        json_object_set_new(row, "difference", command_json_real(more));
    }
    if (row) {
        json_array_append_new(sweep->list, row);
        return;
    }
    if (variant)
        table_text_cell(&sweep->table, variant->text);
    table_cell(&sweep->table, "%.2f", result->seconds);
    if (variant)
        table_cell(&sweep->table, "%+.1f %%", 100 * more);
    table_cell(&sweep->table, "%.1f %%", 100 * efficiency_of(result));
    table_cell(&sweep->table, "%.1f", result->node_s);
    table_cell(&sweep->table, "%llu", (unsigned long long)result->counts.messages);
    table_cell(&sweep->table, "%s", quantity_bytes(result->counts.remote_bytes, bytes));
}

static enum esp_status run_one(struct sweep *sweep, size_t run, struct esp_error *error)
{
    const struct command_line *command = sweep->command;
    const char *settings[STUDY_MOST_SETTINGS];
    char *made[STUDY_MOST_AXES] = {0};
    size_t n = 0;
    struct study study;
    struct simulation_result result = {0};
    enum esp_status status = ESP_OK;
    const struct variant *variant = variant_of(sweep, run);
    for (int i = 1; i < command->n_operands && n < STUDY_MOST_SETTINGS - STUDY_MOST_AXES - STUDY_MOST_VARIED;
         i++)
        settings[n++] = command->operands[i];
    for (unsigned i = 0; i < sweep->n_axes && status == ESP_OK; i++) {
        if (asprintf(&made[i], "%s=%s", sweep->axes[i].name, value_of(sweep, run, i)) < 0) {
            made[i] = NULL;
            status = error_no_memory(error, "a sweep");
        } else {
            settings[n++] = made[i];
        }
    }
    for (size_t i = 0; variant && i < variant->settings.n_values; i++)
        settings[n++] = variant->settings.values[i];
    if (status == ESP_OK)
        status =
            study_open(command->operands[0], sweep->platform, 0, sweep->problems, settings, n, &study, error);
    if (status == ESP_OK) {
        status = study_run(&study, false, &result, error);
        study_close(&study);
    }
    if (status == ESP_OK)
        note_run(sweep, run, &result);
    if (status != ESP_OK && variant)
        error_prefix(error, "%s", variant->text);
    if (status != ESP_OK)
        for (unsigned i = sweep->n_axes; i-- > 0;)
            error_prefix(error, "%s=%s", sweep->axes[i].name, value_of(sweep, run, i));
    simulation_clear(&result);
    for (unsigned i = 0; i < sweep->n_axes; i++)
        free(made[i]);
    return status;
}

static void begin_table(struct sweep *sweep, char (*names)[70])
{
    const char *headings[STUDY_MOST_AXES + 7];
    unsigned n = 0;
    for (unsigned i = 0; i < sweep->n_axes; i++) {
        snprintf(names[i], sizeof names[i], ">%.60s", sweep->axes[i].name);
        headings[n++] = names[i];
    }
    if (sweep->n_variants)
        headings[n++] = "varied";
    headings[n++] = ">seconds";
    if (sweep->n_variants)
        headings[n++] = ">difference";
    static const char *const results[] = {">computing", ">node seconds", ">messages", ">between nodes"};
    for (unsigned i = 0; i < 4; i++)
        headings[n++] = results[i];
    table_init(&sweep->table, n, headings);
}

static void clear_sweep(struct sweep *sweep)
{
    for (unsigned i = 0; i < sweep->n_axes; i++)
        study_axis_clear(&sweep->axes[i]);
    for (size_t i = 0; i < sweep->n_variants; i++)
        study_axis_clear(&sweep->variants[i].settings);
    free(sweep->variants);
    free(sweep);
}

static enum exit_code simulate_sweep(const struct command_line *command, const char *platform,
                                     const struct problem_set *problems)
{
    struct sweep *sweep = calloc(1, sizeof *sweep);
    struct variant *variants = calloc(STUDY_MOST_VARIANTS + 1, sizeof *variants);
    struct esp_error error = {0};
    char names[STUDY_MOST_AXES][70];
    if (!sweep || !variants) {
        free(sweep);
        free(variants);
        error_no_memory(&error, "a sweep");
        return command_fail(command, &error);
    }
    *sweep =
        (struct sweep){.command = command, .platform = platform, .problems = problems, .variants = variants};
    enum esp_status status = read_axes(sweep, &error);
    if (status == ESP_OK)
        status = read_variants(sweep, &error);
    begin_table(sweep, names);
    sweep->list = command->json ? json_array() : NULL;
    for (size_t run = 0; run < sweep->n_runs && status == ESP_OK; run++)
        status = run_one(sweep, run, &error);
    enum exit_code code = EXIT_DONE;
    if (status != ESP_OK) {
        code = command_fail(command, &error);
        json_decref(sweep->list);
        table_clear(&sweep->table);
    } else if (command->json) {
        code = command_json(sweep->list);
    } else {
        table_print(&sweep->table, 0, stdout);
        code = command_flush();
    }
    clear_sweep(sweep);
    return code;
}

enum exit_code verb_flow_simulate(const struct command_line *command)
{
    const char *platform = command_option_value(command, "platform");
    unsigned intervals;
    if (!platform)
        return command_usage(command, "expected --platform FILE");
    if (!read_count(command, "intervals", DEFAULT_INTERVALS, MOST_INTERVALS, &intervals))
        return command_usage(command, "--intervals: expected a number from 1 to %d, found '%.40s'",
                             MOST_INTERVALS, command_option_value(command, "intervals"));
    bool sweeps = command_option_value(command, "sweep") || command_option_value(command, "vary");
    if (sweeps && (command_option_value(command, "gantt") || command_option_value(command, "trace")))
        return command_usage(command, "--gantt and --trace show one simulation, not several");
    struct problem_set *problems;
    struct esp_error error = {0};
    if (load_problems(command, &problems, &error) != ESP_OK)
        return command_fail(command, &error);
    enum exit_code code = sweeps ? simulate_sweep(command, platform, problems)
                                 : simulate_once(command, platform, problems, intervals);
    problem_set_destroy(problems);
    return code;
}
