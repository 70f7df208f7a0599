/* SPDX-License-Identifier: Apache-2.0
 *
 * data_orders SERVER: orders about the data of a session, as espalier.h has them; SERVER is where they go.
 */
#include "espalier.h"
#include "tests/e2e/must.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N     40
#define BOTH  (ESP_SESSION_INPUTS | ESP_SESSION_OUTPUTS)
#define COUNT 4 /* n, A, B, C */

static double a[N * N], b[N * N], c[N * N], expected[N * N];
static int n = N;

static void fill(struct esp_argument *arguments)
{
    double *const arrays[] = {a, b, c};
    memset(arguments, 0, COUNT * sizeof *arguments);
    arguments[0].data = &n;
    for (int i = 1; i < COUNT; i++)
        arguments[i] = (struct esp_argument){
            .data = arrays[i - 1], .type = ESP_TYPE_DOUBLE, .n_dims = 2, .dims = {N, N}};
}

static void multiply(void)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            expected[j * N + i] = 0;
            for (int k = 0; k < N; k++)
                expected[j * N + i] += a[k * N + i] * b[j * N + k];
        }
}

static int near(const double *x, const double *y)
{
    for (int i = 0; i < N * N; i++)
        if (!(fabs(x[i] - y[i]) < 1e-9))
            return 0;
    return 1;
}

/* How many servers have it; 0: none. */
static size_t places(const char *id)
{
    struct esp_data_info *infos;
    size_t found;
    if (esp_data_look(id, &infos, &found) != ESP_OK)
        return 0;
    esp_data_free(infos);
    return found;
}

static int has(const char *id, const char *server)
{
    struct esp_data_info *infos;
    size_t found, i;
    if (esp_data_list(server, &infos, &found) != ESP_OK)
        return 0;
    for (i = 0; i < found && strcmp(infos[i].id, id) != 0; i++)
        ;
    int there = i < found;
    esp_data_free(infos);
    return there;
}

static int part_of_all = 1;
static double highest;

static void progress(void *arg, double fraction)
{
    (void)arg;
    part_of_all &= fraction >= 0 && fraction <= 1;
    highest = fraction > highest ? fraction : highest;
}

static int leave_all(grpc_function_handle_t *product, struct esp_session_info **info)
{
    struct esp_argument arguments[COUNT];
    fill(arguments);
    arguments[3].data = NULL; /* the result stays, and does not come */
    for (int i = 0; i < COUNT; i++)
        arguments[i].stays = BOTH;
    MUST(esp_call(product, arguments, COUNT, NULL, info));
    HOLDS(*info && (*info)->n_data == 3 && c[0] == 0);
    const struct esp_session_datum *data = (*info)->data;
    HOLDS(strcmp(data[0].argument, "A") == 0 && data[0].side == ESP_SESSION_INPUTS && data[0].position == 1);
    HOLDS(strcmp(data[2].argument, "C") == 0 && data[2].side == ESP_SESSION_OUTPUTS && data[2].own);
    return 0;
}

static int orders(grpc_function_handle_t *product, const char *server)
{
    struct esp_session_info *info;
    struct esp_argument arguments[COUNT];
    if (leave_all(product, &info))
        return 1;
    const struct esp_session_datum *data = info->data;
    fill(arguments);

    /* One, and all, to another server. */
    HOLDS(!has(data[0].id, server) && !has(data[1].id, server) && !has(data[2].id, server));
    MUST(esp_session_send(info, ESP_SESSION_INPUTS, "A", server, NULL, NULL));
    HOLDS(has(data[0].id, server) && !has(data[1].id, server));
    MUST(esp_session_send(info, ESP_SESSION_OUTPUTS, NULL, server, NULL, NULL));
    HOLDS(has(data[2].id, server) && !has(data[1].id, server));
    MUST(esp_session_send(info, ESP_SESSION_INPUTS, NULL, server, progress, NULL));
    HOLDS(has(data[1].id, server) && part_of_all && highest == 1);

    /* To the client: the output, one input, all of them. */
    MUST(esp_session_bring(info, ESP_SESSION_OUTPUTS, NULL, arguments, COUNT, NULL, NULL));
    HOLDS(near(c, expected));
    memcpy(expected, a, sizeof a);
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    MUST(esp_session_bring(info, ESP_SESSION_INPUTS, "A", arguments, COUNT, NULL, NULL));
    HOLDS(near(a, expected) && b[1] == 0);
    MUST(esp_session_bring(info, ESP_SESSION_INPUTS, NULL, arguments, COUNT, NULL, NULL));
    HOLDS(near(a, expected) && b[1] != 0);

    /* Orders that must be refused. */
    arguments[3].dims[1] = N - 1;
    HOLDS(esp_session_bring(info, ESP_SESSION_OUTPUTS, NULL, arguments, COUNT, NULL, NULL) == ESP_INVALID);
    HOLDS(esp_session_bring(info, BOTH, NULL, arguments, COUNT, NULL, NULL) == ESP_INVALID);
    HOLDS(esp_session_send(info, 0, NULL, server, NULL, NULL) == ESP_INVALID);
    HOLDS(esp_session_send(info, BOTH, "q", server, NULL, NULL) == ESP_NOT_FOUND);
    HOLDS(esp_session_send(info, BOTH, NULL, "nobody", NULL, NULL) != ESP_OK);

    char *kept[3];
    for (int i = 0; i < 3; i++)
        kept[i] = strdup(data[i].id);
    MUST(esp_session_leave(info));
    for (int i = 0; i < 3; i++)
        HOLDS(places(kept[i]) == 0);
    HOLDS(esp_session_bring(info, ESP_SESSION_OUTPUTS, NULL, arguments, COUNT, NULL, NULL) != ESP_OK);
    for (int i = 0; i < 3; i++)
        free(kept[i]);
    esp_session_info_free(info);
    return 0;
}

/* Of an asynchronous session, whose input was there before and stays when it leaves. */
static int later(grpc_function_handle_t *product, const char *server)
{
    struct esp_session_info *info;
    struct esp_argument arguments[COUNT];
    grpc_sessionid_t session;
    char *id;
    fill(arguments);
    MUST(esp_data_put(server, &arguments[1], ESP_DATA_VOLATILE, NULL, NULL, &id));
    arguments[1].datum = id;
    arguments[1].data = NULL;
    arguments[1].stays = arguments[3].stays = BOTH;
    MUST(esp_call_async(product, arguments, COUNT, NULL, &session));
    MUST(grpc_wait(session));
    MUST(esp_session_info_get(session, &info));
    HOLDS(info->n_data == 2 && !info->data[0].own && strcmp(info->data[0].id, id) == 0);
    multiply();
    HOLDS(near(c, expected)); /* it has come, and stays */
    HOLDS(info->data[1].own && places(info->data[1].id) == 1);
    MUST(esp_session_leave(info));
    HOLDS(places(id) > 0);
    MUST(esp_data_drop(id));
    free(id);
    esp_session_info_free(info);
    return 0;
}

/* A program that attaches to the session learns of the inputs from its token, and of the result from the
 * server. */
static int of_a_job(grpc_function_handle_t *product)
{
    struct esp_session_info *info;
    struct esp_argument arguments[COUNT];
    struct esp_job *job, *known;
    grpc_sessionid_t session;
    double came[N * N];
    fill(arguments);
    arguments[1].stays = arguments[3].stays = BOTH;
    MUST(esp_job_submit(product, arguments, COUNT, NULL, 0, &job));
    HOLDS(job->n_data == 1 && strcmp(job->data[0].argument, "A") == 0 && job->data[0].own);
    HOLDS(job->data[0].side == ESP_SESSION_INPUTS && places(job->data[0].id) == 1);
    MUST(esp_job_read(job->token, &known));
    HOLDS(known->n_data == 1 && strcmp(known->data[0].id, job->data[0].id) == 0 &&
          known->data[0].position == 1);
    memset(c, 0, sizeof c);
    fill(arguments);
    MUST(esp_job_attach(known, arguments, COUNT, NULL, &session));
    MUST(grpc_wait(session));
    HOLDS(near(c, expected));
    MUST(esp_session_info_get(session, &info));
    HOLDS(info->n_data == 2 && info->data[0].own && info->data[1].own);
    HOLDS(strcmp(info->data[0].id, job->data[0].id) == 0 && info->data[1].side == ESP_SESSION_OUTPUTS);
    MUST(esp_job_forget(known));
    MUST(esp_data_get(info->data[1].id, came, sizeof came, NULL, NULL)); /* it outlives the job */
    HOLDS(near(came, expected));
    MUST(esp_session_leave(info));
    HOLDS(places(job->data[0].id) == 0 && places(info->data[1].id) == 0);
    esp_session_info_free(info);
    esp_job_free(known);
    esp_job_free(job);
    return 0;
}

int main(int argc, char **argv)
{
    grpc_function_handle_t product;
    if (argc < 2 || esp_initialize(NULL) != ESP_OK)
        return told("esp_initialize");
    for (int i = 0; i < N * N; i++) {
        a[i] = sin(i);
        b[i] = cos(i);
    }
    multiply();
    MUST(grpc_function_handle_init(&product, argc > 2 ? argv[2] : (char *)"A", (char *)"product"));
    int failed = orders(&product, argv[1]) || later(&product, argv[1]) || of_a_job(&product);
    grpc_finalize();
    return failed;
}
