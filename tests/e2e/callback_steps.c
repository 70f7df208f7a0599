/* SPDX-License-Identifier: Apache-2.0
 *
 * callback_steps STEP [FILE]: calls problems of examples/callback with functions of its own. 0: as expected.
 * `hang` makes FILE when its function is called, and waits there for its end.
 */
#include "tests/e2e/steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static grpc_function_handle_t quad, rk4;
static int n_calls;
static const char *path;
static grpc_error_t inside;

static double cube(double x)
{
    n_calls++;
    return x * x * x;
}

static double slow_cube(double x)
{
    if (n_calls == 0)
        nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 500000000}, NULL);
    return cube(x);
}

static double failing(double x)
{
    if (x > 0)
        esp_callback_fail("x must not be positive");
    return x;
}

static double hanging(double x)
{
    fclose(fopen(path, "w"));
    pause();
    return x;
}

static double nested(double x)
{
    double integral;
    int calls;
    inside = grpc_call(&quad, cube, 0.0, 1.0, 1e-3, &integral, &calls);
    return x;
}

static void circle(double t, int n, const double *y, double *slope)
{
    (void)t;
    slope[0] = n == 2 ? -y[1] : 0;
    slope[1] = y[0];
}

static int values(void)
{
    double integral = 0, y[2] = {1, 0};
    int calls = 0;
    EXPECT(grpc_call(&quad, cube, 0.0, 2.0, 1e-9, &integral, &calls) == GRPC_NO_ERROR);
    EXPECT(fabs(integral - 4) < 1e-8 && calls == n_calls && calls >= 5);
    EXPECT(grpc_call(&rk4, circle, 2, 0.0, 1.0, 20, y) == GRPC_NO_ERROR);
    EXPECT(fabs(y[0] - cos(1)) < 1e-6 && fabs(y[1] - sin(1)) < 1e-6);
    return 0;
}

static int slow(void)
{
    double integral = 0;
    int calls = 0;
    EXPECT(grpc_call(&quad, slow_cube, 0.0, 2.0, 1e-9, &integral, &calls) == GRPC_NO_ERROR);
    EXPECT(fabs(integral - 4) < 1e-8 && calls == n_calls);
    return 0;
}

static int asynchronous(void)
{
    double integral[2] = {0};
    int calls[2];
    grpc_sessionid_t session[2];
    for (int i = 0; i < 2; i++)
        EXPECT(grpc_call_async(&quad, &session[i], cube, 0.0, 1.0 + i, 1e-9, &integral[i], &calls[i]) ==
               GRPC_NO_ERROR);
    EXPECT(grpc_wait_all() == GRPC_NO_ERROR);
    EXPECT(fabs(integral[0] - 0.25) < 1e-8 && fabs(integral[1] - 4) < 1e-8);
    return 0;
}

static int vectors(void)
{
    double a = 0, b = 2, integral = 0;
    int calls;
    struct esp_argument arguments[6] = {{.type = ESP_TYPE_CALLBACK},
                                        {.data = &a, .type = ESP_TYPE_DOUBLE},
                                        {.data = &b, .type = ESP_TYPE_DOUBLE},
                                        {.data = NULL},
                                        {.data = &integral},
                                        {.data = &calls}};
    double (*function)(double) = cube;
    memcpy(&arguments[0].data, &function, sizeof function);
    EXPECT(esp_call(&quad, arguments, 6, NULL, NULL) == ESP_OK && fabs(integral - 4) < 1e-6);
    arguments[0].data = NULL;
    EXPECT(esp_call(&quad, arguments, 6, NULL, NULL) == ESP_INVALID);
    EXPECT(strstr(esp_last_error()->text, "\"f\": expected the address of a function"));
    return 0;
}

static int failures(void)
{
    double integral;
    int calls;
    EXPECT(grpc_call(&quad, failing, -1.0, 1.0, 1e-3, &integral, &calls) != GRPC_NO_ERROR);
    EXPECT(esp_last_error()->status == ESP_FAILED);
    EXPECT(strstr(esp_last_error()->text, "callback f failed in the client: x must not be positive"));
    EXPECT(grpc_call(&quad, nested, 0.0, 1.0, 1e-3, &integral, &calls) == GRPC_NO_ERROR);
    EXPECT(inside != GRPC_NO_ERROR);
    return values();
}

/* A job has no client. */
static int submitted(void)
{
    double a = 0, b = 1, tolerance = 1e-3, integral;
    int calls;
    void (*f)(void) = (void (*)(void))cube;
    struct esp_job *job;
    struct esp_argument arguments[6] = {{.data = NULL},
                                        {.type = ESP_TYPE_DOUBLE, .data = &a},
                                        {.type = ESP_TYPE_DOUBLE, .data = &b},
                                        {.type = ESP_TYPE_DOUBLE, .data = &tolerance},
                                        {.type = ESP_TYPE_DOUBLE, .data = &integral},
                                        {.type = ESP_TYPE_INT, .data = &calls}};
    memcpy(&arguments[0].data, &f, sizeof f);
    arguments[0].type = ESP_TYPE_CALLBACK;
    EXPECT(esp_job_submit(&quad, arguments, 6, NULL, 0, &job) == ESP_INVALID);
    EXPECT(strstr(esp_last_error()->text, "quad calls functions of its client, which has to stay"));
    return 0;
}

static int hang(void)
{
    double integral;
    int calls;
    return grpc_call(&quad, hanging, 0.0, 1.0, 1e-3, &integral, &calls) == GRPC_NO_ERROR;
}

static int deadline(void)
{
    double integral;
    int calls;
    EXPECT(esp_handle_set_deadline(&quad, 0.5) == ESP_OK);
    EXPECT(grpc_call(&quad, slow_cube, 0.0, 1.0, 1e-3, &integral, &calls) != GRPC_NO_ERROR);
    EXPECT(esp_last_error()->status == ESP_TIMEOUT);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } steps[] = {{"values", values},   {"slow", slow},         {"async", asynchronous},
                 {"vectors", vectors}, {"failures", failures}, {"deadline", deadline},
                 {"hang", hang},       {"job", submitted}};
    path = argc > 2 ? argv[2] : "asked";
    EXPECT(grpc_initialize(NULL) == GRPC_NO_ERROR);
    EXPECT(grpc_function_handle_default(&quad, (char *)"quad") == GRPC_NO_ERROR);
    EXPECT(grpc_function_handle_default(&rk4, (char *)"rk4") == GRPC_NO_ERROR);
    for (size_t i = 0; argc > 1 && i < sizeof steps / sizeof *steps; i++)
        if (strcmp(steps[i].name, argv[1]) == 0)
            return steps[i].run() != 0 || grpc_finalize() != GRPC_NO_ERROR;
    return 2;
}
