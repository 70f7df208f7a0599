/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of espalier_server.h for routines that ranks call. */
#include "tests/mpi/ranks_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define RANKS 4

static struct rig rig;

static int set_up(void **state)
{
    (void)state;
    open_ready(&rig, &(struct ranks_options){.ranks = RANKS});
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

/* Whether the first rank has a file mapped whose name begins so, as its maps have it; `file` gets the name.
 */
static bool maps_file(struct rig *of, const char *begins, const char *has, char *file, size_t size)
{
    char path[64], line[1024];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", rank_of(of, 0));
    FILE *maps = fopen(path, "r");
    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps)) {
        const char *name = strchr(line, '/');
        found = name && strncmp(name, begins, strlen(begins)) == 0 && strstr(name, has);
        if (found)
            snprintf(file, size, "%s", name);
    }
    fclose(maps);
    return found;
}

/* The memory in which ranks of a host pack messages has no name that could stay behind, and takes nothing
 * of /dev/shm, which may be small. A routine's own windows lie in a folder that goes with the job. */
static void what_ranks_share_goes_with_the_job(void **state)
{
    (void)state;
    char file[1024];
    sums_down((struct process_grid){2, 2, 3}, 400, 400, 5);
    assert_true(maps_file(&rig, "/memfd:espalier-slots", "", file, sizeof file));
    rig.grid = (struct process_grid){2, 2, 3};
    assert_string_equal(rig_call(&rig, "window", (void *[]){NULL}, false).text, "");
    assert_true(maps_file(&rig, "/dev/shm/", "osc_sm", file, sizeof file));
    assert_ptr_equal(strstr(file, "/dev/shm/espalier-ranks-"), file);
}

/* One that cannot open the memory of the others: all of them do without. */
static void ranks_that_cannot_share_memory_send_messages(void **state)
{
    (void)state;
    char file[1024];
    static struct rig own;
    struct rlimit old, none;
    open_ready(&own, &(struct ranks_options){.ranks = 3});
    const pid_t last = rank_of(&own, 2);
    int n = 0, works = 0, rows = 1, block = 2, m = 9;
    double a[81];
    for (int i = 0; i < 81; i++)
        a[i] = 1;
    own.grid = (struct process_grid){1, 3, 4};
    assert_string_equal(rig_call(&own, "count", (void *[]){&n, &works}, false).text, "");
    assert_int_equal(prlimit(last, RLIMIT_NOFILE, NULL, &old), 0);
    none = (struct rlimit){.rlim_cur = 1, .rlim_max = old.rlim_max};
    assert_int_equal(prlimit(last, RLIMIT_NOFILE, &none, NULL), 0);
    assert_string_equal(rig_call(&own, "accumulate", (void *[]){&rows, &block, &m, &m, a}, false).text, "");
    for (int i = 0; i < 81; i++)
        assert_true(a[i] == i % 9 + 1);
    assert_false(maps_file(&own, "/memfd:espalier-slots", "", file, sizeof file));
    rig_close(&own);
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
        cmocka_unit_test(what_ranks_share_goes_with_the_job),
        cmocka_unit_test(ranks_that_cannot_share_memory_send_messages),
        cmocka_unit_test(layouts_that_cannot_be_are_told_to_all_ranks),
        cmocka_unit_test(what_the_first_rank_tells_of_its_progress_is_heard_of_its_call),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
