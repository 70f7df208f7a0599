/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/problems/table.h"

#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

const struct group *const groups[] = {&blas1_group,   &blas2_group,     &blas3_group,
                                      &linear_group,  &eigen_group,     &orthogonal_group,
                                      &solvers_group, &functions_group, &differential_group};
const size_t n_groups = sizeof groups / sizeof *groups;

static struct rig rig;

static int open_workers(void **state)
{
    (void)state;
    rig_open_set(&rig, load_problems(), &(struct processes_options){.slots = 1, .threads = 1});
    return 0;
}

static int close_workers(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

struct problem_set *load_problems(void)
{
    char path[PATH_MAX];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/problems", top ? top : "..");
    struct problem_set *problems;
    struct esp_error error;
    if (problem_load(path, &problems, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return problems;
}

void try_row_on(struct rig *on, const struct row *row)
{
    struct trial trial = {.rig = on, .type = row->type, .slack = 1};
    trial.eps = row->type == 's' || row->type == 'c' ? FLT_EPSILON : DBL_EPSILON;
    trial.tried = problem_find(on->problems, row->problem);
    if (!trial.tried)
        fail_msg("problems/ has no problem %s", row->problem);
    trial.problem = trial.tried;
    row->check(&trial);
    arena_clear(&trial.lab.arena);
    if (trial.failures > 0)
        fail_msg("%u failures in %u cases", trial.failures, trial.cases);
    assert_true(trial.cases > 0);
}

static void try_row(void **state)
{
    try_row_on(&rig, *state);
}

int try_group(const struct group *group)
{
    const char *only = getenv("ONLY"); /* ONLY=dgesv tests/problems/test_... */
    struct CMUnitTest *tests = calloc(group->n_rows, sizeof *tests);
    size_t n = 0;
    for (size_t i = 0; tests && i < group->n_rows; i++)
        if (!only || strcmp(only, group->rows[i].problem) == 0)
            tests[n++] = (struct CMUnitTest){.name = group->rows[i].problem,
                                             .test_func = try_row,
                                             .initial_state = (void *)(uintptr_t)&group->rows[i]};
    int failed = _cmocka_run_group_tests(group->name, tests, n, open_workers, close_workers);
    free(tests);
    return failed;
}
