/* SPDX-License-Identifier: Apache-2.0
 *
 * How large values travel, and how many sessions share few threads and polls.
 */
#include "tests/unit/grpc_fixture.h"

#include "client/session/link.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- large values ---- */

enum { LARGE = 3 << 20 }; /* doubles: 24 MB, six chunks */

static void large_values_travel_in_chunks(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t copy = make_handle("copy");
    double *x = malloc(LARGE * sizeof *x), *y = calloc(LARGE, sizeof *y), sum = 0, expected = 0;
    for (int i = 0; i < LARGE; i++)
        expected += x[i] = i % 1000;
    set("s1:1", (struct fake_faults){.lose_chunks = 3, .wait_first = 1});
    assert_int_equal(grpc_call(&copy, (int)LARGE, x, y, &sum), GRPC_NO_ERROR);
    assert_memory_equal(x, y, LARGE * sizeof *x);
    assert_true(sum == expected);
    struct fake_counters counters = fake_counters(fake);
    assert_in_range(counters.puts, 6, 40); /* of 4 MiB to 1, as the link lets them, and some short ones */
    assert_in_range(counters.gets, 6, 40);
    assert_int_equal(counters.executions, 1);
    assert_int_equal(counters.sessions, 0); /* acknowledged at once */
    free(x);
    free(y);
}

/* The first chunks arrive, and then the server is gone. */
static grpc_error_t copy_from_a_dying_server(double *x, double *y)
{
    double sum = 0;
    grpc_function_handle_t copy = make_handle("copy");
    fake_set_inline(fake, 0);
    set("s1:1", (struct fake_faults){.dies_behind = 2});
    grpc_error_t code = grpc_call(&copy, (int)LARGE, x, y, &sum);
    set("s1:1", (struct fake_faults){0});
    return code;
}

static void a_result_that_overwrote_its_input_is_not_computed_elsewhere(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t scale = make_handle("scale");
    double *x = calloc(2 * LARGE, sizeof *x), *same = malloc(LARGE * sizeof *same);
    for (int i = 0; i < LARGE; i++)
        same[i] = x[i] = i;
    fake_set_inline(fake, 0);
    set("s1:1", (struct fake_faults){.dies_behind = 2});
    assert_int_equal(grpc_call(&scale, (int)LARGE, 2.0, x), GRPC_COMMUNICATION_FAILED);
    assert_told("results had taken the place of its inputs");
    assert_int_equal(fake_counters(fake).executions, 1);
    /* An input and an output of which the program has made one array, or two that overlap. */
    memcpy(x, same, LARGE * sizeof *x);
    assert_int_equal(copy_from_a_dying_server(x, x + LARGE / 2), GRPC_COMMUNICATION_FAILED);
    assert_told("results had taken the place of its inputs");
    assert_int_equal(fake_counters(fake).executions, 2);
    /* A result whose inputs are elsewhere can be computed again. */
    memcpy(x, same, LARGE * sizeof *x);
    assert_int_equal(copy_from_a_dying_server(x, x + LARGE), GRPC_NO_ERROR);
    assert_memory_equal(x + LARGE, same, LARGE * sizeof *x);
    assert_int_equal(fake_counters(fake).executions, 4);
    free(x);
    free(same);
}

/* ---- many sessions, few threads ---- */

static void one_poll_waits_for_all_sessions_of_a_server(void **state)
{
    (void)state;
    enum { N = 200 };
    initialize();
    grpc_function_handle_t sleep = make_handle("sleep");
    grpc_sessionid_t ids[N];
    int waited[N];
    for (int i = 0; i < N; i++)
        assert_int_equal(grpc_call_async(&sleep, &ids[i], 300 + i, &waited[i]), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_all(), GRPC_NO_ERROR);
    for (int i = 0; i < N; i++)
        assert_int_equal(waited[i], 300 + i);
    struct fake_counters counters = fake_counters(fake);
    assert_int_equal(counters.executions, N);
    assert_true(counters.polls_at_once <= 3);
    assert_true(counters.threads <= 24);
}

static void a_server_that_does_not_end_older_polls_is_borne(void **state)
{
    (void)state;
    enum { N = 30 };
    initialize();
    set("s1:1", (struct fake_faults){.never_supersede = true});
    grpc_function_handle_t sleep = make_handle("sleep");
    grpc_sessionid_t ids[N];
    int waited[N];
    for (int i = 0; i < N; i++) {
        assert_int_equal(grpc_call_async(&sleep, &ids[i], 150, &waited[i]), GRPC_NO_ERROR);
        usleep(2000);
    }
    assert_int_equal(grpc_wait_all(), GRPC_NO_ERROR);
    assert_true(fake_counters(fake).polls_at_once <= 4);
}

static void *sleep_once(void *arg)
{
    int waited = 0;
    assert_int_equal(grpc_call(arg, 250, &waited), GRPC_NO_ERROR);
    assert_int_equal(waited, 250);
    return NULL;
}

static void blocking_threads_share_a_poll_too(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t sleep = make_handle("sleep");
    pthread_t threads[12];
    grpc_sessionid_t id;
    int waited;
    for (int i = 0; i < 12; i++)
        pthread_create(&threads[i], NULL, sleep_once, &sleep);
    assert_int_equal(grpc_call_async(&sleep, &id, 400, &waited), GRPC_NO_ERROR);
    for (int i = 0; i < 12; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(grpc_wait(id), GRPC_NO_ERROR);
    assert_true(fake_counters(fake).polls_at_once <= 3);
}

/* More of them than there are threads that do the library's work. */
static void followed_sessions_hold_up_no_others(void **state)
{
    (void)state;
    enum { N = 100 };
    initialize();
    grpc_function_handle_t sleep = make_handle("sleep"), add = make_handle("add");
    const struct esp_call_options follow = {.follow = 1};
    grpc_sessionid_t ids[N], id;
    int ms = 3600000, waited[N];
    double c = 0;
    for (int i = 0; i < N; i++) {
        const struct esp_argument arguments[] = {{.data = &ms}, {.data = &waited[i]}};
        assert_int_equal(esp_call_async(&sleep, arguments, 2, &follow, &ids[i]), ESP_OK);
    }
    assert_int_equal(grpc_call_async(&add, &id, 1.0, 2.0, &c), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait(id), GRPC_NO_ERROR);
    assert_true(c == 3);
    while (fake_counters(fake).executions < N + 1)
        usleep(1000); /* all of them compute */
    assert_true(fake_counters(fake).threads <= 64 + 16 + 3);
    assert_int_equal(grpc_cancel_all(), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_all(), GRPC_SESSION_FAILED);
}

static void servers_forget_what_was_received(void **state)
{
    (void)state;
    initialize();
    grpc_function_handle_t add = make_handle("add"), sleep = make_handle("sleep");
    grpc_sessionid_t id;
    int waited;
    /* A session that waits elsewhere holds nobody back. */
    grpc_function_handle_t elsewhere;
    assert_int_equal(grpc_function_handle_init(&elsewhere, "s3", "sleep"), GRPC_NO_ERROR);
    assert_int_equal(grpc_call_async(&elsewhere, &id, 3600000, &waited), GRPC_NO_ERROR);
    while (fake_counters(fake).awaits < 1)
        usleep(1000);
    for (int i = 0; i < 100; i++)
        call_add(&add);
    assert_true(fake_counters(fake).sessions <= 3);
    assert_int_equal(grpc_function_handle_destruct(&sleep), GRPC_NO_ERROR);
    assert_int_equal(grpc_cancel_all(), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_all(), GRPC_SESSION_FAILED);
    assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
    assert_int_equal(fake_counters(fake).sessions, 0);
}

#define in_library(test) cmocka_unit_test_setup_teardown(test, set_up_fake, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        in_library(large_values_travel_in_chunks),
        in_library(a_result_that_overwrote_its_input_is_not_computed_elsewhere),
        in_library(one_poll_waits_for_all_sessions_of_a_server),
        in_library(a_server_that_does_not_end_older_polls_is_borne),
        in_library(blocking_threads_share_a_poll_too),
        in_library(followed_sessions_hold_up_no_others),
        in_library(servers_forget_what_was_received),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
