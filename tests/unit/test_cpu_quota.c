/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/cpu_quota.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
    snprintf(root, sizeof root, "%s", "/tmp/espalier-quota.XXXXXX");
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

static double quota(void)
{
    return cpu_quota(&(struct control_group_files){.groups = groups, .mounts = mounts, .root = root});
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_least_quota_on_the_way_to_the_root_counts),
        TEST(version_1_says_it_in_two_files),
        TEST(in_a_container_the_mount_is_the_group),
        TEST(nonsense_is_no_quota),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
