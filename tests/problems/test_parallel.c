/* SPDX-License-Identifier: Apache-2.0
 *
 * The problems that ranks can compute, by the same mathematics as those of workers, on grids of all shapes
 * with blocks that do not divide the matrices; and against LAPACK with the same data.
 */
#include "tests/problems/table.h"

#include "sed/ranks/ranks.h"
#include "sed/pool/workers_joined.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS 6

static const struct process_grid grids[] = {{1, 1, 9}, {1, 4, 5}, {4, 1, 3}, {2, 2, 16}, {2, 3, 7}};
#define N_GRIDS (sizeof grids / sizeof *grids)

struct
try {
    const struct row *row;
    struct process_grid grid;
    char name[80];
};

static struct rig rig;

/* What a rank says before it ends. */
static void print(void *arg, uint64_t job_id, const char *line)
{
    (void)arg;
    (void)job_id;
    fprintf(stderr, "a rank: %s\n", line);
}

static int open_ranks(void **state)
{
    (void)state;
    struct problem_set *problems = load_problems();
    struct workers *processes, *ranks, *both;
    struct ranks_counts counts = {0};
    struct esp_error error;
    const struct ranks_options options = {.ranks = RANKS, .output = print};
    if (processes_create(&(struct processes_options){.slots = 1, .threads = 1, .problems = problems},
                         &processes, &error) != ESP_OK ||
        ranks_create(&options, &ranks, &error) != ESP_OK ||
        workers_join(processes, ranks, &both, &error) != ESP_OK)
        fail_msg("%s", error.text);
    rig_adopt(&rig, problems, both);
    for (int i = 0; i < 3000 && counts.ranks == 0; i++) {
        usleep(10000);
        ranks_count(ranks, &counts);
    }
    assert_int_equal(counts.ranks, RANKS);
    return 0;
}

static int close_ranks(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static bool is_parallel(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_implementations; i++)
        if (implementation_is_parallel(&problem->implementations[i]))
            return true;
    return false;
}

static void try_on_grid(void **state)
{
    const struct try *try = *state;
    rig.grid = try->grid;
    try_row_on(&rig, try->row);
}

/* The greatest difference between what a worker and what ranks give for the same random input. */
static double difference(const char *problem, void *const *values, double *answer, size_t n_answer,
                         double *input, size_t n_input)
{
    double *alone = malloc(n_answer * sizeof *alone), *before = malloc(n_input * sizeof *before), most = 0;
    memcpy(before, input, n_input * sizeof *before);
    rig.grid.rows = 0;
    assert_string_equal(rig_call(&rig, problem, values, true).text, "");
    memcpy(alone, answer, n_answer * sizeof *alone);
    memcpy(input, before, n_input * sizeof *before);
    rig.grid = (struct process_grid){2, 3, 7};
    assert_string_equal(rig_call(&rig, problem, values, true).text, "");
    for (size_t i = 0; i < n_answer; i++)
        most = fmax(most, fabs(alone[i] - answer[i]));
    free(alone);
    free(before);
    return most;
}

/* A and B in one piece, A diagonally dominant. */
static double *random_system(int n, int nrhs)
{
    double *a = malloc((size_t)(n * (n + nrhs)) * sizeof *a);
    for (int i = 0; i < n * (n + nrhs); i++)
        a[i] = (double)rand() / RAND_MAX - 0.5;
    for (int i = 0; i < n; i++)
        a[i + i * n] += n;
    return a;
}

static void solutions_are_lapacks(void **state)
{
    (void)state;
    int n = 83, nrhs = 5, ipiv[83];
    double *a = random_system(n, nrhs), *b = a + n * n;
    double most = difference("dgesv", (void *[]){&n, &nrhs, a, ipiv, b}, b, (size_t)(n * nrhs), a,
                             (size_t)(n * (n + nrhs)));
    assert_true(most < 1e-14);
    free(a);
}

static void factors_and_pivots_are_lapacks(void **state)
{
    (void)state;
    int n = 60, ipiv[60], pivots[60];
    double *a = random_system(n, 0), *same = malloc((size_t)(n * n) * sizeof *same);
    for (int i = 0; i < n * n; i++)
        a[i] = (double)rand() / RAND_MAX - 0.5;
    memcpy(same, a, (size_t)(n * n) * sizeof *a);
    rig.grid.rows = 0;
    assert_string_equal(rig_call(&rig, "dgetrf", (void *[]){&n, &n, a, ipiv}, true).text, "");
    rig.grid = (struct process_grid){4, 1, 7};
    assert_string_equal(rig_call(&rig, "dgetrf", (void *[]){&n, &n, same, pivots}, true).text, "");
    assert_memory_equal(ipiv, pivots, sizeof ipiv);
    for (int i = 0; i < n * n; i++)
        assert_true(fabs(a[i] - same[i]) < 1e-11);
    free(a);
    free(same);
}

static void eigenvalues_are_lapacks(void **state)
{
    (void)state;
    int n = 41;
    char jobz = 'V', uplo = 'L';
    double *a = random_system(n, 0), w[41];
    double most =
        difference("dsyev", (void *[]){&jobz, &uplo, &n, a, w, NULL, NULL}, w, 41, a, (size_t)(n * n));
    assert_true(most < 1e-12);
    free(a);
}

/* A row meets two of the grids, the next row the next two: so the types of a routine, whose rows follow each
 * other, meet all of them. */
static bool is_turn_of(size_t grid, size_t row)
{
    return grid == 2 * row % N_GRIDS || grid == (2 * row + 1) % N_GRIDS;
}

/* One that is asked for by ONLY=dgesv meets all grids. */
static size_t collect(struct try *tries, size_t most)
{
    const char *only = getenv("ONLY"); /* as the tests of workers have it */
    struct problem_set *problems = load_problems();
    size_t n = 0, turn = 0;
    for (size_t g = 0; g < n_groups; g++)
        for (size_t r = 0; r < groups[g]->n_rows; r++) {
            const struct row *row = &groups[g]->rows[r];
            const struct problem *problem = problem_find(problems, row->problem);
            if (!problem || !is_parallel(problem) || (only && strcmp(only, row->problem) != 0))
                continue;
            for (size_t i = 0; i < N_GRIDS && n < most; i++) {
                if (!only && !is_turn_of(i, turn))
                    continue;
                tries[n] = (struct try){.row = row, .grid = grids[i]};
                snprintf(tries[n].name, sizeof tries[n].name, "%s on %u x %u, blocks of %u", row->problem,
                         grids[i].rows, grids[i].cols, grids[i].block);
                n++;
            }
            turn++;
        }
    problem_set_destroy(problems);
    return n;
}

int main(void)
{
    enum { MOST = 1000 };
    static struct try tries[MOST];
    static struct CMUnitTest tests[MOST + 3];
    size_t n = collect(tries, MOST);
    for (size_t i = 0; i < n; i++)
        tests[i] =
            (struct CMUnitTest){.name = tries[i].name, .test_func = try_on_grid, .initial_state = &tries[i]};
    const struct CMUnitTest against[] = {cmocka_unit_test(solutions_are_lapacks),
                                         cmocka_unit_test(factors_and_pivots_are_lapacks),
                                         cmocka_unit_test(eigenvalues_are_lapacks)};
    memcpy(tests + n, against, sizeof against);
    return _cmocka_run_group_tests("parallel", tests, n + 3, open_ranks, close_ranks);
}
