/* SPDX-License-Identifier: Apache-2.0
 *
 * Norms, ranks, bases, the exponential, traces and Kronecker products.
 */
#include "tests/problems/table.h"

#include <math.h>
#include <stdlib.h>

static double bound_of(const struct trial *trial, struct mat A)
{
    return 100 * (A.m + A.n + 1) * trial->eps;
}

/* I - 2 v v^H / n with v of ones: unitary and Hermitian. */
static struct mat reflection(struct lab *lab, int n)
{
    struct mat H = mat_identity(lab, n);
    for (int k = 0; k < n * n; k++)
        H.v[k] -= 2.0 / n;
    return H;
}

/* m x 3 with the singular values 8, 2 and 1/2. */
static struct mat with_known_values(struct lab *lab, int m)
{
    static const double values[] = {0.5, 8, 2};
    struct mat H = reflection(lab, m), A = mat_new(lab, m, 3);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < m; i++)
            AT(A, i, j) = values[j] * AT(H, i, j);
    return A;
}

static void norm_is(struct trial *trial, struct mat A, char kind, double wanted)
{
    give(trial, "A", A);
    give_flag(trial, "kind", kind);
    if (run(trial))
        at_most(trial, "the error", fabs(creal(result_number(trial, "norm")) - wanted),
                bound_of(trial, A) * (1 + wanted));
}

static void norms(struct trial *trial)
{
    EACH_SIZE (n) {
        EACH_FLAG (kind, "1IFM2") {
            trial_case(trial, "%c, %d columns", *kind, n);
            struct mat A = mat_random(&trial->lab, n + 2, *kind == '2' ? 1 : n);
            norm_is(trial, A, *kind,
                    *kind == '1'   ? mat_norm_one(A)
                    : *kind == 'I' ? mat_norm_inf(A)
                    : *kind == 'M' ? mat_max(A)
                                   : mat_norm_f(A));
        }
    }
    for (int m = 3; m < 40; m += 9) {
        trial_case(trial, "known singular values, m = %d", m);
        norm_is(trial, with_known_values(&trial->lab, m), '2', 8);
        trial_case(trial, "transposed, m = %d", m);
        norm_is(trial, mat_transposed(&trial->lab, with_known_values(&trial->lab, m), true), '2', 8);
    }
    trial_case(trial, "beyond what squares can hold");
    struct mat A = mat_new(&trial->lab, 2, 1);
    double huge = trial->eps > 1e-10 ? 1e30 : 1e300;
    A.v[0] = 3 * huge;
    A.v[1] = 4 * huge;
    norm_is(trial, A, 'F', 5 * huge);
    trial_case(trial, "no such norm");
    give(trial, "A", mat_random(&trial->lab, 2, 2));
    give_flag(trial, "kind", 'X');
    run_fails(trial, "kind must be 2, 1, I, F or M");
}

static void ranks(struct trial *trial)
{
    EACH_SIZE (n) {
        for (int rank = 0; rank <= n; rank += n / 2 + 1) {
            trial_case(trial, "%d x %d of rank %d", n + 2, n, rank);
            give(trial, "A", mat_of_rank(&trial->lab, n + 2, n, rank));
            if (run(trial))
                at_most(trial, "the error", cabs(result_number(trial, "rank") - rank), 0);
        }
    }
    trial_case(trial, "above a tolerance");
    give(trial, "A", with_known_values(&trial->lab, 5));
    give_number(trial, "tol", 1);
    if (run(trial))
        at_most(trial, "the error", cabs(result_number(trial, "rank") - 2), 0);
}

static void is_null_space(struct trial *trial, struct mat A, int rank)
{
    struct lab *lab = &trial->lab;
    give(trial, "A", A);
    if (!run(trial))
        return;
    int columns = (int)creal(result_number(trial, "columns"));
    at_most(trial, "the columns", abs(columns - (A.n - rank)), 0);
    struct mat Z = mat_block(lab, result(trial, "Z"), 0, 0, A.n, columns);
    orthonormal(trial, "Z", Z);
    at_most(trial, "A Z", mat_norm_f(mat_mul(lab, A, Z)), bound_of(trial, A) * mat_norm_f(A));
}

static void null_spaces(struct trial *trial)
{
    EACH_SIZE (n) {
        int rank = n > 1 ? n / 2 : n;
        trial_case(trial, "tall, n = %d", n);
        is_null_space(trial, mat_of_rank(&trial->lab, n + 2, n, rank), rank);
        trial_case(trial, "wide, n = %d", n);
        is_null_space(trial, mat_of_rank(&trial->lab, n, n + 2, rank), rank);
    }
}

static void ranges(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n) {
        for (int wide = 0; wide < 2; wide++) {
            int rank = n > 1 ? n / 2 : n;
            trial_case(trial, "%s, n = %d", wide ? "wide" : "tall", n);
            struct mat A = mat_of_rank(lab, wide ? n : n + 2, wide ? n + 2 : n, rank);
            give(trial, "A", A);
            if (!run(trial))
                continue;
            int found = (int)creal(result_number(trial, "rank"));
            at_most(trial, "the rank", abs(found - rank), 0);
            struct mat Q = mat_block(lab, result(trial, "Q"), 0, 0, A.m, found);
            orthonormal(trial, "Q", Q);
            struct mat projected = mat_mul(lab, Q, mat_mul(lab, mat_transposed(lab, Q, true), A));
            near(trial, "Q Q^H A", projected, A, bound_of(trial, A) * (1 + mat_norm_f(A)));
        }
    }
}

/* A diagonal between two reflections has that of the exponentials between them. */
static void exponentials(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    static const double scales[] = {0.01, 1, 8};
    EACH_SIZE (n) {
        for (int s = 0; s < 3; s++) {
            trial_case(trial, "n = %d, eigenvalues up to %g", n, scales[s]);
            struct mat H = reflection(lab, n), d = mat_random(lab, n, 1), e = mat_copy(lab, d);
            for (int i = 0; i < n; i++) {
                d.v[i] *= scales[s];
                e.v[i] = cexp(d.v[i]);
            }
            give(trial, "A", mat_mul(lab, mat_mul(lab, H, mat_diagonal(lab, d)), H));
            struct mat wanted = mat_mul(lab, mat_mul(lab, H, mat_diagonal(lab, e)), H);
            if (run(trial))
                near(trial, "X", result(trial, "X"), wanted,
                     100 * (n + 1) * trial->eps * (1 + scales[s]) * (1 + mat_norm_f(wanted)));
        }
    }
    trial_case(trial, "a nilpotent one");
    struct mat N = mat_new(lab, 3, 3), X = mat_identity(lab, 3);
    AT(N, 0, 1) = 2, AT(N, 1, 2) = 3;
    AT(X, 0, 1) = 2, AT(X, 1, 2) = 3, AT(X, 0, 2) = 3;
    give(trial, "A", N);
    if (run(trial))
        near(trial, "X", result(trial, "X"), X, 100 * trial->eps);
    trial_case(trial, "beyond the range");
    struct mat large = mat_identity(lab, 2);
    AT(large, 1, 1) = 1e5;
    give(trial, "A", large);
    run_fails(trial, "the exponential is beyond the range of");
}

static void traces(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n = %d", n);
        struct mat A = mat_random(&trial->lab, n, n);
        double complex sum = 0;
        for (int i = 0; i < n; i++)
            sum += AT(A, i, i);
        give(trial, "A", A);
        if (run(trial))
            at_most(trial, "the error", cabs(result_number(trial, "trace") - sum), bound_of(trial, A));
    }
}

static void kronecker(struct trial *trial)
{
    static const int shapes[][4] = {{1, 1, 1, 1}, {2, 3, 4, 5}, {3, 1, 1, 7}, {0, 2, 3, 3}, {9, 8, 2, 11}};
    struct lab *lab = &trial->lab;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int m = shapes[s][0], n = shapes[s][1], p = shapes[s][2], q = shapes[s][3];
        trial_case(trial, "%d x %d by %d x %d", m, n, p, q);
        struct mat A = mat_random(lab, m, n), B = mat_random(lab, p, q), C = mat_new(lab, m * p, n * q);
        for (int i = 0; i < m * p; i++)
            for (int j = 0; j < n * q; j++)
                AT(C, i, j) = AT(A, i / p, j / q) * AT(B, i % p, j % q);
        give(trial, "A", A);
        give(trial, "B", B);
        if (run(trial))
            near(trial, "C", result(trial, "C"), C, 10 * trial->eps);
    }
}

/* A V = V diag(w), with the pairs of columns put together, and the two ways to tell w agree. */
static void eigenvalues(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n) {
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            trial_case(trial, "%s, n = %d", symmetric ? "symmetric" : "general", n);
            struct mat A = symmetric ? mat_hermitian(lab, n, true) : mat_random(lab, n, n);
            give(trial, "A", A);
            if (!run(trial))
                continue;
            struct mat w = result(trial, "w"), V = result(trial, "V"), Z = mat_copy(lab, V);
            near(trial, "w", w, mat_sum(lab, 1, result(trial, "wr"), I, result(trial, "wi")), 0);
            for (int j = 0; j + 1 < n; j++)
                for (int i = 0; cimag(w.v[j]) > 0 && i < n; i++) {
                    AT(Z, i, j) = AT(V, i, j) + I * AT(V, i, j + 1);
                    AT(Z, i, j + 1) = conj(AT(Z, i, j));
                }
            near(trial, "A V", mat_mul(lab, A, Z), mat_mul(lab, Z, mat_diagonal(lab, w)),
                 bound_of(trial, A) * (1 + mat_norm_f(A)));
            if (symmetric)
                orthonormal(trial, "V", V);
        }
    }
}

static const struct row functions[] = {
    ROWS(genorm, norms),     ROWS(gerank, ranks),           ROWS(genull, null_spaces),
    ROWS(georth, ranges),    ROWS(geexpm, exponentials),    ROWS(getrace, traces),
    ROWS(gekron, kronecker), REAL_ROWS(geeig, eigenvalues),
};
const struct group functions_group = GROUP(functions);
