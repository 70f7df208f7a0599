/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of this program inside routines of a server: an integral and a pendulum. The server needs the
 * library and the description of callback/.
 *
 *     cc integrate.c $(pkg-config --cflags --libs espalier) -lm -o integrate && ./integrate
 */
#include <espalier.h>

#include <math.h>
#include <stdio.h>

static int integrand_calls;

static double bell(double x)
{
    integrand_calls++;
    return exp(-x * x);
}

/* Angle and speed. */
static void pendulum(double t, int n, const double *y, double *slope)
{
    (void)t;
    if (n != 2) {
        esp_callback_fail("a pendulum has two equations");
        return;
    }
    slope[0] = y[1];
    slope[1] = -sin(y[0]);
}

static int call(const char *problem, grpc_function_handle_t *handle)
{
    if (grpc_function_handle_default(handle, (char *)problem) == GRPC_NO_ERROR)
        return 1;
    fprintf(stderr, "%s: %s\n", problem, esp_last_error()->text);
    return 0;
}

int main(void)
{
    grpc_function_handle_t quad, rk4;
    double integral, y[2] = {1, 0};
    int calls;
    if (grpc_initialize(NULL) != GRPC_NO_ERROR || !call("quad", &quad) || !call("rk4", &rk4))
        return 1;
    if (grpc_call(&quad, bell, -6.0, 6.0, 1e-8, &integral, &calls) != GRPC_NO_ERROR ||
        grpc_call(&rk4, pendulum, 2, 0.0, 1.0, 50, y) != GRPC_NO_ERROR) {
        fprintf(stderr, "%s\n", esp_last_error()->text);
        return 1;
    }
    printf("integral %.8f, %d calls here, %d there\n", integral, integrand_calls, calls);
    printf("angle %.8f, energy %.8f\n", y[0], y[1] * y[1] / 2 - cos(y[0]));
    grpc_finalize();
    return 0;
}
