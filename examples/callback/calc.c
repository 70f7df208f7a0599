/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines that call functions of their caller: quadrature and ordinary differential equations. calc.esp
 * describes them, ../integrate.c calls them.
 *
 *   cc -shared -fPIC -o libcalc.so calc.c
 */
#include <stdlib.h>

double calc_quad(double (*f)(double x), double a, double b, double tolerance, int *calls);
int calc_rk4(void (*f)(double t, int n, const double *y, double *slope), int n, double from, double to,
             int steps, double *y);

/* One interval of adaptive Simpson quadrature: the integrand at its ends and in its middle, and its rule. */
struct interval {
    double (*f)(double x);
    double a, b, fa, fm, fb, rule;
    int *calls;
};

static double refine(const struct interval *whole, double tolerance, int depth)
{
    double m = (whole->a + whole->b) / 2, h = (whole->b - whole->a) / 12;
    struct interval left = *whole, right = *whole;
    left.b = right.a = m;
    left.fb = right.fa = whole->fm;
    left.fm = whole->f((whole->a + m) / 2);
    right.fm = whole->f((m + whole->b) / 2);
    *whole->calls += 2;
    left.rule = h * (left.fa + 4 * left.fm + left.fb);
    right.rule = h * (right.fa + 4 * right.fm + right.fb);
    double error = (left.rule + right.rule - whole->rule) / 15;
    if (depth == 0 || (error < tolerance && error > -tolerance))
        return left.rule + right.rule + error;
    return refine(&left, tolerance / 2, depth - 1) + refine(&right, tolerance / 2, depth - 1);
}

/* The integral of f from a to b; *calls counts its calls. */
double calc_quad(double (*f)(double x), double a, double b, double tolerance, int *calls)
{
    struct interval whole = {f, a, b, f(a), f((a + b) / 2), f(b), 0, calls};
    *calls = 3;
    whole.rule = (b - a) / 6 * (whole.fa + 4 * whole.fm + whole.fb);
    return refine(&whole, tolerance, 20);
}

static void add(int n, const double *y, double factor, const double *slope, double *sum)
{
    for (int i = 0; i < n; i++)
        sum[i] = y[i] + factor * slope[i];
}

/* y' = f(t, y) from y(from) to y(to) by the classical method of Runge and Kutta. 0; 1: no memory. */
int calc_rk4(void (*f)(double t, int n, const double *y, double *slope), int n, double from, double to,
             int steps, double *y)
{
    double h = (to - from) / steps, *k = malloc(((size_t)n * 5 + 1) * sizeof *k);
    if (!k)
        return 1;
    double *k1 = k, *k2 = k + n, *k3 = k2 + n, *k4 = k3 + n, *z = k4 + n;
    for (int step = 0; step < steps; step++) {
        double t = from + step * h;
        f(t, n, y, k1);
        add(n, y, h / 2, k1, z);
        f(t + h / 2, n, z, k2);
        add(n, y, h / 2, k2, z);
        f(t + h / 2, n, z, k3);
        add(n, y, h, k3, z);
        f(t + h, n, z, k4);
        for (int i = 0; i < n; i++)
            y[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    }
    free(k);
    return 0;
}
