/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "sed/crd/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64], path[80];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_checkpoint.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/state", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void the_last_state_saved_is_the_one_that_is_loaded(void **state)
{
    char text[32] = "";
    uint64_t bytes = 0;
    (void)state;
    assert_int_equal(checkpoint_number(path, &bytes), 0);
    assert_int_equal(checkpoint_load(path, text, sizeof text, &bytes), 0);
    assert_int_equal(checkpoint_save(path, 1, "one", 4), 0);
    assert_int_equal(checkpoint_save(path, 2, "second", 7), 0);
    assert_int_equal(checkpoint_number(path, &bytes), 2);
    assert_int_equal(bytes, 7);
    assert_int_equal(checkpoint_load(path, text, sizeof text, &bytes), 2);
    assert_string_equal(text, "second");
}

static void what_does_not_fit_is_not_loaded(void **state)
{
    char small[3];
    uint64_t bytes;
    (void)state;
    assert_int_equal(checkpoint_save(path, 1, "much more", 10), 0);
    assert_int_equal(checkpoint_load(path, small, sizeof small, &bytes), 0);
}

static void a_state_that_cannot_be_written_leaves_the_one_before(void **state)
{
    char nowhere[120];
    (void)state;
    assert_int_equal(checkpoint_save(path, 1, "one", 4), 0);
    snprintf(nowhere, sizeof nowhere, "%s/nowhere/state", folder);
    assert_int_equal(checkpoint_save(nowhere, 2, "two", 4), ENOENT);
    assert_int_equal(checkpoint_number(path, NULL), 1);
}

static size_t read_file(char *data, size_t size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(data, 1, size, file);
    fclose(file);
    return n;
}

static void write_file(const char *data, size_t n)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* Every byte changed, and every length cut: never loaded, in the file and in memory. */
static void a_damaged_state_is_none(void **state)
{
    char whole[100], changed[100], text[32];
    uint64_t bytes;
    (void)state;
    assert_int_equal(checkpoint_save(path, 7, "the state", 10), 0);
    const size_t n = read_file(whole, sizeof whole);
    assert_int_equal(n, CHECKPOINT_HEADER_BYTES + 10);
    assert_int_equal(checkpoint_check(whole, n), 7);
    for (size_t i = 0; i < n; i++) {
        memcpy(changed, whole, n);
        changed[i] ^= 4;
        assert_int_equal(checkpoint_check(changed, n), 0);
        write_file(changed, n);
        assert_int_equal(checkpoint_load(path, text, sizeof text, &bytes), 0);
        assert_int_equal(checkpoint_check(whole, i), 0);
        write_file(whole, i);
        assert_int_equal(checkpoint_load(path, text, sizeof text, &bytes), 0);
    }
}

static void an_empty_state_is_one(void **state)
{
    char text[1] = "";
    uint64_t bytes = 9;
    (void)state;
    assert_int_equal(checkpoint_save(path, 3, text, 0), 0);
    assert_int_equal(checkpoint_load(path, text, sizeof text, &bytes), 3);
    assert_int_equal(bytes, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_last_state_saved_is_the_one_that_is_loaded),
        TEST(what_does_not_fit_is_not_loaded),
        TEST(a_state_that_cannot_be_written_leaves_the_one_before),
        TEST(a_damaged_state_is_none),
        TEST(an_empty_state_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
