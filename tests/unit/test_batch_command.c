/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch_command.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum esp_status run(const char *script, int64_t deadline_ms, struct batch_command_result *result,
                           struct esp_error *error)
{
    const char *const words[] = {"sh", "-c", script, NULL};
    const char *const environment[] = {"GREETING=hello", NULL};
    const struct batch_command command = {
        .words = words, .environment = environment, .deadline_ms = deadline_ms};
    return batch_runner_processes.run(&batch_runner_processes, &command, result, error);
}

static void output_errors_and_exit_code_come_back(void **state)
{
    struct batch_command_result result;
    struct esp_error error = {0};
    (void)state;
    assert_int_equal(run("echo $GREETING; printf 'one\\ntwo\\n\\n' >&2; exit 3", 30000, &result, &error),
                     ESP_OK);
    assert_int_equal(result.exit_code, 3);
    assert_string_equal(result.output, "hello\n");
    assert_int_equal(result.output_bytes, 6);
    assert_string_equal(result.errors, "one\ntwo");
    batch_command_clear(&result);
    assert_int_equal(run("kill -KILL $$", 30000, &result, &error), ESP_OK);
    assert_int_equal(result.exit_code, 128 + SIGKILL);
    assert_string_equal(result.output, "");
    batch_command_clear(&result);
}

static void the_environment_is_new(void **state)
{
    struct batch_command_result result;
    struct esp_error error = {0};
    (void)state;
    setenv("SBATCH_PARTITION", "elsewhere", 1);
    assert_int_equal(run("echo ${SBATCH_PARTITION:-none} ${LC_ALL} ${HOME:+home}", 30000, &result, &error),
                     ESP_OK);
    assert_string_equal(result.output, "none C.UTF-8 home\n");
    batch_command_clear(&result);
}

static void a_program_that_hangs_is_killed_with_its_children(void **state)
{
    struct batch_command_result result;
    struct esp_error error = {0};
    char path[] = "/tmp/espalier-command-XXXXXX", script[200];
    (void)state;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    snprintf(script, sizeof script, "sleep 1000 & echo $! >%s; echo 'no answer yet' >&2; sleep 1000", path);
    assert_int_equal(run(script, 300, &result, &error), ESP_TIMEOUT);
    assert_non_null(strstr(error.text, "sh did not end within 300 ms and was killed: no answer yet"));
    FILE *pids = fdopen(file, "r");
    int child = 0;
    assert_int_equal(fscanf(pids, "%d", &child), 1);
    /* It is a zombie until its new parent collects it. */
    char stat_path[64], name[64];
    char letter = 'Z';
    snprintf(stat_path, sizeof stat_path, "/proc/%d/stat", child);
    for (int i = 0; i < 3000; i++) {
        FILE *stat = fopen(stat_path, "r");
        letter = 'Z';
        if (stat && fscanf(stat, "%*d (%63[^)]) %c", name, &letter) < 2)
            letter = 'Z';
        if (stat)
            fclose(stat);
        if (letter == 'Z')
            break;
        usleep(10000);
    }
    assert_int_equal(letter, 'Z');
    fclose(pids);
    unlink(path);
    batch_command_clear(&result);
}

static void a_child_that_keeps_the_pipe_does_not_hold_the_caller(void **state)
{
    struct batch_command_result result;
    struct esp_error error = {0};
    (void)state;
    assert_int_equal(run("echo done; sleep 1000 & echo $!", 60000, &result, &error), ESP_OK);
    int child = 0;
    assert_int_equal(sscanf(result.output, "done %d", &child), 1);
    kill(child, SIGKILL);
    batch_command_clear(&result);
}

static void too_much_output_is_refused(void **state)
{
    struct batch_command_result result;
    struct esp_error error = {0};
    (void)state;
    assert_int_equal(run("yes", 60000, &result, &error), ESP_LIMIT);
    assert_null(result.output);
    batch_command_clear(&result);
    assert_int_equal(run("yes | head -c 100000 >&2", 60000, &result, &error), ESP_OK);
    assert_true(strlen(result.errors) <= BATCH_COMMAND_ERRORS && strlen(result.errors) > 2000);
    batch_command_clear(&result);
}

static void a_program_that_is_missing_is_told(void **state)
{
    struct batch_command_result result;
    struct esp_error error = {0};
    const char *const words[] = {"no-such-batch-system", NULL};
    const struct batch_command command = {.words = words, .deadline_ms = 1000};
    (void)state;
    assert_int_equal(batch_runner_processes.run(&batch_runner_processes, &command, &result, &error),
                     ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "there is no program no-such-batch-system in"));
}

static void users_are_found_by_name(void **state)
{
    struct batch_user user;
    struct esp_error error = {0};
    (void)state;
    assert_int_equal(batch_user_find(NULL, &user, &error), ESP_OK);
    assert_int_equal(user.uid, geteuid());
    assert_int_equal(batch_user_find("no-such-user-here", &user, &error), ESP_CONFIG);
    assert_non_null(strstr(error.text, "no-such-user-here"));
    if (geteuid() == 0)
        return;
    assert_int_equal(batch_user_find("root", &user, &error), ESP_CONFIG);
    assert_non_null(strstr(error.text, "expected the user that runs the server"));
}

static void a_program_runs_as_another_user(void **state)
{
    struct batch_command_result result;
    struct batch_user user;
    struct esp_error error = {0};
    const char *const words[] = {"sh", "-c", "id -u; id -G; echo $USER", NULL};
    struct batch_command command = {.words = words, .deadline_ms = 30000, .user = &user};
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(batch_user_find("nobody", &user, &error), ESP_OK);
    assert_int_equal(batch_runner_processes.run(&batch_runner_processes, &command, &result, &error), ESP_OK);
    char expected[100];
    snprintf(expected, sizeof expected, "%u\n%u\nnobody\n", (unsigned)user.uid, (unsigned)user.gid);
    assert_string_equal(result.output, expected);
    batch_command_clear(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_errors_and_exit_code_come_back),
        cmocka_unit_test(the_environment_is_new),
        cmocka_unit_test(a_program_that_hangs_is_killed_with_its_children),
        cmocka_unit_test(a_child_that_keeps_the_pipe_does_not_hold_the_caller),
        cmocka_unit_test(too_much_output_is_refused),
        cmocka_unit_test(a_program_that_is_missing_is_told),
        cmocka_unit_test(users_are_found_by_name),
        cmocka_unit_test(a_program_runs_as_another_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
