/* SPDX-License-Identifier: Apache-2.0
 *
 * The Poisson equation on a square, by successive over-relaxation: an iteration that takes a while, and that
 * saves where it is, so that what interrupts it costs the last moments only. Built by
 *
 *     cc -O2 -fPIC -shared -o libpoisson.so poisson.c
 *
 * into the folder of poisson.esp. The functions of espalier_server.h are in the worker that calls it.
 */
#include <espalier_server.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* All that the iteration needs to go on; the grid lies behind it. */
struct state {
    int n, iterations;
    double residual;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* One sweep over the inner points of the (n+2) x (n+2) grid u; the largest change. */
static double sweep(int n, const double *f, double *u, double omega)
{
    const int width = n + 2;
    const double h2 = 1.0 / ((double)(n + 1) * (n + 1));
    double largest = 0;
    for (int j = 1; j <= n; j++)
        for (int i = 1; i <= n; i++) {
            double *at = u + (size_t)j * width + i;
            const double wanted =
                0.25 * (at[-1] + at[1] + at[-width] + at[width] + h2 * f[(size_t)(j - 1) * n + (i - 1)]);
            const double change = omega * (wanted - *at);
            *at += change;
            if (fabs(change) > largest)
                largest = fabs(change);
        }
    return largest;
}

/* Solves -(u_xx + u_yy) = f inside, u = 0 on the border, until no value changes by more than tol or after so
 * many sweeps. `from`: the sweep that it went on from. Returns 0, 1 (no memory) or 2 (not converged). */
int poisson_sor(int n, const double *f, double tol, int most, double every_s, double *u, int *iterations,
                int *from)
{
    const size_t points = (size_t)(n + 2) * (size_t)(n + 2),
                 bytes = sizeof(struct state) + points * sizeof *u;
    struct state *state = calloc(1, bytes);
    if (!state)
        return 1;
    double *grid = (double *)(state + 1), saved_s = now_s();
    const double omega = 2 / (1 + sin(acos(-1) / (n + 1)));
    if (esp_checkpoint_load(state, bytes) != bytes || state->n != n)
        memset(state, 0, bytes); /* there is none: from the beginning */
    state->n = n;
    *from = state->iterations;
    int done = 0;
    while (!done && state->iterations < most) {
        state->residual = sweep(n, f, grid, omega);
        state->iterations++;
        done = state->residual <= tol;
        esp_progress((double)state->iterations / most);
        if (!done && now_s() - saved_s >= every_s) {
            esp_checkpoint_save(state, bytes); /* without it, it only takes longer after a crash */
            saved_s = now_s();
        }
    }
    for (int j = 0; j < n; j++)
        memcpy(u + (size_t)j * n, grid + (size_t)(j + 1) * (n + 2) + 1, (size_t)n * sizeof *u);
    *iterations = state->iterations;
    free(state);
    return done ? 0 : 2;
}
