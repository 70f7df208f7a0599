/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a routine's solution solves its system.
 */
#include "sed/crd/crd.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One pass through the elements of the matrix that are read. */
struct walk {
    const struct ring_system *system;
    struct system_look *look;
    bool is_finite;
    double largest;   /* first pass */
    bool is_second;   /* the second pass */
    double *row_size; /* of op(A): the largest element of each row, from the first pass */
    double factor;    /* second pass: 2^-scale */
    double *rows;     /* second pass: sums of absolute values */
    double *signs;    /* second pass: the vectors of signs, one behind the other */
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

/* Notes the size of element (i, j): of its row in the first pass, of its column in the second one. */
static inline void size_element(struct walk *walk, int64_t i, int64_t j, double size)
{
    const bool transposed = walk->system->shape.transposed != 'N';
    const int64_t row = transposed ? j : i, col = transposed ? i : j;
    double *most = walk->is_second ? &walk->look->column_size[col] : &walk->row_size[row];
    if (walk->is_second)
        size /= walk->row_size[row];
    if (size > *most)
        *most = size;
}

/* A stored element. */
static void take(struct walk *walk, int64_t i, int64_t j, double re, double im)
{
    const struct system_shape *shape = &walk->system->shape;
    if (shape->triangle && (shape->upper ? i > j : i < j))
        return;
    if (shape->unit && i == j)
        return;
    const double size = fmax(fabs(re), fabs(im));
    size_element(walk, i, j, size);
    if (shape->mirrored && i != j)
        size_element(walk, j, i, size);
    if (!walk->is_second) {
        walk->is_finite &= isfinite(re) && isfinite(im);
        walk->largest = size > walk->largest ? size : walk->largest;
        return;
    }
    if (!walk->rows)
        return;
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
    for (int64_t j = 0; j < shape->layout.cols; j++) {
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
        size_element(walk, i, i, 1);
        if (walk->rows)
            add_element(walk, i, i, walk->factor, 0);
        else
            walk->largest = walk->largest > 1 ? walk->largest : 1;
    }
}

/* ---- before the call ---- */

/* Of op(A). */
static int64_t rows_of(const struct system_shape *shape)
{
    return shape->transposed == 'N' ? shape->layout.rows : shape->layout.cols;
}

static int64_t columns_of(const struct system_shape *shape)
{
    return shape->transposed == 'N' ? shape->layout.cols : shape->layout.rows;
}

static bool rhs_is_finite(const struct ring_system *system, const void *memory)
{
    const struct system_shape *shape = &system->shape;
    for (int64_t j = 0; j < shape->nrhs; j++)
        for (int64_t i = 0; i < rows_of(shape); i++) {
            double re, im;
            load((enum base_type)system->type, memory, i + j * shape->rhs_rows, &re, &im);
            if (!isfinite(re) || !isfinite(im))
                return false;
        }
    return true;
}

/* The largest element of each right-hand side, whose rows are scaled as those of the matrix. */
static void size_rhs(const struct walk *walk, const void *memory)
{
    const struct ring_system *system = walk->system;
    const struct system_shape *shape = &system->shape;
    for (int64_t j = 0; j < shape->nrhs; j++)
        for (int64_t i = 0; i < rows_of(shape); i++) {
            double re, im;
            load((enum base_type)system->type, memory, i + j * shape->rhs_rows, &re, &im);
            walk->look->rhs_size[j] = fmax(walk->look->rhs_size[j], modulus(re, im) / walk->row_size[i]);
        }
}

/* Rows of a system with too many of them must keep their weights: all have the largest one's size. */
static void weigh_rows(struct walk *walk)
{
    const int64_t rows = rows_of(&walk->system->shape);
    for (int64_t i = 0; rows > columns_of(&walk->system->shape) && i < rows; i++)
        walk->row_size[i] = walk->largest;
}

/* The norm of a solution among many depends on the sizes of the unknowns: likewise. */
static void weigh_columns(struct walk *walk)
{
    const int64_t columns = columns_of(&walk->system->shape);
    for (int64_t j = 0; rows_of(&walk->system->shape) < columns && j < columns; j++)
        walk->look->column_size[j] = 1;
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

/* What the residual is seen by. */
static void prepare_residual(struct walk *walk)
{
    const struct ring_system *system = walk->system;
    const int64_t n = system->shape.layout.rows, nrhs = system->shape.nrhs;
    struct system_look *look = walk->look;
    look->seen = calloc((size_t)(2 * SYSTEM_LOOKS) * (size_t)(n + nrhs) + (size_t)nrhs, sizeof *look->seen);
    walk->rows = calloc((size_t)n, sizeof *walk->rows);
    walk->signs = calloc((size_t)(SYSTEM_LOOKS * n), sizeof *walk->signs);
    if (!look->seen || !walk->rows || !walk->signs) {
        free(look->seen);
        free(walk->rows);
        look->seen = walk->rows = NULL;
        return;
    }
    for (int64_t i = 0; i < SYSTEM_LOOKS * n; i++)
        walk->signs[i] = sign_of(i % n, (unsigned)(i / n));
    look->b_norm = look->seen + 2 * SYSTEM_LOOKS * (n + nrhs);
    look->scale = walk->largest > 0 ? ilogb(walk->largest) : 0;
    /* In two halves: the factor of a subnormal number is none itself. */
    walk->factor = ldexp(1, -look->scale / 2);
    if (!isfinite(walk->factor) || walk->factor == 0)
        walk->factor = 1;
    look->scale = -ilogb(walk->factor);
}

static void look_at_system(struct walk *walk, void *const *operands)
{
    const struct ring_system *system = walk->system;
    struct system_look *look = walk->look;
    walk_matrix(walk, operands);
    if (!walk->is_finite || !rhs_is_finite(system, operands[system->rhs]))
        return;
    look->looks = true;
    weigh_rows(walk);
    if (!system->fits)
        prepare_residual(walk);
    walk->is_second = true;
    walk_matrix(walk, operands);
    weigh_columns(walk);
    size_rhs(walk, operands[system->rhs]);
    for (int64_t i = 0; walk->rows && i < system->shape.layout.rows; i++)
        look->norm = fmax(look->norm, walk->rows[i]);
    if (walk->rows)
        see_rhs(system, operands[system->rhs], look->seen + 2 * SYSTEM_LOOKS * system->shape.layout.rows,
                look->b_norm);
}

void system_look_begin(const struct ring_job *job, void *const *operands, struct system_look *look)
{
    const struct ring_system *system = &job->system;
    const int64_t rows = rows_of(&system->shape), columns = columns_of(&system->shape);
    *look = (struct system_look){0};
    if (!system->wanted || rows <= 0 || columns <= 0 || system->shape.nrhs <= 0)
        return;
    struct walk walk = {.system = system, .look = look, .is_finite = true};
    walk.row_size = calloc((size_t)rows, sizeof *walk.row_size);
    look->column_size = calloc((size_t)(columns + system->shape.nrhs), sizeof *look->column_size);
    if (walk.row_size && look->column_size) {
        look->rhs_size = look->column_size + columns;
        look_at_system(&walk, operands);
    }
    free(walk.row_size);
    free(walk.rows);
    free(walk.signs);
}

/* ---- after it ---- */

/* *norm: of the solution. *condition: at least that of the matrix with scaled rows and columns, whose
 * elements are up to 1 then; from x = inverse(A) b. */
static bool solution_is_finite(const struct ring_system *system, const struct system_look *look,
                               const void *memory, int64_t column, double *norm, double *condition)
{
    long double scaled = 0;
    *norm = 0;
    for (int64_t i = 0; i < columns_of(&system->shape); i++) {
        double re, im;
        load((enum base_type)system->type, memory, i + column * system->shape.solution_rows, &re, &im);
        if (!isfinite(re) || !isfinite(im))
            return false;
        *norm = fmax(*norm, modulus(re, im));
        scaled = fmaxl(scaled, (long double)modulus(re, im) * (long double)look->column_size[i]);
    }
    *condition = look->rhs_size[column] > 0 ? (double)(scaled / (long double)look->rhs_size[column]) : 0;
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

/* No digit of a solution is sure: its relative error may be the condition times the precision of the type. */
static bool is_nearly_singular(enum base_type type, double condition)
{
    const bool is_single = type == TYPE_FLOAT || type == TYPE_COMPLEX;
    return condition * (is_single ? (double)FLT_EPSILON : DBL_EPSILON) > 0.1;
}

bool system_look_end(const struct ring_job *job, void *const *operands, struct system_look *look,
                     double *backward_error, double *condition)
{
    const struct ring_system *system = &job->system;
    double worst = 0;
    bool is_finite = true;
    *condition = 0;
    for (int64_t j = 0; look->looks && is_finite && j < system->shape.nrhs; j++) {
        double norm, of_column = 0;
        is_finite = solution_is_finite(system, look, operands[system->solution], j, &norm, &of_column);
        *condition = fmax(*condition, of_column);
        for (unsigned k = 0; is_finite && look->seen && k < SYSTEM_LOOKS; k++)
            worst = fmax(worst, look_through(system, look, operands[system->solution], j, k, norm));
    }
    free(look->seen);
    free(look->column_size);
    if (!is_nearly_singular((enum base_type)system->type, *condition))
        *condition = 0;
    *backward_error = is_finite ? worst : NAN;
    return look->looks && (!is_finite || worst > system->shape.tolerance);
}

/* ---- results of other solvers ---- */

/* The first number that is NaN, or infinite if that counts as well; -1: there is none. */
static int64_t first_bad(const struct ring_result *result, const void *memory, bool allows_infinity)
{
    const enum base_type type = (enum base_type)result->type;
    const int64_t parts = type == TYPE_COMPLEX || type == TYPE_DOUBLE_COMPLEX ? 2 : 1;
    const int64_t n = (int64_t)result->count * parts;
    const bool is_single = type == TYPE_FLOAT || type == TYPE_COMPLEX;
    const double most = allows_infinity ? INFINITY : DBL_MAX;
    int64_t k = 0;
    if (is_single)
        while (k < n && fabs((double)((const float *)memory)[k]) <= most)
            k++;
    else
        while (k < n && fabs(((const double *)memory)[k]) <= most)
            k++;
    return k < n ? k / parts : -1;
}

void results_look_begin(struct ring_job *job, void *const *operands)
{
    bool is_finite = true;
    for (uint32_t i = 0; is_finite && i < job->n_results; i++) {
        struct ring_result *result = &job->results[i];
        if (first_bad(result, operands[result->parameter], false) < 0)
            continue;
        is_finite = !result->goes_in;
        result->comes_back = 0;
    }
    if (!is_finite)
        job->n_results = 0;
}

bool results_look_end(const struct ring_job *job, void *const *operands, uint32_t *argument,
                      uint64_t *element)
{
    for (uint32_t i = 0; i < job->n_results; i++) {
        const struct ring_result *result = &job->results[i];
        const int64_t bad =
            result->comes_back ? first_bad(result, operands[result->parameter], !result->goes_in) : -1;
        if (bad < 0)
            continue;
        *argument = result->argument;
        *element = (uint64_t)bad;
        return true;
    }
    return false;
}
