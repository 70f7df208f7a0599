/* SPDX-License-Identifier: Apache-2.0
 *
 * The client while nodes accept connections and do not answer: they are stopped, and continue where they
 * were. Patience is ten minutes where a test must not see its end. */
#include "tests/unit/grpc_fixture.h"
#include "client/session/engine.h"
#include "util/clock.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define STOPPED_US 500000

static void stop(const char *address)
{
    fake_set(fake, address, &(struct fake_faults){.stopped = true});
}

static void kill_node(const char *address)
{
    fake_set(fake, address, &(struct fake_faults){.dead = true});
}

static void *go_on(void *address)
{
    usleep(STOPPED_US);
    fake_set(fake, address, &(struct fake_faults){0});
    return NULL;
}

static int64_t now_ns(void)
{
    return clock_now_ns(&clock_system);
}

static void initialize_with(const char *lines)
{
    char text[256] = "redirector = \"red:1\"\n";
    assert_int_equal(grpc_initialize(write_config(strncat(text, lines, sizeof text - strlen(text) - 1))),
                     GRPC_NO_ERROR);
}

/* The client does not wait for a node that is gone, and waits long for a silent one. */
static void initialize_for_silence(void)
{
    initialize_with("agent_patience = 0\nanswer_patience = \"200 ms\"\nsilence_patience = \"10 min\"\n");
}

static const char *last_server(void)
{
    static char name[64];
    struct esp_session_info *info;
    assert_int_equal(esp_last_session_info(&info), ESP_OK);
    strcpy(name, info->server);
    esp_session_info_free(info);
    return name;
}

static void leave_one_server(void)
{
    kill_node("s2:1");
    kill_node("s3:1");
}

/* Stops it, lets it go on a little later, and calls meanwhile. */
static grpc_error_t call_while_stopped(char *address, grpc_function_handle_t *handle)
{
    pthread_t thread;
    int waited = 0;
    stop(address);
    pthread_create(&thread, NULL, go_on, address);
    const grpc_error_t code = grpc_call(handle, 1, &waited);
    pthread_join(thread, NULL);
    return code;
}

static void a_call_waits_for_the_only_master(void **state)
{
    (void)state;
    initialize_for_silence();
    kill_node("ma2:1");
    grpc_function_handle_t sleep = make_handle("sleep");
    assert_int_equal(call_while_stopped("ma1:1", &sleep), GRPC_NO_ERROR);
    assert_int_equal(fake_counters(fake).executions, 1);
}

static void a_handle_waits_for_the_only_redirector_and_for_the_only_master(void **state)
{
    (void)state;
    char *const addresses[] = {"red:1", "ma1:1"};
    kill_node("ma2:1");
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        grpc_function_handle_t handle;
        initialize_for_silence();
        stop(addresses[i]);
        pthread_create(&thread, NULL, go_on, addresses[i]);
        assert_int_equal(grpc_function_handle_default(&handle, "sleep"), GRPC_NO_ERROR);
        pthread_join(thread, NULL);
        assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
    }
}

/* It is greeted, as it may be cut off from the other one only. */
static void what_one_master_cannot_is_not_asked_of_one_that_is_silent(void **state)
{
    (void)state;
    grpc_function_handle_t handle;
    initialize_with("agent_patience = 0\nsilence_patience = \"200 ms\"\n");
    stop("ma2:1");
    assert_int_not_equal(grpc_function_handle_default(&handle, "nonesuch"), GRPC_NO_ERROR);
    assert_int_equal(esp_last_error()->status, ESP_NO_SERVER);
    assert_told("ma2:1");
    assert_int_equal(fake_counters(fake).undescribed, 0);
    fake_set(fake, "ma2:1", &(struct fake_faults){0});
    assert_int_not_equal(grpc_function_handle_default(&handle, "nonesuch"), GRPC_NO_ERROR);
    assert_int_equal(esp_last_error()->status, ESP_UNKNOWN_PROBLEM);
}

static void a_handle_of_a_named_server_waits_for_it(void **state)
{
    (void)state;
    char *const names[] = {"s2", "s2:1"};
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        grpc_function_handle_t handle;
        initialize_for_silence();
        stop("s2:1");
        pthread_create(&thread, NULL, go_on, "s2:1");
        assert_int_equal(grpc_function_handle_init(&handle, names[i], "sleep"), GRPC_NO_ERROR);
        pthread_join(thread, NULL);
        assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
    }
}

static void a_handle_of_a_named_server_that_was_lost_waits_until_it_is_back(void **state)
{
    (void)state;
    static const char *const patience[] = {"agent_patience = 0\n", "agent_patience = \"10 min\"\n"};
    kill_node("ma2:1");
    for (int i = 0; i < 2; i++) {
        grpc_function_handle_t handle;
        initialize_with(patience[i]);
        fake_set(fake, "ma1:1", &(struct fake_faults){.strayed = 3});
        assert_int_equal(grpc_function_handle_init(&handle, "s2", "sleep"),
                         i == 0 ? GRPC_SERVER_NOT_FOUND : GRPC_NO_ERROR);
        assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
    }
}

static void *come_back(void *address)
{
    usleep(1500000); /* longer than what is started again is gone */
    fake_set(fake, address, &(struct fake_faults){0});
    return NULL;
}

static void a_handle_of_a_server_that_the_tree_names_and_nobody_reaches_waits(void **state)
{
    (void)state;
    static char address[] = "s2:1";
    pthread_t thread;
    grpc_function_handle_t handle;
    initialize_with("agent_patience = \"10 min\"\n");
    kill_node(address);
    pthread_create(&thread, NULL, come_back, address);
    assert_int_equal(grpc_function_handle_init(&handle, "s2", "sleep"), GRPC_NO_ERROR);
    pthread_join(thread, NULL);
}

static void a_call_waits_for_the_only_server(void **state)
{
    (void)state;
    initialize_for_silence();
    leave_one_server();
    grpc_function_handle_t sleep = make_handle("sleep");
    assert_int_equal(call_while_stopped("s1:1", &sleep), GRPC_NO_ERROR);
    assert_string_equal(last_server(), "s1");
}

/* It had said something a moment ago, so it was given the call: only it may have it. */
static void a_call_that_must_not_run_twice_waits_and_runs_once(void **state)
{
    (void)state;
    initialize_for_silence();
    grpc_function_handle_t once = make_handle("once"), bound;
    assert_int_equal(grpc_function_handle_init(&bound, "s1", "sleep"), GRPC_NO_ERROR);
    int waited = 0;
    assert_int_equal(grpc_call(&once, 1, &waited), GRPC_NO_ERROR);
    assert_int_equal(call_while_stopped("s1:1", &once), GRPC_NO_ERROR);
    assert_string_equal(last_server(), "s1");
    assert_int_equal(fake_counters(fake).executions, 2);
    assert_int_equal(call_while_stopped("s1:1", &bound), GRPC_NO_ERROR);
    assert_int_equal(fake_counters(fake).executions, 3);
}

static void a_call_that_another_server_may_have_goes_there(void **state)
{
    (void)state;
    initialize_for_silence();
    grpc_function_handle_t sleep = make_handle("sleep");
    int waited = 0;
    assert_int_equal(grpc_call(&sleep, 1, &waited), GRPC_NO_ERROR);
    stop("s1:1");
    assert_int_equal(grpc_call(&sleep, 1, &waited), GRPC_NO_ERROR);
    assert_string_equal(last_server(), "s2");
}

/* Once the second server has been asked whether it is awake, those that are stopped are let die. */
static void *let_die(void *unused)
{
    (void)unused;
    while (fake_asked(fake, "s2:1") == 0)
        usleep(1000);
    kill_node("s1:1");
    kill_node("s2:1");
    return NULL;
}

/* Then the first one goes on, and the second one stays as it is. */
static void *let_answer(void *unused)
{
    (void)unused;
    while (fake_asked(fake, "s2:1") == 0)
        usleep(1000);
    return go_on("s1:1");
}

/* A call while two servers are stopped and something is done about it. Patience with each of them is longer
 * than the test may take. */
static void call_beside_two_stopped(void *(*meanwhile)(void *))
{
    pthread_t thread;
    int waited = 0;
    initialize_with("answer_patience = \"10 min\"\nsilence_patience = \"10 min\"\n");
    grpc_function_handle_t sleep = make_handle("sleep");
    stop("s1:1");
    stop("s2:1");
    pthread_create(&thread, NULL, meanwhile, NULL);
    assert_int_equal(grpc_call(&sleep, 1, &waited), GRPC_NO_ERROR);
    pthread_join(thread, NULL);
}

static void servers_that_fell_silent_together_are_not_waited_for_one_after_the_other(void **state)
{
    (void)state;
    call_beside_two_stopped(let_die);
    assert_string_equal(last_server(), "s3");
}

/* A program that ends does not wait for a node that does not answer. */
static void a_greeting_beside_a_call_ends_with_the_library(void **state)
{
    (void)state;
    call_beside_two_stopped(let_answer);
    assert_string_equal(last_server(), "s1");
    assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
}

static void patience_with_the_silent_ends(void **state)
{
    (void)state;
    static const char *const addresses[] = {"ma1:1", "s1:1", "s1:1"};
    static const char *const problems[] = {"sleep", "sleep", "once"};
    kill_node("ma2:1");
    leave_one_server();
    for (int i = 0; i < 3; i++) {
        int waited = 0;
        initialize_with("agent_patience = 0\nanswer_patience = \"200 ms\"\nsilence_patience = \"600 ms\"\n");
        grpc_function_handle_t handle = make_handle(problems[i]);
        stop(addresses[i]);
        const int64_t begun_ns = now_ns();
        assert_int_not_equal(grpc_call(&handle, 1, &waited), GRPC_NO_ERROR);
        assert_true(now_ns() - begun_ns >= 600 * NS_PER_MS);
        assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
        fake_set(fake, addresses[i], &(struct fake_faults){0});
    }
}

/* The times that are tested against are far below the ten minutes that each of them would take. */
static void a_deadline_ends_it(void **state)
{
    (void)state;
    static const char *const addresses[] = {"ma1:1", "s1:1", "s1:1"};
    static const char *const problems[] = {"sleep", "sleep", "once"};
    initialize_for_silence();
    kill_node("ma2:1");
    leave_one_server();
    for (int i = 0; i < 3; i++) {
        int waited = 0;
        grpc_function_handle_t handle = make_handle(problems[i]);
        esp_handle_set_deadline(&handle, 0.4);
        stop(addresses[i]);
        const int64_t begun_ns = now_ns();
        assert_int_not_equal(grpc_call(&handle, 1, &waited), GRPC_NO_ERROR);
        assert_int_equal(esp_last_error()->status, ESP_TIMEOUT);
        assert_true(now_ns() - begun_ns < 60 * NS_PER_S);
        fake_set(fake, addresses[i], &(struct fake_faults){0});
    }
}

static void a_program_without_time_has_none_for_handles(void **state)
{
    (void)state;
    grpc_function_handle_t handle;
    initialize_with("silence_patience = \"10 min\"\nsession_timeout = \"300 ms\"\n");
    stop("red:1");
    const int64_t begun_ns = now_ns();
    assert_int_equal(grpc_function_handle_default(&handle, "sleep"), GRPC_SERVER_NOT_FOUND);
    assert_told("no Espalier daemon answers at red:1");
    assert_true(now_ns() - begun_ns < 60 * NS_PER_S);
}

static void who_is_gone_is_not_waited_for_as_the_silent_are(void **state)
{
    (void)state;
    initialize_for_silence();
    grpc_function_handle_t sleep = make_handle("sleep");
    int waited = 0;
    leave_one_server();
    kill_node("s1:1");
    const int64_t begun_ns = now_ns();
    assert_int_not_equal(grpc_call(&sleep, 1, &waited), GRPC_NO_ERROR);
    assert_true(now_ns() - begun_ns < 60 * NS_PER_S);
}

/* ---- the rule itself ---- */

static void patience_is_longer_with_the_silent(void **state)
{
    (void)state;
    struct patience patience = patience_begin(10, 60, 1000 * NS_PER_MS);
    assert_true(patience_lasts(&patience, false, 1009 * NS_PER_MS));
    assert_false(patience_lasts(&patience, false, 1010 * NS_PER_MS));
    assert_true(patience_lasts(&patience, true, 1059 * NS_PER_MS));
    /* It died: from its last silence on it is one that is gone. */
    assert_true(patience_lasts(&patience, false, 1068 * NS_PER_MS));
    assert_false(patience_lasts(&patience, false, 1069 * NS_PER_MS));
    assert_false(patience_lasts(&patience, true, 1060 * NS_PER_MS));
}

static void the_silent_are_not_waited_for_less_than_those_gone(void **state)
{
    (void)state;
    struct patience patience = patience_begin(10, 0, NS_PER_MS);
    assert_true(patience_lasts(&patience, true, 10 * NS_PER_MS));
    assert_false(patience_lasts(&patience, true, 11 * NS_PER_MS));
}

#define in_library(test) cmocka_unit_test_setup_teardown(test, set_up_fake, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_library(a_call_waits_for_the_only_master),
        in_library(a_handle_waits_for_the_only_redirector_and_for_the_only_master),
        in_library(what_one_master_cannot_is_not_asked_of_one_that_is_silent),
        in_library(a_handle_of_a_named_server_waits_for_it),
        in_library(a_handle_of_a_named_server_that_was_lost_waits_until_it_is_back),
        in_library(a_handle_of_a_server_that_the_tree_names_and_nobody_reaches_waits),
        in_library(a_call_waits_for_the_only_server),
        in_library(a_call_that_must_not_run_twice_waits_and_runs_once),
        in_library(a_call_that_another_server_may_have_goes_there),
        in_library(servers_that_fell_silent_together_are_not_waited_for_one_after_the_other),
        in_library(a_greeting_beside_a_call_ends_with_the_library),
        in_library(patience_with_the_silent_ends),
        in_library(a_deadline_ends_it),
        in_library(a_program_without_time_has_none_for_handles),
        in_library(who_is_gone_is_not_waited_for_as_the_silent_are),
        cmocka_unit_test(patience_is_longer_with_the_silent),
        cmocka_unit_test(the_silent_are_not_waited_for_less_than_those_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
