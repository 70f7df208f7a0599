/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a routine's solution solves its system.
 */
#include "sed/crd/crd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One pass through the elements of the matrix that are read. */
struct walk {
    const struct ring_system *system;
    struct system_look *look;
    bool is_finite;
    double largest; /* first pass */
    double factor;  /* second pass: 2^-scale */
    double *rows;   /* second pass: sums of absolute values */
    double *signs;  /* second pass: the vectors of signs, one behind the other */
};

static void load(enum base_type type, const void *memory, int64_t at, double *re, double *im)
{
    *im = 0;
    switch (type) {
    case TYPE_FLOAT:
        *re = (double)((const float *)memory)[at];
        break;
    case TYPE_COMPLEX:
        *re = (double)((const float *)memory)[2 * at];
        *im = (double)((const float *)memory)[2 * at + 1];
        break;
    case TYPE_DOUBLE_COMPLEX:
        *re = ((const double *)memory)[2 * at];
        *im = ((const double *)memory)[2 * at + 1];
        break;
    default:
        *re = ((const double *)memory)[at];
    }
}

static double modulus(double re, double im)
{
    return im == 0 ? fabs(re) : hypot(re, im);
}

/* The sign of element i in vector k: a bit of a mixed counter (Steele, Lea and Flood, SplitMix64, 2014). */
static double sign_of(int64_t i, unsigned k)
{
    uint64_t z = ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z >> (32 + k)) & 1 ? 1.0 : -1.0;
}

/* Element (i, j) of A, as it counts in A' v. */
static void add_element(struct walk *walk, int64_t i, int64_t j, double re, double im)
{
    const int64_t n = walk->system->shape.layout.rows;
    const bool transposed = walk->system->shape.transposed != 'N';
    const int64_t row = transposed ? j : i, col = transposed ? i : j;
    const double imaginary = walk->system->shape.transposed == 'C' ? -im : im;
    walk->rows[row] += modulus(re, im);
    for (unsigned k = 0; k < SYSTEM_LOOKS; k++) {
        double *to = walk->look->seen + 2 * ((int64_t)k * n + col);
        to[0] += walk->signs[(int64_t)k * n + row] * re;
        to[1] += walk->signs[(int64_t)k * n + row] * imaginary;
    }
}

/* A stored element. */
static void take(struct walk *walk, int64_t i, int64_t j, double re, double im)
{
    const struct system_shape *shape = &walk->system->shape;
    if (shape->triangle && (shape->upper ? i > j : i < j))
        return;
    if (shape->unit && i == j)
        return;
    if (!walk->rows) {
        const double size = fmax(fabs(re), fabs(im));
        walk->is_finite &= isfinite(re) && isfinite(im);
        walk->largest = size > walk->largest ? size : walk->largest;
        return;
    }
    re *= walk->factor;
    im *= walk->factor;
    if (shape->conjugated && i == j)
        im = 0;
    add_element(walk, i, j, re, im);
    if (shape->mirrored && i != j)
        add_element(walk, j, i, re, shape->conjugated ? -im : im);
}

/* ---- through the stored elements ---- */

static inline __attribute__((always_inline)) void walk_full(struct walk *walk, const void *memory,
                                                            enum base_type type)
{
    const struct system_shape *shape = &walk->system->shape;
    const int64_t n = shape->layout.rows;
    for (int64_t j = 0; j < n; j++) {
        const int64_t from = shape->triangle && !shape->upper ? j : 0;
        const int64_t to = shape->triangle && shape->upper ? j + 1 : n;
        for (int64_t i = from; i < to; i++) {
            double re, im;
            load(type, memory, i + j * n, &re, &im);
            take(walk, i, j, re, im);
        }
    }
}

static void walk_packed_or_banded(struct walk *walk, const void *memory)
{
    const struct layout *layout = &walk->system->shape.layout;
    const bool banded = layout->storage == STORAGE_BANDED;
    const int64_t n = layout->rows;
    for (int64_t j = 0; j < n; j++) {
        int64_t from = banded ? j - layout->above : layout->upper ? 0 : j;
        int64_t to = banded ? j + layout->below + 1 : layout->upper ? j + 1 : n;
        from = from < 0 ? 0 : from;
        to = to > n ? n : to;
        for (int64_t i = from; i < to; i++) {
            double re, im;
            const int64_t at = layout_index(layout, i, j);
            if (at < 0)
                continue;
            load((enum base_type)walk->system->type, memory, at, &re, &im);
            take(walk, i, j, re, im);
        }
    }
}

static void walk_compressed(struct walk *walk, const void *memory, const void *pointers, const void *indices)
{
    const struct ring_system *system = walk->system;
    const bool by_columns = system->shape.layout.storage == STORAGE_CSC;
    const enum base_type pointer_type = (enum base_type)system->pointer_type;
    const size_t pointer_bytes = base_type_size(pointer_type);
    const enum base_type index_type = (enum base_type)system->index_type;
    const size_t index_bytes = base_type_size(index_type);
    const int64_t n = system->shape.layout.rows;
    for (int64_t line = 0; line < n; line++) {
        const char *at = (const char *)pointers + (size_t)line * pointer_bytes;
        const int64_t from = number_load(pointer_type, at).integer - system->base;
        const int64_t to = number_load(pointer_type, at + pointer_bytes).integer - system->base;
        for (int64_t p = from; p < to; p++) {
            const int64_t other =
                number_load(index_type, (const char *)indices + (size_t)p * index_bytes).integer -
                system->base;
            double re, im;
            if (other < 0 || other >= n)
                continue;
            load((enum base_type)system->type, memory, p, &re, &im);
            take(walk, by_columns ? other : line, by_columns ? line : other, re, im);
        }
    }
}

static void walk_matrix(struct walk *walk, void *const *operands)
{
    const struct ring_system *system = walk->system;
    const void *memory = operands[system->matrix];
    const int64_t n = system->shape.layout.rows;
    if (system->shape.layout.storage >= STORAGE_CSC)
        walk_compressed(walk, memory, operands[system->pointers], operands[system->indices]);
    else if (system->shape.layout.storage != STORAGE_FULL)
        walk_packed_or_banded(walk, memory);
    else if (system->type == TYPE_DOUBLE)
        walk_full(walk, memory, TYPE_DOUBLE);
    else if (system->type == TYPE_FLOAT)
        walk_full(walk, memory, TYPE_FLOAT);
    else if (system->type == TYPE_COMPLEX)
        walk_full(walk, memory, TYPE_COMPLEX);
    else
        walk_full(walk, memory, TYPE_DOUBLE_COMPLEX);
    for (int64_t i = 0; system->shape.unit && i < n; i++) {
        if (walk->rows)
            add_element(walk, i, i, walk->factor, 0);
        else
            walk->largest = walk->largest > 1 ? walk->largest : 1;
    }
}

/* ---- before the call ---- */

static bool rhs_is_finite(const struct ring_system *system, const void *memory)
{
    const struct system_shape *shape = &system->shape;
    for (int64_t j = 0; j < shape->nrhs; j++)
        for (int64_t i = 0; i < shape->layout.rows; i++) {
            double re, im;
            load((enum base_type)system->type, memory, i + j * shape->rhs_rows, &re, &im);
            if (!isfinite(re) || !isfinite(im))
                return false;
        }
    return true;
}

/* v'B for each vector of signs, and the largest element of each column. */
static void see_rhs(const struct ring_system *system, const void *memory, double *seen, double *norms)
{
    const struct system_shape *shape = &system->shape;
    for (int64_t j = 0; j < shape->nrhs; j++) {
        long double sums[SYSTEM_LOOKS][2] = {{0}};
        norms[j] = 0;
        for (int64_t i = 0; i < shape->layout.rows; i++) {
            double re, im;
            load((enum base_type)system->type, memory, i + j * shape->rhs_rows, &re, &im);
            norms[j] = fmax(norms[j], modulus(re, im));
            for (unsigned k = 0; k < SYSTEM_LOOKS; k++) {
                sums[k][0] += (long double)(sign_of(i, k) * re);
                sums[k][1] += (long double)(sign_of(i, k) * im);
            }
        }
        for (unsigned k = 0; k < SYSTEM_LOOKS; k++)
            for (unsigned part = 0; part < 2; part++)
                seen[2 * ((int64_t)k * shape->nrhs + j) + part] = (double)sums[k][part];
    }
}

void system_look_begin(const struct ring_job *job, void *const *operands, struct system_look *look)
{
    const struct ring_system *system = &job->system;
    const int64_t n = system->shape.layout.rows, nrhs = system->shape.nrhs;
    *look = (struct system_look){0};
    if (!system->wanted || n <= 0 || nrhs <= 0)
        return;
    struct walk walk = {.system = system, .look = look, .is_finite = true};
    walk_matrix(&walk, operands);
    if (!walk.is_finite || !rhs_is_finite(system, operands[system->rhs]))
        return;
    look->looks = true;
    if (system->fits)
        return;
    look->seen = calloc((size_t)(2 * SYSTEM_LOOKS) * (size_t)(n + nrhs) + (size_t)nrhs, sizeof *look->seen);
    walk.rows = calloc((size_t)n, sizeof *walk.rows);
    walk.signs = calloc((size_t)(SYSTEM_LOOKS * n), sizeof *walk.signs);
    if (look->seen && walk.rows && walk.signs) {
        for (int64_t i = 0; i < SYSTEM_LOOKS * n; i++)
            walk.signs[i] = sign_of(i % n, (unsigned)(i / n));
        double *of_rhs = look->seen + 2 * SYSTEM_LOOKS * n;
        look->b_norm = of_rhs + 2 * SYSTEM_LOOKS * nrhs;
        look->scale = walk.largest > 0 ? ilogb(walk.largest) : 0;
        /* In two halves: the factor of a subnormal number is none itself. */
        walk.factor = ldexp(1, -look->scale / 2);
        if (!isfinite(walk.factor) || walk.factor == 0)
            walk.factor = 1;
        look->scale = -ilogb(walk.factor);
        walk_matrix(&walk, operands);
        for (int64_t i = 0; i < n; i++)
            look->norm = fmax(look->norm, walk.rows[i]);
        see_rhs(system, operands[system->rhs], of_rhs, look->b_norm);
    } else {
        free(look->seen);
        look->seen = NULL;
    }
    free(walk.rows);
    free(walk.signs);
}

/* ---- after it ---- */

static bool solution_is_finite(const struct ring_system *system, const void *memory, int64_t column,
                               double *norm)
{
    *norm = 0;
    for (int64_t i = 0; i < system->shape.layout.rows; i++) {
        double re, im;
        load((enum base_type)system->type, memory, i + column * system->shape.solution_rows, &re, &im);
        if (!isfinite(re) || !isfinite(im))
            return false;
        *norm = fmax(*norm, modulus(re, im));
    }
    return true;
}

/* |v'(B - A X)| of one column, relative to ||A|| ||X|| + ||B||. The range of a long double holds all
 * products. */
static double look_through(const struct ring_system *system, const struct system_look *look,
                           const void *memory, int64_t column, unsigned k, double norm)
{
    const int64_t n = system->shape.layout.rows, nrhs = system->shape.nrhs;
    const double *signs = look->seen + 2 * (int64_t)k * n;
    const double *rhs = look->seen + 2 * SYSTEM_LOOKS * n + 2 * ((int64_t)k * nrhs + column);
    const long double scale = ldexpl(1, look->scale);
    long double re = (long double)rhs[0], im = (long double)rhs[1];
    for (int64_t j = 0; j < n; j++) {
        double x_re, x_im;
        load((enum base_type)system->type, memory, j + column * system->shape.solution_rows, &x_re, &x_im);
        re -= scale * ((long double)signs[2 * j] * (long double)x_re -
                       (long double)signs[2 * j + 1] * (long double)x_im);
        im -= scale * ((long double)signs[2 * j] * (long double)x_im +
                       (long double)signs[2 * j + 1] * (long double)x_re);
    }
    const long double size =
        scale * (long double)look->norm * (long double)norm + (long double)look->b_norm[column];
    const long double residual = hypotl(re, im);
    return residual == 0 ? 0 : (double)(residual / size);
}

bool system_look_end(const struct ring_job *job, void *const *operands, struct system_look *look,
                     double *backward_error)
{
    const struct ring_system *system = &job->system;
    double worst = 0;
    bool is_finite = true;
    for (int64_t j = 0; look->looks && is_finite && j < system->shape.nrhs; j++) {
        double norm;
        is_finite = solution_is_finite(system, operands[system->solution], j, &norm);
        for (unsigned k = 0; is_finite && look->seen && k < SYSTEM_LOOKS; k++)
            worst = fmax(worst, look_through(system, look, operands[system->solution], j, k, norm));
    }
    free(look->seen);
    *backward_error = is_finite ? worst : NAN;
    return look->looks && (!is_finite || worst > system->shape.tolerance);
}
