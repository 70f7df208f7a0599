/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream of small equal calls: the agent is asked once for many, and each call still has its server, its
 * result and its way out when that server is gone.
 */
#include "tests/unit/grpc_fixture.h"

#include <pthread.h>
#include <string.h>

#define CALLS     200
#define THREADS   4
#define MOST_RUNS 200 /* in which no calls may come fast enough to be a stream: this machine is busy */

static void call_some(grpc_function_handle_t *add)
{
    for (int i = 0; i < CALLS; i++) {
        double c = 0;
        assert_int_equal(grpc_call(add, (double)i, 0.5, &c), GRPC_NO_ERROR);
        assert_true(c == i + 0.5);
    }
}

/* Runs of calls until one of them needed no more questions than `most`. */
static bool comes_down_to(grpc_function_handle_t *handle, unsigned most)
{
    for (int run = 0; run < MOST_RUNS; run++) {
        const unsigned before = fake_counters(fake).submits;
        call_some(handle);
        if (fake_counters(fake).submits - before <= most)
            return true;
    }
    return false;
}

static void a_stream_asks_once_for_many(void **state)
{
    (void)state;
    grpc_function_handle_t add = make_handle("add");
    fake_set_ahead(fake, 32);
    assert_true(comes_down_to(&add, CALLS / 2));
    assert_int_equal(fake_counters(fake).executions % CALLS, 0); /* each was executed once */
}

static void without_an_offer_each_call_asks(void **state)
{
    (void)state;
    grpc_function_handle_t add = make_handle("add");
    call_some(&add);
    assert_int_equal(fake_counters(fake).submits, CALLS);
}

static void calls_that_differ_are_asked_for(void **state)
{
    (void)state;
    grpc_function_handle_t scale = make_handle("scale");
    double x[4] = {1, 2, 3, 4};
    fake_set_ahead(fake, 32);
    for (int i = 0; i < 100; i++) { /* no two of a size follow each other: no stream of either grows alone */
        const int n = 1 + i % 4;
        const unsigned before = fake_counters(fake).submits;
        assert_int_equal(grpc_call(&scale, n, x), GRPC_NO_ERROR);
        if (i < 4)
            assert_int_equal(fake_counters(fake).submits, before + 1);
    }
    struct esp_call_options options = {.server = "s3"};
    for (int i = 0; i < 50; i++) { /* what wants a server of its own is never part of a stream */
        double a = 1, b = 2, c = 0;
        struct esp_argument arguments[3] = {{.data = &a}, {.data = &b}, {.data = &c}};
        grpc_function_handle_t add = make_handle("add");
        const unsigned before = fake_counters(fake).submits;
        assert_int_equal(esp_call(&add, arguments, 3, &options, NULL), ESP_OK);
        assert_int_equal(fake_counters(fake).submits, before + 1);
    }
}

static void a_server_that_is_gone_is_left_for_another(void **state)
{
    (void)state;
    grpc_function_handle_t add = make_handle("add");
    fake_set_ahead(fake, 32);
    assert_true(comes_down_to(&add, CALLS / 2));
    fake_set(fake, "s2:1", &(struct fake_faults){.dead = true});
    call_some(&add);
    fake_set(fake, "s1:1", &(struct fake_faults){.restarted = true});
    call_some(&add);
    fake_set(fake, "s2:1", &(struct fake_faults){0});
    fake_set(fake, "s1:1", &(struct fake_faults){0});
    assert_true(comes_down_to(&add, CALLS / 2));
}

static void *call_in_thread(void *arg)
{
    call_some(arg);
    return NULL;
}

static void threads_share_a_stream(void **state)
{
    (void)state;
    grpc_function_handle_t add = make_handle("add");
    pthread_t threads[THREADS];
    fake_set_ahead(fake, 32);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_in_thread, &add), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(fake_counters(fake).executions, THREADS * CALLS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_library, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_stream_asks_once_for_many),     TEST(without_an_offer_each_call_asks),
        TEST(calls_that_differ_are_asked_for), TEST(a_server_that_is_gone_is_left_for_another),
        TEST(threads_share_a_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
