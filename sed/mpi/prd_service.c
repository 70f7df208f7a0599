/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions for parallel routines in the rank that calls them (espalier_server.h). */
#include "config.h"

#include "espalier_server.h"
#include "sed/mpi/prd.h"
#include "util/clock.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

#define SHOWN __attribute__((visibility("default")))

/* ---- progress: the first rank reports for all of them ---- */

#define TELL_NS (10 * NS_PER_MS) /* least time between two messages to another host */

/* Threads of the routine may report too, even after the routine has returned. */
static struct {
    pthread_mutex_t lock;
    struct ring *ring; /* NULL: not wanted */
    int socket;
    double told; /* last value sent to the envoy, at told_ns */
    int64_t told_ns;
} call = {.lock = PTHREAD_MUTEX_INITIALIZER};

void service_begin(struct ring *ring, int socket)
{
    pthread_mutex_lock(&call.lock);
    call.ring = ring;
    call.socket = socket;
    call.told = -1;
    pthread_mutex_unlock(&call.lock);
}

void service_end(void)
{
    pthread_mutex_lock(&call.lock);
    call.ring = NULL;
    pthread_mutex_unlock(&call.lock);
}

/* The end is reported at once, once. A lost connection is noticed by the call. */
static void tell_envoy(double fraction)
{
    const double reached = fraction < 1 ? fraction : 1;
    const struct far_message message = {.kind = FAR_PROGRESS, .progress = reached};
    const int64_t now = clock_now_ns(&clock_system);
    if (reached == call.told || (call.told >= 0 && reached < 1 && now - call.told_ns < TELL_NS))
        return;
    call.told = reached;
    call.told_ns = now;
    far_say(call.socket, &message, sizeof message);
}

SHOWN void esp_progress(double fraction)
{
    pthread_mutex_lock(&call.lock);
    if (call.ring && call.socket < 0)
        ring_tell_progress(call.ring, fraction);
    else if (call.ring && fraction == fraction)
        tell_envoy(fraction < 0 ? 0 : fraction);
    pthread_mutex_unlock(&call.lock);
}

/* ---- functions for workers only: a rank keeps no state ---- */

SHOWN int esp_checkpoint_save(const void *state, size_t bytes)
{
    (void)state;
    (void)bytes;
    return ENOENT;
}

SHOWN size_t esp_checkpoint_load(void *state, size_t capacity)
{
    (void)state;
    (void)capacity;
    return 0;
}

void esp_checkpoint_save_(const void *state, const int *bytes, int *status);
void esp_checkpoint_load_(void *state, const int *capacity, int *bytes);

SHOWN void esp_checkpoint_save_(const void *state, const int *bytes, int *status)
{
    *status = esp_checkpoint_save(state, (size_t)*bytes);
}

SHOWN void esp_checkpoint_load_(void *state, const int *capacity, int *bytes)
{
    (void)state;
    (void)capacity;
    *bytes = 0;
}

/* ---- the layouts ---- */

static struct block_cyclic_matrix layout_of(const struct esp_layout *layout, int m, int n)
{
    return (struct block_cyclic_matrix){{m, layout->row_block, layout->rows, layout->source_row},
                                        {n, layout->col_block, layout->cols, layout->source_col},
                                        false};
}

/* Whether the columns of this rank's part are far enough apart. */
static bool is_wide(const struct esp_layout *layout, const struct block_cyclic_matrix *matrix, int rank)
{
    int64_t rows = 0, cols;
    if (rank >= layout->first && rank < layout->first + block_cyclic_matrix_ranks(matrix))
        block_cyclic_matrix_shape(matrix, rank - layout->first, &rows, &cols);
    return layout->leading == 0 || layout->leading >= rows;
}

static bool is_sound(const struct esp_layout *layout, const struct block_cyclic_matrix *matrix, int rank,
                     int size)
{
    return layout->first >= 0 && block_cyclic_matrix_check(matrix, "the matrix", NULL) == ESP_OK &&
           layout->first + block_cyclic_matrix_ranks(matrix) <= size && is_wide(layout, matrix, rank);
}

static int64_t *ids_of(const struct esp_layout *layout, const struct block_cyclic_matrix *matrix)
{
    const int64_t n = block_cyclic_matrix_ranks(matrix);
    int64_t *ids = malloc((size_t)n * sizeof *ids);
    for (int64_t i = 0; ids && i < n; i++)
        ids[i] = layout->first + i;
    return ids;
}

/* ---- moving ---- */

static int move(const struct rank_way *way, struct redistribution *what, const struct esp_layout *from,
                const struct esp_layout *to, const struct mpi_parts *parts)
{
    int64_t *from_ids = ids_of(from, &what->from), *to_ids = ids_of(to, &what->to);
    what->from_ids = from_ids;
    what->to_ids = to_ids;
    const int status = rank_way_move(way, what, parts, from_ids && to_ids ? 0 : ENOMEM);
    free(from_ids);
    free(to_ids);
    return status;
}

SHOWN int esp_redistribute(int communicator, int m, int n, size_t element_bytes,
                           const struct esp_layout *from, const void *before, const struct esp_layout *to,
                           void *after)
{
    const MPI_Comm comm = MPI_Comm_f2c(communicator);
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const struct rank_way *way = rank_way_of(comm);
    struct redistribution what = {.from = layout_of(from, m, n), .to = layout_of(to, m, n)};
    const struct mpi_parts parts = {before, after, from->leading, to->leading, element_bytes};
    if (!way)
        return EIO;
    const bool sound =
        element_bytes > 0 && is_sound(from, &what.from, rank, size) && is_sound(to, &what.to, rank, size);
    const int status = rank_way_worst(way, sound ? 0 : EINVAL);
    return status == 0 ? move(way, &what, from, to, &parts) : status;
}

void esp_redistribute_(const int *communicator, const int *m, const int *n, const int *bytes,
                       const struct esp_layout *from, const void *before, const struct esp_layout *to,
                       void *after, int *status);

SHOWN void esp_redistribute_(const int *communicator, const int *m, const int *n, const int *bytes,
                             const struct esp_layout *from, const void *before, const struct esp_layout *to,
                             void *after, int *status)
{
    *status =
        esp_redistribute(*communicator, *m, *n, (size_t)(*bytes > 0 ? *bytes : 0), from, before, to, after);
}
