/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "services/hostfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/test_hostfile.XXXXXX";

static enum esp_status check(const char *text, int64_t ranks, struct esp_error *error)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    *error = (struct esp_error){.status = ESP_OK};
    return hostfile_check(path, ranks, error);
}

static void what_mpirun_takes_is_taken(void **state)
{
    static const char *const good[] = {"node1 slots=4\n",
                                       "# ours\n\nnode1 slots=2 # here\nnode2 slots=2",
                                       "node1\n",
                                       "node1 slots=1\nnode2\n",
                                       "node1 slots=4 max_slots=8\r\n",
                                       "user@node1 slots=4 sockets=2\n",
                                       "10.0.0.1 slots=2\nfe80::1 slots=2\nnode-3.example_site.org\n"};
    struct esp_error error;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (check(good[i], 4, &error) != ESP_OK)
            fail_msg("\"%s\": %s", good[i], error.text);
}

static void refuses(const char *text, const char *words)
{
    char expected[300];
    struct esp_error error;
    snprintf(expected, sizeof expected, "%s%s", path, words);
    assert_int_equal(check(text, 4, &error), ESP_CONFIG);
    assert_string_equal(error.text, expected);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
    (void)state;
    refuses("", ": expected hosts, one a line, such as \"node1 slots=4\", found none");
    refuses("# nobody\n", ": expected hosts, one a line, such as \"node1 slots=4\", found none");
    refuses("a slots=4\nb slots=none\n",
            ":2: expected a number of slots of at least 1, found \"slots=none\"");
    refuses("a slots=0\n", ":1: expected a number of slots of at least 1, found \"slots=0\"");
    refuses("a slots=-4\n", ":1: expected a number of slots of at least 1, found \"slots=-4\"");
    refuses("a slots=4 max_slots=x\n", ":1: expected a number of slots of at least 1, found \"max_slots=x\"");
    static const char *const no_hosts[] = {
        "<?xml version=\"1.0\"?>", "=", "-n", "user@-n", "%", "...", "@node1", "n\u00f6de1"};
    for (size_t i = 0; i < sizeof no_hosts / sizeof *no_hosts; i++) {
        char text[100], words[200];
        snprintf(text, sizeof text, "a slots=4\n%s slots=4\n", no_hosts[i]);
        snprintf(words, sizeof words,
                 ":2: expected the name of a host, as in \"node1 slots=4\", found \"%.*s\"",
                 (int)strcspn(no_hosts[i], " "), no_hosts[i]);
        refuses(text, words);
    }
    refuses("\001 slots=4\n", ":1: expected the name of a host, as in \"node1 slots=4\", found \"\\x01\"");
    refuses("a slots=1\nb slots=2\n", ": expected slots for ranks = 4, found 3 on 2 hosts");
}

static void a_line_without_end_and_a_file_that_is_not_there_are_told(void **state)
{
    char text[3000];
    struct esp_error error;
    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    refuses(text, ":1: expected a line of less than 1024 characters");
    assert_int_equal(hostfile_check("/nowhere/hosts", 1, &error), ESP_CONFIG);
    assert_string_equal(error.text, "cannot read the hostfile /nowhere/hosts: No such file or directory");
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_mpirun_takes_is_taken),
        cmocka_unit_test(what_is_wrong_is_told_with_its_line),
        cmocka_unit_test(a_line_without_end_and_a_file_that_is_not_there_are_told),
    };
    close(mkstemp(path));
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
