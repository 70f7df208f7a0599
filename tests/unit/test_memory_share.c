/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/memory_share.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MACHINE (UINT64_C(64) << 30)
#define GIB     (UINT64_C(1) << 30)

static char folder[64], path[128];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", "/tmp/espalier-memory.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/memory", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static struct memory_share *take_of(struct memory_bounds bounds, uint64_t wanted, uint64_t expected)
{
    struct memory_share *share;
    struct esp_error error;
    uint64_t bytes;
    bounds.machine = MACHINE;
    assert_int_equal(memory_share_take(path, &bounds, wanted, &share, &bytes, &error), ESP_OK);
    assert_int_equal(bytes, expected);
    return share;
}

static struct memory_share *take(uint64_t wanted, uint64_t expected)
{
    return take_of((struct memory_bounds){0}, wanted, expected);
}

static void servers_of_a_control_group_share_its_memory(void **state)
{
    (void)state;
    const struct memory_bounds here = {.group = 8 * GIB, .group_id = 70001, .most = 7 * GIB},
                               there = {.group = 8 * GIB, .group_id = 70002, .most = 2 * GIB};
    struct memory_share *first = take_of(here, 0, 6 * GIB);
    struct memory_share *second = take_of(here, 0, 3 * (GIB / 2));
    struct memory_share *other = take_of(there, 0, 2 * GIB);
    struct memory_share *too_much = take_of(here, GIB, GIB / 2);
    memory_share_give(take_of(here, GIB, 0));
    memory_share_give(too_much);
    memory_share_give(first);
    memory_share_give(second);
    memory_share_give(take_of(here, 0, 6 * GIB));
    memory_share_give(other);
}

static void each_takes_three_quarters_of_what_is_left(void **state)
{
    (void)state;
    struct memory_share *first = take(0, 48 * GIB);
    struct memory_share *second = take(0, 12 * GIB);
    struct memory_share *third = take(0, 3 * GIB);
    memory_share_give(second);
    struct memory_share *other = take(0, 39 * (GIB / 4)); /* 12 in a gap and 1 at the end are left */
    memory_share_give(first);
    memory_share_give(third);
    memory_share_give(other);
    memory_share_give(take(0, 48 * GIB));
}

static void a_share_is_put_together_of_gaps(void **state)
{
    (void)state;
    struct memory_share *shares[8];
    for (int i = 0; i < 8; i++)
        shares[i] = take(8 * GIB, 8 * GIB);
    for (int i = 0; i < 8; i += 2)
        memory_share_give(shares[i]);
    struct memory_share *whole = take(30 * GIB, 30 * GIB);
    struct memory_share *rest = take(30 * GIB, 2 * GIB); /* promised beyond what there is: told */
    for (int i = 1; i < 8; i += 2)
        memory_share_give(shares[i]);
    memory_share_give(whole);
    memory_share_give(rest);
}

static void the_share_of_who_dies_is_free(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        take(0, 48 * GIB);
        if (write(ends[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    memory_share_give(take(0, 12 * GIB));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    memory_share_give(take(0, 48 * GIB));
    close(ends[0]);
    close(ends[1]);
}

static void without_its_file_nothing_is_taken(void **state)
{
    (void)state;
    const struct memory_bounds bounds = {.machine = MACHINE};
    struct memory_share *share;
    struct esp_error error;
    uint64_t bytes;
    assert_int_equal(memory_share_take("/nowhere/at/all", &bounds, 0, &share, &bytes, &error), ESP_SYSTEM);
    assert_null(share);
    assert_non_null(strstr(error.text, "/nowhere/at/all"));
    memory_share_give(share);
    memory_share_give(take(GIB, GIB)); /* so that there is something to tidy up */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_takes_three_quarters_of_what_is_left), TEST(servers_of_a_control_group_share_its_memory),
        TEST(a_share_is_put_together_of_gaps),           TEST(the_share_of_who_dies_is_free),
        TEST(without_its_file_nothing_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
