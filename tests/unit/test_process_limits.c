/* SPDX-License-Identifier: Apache-2.0 */
#include "util/process_limits.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* A folder with the files of a system: its control groups below "sys". */
static char root[64], groups[128], mounts[128];

static void write_text(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_folder(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int setup(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "%s", "/tmp/espalier-limits.XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(groups, sizeof groups, "%s/groups", root);
    snprintf(mounts, sizeof mounts, "%s/mounts", root);
    make_folder("sys");
    make_folder("sys/a");
    make_folder("sys/a/b");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static struct process_limits limits(void)
{
    struct process_limits limits;
    process_limits_read(&(struct control_group_files){.groups = groups, .mounts = mounts, .root = root},
                        &limits);
    return limits;
}

static double quota(void)
{
    return limits().quota;
}

static const char *blame(void)
{
    static char text[500];
    process_limits_blame(&(struct control_group_files){.groups = groups, .mounts = mounts, .root = root},
                         text, sizeof text);
    return text;
}

static void the_least_quota_on_the_way_to_the_root_counts(void **state)
{
    (void)state;
    write_text("mounts", "proc /proc proc rw 0 0\ncgroup2 /sys cgroup2 rw 0 0\n");
    write_text("groups", "0::/a/b\n");
    assert_true(isinf(quota()));
    write_text("sys/a/b/cpu.max", "max 100000\n");
    assert_true(isinf(quota()));
    write_text("sys/a/b/cpu.max", "30000 100000\n");
    assert_float_equal(quota(), 0.3, 1e-9);
    write_text("sys/a/cpu.max", "2000 10000\n");
    assert_float_equal(quota(), 0.2, 1e-9);
}

static void version_1_says_it_in_two_files(void **state)
{
    (void)state;
    write_text("mounts", "cgroup /other cgroup rw,cpuset 0 0\ncgroup /sys cgroup rw,cpuacct,cpu 0 0\n");
    write_text("groups", "2:cpuset:/\n1:cpuacct,cpu:/a\n0::/\n");
    write_text("sys/a/cpu.cfs_quota_us", "-1\n");
    write_text("sys/a/cpu.cfs_period_us", "10000\n");
    assert_true(isinf(quota()));
    write_text("sys/a/cpu.cfs_quota_us", "25000\n");
    assert_float_equal(quota(), 2.5, 1e-9);
}

static void in_a_container_the_mount_is_the_group(void **state)
{
    (void)state;
    write_text("mounts", "cgroup2 /sys cgroup2 rw 0 0\n");
    write_text("groups", "0::/docker/0123\n");
    write_text("sys/cpu.max", "50000 100000\n");
    assert_float_equal(quota(), 0.5, 1e-9);
}

static void nonsense_is_no_quota(void **state)
{
    (void)state;
    assert_true(isinf(quota()));
    write_text("mounts", "cgroup2 /sys cgroup2 rw 0 0\n\nx\n");
    write_text("groups", "nonsense\n0:\n0::/a\n");
    write_text("sys/a/cpu.max", "what ever\n");
    assert_true(isinf(quota()));
    write_text("sys/a/cpu.max", "1000\n");
    assert_true(isinf(quota()));
    write_text("sys/a/cpu.max", "");
    assert_true(isinf(quota()));
}

static void the_least_memory_of_all_groups_counts(void **state)
{
    (void)state;
    write_text("mounts", "cgroup2 /sys cgroup2 rw 0 0\n");
    write_text("groups", "0::/a\n");
    write_text("sys/a/memory.max", "max\n");
    assert_true(limits().memory_bytes == UINT64_MAX);
    write_text("sys/a/memory.max", "734003200\n");
    assert_int_equal(limits().memory_bytes, 734003200);
    write_text("sys/memory.max", "104857600\n");
    assert_int_equal(limits().memory_bytes, 104857600);
    write_text("sys/memory.max", "-5\n");
    assert_int_equal(limits().memory_bytes, 734003200);
}

static void the_group_that_leaves_least_processes_is_named(void **state)
{
    (void)state;
    write_text("mounts", "cgroup /sys cgroup rw,pids 0 0\n");
    write_text("groups", "3:pids:/a/b\n");
    write_text("sys/a/b/pids.max", "max\n");
    write_text("sys/a/b/pids.current", "7\n");
    assert_true(limits().group_processes == UINT64_MAX);
    write_text("sys/a/b/pids.max", "100\n");
    assert_int_equal(limits().group_processes, 100);
    assert_null(strstr(blame(), "control group /"));
    write_text("sys/a/pids.max", "200\n");
    write_text("sys/a/pids.current", "200\n");
    assert_int_equal(limits().group_processes, 200);
    assert_non_null(strstr(blame(), ": 200 of 200 (pids.max of the control group"));
}

static void set_limit(__rlimit_resource_t resource, rlim_t value)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(resource, &limit), 0);
    limit.rlim_cur = value;
    assert_int_equal(setrlimit(resource, &limit), 0);
}

static void limits_of_the_process_are_read(void **state)
{
    struct rlimit descriptors, size;
    cpu_set_t before, one;
    char text[PROCESS_LIMITS_TEXT];
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &size), 0);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    set_limit(RLIMIT_NOFILE, 77);
    set_limit(RLIMIT_FSIZE, 50000000);
    const struct process_limits found = limits();
    process_limits_text(&found, text, sizeof text);
    set_limit(RLIMIT_FSIZE, size.rlim_cur);
    set_limit(RLIMIT_NOFILE, descriptors.rlim_cur);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(found.descriptors, 77);
    assert_int_equal(found.file_bytes, 50000000);
    assert_int_equal(found.processors, 1);
    assert_non_null(strstr(text, "descriptors 77; processes and threads"));
    assert_non_null(strstr(text, "file size 50 MB; memory unlimited; processors 1 of "));
}

static void each_computation_has_a_whole_processor(void **state)
{
    (void)state;
    struct process_limits some = {.processors = 4, .quota = HUGE_VAL};
    assert_int_equal(process_limits_processors(&some), 4);
    some.quota = 0.5;
    assert_int_equal(process_limits_processors(&some), 1);
    some.quota = 2.9;
    assert_int_equal(process_limits_processors(&some), 2);
    some.quota = 8;
    assert_int_equal(process_limits_processors(&some), 4);
}

static void the_text_names_where_limits_come_from(void **state)
{
    (void)state;
    const struct process_limits some = {.descriptors = 1024,
                                        .user_processes = 300,
                                        .group_processes = 18,
                                        .file_bytes = 1000,
                                        .memory_bytes = 734003200,
                                        .quota = 0.5,
                                        .processors = 2,
                                        .machine_processors = 4};
    char text[PROCESS_LIMITS_TEXT];
    process_limits_text(&some, text, sizeof text);
    assert_string_equal(text, "descriptors 1024; processes and threads 18 (pids.max); file size 1 kB; "
                              "memory 734 MB (control group); processors 2 of 4, quota 0.5");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_least_quota_on_the_way_to_the_root_counts),
        TEST(version_1_says_it_in_two_files),
        TEST(in_a_container_the_mount_is_the_group),
        TEST(nonsense_is_no_quota),
        TEST(the_least_memory_of_all_groups_counts),
        TEST(the_group_that_leaves_least_processes_is_named),
        TEST(limits_of_the_process_are_read),
        TEST(each_computation_has_a_whole_processor),
        TEST(the_text_names_where_limits_come_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
