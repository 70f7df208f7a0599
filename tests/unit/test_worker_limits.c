/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of workers (memory, descriptors), and how workers are replaced: when they keep too much, and when
 * their library has changed. */
#include "tests/unit/worker_rig.h"

#include "sed/pool/handoff.h"
#include "sed/pool/oom.h"
#include "util/clock.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define PROBLEM(name, arguments, call, library)                                                              \
    "problem " name " \"for a test\"\n" arguments "implementation test\n    c " call " in \"" library "\"\n"
#define HOARD "    in int mib, keep\n    out int got\n"

static const char description[] = PROBLEM("hoard", HOARD, "got = hoard(mib, keep)", "libroutines.so")
    PROBLEM("hoard_blindly", "    in int mib\n", "hoard_blindly(mib)",
            "libroutines.so") PROBLEM("nap", "    in int ms\n", "nap(ms)", "libroutines.so")
        PROBLEM("status_of", "    in int n\n    out int status\n", "status = status_of(n)", "libroutines.so");

static int hoard(struct rig *rig, int mib, int keep)
{
    int got = -1;
    struct esp_error error = rig_call(rig, "hoard", (void *[]){&mib, &keep, &got}, false);
    if (error.status != ESP_OK)
        fail_msg("%s", error.text);
    return got;
}

static struct processes_counts counts_of(struct rig *rig)
{
    struct processes_counts counts;
    processes_count(rig->workers, &counts);
    return counts;
}

/* Waits until so many workers were replaced for what they kept, and others are ready. */
static void await_grown(struct rig *rig, uint64_t grown, uint32_t ready)
{
    for (int i = 0; i < 30000; i++, usleep(1000)) {
        struct processes_counts counts = counts_of(rig);
        if (counts.grown == grown && counts.ready == ready)
            return;
    }
    fail_msg("%llu workers grew, %u ready", (unsigned long long)counts_of(rig).grown, counts_of(rig).ready);
}

/* ---- memory ---- */

static void a_routine_gets_so_much_memory_and_not_more(void **state)
{
    (void)state;
    static struct rig rig;
    rig_open_with(&rig, description,
                  &(struct processes_options){.slots = 1, .threads = 1, .memory = 100 * MIB});
    assert_int_equal(hoard(&rig, 60, 0), 1);
    assert_int_equal(hoard(&rig, 60, 0), 1); /* what was freed counts no more */
    assert_int_equal(hoard(&rig, 200, 0), 0);
    rig_close(&rig);
}

static void who_fails_for_want_of_memory_is_told_so(void **state)
{
    (void)state;
    static struct rig rig;
    rig_open_with(&rig, description,
                  &(struct processes_options){.slots = 1, .threads = 1, .memory = 100 * MIB});
    int mib = 200, n = 0, status = -1;
    struct esp_error error = rig_call(&rig, "hoard_blindly", (void *[]){&mib}, false);
    assert_int_equal(error.status, ESP_CRASHED);
    if (!strstr(error.text, "it was refused 210 MB") || !strstr(error.text, "worker_memory") ||
        !strstr(error.text, "105 MB"))
        fail_msg("%s", error.text);
    mib = 1; /* the one that took its place, and a crash for another reason */
    assert_int_equal(rig_call(&rig, "hoard_blindly", (void *[]){&mib}, false).status, ESP_OK);
    assert_int_equal(rig_call(&rig, "status_of", (void *[]){&n, &status}, false).status, ESP_OK);
    rig_close(&rig);
}

static void a_worker_that_keeps_too_much_is_replaced(void **state)
{
    (void)state;
    static struct rig rig;
    rig_open_with(&rig, description,
                  &(struct processes_options){
                      .slots = 1, .spares = 1, .threads = 1, .memory = 200 * MIB, .keep = 50 * MIB});
    assert_int_equal(hoard(&rig, 100, 0), 1); /* it keeps nothing */
    assert_int_equal(hoard(&rig, 20, 1), 1);  /* little */
    await_grown(&rig, 0, 2);
    for (uint64_t grown = 1; grown <= 5; grown++) { /* and each of these 100 MiB of at most 200 */
        assert_int_equal(hoard(&rig, 100, 1), 1);
        await_grown(&rig, grown, 2);
    }
    assert_int_equal(hoard(&rig, 100, 0), 1);
    rig_close(&rig);
}

static void many_small_calls_that_keep_a_little_are_noticed_too(void **state)
{
    (void)state;
    static struct rig rig;
    rig_open_with(
        &rig, description,
        &(struct processes_options){.slots = 1, .threads = 1, .memory = 400 * MIB, .keep = 20 * MIB});
    for (int i = 0; i < 200; i++)
        assert_int_equal(hoard(&rig, 1, 1), 1);
    assert_true(counts_of(&rig).grown >= 1);
    rig_close(&rig);
}

/* ---- the kernel's out-of-memory killer ---- */

static void workers_are_killed_before_the_daemon_when_memory_runs_out(void **state)
{
    (void)state;
    static struct rig rig;
    char path[64], score[16] = "";
    int ms = 60000;
    rig_open_with(&rig, description, &(struct processes_options){.slots = 1, .threads = 1});
    struct rig_job *job = rig_prepare(&rig, "nap", (void *[]){&ms}, false);
    rig_start(&rig, job);
    while (counts_of(&rig).born < 1 || processes_pid(rig.workers, job->job.id) == 0)
        usleep(1000);
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", processes_pid(rig.workers, job->job.id));
    for (int i = 0; i < 10000 && strcmp(score, "1000\n") != 0; i++, usleep(1000)) {
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(score, sizeof score, file));
        fclose(file);
    }
    assert_string_equal(score, "1000\n");
    rig_close(&rig);
}

static void set_killed(const char *path, unsigned killed)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "nr_free_pages 7\noom_kill %u\nhtlb_buddy_alloc_success 0\n", killed);
    fclose(file);
}

static void the_killer_is_noticed_until_the_second_reading_after_it(void **state)
{
    (void)state;
    char path[] = "/tmp/espalier-oom-XXXXXX";
    struct oom_watch watch = {.file = path};
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    set_killed(path, 5);
    assert_false(oom_is_recent(&watch)); /* it has not looked yet */
    oom_look(&watch, NS_PER_S);
    assert_false(oom_is_recent(&watch));
    set_killed(path, 6);
    assert_true(oom_is_recent(&watch));
    oom_look(&watch, 2 * NS_PER_S); /* the server notices a death later than the killer has counted it */
    assert_true(oom_is_recent(&watch));
    oom_look(&watch, 2 * NS_PER_S + 1);
    assert_true(oom_is_recent(&watch));
    oom_look(&watch, 3 * NS_PER_S);
    assert_false(oom_is_recent(&watch));
    set_killed(path, 7); /* while nothing computed here */
    oom_look(&watch, 20 * NS_PER_S);
    assert_false(oom_is_recent(&watch));
    set_killed(path, 8);
    assert_true(oom_is_recent(&watch));
    assert_int_equal(remove(path), 0);
    assert_false(oom_is_recent(&watch));
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void only_deaths_in_the_servers_own_group_count(void **state)
{
    (void)state;
    static const struct {
        const char *mount, *group, *file, *before, *after;
    } versions[] = {
        {"cgroup2 /sys cgroup2 rw 0 0\n", "0::/own\n", "memory.events",
         "max 0\noom 1\noom_kill 1\noom_group_kill 0\n", "max 0\noom 2\noom_kill 2\noom_group_kill 0\n"},
        {"cgroup /sys cgroup rw,memory 0 0\n", "4:memory:/own\n", "memory.oom_control",
         "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"}};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        char root[] = "/tmp/espalier-oom-XXXXXX", own[64], above[64], groups[64], mounts[64], command[80];
        assert_non_null(mkdtemp(root));
        snprintf(above, sizeof above, "%s/sys", root);
        snprintf(own, sizeof own, "%s/sys/own", root);
        snprintf(groups, sizeof groups, "%s/groups", root);
        snprintf(mounts, sizeof mounts, "%s/mounts", root);
        assert_int_equal(mkdir(above, 0700), 0);
        assert_int_equal(mkdir(own, 0700), 0);
        write_file(root, "groups", versions[i].group);
        write_file(root, "mounts", versions[i].mount);
        write_file(above, versions[i].file, versions[i].before);
        write_file(own, versions[i].file, versions[i].before);
        const struct control_group_files files = {.groups = groups, .mounts = mounts, .root = root};
        struct oom_watch watch = {.groups = &files};
        oom_look(&watch, NS_PER_S);
        write_file(above, versions[i].file, versions[i].after); /* a process of another server */
        assert_false(oom_is_recent(&watch));
        write_file(own, versions[i].file, versions[i].after);
        assert_true(oom_is_recent(&watch));
        snprintf(command, sizeof command, "rm -rf %s", root);
        assert_int_equal(system(command), 0);
    }
}

/* ---- descriptors ---- */

static void too_few_descriptors_are_named_before_anything_starts(void **state)
{
    (void)state;
    struct rlimit before, few = {.rlim_cur = 60};
    struct workers *workers;
    struct esp_error error;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct processes_options options = {.slots = 20, .spares = 1, .threads = 1};
    assert_int_equal(processes_create(&options, &workers, &error), ESP_LIMIT);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (!strstr(error.text, "at least 90, found 60") || !strstr(error.text, "ulimit -n"))
        fail_msg("%s", error.text);
}

/* The limit of `ulimit -n 64`, which is more than a worker needs. */
static void workers_begin_with_few_descriptors(void **state)
{
    (void)state;
    static struct rig rig;
    struct spawner_limit limit = {.resource = RLIMIT_NOFILE, .value = 32};
    rig_open_with(&rig, description,
                  &(struct processes_options){.slots = 1, .threads = 1, .limits = &limit, .n_limits = 1});
    assert_int_equal(hoard(&rig, 1, 0), 1);
    rig_close(&rig);
}

static void why_no_worker_begins_is_told(void **state)
{
    (void)state;
    static struct rig rig;
    struct spawner_limit limit = {.resource = RLIMIT_NOFILE, .value = 5};
    rig_open_with(&rig, description,
                  &(struct processes_options){.slots = 1, .threads = 1, .limits = &limit, .n_limits = 1});
    int n = 0, status;
    struct esp_error error = rig_call(&rig, "status_of", (void *[]){&n, &status}, false);
    assert_int_equal(error.status, ESP_SYSTEM);
    if (!strstr(error.text, "die before they begin a call") || !strstr(error.text, "Too many open files"))
        fail_msg("%s", error.text);
    rig_close(&rig);
}

/* ---- libraries that are built anew ---- */

static char folder[] = "/tmp/espalier-test-XXXXXX";

static void put_library(const char *name)
{
    const char *build = getenv("top_builddir");
    char from[PATH_MAX], made[PATH_MAX], to[PATH_MAX];
    struct stat is;
    snprintf(from, sizeof from, "%s/tests/unit/.libs/libroutines.so", build ? build : ".");
    snprintf(made, sizeof made, "%s/made", folder);
    snprintf(to, sizeof to, "%s/%s", folder, name);
    int in = open(from, O_RDONLY), out = open(made, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    assert_true(in >= 0 && out >= 0);
    assert_int_equal(fstat(in, &is), 0);
    for (off_t left = is.st_size; left > 0;) {
        ssize_t n = sendfile(out, in, NULL, (size_t)left);
        assert_true(n > 0);
        left -= n;
    }
    close(in);
    close(out);
    assert_int_equal(rename(made, to), 0);
}

static void a_library_that_was_built_anew_is_loaded_by_new_workers(void **state)
{
    (void)state;
    static const char text[] = PROBLEM("spin", "    in int ms\n    out int done\n", "spin(ms, done)",
                                       "libchanging.so")
        PROBLEM("status_of", "    in int n\n    out int status\n", "status = status_of(n)", "libchanging.so");
    static struct rig rig;
    struct problem_set *problems;
    struct esp_error error;
    char file[PATH_MAX];
    assert_non_null(mkdtemp(folder));
    put_library("libchanging.so");
    snprintf(file, sizeof file, "%s/changing.esp", folder);
    assert_int_equal(problem_parse(text, strlen(text), file, &problems, &error), ESP_OK);
    rig_open_set(&rig, problems, &(struct processes_options){.slots = 2, .spares = 1, .threads = 1});
    int ms = 1500, done = 0, n = 7, status = -1;
    struct rig_job *running = rig_prepare(&rig, "spin", (void *[]){&ms, &done}, false);
    assert_int_equal(rig_call(&rig, "status_of", (void *[]){&n, &status}, false).status, ESP_OK);
    rig_start(&rig, running);
    const int32_t first = counts_of(&rig).spawner;

    assert_int_equal(processes_renew(rig.workers, problems, &error), ESP_OK);
    assert_int_equal(counts_of(&rig).spawner, first); /* nothing has changed */

    put_library("libchanging.so");
    assert_int_equal(processes_renew(rig.workers, problems, &error), ESP_OK);
    const int32_t second = counts_of(&rig).spawner;
    assert_int_not_equal(second, first);
    status = -1;
    assert_int_equal(rig_call(&rig, "status_of", (void *[]){&n, &status}, false).status, ESP_OK);
    assert_int_equal(status, 7);
    assert_int_equal(rig_wait(&rig, running, false)->error.status, ESP_OK); /* with the old one */
    for (int i = 0; i < 30000 && kill(first, 0) == 0; i++)
        usleep(1000);
    assert_int_not_equal(kill(first, 0), 0); /* which nobody needs any more */
    assert_int_equal(counts_of(&rig).spawner, second);
    assert_int_equal(processes_renew(rig.workers, problems, &error), ESP_OK);
    assert_int_equal(counts_of(&rig).spawner, second);
    rig_close(&rig);
    unlink(file);
    snprintf(file, sizeof file, "%s/libchanging.so", folder);
    unlink(file);
    assert_int_equal(rmdir(folder), 0);
}

static void only_a_bound_of_the_server_is_told_as_one(void **state)
{
    (void)state;
    char text[200] = "it failed";
    handoff_append_refusal("rank", 3 << 20, 0, text, sizeof text);
    assert_string_equal(text, "it failed; it was refused 3.15 MB of memory");
    handoff_append_refusal("rank", 3 << 20, 2 << 20, text, sizeof text);
    assert_string_equal(text + 43,
                        "; it was refused 3.15 MB of memory (a rank of this server may have 2.1 MB "
                        "beside its arguments: worker_memory)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if MEMORY_TESTS
        cmocka_unit_test(a_routine_gets_so_much_memory_and_not_more),
        cmocka_unit_test(who_fails_for_want_of_memory_is_told_so),
        cmocka_unit_test(a_worker_that_keeps_too_much_is_replaced),
        cmocka_unit_test(many_small_calls_that_keep_a_little_are_noticed_too),
#endif
        cmocka_unit_test(only_a_bound_of_the_server_is_told_as_one),
        cmocka_unit_test(workers_are_killed_before_the_daemon_when_memory_runs_out),
        cmocka_unit_test(the_killer_is_noticed_until_the_second_reading_after_it),
        cmocka_unit_test(only_deaths_in_the_servers_own_group_count),
        cmocka_unit_test(too_few_descriptors_are_named_before_anything_starts),
        cmocka_unit_test(workers_begin_with_few_descriptors),
        cmocka_unit_test(why_no_worker_begins_is_told),
        cmocka_unit_test(a_library_that_was_built_anew_is_loaded_by_new_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
