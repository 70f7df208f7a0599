/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier matrix info: what a matrix file holds; espalier matrix convert: the same in another format.
 */
#include "config.h"

#include "command/verbs.h"
#include "command/table.h"
#include "command/values.h"
#include "core/matrix/matrix.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct findings {
    int64_t nonzeros;
    bool is_symmetric, positive_diagonal, is_finite;
    double norm;
};

static void examine(const struct matrix *matrix, struct findings *findings)
{
    findings->nonzeros = matrix_nonzeros(matrix);
    findings->is_finite = matrix_is_finite(matrix, NULL, NULL);
    findings->is_symmetric = matrix_is_symmetric(matrix, 0, NULL, NULL);
    findings->positive_diagonal = matrix_has_positive_diagonal(matrix, 0);
    findings->norm = matrix_norm_inf(matrix);
}

static json_t *as_json(const char *path, const struct matrix_file *file, const struct findings *findings)
{
    return json_pack("{s:o, s:s, s:s, s:b, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:o, s:o}",
                     "file", command_json_text(path), "format", matrix_format_name(file->format), "title",
                     file->title, "sparse", (int)file->is_sparse, "field", matrix_field_name(file->field),
                     "symmetry", matrix_symmetry_name(file->symmetry), "key", file->key, "rows",
                     (json_int_t)file->matrix.rows, "columns", (json_int_t)file->matrix.cols, "entries",
                     (json_int_t)file->entries, "nonzeros", (json_int_t)findings->nonzeros,
                     "right_hand_sides", (json_int_t)file->rhs.cols, "symmetric", (int)findings->is_symmetric,
                     "positive_diagonal", (int)findings->positive_diagonal, "finite",
                     (int)findings->is_finite, "norm_inf", command_json_real(findings->norm), "note",
                     command_json_text(file->note));
}

static void print(const char *path, const struct matrix_file *file, const struct findings *findings)
{
    char bytes[QUANTITY_TEXT];
    const char *structure = file->matrix.is_complex ? (findings->is_symmetric ? "Hermitian" : "not Hermitian")
                                                    : (findings->is_symmetric ? "symmetric" : "unsymmetric");
    printf("%s\n", path);
    printf("  format     %s, %s, %s %s\n", matrix_format_name(file->format),
           file->is_sparse ? "sparse" : "array", matrix_field_name(file->field),
           matrix_symmetry_name(file->symmetry));
    if (*file->title)
        printf("  title      %s (%s)\n", file->title, file->key);
    printf("  size       %lld x %lld, %lld entries in the file, %lld nonzeros\n",
           (long long)file->matrix.rows, (long long)file->matrix.cols, (long long)file->entries,
           (long long)findings->nonzeros);
    double dense = (double)file->matrix.rows * (double)file->matrix.cols * (file->matrix.is_complex ? 16 : 8);
    if (dense < 1e18)
        printf("  dense      %s\n", quantity_bytes((uint64_t)dense, bytes));
    printf("  is         %s%s%s\n", structure, findings->positive_diagonal ? ", positive diagonal" : "",
           findings->is_finite ? "" : ", with elements that are not finite");
    printf("  norm       %.6g (largest row sum)\n", findings->norm);
    if (file->rhs.values)
        printf("  has        %lld right-hand side%s\n", (long long)file->rhs.cols,
               file->rhs.cols == 1 ? "" : "s");
}

enum exit_code verb_matrix_info(const struct command_line *command)
{
    struct esp_error error = {0};
    struct matrix_file file;
    struct matrix_reading reading;
    const char *path = command->operands[0];
    if (values_reading(command, &reading, &error) != ESP_OK ||
        matrix_file_fault(matrix_load(path, &reading, &file, &error), &error) != ESP_OK)
        return command_fail(command, &error);
    struct findings findings;
    examine(&file.matrix, &findings);
    enum exit_code code;
    if (command->json) {
        code = command_json(as_json(path, &file, &findings));
    } else {
        print(path, &file, &findings);
        code = command_flush();
    }
    matrix_file_clear(&file);
    return code;
}

static enum esp_status set_layout(const struct command_line *command, struct matrix_file *file,
                                  struct esp_error *error)
{
    const char *layout = command_option_value(command, "layout");
    if (!layout)
        return ESP_OK;
    if (strcmp(layout, "sparse") != 0 && strcmp(layout, "dense") != 0)
        return error_set(error, ESP_INVALID, "--layout: expected sparse or dense, found '%.40s'", layout);
    file->is_sparse = strcmp(layout, "sparse") == 0;
    return ESP_OK;
}

enum exit_code verb_matrix_convert(const struct command_line *command)
{
    struct esp_error error = {0};
    struct matrix_file file = {0};
    const struct matrix_format *format;
    struct matrix_reading reading;
    const char *from = command->operands[0], *to = command->operands[1];
    enum exit_code code = EXIT_DONE;
    if (values_format(command, &format, &error) != ESP_OK ||
        values_reading(command, &reading, &error) != ESP_OK)
        return command_fail(command, &error);
    if (!format && !(format = matrix_format_of_path(to)))
        return command_usage(
            command,
            "%s: expected an ending that names a format (.mtx, .npy, .rb, .hb, .octave, .csv), or --format",
            to);
    if (matrix_file_fault(matrix_load(from, &reading, &file, &error), &error) != ESP_OK ||
        set_layout(command, &file, &error) != ESP_OK || matrix_save(to, &file, format, &error) != ESP_OK)
        code = command_fail(command, &error);
    else if (command->json)
        code = command_json(json_pack("{s:o, s:s, s:I, s:I}", "file", command_json_text(to), "format",
                                      matrix_format_name(format), "rows", (json_int_t)file.matrix.rows,
                                      "columns", (json_int_t)file.matrix.cols));
    else if (strcmp(to, "-") != 0)
        command_progress(command, "%s: %lld x %lld, %s", to, (long long)file.matrix.rows,
                         (long long)file.matrix.cols, matrix_format_name(format));
    matrix_file_clear(&file);
    return code;
}
