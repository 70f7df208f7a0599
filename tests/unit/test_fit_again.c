/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibrations on machines whose speed varies: forecasts are of the typical call, and their error includes
 * the differences between visits. */
#include "tests/unit/unit.h"
#include "services/fast/fit.h"
#include "util/random.h"

#include <math.h>

#define SIZES 60
#define SEEDS 10
#define SLOW  1.39 /* dposv, with a neighbour on the core's other hyperthread */

struct machine;
typedef double slowness(struct machine *machine);

struct machine {
    slowness *now; /* how many times longer than alone a visit takes now */
    double share;  /* of slow visits */
    struct random random;
    unsigned burst;            /* visits that are left of one */
    unsigned visits, patience; /* made again; after which there is no time; 0: there is */
    struct cost_measurement measurements[SIZES];
    struct cost_model model;
    struct arena arena;
};

static double alone_s(double n)
{
    return 1e-5 + 2e-8 * n * n + 6e-11 * n * n * n;
}

static double quiet(struct machine *machine)
{
    return 1 + 0.004 * random_real(&machine->random);
}

/* Fast or slow for seconds, and so for a visit. */
static double of_two_speeds(struct machine *machine)
{
    return (random_real(&machine->random) < machine->share ? SLOW : 1) * quiet(machine);
}

/* One time in thirty something begins that disturbs three visits. */
static double bursty(struct machine *machine)
{
    if (machine->burst > 0)
        machine->burst--;
    else if (random_below(&machine->random, 30) == 0)
        machine->burst = 3;
    return (machine->burst > 0 ? 1.3 + random_real(&machine->random) : 1) * quiet(machine);
}

static struct cost_measurement visited(struct machine *machine, double n)
{
    return (struct cost_measurement){
        .x = {n, n * n * n, 8 * n * n}, .seconds = alone_s(n) * machine->now(machine), .repetitions = 5};
}

static enum esp_status visit(void *arg, const struct cost_measurement *m, struct cost_measurement *found,
                             struct esp_error *error)
{
    struct machine *machine = arg;
    (void)error;
    if (machine->patience > 0 && machine->visits == machine->patience)
        return ESP_LIMIT;
    machine->visits++;
    *found = visited(machine, m->x[0]);
    return ESP_OK;
}

/* Sizes in no order, as a calibration has them. */
static void measure(struct machine *machine)
{
    struct cost_model *model = &machine->model;
    *model = (struct cost_model){.problem = "dposv",
                                 .implementation = "lapack",
                                 .machine = "here",
                                 .threads = 1,
                                 .n_variables = 3,
                                 .factor = 1,
                                 .n_measurements = SIZES,
                                 .measurements = machine->measurements};
    model->variables[0] = (struct cost_variable){.argument = 0, .name = "n"};
    model->variables[1] = (struct cost_variable){.argument = COST_WORK, .name = "work"};
    model->variables[2] = (struct cost_variable){.argument = COST_BYTES, .name = "bytes"};
    for (unsigned i = 0; i < SIZES; i++)
        machine->measurements[i] =
            visited(machine, floor(64 * pow(1500 / 64.0, 37 * i % SIZES / (SIZES - 1.0))));
}

static void fit(struct machine *machine)
{
    struct esp_error error;
    if (fit_model(&machine->model, &machine->arena, &error) != ESP_OK ||
        fit_again(&machine->model, visit, machine, &machine->arena, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static double forecast_s(const struct machine *machine, double n)
{
    const double x[] = {n, n * n * n, 8 * n * n};
    return cost_curve_value(&machine->model, &machine->model.time, x, NULL);
}

struct found {
    double slowness;  /* that is forecast, mean */
    double told, rms; /* error: that comes with a forecast, and of visits */
    double visits;
};

static struct found calibrate(slowness *now, double share)
{
    struct found found = {0};
    unsigned n_asked = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct machine machine = {.now = now, .share = share};
        random_seed(&machine.random, seed);
        measure(&machine);
        fit(&machine);
        found.told += machine.model.time.error / SEEDS;
        found.visits += (double)machine.visits / SEEDS;
        for (double n = 200; n < 1400; n *= 1.02, n_asked++) {
            const double off = visited(&machine, n).seconds / forecast_s(&machine, n) - 1;
            found.slowness += forecast_s(&machine, n) / alone_s(n);
            found.rms += off * off;
        }
        arena_clear(&machine.arena);
    }
    found.slowness /= n_asked;
    found.rms = sqrt(found.rms / n_asked);
    return found;
}

static void expect(const struct found *found, double least, double most)
{
    if (!(found->slowness > least && found->slowness < most))
        fail_msg("expected a forecast of %g to %g times the time alone, found %g", least, most,
                 found->slowness);
    if (!(found->told > 0.7 * found->rms && found->told < 1.4 * found->rms))
        fail_msg("expected an error of about %g, found %g", found->rms, found->told);
}

static void a_quiet_machine_is_visited_once(void **state)
{
    (void)state;
    const struct found found = calibrate(quiet, 0);
    expect(&found, 1, 1.004);
    assert_true(found.visits == 0);
}

static void of_two_speeds_that_are_alike_frequent_neither_is_preferred(void **state)
{
    (void)state;
    const struct found found = calibrate(of_two_speeds, 0.5);
    expect(&found, (1 + SLOW) / 2 - 0.03, (1 + SLOW) / 2 + 0.03);
}

static void of_two_speeds_the_frequent_one_is_forecast(void **state)
{
    (void)state;
    const struct found slow = calibrate(of_two_speeds, 0.7), quick = calibrate(of_two_speeds, 0.3);
    expect(&slow, 1 + 0.7 * (SLOW - 1), SLOW + 0.01);
    expect(&quick, 1, 1 + 0.3 * (SLOW - 1));
}

/* The forecast is of a call without them, and the error includes them. */
static void a_burst_is_outvoted_and_told(void **state)
{
    (void)state;
    const struct found found = calibrate(bursty, 0);
    if (!(found.slowness > 1 && found.slowness < 1.02))
        fail_msg("a forecast of %g times the time alone", found.slowness);
    if (!(found.told > 0.4 * found.rms && found.told < 1.2 * found.rms))
        fail_msg("expected an error of about %g, found %g", found.rms, found.told);
}

/* One size took `factor` times as long as it does. */
static void begin_with_one_off(struct machine *machine, double factor)
{
    *machine = (struct machine){.now = quiet};
    random_seed(&machine->random, 7);
    measure(machine);
    machine->measurements[20].seconds *= factor;
}

static double off_at(const struct machine *machine)
{
    const struct cost_measurement *m = &machine->measurements[20];
    return m->seconds / alone_s(m->x[0]);
}

static void one_that_was_too_quick_is_outvoted_like_one_too_slow(void **state)
{
    (void)state;
    static const double factors[] = {0.6, 1.6};
    struct machine machine;
    for (int i = 0; i < 2; i++) {
        begin_with_one_off(&machine, factors[i]);
        fit(&machine);
        assert_int_equal(machine.visits, 2);
        assert_float_equal(off_at(&machine), 1.002, 0.0021);
        assert_true(machine.model.time.error > 0.03); /* one of 60 by 0.4 and more */
        arena_clear(&machine.arena);
    }
}

static void without_time_for_a_third_visit_the_likelier_of_two_counts(void **state)
{
    (void)state;
    struct machine machine;
    begin_with_one_off(&machine, 0.6);
    machine.patience = 1;
    fit(&machine);
    assert_int_equal(machine.visits, 1);
    assert_float_equal(off_at(&machine), 1.002, 0.0021);
    arena_clear(&machine.arena);
}

static double always_slow(struct machine *machine)
{
    return 1.6 * quiet(machine);
}

/* A size may really take longer than its neighbours. */
static void what_a_second_visit_finds_too_stays(void **state)
{
    (void)state;
    struct machine machine;
    begin_with_one_off(&machine, 1.6);
    machine.now = always_slow;
    fit(&machine);
    assert_int_equal(machine.visits, 1);
    assert_float_equal(off_at(&machine), 1.603, 0.0035);
    arena_clear(&machine.arena);
}

static enum esp_status cancelled(void *arg, const struct cost_measurement *m, struct cost_measurement *found,
                                 struct esp_error *error)
{
    (void)arg;
    (void)m;
    (void)found;
    return error_set(error, ESP_CANCELLED, "told to stop");
}

static void what_ends_it_changes_nothing(void **state)
{
    (void)state;
    struct machine machine;
    struct esp_error error;
    begin_with_one_off(&machine, 1.6);
    assert_int_equal(fit_model(&machine.model, &machine.arena, &error), ESP_OK);
    const double before_s = forecast_s(&machine, 500);
    assert_int_equal(fit_again(&machine.model, cancelled, NULL, &machine.arena, &error), ESP_CANCELLED);
    assert_true(off_at(&machine) > 1.59 && forecast_s(&machine, 500) == before_s);
    arena_clear(&machine.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_machine_is_visited_once),
        cmocka_unit_test(of_two_speeds_that_are_alike_frequent_neither_is_preferred),
        cmocka_unit_test(of_two_speeds_the_frequent_one_is_forecast),
        cmocka_unit_test(a_burst_is_outvoted_and_told),
        cmocka_unit_test(one_that_was_too_quick_is_outvoted_like_one_too_slow),
        cmocka_unit_test(without_time_for_a_third_visit_the_likelier_of_two_counts),
        cmocka_unit_test(what_a_second_visit_finds_too_stays),
        cmocka_unit_test(what_ends_it_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
