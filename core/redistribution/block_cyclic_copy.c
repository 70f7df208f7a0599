/* SPDX-License-Identifier: Apache-2.0 */
#include "core/redistribution/block_cyclic.h"

#include <string.h>

/* One column: its blocks lie one after the other in the part, and `ranks` blocks apart in the whole. From the
 * part's side: behind its last block, a next one of the whole may be beyond what can be counted. */
static void copy_column(const struct block_cyclic *rows, int64_t rank, char *whole, char *part, bool gather,
                        size_t bytes)
{
    int64_t count = block_cyclic_count(rows, rank);
    for (int64_t l = 0, n; l < count; l += n) {
        int64_t i = block_cyclic_global(rows, rank, l);
        n = count - l < rows->block ? count - l : rows->block;
        memcpy(gather ? part : whole + (size_t)i * bytes, gather ? whole + (size_t)i * bytes : part,
               (size_t)n * bytes);
        part += (size_t)n * bytes;
    }
}

static void copy(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col, char *whole, char *part,
                 int64_t leading, bool gather, size_t bytes)
{
    int64_t n = block_cyclic_count(&matrix->cols, col);
    for (int64_t j = 0; j < n; j++)
        copy_column(&matrix->rows, row,
                    whole + (size_t)(block_cyclic_global(&matrix->cols, col, j) * matrix->rows.n) * bytes,
                    part + (size_t)(j * leading) * bytes, gather, bytes);
}

void block_cyclic_gather(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col,
                         const void *whole, void *part, int64_t leading, size_t element_bytes)
{
    copy(matrix, row, col, (char *)(uintptr_t)whole, part, leading, true, element_bytes);
}

void block_cyclic_scatter(const struct block_cyclic_matrix *matrix, int64_t row, int64_t col,
                          const void *part, int64_t leading, void *whole, size_t element_bytes)
{
    copy(matrix, row, col, whole, (char *)(uintptr_t)part, leading, false, element_bytes);
}
