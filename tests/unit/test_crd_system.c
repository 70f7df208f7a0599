/* SPDX-License-Identifier: Apache-2.0
 *
 * The look at a routine's solution, against residuals that are computed directly.
 */
#include "tests/unit/unit.h"
#include "core/problem/problem_solves.h"
#include "sed/crd/crd.h"
#include "util/random.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 24, COLUMNS = 3 };

/* The routine's parameters. */
enum { MATRIX, RHS, SOLUTION, POINTERS, INDICES, TIMES, PARAMETERS };

/* A system, as it is stored and as it is meant. */
struct case_of {
    struct random random;
    enum base_type type;
    struct ring_job job;
    int n, nrhs;
    double complex op[MOST][MOST]; /* op(A) in full */
    double complex x[MOST][COLUMNS], b[MOST][COLUMNS];
    char matrix[4 * MOST * MOST * sizeof(double complex)];
    char rhs[(MOST + 2) * (COLUMNS + 2) * sizeof(double complex)];
    char solution[(MOST + 2) * (COLUMNS + 2) * sizeof(double complex)];
    char times[sizeof(double complex)];
    double complex factor; /* of the right-hand sides that are stored */
    char pointers[(MOST + 1) * 8], indices[MOST * MOST * 8];
    void *operands[PARAMETERS];
    double condition; /* what the look found */
};

static bool is_single(enum base_type type)
{
    return type == TYPE_FLOAT || type == TYPE_COMPLEX;
}

static bool is_complex(enum base_type type)
{
    return type == TYPE_COMPLEX || type == TYPE_DOUBLE_COMPLEX;
}

static void store(enum base_type type, char *memory, int64_t at, double complex value)
{
    if (type == TYPE_FLOAT)
        ((float *)(void *)memory)[at] = (float)creal(value);
    else if (type == TYPE_DOUBLE)
        ((double *)(void *)memory)[at] = creal(value);
    else if (type == TYPE_COMPLEX)
        ((float complex *)(void *)memory)[at] = (float complex)value;
    else
        ((double complex *)(void *)memory)[at] = value;
}

/* Rounds a value as a file of that type does. */
static double complex rounded(enum base_type type, double complex value)
{
    return is_single(type) ? (double complex)(float complex)value : value;
}

static void store_integer(enum base_type type, char *memory, int64_t at, int64_t value)
{
    if (type == TYPE_INT)
        ((int32_t *)(void *)memory)[at] = (int32_t)value;
    else
        ((int64_t *)(void *)memory)[at] = value;
}

static double complex draw(struct case_of *c)
{
    const double re = 2 * random_real(&c->random) - 1, im = 2 * random_real(&c->random) - 1;
    return rounded(c->type, is_complex(c->type) ? CMPLX(re, im) : CMPLX(re, 0));
}

/* ---- the matrix ---- */

static bool is_stored(const struct system_shape *shape, int i, int j)
{
    const struct layout *layout = &shape->layout;
    if (layout->storage == STORAGE_PACKED)
        return layout->upper ? i <= j : i >= j;
    return layout->storage != STORAGE_BANDED || (i - j <= layout->below && j - i <= layout->above);
}

static bool is_read(const struct system_shape *shape, int i, int j)
{
    return is_stored(shape, i, j) && !(shape->triangle && (shape->upper ? i > j : i < j)) &&
           !(shape->unit && i == j);
}

/* The elements of A that are read, then A, then op(A). */
static void mean(struct case_of *c, double complex read[MOST][MOST])
{
    const struct system_shape *shape = &c->job.system.shape;
    double complex a[MOST][MOST] = {{0}};
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < c->n; j++) {
            if (is_read(shape, i, j))
                a[i][j] = shape->conjugated && i == j ? creal(read[i][j]) : read[i][j];
            else if (shape->mirrored && is_read(shape, j, i))
                a[i][j] = shape->conjugated ? conj(read[j][i]) : read[j][i];
            if (shape->unit && i == j)
                a[i][j] = 1;
        }
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < c->n; j++)
            c->op[i][j] = shape->transposed == 'N'   ? a[i][j]
                          : shape->transposed == 'J' ? conj(a[i][j])
                          : shape->transposed == 'T' ? a[j][i]
                                                     : conj(a[j][i]);
}

/* Elements that are not read are NaN wherever there is a place for them. */
static void store_matrix(struct case_of *c, double complex read[MOST][MOST])
{
    const struct system_shape *shape = &c->job.system.shape;
    const struct ring_system *system = &c->job.system;
    const bool compressed = shape->layout.storage >= STORAGE_CSC;
    const bool by_columns = shape->layout.storage == STORAGE_CSC;
    int64_t at = 0;
    for (int64_t k = 0; k < 4 * MOST * MOST; k++)
        store(c->type, c->matrix, k, CMPLX(NAN, NAN));
    for (int line = 0; line < c->n; line++) {
        store_integer(system->pointer_type, c->pointers, line, at + system->base);
        for (int k = 0; k < c->n; k++) {
            const int i = by_columns ? k : line, j = by_columns ? line : k;
            const double complex value = is_read(shape, i, j) ? read[i][j] : CMPLX(NAN, NAN);
            if (!compressed && is_stored(shape, i, j))
                store(c->type, c->matrix, layout_index(&shape->layout, i, j), value);
            if (!compressed || (i != j && is_read(shape, i, j) && creal(read[i][j]) == 0))
                continue; /* zeros are stored nowhere */
            store(c->type, c->matrix, at, value);
            store_integer(system->index_type, c->indices, at++, k + system->base);
        }
    }
    store_integer(system->pointer_type, c->pointers, c->n, at + system->base);
}

/* ---- one case ---- */

/* A power of two, by which right-hand sides are divided exactly. */
static void choose_factor(struct case_of *c)
{
    static const double complex factors[] = {1, 2, -4, CMPLX(0, 2)};
    c->factor = factors[random_below(&c->random, is_complex(c->type) ? 4 : 3)];
    c->job.system.times = c->factor == 1 ? SOLVES_NOTHING : TIMES;
    store(c->type, c->times, 0, c->factor);
    c->operands[TIMES] = c->times;
}

/* One of each choice. */
static void choose(struct case_of *c)
{
    static const enum base_type types[] = {TYPE_FLOAT, TYPE_DOUBLE, TYPE_COMPLEX, TYPE_DOUBLE_COMPLEX};
    static const enum storage storages[] = {STORAGE_FULL, STORAGE_PACKED, STORAGE_BANDED, STORAGE_CSC,
                                            STORAGE_CSR};
    struct random *random = &c->random;
    struct ring_system *system = &c->job.system;
    struct system_shape *shape = &system->shape;
    c->type = types[random_below(random, 4)];
    c->n = 1 + (int)random_below(random, MOST);
    c->nrhs = 1 + (int)random_below(random, COLUMNS);
    *system = (struct ring_system){.wanted = 1, .matrix = MATRIX, .rhs = RHS, .solution = SOLUTION};
    system->pointers = POINTERS;
    system->indices = INDICES;
    system->type = (uint8_t)c->type;
    system->base = (uint8_t)random_below(random, 2);
    system->pointer_type = (uint8_t)(random_below(random, 2) ? TYPE_INT : TYPE_INT64);
    system->index_type = (uint8_t)(random_below(random, 2) ? TYPE_INT : TYPE_INT64);
    const enum storage storage = storages[random_below(random, 5)];
    shape->layout = (struct layout){.storage = storage, .rows = c->n, .cols = c->n};
    shape->triangle = storage == STORAGE_PACKED || random_below(random, 2);
    shape->upper = random_below(random, 2);
    shape->layout.upper = shape->upper;
    shape->mirrored = shape->triangle && random_below(random, 2);
    shape->conjugated = shape->mirrored && is_complex(c->type) && random_below(random, 2);
    shape->unit = shape->triangle && !shape->mirrored && random_below(random, 2);
    if (storage == STORAGE_BANDED) {
        const int width = (int)random_below(random, 4);
        shape->layout.below = shape->triangle && shape->upper ? 0 : width;
        shape->layout.above = shape->triangle && !shape->upper ? 0 : (int)random_below(random, 3);
        shape->layout.front = shape->triangle ? 0 : width;
    }
    shape->transposed = "NTCJ"[random_below(random, 4)];
    shape->right = random_below(random, 2);
    shape->nrhs = c->nrhs;
    shape->rhs_rows = (shape->right ? c->nrhs : c->n) + (int)random_below(random, 3);
    shape->solution_rows = (shape->right ? c->nrhs : c->n) + (int)random_below(random, 3);
    choose_factor(c);
    shape->tolerance = solves_tolerance(is_single(c->type), c->n);
}

static double complex product(const struct case_of *c, int i, int k)
{
    long double re = 0, im = 0;
    for (int j = 0; j < c->n; j++) {
        const double complex a = c->op[i][j], x = c->x[j][k];
        re += (long double)creal(a) * creal(x) - (long double)cimag(a) * cimag(x);
        im += (long double)creal(a) * cimag(x) + (long double)cimag(a) * creal(x);
    }
    return CMPLX((double)re, (double)im);
}

/* A random system, times 2^scale, whose solution is known: x is drawn, b follows. */
static void make(struct case_of *c, uint64_t seed, int scale)
{
    random_seed(&c->random, seed);
    choose(c);
    double complex read[MOST][MOST];
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < c->n; j++) {
            const double complex value = random_below(&c->random, 4) ? draw(c) : 0;
            read[i][j] = CMPLX(ldexp(creal(value), scale), ldexp(cimag(value), scale));
        }
    mean(c, read);
    store_matrix(c, read);
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->nrhs; k++)
            c->x[i][k] = draw(c);
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->nrhs; k++)
            c->b[i][k] = rounded(c->type, product(c, i, k));
    c->operands[MATRIX] = c->matrix;
    c->operands[RHS] = c->rhs;
    c->operands[SOLUTION] = c->solution;
    c->operands[POINTERS] = c->pointers;
    c->operands[INDICES] = c->indices;
}

static void store_vectors(struct case_of *c)
{
    const struct system_shape *shape = &c->job.system.shape;
    for (int k = 0; k < c->nrhs; k++)
        for (int i = 0; i < c->n; i++) {
            store(c->type, c->rhs, solves_place(shape, shape->rhs_rows, i, k), c->b[i][k] / c->factor);
            store(c->type, c->solution, solves_place(shape, shape->solution_rows, i, k), c->x[i][k]);
        }
}

static bool look(struct case_of *c, double *error)
{
    struct system_look look;
    store_vectors(c);
    system_look_begin(&c->job, c->operands, NULL, &look);
    if (!look.looks)
        fail_msg("nobody looks at it");
    return system_look_end(&c->job, c->operands, NULL, &look, error, &c->condition);
}

static double norm_of_matrix(const struct case_of *c)
{
    double most = 0;
    for (int i = 0; i < c->n; i++) {
        double sum = 0;
        for (int j = 0; j < c->n; j++)
            sum += cabs(c->op[i][j]);
        most = fmax(most, sum);
    }
    return most;
}

static double largest(const struct case_of *c, double complex of[MOST][COLUMNS], int column)
{
    double most = 0;
    for (int i = 0; i < c->n; i++)
        most = fmax(most, cabs(of[i][column]));
    return most;
}

static struct case_of *new_case(void)
{
    struct case_of *c = calloc(1, sizeof *c);
    assert_non_null(c);
    return c;
}

static void a_right_solution_is_right(void **state)
{
    (void)state;
    struct case_of *c = new_case();
    for (uint64_t seed = 0; seed < TRIALS(4000); seed++) {
        double error;
        make(c, seed, 0);
        if (look(c, &error) || !(error <= (is_single(c->type) ? 1e-5 : 1e-14)))
            fail_msg("seed %d: backward error %g", (int)seed, error);
    }
    free(c);
}

/* A residual with a single element is seen as it is, whatever the signs: so all norms are as they should be.
 */
static void a_residual_is_relative_to_its_system(void **state)
{
    (void)state;
    struct case_of *c = new_case();
    for (uint64_t seed = 0; seed < TRIALS(4000); seed++) {
        double error, residual;
        make(c, seed, 0);
        const int i = (int)random_below(&c->random, (uint64_t)c->n);
        const int k = (int)random_below(&c->random, (uint64_t)c->nrhs);
        const double complex before = c->b[i][k];
        c->b[i][k] = rounded(c->type, before + 3 * draw(c));
        residual = cabs(c->b[i][k] - product(c, i, k));
        const double expected = residual / (norm_of_matrix(c) * largest(c, c->x, k) + largest(c, c->b, k));
        const bool wrong = look(c, &error);
        const double slack = is_single(c->type) ? 1e-5 : 1e-13;
        if (!(fabs(error - expected) <= slack) || wrong != (error > c->job.system.shape.tolerance))
            fail_msg("seed %d: backward error %g, expected %g", (int)seed, error, expected);
    }
    free(c);
}

/* Any other wrong solution: no more is seen than n times the residual, and never nothing. */
static void a_wrong_solution_is_wrong(void **state)
{
    (void)state;
    struct case_of *c = new_case();
    for (uint64_t seed = 0; seed < TRIALS(4000); seed++) {
        double error, left = 0, size = 0;
        make(c, seed, 0);
        for (int k = 0; k < c->nrhs; k++)
            for (int i = 0; i < c->n; i++)
                c->x[i][k] = rounded(c->type, c->x[i][k] + draw(c));
        for (int k = 0; k < c->nrhs; k++) {
            const double here = norm_of_matrix(c) * largest(c, c->x, k) + largest(c, c->b, k);
            for (int i = 0; i < c->n; i++)
                if (cabs(c->b[i][k] - product(c, i, k)) > left * here) {
                    left = cabs(c->b[i][k] - product(c, i, k)) / here;
                    size = here;
                }
        }
        const bool wrong = look(c, &error);
        if (size > 0 && left > 1e-3 && (!wrong || !(error <= 1.001 * c->n * left)))
            fail_msg("seed %d: backward error %g, residual %g", (int)seed, error, left);
    }
    free(c);
}

/* Systems at the ends of their type's range are as right and as wrong as others. */
static void sizes_of_elements_do_not_matter(void **state)
{
    (void)state;
    static const int scales[] = {-1060, -1022, -1000, -500, 500, 1000, 1015};
    struct case_of *c = new_case();
    for (uint64_t seed = 0; seed < TRIALS(2000); seed++)
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
            double error;
            make(c, seed, scales[s]);
            /* a unit diagonal is not scaled */
            if (is_single(c->type) || c->job.system.shape.unit)
                continue;
            if (norm_of_matrix(c) == 0 || !isfinite(norm_of_matrix(c)))
                continue;
            bool bounded = true;
            for (int k = 0; k < c->nrhs; k++)
                bounded = bounded && isfinite(largest(c, c->b, k));
            if (!bounded)
                continue;
            if (look(c, &error)) /* right, but for what is lost below the smallest number */
                if (scales[s] > -1000 || error > 1e-2)
                    fail_msg("seed %d, scale %d: backward error %g", (int)seed, scales[s], error);
            for (int i = 0; i < c->n; i++)
                c->x[i][0] = 0;
            if (largest(c, c->b, 0) > 0 && !look(c, &error))
                fail_msg("seed %d, scale %d: 0 is right", (int)seed, scales[s]);
        }
    free(c);
}

static void what_is_not_finite_is_told(void **state)
{
    (void)state;
    struct case_of *c = new_case();
    for (uint64_t seed = 0; seed < TRIALS(500); seed++) {
        double error;
        struct system_look seen;
        make(c, seed, 0);
        c->x[c->n - 1][c->nrhs - 1] = seed % 2 ? NAN : INFINITY;
        assert_true(look(c, &error));
        assert_true(isnan(error));
        make(c, seed, 0);
        c->b[0][c->nrhs - 1] = seed % 2 ? NAN : INFINITY; /* the input explains what comes out */
        store_vectors(c);
        system_look_begin(&c->job, c->operands, NULL, &seen);
        assert_false(seen.looks);
        assert_false(system_look_end(&c->job, c->operands, NULL, &seen, &error, &c->condition));
        /* Of least squares only that is looked at. */
        make(c, seed, 0);
        c->job.system.fits = 1;
        c->x[0][0] += 5;
        assert_false(look(c, &error));
        c->x[0][0] = NAN;
        assert_true(look(c, &error));
    }
    free(c);
}

static void nothing_is_looked_at_where_there_is_nothing(void **state)
{
    (void)state;
    struct case_of *c = new_case();
    struct system_look seen;
    double error;
    for (int what = 0; what < 3; what++) {
        make(c, 7, 0);
        store_vectors(c);
        if (what == 0)
            c->job.system.wanted = 0;
        else if (what == 1)
            c->job.system.shape.layout.rows = c->job.system.shape.layout.cols = 0;
        else
            c->job.system.shape.nrhs = 0;
        system_look_begin(&c->job, c->operands, NULL, &seen);
        assert_false(seen.looks);
        assert_false(system_look_end(&c->job, c->operands, NULL, &seen, &error, &c->condition));
    }
    free(c);
}

/* ---- systems that are nearly singular ---- */

/* A full n x n system, as stored: op(A), X and B are known. */
static void make_full(struct case_of *c, enum base_type type, int n, const double complex *a)
{
    struct ring_system *system = &c->job.system;
    c->type = type;
    c->n = n;
    c->nrhs = 1;
    c->factor = 1;
    *system = (struct ring_system){.wanted = 1, .matrix = MATRIX, .rhs = RHS, .solution = SOLUTION};
    system->times = SOLVES_NOTHING;
    system->type = (uint8_t)type;
    system->shape = (struct system_shape){.layout = {.storage = STORAGE_FULL, .rows = n, .cols = n},
                                          .nrhs = 1,
                                          .rhs_rows = n,
                                          .solution_rows = n,
                                          .transposed = 'N',
                                          .tolerance = solves_tolerance(is_single(type), n)};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            c->op[i][j] = rounded(type, a[i * n + j]);
            store(type, c->matrix, i + (int64_t)j * n, c->op[i][j]);
        }
    c->operands[MATRIX] = c->matrix;
    c->operands[RHS] = c->rhs;
    c->operands[SOLUTION] = c->solution;
}

/* Solves op(A) X = B by Gauss and Jordan with complete pivoting, in double precision. */
static void solve(struct case_of *c)
{
    double complex a[MOST][MOST + 1];
    int column_of[MOST];
    for (int i = 0; i < c->n; i++) {
        column_of[i] = i;
        for (int j = 0; j < c->n; j++)
            a[i][j] = c->op[i][j];
        a[i][c->n] = c->b[i][0];
    }
    for (int k = 0; k < c->n; k++) {
        int row = k, col = k;
        for (int i = k; i < c->n; i++)
            for (int j = k; j < c->n; j++)
                if (cabs(a[i][j]) > cabs(a[row][col])) {
                    row = i;
                    col = j;
                }
        for (int j = 0; j <= c->n; j++) {
            const double complex other = a[k][j];
            a[k][j] = a[row][j];
            a[row][j] = other;
        }
        for (int i = 0; i < c->n; i++) {
            const double complex other = a[i][k];
            a[i][k] = a[i][col];
            a[i][col] = other;
        }
        const int other = column_of[k];
        column_of[k] = column_of[col];
        column_of[col] = other;
        for (int i = 0; i < c->n; i++) {
            const double complex factor = a[i][k] / a[k][k];
            for (int j = k; i != k && j <= c->n; j++)
                a[i][j] -= factor * a[k][j];
        }
    }
    for (int k = 0; k < c->n; k++)
        c->x[column_of[k]][0] = rounded(c->type, a[k][c->n] / a[k][k]);
}

/* Well-conditioned: the diagonal is twice the rest of its row. */
static void draw_dominant(struct case_of *c, enum base_type type, int n, double complex *a)
{
    c->type = type;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += cabs(a[i * n + j] = draw(c));
        a[i * n + i] = 2 * sum + 1;
    }
}

static const enum base_type all_types[] = {TYPE_FLOAT, TYPE_DOUBLE, TYPE_COMPLEX, TYPE_DOUBLE_COMPLEX};

static void what_is_nearly_singular_is_told(void **state)
{
    (void)state;
    struct case_of *c = new_case();
    for (uint64_t seed = 0; seed < TRIALS(1000); seed++) {
        const enum base_type type = all_types[seed % 4];
        const double small = is_single(type) ? 1e-7 : 1e-16;
        double complex a[MOST * MOST];
        double error;
        random_seed(&c->random, seed);
        const int n = 2 + (int)random_below(&c->random, MOST - 1);
        draw_dominant(c, type, n, a);
        make_full(c, type, n, a);
        /* The last unknown is 1/small times as large as the matrix and B let it be. */
        for (int i = 0; i < n; i++) {
            c->x[i][0] = rounded(type, draw(c) / small);
            c->b[i][0] = rounded(type, draw(c));
        }
        c->x[0][0] = 1 / small;
        c->b[0][0] = 1;
        look(c, &error);
        if (!(c->condition >= 0.1 / small))
            fail_msg("seed %d: condition %g", (int)seed, c->condition);
    }
    free(c);
}

/* The factors that the routines leave: LU of [1,2;2,4] is exact, and that of similar matrices by chance
 * not. */
static void a_plain_singular_matrix_is_told(void **state)
{
    (void)state;
    const double complex a[] = {1, 2, 2, 4};
    double error;
    struct case_of *c = new_case();
    make_full(c, TYPE_DOUBLE, 2, a);
    c->b[0][0] = c->b[1][0] = 1;
    c->x[0][0] = -2.0e15;
    c->x[1][0] = 1.0e15;
    look(c, &error);
    assert_true(c->condition >= 2e15);
    c->job.system.fits = 1;
    look(c, &error);
    assert_true(c->condition >= 2e15);
    free(c);
}

/* Powers of 2 of rows, columns, or both: all solutions have their digits. */
static void well_conditioned_systems_are_not_called_singular(void **state)
{
    (void)state;
    struct case_of *c = new_case();
    for (uint64_t seed = 0; seed < TRIALS(4000); seed++) {
        const enum base_type type = all_types[seed % 4];
        const int range = is_single(type) ? 30 : 400;
        double complex a[MOST * MOST];
        double error;
        random_seed(&c->random, seed);
        const int n = 1 + (int)random_below(&c->random, MOST);
        draw_dominant(c, type, n, a);
        for (int i = 0; i < n; i++) {
            const int of_row = seed & 4 ? (int)random_below(&c->random, (uint64_t)range) - range / 2 : 0;
            const int of_column = seed & 8 ? (int)random_below(&c->random, (uint64_t)range) - range / 2 : 0;
            for (int j = 0; j < n; j++) {
                a[i * n + j] *= ldexp(1, of_row);
                a[j * n + i] *= ldexp(1, of_column);
            }
        }
        make_full(c, type, n, a);
        double largest_of_row = 0;
        for (int i = 0; i < n; i++) {
            largest_of_row = 0;
            for (int j = 0; j < n; j++)
                largest_of_row = fmax(largest_of_row, cabs(c->op[i][j]));
            c->b[i][0] = seed & 16    ? rounded(type, draw(c) * largest_of_row)
                         : i == n - 1 ? largest_of_row
                                      : 0;
        }
        solve(c);
        bool bounded = true;
        for (int i = 0; i < n; i++)
            bounded = bounded && isfinite(cabs(c->x[i][0]));
        look(c, &error);
        if (bounded && c->condition > 0)
            fail_msg("seed %d: condition %g", (int)seed, c->condition);
    }
    free(c);
}

/* Of random systems only those that are ill-conditioned: the drawn solution and B have that ratio. */
static void known_solutions_raise_no_alarm(void **state)
{
    (void)state;
    static const int scales[] = {-1000, -300, 0, 300, 1000};
    struct case_of *c = new_case();
    for (uint64_t seed = 0; seed < TRIALS(4000); seed++) {
        double error;
        make(c, seed, scales[seed % 5]);
        if ((is_single(c->type) || c->job.system.shape.unit) && scales[seed % 5] != 0)
            continue;
        if (seed % 7 == 0) /* nothing divided by nothing is no condition */
            for (int i = 0; i < c->n; i++)
                for (int k = 0; k < c->nrhs; k++)
                    c->x[i][k] = c->b[i][k] = 0;
        look(c, &error);
        if (c->condition > 0 && !(seed % 7 != 0 && is_single(c->type)))
            fail_msg("seed %d: condition %g", (int)seed, c->condition);
    }
    free(c);
}

/* A rectangle: rows of least squares keep their weights, columns of the smallest solution theirs. */
static void rectangles_are_looked_at(void **state)
{
    (void)state;
    struct case_of *c = new_case();
    double *a = (double *)(void *)c->matrix, *b = (double *)(void *)c->rhs,
           *x = (double *)(void *)c->solution;
    double error, condition;
    struct system_look seen;
    for (int what = 0; what < 6; what++) {
        const bool tall = what % 2 == 0;
        const char transposed = what < 4 ? 'N' : 'T';
        const bool is_singular = what >= 2;
        c->type = TYPE_DOUBLE;
        c->job.system = (struct ring_system){.wanted = 1, .fits = 1, .matrix = MATRIX, .rhs = RHS};
        c->job.system.solution = SOLUTION;
        c->job.system.times = SOLVES_NOTHING;
        c->job.system.type = TYPE_DOUBLE;
        const bool stored_tall = tall == (transposed == 'N');
        c->job.system.shape = (struct system_shape){
            .layout = {.storage = STORAGE_FULL, .rows = stored_tall ? 3 : 2, .cols = stored_tall ? 2 : 3},
            .nrhs = 1,
            .rhs_rows = 3,
            .solution_rows = 3,
            .transposed = transposed};
        for (int k = 0; k < 6; k++)
            a[k] = k + 1;
        for (int k = 0; k < 3; k++) {
            b[k] = k < (tall ? 3 : 2) ? 1 : NAN; /* what is not read */
            x[k] = k < (tall ? 2 : 3) ? (is_singular ? 1e16 : 1) : NAN;
        }
        c->operands[MATRIX] = a;
        c->operands[RHS] = b;
        c->operands[SOLUTION] = x;
        system_look_begin(&c->job, c->operands, NULL, &seen);
        assert_true(seen.looks);
        assert_false(system_look_end(&c->job, c->operands, NULL, &seen, &error, &condition));
        assert_int_equal(condition > 0, is_singular);
    }
    free(c);
}

/* ---- results of solvers whose system is not there ---- */

static void a_result_that_no_input_explains_is_named(void **state)
{
    (void)state;
    double factors[4] = {1, 2, 3, 4}, both[6] = {1, 1, 1, 1, 1, 1}, bound[2] = {0, 0};
    void *operands[] = {factors, both, bound};
    uint32_t argument = 9;
    uint64_t element = 9;
    struct ring_job *job = calloc(1, sizeof *job);
    assert_non_null(job);
    const struct ring_result results[] = {
        {.parameter = 0, .argument = 2, .type = TYPE_DOUBLE, .goes_in = 1, .count = 4},
        {.parameter = 1,
         .argument = 3,
         .type = TYPE_DOUBLE_COMPLEX,
         .goes_in = 1,
         .comes_back = 1,
         .count = 3},
        {.parameter = 2, .argument = 4, .type = TYPE_DOUBLE, .comes_back = 1, .count = 2}};
    for (int what = 0; what < 6; what++) {
        memcpy(job->results, results, sizeof results);
        job->n_results = 3;
        factors[3] = what == 4 ? INFINITY : 4;
        both[3] = 1;
        bound[1] = what == 5 ? NAN : 0; /* from another call */
        results_look_begin(job, operands);
        both[3] = what == 1 || what == 4 ? NAN : what == 2 ? -INFINITY : 2;
        bound[1] = what == 3 || what == 5 ? NAN : INFINITY; /* a bound of the error may be infinite */
        const bool spoilt = results_look_end(job, operands, &argument, &element);
        assert_int_equal(spoilt, what >= 1 && what <= 3);
        if (spoilt) {
            assert_int_equal(argument, what == 3 ? 4 : 3);
            assert_int_equal(element, 1);
        }
    }
    free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_solution_is_right),
        cmocka_unit_test(a_residual_is_relative_to_its_system),
        cmocka_unit_test(a_wrong_solution_is_wrong),
        cmocka_unit_test(sizes_of_elements_do_not_matter),
        cmocka_unit_test(what_is_not_finite_is_told),
        cmocka_unit_test(nothing_is_looked_at_where_there_is_nothing),
        cmocka_unit_test(what_is_nearly_singular_is_told),
        cmocka_unit_test(a_plain_singular_matrix_is_told),
        cmocka_unit_test(well_conditioned_systems_are_not_called_singular),
        cmocka_unit_test(known_solutions_raise_no_alarm),
        cmocka_unit_test(rectangles_are_looked_at),
        cmocka_unit_test(a_result_that_no_input_explains_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
