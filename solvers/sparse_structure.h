/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOLVERS_SPARSE_STRUCTURE_H
#define SOLVERS_SPARSE_STRUCTURE_H

#include <stdbool.h>

/* Whether pointers and rows describe compressed columns with ascending rows. */
static inline bool structure_is_good(int n, const int *pointers, const int *rows)
{
    if (n < 0 || pointers[0] != 0)
        return false;
    for (int j = 0; j < n; j++) {
        if (pointers[j + 1] < pointers[j])
            return false;
        for (int k = pointers[j]; k < pointers[j + 1]; k++)
            if (rows[k] < 0 || rows[k] >= n || (k > pointers[j] && rows[k] <= rows[k - 1]))
                return false;
    }
    return true;
}

/* The same of m x n, rows in any order; none twice is not asked for. */
static inline bool columns_are_good(int m, int n, const int *pointers, const int *rows)
{
    if (m < 0 || n < 0 || pointers[0] != 0)
        return false;
    for (int j = 0; j < n; j++) {
        if (pointers[j + 1] < pointers[j])
            return false;
        for (int k = pointers[j]; k < pointers[j + 1]; k++)
            if (rows[k] < 0 || rows[k] >= m)
                return false;
    }
    return true;
}

#endif
