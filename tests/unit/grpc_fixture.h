/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of the client library: the library over the fake hierarchy.
 */
#ifndef TESTS_GRPC_FIXTURE_H
#define TESTS_GRPC_FIXTURE_H

#include "tests/unit/fake.h"
#include "tests/unit/unit.h"
#include "espalier.h"

/* The transport of the test that runs. */
extern struct transport *fake;

/* A configuration file with that text, in a private folder; its path until the next one. */
char *write_config(const char *text);

/* cmocka's per test: a fresh hierarchy, without and with an initialized library. */
int set_up_fake(void **state);
int set_up_library(void **state);
int tear_down(void **state);

/* Initializes with a redirector, or with two agents and none; silent nodes get no patience. */
void initialize(void);
void initialize_with_agents(void);

/* A handle that must come into being. */
grpc_function_handle_t make_handle(const char *problem);

/* The calling thread's last text contains this. */
#define assert_told(part)                                                                                    \
    do {                                                                                                     \
        if (!strstr(esp_last_error()->text, part))                                                           \
            fail_msg("expected \"%s\" in \"%s\"", part, esp_last_error()->text);                             \
    } while (0)

static inline void set(const char *address, struct fake_faults faults)
{
    fake_set(fake, address, &faults);
}

static inline void call_add(grpc_function_handle_t *add)
{
    double c = 0;
    assert_int_equal(grpc_call(add, 1.0, 2.0, &c), GRPC_NO_ERROR);
    assert_true(c == 3);
}

#endif
