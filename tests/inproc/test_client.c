/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's engine against the server daemon itself, over the in-process transport, in virtual time: what
 * both say to each other is what each expects, also when replies are lost.
 */
#include "tests/inproc/server_rig.h"
#include "client/session/session.h"

#include <stdlib.h>

struct bench {
    struct rig rig;
    struct engine *engine;
    struct function *copy;
    struct endpoint *pace;
    int64_t pace_ns;
    const char *address;
};

/* A blocking client makes time pass by itself: a node beside the server ends jobs each millisecond of it. */
static int64_t pace_due(void *self)
{
    return ((struct bench *)self)->pace_ns;
}

static void pace_tick(void *self)
{
    struct bench *bench = self;
    bench->pace_ns = clock_now_ns(transport_clock(bench->rig.transport)) + NS_PER_MS;
    rig_end_jobs(&bench->rig);
}

static const struct endpoint_ops pace_ops = {.due = pace_due, .tick = pace_tick};

static void open_bench(struct bench *bench, const struct rig_options *options)
{
    struct esp_error error;
    memset(bench, 0, sizeof *bench);
    rig_open(&bench->rig, options);
    const struct endpoint_options pace = {
        .name = "pace", .role = ROLE_SERVER, .incarnation = 1, .listen = "pace"};
    assert_int_equal(transport_serve(bench->rig.transport, &pace, &pace_ops, bench, &bench->pace, &error),
                     ESP_OK);
    endpoint_enter(bench->pace);
    endpoint_leave(bench->pace);
    bench->address = endpoint_address(bench->rig.endpoint);
    const struct engine_options of = {.transport = bench->rig.transport,
                                      .agents = &bench->address,
                                      .n_agents = 1,
                                      .inline_bytes = 64 << 10};
    assert_int_equal(engine_create(&of, &bench->engine, &error), ESP_OK);
    assert_int_equal(functions_get(bench->engine->functions, "copy", bench->address, &bench->copy, &error),
                     ESP_OK);
}

static void close_bench(struct bench *bench)
{
    function_release(bench->copy);
    engine_destroy(bench->engine);
    endpoint_close(bench->pace);
    rig_close(&bench->rig);
}

/* copy(n, x) -> y on the one server there is. */
static struct session *call_copy(struct bench *bench, int n, const double *x, double *y, double deadline_s)
{
    struct esp_error error;
    struct invocation invocation;
    struct session *session;
    const struct target target = {.server = "S", .address = bench->address};
    struct esp_argument arguments[3] = {{.data = &n}, {.data = (void *)x}, {.data = y}};
    assert_int_equal(invocation_from_vector(&invocation, bench->copy, NULL, arguments, 3, &error), ESP_OK);
    assert_int_equal(session_begin(bench->engine, &invocation, &target, deadline_s, &session, &error),
                     ESP_OK);
    session_call(session);
    return session;
}

static void expect_copied(struct bench *bench, int n, double first)
{
    double *x = calloc((size_t)n + 1, sizeof *x), *y = calloc((size_t)n + 1, sizeof *y);
    for (int i = 0; i < n; i++)
        x[i] = first + i;
    struct session *session = call_copy(bench, n, x, y, 0);
    if (session->error.status != ESP_OK)
        fail_msg("%s", session->error.text);
    assert_memory_equal(x, y, (size_t)n * sizeof *x);
    session_discard(session);
    free(x);
    free(y);
}

static void small_and_large_values_come_back(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, &(struct rig_options){0});
    const int sizes[] = {0, 1, 1000, 8192, 8193, 600000, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        expect_copied(&bench, sizes[i], (double)i);
    assert_int_equal(bench.rig.pool.started, sizeof sizes / sizeof *sizes);
    close_bench(&bench);
}

/* n Mflop at 1 Gflop/s: 2000 of them take two seconds, well beyond the patience of a call. */
static void long_computations_are_polled_for(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, &(struct rig_options){0});
    double before = rig_now(&bench.rig);
    expect_copied(&bench, 2000, 5);
    assert_true(rig_now(&bench.rig) - before >= 2);
    close_bench(&bench);
}

static void lost_replies_compute_nothing_twice(void **state)
{
    (void)state;
    enum { CALLS = 60 };
    struct bench bench;
    open_bench(&bench, &(struct rig_options){0});
    inproc_set_faults(bench.rig.transport, &(struct inproc_faults){.maybe = 0.15});
    for (int i = 0; i < CALLS; i++)
        expect_copied(&bench, i % 7 == 0 ? 100 : 3, i);
    assert_int_equal(bench.rig.pool.started, CALLS);
    inproc_set_faults(bench.rig.transport, &(struct inproc_faults){0});
    close_bench(&bench);
}

static void a_deadline_stops_the_computation(void **state)
{
    (void)state;
    struct bench bench;
    double x[5000] = {0}, y[5000];
    open_bench(&bench, &(struct rig_options){0});
    struct session *session = call_copy(&bench, 5000, x, y, 1);
    assert_int_equal(session->error.status, ESP_TIMEOUT);
    session_discard(session);
    assert_int_equal(bench.rig.pool.cancelled, 1);
    expect_copied(&bench, 3, 1);
    close_bench(&bench);
}

static void what_can_never_fit_is_refused_before_anything_moves(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, &(struct rig_options){.memory_bytes = 1 << 20});
    double *x = calloc(1 << 20, sizeof *x);
    struct session *session = call_copy(&bench, 1 << 20, x, x, 0);
    assert_int_equal(session->error.status, ESP_NO_MEMORY);
    assert_non_null(strstr(session->error.text, "1.05 MB in all (memory in the server's file)"));
    session_discard(session);
    free(x);
    close_bench(&bench);
}

static void the_server_keeps_nothing_that_was_received(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, &(struct rig_options){.sessions_per_client = 4});
    for (int i = 0; i < 200; i++)
        expect_copied(&bench, i % 10 ? 2 : 20000, i);
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_and_large_values_come_back),
        cmocka_unit_test(long_computations_are_polled_for),
        cmocka_unit_test(lost_replies_compute_nothing_twice),
        cmocka_unit_test(a_deadline_stops_the_computation),
        cmocka_unit_test(what_can_never_fit_is_refused_before_anything_moves),
        cmocka_unit_test(the_server_keeps_nothing_that_was_received),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
