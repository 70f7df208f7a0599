/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target: no text, however malformed, makes the matrix readers crash or take much memory.
 * Build: clang -fsanitize=fuzzer,address,undefined -I. -Iinclude -Ibuild tests/fuzz/fuzz_matrix.c
 * core/matrix*.c core/harwell_boeing.c core/fortran_format.c util/error.c -lm. Seeds: examples/matrices.
 */
#include "core/matrix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct matrix_file file;
    struct esp_error error;
    if (matrix_parse((const char *)data, size, "fuzz", 1 << 24, &file, &error) == ESP_OK)
        matrix_file_clear(&file);
    return 0;
}
