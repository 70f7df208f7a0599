/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/segment.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint64_t alice[2] = {1, 1}, bob[2] = {2, 2};

static struct segments *pool(uint64_t idle_bytes, uint32_t idle_segments)
{
    struct segments *segments;
    struct segments_options options = {.idle_bytes = idle_bytes, .idle_segments = idle_segments};
    assert_int_equal(segments_create(&options, &segments, NULL), ESP_OK);
    return segments;
}

static struct segment *take(struct segments *segments, uint64_t bytes, const uint64_t *owner)
{
    struct segment *segment;
    struct esp_error error;
    assert_int_equal(segments_take(segments, bytes, owner, &segment, &error), ESP_OK);
    return segment;
}

static void every_array_has_its_pages_and_ends_with_them(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 8, 4095, 4096, 4097, 80000};
    uint64_t end = 0, before = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t offset = segment_place(&end, sizes[i]);
        assert_int_equal(end % SEGMENT_PAGE, 0);
        assert_int_equal(offset + sizes[i], end);
        assert_true(offset >= before); /* no page is shared with the one before */
        assert_true(end - before < sizes[i] + SEGMENT_PAGE);
        before = end;
    }
    end = UINT64_MAX - 100;
    assert_int_equal(segment_place(&end, 4096), UINT64_MAX);
    end = 0;
    assert_int_equal(segment_place(&end, UINT64_MAX - 3), UINT64_MAX);
}

static void nobody_can_change_its_size(void **state)
{
    (void)state;
    struct segments *segments = pool(1 << 20, 0);
    struct segment *segment = take(segments, 100000, alice);
    assert_true(segment->bytes >= 100000);
    assert_int_equal(ftruncate(segment->fd, 0), -1);
    assert_int_equal(ftruncate(segment->fd, 1 << 30), -1);
    assert_int_equal(fcntl(segment->fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    assert_true(fcntl(segment->fd, F_GETFD) & FD_CLOEXEC);
    segment->data[99999] = 7;
    segments_give(segments, segment);
    segments_destroy(segments);
}

static void the_same_client_gets_its_segment_back(void **state)
{
    (void)state;
    struct segments *segments = pool(8 << 20, 0);
    struct segment *first = take(segments, 200000, alice);
    segments_give(segments, first);
    assert_ptr_equal(take(segments, 190000, alice), first);
    struct segments_counters counters;
    segments_count(segments, &counters);
    assert_int_equal(counters.made, 1);
    assert_int_equal(counters.recycled, 1);
    assert_int_equal(counters.in_use, 1);
    segments_give(segments, first);
    segments_destroy(segments);
}

static void nobody_reads_what_another_left(void **state)
{
    (void)state;
    struct segments *segments = pool(8 << 20, 0);
    struct segment *first = take(segments, 200000, alice);
    memset(first->data, 0x5a, 200000);
    segments_give(segments, first);
    struct segment *second = take(segments, 200000, bob);
    assert_ptr_not_equal(second, first); /* not zeroed yet */
    for (int i = 0; i < 200000; i++)
        assert_int_equal(second->data[i], 0);
    segments_clean(segments);
    struct segment *third = take(segments, 200000, bob);
    assert_ptr_equal(third, first);
    for (int i = 0; i < 200000; i++)
        assert_int_equal(third->data[i], 0);
    segments_give(segments, second);
    segments_give(segments, third);
    segments_destroy(segments);
}

static void a_small_session_does_not_get_a_huge_segment(void **state)
{
    (void)state;
    struct segments *segments = pool(64 << 20, 0);
    struct segment *huge = take(segments, 16 << 20, alice);
    segments_give(segments, huge);
    struct segment *small = take(segments, 100000, alice);
    assert_true(small->bytes < 1 << 20);
    segments_give(segments, small);
    segments_destroy(segments);
}

static void idle_memory_is_capped(void **state)
{
    (void)state;
    struct segments *segments = pool(1 << 20, 3);
    struct segment *held[8];
    struct segments_counters counters;
    for (int i = 0; i < 8; i++)
        held[i] = take(segments, 65536, alice);
    for (int i = 0; i < 8; i++)
        segments_give(segments, held[i]);
    segments_count(segments, &counters);
    assert_int_equal(counters.idle, 3);
    struct segment *large = take(segments, 4 << 20, alice);
    segments_give(segments, large); /* above the cap all by itself */
    segments_count(segments, &counters);
    assert_true(counters.idle_bytes <= 1 << 20);
    assert_int_equal(counters.in_use, 0);
    assert_int_equal(counters.in_use_bytes, 0);
    segments_destroy(segments);
}

static int descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void the_pool_leaves_no_descriptor_behind(void **state)
{
    (void)state;
    int before = descriptors();
    struct segments_options options = {.idle_bytes = 64 << 20, .background = true};
    struct segments *segments;
    assert_int_equal(segments_create(&options, &segments, NULL), ESP_OK);
    for (int round = 0; round < 50; round++) {
        struct segment *x = take(segments, 70000u * (1 + round % 7), round % 3 ? alice : bob);
        struct segment *y = take(segments, 90000, alice);
        segments_give(segments, x);
        segments_give(segments, y);
    }
    segments_destroy(segments);
    assert_int_equal(descriptors(), before);
}

static void memory_that_nobody_touched_is_none(void **state)
{
    (void)state;
    struct segments *segments = pool(64 << 20, 0);
    struct segment *x = take(segments, 16 << 20, alice), *y = take(segments, 70000, bob);
    assert_true(segments_resident(segments) < 1 << 20);
    memset(x->data, 1, 8 << 20);
    assert_true(segments_resident(segments) >= 8 << 20 && segments_resident(segments) < 9 << 20);
    segments_give(segments, x); /* it is still there */
    assert_true(segments_resident(segments) >= 8 << 20);
    segments_drop(segments, y);
    segments_trim(segments);
    assert_int_equal(segments_resident(segments), 0);
    segments_destroy(segments);
}

static void an_absurd_size_is_an_error(void **state)
{
    (void)state;
    struct segments *segments = pool(1 << 20, 0);
    struct segment *segment = NULL;
    struct esp_error error;
    assert_int_not_equal(segments_take(segments, UINT64_MAX - 1, alice, &segment, &error), ESP_OK);
    assert_null(segment);
    segments_destroy(segments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_array_has_its_pages_and_ends_with_them),
        cmocka_unit_test(nobody_can_change_its_size),
        cmocka_unit_test(the_same_client_gets_its_segment_back),
        cmocka_unit_test(nobody_reads_what_another_left),
        cmocka_unit_test(a_small_session_does_not_get_a_huge_segment),
        cmocka_unit_test(idle_memory_is_capped),
        cmocka_unit_test(the_pool_leaves_no_descriptor_behind),
        cmocka_unit_test(memory_that_nobody_touched_is_none),
        cmocka_unit_test(an_absurd_size_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
