/* SPDX-License-Identifier: Apache-2.0
 *
 * What espalier_server.h gives to routines that ranks call.
 */
#include "tests/mpi/ranks_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 4

static struct rig rig;

static int set_up(void **state)
{
    (void)state;
    open_ranks(&rig, &(struct ranks_options){.ranks = RANKS});
    await_ranks(&rig, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

/* The routine needs whole columns, which no grid with two rows has. */
static void sums_down(struct process_grid grid, int m, int n, int block)
{
    double *a = random_matrix(m * n), *sums = calloc((size_t)(m * n), sizeof *sums);
    int rows = (int)grid.rows;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            sums[i + j * m] = a[i + j * m] + (i > 0 ? sums[i - 1 + j * m] : 0);
    rig.grid = grid;
    const struct esp_error error = rig_call(&rig, "accumulate", (void *[]){&rows, &block, &m, &n, a}, true);
    assert_string_equal(error.text, "");
    for (int i = 0; i < m * n; i++)
        assert_true(a[i] == sums[i]);
    free(a);
    free(sums);
}

/* Parts of more than 128 rows have gaps between their columns. */
static void a_routine_lays_its_matrix_otherwise_and_back(void **state)
{
    (void)state;
    static const struct process_grid grids[] = {{2, 2, 3}, {4, 1, 5}, {1, 4, 2},
                                                {1, 1, 8}, {2, 1, 7}, {2, 2, 64}};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        sums_down(grids[i], 37, 23, 3);
        sums_down(grids[i], 601, 14, 1);
        sums_down(grids[i], 1, 1, 4);
        sums_down(grids[i], 50, 3, 40);
    }
}

/* What ranks of a host pack messages in lies where it goes with the job. */
static void what_ranks_share_for_it_is_in_the_folder_of_the_job(void **state)
{
    (void)state;
    char path[64], line[1024];
    unsigned shared = 0;
    sums_down((struct process_grid){2, 2, 3}, 400, 400, 5);
    snprintf(path, sizeof path, "/proc/%d/maps", ranks_pid(rig.workers, 0));
    FILE *maps = fopen(path, "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        const char *file = strstr(line, "/dev/shm/");
        if (file && strstr(file, "osc_sm")) {
            assert_ptr_equal(strstr(file, "/dev/shm/espalier-ranks-"), file);
            shared++;
        }
    }
    fclose(maps);
    assert_true(shared > 0);
}

static void layouts_that_cannot_be_are_told_to_all_ranks(void **state)
{
    (void)state;
    rig.grid = (struct process_grid){2, 2, 3};
    for (int which = 0; which < 5; which++)
        assert_string_equal(rig_call(&rig, "misplace", (void *[]){&which}, false).text, "");
    sums_down(rig.grid, 20, 20, 2); /* and the ranks go on */
}

static void what_the_first_rank_tells_of_its_progress_is_heard_of_its_call(void **state)
{
    (void)state;
    tells_how_far_it_is(&rig, (struct process_grid){1, 2, 1});
    await_ranks(&rig, 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_routine_lays_its_matrix_otherwise_and_back),
        cmocka_unit_test(what_ranks_share_for_it_is_in_the_folder_of_the_job),
        cmocka_unit_test(layouts_that_cannot_be_are_told_to_all_ranks),
        cmocka_unit_test(what_the_first_rank_tells_of_its_progress_is_heard_of_its_call),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
