/* SPDX-License-Identifier: Apache-2.0
 *
 * For programs of end-to-end tests that use data on servers: some square matrices, and grpc_data_t of them.
 */
#ifndef TESTS_E2E_DATA_ARRAYS_H
#define TESTS_E2E_DATA_ARRAYS_H

#include "grpc_data.h"
#include "tests/e2e/must.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 120 /* 115,200 bytes: more than travels inside a call of a sequence */

static double a[N * N], b[N * N], c[N * N], expected[N * N];

static inline void fill(double *x, double seed)
{
    for (int i = 0; i < N * N; i++)
        x[i] = sin(seed + i);
}

static inline void multiply(const double *x, const double *y, double *z)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += x[k * N + i] * y[j * N + k];
            z[j * N + i] = sum;
        }
}

static inline int near(const double *x, const double *y)
{
    for (int i = 0; i < N * N; i++)
        if (!(fabs(x[i] - y[i]) < 1e-9))
            return 0;
    return 1;
}

static inline unsigned long long moved(int in)
{
    struct esp_data_info *infos;
    size_t n;
    unsigned long long bytes = 0;
    if (esp_data_list(NULL, &infos, &n) != ESP_OK)
        return ~0ull;
    for (size_t i = 0; i < n; i++)
        bytes += infos[i].replica ? 0 : in ? infos[i].bytes_in : infos[i].bytes_out;
    esp_data_free(infos);
    return bytes;
}

/* Bytes of all data that servers have got: from clients and from their own workers, not from each other. */
static inline unsigned long long received(void)
{
    return moved(1);
}

/* Bytes of them that they have given. */
static inline unsigned long long handed_out(void)
{
    return moved(0);
}

static const size_t dims[] = {N, N, 0};

static inline grpc_error_t array(grpc_data_t *data, const char *input, const char *output,
                                 grpc_data_mode_t mode)
{
    const char *inputs[] = {input, NULL}, *outputs[] = {output, NULL};
    const grpc_data_mode_t modes[] = {mode, GRPC_END_LIST};
    return grpc_data_init(data, inputs, outputs, GRPC_DOUBLE, dims, modes);
}

static inline int says(const grpc_data_t *data, grpc_data_info_type_t tag, const char *expected_text)
{
    char *text = NULL;
    int same = grpc_data_getinfo(data, tag, NULL, &text) == GRPC_NO_ERROR && strcmp(text, expected_text) == 0;
    if (!same)
        fprintf(stderr, "expected \"%s\", found \"%s\"\n", expected_text, text ? text : "");
    free(text);
    return same;
}

struct step {
    const char *name;
    int (*run)(void);
};

/* For main(): what the step of that name returns; 2: there is none. */
static inline int run_step(const struct step *steps, size_t n, const char *name)
{
    int failed = 2;
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return told("grpc_initialize");
    for (size_t i = 0; i < n; i++)
        if (strcmp(steps[i].name, name) == 0)
            failed = steps[i].run();
    grpc_finalize();
    return failed;
}

#endif
