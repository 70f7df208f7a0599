/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/section.h"
#include "core/problem/expr_tree.h"

#include <inttypes.h>
#include <string.h>

static enum esp_status evaluate_bounds(const struct problem *problem, const struct argument *argument,
                                       uint32_t d, const struct number *scope_values, int64_t bounds[3],
                                       struct esp_error *error)
{
    const struct scope scope = {scope_values, problem->n_arguments};
    for (unsigned i = 0; i < 3; i++) {
        enum esp_status status = expr_eval_size(argument->section[d][i], &scope, &bounds[i], error);
        if (status != ESP_OK)
            return error_prefix(error, "%s: the section of %s", problem->name, argument->name);
    }
    return ESP_OK;
}

static enum esp_status check_bounds(const struct problem *problem, const struct argument *argument,
                                    uint32_t d, int64_t size, const int64_t bounds[3],
                                    struct esp_error *error)
{
    if (bounds[0] <= bounds[1] && bounds[1] < size && bounds[2] >= 1)
        return ESP_OK;
    return error_set(
        error, ESP_INVALID,
        "%s: the section of %s: expected 0 <= start <= end < %" PRId64
        " and skip >= 1 in dimension %u, found %" PRId64 " (%s), %" PRId64 " (%s), %" PRId64 " (%s)",
        problem->name, argument->name, size, d + 1, bounds[0], expr_text(argument->section[d][0]), bounds[1],
        expr_text(argument->section[d][1]), bounds[2], expr_text(argument->section[d][2]));
}

enum esp_status problem_section(const struct problem *problem, uint32_t index,
                                const struct number *scope_values, const int64_t *dims,
                                struct section *section, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    bool row_major = (argument->properties & PROPERTY_ROW_MAJOR) != 0;
    *section =
        (struct section){.n_dims = argument->n_dims, .element = (uint32_t)base_type_size(argument->type)};
    for (uint32_t d = 0; d < argument->n_dims; d++) {
        uint32_t k = row_major ? argument->n_dims - 1 - d : d;
        int64_t bounds[3] = {0, dims[d] - 1, 1};
        enum esp_status status = ESP_OK;
        if (argument->section[d][0])
            status = evaluate_bounds(problem, argument, d, scope_values, bounds, error);
        if (status == ESP_OK && argument->section[d][0])
            status = check_bounds(problem, argument, d, dims[d], bounds, error);
        if (status != ESP_OK)
            return status;
        section->dims[k] = dims[d];
        section->start[k] = bounds[0];
        section->skip[k] = bounds[2];
        section->count[k] = (bounds[1] - bounds[0]) / bounds[2] + 1;
    }
    return ESP_OK;
}

#define LINE_BYTES    64
#define LEAST_COLUMNS 32                    /* from here on rows do not fit a set of a cache */
#define LEAST_BYTES   512                   /* of a column; shorter ones fit the first cache as they lie */
#define MOST_BYTES    (UINT64_C(512) << 20) /* of a matrix; beyond, a copy of it is dear */

void section_of_columns(const struct argument *argument, const int64_t *dims, struct section *section)
{
    const uint64_t element = base_type_size(argument->type);
    *section = (struct section){.n_dims = 2, .element = (uint32_t)element};
    for (uint32_t d = 0; d < 2; d++) {
        section->dims[d] = section->count[d] = dims[d];
        section->skip[d] = 1;
    }
    uint64_t column, bytes;
    if (dims[1] < LEAST_COLUMNS || __builtin_mul_overflow((uint64_t)dims[0], element, &column) ||
        column < LEAST_BYTES || __builtin_mul_overflow(column, (uint64_t)dims[1], &bytes) ||
        bytes > MOST_BYTES)
        return;
    const uint64_t lines = (column + LINE_BYTES - 1) / LINE_BYTES;
    section->dims[0] = (int64_t)((lines | 1) * LINE_BYTES / element);
}

static uint64_t product(const int64_t *factors, uint32_t n)
{
    uint64_t result = 1;
    for (uint32_t d = 0; d < n; d++)
        result *= (uint64_t)factors[d];
    return result;
}

uint64_t section_count(const struct section *section)
{
    return product(section->count, section->n_dims);
}

uint64_t section_whole(const struct section *section)
{
    return product(section->dims, section->n_dims);
}

bool section_is_sane(const struct section *section)
{
    uint64_t bytes = section->element, reach;
    if (section->n_dims == 0 || section->n_dims > PROBLEM_MAX_DIMS || section->element == 0 ||
        section->element > 16)
        return false;
    for (uint32_t d = 0; d < section->n_dims; d++) {
        if (section->dims[d] < 0 || section->count[d] < 0 || section->start[d] < 0 || section->skip[d] < 1)
            return false;
        if (section->count[d] > 0 &&
            (__builtin_mul_overflow((uint64_t)section->count[d] - 1, (uint64_t)section->skip[d], &reach) ||
             __builtin_add_overflow(reach, (uint64_t)section->start[d], &reach) ||
             reach >= (uint64_t)section->dims[d]))
            return false;
        if (__builtin_mul_overflow(bytes, (uint64_t)section->dims[d], &bytes) || bytes > INT64_MAX)
            return false;
    }
    return true;
}

/* ---- copying ---- */

/* A run along the first dimension; inlined with a size that the compiler knows. */
static inline void copy_run(char *to, uint64_t to_step, const char *from, uint64_t from_step, int64_t n,
                            size_t size)
{
    for (int64_t i = 0; i < n; i++, to += to_step, from += from_step)
        memcpy(to, from, size);
}

static void copy_elements(char *to, uint64_t to_step, const char *from, uint64_t from_step, int64_t n,
                          size_t size)
{
    if (to_step == size && from_step == size)
        memcpy(to, from, (size_t)n * size);
    else if (size == 8)
        copy_run(to, to_step, from, from_step, n, 8);
    else if (size == 4)
        copy_run(to, to_step, from, from_step, n, 4);
    else if (size == 16)
        copy_run(to, to_step, from, from_step, n, 16);
    else
        copy_run(to, to_step, from, from_step, n, size);
}

/* Where the run that `at` stands for begins in the whole array, in bytes. */
static uint64_t run_offset(const struct section *section, const int64_t *at)
{
    uint64_t offset = 0;
    for (uint32_t d = section->n_dims; d-- > 0;)
        offset =
            offset * (uint64_t)section->dims[d] + (uint64_t)(section->start[d] + at[d] * section->skip[d]);
    return offset * section->element;
}

/* The next run; false behind the last. */
static bool next_run(const struct section *section, int64_t *at)
{
    for (uint32_t d = 1; d < section->n_dims; d++) {
        if (++at[d] < section->count[d])
            return true;
        at[d] = 0;
    }
    return false;
}

void section_gather(const struct section *section, const void *whole, void *elements)
{
    int64_t at[PROBLEM_MAX_DIMS] = {0};
    uint64_t size = section->element, step = size * (uint64_t)section->skip[0];
    char *to = elements;
    if (section_count(section) == 0)
        return;
    do {
        copy_elements(to, size, (const char *)whole + run_offset(section, at), step, section->count[0], size);
        to += (uint64_t)section->count[0] * size;
    } while (next_run(section, at));
}

void section_scatter(const struct section *section, const void *elements, void *whole)
{
    int64_t at[PROBLEM_MAX_DIMS] = {0};
    uint64_t size = section->element, step = size * (uint64_t)section->skip[0];
    const char *from = elements;
    if (section_count(section) == 0)
        return;
    do {
        copy_elements((char *)whole + run_offset(section, at), step, from, size, section->count[0], size);
        from += (uint64_t)section->count[0] * size;
    } while (next_run(section, at));
}

void argument_write_dims(struct text *text, const struct argument *argument)
{
    for (uint32_t d = 0; d < argument->n_dims; d++) {
        text_put(text, d ? ", " : "[");
        expr_write(argument->dims[d], text);
        for (unsigned i = 0; i < 3 && argument->section[d][0]; i++) {
            text_put(text, i ? "," : ":");
            expr_write(argument->section[d][i], text);
        }
    }
    if (argument->n_dims)
        text_put(text, "]");
}
