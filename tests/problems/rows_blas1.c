/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAS 1: vectors. Sums are compared with the same sum in double precision, relative to the sum of the
 * absolute values (Higham, Accuracy and Stability, 3.1).
 */
#include "tests/problems/table.h"

#include <math.h>

static struct mat random_vector(struct trial *trial, int n)
{
    return mat_random(&trial->lab, n, 1);
}

static void axpy(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat x = random_vector(trial, n), y = random_vector(trial, n);
        double complex alpha = lab_number(&trial->lab);
        give_number(trial, "alpha", alpha);
        give(trial, "x", x);
        give(trial, "y", y);
        if (run(trial))
            near(trial, "y", result(trial, "y"), mat_sum(&trial->lab, alpha, x, 1, y), 8 * trial->eps);
    }
}

static void axpy_default(struct trial *trial)
{
    axpy(trial);
    trial_case(trial, "alpha left out");
    struct mat x = random_vector(trial, 3), y = random_vector(trial, 3);
    give(trial, "x", x);
    give(trial, "y", y);
    if (run(trial))
        near(trial, "y", result(trial, "y"), mat_sum(&trial->lab, 1, x, 1, y), 8 * trial->eps);
}

static void copy(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat x = random_vector(trial, n);
        give(trial, "x", x);
        if (run(trial))
            near(trial, "y", result(trial, "y"), x, 0);
    }
}

static void swap(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat x = random_vector(trial, n), y = random_vector(trial, n);
        give(trial, "x", x);
        give(trial, "y", y);
        if (!run(trial))
            continue;
        near(trial, "x", result(trial, "x"), y, 0);
        near(trial, "y", result(trial, "y"), x, 0);
    }
}

static void scale(struct trial *trial, bool real_factor)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat x = random_vector(trial, n);
        double complex alpha = lab_number(&trial->lab);
        if (real_factor)
            alpha = creal(alpha);
        give_number(trial, "alpha", alpha);
        give(trial, "x", x);
        if (run(trial))
            near(trial, "x", result(trial, "x"), mat_sum(&trial->lab, alpha, x, 0, x), 8 * trial->eps);
    }
}

static void scal(struct trial *trial)
{
    scale(trial, false);
}

static void real_scal(struct trial *trial)
{
    scale(trial, true);
}

static void inner_product(struct trial *trial, bool conjugate, double eps)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat x = random_vector(trial, n), y = random_vector(trial, n);
        double complex sum = 0;
        double most = 0;
        for (int i = 0; i < n; i++) {
            sum += (conjugate ? conj(x.v[i]) : x.v[i]) * y.v[i];
            most += cabs(x.v[i] * y.v[i]);
        }
        give(trial, "x", x);
        give(trial, "y", y);
        if (run(trial))
            at_most(trial, "the error of the product", cabs(result_number(trial, "dot") - sum),
                    4 * (n + 1) * eps * most);
    }
}

static void dot(struct trial *trial)
{
    inner_product(trial, false, trial->eps);
}

static void dotc(struct trial *trial)
{
    inner_product(trial, true, trial->eps);
}

/* The rounding to single precision is spared, but OpenBLAS sums blocks of long vectors in single precision.
 */
static void wide_dot(struct trial *trial)
{
    inner_product(trial, false, trial->eps);
    trial_case(trial, "a short sum is exact");
    struct mat x = mat_new(&trial->lab, 2, 1);
    x.v[0] = 8191, x.v[1] = 8189;
    give(trial, "x", x);
    give(trial, "y", x);
    if (run(trial))
        at_most(trial, "the error of the product",
                cabs(result_number(trial, "dot") - (8191.0 * 8191 + 8189.0 * 8189)), 0);
}

static void sdsdot(struct trial *trial)
{
    inner_product(trial, false, trial->eps);
    trial_case(trial, "a sum that single precision would lose");
    struct mat x = mat_new(&trial->lab, 3, 1);
    x.v[0] = 4096, x.v[1] = 1, x.v[2] = 4096;
    struct mat y = mat_copy(&trial->lab, x);
    y.v[2] = -4096;
    give_number(trial, "b", 0.5);
    give(trial, "x", x);
    give(trial, "y", y);
    if (run(trial))
        at_most(trial, "the error of the sum", cabs(result_number(trial, "dot") - 1.5), 0);
}

static void nrm2(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat x = random_vector(trial, n);
        give(trial, "x", x);
        if (run(trial))
            at_most(trial, "the error of the norm", fabs(creal(result_number(trial, "norm")) - mat_norm_f(x)),
                    4 * (n + 1) * trial->eps * mat_norm_f(x));
    }
    trial_case(trial, "squares that overflow");
    struct mat x = mat_new(&trial->lab, 2, 1);
    double huge = trial->eps > 1e-10 ? 0x1p100 : 0x1p900;
    x.v[0] = 3 * huge, x.v[1] = 4 * huge;
    give(trial, "x", x);
    if (run(trial))
        at_most(trial, "the error of the norm", fabs(creal(result_number(trial, "norm")) - 5 * huge),
                10 * huge * trial->eps);
}

/* The absolute value of BLAS, which needs no square root. */
static double taxicab(double complex x)
{
    return fabs(creal(x)) + fabs(cimag(x));
}

static void asum(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat x = random_vector(trial, n);
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += taxicab(x.v[i]);
        give(trial, "x", x);
        if (run(trial))
            at_most(trial, "the error of the sum", fabs(creal(result_number(trial, "sum")) - sum),
                    4 * (n + 1) * trial->eps * sum);
    }
}

static void amax(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat x = random_vector(trial, n);
        int best = 0;
        for (int i = 1; i < n; i++)
            if (taxicab(x.v[i]) > taxicab(x.v[best]))
                best = i;
        give(trial, "x", x);
        if (run(trial))
            at_most(trial, "the distance of the index",
                    cabs(result_number(trial, "index") - (n ? best + 1 : 0)), 0);
    }
}

static void rot(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat x = random_vector(trial, n), y = random_vector(trial, n);
        give_number(trial, "c", 0.625);
        give_number(trial, "s", -0.75);
        give(trial, "x", x);
        give(trial, "y", y);
        if (!run(trial))
            continue;
        near(trial, "x", result(trial, "x"), mat_sum(&trial->lab, 0.625, x, -0.75, y), 8 * trial->eps);
        near(trial, "y", result(trial, "y"), mat_sum(&trial->lab, 0.75, x, 0.625, y), 8 * trial->eps);
    }
}

static void rotg(struct trial *trial)
{
    for (int i = 0; i < 20; i++) {
        trial_case(trial, "pair %d", i);
        double complex a = i == 1 ? 0 : lab_number(&trial->lab), b = i == 2 ? 0 : lab_number(&trial->lab);
        give_number(trial, "a", a);
        give_number(trial, "b", b);
        if (!run(trial))
            continue;
        double complex c = result_number(trial, "c"), s = result_number(trial, "s");
        at_most(trial, "the second component", cabs(c * b - conj(s) * a), 8 * trial->eps);
        at_most(trial, "the error of r", cabs(c * a + s * b - result_number(trial, "a")), 8 * trial->eps);
        at_most(trial, "|c|^2 + |s|^2 - 1", fabs(creal(c * c) + creal(s * conj(s)) - 1), 8 * trial->eps);
    }
}

/* The matrix that param stands for. */
static struct mat modified_rotation(struct trial *trial, struct mat param)
{
    struct mat H = mat_identity(&trial->lab, 2);
    double flag = creal(param.v[0]);
    if (flag == -1 || flag == 1)
        AT(H, 0, 0) = param.v[1], AT(H, 1, 1) = param.v[4];
    if (flag == -1 || flag == 0)
        AT(H, 1, 0) = param.v[2], AT(H, 0, 1) = param.v[3];
    if (flag == 1)
        AT(H, 1, 0) = -1, AT(H, 0, 1) = 1;
    return H;
}

static void rotm(struct trial *trial)
{
    for (int flag = -2; flag <= 1; flag++)
        EACH_SIZE (n) {
            trial_case(trial, "flag=%d n=%d", flag, n);
            struct mat x = random_vector(trial, n), y = random_vector(trial, n);
            struct mat param = random_vector(trial, 5);
            param.v[0] = flag;
            give(trial, "x", x);
            give(trial, "y", y);
            give(trial, "param", param);
            if (!run(trial))
                continue;
            struct mat H = modified_rotation(trial, param);
            near(trial, "x", result(trial, "x"), mat_sum(&trial->lab, AT(H, 0, 0), x, AT(H, 0, 1), y),
                 8 * trial->eps);
            near(trial, "y", result(trial, "y"), mat_sum(&trial->lab, AT(H, 1, 0), x, AT(H, 1, 1), y),
                 8 * trial->eps);
        }
}

static void rotmg(struct trial *trial)
{
    for (int i = 0; i < 20; i++) {
        trial_case(trial, "pair %d", i);
        double d1 = 1 + creal(lab_number(&trial->lab)), d2 = 1 + creal(lab_number(&trial->lab));
        double x1 = creal(lab_number(&trial->lab)), y1 = creal(lab_number(&trial->lab));
        give_number(trial, "d1", d1);
        give_number(trial, "d2", d2);
        give_number(trial, "x1", x1);
        give_number(trial, "y1", y1);
        if (!run(trial))
            continue;
        struct mat H = modified_rotation(trial, result(trial, "param")), xy = mat_new(&trial->lab, 2, 1);
        xy.v[0] = x1, xy.v[1] = y1;
        struct mat turned = mat_mul(&trial->lab, H, xy);
        double norm = d1 * x1 * x1 + d2 * y1 * y1;
        at_most(trial, "the second component", cabs(turned.v[1]), 16 * trial->eps);
        at_most(trial, "the error of x1", cabs(turned.v[0] - result_number(trial, "x1")), 16 * trial->eps);
        at_most(trial, "the change of the norm",
                fabs(creal(result_number(trial, "d1") * turned.v[0] * turned.v[0]) - norm),
                32 * trial->eps * norm);
    }
}

static const struct row blas1[] = {
    ROWS(axpy, axpy_default),   ROWS(copy, copy),           ROWS(swap, swap),        ROWS(scal, scal),
    {"csscal", 'c', real_scal}, {"zdscal", 'z', real_scal}, REAL_ROWS(dot, dot),     COMPLEX_ROWS(dotu, dot),
    COMPLEX_ROWS(dotc, dotc),   {"dsdot", 's', wide_dot},   {"sdsdot", 's', sdsdot}, {"snrm2", 's', nrm2},
    {"dnrm2", 'd', nrm2},       {"scnrm2", 'c', nrm2},      {"dznrm2", 'z', nrm2},   {"sasum", 's', asum},
    {"dasum", 'd', asum},       {"scasum", 'c', asum},      {"dzasum", 'z', asum},   {"isamax", 's', amax},
    {"idamax", 'd', amax},      {"icamax", 'c', amax},      {"izamax", 'z', amax},   REAL_ROWS(rot, rot),
    {"csrot", 'c', rot},        {"zdrot", 'z', rot},        ROWS(rotg, rotg),        REAL_ROWS(rotm, rotm),
    REAL_ROWS(rotmg, rotmg),
};
const struct group blas1_group = GROUP(blas1);
