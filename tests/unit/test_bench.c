/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "bench/bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void percentiles_interpolate(void **state)
{
    (void)state;
    double samples[] = {4, 1, 3, 2};
    assert_true(bench_median(samples, 4) == 2.5);
    assert_true(bench_percentile(samples, 4, 0) == 1);
    assert_true(bench_percentile(samples, 4, 1) == 4);
    assert_true(bench_median(samples, 0) == 0);
}

static void rows_go_to_the_file(void **state)
{
    (void)state;
    char path[] = "/tmp/test_bench.XXXXXX", text[500];
    close(mkstemp(path));
    setenv("BENCH_TSV", path, 1);
    fflush(stdout); /* the rows for people would break the TAP stream */
    int saved = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    close(null);
    const struct bench_case a = {"call", "bound handle", "us", BENCH_AT_MOST, 2.5};
    const struct bench_case b = {"rate", "8 threads", "calls/s", BENCH_AT_LEAST, 0.2};
    const struct bench_case c = {"memory", "agent", "MB", BENCH_GROWS_AT_MOST, 1};
    assert_true(bench_row(&a, 30, 15) == 2);
    bench_row(&b, 1000, 10000);
    bench_row(&c, 12.5, 12);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    unlink(path);
    assert_string_equal(text, "call\tbound handle\t30\t15\tus\t2\t<=2.5\n"
                              "rate\t8 threads\t1000\t10000\tcalls/s\t0.1\t>=0.2\n"
                              "memory\tagent\t12.5\t12\tMB\t1.042\t<=+1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_interpolate),
        cmocka_unit_test(rows_go_to_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
