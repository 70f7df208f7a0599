/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that take and make values of the same arrays wait for those that began before them, and for no
 * others.
 */
#include "tests/unit/unit.h"

#include "client/data/holding.h"

#include <pthread.h>

#define SOON_MS 1 /* nobody comes in that time */

static struct holding *an_array(void)
{
    struct holding *holding = holding_create(DATUM_VOLATILE, 0, false);
    assert_non_null(holding);
    return holding;
}

static struct holding_due a_turn(void)
{
    return (struct holding_due){.turn = holding_enter(NULL, NULL, 0)};
}

static void of_two_calls_on_one_array_the_first_waits_for_none(void **state)
{
    struct holding *array = an_array();
    struct holding_due first = a_turn(), second = a_turn();
    (void)state;
    holding_expect(array, &first);
    holding_expect(array, &second);
    assert_int_equal(holding_wait_before(array, first.turn, SOON_MS, NULL), ESP_OK);
    assert_int_equal(holding_wait_before(array, second.turn, SOON_MS, NULL), ESP_PENDING);
    holding_arrived(array, &first, "A:1", NULL);
    assert_int_equal(holding_wait_before(array, second.turn, SOON_MS, NULL), ESP_OK);
    holding_arrived(array, &second, "A:2", NULL);
    assert_true(holding_is_settled(array));
    holding_release(array);
}

/* Each makes what the other one takes. */
static void two_calls_across_two_arrays_do_not_wait_in_a_circle(void **state)
{
    struct holding *a = an_array(), *b = an_array();
    struct holding_due first = a_turn(), second = a_turn();
    (void)state;
    holding_expect(a, &second); /* began later, and was faster here */
    holding_expect(b, &first);
    assert_int_equal(holding_wait_before(a, first.turn, SOON_MS, NULL), ESP_OK);
    assert_int_equal(holding_wait_before(b, second.turn, SOON_MS, NULL), ESP_PENDING);
    holding_arrived(b, &first, "", NULL);
    assert_int_equal(holding_wait_before(b, second.turn, SOON_MS, NULL), ESP_OK);
    holding_arrived(a, &second, "", NULL);
    holding_release(a);
    holding_release(b);
}

static void a_call_hears_how_the_one_before_it_failed(void **state)
{
    struct holding *array = an_array();
    struct holding_due first = a_turn(), second = a_turn();
    struct esp_error why, told = {0};
    (void)state;
    error_set(&why, ESP_FAILED, "singular");
    holding_expect(array, &first);
    holding_expect(array, &second);
    holding_arrived(array, &first, NULL, &why);
    assert_int_equal(holding_wait_before(array, second.turn, SOON_MS, &told), ESP_FAILED);
    assert_string_equal(told.text, "singular");
    holding_arrived(array, &second, "A:2", NULL);
    assert_int_equal(holding_wait(array, &told), ESP_OK);
    holding_release(array);
}

/* Waits as for containers of data. */
static void a_group_has_ended_when_all_in_it_have(void **state)
{
    struct holding *a = an_array(), *b = an_array(), *c = an_array();
    struct holding *const all[] = {a, b, c};
    const size_t one_and_two[] = {1, 3}, two_and_one[] = {2, 3}, none_and_all[] = {0, 3};
    struct holding_due first = a_turn(), second = a_turn();
    (void)state;
    holding_expect(a, &first);
    assert_int_equal(holding_wait_any(all, one_and_two, 2), 1);
    assert_int_equal(holding_wait_any(all, two_and_one, 2), 1);
    assert_int_equal(holding_wait_any(all, none_and_all, 2), 0);
    holding_arrived(a, &first, "A:1", NULL);
    holding_expect(c, &second);
    assert_int_equal(holding_wait_any(all, one_and_two, 2), 0);
    assert_int_equal(holding_wait_any(all, two_and_one, 2), 0);
    holding_arrived(c, &second, "A:2", NULL);
    assert_int_equal(holding_wait_any(all, none_and_all + 1, 1), 0);
    holding_release(a);
    holding_release(b);
    holding_release(c);
}

static void a_doomed_value_goes_with_the_last_call_that_has_begun(void **state)
{
    struct holding *array = an_array();
    char text[DATUM_TEXT];
    (void)state;
    holding_read(array);
    holding_set(array, "A:1");
    holding_read(array);
    assert_true(holding_doom(array));
    holding_read_done(array);
    assert_false(holding_take_old(array, false, text));
    assert_true(holding_datum(array, text)); /* for the other call */
    holding_read_done(array);
    assert_true(holding_take_old(array, false, text));
    assert_string_equal(text, "A:1");
    assert_false(holding_take_old(array, false, text));
    assert_false(holding_datum(array, text));
    holding_release(array);
}

static void one_that_no_call_wants_is_its_callers_to_delete(void **state)
{
    struct holding *array = an_array();
    char text[DATUM_TEXT];
    (void)state;
    holding_read(array);
    holding_set(array, "A:1");
    holding_read_done(array);
    assert_false(holding_doom(array));
    assert_false(holding_take_old(array, true, text));
    assert_true(holding_datum(array, text));
    holding_release(array);
}

/* Each call adds one to two arrays, from whatever thread it comes. */
enum { CALLERS = 4, ROUNDS = 3000 };
static struct holding *counted[2];
static int counts[2]; /* their values, which only the thread with the turn knows */

static void *count_on(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct holding_due dues[2] = {{0}};
        int found[2];
        holding_enter(counted, (struct holding_due *[]){&dues[0], &dues[1]}, 2);
        for (int k = 0; k < 2; k++) {
            if (holding_wait_before(counted[k], dues[k].turn, 0, NULL) != ESP_OK)
                return unused;
            found[k] = counts[k];
        }
        for (int k = 0; k < 2; k++) {
            counts[k] = found[k] + 1;
            holding_arrived(counted[k], &dues[k], "", NULL);
        }
    }
    return NULL;
}

static void no_call_takes_a_value_that_another_one_is_about_to_replace(void **state)
{
    pthread_t threads[CALLERS];
    void *failed;
    (void)state;
    counts[0] = counts[1] = 0;
    counted[0] = an_array();
    counted[1] = an_array();
    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_on, counts), 0);
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(counts[0], CALLERS * ROUNDS);
    assert_int_equal(counts[1], CALLERS * ROUNDS);
    holding_release(counted[0]);
    holding_release(counted[1]);
}

static void one_that_never_began_changes_nothing(void **state)
{
    struct holding *array = an_array();
    struct holding_due due = {0};
    (void)state;
    holding_set(array, "A:1");
    holding_arrived(array, &due, "", NULL);
    assert_true(holding_datum(array, (char[DATUM_TEXT]){0}));
    holding_release(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_calls_on_one_array_the_first_waits_for_none),
        cmocka_unit_test(two_calls_across_two_arrays_do_not_wait_in_a_circle),
        cmocka_unit_test(a_call_hears_how_the_one_before_it_failed),
        cmocka_unit_test(a_group_has_ended_when_all_in_it_have),
        cmocka_unit_test(a_doomed_value_goes_with_the_last_call_that_has_begun),
        cmocka_unit_test(one_that_no_call_wants_is_its_callers_to_delete),
        cmocka_unit_test(no_call_takes_a_value_that_another_one_is_about_to_replace),
        cmocka_unit_test(one_that_never_began_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
