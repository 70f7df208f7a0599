/* SPDX-License-Identifier: Apache-2.0
 *
 * Every problem that is shipped has a row, and every row a problem.
 */
#include "tests/problems/table.h"

static bool is_tried(const char *problem)
{
    for (size_t g = 0; g < n_groups; g++)
        for (size_t i = 0; i < groups[g]->n_rows; i++)
            if (strcmp(groups[g]->rows[i].problem, problem) == 0)
                return true;
    return false;
}

/* Those whose calls hang together are tried through a server. */
static bool has_a_state(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].type == TYPE_STATE)
            return true;
    return false;
}

static void every_problem_has_a_row(void **state)
{
    (void)state;
    struct problem_set *problems = load_problems();
    unsigned missing = 0;
    for (size_t i = 0; i < problems->n_problems; i++) {
        const struct problem *problem = problems->problems[i];
        if (problem->abstract || has_a_state(problem) || is_tried(problem->name))
            continue; /* tests/e2e: t0510-abstract.t, t0511-sparse-states.t */
        print_message("# no row of tests/problems tries %s (%s:%u)\n", problem->name, problem->file,
                      problem->line);
        missing++;
    }
    problem_set_destroy(problems);
    assert_int_equal(missing, 0);
}

static void every_row_has_its_problem_and_no_twin(void **state)
{
    (void)state;
    struct problem_set *problems = load_problems();
    size_t n_rows = 0;
    for (size_t g = 0; g < n_groups; g++) {
        n_rows += groups[g]->n_rows;
        for (size_t i = 0; i < groups[g]->n_rows; i++)
            if (!problem_find(problems, groups[g]->rows[i].problem))
                fail_msg("problems/ has no %s", groups[g]->rows[i].problem);
    }
    for (size_t i = 0; i < problems->n_problems; i++)
        n_rows += problems->problems[i]->abstract != NULL || has_a_state(problems->problems[i]);
    assert_int_equal(n_rows, problems->n_problems);
    problem_set_destroy(problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_problem_has_a_row),
        cmocka_unit_test(every_row_has_its_problem_and_no_twin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
