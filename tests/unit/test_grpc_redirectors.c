/* SPDX-License-Identifier: Apache-2.0
 *
 * The client when redirectors were just started, or are being started again. */
#include "tests/unit/grpc_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void initialize_patiently(void)
{
    assert_int_equal(grpc_initialize(write_config("redirector = \"red:1\"\nagent_patience = \"10 min\"\n")),
                     GRPC_NO_ERROR);
}

/* It names the masters that have found it again: the one with the problem has not, so far. */
static void masters_that_a_fresh_redirector_has_not_heard_of_are_waited_for(void **state)
{
    (void)state;
    grpc_function_handle_t add, typo;
    initialize_patiently();
    set("red:1", (struct fake_faults){.fresh = 4});
    set("ma2:1", (struct fake_faults){.strange = 1000});
    assert_int_equal(grpc_function_handle_default(&add, "add"), GRPC_NO_ERROR);
    grpc_finalize();
    initialize_patiently();
    set("red:1", (struct fake_faults){.fresh = 4});
    assert_int_equal(grpc_function_handle_init(&add, (char *)"s2", (char *)"add"), GRPC_NO_ERROR);
    call_add(&add);
    grpc_finalize();
    initialize();
    set("red:1", (struct fake_faults){.fresh = 1000000});
    assert_int_equal(grpc_function_handle_default(&typo, "frobnicate"), GRPC_SERVER_NOT_FOUND);
    assert_told("the redirector was just started and does not know all master agents yet");
    grpc_finalize();
    initialize_patiently();
    set("red:1", (struct fake_faults){.fresh = 4});
    assert_int_equal(grpc_function_handle_default(&typo, "frobnicate"), GRPC_FUNCTION_NOT_FOUND);
}

static void initialize_with_two_redirectors(const char *patience)
{
    char text[200];
    snprintf(text, sizeof text,
             "redirector = \"red:1\"\nredirectors = { \"red2:1\" }\nagent_patience = \"%s\"\n", patience);
    assert_int_equal(grpc_initialize(write_config(text)), GRPC_NO_ERROR);
}

static void of_two_redirectors_the_one_that_knows_all_is_asked(void **state)
{
    (void)state;
    grpc_function_handle_t add, typo;
    set("red:1", (struct fake_faults){.fresh = 1000000});
    set("ma2:1", (struct fake_faults){.strange = 1000});
    initialize_with_two_redirectors("10 min");
    assert_int_equal(grpc_function_handle_default(&add, "add"), GRPC_NO_ERROR);
    call_add(&add);
    assert_int_equal(grpc_function_handle_default(&typo, "frobnicate"), GRPC_FUNCTION_NOT_FOUND);
    grpc_finalize();
    set("red2:1", (struct fake_faults){.fresh = 1000000}); /* neither is sure now */
    initialize_with_two_redirectors("150 ms");
    assert_int_equal(grpc_function_handle_default(&typo, "frobnicate"), GRPC_SERVER_NOT_FOUND);
}

static void *revive_redirector(void *arg)
{
    (void)arg;
    usleep(1500000); /* longer than one that never answered is waited for */
    set("red:1", (struct fake_faults){0});
    return NULL;
}

/* A redirector that has answered this process is known to start again, however often the library was
 * finalized. */
static void a_redirector_that_was_there_is_waited_for(void **state)
{
    (void)state;
    pthread_t thread;
    initialize_patiently();
    grpc_function_handle_t add = make_handle("add");
    for (int named = 0; named < 2; named++) {
        grpc_finalize();
        initialize_patiently();
        set("red:1", (struct fake_faults){.dead = true});
        assert_int_equal(pthread_create(&thread, NULL, revive_redirector, NULL), 0);
        assert_int_equal(named ? grpc_function_handle_init(&add, (char *)"s2", (char *)"add")
                               : grpc_function_handle_default(&add, "add"),
                         GRPC_NO_ERROR);
        pthread_join(thread, NULL);
        call_add(&add);
    }
}

static void a_redirector_that_never_was_there_is_told_soon(void **state)
{
    (void)state;
    grpc_function_handle_t add;
    assert_int_equal(
        grpc_initialize(write_config("redirector = \"nobody:1\"\nagent_patience = \"10 min\"\n")),
        GRPC_NO_ERROR);
    assert_int_equal(grpc_function_handle_default(&add, "add"), GRPC_SERVER_NOT_FOUND);
    assert_int_equal(grpc_function_handle_init(&add, (char *)"s2", (char *)"add"), GRPC_SERVER_NOT_FOUND);
}

int main(void)
{
#define in_library(test) cmocka_unit_test_setup_teardown(test, set_up_fake, tear_down)
    const struct CMUnitTest tests[] = {
        in_library(masters_that_a_fresh_redirector_has_not_heard_of_are_waited_for),
        in_library(of_two_redirectors_the_one_that_knows_all_is_asked),
        in_library(a_redirector_that_was_there_is_waited_for),
        in_library(a_redirector_that_never_was_there_is_told_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
