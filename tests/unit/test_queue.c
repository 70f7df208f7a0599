/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "sed/sessions/queue.h"

struct item {
    struct queue_entry entry; /* first */
    char name;
};

static struct item items[16];
static struct queue_owner a, b, c;

static void push(struct queue *queue, struct queue_owner *owner, int index, char name)
{
    items[index] = (struct item){.name = name};
    queue_push(queue, owner, &items[index].entry);
}

/* The names in the order in which they come out. */
static const char *drain(struct queue *queue)
{
    static char names[32];
    size_t n = 0;
    struct queue_entry *entry;
    while ((entry = queue_pop(queue)))
        names[n++] = ((struct item *)entry)->name;
    names[n] = 0;
    return names;
}

static int reset(void **state)
{
    (void)state;
    a = b = c = (struct queue_owner){0};
    return 0;
}

static void clients_take_turns(void **state)
{
    (void)state;
    struct queue queue = {0};
    push(&queue, &a, 0, '1');
    push(&queue, &a, 1, '2');
    push(&queue, &a, 2, '3');
    push(&queue, &b, 3, 'x');
    push(&queue, &c, 4, 'P');
    push(&queue, &c, 5, 'Q');
    assert_int_equal(queue.length, 6);
    assert_string_equal(drain(&queue), "1xP2Q3");
    assert_int_equal(queue.length, 0);
}

static void one_that_comes_back_does_not_push_in(void **state)
{
    (void)state;
    struct queue queue = {0};
    push(&queue, &a, 0, '1');
    push(&queue, &b, 1, 'x');
    push(&queue, &b, 2, 'y');
    assert_ptr_equal(queue_pop(&queue), &items[0].entry);
    push(&queue, &a, 0, '2'); /* has just had its turn */
    assert_string_equal(drain(&queue), "x2y");
}

static void what_could_not_start_is_next_again(void **state)
{
    (void)state;
    struct queue queue = {0};
    push(&queue, &a, 0, '1');
    push(&queue, &a, 1, '2');
    push(&queue, &b, 2, 'x');
    struct queue_entry *first = queue_pop(&queue);
    queue_push_front(&queue, &a, first);
    assert_int_equal(queue.length, 3);
    assert_string_equal(drain(&queue), "1x2");
}

static void removed_ones_are_gone_and_turns_go_on(void **state)
{
    (void)state;
    struct queue queue = {0};
    push(&queue, &a, 0, '1');
    push(&queue, &b, 1, 'x');
    push(&queue, &c, 2, 'P');
    queue_remove(&queue, &items[1].entry);
    queue_remove(&queue, &items[1].entry); /* twice does no harm */
    assert_false(queue_entry_is_queued(&items[1].entry));
    assert_string_equal(drain(&queue), "1P");
}

/* For every queue, `ahead` says how many really come out before. */
static void ahead_counts_who_runs_before(void **state)
{
    (void)state;
    struct queue queue = {0};
    push(&queue, &a, 0, 'a');
    push(&queue, &a, 1, 'b');
    push(&queue, &a, 2, 'c');
    push(&queue, &b, 3, 'd');
    push(&queue, &c, 4, 'e');
    push(&queue, &c, 5, 'f');
    uint32_t ahead[6];
    for (int i = 0; i < 6; i++)
        ahead[i] = queue_ahead(&queue, &items[i].entry);
    const char *order = drain(&queue);
    for (int i = 0; i < 6; i++)
        assert_int_equal(order[ahead[i]], 'a' + i);
}

static void slots_are_found_by_the_job_that_runs_in_them(void **state)
{
    (void)state;
    struct slots slots = {0};
    uint64_t first, second, third;
    assert_true(slots_init(&slots, 2));
    struct slot *one = slots_take(&slots, &first), *two = slots_take(&slots, &second);
    assert_non_null(one);
    assert_non_null(two);
    assert_null(slots_take(&slots, &third));
    assert_ptr_equal(slots_find(&slots, first), one);
    assert_ptr_equal(slots_find(&slots, second), two);
    slots_free(&slots, one);
    assert_null(slots_find(&slots, first));
    assert_null(slots_find(&slots, 0)); /* the number of a free slot */
    assert_ptr_equal(slots_take(&slots, &third), one);
    assert_int_not_equal(third, first); /* a late report of the first job finds nothing */
    assert_null(slots_find(&slots, first));
    assert_int_equal(slots.running, 2);
    slots_clear(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(clients_take_turns, reset),
        cmocka_unit_test_setup(one_that_comes_back_does_not_push_in, reset),
        cmocka_unit_test_setup(what_could_not_start_is_next_again, reset),
        cmocka_unit_test_setup(removed_ones_are_gone_and_turns_go_on, reset),
        cmocka_unit_test_setup(ahead_counts_who_runs_before, reset),
        cmocka_unit_test(slots_are_found_by_the_job_that_runs_in_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
