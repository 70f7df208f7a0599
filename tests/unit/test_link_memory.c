/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients keep of their links: found again, bounded, and never an error.
 */
#include "client/session/link_memory.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW INT64_C(1700000000)

static char folder[] = "/tmp/espalier-memory-XXXXXX", path[200], aside[210];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/cache/espalier/links", folder);
    snprintf(aside, sizeof aside, "%s" LINK_MEMORY_SUFFIX, path);
    return 0;
}

static int tear_down(void **state)
{
    char name[200];
    (void)state;
    unlink(path);
    unlink(aside);
    snprintf(name, sizeof name, "%s/cache/espalier", folder);
    rmdir(name);
    snprintf(name, sizeof name, "%s/cache", folder);
    rmdir(name);
    return rmdir(folder);
}

static void save_two(void)
{
    struct link_memory memory = {0};
    link_memory_set(&memory, "old:1", &(struct path){true, 0.01, 5e6, 0}, NOW - 40 * 86400);
    link_memory_set(&memory, "h:1", &(struct path){true, 0.002, 1e6, 0}, NOW);
    link_memory_set(&memory, "h:1", &(struct path){true, 0.001, 20e6, 0}, NOW);
    link_memory_set(&memory, "not an address", &(struct path){true, 0.001, 20e6, 0}, NOW);
    link_memory_set(&memory, "", &(struct path){true, 0.001, 20e6, 0}, NOW);
    assert_int_equal(memory.n, 2);
    char folder_above[200];
    snprintf(folder_above, sizeof folder_above, "%s/cache", folder);
    assert_true(link_memory_save(&memory, path));
    struct stat found;
    assert_int_equal(stat(folder_above, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0700);
    link_memory_clear(&memory);
}

static void links_are_found_again(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    save_two();
    link_memory_load(&memory, path, NOW + 86400);
    const struct remembered_link *link = link_memory_find(&memory, "h:1");
    assert_non_null(link);
    assert_float_equal(link->path.bandwidth_bps, 20e6, 1);
    assert_float_equal(link->path.latency_s, 0.001, 1e-9);
    assert_null(link_memory_find(&memory, "old:1")); /* its address may be somebody else's by now */
    link_memory_clear(&memory);
}

static void a_clock_that_went_back_loses_nothing(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    save_two();
    link_memory_load(&memory, path, NOW - 400 * INT64_C(86400));
    assert_non_null(link_memory_find(&memory, "h:1"));
    link_memory_clear(&memory);
}

/* Every byte that is another one, and every cut: nothing is believed, and the file is kept for who wants to
 * look. */
static void a_damaged_file_is_set_aside(void **state)
{
    (void)state;
    char text[1000], wrong[1000];
    save_two();
    FILE *file = fopen(path, "r");
    const size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    for (size_t i = 0; i < 2 * length; i++) {
        struct link_memory memory = {0};
        size_t n = i < length ? length : i - length;
        memcpy(wrong, text, length);
        if (i < length)
            wrong[i] ^= 1;
        file = fopen(path, "w");
        fwrite(wrong, 1, n, file);
        fclose(file);
        link_memory_load(&memory, path, NOW);
        assert_int_equal(memory.n, 0);
        assert_int_not_equal(access(path, F_OK), 0);
        assert_int_equal(access(aside, F_OK), 0);
        link_memory_clear(&memory);
    }
}

static void it_is_bounded(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    char address[50];
    for (int i = 0; i < LINK_MEMORY_MOST + 10; i++) {
        snprintf(address, sizeof address, "host%d:1", i);
        link_memory_set(&memory, address, &(struct path){true, 0.001, 20e6, 0}, NOW + i);
    }
    assert_int_equal(memory.n, LINK_MEMORY_MOST);
    assert_null(link_memory_find(&memory, "host9:1")); /* the oldest ones went */
    assert_non_null(link_memory_find(&memory, "host10:1"));
    assert_true(link_memory_save(&memory, path));
    link_memory_clear(&memory);
    link_memory_load(&memory, path, NOW + 1000);
    assert_int_equal(memory.n, LINK_MEMORY_MOST);
    link_memory_clear(&memory);
}

static void where_nothing_can_be_written_nothing_happens(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    link_memory_set(&memory, "h:1", &(struct path){true, 0.001, 20e6, 0}, NOW);
    assert_false(link_memory_save(&memory, "/proc/nowhere/espalier/links"));
    assert_false(link_memory_save(&memory, ""));
    link_memory_clear(&memory);
    link_memory_load(&memory, "/proc/nowhere/espalier/links", NOW);
    link_memory_load(&memory, "", NOW);
    assert_int_equal(memory.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(links_are_found_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_clock_that_went_back_loses_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_set_aside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_bounded, set_up, tear_down),
        cmocka_unit_test(where_nothing_can_be_written_nothing_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
