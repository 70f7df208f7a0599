/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "util/folders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/test_folders.XXXXXX";

static const char *below(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void folders_above_are_made_for_this_user_alone(void **state)
{
    struct stat is;
    (void)state;
    assert_true(folders_make(below("a/b//c/"), 0));
    assert_int_equal(stat(below("a/b/c"), &is), 0);
    assert_int_equal(is.st_mode & 0777, 0700);
    assert_int_equal(stat(below("a"), &is), 0);
    assert_int_equal(is.st_mode & 0777, 0700);
    assert_true(folders_make(below("a/b/c"), 0)); /* it is there */
    assert_true(folders_make(below("d/e"), strlen(root)));
    assert_int_equal(access(below("d/e"), F_OK), 0);
}

static void a_relative_path_is_below_the_folder_of_this_process(void **state)
{
    (void)state;
    assert_int_equal(chdir(root), 0);
    assert_true(folders_make("f/g", 0));
    assert_int_equal(access(below("f/g"), F_OK), 0);
    assert_true(folders_make("f/h", 1));
    assert_int_equal(access(below("f/h"), F_OK), 0);
    assert_int_equal(chdir("/"), 0);
}

static void what_is_no_folder_is_left_alone(void **state)
{
    (void)state;
    FILE *file = fopen(below("file"), "w");
    assert_non_null(file);
    fclose(file);
    assert_false(folders_make(below("file"), 0));
    assert_int_equal(errno, ENOTDIR);
    assert_false(folders_make(below("file/x"), 0));
    assert_int_equal(errno, ENOTDIR);
}

/* Another user could put something else in place of what is made in a folder of that user. */
static void nothing_is_made_in_the_folder_of_another_user(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(below("theirs"), 0755), 0);
    assert_int_equal(chown(below("theirs"), 12345, 12345), 0);
    assert_false(folders_make(below("theirs/x/y"), 0));
    assert_int_equal(errno, EPERM);
    assert_int_equal(access(below("theirs/x"), F_OK), -1);
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    static const char *const all[] = {"a/b/c", "a/b", "a", "d/e", "d", "f/g", "f/h", "f", "file", "theirs"};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        remove(below(all[i]));
    return rmdir(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_above_are_made_for_this_user_alone),
        cmocka_unit_test(a_relative_path_is_below_the_folder_of_this_process),
        cmocka_unit_test(what_is_no_folder_is_left_alone),
        cmocka_unit_test(nothing_is_made_in_the_folder_of_another_user),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
