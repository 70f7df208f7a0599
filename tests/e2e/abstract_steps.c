/* SPDX-License-Identifier: Apache-2.0
 *
 * abstract_steps: abstract problems through the GridRPC API, in memory of a program.
 */
#include "espalier.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>

#define N 40

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, esp_last_error()->text);
    return 1;
}

/* max |A X - B| of one right-hand side. */
static double residual(const double *a, const double *x, const double *b, int n)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double sum = -b[i];
        for (int j = 0; j < n; j++)
            sum += a[j * n + i] * x[j];
        worst = fmax(worst, fabs(sum));
    }
    return worst;
}

static int solves(void)
{
    static double a[N * N], b[N], x[N];
    grpc_function_handle_t handle;
    if (grpc_function_handle_default(&handle, (char *)"solve") != GRPC_NO_ERROR)
        return fail("solve");
    for (int kind = 0; kind < 3; kind++) { /* general, symmetric indefinite, tridiagonal */
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                a[j * N + i] = kind == 0   ? sin(1.0 + 7.0 * i * j + i) + (i == j ? 9 : 0)
                               : kind == 1 ? cos(1.0 + i * j)
                                           : (i == j                     ? 2.1
                                              : i - j == 1 || j - i == 1 ? -1
                                                                         : 0);
        for (int i = 0; i < N; i++)
            b[i] = i + 1;
        if (grpc_call(&handle, N, N, 1, a, b, x) != GRPC_NO_ERROR)
            return fail("grpc_call");
        if (!(residual(a, x, b, N) < 1e-8))
            return fprintf(stderr, "kind %d: residual %g\n", kind, residual(a, x, b, N)), 1;
    }
    grpc_function_handle_destruct(&handle);
    return 0;
}

#define AT_ONCE 40 /* more than the library has threads for */

static int at_once(void)
{
    static double a[AT_ONCE][4], x[AT_ONCE][4];
    grpc_sessionid_t sessions[AT_ONCE];
    grpc_function_handle_t handle;
    struct esp_session_info *info;
    if (grpc_function_handle_default(&handle, (char *)"inv") != GRPC_NO_ERROR)
        return fail("inv");
    for (int k = 0; k < AT_ONCE; k++) {
        a[k][0] = k + 2, a[k][1] = 1, a[k][2] = 1, a[k][3] = 1;
        if (grpc_call_async(&handle, &sessions[k], 2, a[k], x[k]) != GRPC_NO_ERROR)
            return fail("grpc_call_async");
    }
    if (grpc_wait(sessions[0]) != GRPC_NO_ERROR || grpc_wait_and(sessions, AT_ONCE) != GRPC_NO_ERROR)
        return fail("grpc_wait_and");
    for (int k = 0; k < AT_ONCE; k++)
        if (!(fabs(x[k][0] - 1.0 / (k + 1)) < 1e-12))
            return fprintf(stderr, "inverse %d: found %g\n", k, x[k][0]), 1;
    if (esp_session_info_get(sessions[3], &info) != ESP_OK)
        return fail("esp_session_info_get");
    printf("%s of %s on %s took %s\n", info->state, info->problem, info->server,
           info->total_s > 0 && info->compute_s <= info->total_s ? "its time" : "no time");
    esp_session_info_free(info);
    double singular[4] = {1, 1, 1, 1};
    if (grpc_call_async(&handle, &sessions[0], 2, singular, x[0]) != GRPC_NO_ERROR)
        return fail("grpc_call_async");
    if (grpc_wait(sessions[0]) != GRPC_SESSION_FAILED)
        return fail("a singular matrix has an inverse");
    printf("%s\n", esp_last_error()->text);
    grpc_function_handle_destruct(&handle);
    return 0;
}

/* One slot: most of them have not begun. */
static int cancelled(void)
{
    static double a[300 * 300], x[AT_ONCE][300 * 300];
    grpc_sessionid_t sessions[AT_ONCE];
    grpc_function_handle_t handle;
    int n = 0;
    if (grpc_function_handle_default(&handle, (char *)"inv") != GRPC_NO_ERROR)
        return fail("inv");
    for (int j = 0; j < 300; j++)
        a[j * 301] = 2;
    a[1] = a[300] = 1;
    for (int k = 0; k < AT_ONCE; k++)
        if (grpc_call_async(&handle, &sessions[k], 300, a, x[k]) != GRPC_NO_ERROR)
            return fail("grpc_call_async");
    if (grpc_cancel_all() != GRPC_NO_ERROR)
        return fail("grpc_cancel_all");
    for (int k = 0; k < AT_ONCE; k++)
        if (grpc_wait(sessions[k]) == GRPC_SESSION_FAILED) {
            n++;
            if (esp_last_error()->status != ESP_CANCELLED)
                return fail("cancelled");
        }
    printf("%s\n", n > 0 ? "cancelled" : "nothing was cancelled");
    if (grpc_call_async(&handle, &sessions[0], 300, a, x[0]) != GRPC_NO_ERROR)
        return fail("grpc_call_async"); /* finalize ends it */
    return 0;
}

static int submitted(void)
{
    double a[4] = {3, 1, 2, 4}, b[2] = {5, 5}, x[2] = {0};
    int m = 2, n = 2, nrhs = 1;
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    struct esp_job *job;
    const struct esp_argument arguments[] = {
        {.type = ESP_TYPE_INT, .data = &m},
        {.type = ESP_TYPE_INT, .data = &n},
        {.type = ESP_TYPE_INT, .data = &nrhs},
        {.type = ESP_TYPE_DOUBLE, .n_dims = 2, .dims = {2, 2}, .data = a},
        {.type = ESP_TYPE_DOUBLE, .n_dims = 2, .dims = {2, 1}, .data = b},
        {.type = ESP_TYPE_DOUBLE, .n_dims = 2, .dims = {2, 1}, .data = x}};
    if (grpc_function_handle_default(&handle, (char *)"solve") != GRPC_NO_ERROR ||
        esp_job_submit(&handle, arguments, 6, NULL, 0, &job) != ESP_OK)
        return fail("esp_job_submit");
    struct esp_argument results[ESP_MAX_ARGUMENTS] = {0};
    for (size_t i = 0; i < job->problem->n_arguments; i++) {
        results[i] = job->arguments[i];
        results[i].data = job->problem->arguments[i].name[0] == 'B' ? x : NULL;
    }
    printf("the job is of %s\n", job->problem->name);
    if (esp_job_attach(job, results, job->problem->n_arguments, NULL, &session) != ESP_OK ||
        grpc_wait(session) != GRPC_NO_ERROR)
        return fail("the job");
    esp_job_forget(job);
    esp_job_free(job);
    grpc_function_handle_destruct(&handle);
    return fabs(3 * x[0] + 2 * x[1] - 5) + fabs(x[0] + 4 * x[1] - 5) < 1e-12 ? 0 : fail("its solution");
}

static int hermitian(void)
{
    double complex a[4] = {4, -2 * I, 2 * I, 5}, b[2] = {1, I}, x[2];
    grpc_function_handle_t handle;
    if (grpc_function_handle_default(&handle, (char *)"zsolve") != GRPC_NO_ERROR ||
        grpc_call(&handle, 2, 2, 1, a, b, x) != GRPC_NO_ERROR)
        return fail("zsolve");
    double complex first = a[0] * x[0] + a[2] * x[1] - b[0], second = a[1] * x[0] + a[3] * x[1] - b[1];
    return cabs(first) + cabs(second) < 1e-13 ? 0 : fail("zsolve's residual");
}

/* The inverse in two calls. */
static int chain(void)
{
    float a[4] = {4, 1, 2, 3}, x[4];
    grpc_function_handle_t handle;
    if (grpc_function_handle_default(&handle, (char *)"schained") != GRPC_NO_ERROR ||
        grpc_call(&handle, 2, a, x) != GRPC_NO_ERROR)
        return fail("schained");
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            if (fabsf(a[i] * x[2 * j] + a[2 + i] * x[2 * j + 1] - (i == j)) > 1e-6f)
                return fail("schained's residual");
    return 0;
}

int main(void)
{
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return fail("begin");
    if (solves() || hermitian() || chain() || at_once() || submitted() || cancelled())
        return 1;
    return grpc_finalize() != GRPC_NO_ERROR;
}
