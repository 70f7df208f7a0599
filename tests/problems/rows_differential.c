/* SPDX-License-Identifier: Apache-2.0
 *
 * Boundary value problems, which only ranks compute.
 */
#include "tests/problems/table.h"

/* The coefficient of a face between two cells. */
static double face(struct mat a, int i, int j, int k, int l)
{
    return creal(AT(a, i, j) + AT(a, k, l)) / 2;
}

static double complex value(struct mat u, int i, int j)
{
    return i < 0 || j < 0 || i >= u.m || j >= u.n ? 0 : AT(u, i, j);
}

/* F less the differences of U: cell (i, j) lies before point (i, j) in both directions. */
static struct mat left(struct lab *lab, struct mat f, struct mat a, struct mat u)
{
    const int n = u.n;
    struct mat r = mat_new(lab, n, n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            const double on = face(a, i + 1, j, i + 1, j + 1), back = face(a, i, j, i, j + 1),
                         up = face(a, i, j + 1, i + 1, j + 1), down = face(a, i, j, i + 1, j);
            const double complex sum = on * value(u, i + 1, j) + back * value(u, i - 1, j) +
                                       up * value(u, i, j + 1) + down * value(u, i, j - 1);
            AT(r, i, j) = AT(f, i, j) - ((on + back + up + down) * AT(u, i, j) - sum) * (n + 1.0) * (n + 1.0);
        }
    return r;
}

static void multigrid(struct trial *trial)
{
    static const int sizes[] = {1, 2, 5, 15, 31};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int varies = 0; varies < 2; varies++) {
            const int n = sizes[k];
            struct lab *lab = &trial->lab;
            trial_case(trial, "n = %d, %s coefficient", n, varies ? "variable" : "constant");
            struct mat f = mat_new(lab, n, n), a = mat_new(lab, n + 1, n + 1);
            for (int i = 0; i < n * n; i++)
                f.v[i] = i * 7919 % 101 - 50;
            for (int i = 0; i < (n + 1) * (n + 1); i++)
                a.v[i] = varies ? 1 + (i % (n + 1)) / (2.0 * n) + (double)(i / (n + 1)) / n : 1;
            give(trial, "F", f);
            give(trial, "A", a);
            if (!run(trial))
                continue;
            struct mat u = result(trial, "U");
            at_most(trial, "the residual", mat_norm_f(left(lab, f, a, u)) / mat_norm_f(f), 1.1e-10);
            at_most(trial, "the factor of a cycle", creal(result_number(trial, "factor")), 0.15);
        }
    trial_case(trial, "a coefficient that is 0");
    give(trial, "F", mat_new(&trial->lab, 3, 3));
    give(trial, "A", mat_new(&trial->lab, 4, 4));
    run_fails(trial, "A must be positive");
}

static const struct row differential[] = {{"multigrid", 'd', multigrid}};
const struct group differential_group = GROUP(differential);
