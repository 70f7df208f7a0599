/* SPDX-License-Identifier: Apache-2.0
 *
 * Column blocks of any owner: layout, and messages between it and grids of ScaLAPACK.
 */
#include "solvers/columns.h"

#include "core/unequal/allocation.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* ---- waiting ---- */

#define LOOKS    50           /* before a rank sleeps */
#define SLEEP_NS (50 * 1000L) /* between two looks */

static void pause_for(int looks)
{
    const struct timespec moment = {0, SLEEP_NS};
    if (looks < LOOKS)
        sched_yield();
    else
        nanosleep(&moment, NULL);
}

void columns_wait(int n, MPI_Request *requests)
{
    int done = 0;
    for (int looks = 0;; looks++) {
        MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
        if (done)
            return;
        pause_for(looks);
    }
}

bool columns_all(MPI_Comm comm, bool mine)
{
    int one = mine, all = 0;
    MPI_Request request;
    MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_MIN, comm, &request);
    columns_wait(1, &request);
    return all != 0;
}

void columns_gather(MPI_Comm comm, double mine, double *all)
{
    MPI_Request request;
    MPI_Iallgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, comm, &request);
    columns_wait(1, &request);
}

/* ---- speed ---- */

#define MEASURE_ORDER 192
#define MEASURE_S     0.04 /* several periods of a quota */
#define ALIKE         1.1  /* cycle times that differ by less than this factor count as equal */

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);

static double own_cycle_time;

void columns_set_cycle_time(double seconds)
{
    own_cycle_time = seconds;
}

/* Seconds of an operation in products of matrices. 0 without memory. */
static double measure(void)
{
    const int n = MEASURE_ORDER;
    const double one = 1, zero = 0, flop = 2.0 * n * n * n;
    double *memory = calloc(3 * (size_t)n * (size_t)n, sizeof *memory), *b = memory + n * n, *c = b + n * n;
    if (!memory)
        return 0;
    dgemm_("N", "N", &n, &n, &n, &one, memory, &n, b, &n, &zero, c, &n); /* pages and caches are warm then */
    const double begun = MPI_Wtime();
    double seconds = 0, times = 0;
    while (seconds < MEASURE_S) {
        dgemm_("N", "N", &n, &n, &n, &one, memory, &n, b, &n, &zero, c, &n);
        seconds = MPI_Wtime() - begun;
        times++;
    }
    free(memory);
    return seconds / (times * flop);
}

static void level(double *cycle_times, int ranks)
{
    double least = cycle_times[0], most = cycle_times[0];
    for (int i = 1; i < ranks; i++) {
        least = fmin(least, cycle_times[i]);
        most = fmax(most, cycle_times[i]);
    }
    for (int i = 0; i < ranks; i++)
        if (!(least > 0) || most < ALIKE * least)
            cycle_times[i] = 1;
}

void columns_cycle_times(MPI_Comm comm, double *cycle_times)
{
    int ranks;
    MPI_Comm_size(comm, &ranks);
    if (!columns_all(comm, own_cycle_time > 0)) /* all at the same time, as they will compute */
        own_cycle_time = measure();
    columns_gather(comm, own_cycle_time, cycle_times);
    level(cycle_times, ranks);
}

/* ---- layout ---- */

int columns_blocks(int columns, int width)
{
    return columns / width + (columns % width > 0);
}

static void place(struct columns *columns)
{
    columns->from[0] = 0;
    for (int i = 0; i < columns->blocks; i++) {
        const int width = columns->bounds[i + 1] - columns->bounds[i];
        columns->from[i + 1] = columns->from[i] + ((int)columns->owners[i] == columns->rank ? width : 0);
    }
}

#define LARGE_PAGE (2 << 20)

/* In large pages where there are any: to touch a matrix for the first time takes a tenth of the time then. */
static char *room_for(const struct columns *columns, int own_columns)
{
    const size_t bytes = (size_t)columns->leading * (size_t)own_columns * (size_t)columns->element + 1,
                 whole = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    if (bytes < LARGE_PAGE)
        return malloc(bytes);
    char *room = aligned_alloc(LARGE_PAGE, whole);
    if (room)
        madvise(room, whole, MADV_HUGEPAGE);
    return room;
}

static bool allocate(struct columns *columns)
{
    const size_t n = (size_t)columns->blocks + 1;
    columns->bounds = malloc(n * sizeof *columns->bounds);
    columns->from = malloc(n * sizeof *columns->from);
    columns->owners = malloc(n * sizeof *columns->owners);
    return columns->bounds && columns->from && columns->owners;
}

bool columns_open(struct columns *columns, MPI_Comm comm, MPI_Datatype type, int rows, int first_columns,
                  int more_columns, int width, const double *cycle_times)
{
    const int first = columns_blocks(first_columns, width), more = columns_blocks(more_columns, width);
    *columns = (struct columns){
        .comm = comm, .type = type, .rows = rows, .leading = rows > 1 ? rows : 1, .blocks = first + more};
    MPI_Comm_rank(comm, &columns->rank);
    MPI_Comm_size(comm, &columns->ranks);
    MPI_Type_size(type, &columns->element);
    if (!columns_all(comm, allocate(columns)))
        return false;
    for (int i = 0; i < first; i++)
        columns->bounds[i] = i * width;
    for (int i = 0; i < more; i++)
        columns->bounds[first + i] = first_columns + i * width;
    columns->bounds[first + more] = first_columns + more_columns;
    allocation_columns(cycle_times, (uint32_t)columns->ranks, (uint32_t)columns->blocks,
                       (uint32_t)columns->blocks + 1, columns->owners);
    place(columns);
    columns->data = room_for(columns, columns->from[columns->blocks]);
    return columns_all(comm, columns->data != NULL);
}

void columns_close(struct columns *columns)
{
    free(columns->bounds);
    free(columns->from);
    free(columns->owners);
    free(columns->data);
    *columns = (struct columns){0};
}

void *columns_at(const struct columns *columns, int row, int own_column)
{
    return columns->data +
           ((size_t)own_column * (size_t)columns->leading + (size_t)row) * (size_t)columns->element;
}

/* ---- between layouts ---- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

int columns_share(int n, int block, int ranks, int which)
{
    int own = 0;
    for (int at = which * block; at < n; at += ranks * block)
        own += least(block, n - at);
    return own;
}

/* A column of a whole matrix, less the rows that other rows of the grid have. */
static MPI_Datatype strided_column(const struct columns *columns, const struct grid_part *part, int row)
{
    const int most = part->rows / (part->p * part->block) + 1;
    int *lengths = malloc(2 * (size_t)most * sizeof *lengths), *places = lengths + most, n = 0;
    MPI_Datatype column, spaced;
    if (!lengths)
        MPI_Abort(columns->comm, 1); /* some bytes: other ranks wait for the messages already */
    for (int at = row * part->block; at < part->rows; at += part->p * part->block, n++) {
        lengths[n] = least(part->block, part->rows - at);
        places[n] = at;
    }
    MPI_Type_indexed(n, lengths, places, columns->type, &column);
    MPI_Type_create_resized(column, 0, (MPI_Aint)columns->leading * columns->element, &spaced);
    MPI_Type_commit(&spaced);
    MPI_Type_free(&column);
    free(lengths);
    return spaced;
}

/* A column of this rank's part. */
static MPI_Datatype local_column(const struct columns *columns, const struct grid_part *part)
{
    MPI_Datatype column, spaced;
    MPI_Type_contiguous(columns_share(part->rows, part->block, part->p, part->row), columns->type, &column);
    MPI_Type_create_resized(column, 0, (MPI_Aint)part->leading * columns->element, &spaced);
    MPI_Type_commit(&spaced);
    MPI_Type_free(&column);
    return spaced;
}

struct exchange {
    const struct columns *columns;
    int first;
    const struct grid_part *part;
    bool give; /* to the grid */
    MPI_Request *requests;
    int n;
};

static void post(struct exchange *exchange, bool sends, void *at, int count, MPI_Datatype type, int other)
{
    MPI_Request *request = &exchange->requests[exchange->n++];
    if (sends)
        MPI_Isend(at, count, type, other, 0, exchange->columns->comm, request);
    else
        MPI_Irecv(at, count, type, other, 0, exchange->columns->comm, request);
}

/* What the grid has of the blocks here. A message is part of one block; between two ranks messages go in the
 * order of blocks. */
static void post_local(struct exchange *exchange, MPI_Datatype column)
{
    const struct columns *columns = exchange->columns;
    const struct grid_part *part = exchange->part;
    char *at = part->data;
    for (int j = part->col; j * part->block < part->cols; j += part->q) {
        const int width = least(part->block, part->cols - j * part->block);
        post(exchange, !exchange->give, at, width, column, (int)columns->owners[exchange->first + j]);
        at += (size_t)width * (size_t)part->leading * (size_t)columns->element;
    }
}

static void post_own(struct exchange *exchange, int row, MPI_Datatype column)
{
    const struct columns *columns = exchange->columns;
    const struct grid_part *part = exchange->part;
    for (int j = 0; j * part->block < part->cols; j++) {
        const int block = exchange->first + j, from = columns->from[block];
        if ((int)columns->owners[block] == columns->rank)
            post(exchange, exchange->give, columns_at(columns, 0, from), columns->from[block + 1] - from,
                 column, row * part->q + j % part->q);
    }
}

static void swap_layouts(const struct columns *columns, int first, const struct grid_part *part, bool give)
{
    const size_t most = ((size_t)part->p + 1) * ((size_t)part->cols / (size_t)part->block + 2);
    struct exchange exchange = {columns, first, part, give, malloc(most * sizeof(MPI_Request)), 0};
    MPI_Datatype local = local_column(columns, part), *strided = malloc((size_t)part->p * sizeof *strided);
    if (!exchange.requests || !strided)
        MPI_Abort(columns->comm, 1);
    post_local(&exchange, local);
    for (int row = 0; row < part->p; row++) {
        strided[row] = strided_column(columns, part, row);
        post_own(&exchange, row, strided[row]);
    }
    columns_wait(exchange.n, exchange.requests);
    for (int row = 0; row < part->p; row++)
        MPI_Type_free(&strided[row]);
    MPI_Type_free(&local);
    free(strided);
    free(exchange.requests);
}

void columns_take(struct columns *columns, int first, const struct grid_part *part)
{
    swap_layouts(columns, first, part, false);
}

void columns_give(const struct columns *columns, int first, const struct grid_part *part)
{
    swap_layouts(columns, first, part, true);
}

/* ---- new owners ---- */

/* A block that this rank loses, gets or keeps. */
static void move_block(const struct columns *old, const struct columns *fresh, int block,
                       MPI_Request *requests, int *n)
{
    const bool had = (int)old->owners[block] == old->rank, has = (int)fresh->owners[block] == old->rank;
    const int width = old->bounds[block + 1] - old->bounds[block];
    char *from = columns_at(old, 0, old->from[block]), *to = columns_at(fresh, 0, fresh->from[block]);
    MPI_Datatype whole;
    if (had && has)
        memcpy(to, from, (size_t)width * (size_t)old->leading * (size_t)old->element);
    if (had == has)
        return;
    MPI_Type_contiguous(old->leading, old->type, &whole);
    MPI_Type_commit(&whole);
    if (had)
        MPI_Isend(from, width, whole, (int)fresh->owners[block], 0, old->comm, &requests[(*n)++]);
    else
        MPI_Irecv(to, width, whole, (int)old->owners[block], 0, old->comm, &requests[(*n)++]);
    MPI_Type_free(&whole);
}

bool columns_move(struct columns *columns, int first, const uint32_t *owners)
{
    struct columns fresh = *columns;
    MPI_Request *requests = malloc(((size_t)columns->blocks + 1) * sizeof(MPI_Request));
    int n = 0;
    bool able = allocate(&fresh) && requests;
    if (able) {
        memcpy(fresh.bounds, columns->bounds, ((size_t)columns->blocks + 1) * sizeof *fresh.bounds);
        memcpy(fresh.owners, columns->owners, (size_t)columns->blocks * sizeof *fresh.owners);
        memcpy(fresh.owners + first, owners + first, (size_t)(columns->blocks - first) * sizeof *owners);
        place(&fresh);
        fresh.data = room_for(&fresh, fresh.from[fresh.blocks]);
        able = fresh.data != NULL;
    } else
        fresh.data = NULL;
    able = columns_all(columns->comm, able);
    for (int block = 0; able && block < columns->blocks; block++)
        move_block(columns, &fresh, block, requests, &n);
    columns_wait(n, requests);
    free(requests);
    if (able) {
        const struct columns old = *columns;
        *columns = fresh;
        fresh = old;
    }
    columns_close(&fresh);
    return able;
}
