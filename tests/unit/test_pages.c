/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/crd/crd.h"
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

/* Of a file from `offset` on, where its large pages fit. */
static unsigned char *map_placed(int file, size_t bytes, uint64_t offset, size_t guard)
{
    char *place = pages_reserve(bytes, offset, guard);
    assert_non_null(place);
    assert_ptr_not_equal(
        mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, (off_t)offset), MAP_FAILED);
    return (unsigned char *)place;
}

static void large_pages_of_a_file_fit_where_it_is_placed(void **state)
{
    (void)state;
    int file;
    unsigned char *memory = map(&file);
    const size_t guard = 16 * PAGE, bytes = 5 * PAGES_LARGE + PAGE;
    for (uint64_t offset = 0; offset <= PAGES_LARGE; offset += 73 * PAGE) {
        unsigned char *placed = map_placed(file, bytes, offset, guard);
        assert_int_equal(((uintptr_t)placed - offset) % PAGES_LARGE, 0);
        assert_int_equal(munmap(placed - guard, bytes + 2 * guard), 0);
    }
    char *little = pages_reserve(PAGE, PAGE, guard);
    assert_non_null(little);
    assert_int_equal(munmap(little - guard, PAGE + 2 * guard), 0);
    munmap(memory, MUCH);
    close(file);
}

/* Whether or not the system can. */
static void pages_made_large_show_what_they_showed(void **state)
{
    (void)state;
    int file;
    unsigned char *memory = map(&file);
    for (size_t i = 0; i < MUCH; i += PAGE)
        if (i / PAGES_LARGE != 2) /* nobody has written there */
            memory[i + 5] = (unsigned char)(i / PAGE * 7);
    const uint64_t offset = 3 * PAGE;
    const size_t bytes = MUCH - 5 * PAGE;
    unsigned char *placed = map_placed(file, bytes, offset, 0);
    pages_make_large(placed, bytes);
    pages_make_large(placed, PAGE);
    for (size_t i = offset; i < offset + bytes; i += PAGE)
        assert_int_equal(placed[i - offset + 5], i / PAGES_LARGE != 2 ? (unsigned char)(i / PAGE * 7) : 0);
    placed[PAGES_LARGE] = 99; /* one memory for all processes that have it mapped */
    assert_int_equal(memory[offset + PAGES_LARGE], 99);
    munmap(placed, bytes);
    munmap(memory, MUCH);
    close(file);
}

/* Whether anything was tried, and that it shows what it showed. */
static bool comes_again(int file, uint64_t offset, size_t bytes)
{
    unsigned char *placed = map_placed(file, bytes, offset, 0);
    const bool tried = recurring_pages(file, offset, placed, bytes);
    for (size_t i = 0; i < bytes; i += PAGE)
        assert_int_equal(placed[i], (unsigned char)((i + offset) / PAGE * 7));
    munmap(placed, bytes);
    return tried;
}

static void ranges_that_come_again_get_large_pages_step_by_step(void **state)
{
    (void)state;
    int file;
    unsigned char *memory = map(&file);
    const uint64_t offset = 3 * PAGE;
    const size_t bytes = 9 << 20;
    unsigned tries = 0;
    for (size_t i = 0; i < MUCH; i += PAGE)
        memory[i] = (unsigned char)(i / PAGE * 7);
    for (int i = 0; i < 2; i++) {
        assert_false(comes_again(file, offset, bytes));
        assert_false(comes_again(file, 0, PAGE));
    }
    assert_true(comes_again(file, offset, bytes));
    assert_false(comes_again(file, 0, PAGE));
    assert_false(comes_again(file, offset, bytes - PAGE)); /* another range */
    for (int i = 0; i < 200; i++)
        tries += comes_again(file, offset, bytes);
    assert_in_range(tries, 1, 15); /* at last it is done, or (an older kernel) tried seldom */
    munmap(memory, MUCH);
    close(file);
}

static void ends_are_reachable_where_there_is_memory(void **state)
{
    (void)state;
    unsigned char *memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    memory[0] = 7;
    memory[4 * PAGE - 1] = 9;
    for (int write = 0; write <= 1; write++) {
        assert_true(pages_ends_reachable(memory, 4 * PAGE, write));
        assert_true(pages_ends_reachable(memory + 5, 1, write));
    }
    assert_int_equal(memory[0], 7);
    assert_int_equal(memory[4 * PAGE - 1], 9);
    assert_int_equal(mprotect(memory + 3 * PAGE, PAGE, PROT_READ), 0);
    assert_true(pages_ends_reachable(memory, 4 * PAGE, false));
    assert_false(pages_ends_reachable(memory, 4 * PAGE, true));
    assert_int_equal(munmap(memory + 3 * PAGE, PAGE), 0);
    assert_false(pages_ends_reachable(memory, 4 * PAGE, false));
    assert_false(pages_ends_reachable(memory + 3 * PAGE - 1, 2, false));
    assert_int_equal(pages_reachable(memory, 4 * PAGE, false), 3 * PAGE);
    assert_true(pages_ends_reachable(memory, 3 * PAGE, true));
    munmap(memory, 3 * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(touched_pages_are_there_and_no_others),
        cmocka_unit_test(what_is_taken_out_of_the_mapping_stays_in_the_file),
        cmocka_unit_test(large_pages_of_a_file_fit_where_it_is_placed),
        cmocka_unit_test(pages_made_large_show_what_they_showed),
        cmocka_unit_test(ranges_that_come_again_get_large_pages_step_by_step),
        cmocka_unit_test(ends_are_reachable_where_there_is_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
