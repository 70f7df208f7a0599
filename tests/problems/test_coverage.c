/* SPDX-License-Identifier: Apache-2.0
 *
 * Every problem that is shipped has a row, and every row a problem.
 */
#include "tests/problems/plain_names.h"
#include "tests/problems/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_tried(const char *problem)
{
    for (size_t g = 0; g < n_groups; g++)
        for (size_t i = 0; i < groups[g]->n_rows; i++)
            if (strcmp(groups[g]->rows[i].problem, problem) == 0)
                return true;
    return false;
}

/* Of these, a platform tries what comes out: tests/e2e/plain_steps.c. */
static bool is_plain_name(const char *problem)
{
#define NAME(root) #root,
    static const char *const all_types[] = {PLAIN_NAMES(NAME)}, *const of_double[] = {
                                                                    PLAIN_DOUBLE_NAMES(NAME)};
    for (size_t i = 0; i < sizeof all_types / sizeof *all_types; i++)
        if (strcmp(problem, all_types[i]) == 0 ||
            (strchr("scz", problem[0]) && strcmp(problem + 1, all_types[i]) == 0))
            return true;
    for (size_t i = 0; i < sizeof of_double / sizeof *of_double; i++)
        if (strcmp(problem, of_double[i]) == 0)
            return true;
    return false;
}

/* Problems whose calls depend on each other are tried through a server. */
static bool has_a_state(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].type == TYPE_STATE)
            return true;
    return false;
}

static char *states_test(void)
{
    const char *top = getenv("top_srcdir");
    char path[4096], *text = calloc(1, 1 << 16);
    snprintf(path, sizeof path, "%s/tests/e2e/t0511-sparse-states.t", top ? top : "..");
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, file) < (1 << 16) - 1);
    fclose(file);
    return text;
}

/* The script says "keeps d umfpack", which opens, solves and closes, and "iterates d ic_open ic_cg", both
 * perhaps for $letter. */
static bool state_is_tried(const char *script, const char *problem)
{
    const char *verb = strstr(problem, "_open") ? "_open" : "_solve";
    int stem = strstr(problem, verb) ? (int)(strstr(problem, verb) - problem) - 1 : 0;
    char lines[4][100];
    snprintf(lines[0], sizeof lines[0], "\nkeeps %c %.*s ", problem[0], stem, problem + 1);
    snprintf(lines[1], sizeof lines[1], "\niterates %c %s ", problem[0], problem + 1);
    snprintf(lines[2], sizeof lines[2], "\niterates %c %.2s", problem[0], problem + 1);
    snprintf(lines[3], sizeof lines[3], "iterates $letter %.2s", problem + 1);
    bool in_pair = strcmp(problem + 1, "ic_cg") == 0 || strcmp(problem + 1, "ilu_gmres") == 0;
    return (stem > 0 && strstr(script, lines[0])) || strstr(script, lines[1]) ||
           (in_pair && strstr(script, lines[2])) || (strchr("cz", problem[0]) && strstr(script, lines[3])) ||
           (strcmp(problem, "sparse_close") == 0 && strstr(script, "espalier call sparse_close "));
}

static void every_problem_has_a_row(void **state)
{
    (void)state;
    struct problem_set *problems = load_problems();
    unsigned missing = 0;
    char *script = states_test();
    for (size_t i = 0; i < problems->n_problems; i++) {
        const struct problem *problem = problems->problems[i];
        bool tried = problem->abstract      ? is_plain_name(problem->name)
                     : has_a_state(problem) ? state_is_tried(script, problem->name)
                                            : is_tried(problem->name);
        if (tried)
            continue;
        print_message(
            "# no row of tests/problems tries %s (%s:%u), nor t0511-sparse-states.t or plain_steps.c\n",
            problem->name, problem->file, problem->line);
        missing++;
    }
    free(script);
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
