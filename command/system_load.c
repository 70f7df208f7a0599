/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/system.h"

#include "core/values/values_storage.h"
#include "command/values.h"
#include "command/waiting.h"
#include "util/clock.h"

#include <string.h>

/* Every stored value gets an imaginary part of 0. */
static enum esp_status make_complex(struct matrix *matrix, struct esp_error *error)
{
    struct matrix wide;
    const int64_t stored = matrix_stored(matrix);
    if (matrix->is_complex)
        return ESP_OK;
    enum esp_status status =
        matrix_is_sparse(matrix)
            ? matrix_init_sparse(&wide, matrix->rows, matrix->cols, stored, true, 0, error)
            : matrix_init(&wide, matrix->rows, matrix->cols, true, 0, error);
    if (status != ESP_OK)
        return status;
    for (int64_t k = 0; k < stored; k++)
        wide.values[2 * k] = matrix->values[k];
    if (matrix_is_sparse(matrix)) {
        memcpy(wide.starts, matrix->starts, ((size_t)matrix->cols + 1) * sizeof *wide.starts);
        memcpy(wide.indices, matrix->indices, (size_t)stored * sizeof *wide.indices);
    }
    matrix_clear(matrix);
    *matrix = wide;
    return ESP_OK;
}

enum esp_status system_make_complex(struct system *system, struct esp_error *error)
{
    enum esp_status status = make_complex(&system->file.matrix, error);
    return status == ESP_OK ? make_complex(&system->b, error) : status;
}

static enum esp_status check_finite(const char *path, const struct matrix *matrix, struct esp_error *error)
{
    int64_t row, col;
    if (matrix_is_finite(matrix, &row, &col))
        return ESP_OK;
    return error_set(error, ESP_SYNTAX, "%s: the element in row %lld, column %lld is not a finite number",
                     path, (long long)row + 1, (long long)col + 1);
}

static enum esp_status load_a(const char *path, const struct matrix_reading *reading, struct system *system,
                              struct esp_error *error)
{
    enum esp_status status = matrix_load(path, reading, &system->file, error);
    if (status != ESP_OK)
        return values_too_large(status, error);
    const struct matrix *a = &system->file.matrix;
    if (a->rows != a->cols)
        return error_set(error, ESP_INVALID,
                         "%s: expected a square matrix, found %lld x %lld ('espalier call dgels' finds least "
                         "squares solutions)",
                         path, (long long)a->rows, (long long)a->cols);
    return check_finite(path, a, error);
}

static enum esp_status make_ones(struct system *system, struct esp_error *error)
{
    enum esp_status status = matrix_init(&system->b, system->file.matrix.rows, 1, false, 0, error);
    for (int64_t i = 0; status == ESP_OK && i < system->b.rows; i++)
        system->b.values[i] = 1;
    system->rhs = RHS_ONES;
    return status;
}

static enum esp_status load_b(const struct command_line *command, const struct matrix_reading *reading,
                              struct system *system, struct esp_error *error)
{
    bool own = command_option_value(command, "own-rhs");
    const char *path = command->n_operands > 1 ? command->operands[1] : NULL;
    enum esp_status status = ESP_OK;
    if (own && path)
        return error_set(error, ESP_INVALID,
                         "--own-rhs takes the right-hand side of A's file: B is not needed");
    if (own && !system->file.rhs.values)
        return error_set(error, ESP_INVALID, "--own-rhs: %s has no right-hand side", command->operands[0]);
    if (own) {
        system->b = system->file.rhs;
        system->file.rhs = (struct matrix){0};
        system->rhs = RHS_OWN;
    } else if (path) {
        struct matrix_file file;
        status = matrix_load_dense(path, reading, &file, error);
        if (status != ESP_OK)
            return values_too_large(status, error);
        system->b = file.matrix;
        file.matrix = (struct matrix){0};
        matrix_file_clear(&file);
        system->rhs = RHS_FILE;
    } else {
        status = make_ones(system, error);
    }
    if (status != ESP_OK)
        return status;
    if (system->b.rows != system->file.matrix.rows)
        return error_set(error, ESP_INVALID, "B has %lld rows, but A has %lld", (long long)system->b.rows,
                         (long long)system->file.matrix.rows);
    status = check_finite(path ? path : command->operands[0], &system->b, error);
    return status == ESP_OK && (system->file.matrix.is_complex || system->b.is_complex)
               ? system_make_complex(system, error)
               : status;
}

enum esp_status system_load(const struct command_line *command, struct system *system,
                            struct esp_error *error)
{
    const int64_t begun_ns = clock_now_ns(&clock_system);
    struct matrix_reading reading;
    enum esp_status status = values_reading(command, &reading, error);
    if (status != ESP_OK)
        return status;
    system->max_input = reading.max_bytes;
    waiting_begin(command->verb->name, command->operands[0]);
    status = load_a(command->operands[0], &reading, system, error);
    waiting_end();
    if (status != ESP_OK)
        return status;
    if (command->n_operands > 1)
        waiting_begin(command->verb->name, command->operands[1]);
    status = load_b(command, &reading, system, error);
    waiting_end();
    system->read_s = (double)(clock_now_ns(&clock_system) - begun_ns) / 1e9;
    return status;
}

void system_clear(struct system *system)
{
    matrix_file_clear(&system->file);
    matrix_clear(&system->b);
    matrix_clear(&system->x);
    esp_session_info_free(system->info);
    esp_run_destroy(system->run);
    values_clear(&system->values);
    esp_problem_free(system->solver);
}
