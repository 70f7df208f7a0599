/* SPDX-License-Identifier: Apache-2.0
 *
 * Nothing that a store acknowledged is lost or wrong, and nothing that was deleted comes back, wherever the
 * power goes or the process is killed. `make bench BENCH=store` tries it more often.
 */
#include "tests/unit/unit.h"
#include "tests/unit/store_trials.h"

#include "util/log.h"

#include <stdio.h>
#include <stdlib.h>

static void assert_nothing_lost(const struct trial *trial, uint64_t ends)
{
    assert_int_equal(trial->lost, 0);
    assert_int_equal(trial->wrong, 0);
    assert_int_equal(trial->risen, 0);
    assert_int_equal(trial->strange, 0);
    assert_true(trial->ends >= ends);
    assert_true(trial->kept > ends); /* there was something to lose */
}

static void a_thousand_power_cuts_lose_nothing(void **state)
{
    struct trial trial = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= TRIALS(10); seed++)
        trial_power_cuts(seed, 100, 0, &trial);
    assert_nothing_lost(&trial, TRIALS(1000));
}

static void power_cuts_and_failing_disks_together_lose_nothing(void **state)
{
    struct trial trial = {0};
    (void)state;
    for (uint64_t seed = 11; seed <= 10 + TRIALS(10); seed++)
        trial_power_cuts(seed, 30, 20, &trial);
    assert_nothing_lost(&trial, TRIALS(300));
}

static void killed_processes_lose_nothing(void **state)
{
    char folder[] = "/tmp/espalier-kills-XXXXXX", command[64];
    struct trial trial = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    trial_kills(folder, 1, 25, &trial);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
    assert_nothing_lost(&trial, 25);
}

int main(void)
{
    struct log_options quiet = {.node = "test", .path = "/dev/null", .level = LOG_ERROR_LEVEL};
    log_open(&quiet, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_power_cuts_lose_nothing),
        cmocka_unit_test(power_cuts_and_failing_disks_together_lose_nothing),
        cmocka_unit_test(killed_processes_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
