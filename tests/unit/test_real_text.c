/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/random.h"
#include "util/real_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static void check(double value)
{
    char expected[REAL_TEXT], found[REAL_TEXT];
    snprintf(expected, sizeof expected, "%.17g", value);
    if (real_text(value, found) != strlen(expected) || strcmp(found, expected) != 0)
        fail_msg("%a: expected %s, found %s", value, expected, found);
}

static void numbers_are_written_as_printf_writes_them(void **state)
{
    (void)state;
    static const double some[] = {0,
                                  -0.0,
                                  1,
                                  -1,
                                  0.1,
                                  1e-5,
                                  1e-4,
                                  9.5e-5,
                                  123456,
                                  1e16,
                                  1e17,
                                  1e-11,
                                  1e-12,
                                  DBL_MIN,
                                  DBL_MAX,
                                  NAN,
                                  INFINITY,
                                  -INFINITY,
                                  0x1p-1074,
                                  0x1p53,
                                  0x1.fffffffffffffp52,
                                  99999999999999999.,
                                  1e22,
                                  1e23};
    struct random random;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        check(some[i]);
    random_seed(&random, 17);
    for (int i = 0; i < TRIALS(300000); i++) { /* any bits */
        const uint64_t bits = random_next(&random);
        double value;
        memcpy(&value, &bits, sizeof value);
        check(value);
    }
    for (int i = 0; i < TRIALS(300000); i++) /* sizes that results have */
        check((random_real(&random) - 0.5) * pow(10, (double)random_below(&random, 32) - 14));
    for (int i = 0; i < TRIALS(100000); i++) /* few digits: halves and powers of 10 are near */
        check((double)random_below(&random, 100000) * pow(10, (double)random_below(&random, 30) - 15));
    for (int e = -1074; e < 1024; e++) /* powers of 2, and their neighbours */
        for (int d = -1; d <= 1; d++)
            check(d ? nextafter(ldexp(1, e), d * HUGE_VAL) : ldexp(1, e));
    for (int e = -320; e <= 308; e++)
        for (int d = -1; d <= 1; d++)
            check(d ? nextafter(pow(10, e), d * HUGE_VAL) : pow(10, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_as_printf_writes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
