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

enum { MOST = 24, COLUMNS = 3 };

/* What the routine's parameters are. */
enum { MATRIX, RHS, SOLUTION, POINTERS, INDICES, PARAMETERS };

/* A system, as it is stored and as it is meant. */
struct case_of {
    struct random random;
    enum base_type type;
    struct ring_job job;
    int n, nrhs;
    double complex op[MOST][MOST]; /* op(A) in full */
    double complex x[MOST][COLUMNS], b[MOST][COLUMNS];
    char matrix[4 * MOST * MOST * sizeof(double complex)];
    char rhs[(MOST + 2) * COLUMNS * sizeof(double complex)];
    char solution[(MOST + 2) * COLUMNS * sizeof(double complex)];
    char pointers[(MOST + 1) * 8], indices[MOST * MOST * 8];
    void *operands[PARAMETERS];
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

/* As it is after it was stored. */
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
    shape->transposed = "NTC"[random_below(random, 3)];
    shape->nrhs = c->nrhs;
    shape->rhs_rows = c->n + (int)random_below(random, 3);
    shape->solution_rows = c->n + (int)random_below(random, 3);
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
            store(c->type, c->rhs, i + k * shape->rhs_rows, c->b[i][k]);
            store(c->type, c->solution, i + k * shape->solution_rows, c->x[i][k]);
        }
}

static bool look(struct case_of *c, double *error)
{
    struct system_look look;
    store_vectors(c);
    system_look_begin(&c->job, c->operands, &look);
    if (!look.looks)
        fail_msg("nobody looks at it");
    return system_look_end(&c->job, c->operands, &look, error);
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
        system_look_begin(&c->job, c->operands, &seen);
        assert_false(seen.looks);
        assert_false(system_look_end(&c->job, c->operands, &seen, &error));
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
        system_look_begin(&c->job, c->operands, &seen);
        assert_false(seen.looks);
        assert_false(system_look_end(&c->job, c->operands, &seen, &error));
    }
    free(c);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
