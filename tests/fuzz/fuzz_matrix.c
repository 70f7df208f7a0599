/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: no content, however malformed, makes the readers of matrix files crash or take much memory,
 * and what one format has read every format can write. Seeds: tests/fuzz/corpus/matrix, examples/matrices.
 */
#include "core/matrix/matrix.h"
#include "tests/fuzz/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct matrix_file file;
    struct esp_error error;
    const struct matrix_reading reading = {.max_bytes = 1 << 22, .sum_duplicates = size % 2};
    if (matrix_parse((const char *)data, size, "fuzz", &reading, &file, &error) != ESP_OK)
        return 0;
    matrix_is_symmetric(&file.matrix, 0, NULL, NULL);
    matrix_norm_inf(&file.matrix);
    if (matrix_stored(&file.matrix) < 4096 && file.matrix.rows < 4096 && file.matrix.cols < 4096)
        for (unsigned i = 0; matrix_format_at(i); i++)
            matrix_save("/dev/null", &file, matrix_format_at(i), &error);
    matrix_file_clear(&file);
    return 0;
}
