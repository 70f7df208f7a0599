/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/careful.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES ((size_t)1 << 16)

static uint8_t *mapped_file(int *fd)
{
    char name[] = "/tmp/careful-XXXXXX";
    *fd = mkstemp(name);
    assert_true(*fd >= 0);
    unlink(name);
    assert_int_equal(ftruncate(*fd, BYTES), 0);
    uint8_t *bytes = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, *fd, 0);
    assert_true(bytes != MAP_FAILED);
    return bytes;
}

struct sum {
    const uint8_t *bytes;
    volatile unsigned total;
};

static void add_all(void *arg)
{
    struct sum *sum = arg;
    for (size_t i = 0; i < BYTES; i++)
        sum->total += sum->bytes[i] + 1u;
}

static void what_is_there_is_read_whole(void **state)
{
    (void)state;
    int fd;
    struct sum sum = {.bytes = mapped_file(&fd)};
    assert_true(careful_read(add_all, &sum));
    assert_int_equal(sum.total, BYTES);
    munmap((void *)sum.bytes, BYTES);
    close(fd);
}

static void a_file_that_was_cut_off_is_told_each_time(void **state)
{
    (void)state;
    int fd;
    struct sum sum = {.bytes = mapped_file(&fd)};
    assert_int_equal(ftruncate(fd, BYTES / 2), 0);
    assert_false(careful_read(add_all, &sum));
    assert_int_equal(sum.total, BYTES / 2);
    assert_false(careful_read(add_all, &sum));
    assert_int_equal(ftruncate(fd, BYTES), 0);
    sum.total = 0;
    assert_true(careful_read(add_all, &sum));
    munmap((void *)sum.bytes, BYTES);
    close(fd);
}

/* A fault that nobody foresaw must not be taken for one that was. */
static void outside_a_fault_is_as_deadly_as_ever(void **state)
{
    (void)state;
    int fd, how;
    signal(SIGBUS, SIG_DFL); /* cmocka's would go on with the tests in the child */
    struct sum sum = {.bytes = mapped_file(&fd)};
    assert_true(careful_read(add_all, &sum));
    assert_int_equal(ftruncate(fd, 0), 0);
    pid_t child = fork();
    if (child == 0) {
        add_all(&sum);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGBUS);
    munmap((void *)sum.bytes, BYTES);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_read_whole),
        cmocka_unit_test(a_file_that_was_cut_off_is_told_each_time),
        cmocka_unit_test(outside_a_fault_is_as_deadly_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
