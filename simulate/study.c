/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/study.h"
#include "core/problem/expr.h"

#include <stdlib.h>
#include <string.h>

/* ---- the LU factorization's settings ---- */

enum lu_type { LU_NUMBER, LU_SECONDS };

static const struct lu_row {
    const char *name;
    enum lu_type type;
    size_t offset;
} lu_rows[] = {
    {"n", LU_NUMBER, offsetof(struct lu_spec, n)},
    {"r", LU_NUMBER, offsetof(struct lu_spec, r)},
    {"column_nodes", LU_NUMBER, offsetof(struct lu_spec, column_nodes)},
    {"multiply_nodes", LU_NUMBER, offsetof(struct lu_spec, multiply_nodes)},
    {"window", LU_NUMBER, offsetof(struct lu_spec, window)},
    {"sub_block", LU_NUMBER, offsetof(struct lu_spec, sub_block)},
    {"factorize", LU_SECONDS, offsetof(struct lu_spec, factorize_s)},
    {"solve", LU_SECONDS, offsetof(struct lu_spec, solve_s)},
    {"multiply", LU_SECONDS, offsetof(struct lu_spec, multiply_s)},
    {"subtract", LU_SECONDS, offsetof(struct lu_spec, subtract_s)},
    {"flip", LU_SECONDS, offsetof(struct lu_spec, flip_s)},
    {"copy", LU_SECONDS, offsetof(struct lu_spec, copy_s)},
};
#define N_LU_ROWS (sizeof lu_rows / sizeof *lu_rows)

/* Settings beside those that are a field each. */
struct lu_extra {
    double pipelined, removed, after;
};

static double *extra_field(struct lu_extra *extra, const char *name)
{
    return strcmp(name, "pipelined") == 0 ? &extra->pipelined
           : strcmp(name, "removed") == 0 ? &extra->removed
           : strcmp(name, "after") == 0   ? &extra->after
                                          : NULL;
}

static enum esp_status evaluate(const char *name, const char *text, double *value, struct esp_error *error)
{
    struct arena arena = {0};
    struct expr *expr;
    enum esp_status status = expr_parse(text, NULL, 0, &arena, &expr, error);
    if (status == ESP_OK)
        status = expr_eval_real(expr, &(struct scope){0}, value, error);
    if (status == ESP_OK && !(*value >= 0 && *value < 1e9))
        status = error_set(error, ESP_INVALID, "expected a number from 0 to 1e9, found %g", *value);
    if (status != ESP_OK)
        error_prefix(error, "%s", name);
    arena_clear(&arena);
    return status;
}

static double lu_value(const struct lu_spec *spec, const struct lu_row *row, const double *field)
{
    double seconds = 0;
    unsigned number = 0;
    if (!row)
        return *field;
    memcpy(&seconds, (const char *)spec + row->offset, row->type == LU_SECONDS ? sizeof seconds : 0);
    memcpy(&number, (const char *)spec + row->offset, row->type == LU_NUMBER ? sizeof number : 0);
    return row->type == LU_SECONDS ? seconds : (double)number;
}

/* *known is false for a name that is no setting of the factorization. */
static enum esp_status set_lu(struct lu_spec *spec, struct lu_extra *extra, const char *setting, bool *known,
                              struct esp_error *error)
{
    char name[64] = "";
    double value = 0;
    const char *equals = strchr(setting, '=');
    if (equals && (size_t)(equals - setting) < sizeof name)
        memcpy(name, setting, (size_t)(equals - setting));
    const struct lu_row *row = NULL;
    for (size_t i = 0; i < N_LU_ROWS; i++)
        if (strcmp(name, lu_rows[i].name) == 0)
            row = &lu_rows[i];
    double *field = extra_field(extra, name);
    *known = row || field;
    if (!*known)
        return ESP_OK;
    bool is_factor = equals[1] == '*';
    enum esp_status status = evaluate(name, equals + 1 + is_factor, &value, error);
    if (status != ESP_OK)
        return status;
    if (is_factor)
        value *= lu_value(spec, row, field);
    if (!row)
        *field = value;
    else if (row->type == LU_SECONDS)
        memcpy((char *)spec + row->offset, &value, sizeof value);
    else
        memcpy((char *)spec + row->offset, &(unsigned){(unsigned)value}, sizeof(unsigned));
    return ESP_OK;
}

/* ---- which settings are of the flow ---- */

static bool is_parameter(const struct flow_program *program, const char *setting)
{
    const char *equals = strchr(setting, '=');
    size_t length = equals ? (size_t)(equals - setting) : 0;
    for (unsigned i = 0; i < flow_program_n_parameters(program); i++) {
        const char *name = flow_program_parameter(program, i);
        if (strlen(name) == length && strncmp(name, setting, length) == 0)
            return true;
    }
    return false;
}

static bool is_key(const char *setting)
{
    char name[64] = "";
    const char *equals = strchr(setting, '=');
    if (!equals || (size_t)(equals - setting) >= sizeof name)
        return false;
    memcpy(name, setting, (size_t)(equals - setting));
    return platform_has_key(name);
}

struct settings {
    const char *of_platform[STUDY_MOST_SETTINGS];
    size_t n;
};

static enum esp_status sort_setting(struct study *study, struct lu_spec *spec, struct lu_extra *extra,
                                    const char *setting, struct settings *settings, struct esp_error *error)
{
    bool known = false;
    if (study->program && is_parameter(study->program, setting))
        return flow_program_set(study->program, setting, error);
    if (!study->program) {
        enum esp_status status = set_lu(spec, extra, setting, &known, error);
        if (status != ESP_OK || known)
            return status;
    }
    if (is_key(setting)) {
        settings->of_platform[settings->n++] = setting;
        return ESP_OK;
    }
    if (study->program)
        return flow_program_set(study->program, setting, error); /* tells what there is */
    return error_set(
        error, ESP_INVALID,
        "expected n, r, column_nodes, multiply_nodes, window, sub_block, pipelined, removed, after, "
        "factorize, solve, multiply, subtract, flip or copy, or a key of platforms, and a value, found "
        "'%.60s'",
        setting);
}

static enum esp_status make_lu(struct study *study, struct lu_spec *spec, const struct lu_extra *extra,
                               struct esp_error *error)
{
    spec->n_nodes = study->platform.star.n_nodes;
    spec->pipelined = extra->pipelined > 0;
    if (extra->removed > 0) {
        spec->kills[0].after = (unsigned)extra->after;
        spec->kills[0].threads = (unsigned)extra->removed;
        spec->n_kills = 1;
    }
    enum esp_status status = lu_create(spec, &study->lu, error);
    if (status != ESP_OK)
        return status;
    study->graph = lu_graph(study->lu);
    study->entry = lu_entry(study->lu);
    return ESP_OK;
}

static enum esp_status make_plan(struct study *study, bool durations, struct esp_error *error)
{
    struct flow_plan_spec spec = {
        .n_nodes = study->platform.star.n_nodes, .flop_rate = study->platform.flops, .durations = durations};
    enum esp_status status = flow_plan_create(study->program, &spec, &study->plan, error);
    if (status != ESP_OK)
        return status;
    study->graph = flow_plan_graph(study->plan);
    study->entry = flow_plan_entry(study->plan);
    return ESP_OK;
}

enum esp_status study_open(const char *path, const char *platform_path, unsigned n_nodes,
                           const struct problem_set *problems, const char *const *texts, size_t n,
                           struct study *study, struct esp_error *error)
{
    struct lu_spec spec = {.n = 2592, .r = 324};
    struct lu_extra extra = {.after = 1};
    struct settings settings = {.n = 0};
    *study = (struct study){0};
    enum esp_status status = ESP_OK;
    if (n > STUDY_MOST_SETTINGS)
        return error_set(error, ESP_LIMIT, "expected at most %d settings, found %zu", STUDY_MOST_SETTINGS, n);
    if (strcmp(path, STUDY_LU) != 0)
        status = flow_program_load(path, flow_problems_of_set(problems), &study->program, error);
    for (size_t i = 0; i < n && status == ESP_OK; i++)
        status = sort_setting(study, &spec, &extra, texts[i], &settings, error);
    if (status == ESP_OK && platform_path)
        status = platform_load(platform_path, settings.of_platform, settings.n, &study->platform, error);
    else
        study->platform.star.n_nodes = n_nodes;
    if (status == ESP_OK)
        status = study->program ? make_plan(study, platform_path != NULL, error)
                                : make_lu(study, &spec, &extra, error);
    if (status != ESP_OK)
        study_close(study);
    return status;
}

void study_close(struct study *study)
{
    flow_plan_destroy(study->plan);
    flow_program_destroy(study->program);
    lu_destroy(study->lu);
    platform_clear(&study->platform);
    *study = (struct study){0};
}

enum esp_status study_run(struct study *study, bool events, struct simulation_result *result,
                          struct esp_error *error)
{
    struct simulation_spec spec = {.graph = study->graph,
                                   .entry = study->entry,
                                   .message = {.bytes = 64},
                                   .platform = &study->platform.star,
                                   .memory_bytes = study->platform.memory_bytes,
                                   .events = events};
    return simulation_run(&spec, result, error);
}

/* ---- sweeps ---- */

enum esp_status study_axis_read(const char *text, struct study_axis *axis, struct esp_error *error)
{
    *axis = (struct study_axis){0};
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return error_set(error, ESP_INVALID, "expected NAME=VALUE,VALUE,..., found '%.60s'", text);
    axis->text = strdup(text);
    if (!axis->text)
        return error_no_memory(error, "a sweep");
    axis->name = axis->text;
    char *next = axis->text + (equals - text);
    while (next) {
        *next++ = 0;
        if (axis->n_values == STUDY_MOST_VALUES) {
            study_axis_clear(axis);
            return error_set(error, ESP_LIMIT, "a sweep has at most %d values of one name",
                             STUDY_MOST_VALUES);
        }
        axis->values[axis->n_values++] = next;
        next = strchr(next, ',');
    }
    return ESP_OK;
}

enum esp_status study_variant_read(const char *text, struct study_axis *axis, struct esp_error *error)
{
    *axis = (struct study_axis){.name = "", .text = strdup(text)};
    if (!axis->text)
        return error_no_memory(error, "a sweep");
    for (char *next = axis->text; next;) {
        char *begin = next;
        next = strchr(begin, ',');
        if (next)
            *next++ = 0;
        const char *equals = strchr(begin, '=');
        bool is_setting = equals && equals != begin && equals[1];
        if (!is_setting || axis->n_values == STUDY_MOST_VARIED) {
            study_axis_clear(axis);
            return error_set(error, ESP_INVALID,
                             "expected up to %d NAME=VALUE with commas between, found '%.60s'",
                             STUDY_MOST_VARIED, text);
        }
        axis->values[axis->n_values++] = begin;
    }
    return ESP_OK;
}

void study_axis_clear(struct study_axis *axis)
{
    free(axis->text);
    *axis = (struct study_axis){0};
}
