/* SPDX-License-Identifier: Apache-2.0
 *
 * file_steps: data of grpc_data.h that come from files, and go to files.
 *
 *     file_steps replaced PID  another file takes the place of the one that a call takes, while its server,
 * the process PID, stands still file_steps written PATH  an array goes to that file
 */
#include "grpc_data.h"
#include "tests/e2e/must.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define N 1000000 /* so large that the memory of one that is freed is not there any more */

static double x[N], y[N];

static int make_file(const char *path, double value)
{
    for (int i = 0; i < N; i++)
        x[i] = value + i;
    FILE *file = fopen(path, "wb");
    HOLDS(file && fwrite(x, sizeof *x, N, file) == N);
    HOLDS(fclose(file) == 0);
    return 0;
}

static int wait_for(grpc_data_t *data)
{
    const grpc_data_t *list[] = {data, NULL};
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    return 0;
}

static int replaced(const char *word)
{
    const size_t dims[] = {N, 0};
    const char *one[] = {"file:one", NULL}, *two[] = {"file:two", NULL};
    const pid_t server = (pid_t)atol(word);
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    grpc_data_t data;
    if (make_file("one", 1) || make_file("two", 2))
        return 1;
    MUST(grpc_function_handle_init(&handle, (char[]){"A"}, (char[]){"copy_double"}));
    MUST(grpc_data_init(&data, one, NULL, GRPC_DOUBLE, dims, NULL));
    HOLDS(kill(server, SIGSTOP) == 0);
    const grpc_error_t called = grpc_call_async(&handle, &session, N, &data, y);
    const grpc_error_t moved = grpc_data_transfer(&data, two, NULL, NULL);
    const int waited = wait_for(&data);
    HOLDS(kill(server, SIGCONT) == 0);
    MUST(called);
    MUST(moved);
    HOLDS(waited == 0);
    MUST(grpc_wait(session));
    HOLDS(y[0] == 1 && y[N - 1] == N);
    MUST(grpc_call(&handle, N, &data, y));
    HOLDS(y[0] == 2 && y[N - 1] == N + 1);
    MUST(grpc_data_free(&data, NULL));
    MUST(grpc_function_handle_destruct(&handle));
    return 0;
}

static int written(const char *path)
{
    char place[4096];
    const size_t dims[] = {N, 0};
    const char *in[] = {"memory:x", NULL}, *out[] = {place, NULL};
    grpc_data_t data;
    snprintf(place, sizeof place, "file:%s", path);
    MUST(grpc_data_memory_mapping_set("x", x));
    MUST(grpc_data_init(&data, in, out, GRPC_DOUBLE, dims, NULL));
    MUST(grpc_data_transfer(&data, NULL, NULL, NULL));
    return wait_for(&data);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    MUST(grpc_initialize(NULL));
    int failed = strcmp(argv[1], "replaced") == 0 ? replaced(argv[2]) : written(argv[2]);
    MUST(grpc_finalize());
    return failed;
}
