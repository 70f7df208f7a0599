/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers without room: what the client holds back, when it lets it go, and when it gives up.
 */
#include "tests/unit/grpc_fixture.h"
#include "util/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char *const servers[] = {"s1:1", "s2:1", "s3:1"};

static void set_all(struct fake_faults faults)
{
    for (int i = 0; i < 3; i++)
        fake_set(fake, servers[i], &faults);
}

static void initialize_patiently(const char *patience)
{
    char text[128];
    snprintf(text, sizeof text, "redirector = \"red:1\"\nagent_patience = \"%s\"\n", patience);
    assert_int_equal(grpc_initialize(write_config(text)), GRPC_NO_ERROR);
}

/* ---- farms ---- */

/* Starts n calls at once and looks that each is right. */
static void farm(grpc_function_handle_t *add, int n)
{
    grpc_sessionid_t *ids = calloc((size_t)n, sizeof *ids);
    double *c = calloc((size_t)n, sizeof *c);
    for (int i = 0; i < n; i++)
        assert_int_equal(grpc_call_async(add, &ids[i], (double)i, 0.5, &c[i]), GRPC_NO_ERROR);
    if (grpc_wait_all() != GRPC_NO_ERROR)
        fail_msg("%s", esp_last_error()->text);
    for (int i = 0; i < n; i++)
        assert_true(c[i] == i + 0.5);
    free(ids);
    free(c);
}

static void a_farm_larger_than_the_servers_limit_is_held_back(void **state)
{
    (void)state;
    initialize_patiently("1 min");
    set_all((struct fake_faults){.most_sessions = 20});
    grpc_function_handle_t add = make_handle("add");
    farm(&add, 3000);
    assert_int_equal(fake_counters(fake).executions, 3000);
}

static void so_is_one_of_a_bound_handle(void **state)
{
    (void)state;
    initialize_patiently("1 min");
    set_all((struct fake_faults){.most_sessions = 3});
    grpc_function_handle_t add;
    assert_int_equal(grpc_function_handle_init(&add, "s2", "add"), GRPC_NO_ERROR);
    farm(&add, 1000);
    assert_int_equal(fake_counters(fake).executions, 1000);
}

/* Computations of 60 ms, 4 at a time: on the whole in the order in which they were started (those on their
 * way together may overtake each other; by chance, or the last first, they would be N / 3 places and more
 * away from theirs), and the servers are not asked over and over. */
static void those_held_back_go_in_order_and_without_haste(void **state)
{
    (void)state;
    enum { N = 120 };
    initialize_patiently("1 min");
    grpc_function_handle_t sleep;
    grpc_sessionid_t ids[N], found;
    int waited[N], places = 0;
    assert_int_equal(grpc_function_handle_init(&sleep, "s1", "sleep"), GRPC_NO_ERROR);
    set_all((struct fake_faults){.most_sessions = 4});
    for (int i = 0; i < N; i++)
        assert_int_equal(grpc_call_async(&sleep, &ids[i], 60, &waited[i]), GRPC_NO_ERROR);
    for (int i = 0; i < N; i++) {
        assert_int_equal(grpc_wait_any(&found), GRPC_NO_ERROR);
        places += abs(found - ids[0] - i);
    }
    assert_true(places < N * N / 5);
    assert_int_equal(fake_counters(fake).executions, N);
    assert_true(fake_counters(fake).calls < 4 * N);
}

static bool is_held(grpc_sessionid_t id)
{
    struct esp_session_info *info;
    assert_int_equal(esp_session_info_get(id, &info), ESP_OK);
    const bool held = strcmp(info->state, "held back") == 0;
    esp_session_info_free(info);
    return held;
}

/* The first one hears late from its last server that there is no room: it is held back after the second one.
 */
static void who_came_first_goes_first_however_late_it_was_declined(void **state)
{
    (void)state;
    initialize_patiently("10 min");
    grpc_function_handle_t any = make_handle("sleep"), bound;
    grpc_sessionid_t first, second, found;
    int waited[2];
    set_all((struct fake_faults){.full = true});
    fake_set(fake, "s3:1", &(struct fake_faults){.full = true, .far_ms = 300});
    assert_int_equal(grpc_function_handle_init(&bound, "s1", "sleep"), GRPC_NO_ERROR);
    assert_int_equal(grpc_call_async(&any, &first, 100, &waited[0]), GRPC_NO_ERROR);
    assert_int_equal(grpc_call_async(&bound, &second, 5000, &waited[1]), GRPC_NO_ERROR);
    while (!is_held(second) || !is_held(first))
        usleep(1000);
    fake_set(fake, "s1:1", &(struct fake_faults){.most_sessions = 1});
    assert_int_equal(grpc_wait_any(&found), GRPC_NO_ERROR);
    assert_int_equal(found, first);
    assert_int_equal(grpc_cancel(second),
                     GRPC_NO_ERROR); /* it would take long, lest both have ended by now */
}

static void *call_often(void *arg)
{
    double c;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(grpc_call(arg, (double)i, 1.0, &c), GRPC_NO_ERROR);
        assert_true(c == i + 1);
    }
    return NULL;
}

static void blocking_calls_of_many_threads_wait_too(void **state)
{
    (void)state;
    enum { THREADS = 12 };
    initialize_patiently("1 min");
    set_all((struct fake_faults){.most_sessions = 1});
    grpc_function_handle_t add = make_handle("add");
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &add), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(fake_counters(fake).executions, 100 * THREADS);
}

/* ---- room that others take and leave ---- */

static void *make_room(void *unused)
{
    (void)unused;
    usleep(200000);
    set_all((struct fake_faults){0});
    return NULL;
}

static void room_that_others_leave_is_found(void **state)
{
    (void)state;
    initialize_patiently("1 min");
    grpc_function_handle_t add = make_handle("add");
    pthread_t thread;
    double c = 0;
    set_all((struct fake_faults){.full = true});
    int64_t begun = clock_now_ns(&clock_system);
    assert_int_equal(pthread_create(&thread, NULL, make_room, NULL), 0);
    assert_int_equal(grpc_call(&add, 1.0, 2.0, &c), GRPC_NO_ERROR);
    int64_t waited = clock_now_ns(&clock_system) - begun;
    assert_true(c == 3);
    pthread_join(thread, NULL);
    assert_true(fake_counters(fake).calls <= 4 + 4 * (waited / 20000000)); /* each 20 ms, three servers */
    set_all((struct fake_faults){.full = true});
    assert_int_equal(pthread_create(&thread, NULL, make_room, NULL), 0);
    farm(&add, 500);
    pthread_join(thread, NULL);
}

static void where_none_comes_the_caller_is_told_what_to_do(void **state)
{
    (void)state;
    enum { N = 300 };
    initialize();
    grpc_function_handle_t add = make_handle("add");
    grpc_sessionid_t ids[N], failed;
    double c[N];
    set_all((struct fake_faults){.full = true});
    assert_int_equal(grpc_call(&add, 1.0, 2.0, c), GRPC_RPC_REFUSED);
    assert_told("no room here");
    assert_told("try again later");
    for (int i = 0; i < N; i++)
        assert_int_equal(grpc_call_async(&add, &ids[i], (double)i, 0.5, &c[i]), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_all(), GRPC_SESSION_FAILED);
    for (int i = 0; i < N; i++) {
        assert_int_equal(grpc_get_failed_sessionid(&failed), GRPC_NO_ERROR);
        assert_int_equal(grpc_get_error(ids[i]), GRPC_RPC_REFUSED);
    }
    assert_int_equal(fake_counters(fake).executions, 0);
}

/* ---- ends ---- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A deadline that ends while nobody has been asked yet, on a machine that is busy, is made longer. */
static double deadline_without_room(grpc_function_handle_t *add)
{
    char told[32];
    double c, deadline_s = 0.1;
    do {
        deadline_s *= 2;
        snprintf(told, sizeof told, "deadline of %.3g s", deadline_s);
        assert_int_equal(esp_handle_set_deadline(add, deadline_s), ESP_OK);
        assert_int_equal(grpc_call(add, 1.0, 2.0, &c), GRPC_SESSION_FAILED);
        assert_told(told);
    } while (!strstr(esp_last_error()->text, "no room here") && deadline_s < 20);
    assert_told("no room here");
    return deadline_s;
}

static void deadlines_hold_for_those_held_back(void **state)
{
    (void)state;
    initialize_patiently("1 min");
    grpc_function_handle_t add = make_handle("add");
    double c;
    char told[32];
    set_all((struct fake_faults){.full = true});
    snprintf(told, sizeof told, "deadline of %.3g s", deadline_without_room(&add));
    const double start = seconds();
    grpc_sessionid_t ids[50];
    for (int i = 0; i < 50; i++)
        assert_int_equal(grpc_call_async(&add, &ids[i], 1.0, 2.0, &c), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_and(ids, 50), GRPC_SESSION_FAILED);
    assert_int_equal(grpc_get_error(ids[49]), GRPC_SESSION_FAILED);
    assert_told(told);
    assert_true(seconds() - start < 40); /* the patience is a minute */
}

static void *wait_held(void *handle)
{
    double c;
    assert_int_equal(grpc_call(handle, 1.0, 2.0, &c), GRPC_SESSION_FAILED);
    return NULL;
}

static void those_held_back_can_be_cancelled(void **state)
{
    (void)state;
    initialize_patiently("10 min");
    grpc_function_handle_t add = make_handle("add");
    grpc_sessionid_t ids[50];
    pthread_t thread;
    double c;
    set_all((struct fake_faults){.full = true});
    for (int i = 0; i < 50; i++)
        assert_int_equal(grpc_call_async(&add, &ids[i], 1.0, 2.0, &c), GRPC_NO_ERROR);
    struct esp_session_info *info = NULL;
    do {
        esp_session_info_free(info);
        usleep(1000);
        assert_int_equal(esp_session_info_get(ids[40], &info), ESP_OK);
    } while (strcmp(info->state, "held back") != 0);
    esp_session_info_free(info);
    assert_int_equal(grpc_cancel(ids[20]), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait(ids[20]), GRPC_SESSION_FAILED);
    assert_int_equal(grpc_probe(ids[40]), GRPC_NOT_COMPLETED);
    assert_int_equal(grpc_cancel_all(), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_all(), GRPC_SESSION_FAILED);
    for (int i = 0; i < 50; i++)
        assert_int_equal(grpc_call_async(&add, &ids[i], 1.0, 2.0, &c), GRPC_NO_ERROR);
    assert_int_equal(pthread_create(&thread, NULL, wait_held, &add), 0);
    usleep(50000);
    assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
    pthread_join(thread, NULL);
    assert_int_equal(fake_counters(fake).executions, 0);
}

#define in_library(test) cmocka_unit_test_setup_teardown(test, set_up_fake, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_library(a_farm_larger_than_the_servers_limit_is_held_back),
        in_library(so_is_one_of_a_bound_handle),
        in_library(those_held_back_go_in_order_and_without_haste),
        in_library(who_came_first_goes_first_however_late_it_was_declined),
        in_library(blocking_calls_of_many_threads_wait_too),
        in_library(room_that_others_leave_is_found),
        in_library(where_none_comes_the_caller_is_told_what_to_do),
        in_library(deadlines_hold_for_those_held_back),
        in_library(those_held_back_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
