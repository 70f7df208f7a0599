/* SPDX-License-Identifier: Apache-2.0
 *
 * A rank of t0701: random redistributions over the ranks of the job, every element checked where it arrives.
 */
#include "config.h"

#include "sed/mpi/redistribute.h"
#include "util/random.h"

#include <stdio.h>
#include <stdlib.h>

static int me, ranks;

/* All ranks draw the same numbers. */
static struct block_cyclic draw(struct random *random, int64_t n, int64_t most)
{
    struct block_cyclic layout = {n, 1 + (int64_t)random_below(random, 7),
                                  1 + (int64_t)random_below(random, (uint64_t)most), 0};
    layout.source = (int64_t)random_below(random, (uint64_t)layout.ranks);
    return layout;
}

static struct block_cyclic_matrix draw_matrix(struct random *random, int64_t m, int64_t n)
{
    struct block_cyclic rows = draw(random, m, ranks);
    return (struct block_cyclic_matrix){rows, draw(random, n, ranks / rows.ranks),
                                        random_below(random, 2) == 1};
}

/* A random choice of different processes. */
static void draw_ids(struct random *random, int64_t *ids)
{
    for (int64_t i = 0; i < ranks; i++)
        ids[i] = i;
    for (int64_t i = ranks - 1; i > 0; i--) {
        int64_t j = (int64_t)random_below(random, (uint64_t)i + 1), id = ids[i];
        ids[i] = ids[j];
        ids[j] = id;
    }
}

static int64_t place_in(const struct block_cyclic_matrix *matrix, const int64_t *ids)
{
    for (int64_t rank = 0; rank < block_cyclic_matrix_ranks(matrix); rank++)
        if (ids[rank] == me)
            return rank;
    return -1;
}

/* Writes the index of each element into the part, or counts the elements that are not what they should be. */
static int64_t visit(const struct block_cyclic_matrix *matrix, int64_t rank, double *part, bool checks)
{
    int64_t row, col, rows, cols, wrong = 0;
    if (rank < 0)
        return 0;
    block_cyclic_matrix_place(matrix, rank, &row, &col);
    block_cyclic_matrix_shape(matrix, rank, &rows, &cols);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) {
            double index = (double)(block_cyclic_global(&matrix->cols, col, j) * matrix->rows.n +
                                    block_cyclic_global(&matrix->rows, row, i) + 1);
            double found = part[j * rows + i];
            wrong += checks && (found < index || found > index);
            if (!checks)
                part[j * rows + i] = index;
        }
    return wrong;
}

static int64_t move_once(struct random *random, struct shared_slots *slots)
{
    static const struct redistribution_costs costs = {1e-5, 1e-8};
    int64_t m = (int64_t)random_below(random, 60), n = (int64_t)random_below(random, 60), ids[2][64];
    struct redistribution what = {draw_matrix(random, m, n), draw_matrix(random, m, n), ids[0], ids[1]};
    draw_ids(random, ids[0]);
    draw_ids(random, ids[1]);
    int schedule = (int)random_below(random, 4);
    schedule += schedule >= REDISTRIBUTION_CLASSES; /* which is not always possible */
    int64_t before = place_in(&what.from, ids[0]), after = place_in(&what.to, ids[1]);
    double *a = calloc((size_t)(m * n) + 1, sizeof *a), *b = calloc((size_t)(m * n) + 1, sizeof *b);
    struct redistribution_plan *plan = NULL;
    struct esp_error error = {0};
    visit(&what.from, before, a, false);
    enum esp_status status =
        redistribution_plan_create(&what, (enum redistribution_schedule)schedule, &costs, &plan, &error);
    if (status == ESP_OK)
        status = mpi_redistribute(&what, plan, MPI_COMM_WORLD, slots,
                                  &(struct mpi_parts){.from = a, .to = b, .bytes = sizeof *a}, &error);
    int64_t wrong = status == ESP_OK ? visit(&what.to, after, b, true) : 1;
    if (status != ESP_OK)
        printf("# rank %d: %s\n", me, error.text);
    redistribution_plan_destroy(plan);
    free(a);
    free(b);
    return wrong;
}

int main(int argc, char **argv)
{
    struct random random;
    long wrong = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    random_seed(&random, 19);
    /* Through shared memory, and as between hosts. */
    struct shared_slots *slots = shared_slots_create(MPI_COMM_WORLD);
    for (int trial = 0; trial < 80; trial++)
        wrong += (long)move_once(&random, trial % 2 ? slots : NULL);
    if (me == 0 && slots)
        printf("slots in shared memory\n");
    shared_slots_destroy(slots);
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0)
        printf("elements at wrong places: %ld\n", all);
    MPI_Finalize();
    return 0;
}
