/* SPDX-License-Identifier: Apache-2.0
 *
 * Redistributes data in pieces with another layout than a call needs, if its ranks are on several hosts:
 * the ranks send each other the pieces, by a plan, and the daemon sends nothing. First they exchange who
 * has which piece: ranks on other hosts have those in their cache (prd_kept.c), including ranks outside
 * the call's grid; ranks of the daemon's host can read all of the data and provide the missing ones. */
#include "sed/mpi/prd.h"

#include "core/redistribution/pieces.h"

#include <errno.h>
#include <stdlib.h>

#define NO_PIECE  -1
#define ANY_PIECE -2

/* Ranks that take part: in the grid, and outside it. */
static int64_t ranks_of(const struct ring_job *job)
{
    return (int64_t)job->grid.rows * job->grid.cols + job->beside;
}

/* Whether these may have all of its pieces, and can send them. */
static bool is_way(const struct ring_job *job, const struct ring_part *part,
                   const struct block_cyclic_matrix *from)
{
    const struct block_cyclic_matrix *to = &part->layout;
    return block_cyclic_matrix_check(from, "a datum", NULL) == ESP_OK && from->rows.n == to->rows.n &&
           from->cols.n == to->cols.n && !pieces_are_alike(from, to) &&
           block_cyclic_matrix_ranks(from) <= ranks_of(job);
}

static const struct block_cyclic_matrix *way_of(const struct ring_job *job, const struct ring_part *part,
                                                uint32_t way)
{
    const struct block_cyclic_matrix *to = &part->layout;
    if (!part->goes_in || !part->from.there || part->vector || job_key_is_none(part->from.name) ||
        to->rows.ranks != job->grid.rows || to->cols.ranks != job->grid.cols || (way > 0 && !part->from.laid))
        return NULL;
    const struct block_cyclic_matrix *from = way == 0 ? &part->from.layout : &part->from.before;
    return is_way(job, part, from) ? from : NULL;
}

uint64_t moves_of(const struct ring_job *job)
{
    uint64_t which = 0;
    for (uint32_t i = 0; i < job->n_parts && job->apart; i++)
        for (uint32_t way = 0; way < MOVE_WAYS; way++)
            if (way_of(job, &job->parts[i], way))
                which |= UINT64_C(1) << i;
    return which;
}

/* ---- exchange of offers ---- */

/* A rank's offer for one part. */
struct offer {
    int32_t pieces[MOVE_WAYS]; /* of the datum, that it can send */
    int32_t lacks;             /* it is on another host, and lacks its part */
};

/* All offers of a rank. */
struct offers {
    int32_t can, far; /* it can make the call; it is on another host */
    struct offer of[PROBLEM_MAX_ARGUMENTS];
};

void moves_hold(struct rank_state *state)
{
    const struct ring_job *job = &state->ring->job;
    const uint64_t which = moves_of(job);
    for (uint32_t i = 0; i < job->n_parts; i++)
        for (uint32_t way = 0; way < MOVE_WAYS; way++) {
            struct rank_offered *offered = &state->offered[i][way];
            const struct block_cyclic_matrix *from = which >> i & 1 ? way_of(job, &job->parts[i], way) : NULL;
            *offered = (struct rank_offered){NULL, NO_PIECE};
            if (from && state->far)
                offered->kept = kept_find_piece(job->parts[i].from.name, from, job->parts[i].element_bytes,
                                                &offered->piece);
        }
}

static void let_go(struct rank_state *state)
{
    for (uint32_t i = 0; i < state->ring->job.n_parts; i++)
        for (uint32_t way = 0; way < MOVE_WAYS; way++) {
            kept_let(state->offered[i][way].kept);
            state->offered[i][way].kept = NULL;
        }
}

static struct offer make_offer(const struct rank_state *state, uint32_t i)
{
    const struct ring_part *of = &state->ring->job.parts[i];
    const struct rank_part *part = &state->parts[i];
    struct offer offer = {.pieces = {NO_PIECE, NO_PIECE}};
    offer.lacks = state->far && state->place < state->ring->job.grid.rows * state->ring->job.grid.cols &&
                  !(part->input && part->input->whole) && part_element_bytes(of, part) > 0;
    for (uint32_t way = 0; way < MOVE_WAYS; way++) {
        const struct block_cyclic_matrix *from = way_of(&state->ring->job, of, way);
        int64_t piece = NO_PIECE;
        if (from && state->far)
            piece = state->offered[i][way].piece;
        else if (from && way == 0 && block_cyclic_matrix_ranks(from) > 1)
            piece = ANY_PIECE;
        offer.pieces[way] = (int32_t)piece;
    }
    return offer;
}

/* All offers of the ranks of the grid, and the one being examined. */
struct round {
    const struct offers *all;
    int64_t n;
    uint32_t part, way;
};

static int32_t piece_offered(const struct round *round, int64_t rank)
{
    return round->all[rank].of[round->part].pieces[round->way];
}

/* Pieces that are not offered are sent by ranks that can read everything; preferably by the rank with the
 * piece's number, which has mapped it before. False: a piece is nowhere. */
static bool choose_senders(const struct round *round, int64_t *senders, int64_t pieces)
{
    const int64_t n = round->n;
    int64_t missing = 0, next = 0;
    for (int64_t piece = 0; piece < pieces; piece++)
        senders[piece] = -1;
    for (int64_t rank = 0; rank < n; rank++) {
        const int32_t piece = piece_offered(round, rank);
        if (piece >= 0 && piece < pieces && senders[piece] < 0)
            senders[piece] = rank;
    }
    for (int64_t rank = 0; rank < n && rank < pieces; rank++)
        if (senders[rank] < 0 && piece_offered(round, rank) == ANY_PIECE)
            senders[rank] = rank;
    for (int64_t piece = 0; piece < pieces; piece++) {
        if (senders[piece] >= 0)
            continue;
        while (next < n &&
               (piece_offered(round, next) != ANY_PIECE || (next < pieces && senders[next] == next)))
            next++;
        if (next < n)
            senders[piece] = next++;
        else
            missing++;
    }
    return missing == 0;
}

static bool all_are_far(const struct round *round)
{
    for (int64_t rank = 0; rank < round->n; rank++)
        if (!round->all[rank].far)
            return false;
    return true;
}

/* ---- one part ---- */

struct one_move {
    struct rank_state *state;
    const struct ring_part *of;
    const struct rank_part *part;
    const struct block_cyclic_matrix *from;
    const int *files;        /* NULL: far */
    const struct kept *kept; /* on another host: the piece that it offers; NULL: none */
    int64_t *senders;        /* of each piece: a rank of the communicator */
};

static int64_t piece_of(const struct one_move *move)
{
    const int64_t pieces = block_cyclic_matrix_ranks(move->from);
    for (int64_t piece = 0; piece < pieces; piece++)
        if (move->senders[piece] == (int64_t)move->state->place)
            return piece;
    return -1;
}

/* Finds the data that this rank sends. ESP_OK with NULL: none. */
static enum esp_status find_source(const struct one_move *move, const void **source)
{
    const struct ring_part *of = move->of;
    const int64_t piece = piece_of(move);
    struct areas *areas = &move->state->areas;
    *source = NULL;
    if (piece < 0)
        return ESP_OK;
    const uint64_t bytes = pieces_count(move->from, piece) * of->element_bytes;
    if (!move->files)
        *source = move->kept->data;
    if (!move->files || bytes == 0)
        return ESP_OK;
    if (of->from.file >= RING_MAX_DESCRIPTORS)
        return ESP_INTERNAL;
    const uint64_t before = pieces_before(move->from, piece) * of->element_bytes;
    enum esp_status status = areas_share(areas, of->argument, move->files[of->from.file],
                                         of->from.offset + before, bytes, false, NULL);
    if (status == ESP_OK)
        *source = areas->items[areas->n - 1].data;
    return status;
}

static int64_t *receivers_of(const struct ring_job *job, const struct block_cyclic_matrix *to)
{
    const int64_t n = block_cyclic_matrix_ranks(to);
    int64_t *ids = malloc((size_t)n * sizeof *ids);
    for (int64_t rank = 0; ids && rank < n; rank++) {
        int64_t row, col;
        block_cyclic_matrix_place(to, rank, &row, &col);
        ids[rank] = row * job->grid.cols + col;
    }
    return ids;
}

static bool make_move(const struct one_move *move, const struct rank_way *way)
{
    const struct rank_part *part = move->part;
    int64_t *receivers = receivers_of(&move->state->ring->job, &move->of->layout);
    struct mpi_parts parts = {.bytes = move->of->element_bytes};
    const bool ready = find_source(move, &parts.from) == ESP_OK && receivers;
    parts.to = part->input ? part->input->data : part->data;
    parts.to_leading = part->input ? 0 : part->leading;
    const struct redistribution what = {*move->from, move->of->layout, move->senders, receivers};
    const bool moved = rank_way_move(way, &what, &parts, ready ? 0 : ENOMEM) == 0;
    free(receivers);
    return moved;
}

/* ---- all of them ---- */

static bool is_lacked(const struct offers *all, int64_t n, uint32_t i)
{
    for (int64_t rank = 0; rank < n; rank++)
        if (all[rank].of[i].lacks)
            return true;
    return false;
}

static bool all_can(const struct offers *all, int64_t n)
{
    for (int64_t rank = 0; rank < n; rank++)
        if (!all[rank].can)
            return false;
    return true;
}

/* Uses the first layout of which all pieces are available. Ranks that can read the datum itself ignore the
 * layout it was redistributed from. */
static bool move_part(struct rank_state *state, uint32_t i, const int *files, const struct offers *all,
                      const struct rank_way *way, int64_t *senders)
{
    const struct ring_job *job = &state->ring->job;
    struct round round = {all, ranks_of(job), i, 0};
    for (; round.way < MOVE_WAYS; round.way++) {
        const struct block_cyclic_matrix *from = way_of(job, &job->parts[i], round.way);
        const struct one_move move = {.state = state,
                                      .of = &job->parts[i],
                                      .part = &state->parts[i],
                                      .from = from,
                                      .files = files,
                                      .kept = state->offered[i][round.way].kept,
                                      .senders = senders};
        if (from && (round.way == 0 || all_are_far(&round)) &&
            choose_senders(&round, senders, block_cyclic_matrix_ranks(from)))
            return make_move(&move, way);
    }
    return false;
}

static void move_lacking(struct rank_state *state, uint64_t which, const int *files, const struct offers *all,
                         const struct rank_way *way)
{
    const struct ring_job *job = &state->ring->job;
    const int64_t n = ranks_of(job);
    int64_t *senders = malloc((size_t)n * sizeof *senders);
    if (!senders)
        MPI_Abort(MPI_COMM_WORLD, 1); /* the others are about to send */
    for (uint32_t i = 0; i < job->n_parts; i++)
        if ((which >> i & 1) && is_lacked(all, n, i) && move_part(state, i, files, all, way, senders))
            state->moved |= UINT64_C(1) << i;
    free(senders);
}

static const struct rank_way *way_between(const struct rank_state *state)
{
    const struct ring_job *job = &state->ring->job;
    const struct rank_grid *grid = state->grid;
    if (job->beside > 0 && rank_grid_find(job->first_rank, 1, (uint32_t)ranks_of(job), &grid, NULL) != ESP_OK)
        return NULL;
    return rank_way_of(grid->communicator);
}

void moves_make(struct rank_state *state, uint64_t which, const int *files, bool can)
{
    const struct ring_job *job = &state->ring->job;
    const int64_t n = ranks_of(job);
    struct offers mine = {.can = can, .far = state->far};
    state->moved = 0;
    if (which == 0)
        return;
    const struct rank_way *way = way_between(state);
    struct offers *all = malloc((size_t)n * sizeof *all);
    if (!way || !all)
        MPI_Abort(MPI_COMM_WORLD, 1); /* the others wait for this rank's pieces */
    for (uint32_t i = 0; can && i < job->n_parts; i++)
        if (which >> i & 1)
            mine.of[i] = make_offer(state, i);
    if (rank_way_gather(way, &mine, sizeof mine, all) == 0 && all_can(all, n))
        move_lacking(state, which, files, all, way);
    let_go(state);
    free(all);
}
