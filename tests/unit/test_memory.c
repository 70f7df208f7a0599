/* SPDX-License-Identifier: Apache-2.0
 *
 * The sensor of memory, on files that the test writes.
 */
#include "services/nws/memory.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MIB (UINT64_C(1) << 20)

static char root[64], meminfo[128], groups[128], mounts[128];

static void write_text(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int setup(void **state)
{
    (void)state;
    char folder[128];
    snprintf(root, sizeof root, "%s", "/tmp/espalier-memory.XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(meminfo, sizeof meminfo, "%s/meminfo", root);
    snprintf(groups, sizeof groups, "%s/groups", root);
    snprintf(mounts, sizeof mounts, "%s/mounts", root);
    snprintf(folder, sizeof folder, "%s/sys", root);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(folder, sizeof folder, "%s/sys/a", root);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_text("meminfo",
               "MemTotal:       8388608 kB\nMemFree:        1048576 kB\nMemAvailable:   4194304 kB\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static uint64_t available(void)
{
    return memory_available(&(struct memory_files){
        .meminfo = meminfo, .groups = {.groups = groups, .mounts = mounts, .root = root}});
}

static void the_kernel_says_what_it_could_give(void **state)
{
    (void)state;
    assert_int_equal(available(), 4096 * MIB);
    write_text("meminfo", "MemTotal:       8388608 kB\n");
    assert_true(available() == UINT64_MAX);
    write_text("meminfo", "MemAvailable: much\n");
    assert_true(available() == UINT64_MAX);
    assert_int_equal(remove(meminfo), 0);
    assert_true(available() == UINT64_MAX);
}

static void limits_of_control_groups_count(void **state)
{
    (void)state;
    write_text("mounts", "cgroup2 /sys cgroup2 rw 0 0\n");
    write_text("groups", "0::/a\n");
    write_text("sys/a/memory.current", "1073741824\n");
    write_text("sys/a/memory.max", "max\n");
    assert_int_equal(available(), 4096 * MIB);
    write_text("sys/a/memory.max", "2147483648\n");
    assert_int_equal(available(), 1024 * MIB);
    write_text("sys/a/memory.stat", "anon 5\ninactive_file 268435456\nactive_file 268435456\n");
    assert_int_equal(available(), 1024 * MIB + 256 * MIB + 128 * MIB);
    write_text("sys/memory.current", "3221225472\n"); /* of the group above, with all that are in it */
    write_text("sys/memory.max", "3758096384\n");
    assert_int_equal(available(), 512 * MIB);
    write_text("sys/memory.max", "1000\n"); /* it was lowered below what is used */
    assert_int_equal(available(), 0);
}

static void version_1_has_other_names(void **state)
{
    (void)state;
    write_text("mounts", "cgroup /sys cgroup rw,memory 0 0\n");
    write_text("groups", "4:memory:/a\n0::/\n");
    write_text("sys/a/memory.usage_in_bytes", "1073741824\n");
    write_text("sys/a/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    assert_int_equal(available(), 4096 * MIB);
    write_text("sys/a/memory.limit_in_bytes", "1610612736\n");
    write_text("sys/a/memory.stat", "inactive_file 1\ntotal_inactive_file 1048576\ntotal_active_file 0\n");
    assert_int_equal(available(), 513 * MIB);
}

static void nonsense_is_no_limit(void **state)
{
    (void)state;
    write_text("mounts", "cgroup2 /sys cgroup2 rw 0 0\n");
    write_text("groups", "0::/a\n");
    write_text("sys/a/memory.max", "-5\n");
    write_text("sys/a/memory.current", "5\n");
    assert_int_equal(available(), 4096 * MIB);
    write_text("sys/a/memory.max", "1000\n");
    write_text("sys/a/memory.current", "little\n");
    assert_int_equal(available(), 4096 * MIB);
    write_text("sys/a/memory.current", "99999999999999999999999999\n");
    assert_int_equal(available(), 4096 * MIB);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_kernel_says_what_it_could_give),
        TEST(limits_of_control_groups_count),
        TEST(version_1_has_other_names),
        TEST(nonsense_is_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
