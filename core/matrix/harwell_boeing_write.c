/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing Harwell-Boeing and Rutherford-Boeing files: what is in them and who made them,
 * core/matrix/harwell_boeing.c.
 */
#include "config.h"

#include "core/matrix/matrix_format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REALS_PER_LINE 3             /* of 25 characters: 17 significant digits and an exponent of three */
#define REAL_FORMAT    "(3E25.16E3)" /* without 1P, which SciPy cannot read and a written point overrides */
#define REAL_WIDTH     25

/* Integers in columns as wide as the largest needs. */
struct integer_column {
    int width, per_line;
    char format[17];
};

static void plan_integers(struct integer_column *column, int64_t largest)
{
    column->width = snprintf(NULL, 0, "%" PRId64, largest) + 1;
    column->per_line = 80 / column->width;
    snprintf(column->format, sizeof column->format, "(%dI%d)", column->per_line, column->width);
}

static int64_t lines_of(int64_t n, int per_line)
{
    return n / per_line + (n % per_line != 0);
}

static void end_item(FILE *stream, int64_t *n, int per_line)
{
    if (++*n % per_line == 0)
        fputc('\n', stream);
}

static void end_items(FILE *stream, int64_t n, int per_line)
{
    if (n % per_line != 0)
        fputc('\n', stream);
}

static void put_real(FILE *stream, double value, int64_t *n)
{
    fprintf(stream, "%*.16E", REAL_WIDTH, value);
    end_item(stream, n, REALS_PER_LINE);
}

static void write_pointers(FILE *stream, const struct matrix_file *file, const struct integer_column *column)
{
    const struct matrix *matrix = &file->matrix;
    int64_t n = 0, next = 1;
    for (int64_t j = 0; j <= matrix->cols; j++) {
        fprintf(stream, "%*" PRId64, column->width, next);
        end_item(stream, &n, column->per_line);
        for (int64_t k = column_begin(matrix, j); j < matrix->cols && k < column_begin(matrix, j + 1); k++)
            next += entry_is_listed(file, entry_row(matrix, j, k), j, k);
    }
    end_items(stream, n, column->per_line);
}

/* Calls `put` for each entry that the file lists. */
static void each_entry(FILE *stream, const struct matrix_file *file, const struct integer_column *column,
                       void (*put)(FILE *, const struct matrix_file *, const struct integer_column *,
                                   int64_t row, int64_t entry, int64_t *n),
                       int per_line)
{
    const struct matrix *matrix = &file->matrix;
    int64_t n = 0;
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++)
            if (entry_is_listed(file, entry_row(matrix, j, k), j, k))
                put(stream, file, column, entry_row(matrix, j, k), k, &n);
    end_items(stream, n, per_line);
}

static void put_row(FILE *stream, const struct matrix_file *file, const struct integer_column *column,
                    int64_t row, int64_t entry, int64_t *n)
{
    (void)file, (void)entry;
    fprintf(stream, "%*" PRId64, column->width, row + 1);
    end_item(stream, n, column->per_line);
}

static void put_value(FILE *stream, const struct matrix_file *file, const struct integer_column *column,
                      int64_t row, int64_t entry, int64_t *n)
{
    const double *values = file->matrix.values;
    (void)row;
    if (file->field == FIELD_INTEGER) {
        fprintf(stream, "%*" PRId64, column->width, matrix_integer(&file->matrix, (size_t)entry));
        end_item(stream, n, column->per_line);
    } else if (file->field == FIELD_COMPLEX) {
        put_real(stream, values[2 * entry], n);
        put_real(stream, values[2 * entry + 1], n);
    } else {
        put_real(stream, values[entry], n);
    }
}

static void write_rhs(FILE *stream, const struct matrix *rhs)
{
    int64_t n = 0, doubles = matrix_stored(rhs) * (rhs->is_complex ? 2 : 1);
    for (int64_t k = 0; k < doubles; k++)
        put_real(stream, rhs->values[k], &n);
    end_items(stream, n, REALS_PER_LINE);
}

static char type_letter(enum matrix_field field)
{
    return field == FIELD_COMPLEX ? 'C' : field == FIELD_PATTERN ? 'P' : field == FIELD_INTEGER ? 'I' : 'R';
}

static char symmetry_letter(const struct matrix_file *file)
{
    static const char letters[] = {[SYMMETRY_GENERAL] = 'U',
                                   [SYMMETRY_SYMMETRIC] = 'S',
                                   [SYMMETRY_SKEW] = 'Z',
                                   [SYMMETRY_HERMITIAN] = 'H'};
    return file->matrix.rows != file->matrix.cols ? 'R' : letters[file->symmetry];
}

/* How the numbers stand and how many lines they take. */
struct plan {
    int64_t entries, pointer_lines, index_lines, value_lines, rhs_lines;
    struct integer_column pointers, indices, integers;
    const char *value_format;
    int values_per_line;
};

static int64_t largest_integer(const struct matrix *matrix)
{
    double largest = 0;
    for (int64_t k = 0; k < matrix_stored(matrix); k++) {
        double size =
            matrix->values[k] < 0 ? -10 * matrix->values[k] : matrix->values[k]; /* room for the sign */
        largest = size > largest ? size : largest;
    }
    return largest < 9e18 ? (int64_t)largest : INT64_MAX;
}

static void make_plan(const struct matrix_file *file, bool with_rhs, struct plan *plan)
{
    const struct matrix *matrix = &file->matrix;
    plan->entries = entries_listed(file);
    plan_integers(&plan->pointers, plan->entries + 1);
    plan_integers(&plan->indices, matrix->rows);
    plan->pointer_lines = lines_of(matrix->cols + 1, plan->pointers.per_line);
    plan->index_lines = lines_of(plan->entries, plan->indices.per_line);
    plan->values_per_line = REALS_PER_LINE;
    plan->value_format = REAL_FORMAT;
    if (file->field == FIELD_INTEGER) {
        plan_integers(&plan->integers, largest_integer(matrix));
        plan->value_format = plan->integers.format;
        plan->values_per_line = plan->integers.per_line;
    }
    int64_t values =
        file->field == FIELD_PATTERN ? 0 : plan->entries * (file->field == FIELD_COMPLEX ? 2 : 1);
    plan->value_lines = lines_of(values, plan->values_per_line);
    plan->rhs_lines =
        with_rhs ? lines_of(matrix_stored(&file->rhs) * (file->rhs.is_complex ? 2 : 1), REALS_PER_LINE) : 0;
    if (file->field == FIELD_PATTERN)
        plan->value_format = "";
}

static void write_header(FILE *stream, const struct matrix_file *file, const struct plan *plan,
                         bool is_rutherford)
{
    const struct matrix *matrix = &file->matrix;
    int64_t total = plan->pointer_lines + plan->index_lines + plan->value_lines + plan->rhs_lines;
    fprintf(stream, "%-72.72s%-8.8s\n", *file->title ? file->title : "Written by Espalier",
            *file->key ? file->key : "ESPALIER");
    fprintf(stream, "%14" PRId64 "%14" PRId64 "%14" PRId64 "%14" PRId64, total, plan->pointer_lines,
            plan->index_lines, plan->value_lines);
    if (!is_rutherford)
        fprintf(stream, "%14" PRId64, plan->rhs_lines);
    fprintf(stream, "\n%c%cA%11s%14" PRId64 "%14" PRId64 "%14" PRId64 "%14d\n", type_letter(file->field),
            symmetry_letter(file), "", matrix->rows, matrix->cols, plan->entries, 0);
    fprintf(stream, "%-16s%-16s%-20s", plan->pointers.format, plan->indices.format, plan->value_format);
    if (plan->rhs_lines)
        fprintf(stream, "%-20s\nF%13s%14" PRId64 "%14d", REAL_FORMAT, "", file->rhs.cols, 0);
    fputc('\n', stream);
}

static enum esp_status write_file(FILE *stream, const struct matrix_file *file, bool is_rutherford,
                                  struct esp_error *error)
{
    struct plan plan;
    if (file->matrix.rows != file->matrix.cols && file->symmetry != SYMMETRY_GENERAL)
        return error_set(error, ESP_INVALID, "a %s matrix is square, found %lld x %lld",
                         matrix_symmetry_name(file->symmetry), (long long)file->matrix.rows,
                         (long long)file->matrix.cols);
    make_plan(file, !is_rutherford && file->rhs.values, &plan);
    write_header(stream, file, &plan, is_rutherford);
    write_pointers(stream, file, &plan.pointers);
    each_entry(stream, file, &plan.indices, put_row, plan.indices.per_line);
    if (file->field != FIELD_PATTERN)
        each_entry(stream, file, &plan.integers, put_value, plan.values_per_line);
    if (plan.rhs_lines)
        write_rhs(stream, &file->rhs);
    return ESP_OK;
}

enum esp_status harwell_boeing_write(FILE *stream, const struct matrix_file *file, struct esp_error *error)
{
    struct matrix_file shown = *file;
    if (shown.field == FIELD_INTEGER) /* it knows no integers */
        shown.field = FIELD_REAL;
    return write_file(stream, &shown, false, error);
}

enum esp_status rutherford_boeing_write(FILE *stream, const struct matrix_file *file, struct esp_error *error)
{
    return write_file(stream, file, true, error);
}
