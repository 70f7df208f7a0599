/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/forecast/predictor.h"
#include "util/random.h"

#include <math.h>

static struct predictor *begin(void)
{
    struct predictor *predictor;
    assert_int_equal(predictor_create(&predictor, NULL), ESP_OK);
    return predictor;
}

static size_t member(const char *name)
{
    for (size_t i = 0; i < predictor_members(); i++)
        if (strcmp(predictor_member_name(i), name) == 0)
            return i;
    fail_msg("no member %s", name);
    return 0;
}

static void the_battery_is_that_of_nws(void **state)
{
    (void)state;
    static const char *const names[] = {"last value",
                                        "running mean",
                                        "smoothing 0.05",
                                        "smoothing 0.1",
                                        "smoothing 0.15",
                                        "smoothing 0.2",
                                        "smoothing 0.3",
                                        "smoothing 0.4",
                                        "smoothing 0.5",
                                        "smoothing 0.75",
                                        "mean of 5",
                                        "mean of 31",
                                        "median of 5",
                                        "median of 31",
                                        "trimmed median of 31",
                                        "trimmed median of 51",
                                        "adaptive median 5-21",
                                        "adaptive median 21-51"};
    assert_int_equal(predictor_members(), sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        member(names[i]);
}

static void members_say_what_their_names_say(void **state)
{
    (void)state;
    struct predictor *predictor = begin();
    static const double values[] = {1, 9, 2, 8, 3, 100};
    for (size_t i = 0; i < 6; i++)
        assert_true(predictor_add(predictor, values[i]));
    assert_true(predictor_member_value(predictor, member("last value")) == 100);
    assert_true(fabs(predictor_member_value(predictor, member("running mean")) - 123.0 / 6) < 1e-9);
    assert_true(fabs(predictor_member_value(predictor, member("mean of 5")) - 122.0 / 5) < 1e-9);
    assert_true(predictor_member_value(predictor, member("median of 5")) == 8);
    assert_true(fabs(predictor_member_value(predictor, member("trimmed median of 31")) - 22.0 / 4) < 1e-9);
    double smooth = 1;
    for (size_t i = 1; i < 6; i++)
        smooth += 0.3 * (values[i] - smooth);
    assert_true(fabs(predictor_member_value(predictor, member("smoothing 0.3")) - smooth) < 1e-9);
    predictor_destroy(predictor);
}

static void nothing_is_told_before_the_first_measurement(void **state)
{
    (void)state;
    struct predictor *predictor = begin();
    struct prediction prediction;
    assert_false(predictor_forecast(predictor, 1, &prediction));
    assert_false(predictor_add(predictor, NAN));
    assert_false(predictor_add(predictor, INFINITY));
    assert_false(predictor_add(predictor, 1e200));
    assert_false(predictor_forecast(predictor, 1, &prediction));
    assert_true(predictor_add(predictor, 5));
    assert_true(predictor_forecast(predictor, 100, &prediction));
    assert_true(prediction.value == 5 && prediction.value_by_square == 5 && prediction.error == 0);
    predictor_destroy(predictor);
}

static void steps_are_followed_and_spikes_are_not(void **state)
{
    (void)state;
    struct predictor *predictor = begin();
    struct prediction prediction;
    for (int i = 0; i < 400; i++)
        predictor_add(predictor, i / 40 % 2 ? 10 : 20);
    assert_true(predictor_forecast(predictor, 1, &prediction));
    assert_true(fabs(prediction.value - 10) < 0.5);
    assert_true(prediction.error < 1);
    predictor_destroy(predictor);
    predictor = begin();
    for (int i = 0; i < 400; i++)
        predictor_add(predictor, i % 20 == 19 ? 100 : 10);
    assert_true(predictor_forecast(predictor, 1, &prediction));
    assert_true(fabs(prediction.value - 10) < 1);
    predictor_destroy(predictor);
}

static void the_horizon_decides_who_tells(void **state)
{
    (void)state;
    struct predictor *predictor = begin();
    struct prediction near, far;
    for (int i = 0; i < 1000; i++)
        predictor_add(predictor, sin(2 * 3.14159265 * i / 20));
    assert_true(predictor_forecast(predictor, 1, &near));
    assert_true(predictor_forecast(predictor, 10, &far));
    assert_string_equal(near.method, "last value"); /* half a period ahead it is as wrong as can be */
    assert_true(strcmp(far.method, "last value") != 0);
    assert_true(near.error < 0.25 && far.error > near.error);
    predictor_destroy(predictor);
}

static void its_error_is_what_it_turns_out_to_be(void **state)
{
    (void)state;
    struct predictor *predictor = begin();
    struct random random;
    double off = 0, told = 0;
    random_seed(&random, 12);
    for (int i = 0; i < 3000; i++) {
        double value = 50 + 10 * (random_real(&random) + random_real(&random) - 1);
        struct prediction prediction;
        if (i > 500) {
            assert_true(predictor_forecast(predictor, 1, &prediction));
            off += fabs(prediction.value - value) / 2499;
            told += prediction.error / 2499;
        }
        predictor_add(predictor, value);
    }
    assert_true(fabs(off / told - 1) < 0.1);
    predictor_destroy(predictor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_battery_is_that_of_nws),
        cmocka_unit_test(members_say_what_their_names_say),
        cmocka_unit_test(nothing_is_told_before_the_first_measurement),
        cmocka_unit_test(steps_are_followed_and_spikes_are_not),
        cmocka_unit_test(the_horizon_decides_who_tells),
        cmocka_unit_test(its_error_is_what_it_turns_out_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
