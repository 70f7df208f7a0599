/* SPDX-License-Identifier: Apache-2.0
 *
 * lend_steps: arrays in memory of esp_alloc(), which a server on this host uses where they are.
 *
 *     lend_steps product   as arguments and results, whole and in part
 *     lend_steps solve     of which one is overwritten by its result
 *     lend_steps cancel    of calls that end before their result is there
 *     lend_steps memory    without any server
 */
#include "espalier.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 256 }; /* 512 KiB: more than travels inside a call */
#define BYTES (sizeof(double) * N * N)

#define HOLDS(condition)                                                                                     \
    if (!(condition))                                                                                        \
    return fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__, #condition, esp_last_error()->text), 1

static void fill(double *x, double seed)
{
    for (int i = 0; i < N * N; i++)
        x[i] = sin(seed + i) + (i % (N + 1) == 0 ? N : 0);
}

static int near(const double *x, const double *y, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(x[i] - y[i]) < 1e-6))
            return 0;
    return 1;
}

static int multiply(const double *x, const double *y, double *z)
{
    grpc_function_handle_t handle;
    if (grpc_function_handle_default(&handle, "product") != GRPC_NO_ERROR)
        return 0;
    int well = grpc_call(&handle, N, x, y, z) == GRPC_NO_ERROR;
    grpc_function_handle_destruct(&handle);
    return well;
}

static int product(void)
{
    double *x = malloc(BYTES), *y = malloc(BYTES), *z = malloc(BYTES);
    double *a = esp_alloc(BYTES), *b = esp_alloc(2 * BYTES + 4096), *c = esp_alloc(BYTES),
           *wide = esp_alloc(3 * BYTES);
    HOLDS(x && y && z && a && b && c && wide);
    fill(x, 1);
    fill(y, 2);
    HOLDS(multiply(x, y, z));
    memcpy(a, x, BYTES);
    double *part = b + 77; /* not at the beginning of anything */
    memcpy(part, y, BYTES);
    for (int round = 0; round < 3; round++) {
        memset(c, 0, BYTES);
        HOLDS(multiply(a, part, c));
        HOLDS(near(c, z, N * N));
    }
    HOLDS(memcmp(a, x, BYTES) == 0 && memcmp(part, y, BYTES) == 0);
    /* A result within a larger array leaves what is around it alone. */
    for (int i = 0; i < 3 * N * N; i++)
        wide[i] = 7;
    HOLDS(multiply(a, part, wide + N * N));
    HOLDS(near(wide + N * N, z, N * N));
    for (int i = 0; i < N * N; i++)
        HOLDS(wide[i] == 7 && wide[2 * N * N + i] == 7);
    /* The program may write between calls. */
    fill(a, 3);
    memcpy(x, a, BYTES);
    HOLDS(multiply(x, y, z) && multiply(a, part, c) && near(c, z, N * N));
    HOLDS(esp_free(a) == ESP_OK && esp_free(b) == ESP_OK && esp_free(c) == ESP_OK &&
          esp_free(wide) == ESP_OK);
    free(x);
    free(y);
    free(z);
    return 0;
}

static int solve(void)
{
    double *a = esp_alloc(BYTES), *b = esp_alloc(BYTES), *x = malloc(BYTES), *y = malloc(BYTES);
    int pivots[N];
    grpc_function_handle_t handle;
    HOLDS(a && b && x && y);
    HOLDS(grpc_function_handle_default(&handle, "dgesv") == GRPC_NO_ERROR);
    for (int round = 0; round < 2; round++) {
        fill(a, 1);
        fill(b, 2);
        memcpy(x, a, BYTES);
        memcpy(y, b, BYTES);
        HOLDS(grpc_call(&handle, N, N, x, pivots, y) == GRPC_NO_ERROR);
        HOLDS(grpc_call(&handle, N, N, a, pivots, b) == GRPC_NO_ERROR);
        HOLDS(near(a, x, N * N) && near(b, y, N * N));
    }
    grpc_function_handle_destruct(&handle);
    free(x);
    free(y);
    return esp_free(a) != ESP_OK || esp_free(b) != ESP_OK;
}

static int cancel(void)
{
    double *slow = esp_alloc(BYTES), *a = esp_alloc(BYTES), *x = malloc(BYTES), *z = malloc(BYTES);
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    HOLDS(slow && a && x && z);
    HOLDS(grpc_function_handle_default(&handle, "fill_slowly") == GRPC_NO_ERROR);
    for (int i = 0; i < N * N; i++)
        slow[i] = 5;
    HOLDS(grpc_call_async(&handle, &session, N * N, slow) == GRPC_NO_ERROR);
    for (int ms = 0; ms < 10000 && *(volatile double *)slow != 1; ms++)
        usleep(1000);
    HOLDS(slow[0] == 1 && slow[N * N - 1] == 5); /* it writes where we see it */
    HOLDS(grpc_cancel(session) == GRPC_NO_ERROR);
    grpc_wait(session);
    usleep(700000); /* as long as the routine would still have taken */
    HOLDS(slow[N * N - 1] == 5);
    /* And it can be lent again. */
    fill(a, 1);
    fill(x, 1);
    HOLDS(multiply(x, x, z) && multiply(a, a, slow) && near(slow, z, N * N));
    grpc_function_handle_destruct(&handle);
    free(x);
    free(z);
    return esp_free(slow) != ESP_OK || esp_free(a) != ESP_OK;
}

static int memory(void)
{
    char *one = esp_alloc(1), *none = esp_alloc(0), *odd = esp_alloc(4097);
    HOLDS(one && none && odd && one != none);
    HOLDS(((uintptr_t)one | (uintptr_t)none | (uintptr_t)odd) % 8 == 0);
    HOLDS(*one == 0 && odd[0] == 0 && odd[4096] == 0);
    memset(odd, 1, 4097);
    HOLDS(esp_free(odd + 8) == ESP_INVALID);
    HOLDS(esp_free(odd) == ESP_OK && esp_free(odd) == ESP_INVALID && esp_free(NULL) == ESP_OK);
    HOLDS(esp_free(one) == ESP_OK && esp_free(none) == ESP_OK);
    errno = 0;
    HOLDS(!esp_alloc(SIZE_MAX) && errno == ENOMEM);
    errno = 0;
    HOLDS(!esp_alloc(SIZE_MAX / 4) && errno == ENOMEM);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } steps[] = {{"product", product}, {"solve", solve}, {"cancel", cancel}, {"memory", memory}};
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return 2;
    int result = 2;
    for (size_t i = 0; argc == 2 && i < sizeof steps / sizeof *steps; i++)
        if (strcmp(argv[1], steps[i].name) == 0)
            result = steps[i].run();
    grpc_finalize();
    return result;
}
