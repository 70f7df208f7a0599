/* SPDX-License-Identifier: Apache-2.0
 *
 * The routines of solvers/unequal.h for one type: NAME(root), LAPACK(root), SCALAR, MPI_SCALAR, IS_COMPLEX
 * are defined by the file that includes this one.
 */
#include "core/unequal/allocation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void LAPACK(getrf)(const int *m, const int *n, SCALAR *a, const int *lda, int *ipiv, int *info);
void LAPACK(laswp)(const int *n, SCALAR *a, const int *lda, const int *k1, const int *k2, const int *ipiv,
                   const int *incx);
void LAPACK(geqrf)(const int *m, const int *n, SCALAR *a, const int *lda, SCALAR *tau, SCALAR *work,
                   const int *lwork, int *info);
void LAPACK(larft)(const char *direct, const char *storev, const int *n, const int *k, SCALAR *v,
                   const int *ldv, const SCALAR *tau, SCALAR *t, const int *ldt, size_t, size_t);
void LAPACK(larfb)(const char *side, const char *trans, const char *direct, const char *storev, const int *m,
                   const int *n, const int *k, const SCALAR *v, const int *ldv, const SCALAR *t,
                   const int *ldt, SCALAR *c, const int *ldc, SCALAR *work, const int *ldwork, size_t, size_t,
                   size_t, size_t);
void LAPACK(trsm)(const char *side, const char *uplo, const char *transa, const char *diag, const int *m,
                  const int *n, const SCALAR *alpha, const SCALAR *a, const int *lda, SCALAR *b,
                  const int *ldb, size_t, size_t, size_t, size_t);
void LAPACK(gemm)(const char *transa, const char *transb, const int *m, const int *n, const int *k,
                  const SCALAR *alpha, const SCALAR *a, const int *lda, const SCALAR *b, const int *ldb,
                  const SCALAR *beta, SCALAR *c, const int *ldc, size_t, size_t);

static const SCALAR one = 1, minus_one = -1;

#define DEPTH 4  /* blocks that are under way, or wait for their update */
#define LINE  64 /* bytes; a part of a message begins with one */

/* ---- broadcasts of blocks ---- */

enum content { WITH_PIVOTS, WITH_REFLECTORS, ALONE };

/* A block on its way to all ranks. What it holds points into `memory`, which is one message. */
struct panel {
    MPI_Request request;
    char *memory;
    int rows, cols; /* of the block: rows x cols, leading dimension rows */
    int *info;      /* 0, or the first pivot of the block that is zero, from 1 */
    int *pivots;    /* cols, within the block; WITH_PIVOTS */
    SCALAR *tau;    /* cols; WITH_REFLECTORS */
    SCALAR *t;      /* cols x cols; WITH_REFLECTORS */
    SCALAR *block;
};

static size_t lines(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

enum part { PIVOTS, SCALARS, TRIANGLE, BLOCK, END, PARTS };

/* Where the parts of a message begin, and its bytes at END. The first line is the info. */
static void find_parts(enum content content, int rows, int cols, size_t *at)
{
    const size_t n = (size_t)cols, reflectors = content == WITH_REFLECTORS ? sizeof(SCALAR) : 0;
    at[PIVOTS] = LINE;
    at[SCALARS] = at[PIVOTS] + lines(content == WITH_PIVOTS ? n * sizeof(int) : 0);
    at[TRIANGLE] = at[SCALARS] + lines(n * reflectors);
    at[BLOCK] = at[TRIANGLE] + lines(n * n * reflectors);
    at[END] = at[BLOCK] + lines((size_t)rows * n * sizeof(SCALAR));
}

/* Returns the bytes of the message. */
static size_t lay_out(struct panel *panel, enum content content, int rows, int cols)
{
    size_t at[PARTS];
    find_parts(content, rows, cols, at);
    panel->rows = rows;
    panel->cols = cols;
    panel->info = (int *)panel->memory;
    panel->pivots = (int *)(panel->memory + at[PIVOTS]);
    panel->tau = (SCALAR *)(panel->memory + at[SCALARS]);
    panel->t = (SCALAR *)(panel->memory + at[TRIANGLE]);
    panel->block = (SCALAR *)(panel->memory + at[BLOCK]);
    return at[END];
}

/* A computation: its matrix, its blocks under way, and how fast this rank is. */
struct work {
    struct columns *columns;
    enum content content;
    MPI_Datatype line;
    struct panel panels[DEPTH];
    SCALAR *room;  /* of larfb and geqrf */
    int room_size; /* elements */
    int *pivots;   /* of all blocks, rows of the matrix from 1 */
    SCALAR *tau;
    int info, steps;
    double looked;                    /* when messages were last looked after */
    double flop, seconds;             /* of updates */
    double phase_flop, phase_seconds; /* and in this phase */
};

#define CHUNK 256 /* columns that are updated before messages are looked after */

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* False on all ranks: one has no memory. work_close() is allowed in both cases. */
static bool work_open(struct work *work, struct columns *columns, enum content content, int rows, int width,
                      int steps, int vector)
{
    *work = (struct work){.columns = columns, .content = content, .steps = steps};
    bool able = true;
    size_t at[PARTS];
    find_parts(content, rows, width, at);
    for (int i = 0; i < DEPTH; i++) {
        work->panels[i].request = MPI_REQUEST_NULL;
        work->panels[i].memory = calloc(at[END], 1);
        able = able && work->panels[i].memory;
    }
    work->room_size = width * (CHUNK > width ? CHUNK : width);
    work->room = malloc((size_t)work->room_size * sizeof *work->room);
    work->pivots = calloc((size_t)vector + 1, sizeof *work->pivots);
    work->tau = calloc((size_t)vector + 1, sizeof *work->tau);
    MPI_Type_contiguous(LINE, MPI_BYTE, &work->line);
    MPI_Type_commit(&work->line);
    return columns_all(columns->comm, able && work->room && work->pivots && work->tau);
}

static void work_close(struct work *work)
{
    for (int i = 0; i < DEPTH; i++) {
        columns_wait(1, &work->panels[i].request);
        free(work->panels[i].memory);
    }
    free(work->room);
    free(work->pivots);
    free(work->tau);
    MPI_Type_free(&work->line);
}

/* The memory of panel `step`, when nobody waits for what was in it. */
static struct panel *panel_for(struct work *work, int step, int rows, int cols, size_t *bytes)
{
    struct panel *panel = &work->panels[step % DEPTH];
    columns_wait(1, &panel->request);
    *bytes = lay_out(panel, work->content, rows, cols);
    return panel;
}

/* The owner has filled the panel. */
static void send_panel(struct work *work, struct panel *panel, size_t bytes, uint32_t owner)
{
    MPI_Ibcast(panel->memory, (int)(bytes / LINE), work->line, (int)owner, work->columns->comm,
               &panel->request);
}

#define LOOK_S                                                                                               \
    0.01 /* between two looks after messages: each may give the processor away to another program */

/* Long updates let blocks pass that other ranks wait for. */
static void keep_messages_going(struct work *work)
{
    MPI_Request requests[DEPTH];
    int done;
    if (MPI_Wtime() - work->looked < LOOK_S)
        return;
    for (int i = 0; i < DEPTH; i++)
        requests[i] = work->panels[i].request;
    MPI_Testall(DEPTH, requests, &done, MPI_STATUSES_IGNORE);
    for (int i = 0; i < DEPTH; i++)
        work->panels[i].request = requests[i];
    work->looked = MPI_Wtime();
}

static void copy_block(SCALAR *to, const SCALAR *from, int leading, int rows, int cols)
{
    for (int j = 0; j < cols; j++)
        memcpy(to + (size_t)j * (size_t)rows, from + (size_t)j * (size_t)leading, (size_t)rows * sizeof *to);
}

/* ---- one step of a factorisation ---- */

static bool is_mine(const struct work *work, int block)
{
    return (int)work->columns->owners[block] == work->columns->rank;
}

/* Rows and pivots of block `step`, whose first pivot is in row bounds[step]. */
static int rows_of(const struct work *work, int step)
{
    return work->columns->rows - work->columns->bounds[step];
}

static int width_of(const struct columns *columns, int block)
{
    return columns->bounds[block + 1] - columns->bounds[block];
}

static int pivots_of(const struct work *work, int step)
{
    return smaller(width_of(work->columns, step), rows_of(work, step));
}

static void factor_lu(struct work *work, int step, SCALAR *a, struct panel *panel)
{
    const int rows = panel->rows, cols = width_of(work->columns, step);
    LAPACK(getrf)(&rows, &cols, a, &work->columns->leading, panel->pivots, panel->info);
}

static void factor_qr(struct work *work, int step, SCALAR *a, struct panel *panel)
{
    const int rows = panel->rows, cols = width_of(work->columns, step), leading = work->columns->leading;
    int info = 0;
    LAPACK(geqrf)(&rows, &cols, a, &leading, panel->tau, work->room, &work->room_size, &info);
    LAPACK(larft)
    ("F", "C", &rows, &panel->cols, a, &leading, panel->tau, panel->t, &panel->cols, 1, 1);
    *panel->info = 0;
    for (int i = panel->cols; i > 0; i--)
        if (a[(size_t)(i - 1) * (size_t)leading + (size_t)(i - 1)] == 0)
            *panel->info = i;
}

/* Factors block `step` on its owner, and begins to send it. */
static void begin_step(struct work *work, int step)
{
    const struct columns *columns = work->columns;
    size_t bytes;
    struct panel *panel = panel_for(work, step, rows_of(work, step), pivots_of(work, step), &bytes);
    if (is_mine(work, step)) {
        SCALAR *a = columns_at(columns, columns->bounds[step], columns->from[step]);
        if (work->content == WITH_PIVOTS)
            factor_lu(work, step, a, panel);
        else
            factor_qr(work, step, a, panel);
        copy_block(panel->block, a, columns->leading, panel->rows, panel->cols);
    }
    send_panel(work, panel, bytes, columns->owners[step]);
}

static void swap_rows(const struct work *work, int step, const struct panel *panel, int first, int end)
{
    const int cols = end - first, from = 1, by = 1;
    if (cols > 0)
        LAPACK(laswp)
    (&cols, columns_at(work->columns, work->columns->bounds[step], first), &work->columns->leading, &from,
     &panel->cols, panel->pivots, &by);
}

static void update_lu(struct work *work, const struct panel *panel, SCALAR *a, int cols)
{
    const int below = panel->rows - panel->cols, leading = work->columns->leading;
    LAPACK(trsm)
    ("L", "L", "N", "U", &panel->cols, &cols, &one, panel->block, &panel->rows, a, &leading, 1, 1, 1, 1);
    if (below > 0)
        LAPACK(gemm)
    ("N", "N", &below, &cols, &panel->cols, &minus_one, panel->block + panel->cols, &panel->rows, a, &leading,
     &one, a + panel->cols, &leading, 1, 1);
}

static void update_qr(struct work *work, const struct panel *panel, SCALAR *a, int cols)
{
    LAPACK(larfb)
    ("L", IS_COMPLEX ? "C" : "T", "F", "C", &panel->rows, &cols, &panel->cols, panel->block, &panel->rows,
     panel->t, &panel->cols, a, &work->columns->leading, work->room, &cols, 1, 1, 1, 1);
}

static void count(struct work *work, double flop, double begun)
{
    const double seconds = MPI_Wtime() - begun;
    work->flop += flop;
    work->seconds += seconds;
    work->phase_flop += flop;
    work->phase_seconds += seconds;
}

/* Own columns from `first` to before `end`. */
static void update(struct work *work, int step, int first, int end)
{
    const struct panel *panel = &work->panels[step % DEPTH];
    const double each = (work->content == WITH_PIVOTS ? 2.0 : 4.0) * panel->rows * panel->cols;
    for (int at = first; at < end; at += CHUNK) {
        const int cols = smaller(CHUNK, end - at);
        const double begun = MPI_Wtime();
        SCALAR *a = columns_at(work->columns, work->columns->bounds[step], at);
        if (work->content == WITH_PIVOTS) {
            swap_rows(work, step, panel, at, at + cols);
            update_lu(work, panel, a, cols);
        } else
            update_qr(work, panel, a, cols);
        count(work, each * cols, begun);
        keep_messages_going(work);
    }
}

/* What all ranks keep of a block. */
static void note_step(struct work *work, int step)
{
    const struct panel *panel = &work->panels[step % DEPTH];
    const int first = work->columns->bounds[step];
    if (work->info == 0 && *panel->info > 0)
        work->info = first + *panel->info;
    for (int i = 0; i < panel->cols; i++)
        if (work->content == WITH_PIVOTS)
            work->pivots[first + i] = first + panel->pivots[i];
        else
            work->tau[first + i] = panel->tau[i];
}

/* ---- the semi-static strategy ---- */

#define SOME_S 2e-4 /* of updates, or a phase says nothing about speed */
#define WORTH                                                                                                \
    0.9 /* of what is left, or less, when blocks go to other owners: speeds differ by chance, too            \
         */
#define BYTE_S 3e-9 /* to move a byte into memory that was never touched */

/* Seconds that the updates after `step` take with these owners. */
static double left_s(const struct work *work, int step, const double *cycle_times, const uint32_t *owners)
{
    const struct columns *columns = work->columns;
    const double width = columns->bounds[1] - columns->bounds[0],
                 flop = (work->content == WITH_PIVOTS ? 2 : 4) * width * width * width;
    return flop * allocation_remaining(cycle_times, (uint32_t)columns->ranks, owners, (uint32_t)step + 1,
                                       (uint32_t)columns->blocks);
}

/* Seconds to move blocks to other owners. */
static double move_s(const struct work *work, int step, const uint32_t *owners)
{
    const struct columns *columns = work->columns;
    double moved = 0;
    for (int j = step + 1; j < columns->blocks; j++)
        moved += owners[j] != columns->owners[j] ? width_of(columns, j) : 0;
    return moved * columns->rows * columns->element * BYTE_S;
}

struct phases {
    int length;
    bool told;                    /* `before` is known */
    double *cycle_times, *before; /* of this phase, and of the one before */
    uint32_t *owners;
};

/* The owners end sooner with these speeds, by more than it takes to give blocks to them. */
static bool is_worth_moving(const struct work *work, int step, const double *cycle_times,
                            const uint32_t *owners)
{
    const double now_s = left_s(work, step, cycle_times, work->columns->owners),
                 then_s = left_s(work, step, cycle_times, owners);
    return then_s < WORTH * now_s && then_s + move_s(work, step, owners) < now_s;
}

/* Owners that end sooner with the speeds of this phase. A change that was not there in the phase before may
 * be chance. Blocks after `step` have not been updated by it. */
static void repartition(struct work *work, int step, struct phases *phases)
{
    struct columns *columns = work->columns;
    const uint32_t p = (uint32_t)columns->ranks, n = (uint32_t)columns->blocks, first = (uint32_t)step + 1;
    columns_gather(columns->comm, unequal_speed(work->phase_seconds, SOME_S, work->phase_flop),
                   phases->cycle_times);
    for (uint32_t i = 0; i < p; i++)
        if (!(phases->cycle_times[i] > 0))
            return; /* a rank had nothing to do: nobody knows how fast it is. The same on all ranks. */
    work->phase_flop = work->phase_seconds = 0;
    memcpy(phases->owners, columns->owners, n * sizeof *phases->owners);
    allocation_columns(phases->cycle_times, p, n - first, n, phases->owners + first);
    if (phases->told && is_worth_moving(work, step, phases->cycle_times, phases->owners) &&
        is_worth_moving(work, step, phases->before, phases->owners) &&
        columns_move(columns, step + 1, phases->owners)) /* without memory blocks stay where they are */
        unequal_redistributed();
    memcpy(phases->before, phases->cycle_times, p * sizeof *phases->before);
    phases->told = true;
}

static struct phases phases_open(const struct work *work)
{
    const size_t p = (size_t)work->columns->ranks, n = (size_t)work->columns->blocks + 1;
    struct phases phases = {.length = unequal_phase(work->steps),
                            .cycle_times = malloc(p * sizeof(double)),
                            .before = malloc(p * sizeof(double)),
                            .owners = malloc(n * sizeof(uint32_t))};
    if (!columns_all(work->columns->comm, phases.cycle_times && phases.before && phases.owners) || p == 1)
        phases.length = 0;
    return phases;
}

static void phases_close(struct phases *phases)
{
    free(phases->cycle_times);
    free(phases->before);
    free(phases->owners);
}

/* ---- factorisations ---- */

/* The first `steps` blocks, each followed by the update of all blocks to its right. */
static void factorise(struct work *work)
{
    struct columns *columns = work->columns;
    struct phases phases = phases_open(work);
    if (work->steps > 0)
        begin_step(work, 0);
    for (int step = 0; step < work->steps; step++) {
        columns_wait(1, &work->panels[step % DEPTH].request);
        note_step(work, step);
        if (phases.length > 0 && step > 0 && step % phases.length == 0 && step + phases.length < work->steps)
            repartition(work, step, &phases);
        int next = columns->from[step + 1];
        if (step + 1 < work->steps) {
            update(work, step, next, columns->from[step + 2]);
            next = columns->from[step + 2];
            begin_step(work, step + 1);
        }
        update(work, step, next, columns->from[columns->blocks]);
        if (work->content == WITH_PIVOTS)
            swap_rows(work, step, &work->panels[step % DEPTH], 0, columns->from[step]);
    }
    phases_close(&phases);
}

/* ---- triangular solves ---- */

static void begin_triangle(struct work *work, int step, int block)
{
    const struct columns *columns = work->columns;
    size_t bytes;
    struct panel *panel = panel_for(work, step, columns->bounds[block + 1], width_of(columns, block), &bytes);
    if (is_mine(work, block))
        copy_block(panel->block, columns_at(columns, 0, columns->from[block]), columns->leading, panel->rows,
                   panel->cols);
    send_panel(work, panel, bytes, columns->owners[block]);
}

static void substitute(const struct work *work, const struct panel *panel, int first, int cols)
{
    const int above = panel->rows - panel->cols, leading = work->columns->leading;
    SCALAR *x = columns_at(work->columns, above, first), *rest = columns_at(work->columns, 0, first);
    if (cols == 0)
        return;
    LAPACK(trsm)
    ("L", "U", "N", "N", &panel->cols, &cols, &one, panel->block + above, &panel->rows, x, &leading, 1, 1, 1,
     1);
    if (above > 0)
        LAPACK(gemm)
    ("N", "N", &above, &cols, &panel->cols, &minus_one, panel->block, &panel->rows, x, &leading, &one, rest,
     &leading, 1, 1);
}

/* Solves with the upper triangle in the first `blocks` blocks for the columns of all later ones. */
static void solve_triangle(struct work *work, int blocks)
{
    const struct columns *columns = work->columns;
    const int first = columns->from[blocks], cols = columns->from[columns->blocks] - first;
    if (blocks == 0 || columns->blocks == blocks)
        return;
    for (int i = 0; i < DEPTH; i++)
        columns_wait(1, &work->panels[i].request);
    begin_triangle(work, 0, blocks - 1);
    for (int step = 0; step < blocks; step++) {
        if (step + 1 < blocks)
            begin_triangle(work, step + 1, blocks - 2 - step);
        columns_wait(1, &work->panels[step % DEPTH].request);
        substitute(work, &work->panels[step % DEPTH], first, cols);
    }
}

/* ---- what ranks learn ---- */

#define LEARN_S 0.2 /* a shorter computation says nothing about speed */

static void learn_speed(const struct work *work)
{
    const double type = (IS_COMPLEX ? 4.0 : 1.0) * (double)(sizeof(SCALAR) / (IS_COMPLEX ? 2 : 1)) / 8;
    const bool all = columns_all(work->columns->comm, work->seconds > LEARN_S);
    if (all)
        columns_set_cycle_time(work->seconds / work->flop / type);
}

/* ---- routines ---- */

/* The layout of [A B] on ranks as fast as they are, filled unless `empty`. False on all ranks: no memory. */
static bool open_beside(struct columns *columns, MPI_Comm comm, const struct grid_part *a,
                        const struct grid_part *b, bool empty)
{
    int ranks;
    MPI_Comm_size(comm, &ranks);
    double *cycle_times = malloc((size_t)ranks * sizeof *cycle_times);
    if (!columns_all(comm, cycle_times != NULL)) {
        free(cycle_times);
        *columns = (struct columns){0};
        return false;
    }
    columns_cycle_times(comm, cycle_times);
    const bool able =
        columns_open(columns, comm, MPI_SCALAR, a->rows, a->cols, b ? b->cols : 0, a->block, cycle_times);
    free(cycle_times);
    if (able && !empty)
        columns_take(columns, 0, a);
    if (able && b)
        columns_take(columns, columns_blocks(a->cols, a->block), b);
    return able;
}

/* Factors A, and applies what it does to B, too. The pivots or scalars of the reflectors go to `vector`,
 * which may be NULL. */
static void factor(MPI_Comm comm, enum content content, const struct grid_part *a, const struct grid_part *b,
                   void *vector, int *info)
{
    struct columns columns;
    struct work work;
    const int pivots = smaller(a->rows, a->cols), blocks = columns_blocks(a->cols, a->block);
    *info = UNEQUAL_NO_MEMORY;
    if (open_beside(&columns, comm, a, b, false)) {
        if (work_open(&work, &columns, content, a->rows, a->block, columns_blocks(pivots, a->block),
                      pivots)) {
            factorise(&work);
            /* LAPACK solves with no singular triangle; a QR alone has no info */
            *info = content == WITH_PIVOTS || b ? work.info : 0;
            if (b && *info == 0) {
                work.content = ALONE;
                solve_triangle(&work, blocks);
            }
            learn_speed(&work);
            if (content == WITH_PIVOTS)
                unequal_spread(a, true, pivots, sizeof(int), work.pivots, vector);
            else if (vector)
                unequal_spread(a, false, pivots, sizeof(SCALAR), work.tau, vector);
            columns_give(&columns, 0, a);
            if (b)
                columns_give(&columns, blocks, b);
        }
        work_close(&work);
    }
    columns_close(&columns);
}

void NAME(getrf_unequal_)(const int *comm, const int *m, const int *n, SCALAR *a, const int *desca, int *ipiv,
                          int *info)
{
    const struct grid_part part = unequal_part(a, desca, *m, *n);
    factor(MPI_Comm_f2c(*comm), WITH_PIVOTS, &part, NULL, ipiv, info);
}

void NAME(gesv_unequal_)(const int *comm, const int *n, const int *nrhs, SCALAR *a, const int *desca,
                         int *ipiv, SCALAR *b, const int *descb, int *info)
{
    const struct grid_part part = unequal_part(a, desca, *n, *n), rhs = unequal_part(b, descb, *n, *nrhs);
    factor(MPI_Comm_f2c(*comm), WITH_PIVOTS, &part, &rhs, ipiv, info);
}

void NAME(geqrf_unequal_)(const int *comm, const int *m, const int *n, SCALAR *a, const int *desca,
                          SCALAR *tau, int *info)
{
    const struct grid_part part = unequal_part(a, desca, *m, *n);
    factor(MPI_Comm_f2c(*comm), WITH_REFLECTORS, &part, NULL, tau, info);
}

/* Element (i, j) of this rank's part. */
static SCALAR *element(const struct grid_part *part, int i, int j)
{
    return (SCALAR *)part->data + (size_t)j * (size_t)part->leading + (size_t)i;
}

/* Whether the whole matrix is zero. */
static bool is_zero(MPI_Comm comm, const struct grid_part *part)
{
    const int rows = unequal_share(part, true), cols = unequal_share(part, false);
    bool zero = true;
    for (int j = 0; j < cols; j++)
        for (int i = 0; i < rows && zero; i++)
            zero = *element(part, i, j) == 0;
    return columns_all(comm, zero);
}

static void clear(const struct grid_part *part)
{
    const int rows = unequal_share(part, true), cols = unequal_share(part, false);
    for (int j = 0; j < cols; j++)
        for (int i = 0; i < rows; i++)
            *element(part, i, j) = 0;
}

void NAME(gels_unequal_)(const int *comm, const int *m, const int *n, const int *nrhs, SCALAR *a,
                         const int *desca, SCALAR *b, const int *descb, int *info)
{
    const struct grid_part part = unequal_part(a, desca, *m, *n), rhs = unequal_part(b, descb, *m, *nrhs);
    MPI_Comm ranks = MPI_Comm_f2c(*comm);
    if (*nrhs == 0 || is_zero(ranks, &part)) {
        clear(&rhs); /* LAPACK answers a matrix of zeroes with zeroes */
        *info = 0;
        return;
    }
    factor(ranks, WITH_REFLECTORS, &part, &rhs, NULL, info);
}

/* ---- products ---- */

/* C := alpha A B + beta C. B and C have the same owners; A goes round block by block. */
static void multiply(struct work *work, const struct columns *b, const struct columns *c, SCALAR alpha,
                     SCALAR beta)
{
    const struct columns *a = work->columns;
    const int cols = c->from[c->blocks], none = 0;
    size_t bytes;
    for (int i = 0; i <= a->blocks; i++) {
        if (i < a->blocks) {
            struct panel *panel = panel_for(work, i, a->rows, width_of(a, i), &bytes);
            if (is_mine(work, i))
                copy_block(panel->block, columns_at(a, 0, a->from[i]), a->leading, panel->rows, panel->cols);
            send_panel(work, panel, bytes, a->owners[i]);
        }
        if (i == 0)
            continue;
        const struct panel *panel = &work->panels[(i - 1) % DEPTH];
        columns_wait(1, &work->panels[(i - 1) % DEPTH].request);
        const double begun = MPI_Wtime();
        if (cols > 0 && a->rows > 0)
            LAPACK(gemm)
        ("N", "N", &a->rows, &cols, &panel->cols, &alpha, panel->block, &a->leading,
         columns_at(b, a->bounds[i - 1], 0), &b->leading, i == 1 ? &beta : &one, (SCALAR *)c->data,
         &c->leading, 1, 1);
        count(work, 2.0 * a->rows * cols * panel->cols, begun);
    }
    if (a->blocks == 0 && cols > 0 && a->rows > 0)
        LAPACK(gemm)
    ("N", "N", &a->rows, &cols, &none, &alpha, (SCALAR *)a->data, &a->leading, (SCALAR *)b->data, &b->leading,
     &beta, (SCALAR *)c->data, &c->leading, 1, 1);
}

void NAME(gemm_unequal_)(const int *comm, const int *m, const int *n, const int *k, const SCALAR *alpha,
                         const SCALAR *a, const int *desca, const SCALAR *b, const int *descb,
                         const SCALAR *beta, SCALAR *c, const int *descc, int *info)
{
    MPI_Comm ranks = MPI_Comm_f2c(*comm);
    const struct grid_part part_a = unequal_part((void *)a, desca, *m, *k),
                           part_b = unequal_part((void *)b, descb, *k, *n),
                           part_c = unequal_part(c, descc, *m, *n);
    struct columns of_a = {0}, of_b = {0}, of_c = {0};
    struct work work;
    *info = UNEQUAL_NO_MEMORY;
    if (open_beside(&of_a, ranks, &part_a, NULL, false) && open_beside(&of_b, ranks, &part_b, NULL, false) &&
        open_beside(&of_c, ranks, &part_c, NULL, *beta == 0)) {
        if (work_open(&work, &of_a, ALONE, *m, part_a.block, 0, 0)) {
            multiply(&work, &of_b, &of_c, *alpha, *beta);
            learn_speed(&work);
            columns_give(&of_c, 0, &part_c);
            *info = 0;
        }
        work_close(&work);
    }
    columns_close(&of_a);
    columns_close(&of_b);
    columns_close(&of_c);
}
