/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/error.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

static void keeps_status_and_text(void **state)
{
    (void)state;
    struct esp_error error;
    assert_int_equal(error_set(&error, ESP_LIMIT, "at most %d, found %d", 3, 4), ESP_LIMIT);
    assert_int_equal(error.status, ESP_LIMIT);
    assert_string_equal(error.text, "at most 3, found 4");
}

static void prefix_tells_where(void **state)
{
    (void)state;
    struct esp_error error;
    error_set(&error, ESP_SYNTAX, "expected a name");
    assert_int_equal(error_prefix(&error, "file.esp:%d", 7), ESP_SYNTAX);
    assert_string_equal(error.text, "file.esp:7: expected a name");
}

static void cuts_what_is_too_long(void **state)
{
    (void)state;
    char text[2 * sizeof(struct esp_error)];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    struct esp_error error;
    error_set(&error, ESP_INVALID, "%s", text);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    error_prefix(&error, "%s", text);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
}

static void takes_no_error_at_all(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, ESP_TIMEOUT, "nobody reads this"), ESP_TIMEOUT);
}

static void brings_the_system_s_words(void **state)
{
    (void)state;
    struct esp_error error;
    errno = ENOENT;
    assert_int_equal(error_errno(&error, "cannot open %s", "a.esp"), ESP_SYSTEM);
    assert_string_equal(error.text, "cannot open a.esp: No such file or directory");
}

static void every_status_has_a_string(void **state)
{
    (void)state;
    for (int status = ESP_OK; status <= ESP_BUSY; status++)
        assert_string_not_equal(esp_status_string((enum esp_status)status), "unknown status");
    assert_string_equal(esp_status_string((enum esp_status)9999), "unknown status");
}

static void a_limit_of_the_process_is_named(void **state)
{
    (void)state;
    struct rlimit before, few;
    struct esp_error error;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    few = before;
    few.rlim_cur = 5000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    errno = EFBIG;
    error_errno(&error, "cannot write");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_string_equal(error.text, "cannot write: File too large (\"ulimit -f\" allows 5000 bytes)");
    errno = EMFILE;
    error_errno(&error, "cannot open");
    assert_non_null(strstr(error.text, "Too many open files (\"ulimit -n\" allows "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_status_and_text),           cmocka_unit_test(prefix_tells_where),
        cmocka_unit_test(cuts_what_is_too_long),           cmocka_unit_test(takes_no_error_at_all),
        cmocka_unit_test(brings_the_system_s_words),       cmocka_unit_test(every_status_has_a_string),
        cmocka_unit_test(a_limit_of_the_process_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
