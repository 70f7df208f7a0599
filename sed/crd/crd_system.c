/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks whether a routine's solution solves its system. */
#include "sed/crd/crd.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One pass over the elements of the matrix that are read. */
struct walk {
    const struct ring_system *system;
    const struct system_parts *parts; /* NULL: the arrays are here as a whole */
    struct system_look *look;
    bool is_finite;
    double largest;   /* first pass */
    bool is_second;   /* the second pass */
    double times[2];  /* of the right-hand sides */
    double *row_size; /* of op(A): the largest element of each row, from the first pass */
    double factor;    /* second pass: 2^-scale */
    double *rows;     /* second pass: sums of absolute values */
    double *signs;    /* second pass: the vectors of signs, one after the other */
};

static void agree(const struct system_parts *parts, double *values, int64_t n, bool adds)
{
    if (parts)
        parts->agree(parts, values, n, adds);
}

/* Whether it is true on any rank. */
static bool any(const struct system_parts *parts, bool here)
{
    double found = here ? 1 : 0;
    agree(parts, &found, 1, false);
    return found > 0;
}

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

/* Returns the sign of element i in vector k: a bit of a mixed counter (Steele, Lea and Flood, SplitMix64,
 * 2014). */
static double sign_of(int64_t i, unsigned k)
{
    uint64_t z = ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z >> (32 + k)) & 1 ? 1.0 : -1.0;
}

static bool is_transposed(const struct system_shape *shape)
{
    return shape->transposed == 'T' || shape->transposed == 'C';
}

static bool is_conjugated(const struct system_shape *shape)
{
    return shape->transposed == 'C' || shape->transposed == 'J';
}

/* Adds element (i, j) of A to A' v. */
static void add_element(struct walk *walk, int64_t i, int64_t j, double re, double im)
{
    const int64_t n = walk->system->shape.layout.rows;
    const bool transposed = is_transposed(&walk->system->shape);
    const int64_t row = transposed ? j : i, col = transposed ? i : j;
    const double imaginary = is_conjugated(&walk->system->shape) ? -im : im;
    walk->rows[row] += modulus(re, im);
    for (unsigned k = 0; k < SYSTEM_LOOKS; k++) {
        double *to = walk->look->seen + 2 * ((int64_t)k * n + col);
        to[0] += walk->signs[(int64_t)k * n + row] * re;
        to[1] += walk->signs[(int64_t)k * n + row] * imaginary;
    }
}

/* Records the size of element (i, j): of its row in the first pass, of its column in the second one. */
static inline void size_element(struct walk *walk, int64_t i, int64_t j, double size)
{
    const bool transposed = is_transposed(&walk->system->shape);
    const int64_t row = transposed ? j : i, col = transposed ? i : j;
    double *most = walk->is_second ? &walk->look->column_size[col] : &walk->row_size[row];
    if (walk->is_second)
        size /= walk->row_size[row];
    if (size > *most)
        *most = size;
}

/* Handles a stored element. */
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

/* ---- loops over stored elements ---- */

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

static void walk_part(struct walk *walk, const struct system_part *part)
{
    const struct block_cyclic_matrix *layout = part->layout;
    const int64_t rows = part->counts ? block_cyclic_count(&layout->rows, part->row) : 0;
    const int64_t cols = block_cyclic_count(&layout->cols, part->col);
    for (int64_t l = 0; l < cols; l++) {
        const int64_t j = block_cyclic_global(&layout->cols, part->col, l);
        for (int64_t k = 0; k < rows; k++) {
            double re, im;
            load((enum base_type)walk->system->type, part->data, k + l * part->leading, &re, &im);
            take(walk, block_cyclic_global(&layout->rows, part->row, k), j, re, im);
        }
    }
}

static void walk_stored(struct walk *walk, void *const *operands)
{
    const struct ring_system *system = walk->system;
    const void *memory = operands[system->matrix];
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
}

static void walk_matrix(struct walk *walk, void *const *operands)
{
    const struct ring_system *system = walk->system;
    const int64_t n = system->shape.layout.rows;
    if (walk->parts)
        walk_part(walk, &walk->parts->matrix);
    else
        walk_stored(walk, operands);
    const bool has_ones = system->shape.unit && (!walk->parts || walk->parts->is_first);
    for (int64_t i = 0; has_ones && i < n; i++) {
        size_element(walk, i, i, 1);
        if (walk->rows)
            add_element(walk, i, i, walk->factor, 0);
        else
            walk->largest = walk->largest > 1 ? walk->largest : 1;
    }
}

/* ---- before the call ---- */

/* Number of rows of op(A). */
static int64_t rows_of(const struct system_shape *shape)
{
    return is_transposed(shape) ? shape->layout.cols : shape->layout.rows;
}

static int64_t columns_of(const struct system_shape *shape)
{
    return is_transposed(shape) ? shape->layout.rows : shape->layout.cols;
}

/* Returns the index of element i of vector k in an array of right-hand sides or solutions with `rows`
 * rows. `part`: NULL, or this rank's part; -1: another rank has the element. */
static int64_t place_of(const struct system_shape *shape, const struct system_part *part, int64_t rows,
                        int64_t i, int64_t k)
{
    if (!part)
        return solves_place(shape, rows, i, k);
    const int64_t row = shape->right ? k : i, col = shape->right ? i : k;
    if (!part->counts || block_cyclic_owner(&part->layout->rows, row) != part->row ||
        block_cyclic_owner(&part->layout->cols, col) != part->col)
        return -1;
    return block_cyclic_local(&part->layout->rows, row) +
           block_cyclic_local(&part->layout->cols, col) * part->leading;
}

/* Loads element i of right-hand side j. False: another rank has it. */
static bool load_rhs(const struct walk *walk, void *const *operands, int64_t i, int64_t j, double *re,
                     double *im)
{
    const struct ring_system *system = walk->system;
    const struct system_part *part = walk->parts ? &walk->parts->rhs : NULL;
    const int64_t at = place_of(&system->shape, part, system->shape.rhs_rows, i, j);
    const double *by = walk->times;
    double own_re, own_im;
    if (at < 0)
        return false;
    load((enum base_type)system->type, part ? part->data : operands[system->rhs], at, &own_re, &own_im);
    *re = by[1] == 0 ? by[0] * own_re : by[0] * own_re - by[1] * own_im;
    *im = by[1] == 0 ? by[0] * own_im : by[0] * own_im + by[1] * own_re;
    return true;
}

static bool rhs_is_finite(const struct walk *walk, void *const *operands)
{
    const struct system_shape *shape = &walk->system->shape;
    for (int64_t j = 0; j < shape->nrhs; j++)
        for (int64_t i = 0; i < rows_of(shape); i++) {
            double re, im;
            if (load_rhs(walk, operands, i, j, &re, &im) && (!isfinite(re) || !isfinite(im)))
                return false;
        }
    return true;
}

/* Computes the largest element of each right-hand side, with the row scaling of the matrix. */
static void size_rhs(const struct walk *walk, void *const *operands)
{
    const struct system_shape *shape = &walk->system->shape;
    for (int64_t j = 0; j < shape->nrhs; j++)
        for (int64_t i = 0; i < rows_of(shape); i++) {
            double re, im;
            if (!load_rhs(walk, operands, i, j, &re, &im))
                continue;
            walk->look->rhs_size[j] = fmax(walk->look->rhs_size[j], modulus(re, im) / walk->row_size[i]);
        }
}

/* Rows of an overdetermined system must keep their weights: all get the size of the largest one. */
static void weigh_rows(struct walk *walk)
{
    const int64_t rows = rows_of(&walk->system->shape);
    for (int64_t i = 0; rows > columns_of(&walk->system->shape) && i < rows; i++)
        walk->row_size[i] = walk->largest;
}

/* In an underdetermined system the norm of a solution depends on the sizes of the unknowns, so all columns
 * get the size of the largest one. */
static void weigh_columns(struct walk *walk)
{
    const int64_t columns = columns_of(&walk->system->shape);
    for (int64_t j = 0; rows_of(&walk->system->shape) < columns && j < columns; j++)
        walk->look->column_size[j] = 1;
}

/* Computes v'B for each vector of signs, and the largest element of each column. */
static void see_rhs(const struct walk *walk, void *const *operands, double *seen, double *norms)
{
    const struct system_shape *shape = &walk->system->shape;
    for (int64_t j = 0; j < shape->nrhs; j++) {
        long double sums[SYSTEM_LOOKS][2] = {{0}};
        norms[j] = 0;
        for (int64_t i = 0; i < shape->layout.rows; i++) {
            double re, im;
            if (!load_rhs(walk, operands, i, j, &re, &im))
                continue;
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

/* Prepares the projection of the residual. */
static void prepare_residual(struct walk *walk)
{
    const struct ring_system *system = walk->system;
    const int64_t n = system->shape.layout.rows, nrhs = system->shape.nrhs;
    struct system_look *look = walk->look;
    look->seen = calloc((size_t)(2 * SYSTEM_LOOKS) * (size_t)(n + nrhs) + (size_t)nrhs, sizeof *look->seen);
    walk->rows = calloc((size_t)n, sizeof *walk->rows);
    walk->signs = calloc((size_t)(SYSTEM_LOOKS * n), sizeof *walk->signs);
    if (any(walk->parts, !look->seen || !walk->rows || !walk->signs)) {
        free(look->seen);
        free(walk->rows);
        look->seen = walk->rows = NULL;
        return;
    }
    for (int64_t i = 0; i < SYSTEM_LOOKS * n; i++)
        walk->signs[i] = sign_of(i % n, (unsigned)(i / n));
    look->b_norm = look->seen + 2 * SYSTEM_LOOKS * (n + nrhs);
    look->scale = walk->largest > 0 ? ilogb(walk->largest) : 0;
    /* In two halves, because the reciprocal of a subnormal number overflows. */
    walk->factor = ldexp(1, -look->scale / 2);
    if (!isfinite(walk->factor) || walk->factor == 0)
        walk->factor = 1;
    look->scale = -ilogb(walk->factor);
}

/* Combines v'A, v'B and the norms of all ranks' parts. */
static void end_residual(struct walk *walk, void *const *operands)
{
    const int64_t n = walk->system->shape.layout.rows, nrhs = walk->system->shape.nrhs;
    struct system_look *look = walk->look;
    see_rhs(walk, operands, look->seen + 2 * SYSTEM_LOOKS * n, look->b_norm);
    agree(walk->parts, walk->rows, n, true);
    agree(walk->parts, look->seen, 2 * SYSTEM_LOOKS * (n + nrhs), true);
    agree(walk->parts, look->b_norm, nrhs, false);
    for (int64_t i = 0; i < n; i++)
        look->norm = fmax(look->norm, walk->rows[i]);
}

static void look_at_system(struct walk *walk, void *const *operands)
{
    const struct ring_system *system = walk->system;
    const struct system_shape *shape = &system->shape;
    struct system_look *look = walk->look;
    walk_matrix(walk, operands);
    if (any(walk->parts, !walk->is_finite || !rhs_is_finite(walk, operands)))
        return;
    look->looks = true;
    agree(walk->parts, &walk->largest, 1, false);
    agree(walk->parts, walk->row_size, rows_of(shape), false);
    weigh_rows(walk);
    if (!system->fits)
        prepare_residual(walk);
    walk->is_second = true;
    walk_matrix(walk, operands);
    agree(walk->parts, look->column_size, columns_of(shape), false);
    weigh_columns(walk);
    size_rhs(walk, operands);
    agree(walk->parts, look->rhs_size, shape->nrhs, false);
    if (walk->rows)
        end_residual(walk, operands);
}

/* Allocates sizes of columns and right-hand sides, and results of the check after the call. */
static bool make_sizes(const struct system_shape *shape, struct system_look *look)
{
    const int64_t columns = columns_of(shape), nrhs = shape->nrhs;
    const size_t n = (size_t)columns + (size_t)(3 + 2 * SYSTEM_LOOKS) * (size_t)nrhs + 1;
    look->column_size = calloc(n, sizeof *look->column_size);
    if (!look->column_size)
        return false;
    look->rhs_size = look->column_size + columns;
    look->norms = look->rhs_size + nrhs;
    look->conditions = look->norms + nrhs;
    look->is_spoilt = look->conditions + nrhs;
    look->sums = look->is_spoilt + 1;
    return true;
}

void system_look_begin(const struct ring_job *job, void *const *operands, const struct system_parts *parts,
                       struct system_look *look)
{
    const struct ring_system *system = &job->system;
    const int64_t rows = rows_of(&system->shape), columns = columns_of(&system->shape);
    *look = (struct system_look){0};
    if (!system->wanted || rows <= 0 || columns <= 0 || system->shape.nrhs <= 0)
        return;
    struct walk walk = {.system = system, .parts = parts, .look = look, .is_finite = true, .times = {1, 0}};
    if (system->times != SOLVES_NOTHING)
        load((enum base_type)system->type, operands[system->times], 0, &walk.times[0], &walk.times[1]);
    walk.row_size = calloc((size_t)rows, sizeof *walk.row_size);
    const bool has_room = make_sizes(&system->shape, look) && walk.row_size;
    if (!any(parts, !has_room))
        look_at_system(&walk, operands);
    free(walk.row_size);
    free(walk.rows);
    free(walk.signs);
}

/* ---- after the call ---- */

static bool load_solution(const struct ring_system *system, void *const *operands,
                          const struct system_parts *parts, int64_t i, int64_t j, double *re, double *im)
{
    const struct system_part *part = parts ? &parts->solution : NULL;
    const int64_t at = place_of(&system->shape, part, system->shape.solution_rows, i, j);
    if (at < 0)
        return false;
    load((enum base_type)system->type, part ? part->data : operands[system->solution], at, re, im);
    return true;
}

/* Computes the norms of solutions, and lower bounds of the condition of the matrix with scaled rows and
 * columns, whose elements are then at most 1, from x = inverse(A) b. False: an element is not finite. */
static bool measure_solutions(const struct ring_system *system, void *const *operands,
                              const struct system_parts *parts, struct system_look *look)
{
    const int64_t nrhs = system->shape.nrhs;
    for (int64_t j = 0; j < nrhs; j++) {
        long double scaled = 0;
        for (int64_t i = 0; i < columns_of(&system->shape); i++) {
            double re, im;
            if (!load_solution(system, operands, parts, i, j, &re, &im))
                continue;
            if (!isfinite(re) || !isfinite(im)) {
                *look->is_spoilt = 1;
                continue;
            }
            look->norms[j] = fmax(look->norms[j], modulus(re, im));
            scaled = fmaxl(scaled, (long double)modulus(re, im) * (long double)look->column_size[i]);
        }
        look->conditions[j] = look->rhs_size[j] > 0 ? (double)(scaled / (long double)look->rhs_size[j]) : 0;
    }
    agree(parts, look->norms, 2 * nrhs + 1, false);
    return *look->is_spoilt == 0;
}

/* Computes (A'v)'x of one solution, relative to its norm, so that nothing overflows. */
static void sum_solution(const struct ring_system *system, void *const *operands,
                         const struct system_parts *parts, const struct system_look *look, int64_t column,
                         unsigned k, long double sum[2])
{
    const int64_t n = system->shape.layout.rows;
    const double *signs = look->seen + 2 * (int64_t)k * n;
    const long double by = look->norms[column] > 0 ? 1 / (long double)look->norms[column] : 0;
    sum[0] = sum[1] = 0;
    for (int64_t j = 0; j < n; j++) {
        double re, im;
        if (!load_solution(system, operands, parts, j, column, &re, &im))
            continue;
        const long double x_re = (long double)re * by, x_im = (long double)im * by;
        sum[0] += (long double)signs[2 * j] * x_re - (long double)signs[2 * j + 1] * x_im;
        sum[1] += (long double)signs[2 * j] * x_im + (long double)signs[2 * j + 1] * x_re;
    }
}

/* Returns |v'(B - A X)| of one column, relative to ||A|| ||X|| + ||B||. The range of a long double holds
 * all products. */
static double residual_of(const struct ring_system *system, const struct system_look *look, int64_t column,
                          unsigned k, const long double sum[2])
{
    const int64_t n = system->shape.layout.rows, nrhs = system->shape.nrhs;
    const double *rhs = look->seen + 2 * SYSTEM_LOOKS * n + 2 * ((int64_t)k * nrhs + column);
    const long double scale = ldexpl(1, look->scale) * (long double)look->norms[column];
    const long double residual =
        hypotl((long double)rhs[0] - scale * sum[0], (long double)rhs[1] - scale * sum[1]);
    const long double size = scale * (long double)look->norm + (long double)look->b_norm[column];
    return residual == 0 ? 0 : (double)(residual / size);
}

/* Sums of ranks travel as doubles. */
static void add_sums(const struct ring_system *system, void *const *operands,
                     const struct system_parts *parts, struct system_look *look)
{
    const int64_t nrhs = system->shape.nrhs;
    for (int64_t j = 0; j < nrhs; j++)
        for (unsigned k = 0; k < SYSTEM_LOOKS; k++) {
            long double sum[2];
            sum_solution(system, operands, parts, look, j, k, sum);
            look->sums[2 * (SYSTEM_LOOKS * j + k)] = (double)sum[0];
            look->sums[2 * (SYSTEM_LOOKS * j + k) + 1] = (double)sum[1];
        }
    agree(parts, look->sums, 2 * SYSTEM_LOOKS * nrhs, true);
}

/* Returns the largest residual of all solutions. */
static double worst_residual(const struct ring_system *system, void *const *operands,
                             const struct system_parts *parts, struct system_look *look)
{
    double worst = 0;
    if (parts)
        add_sums(system, operands, parts, look);
    for (int64_t j = 0; j < system->shape.nrhs; j++)
        for (unsigned k = 0; k < SYSTEM_LOOKS; k++) {
            const double *at = look->sums + 2 * (SYSTEM_LOOKS * j + k);
            long double sum[2] = {(long double)at[0], (long double)at[1]};
            if (!parts)
                sum_solution(system, operands, NULL, look, j, k, sum);
            worst = fmax(worst, residual_of(system, look, j, k, sum));
        }
    return worst;
}

/* Whether no digit of a solution is reliable: its relative error may be the condition times the precision
 * of the type. */
static bool is_nearly_singular(enum base_type type, double condition)
{
    const bool is_single = type == TYPE_FLOAT || type == TYPE_COMPLEX;
    return condition * (is_single ? (double)FLT_EPSILON : DBL_EPSILON) > 0.1;
}

bool system_look_end(const struct ring_job *job, void *const *operands, const struct system_parts *parts,
                     struct system_look *look, double *backward_error, double *condition)
{
    const struct ring_system *system = &job->system;
    double worst = 0;
    *condition = 0;
    const bool is_finite = !look->looks || measure_solutions(system, operands, parts, look);
    for (int64_t j = 0; look->looks && is_finite && j < system->shape.nrhs; j++)
        *condition = fmax(*condition, look->conditions[j]);
    if (is_finite && look->looks && look->seen)
        worst = worst_residual(system, operands, parts, look);
    free(look->seen);
    free(look->column_size);
    if (!is_nearly_singular((enum base_type)system->type, *condition))
        *condition = 0;
    *backward_error = is_finite ? worst : NAN;
    return look->looks && (!is_finite || worst > system->shape.tolerance);
}

/* ---- results of other solvers ---- */

int64_t results_first_bad(enum base_type type, const void *memory, int64_t n, bool allows_infinity)
{
    const int64_t parts = type == TYPE_COMPLEX || type == TYPE_DOUBLE_COMPLEX ? 2 : 1;
    const bool is_single = type == TYPE_FLOAT || type == TYPE_COMPLEX;
    const double most = allows_infinity ? INFINITY : DBL_MAX;
    int64_t k = 0;
    n *= parts;
    if (is_single)
        while (k < n && fabs((double)((const float *)memory)[k]) <= most)
            k++;
    else
        while (k < n && fabs(((const double *)memory)[k]) <= most)
            k++;
    return k < n ? k / parts : -1;
}

static int64_t first_bad(const struct ring_result *result, const void *memory, bool allows_infinity)
{
    return results_first_bad((enum base_type)result->type, memory, (int64_t)result->count, allows_infinity);
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
