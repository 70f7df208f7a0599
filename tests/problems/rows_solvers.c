/* SPDX-License-Identifier: Apache-2.0
 *
 * Sparse systems, and operations on elements and structure.
 */
#include "tests/problems/table.h"

#include <math.h>

#define NRHS 2

/* Gives argument `name` by its compressed columns, in <name>p and <name>i. */
static void give_columns(struct trial *trial, const char *name, struct mat A)
{
    struct lab *lab = &trial->lab;
    struct mat starts = mat_new(lab, A.n + 1, 1), rows, values;
    const char pointers[] = {name[0], 'p', 0}, indices[] = {name[0], 'i', 0};
    int nz = 0, index = problem_argument_index(trial->problem, name);
    for (int i = 0; i < A.m * A.n; i++)
        nz += A.v[i] != 0;
    rows = mat_new(lab, nz, 1);
    values = mat_new(lab, nz, 1);
    nz = 0;
    for (int j = 0; j < A.n; j++) {
        for (int i = 0; i < A.m; i++)
            if (AT(A, i, j) != 0) {
                rows.v[nz] = i;
                values.v[nz++] = AT(A, i, j);
            }
        starts.v[j + 1] = nz;
    }
    give(trial, pointers, starts);
    give(trial, indices, rows);
    give(trial, name, values);
    trial->dims[index][0] = A.m;
    trial->dims[index][1] = A.n;
}

static void give_sparse(struct trial *trial, struct mat A)
{
    give_columns(trial, "A", A);
}

/* An m x n result by its compressed columns, whose rows ascend. */
static struct mat result_columns(struct trial *trial, const char *name, int m, int n)
{
    const char pointers[] = {name[0], 'p', 0}, indices[] = {name[0], 'i', 0};
    struct mat starts = result(trial, pointers), rows = result(trial, indices),
               A = mat_new(&trial->lab, m, n);
    struct mat values = result_vector(trial, name, rows.m);
    double disorder = starts.m == n + 1 && starts.v[0] == 0 && starts.v[n] == rows.m ? 0 : 1;
    for (int j = 0; j < n && disorder == 0; j++)
        for (int k = (int)creal(starts.v[j]); k < (int)creal(starts.v[j + 1]); k++) {
            int i = (int)creal(rows.v[k]);
            disorder += i < 0 || i >= m || (k > creal(starts.v[j]) && i <= creal(rows.v[k - 1]));
            if (disorder == 0)
                AT(A, i, j) = values.v[k];
        }
    at_most(trial, "rows out of order", disorder, 0);
    return A;
}

/* The Laplacian of a grid of k x k points, which is positive definite; plus, for a general matrix, a wind. */
static struct mat grid_matrix(struct trial *trial, int k, bool general)
{
    struct mat A = mat_new(&trial->lab, k * k, k * k);
    for (int p = 0; p < k * k; p++) {
        AT(A, p, p) = 4;
        if (p % k > 0)
            AT(A, p - 1, p) = AT(A, p, p - 1) = -1;
        if (p >= k)
            AT(A, p - k, p) = AT(A, p, p - k) = -1;
        if (general && p + 1 < k * k)
            AT(A, p, p + 1) += trial->lab.is_complex ? CMPLX(0.5, 0.25) : 0.5;
        if (!general && trial->lab.is_complex && p % k > 0)
            AT(A, p - 1, p) = CMPLX(-0.5, 0.5), AT(A, p, p - 1) = CMPLX(-0.5, -0.5);
    }
    return A;
}

static void solve_sparse(struct trial *trial, struct mat A, char trans)
{
    struct mat B = mat_random(&trial->lab, A.n, NRHS);
    give_sparse(trial, A);
    give(trial, "B", B);
    if (has(trial, "trans"))
        give_flag(trial, "trans", trans);
    if (run(trial))
        solves(trial, mat_op(&trial->lab, trans, A), result(trial, has(trial, "X") ? "X" : "B"), B);
}

static void sparse_general(struct trial *trial)
{
    for (int k = 0; k <= 16; k = 2 * k + (k == 0))
        EACH_FLAG (trans, has(trial, "trans") ? "NTC" : "N") {
            trial_case(trial, "grid of %d x %d trans=%c", k, k, *trans);
            solve_sparse(trial, grid_matrix(trial, k, true), *trans);
        }
    static const char *const files[] = {"pores_1.mtx", "utm300.rua", "lund_a.mtx"};
    for (int i = 0; i < 3; i++) {
        trial_case(trial, "%s", files[i]);
        solve_sparse(trial, example(trial, files[i]), 'N');
    }
    trial_case(trial, "a singular matrix");
    struct mat A = mat_identity(&trial->lab, 3);
    AT(A, 1, 1) = 0;
    AT(A, 1, 0) = 1;
    give_sparse(trial, A);
    give(trial, "B", mat_new(&trial->lab, 3, 1));
    run_fails(trial, "singular");
}

/* The triangle of a grid's matrix: what is stored elsewhere must not be read. */
static struct mat grid_triangle(struct trial *trial, int k, char uplo)
{
    struct mat A = grid_matrix(trial, k, true);
    for (int j = 0; j < A.n; j++)
        for (int i = 0; i < A.m; i++)
            if (uplo == 'U' ? i > j : i < j)
                AT(A, i, j) = 0;
    return A;
}

static void sparse_triangular(struct trial *trial)
{
    for (int k = 0; k <= 16; k = 2 * k + (k == 0))
        EACH_FLAG (uplo, "UL") {
            trial_case(trial, "grid of %d x %d uplo=%c", k, k, *uplo);
            struct mat A = grid_triangle(trial, k, *uplo), B = mat_random(&trial->lab, A.n, NRHS);
            give_sparse(trial, *uplo == 'U' && k % 2 ? A : grid_matrix(trial, k, true));
            give_flag(trial, "uplo", *uplo);
            give(trial, "B", B);
            if (run(trial))
                solves(trial, A, result(trial, "X"), B);
        }
    EACH_FLAG (uplo, "UL") {
        trial_case(trial, "a zero on the diagonal, uplo=%c", *uplo);
        struct mat A = mat_identity(&trial->lab, 3);
        AT(A, 1, 1) = 0;
        give_sparse(trial, A);
        give_flag(trial, "uplo", *uplo);
        give(trial, "B", mat_new(&trial->lab, 3, 1));
        run_fails(trial, "singular");
    }
}

static void sparse_positive(struct trial *trial)
{
    for (int k = 0; k <= 16; k = 2 * k + (k == 0)) {
        trial_case(trial, "grid of %d x %d", k, k);
        solve_sparse(trial, grid_matrix(trial, k, false), 'N');
    }
    trial_case(trial, "lund_a.mtx");
    solve_sparse(trial, example(trial, "lund_a.mtx"), 'N');
    trial_case(trial, "an indefinite matrix");
    struct mat A = mat_identity(&trial->lab, 3);
    AT(A, 1, 1) = -1;
    give_sparse(trial, A);
    give(trial, "B", mat_new(&trial->lab, 3, 1));
    run_fails(trial, "not positive definite");
}

/* A random matrix of which a third of the elements are not zero. */
static struct mat mat_thin(struct trial *trial, int m, int n)
{
    struct mat A = mat_random(&trial->lab, m, n);
    for (int i = 0; i < m * n; i++)
        A.v[i] = i % 3 ? 0 : A.v[i];
    return A;
}

static void sparse_product(struct trial *trial)
{
    bool left = has(trial, "Ap"), right = has(trial, "Bp");
    EACH_SIZE (n) {
        if (n > 40)
            continue;
        trial_case(trial, "m=%d k=%d n=%d", n + 2, n, n + 1);
        struct mat A = mat_thin(trial, n + 2, n), B = mat_thin(trial, n, n + 1);
        left ? give_columns(trial, "A", A) : give(trial, "A", A);
        right ? give_columns(trial, "B", B) : give(trial, "B", B);
        if (run(trial))
            near(trial, "A B", result(trial, "C"), mat_mul(&trial->lab, A, B), 10 * (n + 1) * trial->eps);
    }
    trial_case(trial, "a row that is not there");
    struct mat wrong = mat_new(&trial->lab, 1, 1);
    wrong.v[0] = 7;
    give_columns(trial, left ? "A" : "B", mat_identity(&trial->lab, 1));
    give(trial, left ? "Ai" : "Bi", wrong);
    give(trial, left ? "B" : "A", mat_identity(&trial->lab, 1));
    run_fails(trial, "no compressed columns");
}

static void sparse_by_sparse(struct trial *trial)
{
    EACH_SIZE (n) {
        if (n > 40)
            continue;
        trial_case(trial, "m=%d k=%d n=%d", n + 2, n, n + 1);
        struct mat A = mat_thin(trial, n + 2, n), B = mat_thin(trial, n, n + 1),
                   C = mat_mul(&trial->lab, A, B);
        int count = 0;
        for (int i = 0; i < C.m * C.n; i++)
            count += C.v[i] != 0;
        give_columns(trial, "A", A);
        give_columns(trial, "B", B);
        if (!has(trial, "C")) {
            if (run(trial))
                at_most(trial, "the number of elements", cabs(result_number(trial, "nzc") - count), 0);
            continue;
        }
        give_number(trial, "nzc", count);
        if (run(trial))
            near(trial, "A B", result_columns(trial, "C", n + 2, n + 1), C, 10 * (n + 1) * trial->eps);
    }
    if (!has(trial, "C"))
        return;
    trial_case(trial, "room for too few");
    give_columns(trial, "A", mat_identity(&trial->lab, 3));
    give_columns(trial, "B", mat_identity(&trial->lab, 3));
    give_number(trial, "nzc", 2);
    run_fails(trial, "has not nzc");
}

static void sparse_transpose(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "m=%d n=%d", n + 1, n);
        struct mat A = mat_thin(trial, n + 1, n);
        give_sparse(trial, A);
        if (run(trial))
            near(trial, "B", result_columns(trial, "B", n, n + 1), mat_transposed(&trial->lab, A, false), 0);
    }
}

static void sparse_extents(struct trial *trial)
{
    trial_case(trial, "5 x 3");
    give_sparse(trial, mat_thin(trial, 5, 3));
    if (!run(trial))
        return;
    at_most(trial, "rows", cabs(result_number(trial, "rows") - 5), 0);
    at_most(trial, "columns", cabs(result_number(trial, "columns") - 3), 0);
}

/* Each column on its own: ||b - A x|| <= tol ||b||, but for the rounding of x to its type. */
static void small_residuals(struct trial *trial, struct mat A, struct mat B, double tol)
{
    struct lab *lab = &trial->lab;
    struct mat X = result(trial, "X"), R = mat_sum(lab, 1, mat_mul(lab, A, X), -1, B);
    double worst = 0;
    for (int j = 0; j < B.n; j++) {
        double rounding = trial->eps * mat_norm_f(A) * mat_norm_f(mat_column(lab, X, j));
        double size = mat_norm_f(mat_column(lab, B, j)), left = mat_norm_f(mat_column(lab, R, j));
        double ratio = size > 0 ? fmax(0, left - rounding) / size : left;
        worst = ratio > worst || isnan(ratio) ? ratio : worst;
    }
    at_most(trial, "the relative residual", worst, tol);
    at_most(trial, "resid", creal(result_number(trial, "resid")), tol);
}

static double default_tol(const struct trial *trial)
{
    return trial->eps > 1e-10 ? 1e-5 : 1e-10;
}

static void iterate(struct trial *trial, struct mat A)
{
    struct mat B = mat_random(&trial->lab, A.n, NRHS);
    give_sparse(trial, A);
    give(trial, "B", B);
    if (run(trial))
        small_residuals(trial, A, B, default_tol(trial));
}

static void iterative(struct trial *trial)
{
    bool general = !strstr(trial->tried->name, "cg");
    static const char *const files[] = {"lund_a.mtx", "pores_1.mtx", "utm300.rua"};
    for (int k = 0; k <= 16; k = 2 * k + (k == 0)) {
        trial_case(trial, "grid of %d x %d", k, k);
        iterate(trial, grid_matrix(trial, k, general));
    }
    for (int i = 0; i < (general ? 3 : 1); i++) {
        trial_case(trial, "%s", files[i]);
        iterate(trial, example(trial, files[i]));
    }
    trial_case(trial, "a right-hand side of zeros");
    give_sparse(trial, mat_identity(&trial->lab, 3));
    give(trial, "B", mat_new(&trial->lab, 3, 1));
    if (run(trial))
        at_most(trial, "X", mat_max(result(trial, "X")) + cabs(result_number(trial, "resid")), 0);
}

static void iterative_alone(struct trial *trial)
{
    iterative(trial);
    trial_case(trial, "too few iterations");
    struct mat A = grid_matrix(trial, 12, has(trial, "restart"));
    give_sparse(trial, A);
    give(trial, "B", mat_random(&trial->lab, A.n, 1));
    give_number(trial, "maxiter", 1);
    give_number(trial, "tol", 1e-14);
    run_fails(trial, "no convergence: after ");
    trial_case(trial, "a diagonal of zeros");
    A = mat_new(&trial->lab, 120, 120);
    for (int i = 0; i < 120; i++)
        AT(A, i, 119 - i) = 1 + i;
    give_sparse(trial, A);
    struct mat B = mat_random(&trial->lab, 120, 1);
    give(trial, "B", B);
    if (!has(trial, "restart"))
        run_fails(trial, "not positive definite");
    else if (run(trial))
        small_residuals(trial, A, B, default_tol(trial));
    if (!has(trial, "restart"))
        return;
    trial_case(trial, "a singular matrix");
    A = mat_identity(&trial->lab, 3);
    AT(A, 1, 1) = 0;
    give_sparse(trial, A);
    give(trial, "B", mat_random(&trial->lab, 3, 1));
    run_fails(trial, "a row of the matrix is zero");
}

static void refined(struct trial *trial)
{
    trial->eps > 1e-10 ? (void)0 : iterative(trial);
    trial_case(trial, "what the type cannot reach");
    give_sparse(trial, grid_matrix(trial, 12, true));
    give(trial, "B", mat_random(&trial->lab, 144, 1));
    give_number(trial, "tol", 1e-30);
    run_fails(trial, "the precision of the type");
    trial_case(trial, "a grid");
    iterate(trial, grid_matrix(trial, 12, true));
}

/* ---- elements ---- */

static double complex add(double complex a, double complex b)
{
    return a + b;
}

static double complex subtract(double complex a, double complex b)
{
    return a - b;
}

static double complex times(double complex a, double complex b)
{
    return a * b;
}

static double complex divide(double complex a, double complex b)
{
    return a / b;
}

static double complex magnitude(double complex a)
{
    return cabs(a);
}

static void binary(struct trial *trial)
{
    static const struct {
        const char *name;
        double complex (*function)(double complex, double complex);
    } operations[] = {{"add", add}, {"subtract", subtract}, {"times", times}, {"divide", divide}};
    double complex (*function)(double complex, double complex) = NULL;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcmp(trial->tried->name + 1, operations[i].name) == 0)
            function = operations[i].function;
    EACH_SIZE (n) {
        trial_case(trial, "m=%d n=%d", n + 1, n);
        struct mat A = mat_random(&trial->lab, n + 1, n), B = mat_random(&trial->lab, n + 1, n);
        for (int i = 0; i < A.m * A.n; i++)
            B.v[i] += 2;
        give(trial, "A", A);
        give(trial, "B", B);
        if (!run(trial))
            continue;
        struct mat wanted = mat_copy(&trial->lab, A);
        for (int i = 0; i < A.m * A.n; i++)
            wanted.v[i] = function(A.v[i], B.v[i]);
        near(trial, "C", result(trial, "C"), wanted, 16 * trial->eps);
    }
}

static void unary(struct trial *trial)
{
    static const struct {
        const char *name;
        double complex (*function)(double complex);
    } functions[] = {{"sin", csin}, {"cos", ccos},   {"exp", cexp},
                     {"log", clog}, {"sqrt", csqrt}, {"abs", magnitude}};
    double complex (*function)(double complex) = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(trial->tried->name + 1, functions[i].name) == 0)
            function = functions[i].function;
    EACH_SIZE (n) {
        trial_case(trial, "m=%d n=%d", n + 1, n);
        struct mat A = mat_random(&trial->lab, n + 1, n);
        for (int i = 0; i < A.m * A.n; i++)
            A.v[i] += 2; /* where logarithm and root are real */
        give(trial, "A", A);
        if (!run(trial))
            continue;
        struct mat wanted = mat_copy(&trial->lab, A);
        for (int i = 0; i < A.m * A.n; i++)
            wanted.v[i] = function(A.v[i]);
        near(trial, "B", result(trial, "B"), wanted, 64 * trial->eps);
    }
}

static void transpose(struct trial *trial)
{
    bool conjugate = strcmp(trial->tried->name + 1, "ctranspose") == 0;
    EACH_SIZE (n) {
        trial_case(trial, "m=%d n=%d", n + 1, n);
        struct mat A = mat_random(&trial->lab, n + 1, n);
        give(trial, "A", A);
        if (run(trial))
            near(trial, "B", result(trial, "B"), mat_transposed(&trial->lab, A, conjugate), 0);
    }
}

static void section(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "all of m=%d n=%d", n + 1, n);
        struct mat A = mat_random(&trial->lab, n + 1, n);
        give(trial, "A", A);
        if (run(trial))
            near(trial, "B", result(trial, "B"), A, 0);
    }
    trial_case(trial, "rows 2 to 9 by 3, columns 4 to 6");
    struct mat A = mat_random(&trial->lab, 10, 7), wanted = mat_new(&trial->lab, 3, 3);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            AT(wanted, i, j) = AT(A, 1 + 3 * i, 3 + j);
    give(trial, "A", A);
    give_number(trial, "r1", 2);
    give_number(trial, "r2", 9);
    give_number(trial, "rstep", 3);
    give_number(trial, "c1", 4);
    give_number(trial, "c2", 6);
    if (run(trial))
        near(trial, "B", result(trial, "B"), wanted, 0);
    trial_case(trial, "rows that are not there");
    give(trial, "A", A = mat_random(&trial->lab, 3, 3));
    give_number(trial, "r2", 4);
    run_fails(trial, "expected rows within 1 to m");
}

/* ---- dense ---- */

/* The determinant of a triangular matrix with two rows interchanged. */
static void determinant(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat A = mat_random(&trial->lab, n, n);
        double complex wanted = n > 1 ? -1 : 1;
        for (int j = 0; j < n; j++) {
            for (int i = j + 1; i < n; i++)
                AT(A, i, j) = 0;
            AT(A, j, j) = j % 3 == 0 ? 1.25 : j % 3 == 1 ? -0.8 : 1;
            wanted *= AT(A, j, j);
        }
        for (int j = 0; n > 1 && j < n; j++) {
            double complex kept = AT(A, 0, j);
            AT(A, 0, j) = AT(A, n - 1, j);
            AT(A, n - 1, j) = kept;
        }
        has(trial, "Ap") ? give_sparse(trial, A) : give(trial, "A", A);
        if (!run(trial))
            continue;
        at_most(trial, "det", cabs(result_number(trial, "det") - wanted), 1e3 * (n + 1) * trial->eps);
        at_most(trial, "logabs", fabs(creal(result_number(trial, "logabs")) - log(cabs(wanted))),
                1e3 * (n + 1) * trial->eps);
    }
    trial_case(trial, "a singular matrix");
    has(trial, "Ap") ? give_sparse(trial, mat_new(&trial->lab, 3, 3))
                     : give(trial, "A", mat_new(&trial->lab, 3, 3));
    if (run(trial))
        at_most(trial, "det", cabs(result_number(trial, "det")), 0);
}

/* The four equations of Penrose, for a matrix of rank `rank`. */
static void penrose(struct trial *trial, struct mat A, int rank)
{
    struct lab *lab = &trial->lab;
    give(trial, "A", A);
    give_number(trial, "tol", 1e3 * trial->eps);
    if (!run(trial))
        return;
    struct mat X = result(trial, "X"), AX = mat_mul(lab, A, X), XA = mat_mul(lab, X, A);
    double scale = 1e4 * trial->eps * (1 + mat_norm_f(A)) * (1 + mat_norm_f(X));
    at_most(trial, "the rank", fabs(creal(result_number(trial, "rank")) - rank), 0);
    near(trial, "A X A", mat_mul(lab, AX, A), A, scale * (1 + mat_norm_f(A)));
    near(trial, "X A X", mat_mul(lab, XA, X), X, scale * (1 + mat_norm_f(X)));
    near(trial, "A X", AX, mat_transposed(lab, AX, true), scale);
    near(trial, "X A", XA, mat_transposed(lab, XA, true), scale);
}

static void pseudoinverse(struct trial *trial)
{
    for (int n = 0; n <= 24; n = 2 * n + (n == 0)) {
        trial_case(trial, "%d x %d", n + 3, n);
        penrose(trial, mat_random(&trial->lab, n + 3, n), n);
        trial_case(trial, "%d x %d", n, n + 3);
        penrose(trial, mat_random(&trial->lab, n, n + 3), n);
        trial_case(trial, "%d x %d of rank 1", n + 2, n + 1);
        penrose(trial,
                mat_mul(&trial->lab, mat_random(&trial->lab, n + 2, 1), mat_random(&trial->lab, 1, n + 1)),
                1);
    }
}

static void condition(struct trial *trial)
{
    trial_case(trial, "8, 4, 2");
    struct mat s = mat_new(&trial->lab, 3, 1);
    s.v[0] = 8, s.v[1] = 4, s.v[2] = 2;
    give(trial, "s", s);
    if (run(trial))
        at_most(trial, "cond", cabs(result_number(trial, "cond") - 4), 0);
    trial_case(trial, "none");
    give(trial, "s", mat_new(&trial->lab, 0, 1));
    if (run(trial))
        at_most(trial, "cond", cabs(result_number(trial, "cond")), 0);
    trial_case(trial, "zeros");
    give(trial, "s", mat_new(&trial->lab, 2, 1));
    if (run(trial))
        at_most(trial, "1/cond", 1 / creal(result_number(trial, "cond")), 0);
}

static void inverse(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat A = mat_general(&trial->lab, n);
        give(trial, "A", A);
        if (!run(trial))
            continue;
        struct mat X = result(trial, "X"), unit = mat_identity(&trial->lab, n);
        double scale = 1e3 * trial->eps * (1 + mat_norm_f(A) * mat_norm_f(X));
        near(trial, "A X", mat_mul(&trial->lab, A, X), unit, scale);
        near(trial, "X A", mat_mul(&trial->lab, X, A), unit, scale);
    }
    trial_case(trial, "a singular matrix");
    struct mat A = mat_identity(&trial->lab, 3);
    AT(A, 1, 1) = 0;
    give(trial, "A", A);
    run_fails(trial, "U(2,2) is exactly zero: the matrix is singular");
    trial_case(trial, "an inverse beyond the range");
    A = mat_identity(&trial->lab, 3);
    AT(A, 1, 1) = trial->eps > 1e-12 ? 1e-40 : 1e-310;
    give(trial, "A", A);
    run_fails(trial, "the inverse is beyond the range of");
}

static void thin_qr(struct trial *trial)
{
    EACH_SIZE (n)
        for (int m = n > 3 ? n - 3 : 0; m <= n + 3; m += 3) {
            struct lab *lab = &trial->lab;
            trial_case(trial, "%d x %d", m, n);
            struct mat A = mat_random(lab, m, n);
            give(trial, "A", A);
            if (!run(trial))
                continue;
            struct mat Q = result(trial, "Q"), R = result(trial, "R");
            double scale = 1e3 * (n + 1) * trial->eps;
            near(trial, "Q R", mat_mul(lab, Q, R), A, scale * (1 + mat_norm_f(A)));
            near(trial, "Q^H Q", mat_mul(lab, mat_transposed(lab, Q, true), Q),
                 mat_identity(lab, m < n ? m : n), scale);
            near(trial, "R below its diagonal", R, mat_triangle(lab, R, 'U', false), 0);
        }
}

static void hessenberg(struct trial *trial)
{
    EACH_SIZE (n) {
        struct lab *lab = &trial->lab;
        trial_case(trial, "n=%d", n);
        struct mat A = mat_random(lab, n, n);
        give(trial, "A", A);
        if (!run(trial))
            continue;
        struct mat H = result(trial, "H"), Q = result(trial, "Q"), QH = mat_transposed(lab, Q, true);
        double scale = 1e3 * (n + 1) * trial->eps;
        near(trial, "Q H Q^H", mat_mul(lab, mat_mul(lab, Q, H), QH), A, scale * (1 + mat_norm_f(A)));
        near(trial, "Q^H Q", mat_mul(lab, QH, Q), mat_identity(lab, n), scale);
        near(trial, "H below its subdiagonal", H, mat_within_band(lab, H, 1, n), 0);
    }
}

/* The estimate is never below the truth, and seldom more than three times as large. */
static void reciprocal_condition(struct trial *trial)
{
    EACH_SIZE (n) {
        if (n == 0 || n > 40)
            continue;
        trial_case(trial, "n=%d", n);
        struct mat A = mat_general(&trial->lab, n);
        double truth = 1 / (mat_norm_one(A) * mat_norm_one(mat_inverse(&trial->lab, A)));
        give(trial, "A", A);
        if (!run(trial))
            continue;
        double found = creal(result_number(trial, "rcond"));
        at_most(trial, "the truth over the estimate", truth / found, 1 + 1e4 * n * trial->eps);
        at_most(trial, "the estimate over the truth", found / truth, 10);
    }
    trial_case(trial, "a singular matrix");
    give(trial, "A", mat_new(&trial->lab, 3, 3));
    if (run(trial))
        at_most(trial, "rcond", cabs(result_number(trial, "rcond")), 0);
    trial_case(trial, "none");
    give(trial, "A", mat_new(&trial->lab, 0, 0));
    if (run(trial))
        at_most(trial, "rcond", cabs(result_number(trial, "rcond") - 1), 0);
}

/* A matrix and its transpose with known singular values: a diagonal between two reflections. */
static void two_norm_condition(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    static const double values[] = {8, 0.5, 2};
    for (int k = 0; k < 8; k++) {
        int m = 3 + k / 2;
        trial_case(trial, "%d x 3, %s", m, k % 2 ? "transposed" : "as it is");
        struct mat A = mat_new(lab, m, 3);
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < m; i++)
                AT(A, i, j) = ((i == j) - 2.0 / m) * values[j];
        give(trial, "A", k % 2 ? mat_transposed(lab, A, true) : A);
        if (run(trial))
            at_most(trial, "cond", cabs(result_number(trial, "cond") - 16), 1e3 * trial->eps);
    }
    trial_case(trial, "zeros");
    give(trial, "A", mat_new(lab, 2, 2));
    if (run(trial))
        at_most(trial, "1/cond", 1 / creal(result_number(trial, "cond")), 0);
    trial_case(trial, "none");
    give(trial, "A", mat_new(lab, 0, 4));
    if (run(trial))
        at_most(trial, "cond", cabs(result_number(trial, "cond")), 0);
}

/* A case of its own: what was made for the one before is gone. */
static struct mat identity_of(struct trial *trial, const char *what)
{
    trial_case(trial, "%s", what);
    return mat_identity(&trial->lab, 4);
}

/* The case's matrix must be what these five numbers say. */
static void structure_is(struct trial *trial, struct mat A, const int wanted[5])
{
    static const char *const names[] = {"below", "above", "hermitian", "positive", "unit"};
    give(trial, "A", A);
    if (run(trial))
        for (int i = 0; i < 5; i++)
            at_most(trial, names[i], cabs(result_number(trial, names[i]) - wanted[i]), 0);
}

static void structure(struct trial *trial)
{
    struct mat A = identity_of(trial, "ones");
    double complex i = trial->lab.is_complex ? I : 1;
    structure_is(trial, A, (int[]){0, 0, 1, 1, 1});
    A = identity_of(trial, "upper");
    AT(A, 0, 2) = 1;
    structure_is(trial, A, (int[]){0, 2, 0, 1, 1});
    A = identity_of(trial, "hermitian");
    AT(A, 3, 0) = i, AT(A, 0, 3) = conj(i), AT(A, 2, 2) = 3;
    structure_is(trial, A, (int[]){3, 3, 1, 1, 0});
    A = identity_of(trial, "hermitian up to rounding");
    AT(A, 3, 0) = 0.5 * i, AT(A, 0, 3) = conj(0.5 * i) * (1 + 8 * trial->eps);
    structure_is(trial, A, (int[]){3, 3, 1, 1, 1});
    A = identity_of(trial, "not hermitian");
    AT(A, 3, 0) = 0.5 * i, AT(A, 0, 3) = conj(0.5 * i) * (1 + 512 * trial->eps);
    structure_is(trial, A, (int[]){3, 3, 0, 1, 1});
    A = identity_of(trial, "not positive");
    AT(A, 1, 1) = -1;
    structure_is(trial, A, (int[]){0, 0, 1, 0, 0});
    trial_case(trial, "tall");
    A = mat_new(&trial->lab, 3, 2);
    AT(A, 2, 0) = 1;
    structure_is(trial, A, (int[]){2, 0, 0, 0, 0});
    trial_case(trial, "nothing");
    structure_is(trial, mat_new(&trial->lab, 0, 0), (int[]){0, 0, 1, 1, 1});
}

static void extents(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "%d x %d", n + 1, n);
        give(trial, "A", mat_random(&trial->lab, n + 1, n));
        if (!run(trial))
            continue;
        at_most(trial, "rows", cabs(result_number(trial, "rows") - (n + 1)), 0);
        at_most(trial, "columns", cabs(result_number(trial, "columns") - n), 0);
    }
}

static const struct row solvers[] = {
    ROWS(gedet, determinant),
    ROWS(gepinv, pseudoinverse),
    ROWS(gecond, condition),
    ROWS(extents, extents),
    ROWS(gestructure, structure),
    ROWS(geinv, inverse),
    ROWS(gethinqr, thin_qr),
    ROWS(gehess, hessenberg),
    ROWS(gercond, reciprocal_condition),
    ROWS(gekappa, two_norm_condition),
    {"dumfpack", 'd', sparse_general},
    {"zumfpack", 'z', sparse_general},
    {"dcholmod", 'd', sparse_positive},
    {"zcholmod", 'z', sparse_positive},
    ROWS(csctrs, sparse_triangular),
    ROWS(mumps, sparse_general),
    ROWS(mumps_det, determinant),
    ROWS(cscmm, sparse_product),
    ROWS(mmcsc, sparse_product),
    ROWS(cscproduct_size, sparse_by_sparse),
    ROWS(cscproduct, sparse_by_sparse),
    ROWS(csctranspose, sparse_transpose),
    ROWS(cscextents, sparse_extents),
    ROWS(mumps_refined, refined),
    ROWS(cg, iterative_alone),
    ROWS(gmres, iterative_alone),
    ROWS(add, binary),
    ROWS(subtract, binary),
    ROWS(times, binary),
    ROWS(divide, binary),
    ROWS(sin, unary),
    ROWS(cos, unary),
    ROWS(exp, unary),
    ROWS(log, unary),
    ROWS(sqrt, unary),
    ROWS(abs, unary),
    ROWS(transpose, transpose),
    COMPLEX_ROWS(ctranspose, transpose),
    ROWS(section, section),
};
const struct group solvers_group = GROUP(solvers);
