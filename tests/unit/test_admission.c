/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "sed/sessions/admission.h"

static struct admission_owner one; /* client; nothing of it is in line between tests */

static void what_fits_is_reserved_at_once(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_entry x = {0}, y = {0};
    admission_init(&admission, 100);
    assert_int_equal(admission_request(&admission, &one, &x, 60), ADMISSION_GRANTED);
    assert_int_equal(admission_request(&admission, &one, &y, 40), ADMISSION_GRANTED);
    assert_int_equal(admission.used, 100);
    admission_release(&admission, 60);
    assert_int_equal(admission.used, 40);
}

static void what_can_never_fit_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_entry x = {0};
    admission_init(&admission, 100);
    assert_int_equal(admission_request(&admission, &one, &x, 101), ADMISSION_NEVER);
    assert_int_equal(admission_request(&admission, &one, &x, UINT64_MAX), ADMISSION_NEVER);
    assert_int_equal(admission.used, 0);
    assert_int_equal(admission.waiting, 0);
}

static void what_waits_holds_nothing_and_comes_in_order(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_entry x = {0}, y = {0}, z = {0};
    admission_init(&admission, 100);
    admission_request(&admission, &one, &x, 100);
    assert_int_equal(admission_request(&admission, &one, &y, 50), ADMISSION_WAITS);
    assert_int_equal(admission_request(&admission, &one, &z, 50), ADMISSION_WAITS);
    assert_int_equal(admission.used, 100);
    assert_int_equal(admission_ahead(&admission, &z), 1);
    assert_null(admission_next(&admission));
    admission_release(&admission, 100);
    assert_ptr_equal(admission_next(&admission), &y);
    assert_ptr_equal(admission_next(&admission), &z);
    assert_null(admission_next(&admission));
    assert_int_equal(admission.used, 100);
}

static void later_ones_that_fit_go_before_a_large_one(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_entry x = {0}, large = {0}, small = {0};
    admission_init(&admission, 100);
    admission_request(&admission, &one, &x, 50);
    assert_int_equal(admission_request(&admission, &one, &large, 80), ADMISSION_WAITS);
    assert_int_equal(admission_request(&admission, &one, &small, 30), ADMISSION_GRANTED);
}

/* Small sessions arrive without end, two always held; the large one gets in all the same. */
static void a_large_one_is_not_starved(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_entry held[2] = {{0}}, large = {0};
    admission_init(&admission, 100);
    admission_request(&admission, &one, &held[0], 30);
    admission_request(&admission, &one, &held[1], 30);
    assert_int_equal(admission_request(&admission, &one, &large, 90), ADMISSION_WAITS);
    unsigned overtaken = 0;
    bool in = false, holds[2] = {true, true};
    for (int round = 0; round < 100 && !in; round++) {
        int i = round % 2;
        if (holds[i])
            admission_release(&admission, 30);
        struct admission_entry *next = admission_next(&admission);
        in = next == &large;
        if (in)
            break;
        assert_null(next);
        holds[i] = false;
        struct admission_entry probe = {0};
        if (admission_request(&admission, &one, &probe, 30) == ADMISSION_GRANTED) {
            holds[i] = true;
            overtaken++;
        } else {
            admission_leave(&admission, &probe);
        }
    }
    assert_true(in);
    assert_int_equal(overtaken, 3); /* 90 of 100 bytes; a fourth would have made 120 */
}

static void leaving_the_line_lets_others_through(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_entry x = {0}, large = {0}, y = {0};
    admission_init(&admission, 100);
    admission_request(&admission, &one, &x, 50);
    admission_request(&admission, &one, &large, 100);
    admission.overtaken = 100; /* nobody may pass any more */
    assert_int_equal(admission_request(&admission, &one, &y, 10), ADMISSION_WAITS);
    assert_null(admission_next(&admission));
    admission_leave(&admission, &large);
    admission_leave(&admission, &large);
    assert_ptr_equal(admission_next(&admission), &y);
    assert_int_equal(admission.waiting, 0);
}

/* Takes entries from the line, of entries of 100 bytes where there are 100: the clients' letters in order. */
static void drain(struct admission *admission, const struct admission_entry *entries, const char *letters,
                  char *order)
{
    struct admission_entry *next;
    do {
        admission_release(admission, 100);
        if ((next = admission_next(admission)))
            *order++ = letters[next - entries];
    } while (next);
    *order = 0;
}

static void clients_take_turns_for_memory(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_owner a = {0}, b = {0}, c = {0};
    struct admission_entry running = {0}, entries[9] = {{0}};
    char order[10];
    admission_init(&admission, 100);
    admission_request(&admission, &a, &running, 100);
    for (int i = 0; i < 4; i++)
        admission_request(&admission, &a, &entries[i], 100);
    for (int i = 4; i < 7; i++)
        admission_request(&admission, &b, &entries[i], 100);
    admission_request(&admission, &c, &entries[7], 100);
    assert_int_equal(admission_ahead(&admission, &entries[7]), 2);
    drain(&admission, entries, "aaaabbbc", order);
    assert_string_equal(order, "abcababa");
    assert_int_equal(a.waiting + b.waiting + c.waiting, 0);
}

/* One that asks for one session at a time waits for at most one of the other, however long that has been
 * there; and what it left unused does not count later. */
static void who_comes_late_waits_for_one_of_each(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_owner a = {0}, b = {0};
    struct admission_entry running = {0}, flood[20] = {{0}}, late = {0};
    admission_init(&admission, 100);
    admission_request(&admission, &a, &running, 100);
    for (int i = 0; i < 20; i++)
        admission_request(&admission, &a, &flood[i], 100);
    for (int i = 0; i < 10; i++) {
        admission_release(&admission, 100);
        assert_ptr_equal(admission_next(&admission), &flood[i]);
    }
    for (int i = 10; i < 15; i++) {
        assert_int_equal(admission_request(&admission, &b, &late, 100), ADMISSION_WAITS);
        admission_release(&admission, 100);
        assert_ptr_equal(admission_next(&admission), &flood[i]);
        admission_release(&admission, 100);
        assert_ptr_equal(admission_next(&admission), &late);
    }
    /* whose entries leave has not had the turns of those */
    for (int i = 15; i < 19; i++)
        admission_leave(&admission, &flood[i]);
    assert_int_equal(admission_request(&admission, &b, &late, 100), ADMISSION_WAITS);
    assert_int_equal(a.waiting, 1);
    admission_leave(&admission, &flood[19]);
    assert_int_equal(admission_request(&admission, &a, &flood[0], 100), ADMISSION_WAITS);
    assert_int_equal(admission_ahead(&admission, &flood[0]), 1);
    admission_leave(&admission, &late);
    admission_leave(&admission, &flood[0]);
}

static void there_may_be_less_than_is_reserved(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_entry x = {0}, large = {0}, small = {0}, more = {0};
    admission_init(&admission, 100);
    admission_request(&admission, &one, &x, 60);
    assert_int_equal(admission_request(&admission, &one, &large, 70), ADMISSION_WAITS);
    admission_resize(&admission, 50);
    assert_int_equal(admission_request(&admission, &one, &more, 55), ADMISSION_NEVER);
    assert_int_equal(admission_request(&admission, &one, &small, 20), ADMISSION_WAITS);
    assert_null(admission_next(&admission));
    admission_release(&admission, 60);
    /* The large one cannot be next: it does not keep others from what there is, however much they take. */
    assert_ptr_equal(admission_next(&admission), &small);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(admission_request(&admission, &one, &more, 30), ADMISSION_GRANTED);
        admission_release(&admission, 30);
    }
    admission_resize(&admission, 100);
    assert_ptr_equal(admission_next(&admission), &large);
    assert_int_equal(admission.used, 90);
}

static unsigned n_admitted;

static void note_admitted(void *arg, struct admission_entry *entry)
{
    assert_non_null(entry);
    ((struct admission_entry **)arg)[n_admitted++] = entry;
}

static void all_whose_turn_it_is_are_admitted(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_entry x = {0}, y = {0}, z = {0}, w = {0}, *admitted[4];
    admission_init(&admission, 100);
    admission.admitted = note_admitted;
    admission.arg = admitted;
    assert_int_equal(admission_request(&admission, &one, &x, 90), ADMISSION_GRANTED);
    assert_int_equal(admission_request(&admission, &one, &y, 40), ADMISSION_WAITS);
    assert_int_equal(admission_request(&admission, &one, &z, 50), ADMISSION_WAITS);
    assert_int_equal(admission_request(&admission, &one, &w, 60), ADMISSION_WAITS);
    admission_admit(&admission);
    assert_int_equal(n_admitted, 0);
    admission_release(&admission, 90);
    admission_admit(&admission);
    assert_int_equal(n_admitted, 2);
    assert_ptr_equal(admitted[0], &y);
    assert_ptr_equal(admitted[1], &z);
    assert_int_equal(admission.used, 90);
    admission_leave(&admission, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_reserved_at_once),
        cmocka_unit_test(what_can_never_fit_is_refused_and_changes_nothing),
        cmocka_unit_test(what_waits_holds_nothing_and_comes_in_order),
        cmocka_unit_test(later_ones_that_fit_go_before_a_large_one),
        cmocka_unit_test(a_large_one_is_not_starved),
        cmocka_unit_test(there_may_be_less_than_is_reserved),
        cmocka_unit_test(leaving_the_line_lets_others_through),
        cmocka_unit_test(clients_take_turns_for_memory),
        cmocka_unit_test(who_comes_late_waits_for_one_of_each),
        cmocka_unit_test(all_whose_turn_it_is_are_admitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
