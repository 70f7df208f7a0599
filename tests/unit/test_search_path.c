/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "util/search_path.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/espalier-search-XXXXXX";

static void make(const char *name, mode_t mode)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (S_ISDIR(mode))
        assert_int_equal(mkdir(path, 0700), 0);
    else
        close(open(path, O_WRONLY | O_CREAT, mode));
}

/* With these folders of ours as PATH. */
static void search_in(const char *first, const char *second)
{
    char path[500];
    snprintf(path, sizeof path, "/nowhere:%s/%s:%s/%s", folder, first, folder, second);
    setenv("PATH", path, 1);
}

static void finds(const char *name, const char *where)
{
    char expected[300], path[300];
    snprintf(expected, sizeof expected, "%s/%s/%s", folder, where, name);
    assert_true(search_path_find(name, path, sizeof path));
    assert_string_equal(path, expected);
}

static void what_can_be_executed_is_found(void **state)
{
    (void)state;
    char path[300];
    search_in("a", "b");
    finds("plain", "b");     /* in a is a file of that name that cannot be executed, */
    finds("of-folder", "b"); /* and a folder */
    assert_false(search_path_find("no-such", path, sizeof path));
    search_in("b", "a");
    finds("plain", "b");
    search_in("a", "a");
    assert_false(search_path_find("plain", path, sizeof path));
    assert_false(search_path_find("of-folder", path, sizeof path));
    assert_false(search_path_find("plain", path, 5)); /* no room */
}

static void an_empty_folder_is_the_one_where_we_are(void **state)
{
    (void)state;
    char path[300], before[1000];
    assert_non_null(getcwd(before, sizeof before));
    snprintf(path, sizeof path, "%s/b", folder);
    assert_int_equal(chdir(path), 0);
    setenv("PATH", "/nowhere:", 1);
    assert_true(search_path_find("plain", path, sizeof path));
    assert_string_equal(path, "plain");
    assert_int_equal(chdir(before), 0);
    assert_false(search_path_find("plain", path, sizeof path));
}

static void without_a_path_the_system_s_is_searched(void **state)
{
    (void)state;
    char path[300];
    unsetenv("PATH");
    assert_true(search_path_find("sh", path, sizeof path));
    assert_string_equal(path, "/bin/sh");
    assert_string_equal(search_path(), "/bin:/usr/bin");
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    make("a", S_IFDIR);
    make("b", S_IFDIR);
    make("a/plain", 0600);
    make("a/of-folder", S_IFDIR);
    make("b/plain", 0700);
    make("b/of-folder", 0700);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const files[] = {"a/plain", "a/of-folder", "b/plain", "b/of-folder", "a", "b", ""};
    char path[200];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        assert_int_equal(remove(path), 0);
    }
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_executed_is_found),
        cmocka_unit_test(an_empty_folder_is_the_one_where_we_are),
        cmocka_unit_test(without_a_path_the_system_s_is_searched),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
