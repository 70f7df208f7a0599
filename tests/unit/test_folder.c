/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "sed/pool/folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH 200

static char where[] = "/tmp/test_folder.XXXXXX";

static void make(const char *kind, char *path, int *lock)
{
    struct esp_error error;
    if (folder_make(where, kind, path, LENGTH, lock, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static void put_file(const char *folder, const char *name)
{
    char path[2 * LENGTH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    close(open(path, O_WRONLY | O_CREAT, 0600));
}

static bool is_there(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0;
}

/* The folder of a process that was killed while it had it. */
static void leave(const char *kind, char *path)
{
    int ends[2], lock;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        make(kind, path, &lock);
        put_file(path, "socket");
        if (write(ends[1], path, LENGTH) == LENGTH)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], path, LENGTH), LENGTH);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
}

static void the_folder_of_a_daemon_that_was_killed_goes(void **state)
{
    char left[LENGTH] = "", other[LENGTH] = "", own[LENGTH];
    int lock;
    (void)state;
    leave("porter", left);
    leave("prd", other);
    assert_true(is_there(left));
    make("porter", own, &lock);
    assert_false(is_there(left));
    assert_true(is_there(other)); /* others see to that */
    assert_true(is_there(own));
    folder_remove(own);
    folder_remove(other);
    close(lock);
}

static void folders_in_use_stay(void **state)
{
    char one[LENGTH], two[LENGTH], three[LENGTH];
    int locks[3];
    (void)state;
    make("porter", one, &locks[0]);
    make("porter", two, &locks[1]);
    make("porter", three, &locks[2]);
    assert_true(is_there(one));
    assert_true(is_there(two));
    struct stat is;
    assert_int_equal(stat(one, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0700);
    close(locks[0]);
    close(locks[1]);
    close(locks[2]);
    make("porter", one, &locks[0]);
    assert_false(is_there(two));
    assert_false(is_there(three));
    folder_remove(one);
    close(locks[0]);
}

/* A folder whose process was killed between two steps. */
static void a_folder_that_was_never_finished_goes_when_it_is_old(void **state)
{
    char bare[LENGTH], fresh[LENGTH], young[LENGTH], own[LENGTH];
    const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    int lock;
    (void)state;
    snprintf(bare, sizeof bare, "%s/espalier-porter-aaa", where);
    snprintf(fresh, sizeof fresh, "%s/espalier-porter-bbb", where);
    snprintf(young, sizeof young, "%s/espalier-porter-ccc", where);
    assert_int_equal(mkdir(bare, 0700) | mkdir(fresh, 0700) | mkdir(young, 0700), 0);
    put_file(fresh, "lock.new");
    assert_int_equal(utimensat(AT_FDCWD, bare, old, 0) | utimensat(AT_FDCWD, fresh, old, 0), 0);
    make("porter", own, &lock);
    assert_false(is_there(bare));
    assert_false(is_there(fresh));
    assert_true(is_there(young));
    folder_remove(young);
    folder_remove(own);
    close(lock);
}

/* A process in a session of its own, in whose environment that is the home. */
static pid_t begin_with_home(const char *folder, const char *below)
{
    char home[LENGTH + 20];
    char *words[] = {(char *)"sleep", (char *)"1000", NULL}, *environment[] = {(char *)"LANG=C", home, NULL};
    snprintf(home, sizeof home, "HOME=%s%s", folder, below);
    int ends[2];
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        execve("/bin/sleep", words, environment);
        _exit(127);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* it has its environment */
    close(ends[0]);
    return child;
}

static void processes_that_go_on_in_a_folder_that_is_left_end_with_it(void **state)
{
    char left[LENGTH] = "", own[LENGTH];
    int lock, status;
    (void)state;
    leave("porter", left);
    const pid_t in = begin_with_home(left, ""), below = begin_with_home(left, "/3/17"),
                beside = begin_with_home(left, "x"), elsewhere = begin_with_home("/nowhere", left);
    make("porter", own, &lock);
    assert_false(is_there(left));
    assert_int_equal(waitpid(in, &status, 0), in);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(waitpid(below, &status, 0), below);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(waitpid(beside, &status, WNOHANG), 0);
    assert_int_equal(waitpid(elsewhere, &status, WNOHANG), 0);
    kill(beside, SIGKILL);
    kill(elsewhere, SIGKILL);
    waitpid(beside, NULL, 0);
    waitpid(elsewhere, NULL, 0);
    folder_remove(own);
    close(lock);
}

/* Of an earlier version, of another program, a link to elsewhere. */
static void what_is_not_known_to_be_left_stays(void **state)
{
    char strange[LENGTH], link[LENGTH], target[LENGTH], own[LENGTH];
    int lock;
    (void)state;
    snprintf(strange, sizeof strange, "%s/espalier-porter-abc", where);
    snprintf(link, sizeof link, "%s/espalier-porter-def", where);
    snprintf(target, sizeof target, "%s/precious", where);
    assert_int_equal(mkdir(strange, 0700), 0);
    assert_int_equal(mkdir(target, 0700), 0);
    put_file(target, "lock");
    assert_int_equal(symlink(target, link), 0);
    make("porter", own, &lock);
    assert_true(is_there(strange));
    assert_true(is_there(link));
    assert_true(is_there(target));
    close(lock);
    folder_remove(own);
}

static void a_path_that_is_too_long_and_a_folder_that_is_not_there_are_told(void **state)
{
    char path[40];
    int lock;
    struct esp_error error;
    (void)state;
    assert_int_equal(folder_make(where, "a-kind-of-folders", path, sizeof path, &lock, &error), ESP_LIMIT);
    assert_int_equal(lock, -1);
    assert_int_equal(folder_make("/dev/null/x", "a", path, sizeof path, &lock, &error), ESP_SYSTEM);
    assert_non_null(strstr(error.text, "cannot make a folder in /dev/null/x: Not a directory"));
    assert_string_equal(path, "");
}

static void a_folder_that_is_not_there_is_made(void **state)
{
    char above[LENGTH / 2], path[LENGTH];
    int lock;
    struct esp_error error;
    (void)state;
    snprintf(above, sizeof above, "%s/not/there", where);
    assert_int_equal(folder_make(above, "a", path, sizeof path, &lock, &error), ESP_OK);
    assert_true(is_there(path));
    folder_remove(path);
    close(lock);
    snprintf(above, sizeof above, "%s/not", where);
    folder_remove(above);
}

static void share(const char *key, char *path, int *lock)
{
    struct esp_error error;
    if (folder_share(where, "job", key, path, LENGTH, lock, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static void a_shared_folder_stays_until_the_last_one_leaves(void **state)
{
    (void)state;
    char first[LENGTH], second[LENGTH], other[LENGTH];
    int locks[3];
    share("one", first, &locks[0]);
    put_file(first, "segment");
    share("one", second, &locks[1]);
    assert_string_equal(first, second);
    share("two", other, &locks[2]); /* which looks for what is left */
    assert_true(is_there(first));
    folder_leave(first, locks[0]);
    assert_true(is_there(first));
    folder_leave(second, locks[1]);
    assert_false(is_there(first));
    assert_true(is_there(other));
    folder_leave(other, locks[2]);
    assert_false(is_there(other));
}

static void what_all_have_left_without_a_word_goes_with_the_next_job(void **state)
{
    (void)state;
    char left[LENGTH], next[LENGTH];
    int locks[3];
    for (int i = 0; i < 2; i++)
        share("killed", left, &locks[i]);
    put_file(left, "segment");
    close(locks[0]);
    share("later", next, &locks[2]);
    assert_true(is_there(left)); /* one of them lives */
    folder_leave(next, locks[2]);
    close(locks[1]);
    share("last", next, &locks[2]);
    assert_false(is_there(left));
    folder_leave(next, locks[2]);
}

/* A process that waits for files in the folder. */
static void a_folder_that_others_may_use_is_not_shared(void **state)
{
    (void)state;
    char path[LENGTH];
    struct esp_error error;
    int lock;
    share("wide", path, &lock);
    folder_leave(path, lock);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(folder_share(where, "job", "wide", path, LENGTH, &lock, &error), ESP_SYSTEM);
    assert_true(lock < 0);
}

static int remove_all(void **state)
{
    (void)state;
    folder_remove(where);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_folder_of_a_daemon_that_was_killed_goes),
        cmocka_unit_test(folders_in_use_stay),
        cmocka_unit_test(a_folder_that_was_never_finished_goes_when_it_is_old),
        cmocka_unit_test(processes_that_go_on_in_a_folder_that_is_left_end_with_it),
        cmocka_unit_test(what_is_not_known_to_be_left_stays),
        cmocka_unit_test(a_shared_folder_stays_until_the_last_one_leaves),
        cmocka_unit_test(what_all_have_left_without_a_word_goes_with_the_next_job),
        cmocka_unit_test(a_folder_that_others_may_use_is_not_shared),
        cmocka_unit_test(a_path_that_is_too_long_and_a_folder_that_is_not_there_are_told),
        cmocka_unit_test(a_folder_that_is_not_there_is_made),
    };
    return mkdtemp(where) ? cmocka_run_group_tests(tests, NULL, remove_all) : 1;
}
