/* SPDX-License-Identifier: Apache-2.0
 *
 * The problems that ranks can compute, by the same mathematics as those of workers, on grids of all shapes
 * with blocks that do not divide the matrices; and against LAPACK with the same data.
 */
#include "tests/problems/table.h"

#include "sed/ranks/ranks.h"
#include "sed/pool/workers_joined.h"

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

/* Last message of a rank before it ends. */
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

/* Workers have no counterpart of a problem that only ranks compute. */
static bool is_for_both(const struct problem *problem)
{
    return is_parallel(problem) && !implementation_is_parallel(&problem->implementations[0]);
}

/* With no difference beyond rounding (rows_alike.c). */
static void all_are_held_against_lapack(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < rig.problems->n_problems; i++) {
        const struct problem *problem = rig.problems->problems[i];
        size_t r = 0;
        while (r < alike_group.n_rows && strcmp(alike_group.rows[r].problem, problem->name) != 0)
            r++;
        if (is_for_both(problem) != (r < alike_group.n_rows))
            fail_msg("%s: expected a row in rows_alike.c for each problem that both ranks and workers "
                     "compute, and "
                     "for no other one",
                     problem->name);
    }
}

/* A row meets two of the grids, the next row the next two: so the types of a routine, whose rows follow each
 * other, meet all of them. */
static bool is_turn_of(size_t grid, size_t row)
{
    return grid == 2 * row % N_GRIDS || grid == (2 * row + 1) % N_GRIDS;
}

struct tries {
    struct try *list;
    size_t n, most;
};

static void add(struct tries *tries, const struct row *row, size_t grid, const char *suffix)
{
    if (tries->n == tries->most)
        fail_msg("there are more than %zu tests", tries->most);
    struct try *try = &tries->list[tries->n++];
    *try = (struct try){.row = row, .grid = grids[grid]};
    snprintf(try->name, sizeof try->name, "%s on %u x %u, blocks of %u%s", row->problem, try->grid.rows,
             try->grid.cols, try->grid.block, suffix);
}

static bool is_asked_for(const struct row *row)
{
    const char *only = getenv("ONLY"); /* as the tests of workers have it: ONLY=dgesv */
    return !only || strcmp(only, row->problem) == 0;
}

/* One that is asked for meets all grids. */
static void collect(struct tries *tries)
{
    struct problem_set *problems = load_problems();
    size_t turn = 0;
    for (size_t g = 0; g < n_groups; g++)
        for (size_t r = 0; r < groups[g]->n_rows; r++) {
            const struct row *row = &groups[g]->rows[r];
            const struct problem *problem = problem_find(problems, row->problem);
            if (!problem || !is_parallel(problem) || !is_asked_for(row))
                continue;
            for (size_t i = 0; i < N_GRIDS; i++)
                if (getenv("ONLY") || is_turn_of(i, turn))
                    add(tries, row, i, "");
            turn++;
        }
    problem_set_destroy(problems);
}

static void collect_against_lapack(struct tries *tries)
{
    for (size_t r = 0; r < alike_group.n_rows; r++)
        for (size_t i = 0; i < N_GRIDS && is_asked_for(&alike_group.rows[r]); i++)
            add(tries, &alike_group.rows[r], i, ", as LAPACK");
}

int main(void)
{
    enum { MOST = 1000 };
    static struct try list[MOST];
    static struct CMUnitTest tests[MOST + 1];
    struct tries tries = {.list = list, .most = MOST};
    collect(&tries);
    collect_against_lapack(&tries);
    for (size_t i = 0; i < tries.n; i++)
        tests[i] =
            (struct CMUnitTest){.name = list[i].name, .test_func = try_on_grid, .initial_state = &list[i]};
    tests[tries.n] = (struct CMUnitTest)cmocka_unit_test(all_are_held_against_lapack);
    return _cmocka_run_group_tests("parallel", tests, tries.n + 1, open_ranks, close_ranks);
}
