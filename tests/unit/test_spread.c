/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "core/problem/problem_parallel.h"

#include <stdio.h>

static const char description[] = "problem dgesv \"A X = B\"\n"
                                  "    in      int     n, nrhs\n"
                                  "    inout   double  A[n, n]\n"
                                  "    inout   double  B[n, nrhs]\n"
                                  "    out     int     ipiv[n]\n"
                                  "implementation scalapack\n"
                                  "    parallel fortran pdgesv_(n, nrhs, A, 1, 1, desc(A), ipiv, B, 1, 1, "
                                  "desc(B), out info) in libscalapack-openmpi.so.2.2\n"
                                  "    spread  ipiv rows of A\n"
                                  "problem invert \"inv(A)\"\n"
                                  "    in      int     n\n"
                                  "    inout   double  A[n, n]\n"
                                  "implementation ours\n"
                                  "    parallel fortran pinv_(n, A, 1, 1, desc(A), into(A), 1, 1, desc(A)) "
                                  "in libours.so\n";

static struct problem_set *problems;

static uint64_t bytes_of(const char *name, const struct number *scope, struct process_grid grid)
{
    const struct problem *problem = problem_find(problems, name);
    return spread_bytes(problem, problem->implementations, scope, grid);
}

static void parts_are_counted_once_for_each_rank_that_has_them(void **state)
{
    (void)state;
    const struct number scope[5] = {{.kind = NUMBER_INTEGER, .integer = 100},
                                    {.kind = NUMBER_INTEGER, .integer = 3}};
    const uint64_t matrices = (100 * 100 + 100 * 3) * sizeof(double);
    assert_int_equal(bytes_of("dgesv", scope, (struct process_grid){1, 1, 7}), matrices + 100 * sizeof(int));
    assert_int_equal(bytes_of("dgesv", scope, (struct process_grid){2, 3, 7}),
                     matrices + 3 * 100 * sizeof(int));
    assert_int_equal(bytes_of("dgesv", scope, (struct process_grid){4, 1, 7}), matrices + 100 * sizeof(int));
}

static void a_result_in_memory_of_its_own_counts_twice(void **state)
{
    (void)state;
    const struct number scope[2] = {{.kind = NUMBER_INTEGER, .integer = 50}};
    assert_int_equal(bytes_of("invert", scope, (struct process_grid){2, 2, 8}), 2 * 50 * 50 * sizeof(double));
}

static void more_than_can_be_counted_is_as_much_as_there_is(void **state)
{
    (void)state;
    const struct number scope[2] = {{.kind = NUMBER_INTEGER, .integer = INT64_C(2000000000)}};
    assert_int_equal(bytes_of("invert", scope, (struct process_grid){2, 2, 8}), UINT64_MAX);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_counted_once_for_each_rank_that_has_them),
        cmocka_unit_test(a_result_in_memory_of_its_own_counts_twice),
        cmocka_unit_test(more_than_can_be_counted_is_as_much_as_there_is),
    };
    struct esp_error error;
    if (problem_parse(description, sizeof description - 1, "test.esp", &problems, &error) != ESP_OK)
        return puts(error.text), 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    problem_set_destroy(problems);
    return failed;
}
