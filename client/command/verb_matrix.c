/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier matrix info: what a matrix file holds.
 */
#include "config.h"

#include "client/command/command.h"
#include "client/command/table.h"
#include "core/matrix.h"

#include <math.h>

struct findings {
    int64_t nonzeros;
    bool is_symmetric, positive_diagonal, is_finite;
    double norm;
};

static void examine(const struct matrix *matrix, struct findings *findings)
{
    findings->nonzeros = matrix_nonzeros(matrix);
    findings->is_finite = matrix_is_finite(matrix, NULL, NULL);
    findings->is_symmetric = matrix_is_symmetric(matrix, NULL, NULL);
    findings->positive_diagonal = matrix_has_positive_diagonal(matrix);
    findings->norm = matrix_norm_inf(matrix);
}

/* JSON knows no infinity */
static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *as_json(const char *path, const struct matrix_file *file, const struct findings *findings)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:o}",
                     "file", path, "format", matrix_format_name(file->format), "title", file->title, "sparse",
                     (int)file->is_sparse, "field", matrix_field_name(file->field), "symmetry",
                     matrix_symmetry_name(file->symmetry), "key", file->key, "rows",
                     (json_int_t)file->matrix.rows, "columns", (json_int_t)file->matrix.cols, "entries",
                     (json_int_t)file->entries, "nonzeros", (json_int_t)findings->nonzeros,
                     "right_hand_sides", (json_int_t)file->rhs.cols, "symmetric", (int)findings->is_symmetric,
                     "positive_diagonal", (int)findings->positive_diagonal, "finite",
                     (int)findings->is_finite, "norm_inf", real_or_null(findings->norm));
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
    printf("  dense      %s\n", quantity_bytes(matrix_bytes(&file->matrix), bytes));
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
    const char *path = command->operands[0];
    if (matrix_load(path, 0, &file, &error) != ESP_OK)
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
