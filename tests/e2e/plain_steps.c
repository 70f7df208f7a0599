/* SPDX-License-Identifier: Apache-2.0
 *
 * plain_steps FOLDER: every abstract problem in all its types and in several sizes, and on the matrices of
 * FOLDER: what comes back is held against mathematics. Prints what is not so; the exit code tells.
 */
#include "espalier.h"

#include "core/matrix/matrix.h"
#include "tests/problems/mat.h"
#include "tests/problems/plain_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lab lab;
static char name[80]; /* of the problem, with its letter */
static char letter;
static double eps;
static char where[200];
static int failures, calls;

static void at_most(const char *quantity, double value, double bound)
{
    if (value <= bound)
        return;
    printf("%s, %s: %s is %.3g, expected at most %.3g\n", name, where, quantity, value, bound);
    failures++;
}

/* ||X - Y|| in terms of the precision, the order and a scale. */
static void equal(const char *quantity, struct mat X, struct mat Y, double scale)
{
    if (X.m != Y.m || X.n != Y.n) {
        printf("%s, %s: %s is %d x %d, expected %d x %d\n", name, where, quantity, X.m, X.n, Y.m, Y.n);
        failures++;
        return;
    }
    at_most(quantity, mat_norm_f(mat_sum(&lab, 1, X, -1, Y)), 100 * eps * (X.m + X.n + 1) * (1 + scale));
}

static void orthonormal(const char *quantity, struct mat Q)
{
    equal(quantity, mat_mul(&lab, mat_transposed(&lab, Q, true), Q), mat_identity(&lab, Q.n), 1);
}

/* ---- a call ---- */

struct call {
    struct esp_problem *problem;
    struct esp_argument arguments[ESP_MAX_ARGUMENTS];
    bool good;
};

static int find(const struct call *call, const char *argument)
{
    for (size_t i = 0; i < call->problem->n_arguments; i++)
        if (strcmp(call->problem->arguments[i].name, argument) == 0)
            return (int)i;
    printf("%s has no argument %s\n", name, argument);
    exit(1);
}

static void store(enum esp_type type, void *to, size_t k, double complex value)
{
    if (type == ESP_TYPE_FLOAT)
        ((float *)to)[k] = (float)creal(value);
    else if (type == ESP_TYPE_DOUBLE)
        ((double *)to)[k] = creal(value);
    else if (type == ESP_TYPE_COMPLEX)
        ((float complex *)to)[k] = (float complex)value;
    else
        ((double complex *)to)[k] = value;
}

static double complex load(enum esp_type type, const void *from, size_t k)
{
    return type == ESP_TYPE_INT       ? ((const int *)from)[k]
           : type == ESP_TYPE_FLOAT   ? ((const float *)from)[k]
           : type == ESP_TYPE_DOUBLE  ? ((const double *)from)[k]
           : type == ESP_TYPE_COMPLEX ? ((const float complex *)from)[k]
                                      : ((const double complex *)from)[k];
}

static struct call begin(void)
{
    struct call call = {.good = true};
    if (esp_problem_describe(name, &call.problem) != ESP_OK) {
        printf("%s: %s\n", name, esp_last_error()->text);
        exit(1);
    }
    return call;
}

static void give(struct call *call, const char *argument, struct mat value)
{
    struct esp_argument *to = &call->arguments[find(call, argument)];
    to->type = call->problem->arguments[find(call, argument)].type;
    to->data = arena_alloc(&lab.arena, ((size_t)value.m * (size_t)value.n + 1) * 16);
    to->n_dims = 2;
    to->dims[0] = value.m;
    to->dims[1] = value.n;
    for (size_t k = 0; k < (size_t)value.m * (size_t)value.n; k++)
        store(to->type, to->data, k, value.v[k]);
}

static bool run(struct call *call)
{
    grpc_function_handle_t handle;
    size_t n = call->problem->n_arguments;
    bool good = esp_arguments_complete(call->problem, call->arguments, n) == ESP_OK;
    for (size_t i = 0; good && i < n; i++) {
        struct esp_argument *argument = &call->arguments[i];
        size_t count = 1;
        if (call->problem->arguments[i].mode != ESP_MODE_OUT)
            continue;
        for (unsigned d = 0; d < argument->n_dims; d++)
            count *= (size_t)argument->dims[d];
        argument->type = call->problem->arguments[i].type;
        argument->data = arena_alloc(&lab.arena, (count + 1) * 16);
    }
    good = good && grpc_function_handle_default(&handle, (char *)name) == GRPC_NO_ERROR;
    if (good) {
        good = esp_call(&handle, call->arguments, n, NULL, NULL) == ESP_OK;
        grpc_function_handle_destruct(&handle);
    }
    calls++;
    if (!good) {
        printf("%s, %s: %s\n", name, where, esp_last_error()->text);
        failures++;
    }
    return good;
}

static struct mat result(const struct call *call, const char *argument)
{
    const struct esp_argument *from = &call->arguments[find(call, argument)];
    struct mat value =
        mat_new(&lab, from->n_dims > 0 ? (int)from->dims[0] : 1, from->n_dims > 1 ? (int)from->dims[1] : 1);
    for (size_t k = 0; k < (size_t)value.m * (size_t)value.n; k++)
        value.v[k] = load(from->type, from->data, k);
    return value;
}

static void end(struct call *call)
{
    esp_problem_free(call->problem);
}

/* ---- systems ---- */

static void solves(struct mat A, const char *what)
{
    struct call call = begin();
    struct mat B = mat_random(&lab, A.m, 2);
    snprintf(where, sizeof where, "%s %d x %d", what, A.m, A.n);
    give(&call, "A", A);
    give(&call, "B", B);
    if (run(&call)) {
        struct mat X = result(&call, "X"), R = mat_sum(&lab, 1, mat_mul(&lab, A, X), -1, B);
        double scale = mat_norm_f(A) * mat_norm_f(X) + mat_norm_f(B);
        if (A.m == A.n)
            at_most("the residual", mat_norm_f(R), 100 * (A.n + 1) * eps * scale);
        else /* orthogonal to the columns */
            at_most("A^H R", mat_norm_f(mat_mul(&lab, mat_transposed(&lab, A, true), R)),
                    100 * (A.m + A.n + 1) * eps * mat_norm_f(A) * scale);
    }
    end(&call);
}

static void check_solve(int n)
{
    solves(mat_general(&lab, n), "general");
    solves(mat_positive(&lab, n), "positive definite");
    solves(mat_hermitian(&lab, n, true), "hermitian");
    solves(mat_triangular(&lab, n, 'U', false), "upper");
    solves(mat_triangular(&lab, n, 'L', false), "lower");
    solves(mat_band(&lab, n, n, 1, 1, 4), "tridiagonal");
    solves(mat_random(&lab, n + 2, n), "tall");
    solves(mat_random(&lab, n, n + 2), "wide");
}

static void check_linsolve(int n)
{
    check_solve(n);
}

static void check_lsq(int n)
{
    solves(mat_random(&lab, n + 3, n), "tall");
    solves(mat_random(&lab, n, n + 3), "wide");
    solves(mat_of_rank(&lab, n + 3, n, n > 1 ? n / 2 : n), "of less rank");
}

static void check_leastsq(int n)
{
    check_lsq(n);
}

static void check_itersolve(int n)
{
    struct mat A = mat_positive_band(&lab, n, n > 3 ? 3 : 0), B = mat_random(&lab, n, 2);
    struct call call = begin();
    snprintf(where, sizeof where, "n = %d", n);
    give(&call, "A", A);
    give(&call, "B", B);
    if (run(&call)) {
        struct mat X = result(&call, "X");
        double tol = eps > 1e-10 ? 1e-5 : 1e-10;
        at_most("the residual", mat_norm_f(mat_sum(&lab, 1, mat_mul(&lab, A, X), -1, B)),
                2 * tol * mat_norm_f(B) + eps * mat_norm_f(A) * mat_norm_f(X));
        at_most("resid", creal(result(&call, "resid").v[0]), tol);
    }
    end(&call);
}

static void check_inv(int n)
{
    struct mat kinds[] = {mat_general(&lab, n), mat_triangular(&lab, n, 'U', false),
                          mat_triangular(&lab, n, 'L', false)};
    for (int i = 0; i < 3; i++) {
        struct call call = begin();
        snprintf(where, sizeof where, "kind %d, n = %d", i, n);
        give(&call, "A", kinds[i]);
        if (run(&call)) {
            struct mat X = result(&call, "X");
            equal("A X", mat_mul(&lab, kinds[i], X), mat_identity(&lab, n),
                  mat_norm_f(kinds[i]) * mat_norm_f(X));
        }
        end(&call);
    }
}

static void check_pinv(int n)
{
    struct mat A = mat_of_rank(&lab, n + 2, n, n > 1 ? n / 2 : n);
    struct call call = begin();
    snprintf(where, sizeof where, "%d x %d", A.m, A.n);
    give(&call, "A", A);
    if (run(&call)) {
        struct mat X = result(&call, "X"), AX = mat_mul(&lab, A, X);
        double scale = 10 * mat_norm_f(A) * mat_norm_f(X);
        equal("A X A", mat_mul(&lab, AX, A), A, scale * mat_norm_f(A));
        equal("A X", mat_transposed(&lab, AX, true), AX, scale);
    }
    end(&call);
}

/* Ones on a triangle's diagonal, and two rows interchanged. */
static void check_det(int n)
{
    struct mat A = mat_identity(&lab, n);
    struct call call = begin();
    snprintf(where, sizeof where, "n = %d", n);
    for (int j = 1; j < n; j++)
        AT(A, j - 1, j) = lab_number(&lab);
    for (int j = 0; n > 1 && j < n; j++) {
        double complex kept = AT(A, 0, j);
        AT(A, 0, j) = AT(A, n - 1, j);
        AT(A, n - 1, j) = kept;
    }
    give(&call, "A", A);
    if (run(&call))
        at_most("the error", cabs(result(&call, "det").v[0] - (n > 1 ? -1 : 1)), 100 * (n + 1) * eps);
    end(&call);
}

static void check_rcond(int n)
{
    struct mat A = mat_general(&lab, n);
    struct call call = begin();
    snprintf(where, sizeof where, "n = %d", n);
    give(&call, "A", A);
    if (run(&call) && n > 0) {
        double wanted = 1 / (mat_norm_one(A) * mat_norm_one(mat_inverse(&lab, A)));
        double found = creal(result(&call, "rcond").v[0]);
        at_most("rcond / its value", found / wanted, 10); /* an estimate from above */
        at_most("its value / rcond", wanted / found, 1 + 1000 * (n + 1) * eps);
    }
    end(&call);
}

static void check_cond(int n)
{
    struct mat A = mat_new(&lab, n + 1, n);
    struct call call = begin();
    snprintf(where, sizeof where, "n = %d", n);
    for (int j = 0; j < n; j++)
        AT(A, j + 1, j) = j == 0 ? -12 : 3;
    give(&call, "A", A);
    if (run(&call) && n > 0)
        at_most("the error", fabs(creal(result(&call, "cond").v[0]) - (n > 1 ? 4 : 1)), 1000 * eps);
    end(&call);
}

/* ---- factorisations ---- */

static void check_chol(int n)
{
    struct mat A = mat_positive(&lab, n);
    struct call call = begin();
    snprintf(where, sizeof where, "n = %d", n);
    give(&call, "A", A);
    if (run(&call)) {
        struct mat R = result(&call, "R");
        equal("R^H R", mat_mul(&lab, mat_transposed(&lab, R, true), R), A, mat_norm_f(A));
        equal("R below", mat_triangle(&lab, R, 'U', false), R, 0);
    }
    end(&call);
}

static void factors(struct mat A)
{
    struct call call = begin();
    snprintf(where, sizeof where, "%d x %d", A.m, A.n);
    give(&call, "A", A);
    if (run(&call)) {
        bool is_lu = strstr(name, "lu") != NULL;
        struct mat left = result(&call, is_lu ? "L" : "Q"), right = result(&call, is_lu ? "U" : "R");
        struct mat product = mat_mul(&lab, left, right);
        equal("the product", product, is_lu ? mat_interchanged(&lab, A, result(&call, "ipiv")) : A,
              mat_norm_f(A));
        equal("below the diagonal", mat_triangle(&lab, right, 'U', false), right, 0);
        if (!is_lu)
            orthonormal("Q", left);
    }
    end(&call);
}

static void check_lu(int n)
{
    factors(mat_general(&lab, n));
    factors(mat_random(&lab, n + 2, n));
    factors(mat_random(&lab, n, n + 2));
}

static void check_qr(int n)
{
    check_lu(n);
}

/* A = Q M Q^H */
static void similar(struct mat A, const char *middle, const char *basis, int diagonals)
{
    struct call call = begin();
    snprintf(where, sizeof where, "n = %d", A.n);
    give(&call, "A", A);
    if (run(&call)) {
        struct mat M = result(&call, middle), Q = result(&call, basis);
        double below = 0;
        for (int j = 0; j < A.n; j++)
            for (int i = j + 1 + diagonals; i < A.n; i++)
                below += cabs(AT(M, i, j));
        at_most("what should be zero", below, 0);
        orthonormal(basis, Q);
        equal("the product", mat_mul(&lab, mat_mul(&lab, Q, M), mat_transposed(&lab, Q, true)), A,
              mat_norm_f(A));
    }
    end(&call);
}

static void hessenberg(struct mat A)
{
    similar(A, "H", "Q", 1);
}

static void check_hess(int n)
{
    hessenberg(mat_random(&lab, n, n));
}

static void schur(struct mat A)
{
    similar(A, "T", "Z", lab.is_complex ? 0 : 1);
}

static void check_schur(int n)
{
    schur(mat_random(&lab, n, n));
}

static void decompose(struct mat A)
{
    struct call call = begin();
    snprintf(where, sizeof where, "%d x %d", A.m, A.n);
    give(&call, "A", A);
    if (run(&call)) {
        struct mat s = result(&call, "s"), U = result(&call, "U"), VT = result(&call, "VT");
        orthonormal("U", U);
        orthonormal("V", mat_transposed(&lab, VT, true));
        equal("U S V", mat_mul(&lab, mat_mul(&lab, U, mat_diagonal(&lab, s)), VT), A, mat_norm_f(A));
        for (int i = 0; i + 1 < s.m; i++)
            at_most("the next singular value", creal(s.v[i + 1]), creal(s.v[i]));
    }
    end(&call);
}

static void check_svd(int n)
{
    decompose(mat_random(&lab, n, n));
    decompose(mat_random(&lab, n + 2, n));
    decompose(mat_random(&lab, n, n + 2));
}

static struct mat eigenvalues(struct call *call)
{
    if (lab.is_complex)
        return result(call, "w");
    return mat_sum(&lab, 1, result(call, "wr"), I, result(call, "wi"));
}

/* Their sum is the trace, that of their squares the trace of the square. */
static void eigen(struct mat A, bool vectors)
{
    struct call call = begin();
    struct mat square = mat_mul(&lab, A, A);
    double complex sums[2] = {0};
    snprintf(where, sizeof where, "n = %d", A.n);
    give(&call, "A", A);
    if (!run(&call)) {
        end(&call);
        return;
    }
    struct mat w = eigenvalues(&call);
    for (int i = 0; i < A.n; i++) {
        sums[0] += w.v[i] - AT(A, i, i);
        sums[1] += w.v[i] * w.v[i] - AT(square, i, i);
    }
    if (vectors)
        equal("w", result(&call, "w"), w, 0);
    double scale = mat_norm_f(A);
    at_most("the trace", cabs(sums[0]), 100 * (A.n + 1) * eps * (1 + scale));
    at_most("the trace of the square", cabs(sums[1]), 200 * (A.n + 1) * eps * (1 + scale) * (1 + scale));
    struct mat V = vectors ? result(&call, "V") : mat_new(&lab, A.n, 0), Z = mat_copy(&lab, V);
    for (int j = 0; j + 1 < V.n && !lab.is_complex; j++)
        if (cimag(w.v[j]) > 0) /* a pair: real and imaginary part */
            for (int i = 0; i < V.m; i++) {
                AT(Z, i, j) = AT(V, i, j) + I * AT(V, i, j + 1);
                AT(Z, i, j + 1) = AT(V, i, j) - I * AT(V, i, j + 1);
            }
    if (vectors)
        equal("A V", mat_mul(&lab, A, Z), mat_mul(&lab, Z, mat_diagonal(&lab, w)), scale);
    end(&call);
}

static void check_spec(int n)
{
    eigen(mat_random(&lab, n, n), false);
    eigen(mat_hermitian(&lab, n, true), false);
}

static void check_eig(int n)
{
    eigen(mat_random(&lab, n, n), true);
    eigen(mat_hermitian(&lab, n, true), true);
}

/* ---- products and elements ---- */

static void multiply(struct mat A, struct mat B)
{
    struct call call = begin();
    snprintf(where, sizeof where, "%d x %d times %d x %d", A.m, A.n, B.m, B.n);
    give(&call, "A", A);
    give(&call, "B", B);
    if (run(&call))
        equal("C", result(&call, "C"), mat_mul(&lab, A, B), mat_norm_f(A) * mat_norm_f(B));
    end(&call);
}

static void check_mul(int n)
{
    multiply(mat_random(&lab, n + 1, n), mat_random(&lab, n, n + 2));
    multiply(mat_hermitian(&lab, n, true), mat_random(&lab, n, n + 1));
}

static void check_size(int n)
{
    struct call call = begin();
    snprintf(where, sizeof where, "n = %d", n);
    give(&call, "A", mat_random(&lab, n + 3, n));
    if (run(&call)) {
        at_most("rows", cabs(result(&call, "rows").v[0] - (n + 3)), 0);
        at_most("columns", cabs(result(&call, "columns").v[0] - n), 0);
    }
    end(&call);
}

/* ---- functions of matrices ---- */

/* Of a matrix without more: its one result that is a number. */
static void number_is(struct mat A, const char *output, double complex wanted)
{
    struct call call = begin();
    snprintf(where, sizeof where, "%d x %d", A.m, A.n);
    give(&call, "A", A);
    if (run(&call))
        at_most("the error", cabs(result(&call, output).v[0] - wanted),
                100 * (A.m + A.n + 1) * eps * (1 + cabs(wanted)));
    end(&call);
}

/* A column has its Euclidean norm, and one of rank 1 those of its factors. */
static void check_norm(int n)
{
    struct mat x = mat_random(&lab, n, 1), y = mat_random(&lab, 1, n + 1);
    number_is(x, "norm", mat_norm_f(x));
    number_is(mat_mul(&lab, x, y), "norm", mat_norm_f(x) * mat_norm_f(y));
}

static void check_rank(int n)
{
    int rank = n > 1 ? n / 2 : n;
    number_is(mat_of_rank(&lab, n + 2, n, rank), "rank", rank);
}

static void check_trace(int n)
{
    struct mat A = mat_random(&lab, n, n);
    double complex sum = 0;
    for (int i = 0; i < n; i++)
        sum += AT(A, i, i);
    number_is(A, "trace", sum);
}

static void check_null(int n)
{
    int rank = n > 1 ? n / 2 : n;
    struct mat A = mat_of_rank(&lab, n, n + 2, rank);
    struct call call = begin();
    snprintf(where, sizeof where, "%d x %d", A.m, A.n);
    give(&call, "A", A);
    if (run(&call)) {
        int columns = (int)creal(result(&call, "columns").v[0]);
        struct mat Z = mat_block(&lab, result(&call, "Z"), 0, 0, A.n, columns);
        at_most("the columns", abs(columns - (A.n - rank)), 0);
        orthonormal("Z", Z);
        equal("A Z", mat_mul(&lab, A, Z), mat_new(&lab, A.m, columns), mat_norm_f(A));
    }
    end(&call);
}

static void check_orth(int n)
{
    int rank = n > 1 ? n / 2 : n;
    struct mat A = mat_of_rank(&lab, n, n + 2, rank);
    struct call call = begin();
    snprintf(where, sizeof where, "%d x %d", A.m, A.n);
    give(&call, "A", A);
    if (run(&call)) {
        struct mat Q = mat_block(&lab, result(&call, "Q"), 0, 0, A.m, (int)creal(result(&call, "rank").v[0]));
        at_most("the columns", abs(Q.n - rank), 0);
        orthonormal("Q", Q);
        equal("Q Q^H A", mat_mul(&lab, Q, mat_mul(&lab, mat_transposed(&lab, Q, true), A)), A, mat_norm_f(A));
    }
    end(&call);
}

/* Of a matrix with the square A A = A: I + (e - 1) A. */
static void check_expm(int n)
{
    struct mat A = mat_new(&lab, n, n);
    for (int k = 0; k < n * n; k++)
        A.v[k] = 1.0 / n;
    struct mat wanted = mat_sum(&lab, 1, mat_identity(&lab, n), exp(1) - 1, A);
    struct call call = begin();
    snprintf(where, sizeof where, "n = %d", n);
    give(&call, "A", A);
    if (run(&call))
        equal("X", result(&call, "X"), wanted, mat_norm_f(wanted));
    end(&call);
}

/* (x kron y)(i) = x(i / n) y(i mod n), of columns. */
static void check_kron(int n)
{
    struct mat x = mat_random(&lab, 3, 1), y = mat_random(&lab, n, 1), z = mat_new(&lab, 3 * n, 1);
    struct call call = begin();
    for (int i = 0; i < 3 * n; i++)
        z.v[i] = x.v[i / n] * y.v[i % n];
    snprintf(where, sizeof where, "n = %d", n);
    give(&call, "A", x);
    give(&call, "B", y);
    if (run(&call))
        equal("C", result(&call, "C"), z, mat_norm_f(z));
    end(&call);
}

typedef double complex operation(double complex a, double complex b);

static void elements(int n, operation *wanted, const char *output)
{
    struct call call = begin();
    bool is_binary = strcmp(output, "C") == 0;
    struct mat A = mat_random(&lab, n + 1, n), B = mat_random(&lab, n + 1, n), C = mat_copy(&lab, A);
    snprintf(where, sizeof where, "n = %d", n);
    for (int k = 0; k < A.m * A.n; k++) {
        A.v[k] += 2;
        B.v[k] += 3;
        C.v[k] = wanted(A.v[k], B.v[k]);
    }
    give(&call, "A", A);
    if (is_binary)
        give(&call, "B", B);
    if (run(&call))
        at_most("the error", mat_max(mat_sum(&lab, 1, result(&call, output), -1, C)), 200 * eps);
    end(&call);
}

#define ELEMENTS(root, formula, output)                                                                      \
    static double complex root##_wanted(double complex a, double complex b)                                  \
    {                                                                                                        \
        (void)b;                                                                                             \
        return formula;                                                                                      \
    }                                                                                                        \
    static void check_##root(int n)                                                                          \
    {                                                                                                        \
        elements(n, root##_wanted, output);                                                                  \
    }
ELEMENTS(add, a + b, "C")
ELEMENTS(subtract, a - b, "C")
ELEMENTS(times, a *b, "C")
ELEMENTS(divide, a / b, "C")
ELEMENTS(sin, csin(a), "B")
ELEMENTS(cos, ccos(a), "B")
ELEMENTS(exp, cexp(a), "B")
ELEMENTS(log, clog(a), "B")

static void check_transpose(int n)
{
    struct call call = begin();
    struct mat A = mat_random(&lab, n + 1, n);
    snprintf(where, sizeof where, "n = %d", n);
    give(&call, "A", A);
    if (run(&call))
        equal("B", result(&call, "B"), mat_transposed(&lab, A, false), 0);
    end(&call);
}

/* ---- all of them ---- */

struct plain {
    const char *name;
    void (*check)(int n);
};
#define ROW(root) {#root, check_##root},
static const struct plain plain[] = {PLAIN_NAMES(ROW)}, plain_double[] = {PLAIN_DOUBLE_NAMES(ROW)};

static void set_type(char type)
{
    letter = type;
    eps = type == 's' || type == 'c' ? 1.2e-7 : 2.3e-16;
    lab.is_complex = type == 'c' || type == 'z';
}

static void check_sizes(const struct plain *row)
{
    static const int sizes[] = {0, 1, 2, 7, 100};
    snprintf(name, sizeof name, "%.*s%s", letter == 'd' ? 0 : 1, &letter, row->name);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        arena_clear(&lab.arena);
        random_seed(&lab.random, (uint64_t)sizes[i] + 1);
        row->check(sizes[i]);
    }
}

static struct mat example(const char *folder, const char *file)
{
    struct matrix_file read;
    struct esp_error error;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (matrix_load_dense(path, 0, &read, &error) != ESP_OK) {
        printf("%s\n", error.text);
        exit(1);
    }
    struct mat A = mat_new(&lab, (int)read.matrix.rows, (int)read.matrix.cols);
    for (size_t k = 0; k < (size_t)A.m * (size_t)A.n; k++)
        A.v[k] = eps > 1e-10 ? (double)(float)read.matrix.values[k] : read.matrix.values[k];
    matrix_file_clear(&read);
    return A;
}

static void solve_example(struct mat A)
{
    solves(A, "an example");
}

static void square(struct mat A)
{
    multiply(A, A);
}

/* Matrices as they come: not well conditioned. */
static void check_examples(const char *folder)
{
    static const char *const files[] = {"pores_1.mtx", "lund_a.mtx", "utm300.rua"};
    static const struct {
        const char *root;
        void (*check)(struct mat A);
    } on[] = {{"solve", solve_example}, {"linsolve", solve_example}, {"mul", square},      {"lu", factors},
              {"qr", factors},          {"svd", decompose},          {"hess", hessenberg}, {"schur", schur}};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        arena_clear(&lab.arena);
        struct mat A = example(folder, files[f]);
        for (size_t i = 0; i < sizeof on / sizeof *on && (A.n < 200 || i < 2); i++) {
            snprintf(name, sizeof name, "%.*s%s", letter == 'd' ? 0 : 1, &letter, on[i].root);
            on[i].check(A);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 2 || grpc_initialize(NULL) != GRPC_NO_ERROR)
        return fprintf(stderr, "plain_steps FOLDER: %s\n", esp_last_error()->text), 2;
    for (const char *type = "sdcz"; *type; type++) {
        set_type(*type);
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
            check_sizes(&plain[i]);
        for (size_t i = 0; *type == 'd' && i < sizeof plain_double / sizeof *plain_double; i++)
            check_sizes(&plain_double[i]);
        check_examples(argv[1]);
    }
    printf("%d calls, %d wrong\n", calls, failures);
    arena_clear(&lab.arena);
    grpc_finalize();
    return failures > 0;
}
