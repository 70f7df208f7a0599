/* SPDX-License-Identifier: Apache-2.0
 *
 * Least squares on ranks of MPI: ScaLAPACK's p?gels solves with the triangular factor without a look at its
 * diagonal, where LAPACK's ?gels tells of a matrix without full rank (info > 0). These do, too. Their
 * arguments are those of p?gels, in Fortran's convention; all ranks of the grid get the same info.
 */
#include "solvers/solvers.h"

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);
void Cigamn2d(int context, const char *scope, const char *topology, int m, int n, int *a, int lda, int *ra,
              int *ca, int leading, int row, int col);
void Cigamx2d(int context, const char *scope, const char *topology, int m, int n, int *a, int lda, int *ra,
              int *ca, int leading, int row, int col);

/* A descriptor of ScaLAPACK. */
enum { CONTEXT = 1, ROW_BLOCK = 4, COL_BLOCK, FIRST_ROW, FIRST_COL, LEADING };

/* The rank of a line of the grid that has element i, and where. */
static int owner_of(int i, int block, int first, int ranks)
{
    return (i / block + first) % ranks;
}

static int place_of(int i, int block, int ranks)
{
    return i / block / ranks * block + i % block;
}

/* Elements of one of the four types. */
struct elements {
    size_t bytes;
    bool (*is_zero)(const void *element);
};

/* A part of a matrix that begins with its first element, and who looks at it. */
struct part {
    struct elements of;
    const char *memory;
    const int *desc;
    int rows, cols, row, col; /* of the grid, and of this rank in it */
};

/* NULL: element (i, j) lies with another rank. */
static const void *own_element(const struct part *part, int i, int j)
{
    const int *desc = part->desc;
    if (owner_of(i, desc[ROW_BLOCK], desc[FIRST_ROW], part->rows) != part->row ||
        owner_of(j, desc[COL_BLOCK], desc[FIRST_COL], part->cols) != part->col)
        return NULL;
    const ptrdiff_t at = (ptrdiff_t)place_of(j, desc[COL_BLOCK], part->cols) * desc[LEADING] +
                         place_of(i, desc[ROW_BLOCK], part->rows);
    return part->memory + at * (ptrdiff_t)part->of.bytes;
}

static bool all_are_zero(const struct part *part, int m, int n)
{
    int anything = 0, nobody = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m && !anything; i++) {
            const void *element = own_element(part, i, j);
            anything = element && !part->of.is_zero(element);
        }
    Cigamx2d(part->desc[CONTEXT], "All", " ", 1, 1, &anything, 1, &nobody, &nobody, -1, -1, -1);
    return !anything;
}

/* What LAPACK's info would be: the first element of the diagonal that is zero, counted from 1. Zeroes, which
 * LAPACK answers with zeroes, are none. All ranks of the grid ask at the same time. */
static int first_zero(struct part part, int m, int n)
{
    const int least = m < n ? m : n;
    int first = least + 1, nobody = 0;
    Cblacs_gridinfo(part.desc[CONTEXT], &part.rows, &part.cols, &part.row, &part.col);
    for (int i = 0; i < least && first > least; i++) {
        const void *element = own_element(&part, i, i);
        if (element && part.of.is_zero(element))
            first = i + 1;
    }
    Cigamn2d(part.desc[CONTEXT], "All", " ", 1, 1, &first, 1, &nobody, &nobody, -1, -1, -1);
    return first > least || all_are_zero(&part, m, n) ? 0 : first;
}

#define FULL_RANK(letter, SCALAR)                                                                            \
    void p##letter##gels_(const char *trans, const int *m, const int *n, const int *nrhs, SCALAR *a,         \
                          const int *ia, const int *ja, const int *desca, SCALAR *b, const int *ib,          \
                          const int *jb, const int *descb, SCALAR *work, const int *lwork, int *info,        \
                          size_t trans_length);                                                              \
    static bool letter##_is_zero(const void *element)                                                        \
    {                                                                                                        \
        return *(const SCALAR *)element == 0;                                                                \
    }                                                                                                        \
    SOLVER void esp_p##letter##gels_(const char *trans, const int *m, const int *n, const int *nrhs,         \
                                     SCALAR *a, const int *ia, const int *ja, const int *desca, SCALAR *b,   \
                                     const int *ib, const int *jb, const int *descb, SCALAR *work,           \
                                     const int *lwork, int *info, size_t trans_length);                      \
    SOLVER void esp_p##letter##gels_(const char *trans, const int *m, const int *n, const int *nrhs,         \
                                     SCALAR *a, const int *ia, const int *ja, const int *desca, SCALAR *b,   \
                                     const int *ib, const int *jb, const int *descb, SCALAR *work,           \
                                     const int *lwork, int *info, size_t trans_length)                       \
    {                                                                                                        \
        p##letter##gels_(trans, m, n, nrhs, a, ia, ja, desca, b, ib, jb, descb, work, lwork, info,           \
                         trans_length);                                                                      \
        const struct elements elements = {sizeof *a, letter##_is_zero};                                      \
        if (*info == 0 && *lwork != -1)                                                                      \
            *info = first_zero((struct part){.of = elements, .memory = (char *)a, .desc = desca}, *m, *n);   \
    }

FULL_RANK(s, float)
FULL_RANK(d, double)
FULL_RANK(c, float complex)
FULL_RANK(z, double complex)
