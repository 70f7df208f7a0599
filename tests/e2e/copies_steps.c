/* SPDX-License-Identifier: Apache-2.0
 *
 * copies_steps: a grpc_data_t with copies on the servers A and B, of which one is lost when the file "made"
 * is there, which has its identity, and before "lost" is. The program has written over the memory that it was
 * sent from.
 *
 *     copies_steps durable     sent to both, to stay there
 *     copies_steps volatile    the same, not to stay
 *     copies_steps result      what a call has made on A, copied to B
 *     copies_steps used        on A, and where a call on B took it
 *     copies_steps under-way   as durable; the server is lost while a call there takes it
 */
#include "espalier.h"
#include "tests/e2e/data_arrays.h"

#include <time.h>
#include <unistd.h>

static double d[N * N], value[N * N];

static int wait_for(grpc_data_t *data)
{
    const grpc_data_t *list[] = {data, NULL};
    MUST(grpc_data_wait(list, GRPC_WAIT_ALL, NULL));
    return 0;
}

static int transfer(grpc_data_t *data, const char *first, const char *second, grpc_data_mode_t mode)
{
    const char *nothing[] = {NULL}, *to[] = {first, second, NULL};
    const grpc_data_mode_t modes[] = {mode, second ? mode : GRPC_END_LIST, GRPC_END_LIST};
    MUST(grpc_data_transfer(data, nothing, to, modes));
    return wait_for(data);
}

static int send(grpc_data_t *data, grpc_data_mode_t mode)
{
    MUST(array(data, "memory:a", NULL, mode));
    memcpy(value, a, sizeof a);
    const char *to[] = {"server:A", "server:B", NULL};
    const grpc_data_mode_t modes[] = {mode, mode, GRPC_END_LIST};
    MUST(grpc_data_transfer(data, NULL, to, modes));
    return wait_for(data);
}

static int make_on_a(grpc_data_t *data)
{
    grpc_function_handle_t mul;
    MUST(grpc_function_handle_init(&mul, (char *)"A", (char *)"product"));
    MUST(array(data, NULL, NULL, GRPC_PERSISTENT));
    MUST(grpc_call(&mul, N, a, b, data));
    multiply(a, b, value);
    return transfer(data, "server:A", "server:B", GRPC_PERSISTENT);
}

static int use_on_b(grpc_data_t *data)
{
    grpc_function_handle_t mul;
    MUST(grpc_function_handle_init(&mul, (char *)"B", (char *)"product"));
    MUST(array(data, "memory:a", "server:A", GRPC_PERSISTENT));
    memcpy(value, a, sizeof a);
    MUST(grpc_data_transfer(data, NULL, NULL, NULL));
    if (wait_for(data))
        return 1;
    MUST(grpc_call(&mul, N, data, b, c));
    return 0;
}

static int have_one_lost(const grpc_data_t *data)
{
    char *identity = NULL;
    MUST(grpc_data_getinfo(data, GRPC_INFO_IDENTITY, NULL, &identity));
    FILE *file = fopen("made.new", "w");
    HOLDS(file && fputs(identity, file) >= 0 && fclose(file) == 0 && rename("made.new", "made") == 0);
    free(identity);
    return 0;
}

static int wait_for_loss(void)
{
    for (int i = 0; i < 1200 && access("lost", F_OK) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    HOLDS(access("lost", F_OK) == 0);
    return 0;
}

static int goes_on(grpc_data_t *data)
{
    grpc_function_handle_t mul;
    grpc_sessionid_t session;
    MUST(grpc_function_handle_default(&mul, (char *)"product"));
    multiply(value, b, expected);
    memset(c, 0, sizeof c);
    MUST(grpc_call(&mul, N, data, b, c));
    HOLDS(near(c, expected));
    memset(c, 0, sizeof c);
    MUST(grpc_call_async(&mul, &session, N, data, b, c));
    MUST(grpc_wait(session));
    HOLDS(near(c, expected));
    MUST(grpc_data_memory_mapping_set("d", d));
    if (transfer(data, "memory:d", NULL, GRPC_VOLATILE))
        return 1;
    HOLDS(near(d, value));
    return 0;
}

static int under_way(grpc_data_t *data)
{
    grpc_function_handle_t late;
    grpc_sessionid_t session;
    MUST(grpc_function_handle_default(&late, (char *)"late"));
    MUST(grpc_call_async(&late, &session, N, 3, data, c));
    if (have_one_lost(data))
        return 1;
    MUST(grpc_wait(session));
    HOLDS(near(c, value));
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const int is_under_way = strcmp(what, "under-way") == 0;
    grpc_data_t data;
    int failed = 2;
    if (grpc_initialize(NULL) != GRPC_NO_ERROR)
        return told("grpc_initialize");
    fill(a, 1);
    fill(b, 2);
    MUST(grpc_data_memory_mapping_set("a", a));
    if (strcmp(what, "durable") == 0 || is_under_way)
        failed = send(&data, GRPC_PERSISTENT);
    else if (strcmp(what, "volatile") == 0)
        failed = send(&data, GRPC_VOLATILE);
    else if (strcmp(what, "result") == 0)
        failed = make_on_a(&data);
    else if (strcmp(what, "used") == 0)
        failed = use_on_b(&data);
    fill(a, 3);
    if (failed == 0)
        failed = is_under_way ? under_way(&data) : have_one_lost(&data);
    if (failed == 0 && wait_for_loss() == 0)
        failed = goes_on(&data);
    grpc_finalize();
    return failed;
}
