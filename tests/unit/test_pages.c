/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/pages.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, MUCH = 17 << 20 }; /* so much that two threads share it, and not in equal parts */

static unsigned char *map(int *file)
{
    *file = memfd_create("pages", MFD_CLOEXEC);
    assert_int_equal(ftruncate(*file, MUCH), 0);
    unsigned char *memory = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static size_t present(void *memory, size_t bytes)
{
    size_t n = bytes / PAGE, found = 0;
    unsigned char *marks = calloc(n, 1);
    assert_int_equal(mincore(memory, bytes, marks), 0);
    for (size_t i = 0; i < n; i++)
        found += marks[i] & 1;
    free(marks);
    return found;
}

static void touched_pages_are_there_and_no_others(void **state)
{
    (void)state;
    int file;
    unsigned char *memory = map(&file);
    assert_int_equal(present(memory, MUCH), 0);
    pages_touch(memory + 100, 3 * PAGE, true); /* wholly inside are two */
    assert_int_equal(present(memory, MUCH), 2);
    assert_int_equal(present(memory + PAGE, 2 * PAGE), 2);
    pages_touch(memory + 100, PAGE, true);
    pages_touch(memory, 0, true);
    assert_int_equal(present(memory, MUCH), 2);
    pages_touch(memory, MUCH, true);
    assert_int_equal(present(memory, MUCH), MUCH / PAGE);
    munmap(memory, MUCH);
    close(file);
}

static void what_is_taken_out_of_the_mapping_stays_in_the_file(void **state)
{
    (void)state;
    int file;
    unsigned char *memory = map(&file);
    for (size_t i = 0; i < MUCH; i += PAGE)
        memory[i] = (unsigned char)(i / PAGE * 7);
    pages_leave_by_two(memory, MUCH);
    pages_touch(memory, MUCH, false);
    for (size_t i = 0; i < MUCH; i += PAGE)
        assert_int_equal(memory[i], (unsigned char)(i / PAGE * 7));
    munmap(memory, MUCH);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(touched_pages_are_there_and_no_others),
        cmocka_unit_test(what_is_taken_out_of_the_mapping_stays_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
