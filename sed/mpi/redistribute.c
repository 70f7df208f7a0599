/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sed/mpi/redistribute.h"
#include "sed/mpi/shared_slots.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 4711, TAKEN = 4712, DEPTH = 2 /* steps in progress at a time */ };

/* The runs of one dimension between this rank and another, computed when first needed. */
struct runs {
    struct redistribution_run *list;
    size_t n;
    bool found;
};

/* One direction of the movement for this rank: sending or receiving. */
struct side {
    int64_t rank, row, col;   /* in the grid; rank -1: not in it */
    int64_t height;           /* distance of the columns of its part */
    struct runs *rows, *cols; /* by the other rank's row and column of the grid */
    int64_t n_rows, n_cols;
};

struct slot {
    char *out, *in;
    MPI_Request request[2]; /* of the sent message (or of the acknowledgement), and of the received one */
    const struct redistribution_message *receives;
};

struct mover {
    const struct redistribution *what;
    const struct redistribution_plan *plan;
    MPI_Comm comm;
    int me;
    const char *from;
    char *to;
    size_t bytes;
    struct side sends, receives;
    struct slot slots[DEPTH];
    struct shared_slots *shared; /* NULL: messages go through MPI */
    struct esp_error *error;
};

static int64_t rank_of(const int64_t *ids, const struct block_cyclic_matrix *grid, int me)
{
    for (int64_t rank = 0; rank < block_cyclic_matrix_ranks(grid); rank++)
        if (ids[rank] == me)
            return rank;
    return -1;
}

static enum esp_status side_open(struct side *side, const struct block_cyclic_matrix *mine,
                                 const struct block_cyclic_matrix *other, const int64_t *ids, int me)
{
    int64_t cols;
    side->rank = rank_of(ids, mine, me);
    if (side->rank < 0)
        return ESP_OK;
    block_cyclic_matrix_place(mine, side->rank, &side->row, &side->col);
    block_cyclic_matrix_shape(mine, side->rank, &side->height, &cols);
    side->n_rows = other->rows.ranks;
    side->n_cols = other->cols.ranks;
    side->rows = calloc((size_t)side->n_rows, sizeof *side->rows);
    side->cols = calloc((size_t)side->n_cols, sizeof *side->cols);
    return side->rows && side->cols ? ESP_OK : ESP_NO_MEMORY;
}

static void side_close(struct side *side)
{
    for (int64_t i = 0; side->rows && i < side->n_rows; i++)
        free(side->rows[i].list);
    for (int64_t i = 0; side->cols && i < side->n_cols; i++)
        free(side->cols[i].list);
    free(side->rows);
    free(side->cols);
}

static enum esp_status find(struct runs *runs, const struct block_cyclic *from, const struct block_cyclic *to,
                            int64_t source, int64_t target, struct esp_error *error)
{
    if (runs->found)
        return ESP_OK;
    runs->found = true;
    return redistribution_runs(from, to, source, target, &runs->list, &runs->n, error);
}

/* Gets the runs of a message that this rank sends or receives. */
static enum esp_status runs_of(struct mover *mover, const struct redistribution_message *message, bool sends,
                               const struct runs **rows, const struct runs **cols)
{
    const struct block_cyclic_matrix *from = &mover->what->from, *to = &mover->what->to;
    struct side *side = sends ? &mover->sends : &mover->receives;
    int64_t source_row, source_col, target_row, target_col;
    block_cyclic_matrix_place(from, message->source, &source_row, &source_col);
    block_cyclic_matrix_place(to, message->target, &target_row, &target_col);
    struct runs *in_rows = &side->rows[sends ? target_row : source_row],
                *in_cols = &side->cols[sends ? target_col : source_col];
    enum esp_status status = find(in_rows, &from->rows, &to->rows, source_row, target_row, mover->error);
    if (status == ESP_OK)
        status = find(in_cols, &from->cols, &to->cols, source_col, target_col, mover->error);
    *rows = in_rows;
    *cols = in_cols;
    return status;
}

/* Runs of rows are usually short (a block), so that calling memcpy() for each would cost more than the
 * copy. */
static void copy_run(char *to, const char *from, size_t bytes)
{
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes == 16)
        memcpy(to, from, 16);
    else
        memcpy(to, from, bytes);
}

static enum esp_status pack(struct mover *mover, const struct redistribution_message *message, char *out)
{
    const struct runs *rows, *cols;
    enum esp_status status = runs_of(mover, message, true, &rows, &cols);
    size_t bytes = mover->bytes, height = (size_t)mover->sends.height * bytes;
    for (size_t j = 0; status == ESP_OK && j < cols->n; j++)
        for (int64_t col = 0; col < cols->list[j].length; col++) {
            const char *column = mover->from + (size_t)(cols->list[j].from + col) * height;
            for (size_t i = 0; i < rows->n; i++) {
                size_t length = (size_t)rows->list[i].length * bytes;
                copy_run(out, column + (size_t)rows->list[i].from * bytes, length);
                out += length;
            }
        }
    return status;
}

static enum esp_status unpack(struct mover *mover, const struct redistribution_message *message,
                              const char *in)
{
    const struct runs *rows, *cols;
    enum esp_status status = runs_of(mover, message, false, &rows, &cols);
    size_t bytes = mover->bytes, height = (size_t)mover->receives.height * bytes;
    for (size_t j = 0; status == ESP_OK && j < cols->n; j++)
        for (int64_t col = 0; col < cols->list[j].length; col++) {
            char *column = mover->to + (size_t)(cols->list[j].to + col) * height;
            for (size_t i = 0; i < rows->n; i++) {
                size_t length = (size_t)rows->list[i].length * bytes;
                copy_run(column + (size_t)rows->list[i].to * bytes, in, length);
                in += length;
            }
        }
    return status;
}

/* Copies elements that stay on this rank from one part to the other. */
static enum esp_status keep(struct mover *mover, const struct redistribution_message *message)
{
    const struct runs *rows, *cols;
    enum esp_status status = runs_of(mover, message, true, &rows, &cols);
    size_t bytes = mover->bytes, before = (size_t)mover->sends.height * bytes,
           after = (size_t)mover->receives.height * bytes;
    for (size_t j = 0; status == ESP_OK && j < cols->n; j++)
        for (int64_t col = 0; col < cols->list[j].length; col++) {
            const char *from = mover->from + (size_t)(cols->list[j].from + col) * before;
            char *to = mover->to + (size_t)(cols->list[j].to + col) * after;
            for (size_t i = 0; i < rows->n; i++)
                copy_run(to + (size_t)rows->list[i].to * bytes, from + (size_t)rows->list[i].from * bytes,
                         (size_t)rows->list[i].length * bytes);
        }
    return status;
}

static enum esp_status mpi_status(struct mover *mover, int code)
{
    char words[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return ESP_OK;
    MPI_Error_string(code, words, &length);
    return error_set(mover->error, ESP_FAILED, "redistribution: MPI reports: %.*s", length, words);
}

/* A message may exceed INT_MAX bytes, so count in larger elements. */
static MPI_Datatype element_type(size_t bytes)
{
    return bytes == 8 ? MPI_DOUBLE : bytes == 4 ? MPI_FLOAT : bytes == 16 ? MPI_C_DOUBLE_COMPLEX : MPI_BYTE;
}

static int message_count(const struct mover *mover, const struct redistribution_message *message)
{
    return (int)(element_type(mover->bytes) == MPI_BYTE ? message->elements * (int64_t)mover->bytes
                                                        : message->elements);
}

/* Sends a message: itself, or an empty one that says it lies in the sender's slot. */
static enum esp_status begin_send(struct mover *mover, const struct redistribution_message *message,
                                  struct slot *slot)
{
    int to = (int)mover->what->to_ids[message->target];
    enum esp_status status = pack(mover, message, slot->out);
    if (status != ESP_OK)
        return status;
    if (!mover->shared)
        return mpi_status(mover,
                          MPI_Isend(slot->out, message_count(mover, message), element_type(mover->bytes), to,
                                    TAG, mover->comm, &slot->request[0]));
    shared_slots_sync();
    status = mpi_status(mover, MPI_Irecv(NULL, 0, MPI_BYTE, to, TAKEN, mover->comm, &slot->request[0]));
    return status == ESP_OK ? mpi_status(mover, MPI_Send(NULL, 0, MPI_BYTE, to, TAG, mover->comm)) : status;
}

static enum esp_status begin_receive(struct mover *mover, const struct redistribution_message *message,
                                     struct slot *slot)
{
    int from = (int)mover->what->from_ids[message->source];
    slot->receives = message;
    return mpi_status(mover,
                      MPI_Irecv(slot->in, mover->shared ? 0 : message_count(mover, message),
                                element_type(mover->bytes), from, TAG, mover->comm, &slot->request[1]));
}

/* Starts this rank's part of a step. */
static enum esp_status begin_step(struct mover *mover, int32_t step, struct slot *slot)
{
    size_t n;
    const struct redistribution_message *messages = redistribution_plan_step(mover->plan, step, &n);
    enum esp_status status = ESP_OK;
    slot->receives = NULL;
    for (size_t i = 0; i < n && status == ESP_OK; i++)
        if (messages[i].target == mover->receives.rank)
            status = begin_receive(mover, &messages[i], slot);
    for (size_t i = 0; i < n && status == ESP_OK; i++)
        if (messages[i].source == mover->sends.rank)
            status = begin_send(mover, &messages[i], slot);
    return status;
}

static char *slot_of(const struct mover *mover, int rank, int which)
{
    return shared_slots_base(mover->shared, rank) +
           (size_t)which * (shared_slots_room(mover->shared) / DEPTH);
}

/* `which` is the slot's number: the sender packed into its own slot of the same number. */
static enum esp_status take(struct mover *mover, struct slot *slot, int which)
{
    if (!slot->receives)
        return ESP_OK;
    if (!mover->shared)
        return unpack(mover, slot->receives, slot->in);
    int from = (int)mover->what->from_ids[slot->receives->source];
    shared_slots_sync();
    enum esp_status status = unpack(mover, slot->receives, slot_of(mover, from, which));
    return status == ESP_OK ? mpi_status(mover, MPI_Send(NULL, 0, MPI_BYTE, from, TAKEN, mover->comm))
                            : status;
}

static enum esp_status end_step(struct mover *mover, int which)
{
    struct slot *slot = &mover->slots[which];
    enum esp_status status = mpi_status(mover, MPI_Wait(&slot->request[1], MPI_STATUS_IGNORE));
    if (status == ESP_OK)
        status = take(mover, slot, which);
    if (status == ESP_OK)
        status = mpi_status(mover, MPI_Wait(&slot->request[0], MPI_STATUS_IGNORE));
    return status;
}

static enum esp_status keep_all(struct mover *mover)
{
    size_t n;
    const struct redistribution_message *messages = redistribution_plan_step(mover->plan, -1, &n);
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < n && status == ESP_OK; i++)
        if (messages[i].source == mover->sends.rank && messages[i].target == mover->receives.rank)
            status = keep(mover, &messages[i]);
    return status;
}

static enum esp_status run(struct mover *mover)
{
    int32_t steps = redistribution_plan_summary(mover->plan)->steps;
    enum esp_status status = ESP_OK;
    bool kept = false;
    for (int32_t step = 0; step < steps + DEPTH - 1 && status == ESP_OK; step++) {
        if (step < steps)
            status = begin_step(mover, step, &mover->slots[step % DEPTH]);
        if (!kept && status == ESP_OK)
            status = keep_all(mover); /* while the first step is in progress */
        kept = true;
        if (step >= DEPTH - 1 && status == ESP_OK)
            status = end_step(mover, (step - DEPTH + 1) % DEPTH);
    }
    if (!kept && status == ESP_OK)
        status = keep_all(mover);
    return status;
}

static size_t longest_message(const struct mover *mover)
{
    int64_t longest = 0;
    for (int32_t step = 0; step < redistribution_plan_summary(mover->plan)->steps; step++)
        if (redistribution_plan_step_cost(mover->plan, step) > longest)
            longest = redistribution_plan_step_cost(mover->plan, step);
    return (size_t)longest * mover->bytes;
}

/* Allocates slots of one size on all ranks, so that slots of equal number lie at equal offsets. */
static enum esp_status slots_open(struct mover *mover)
{
    size_t room = (longest_message(mover) + 4095) / 4096 * 4096;
    for (int i = 0; i < DEPTH; i++)
        mover->slots[i].request[0] = mover->slots[i].request[1] = MPI_REQUEST_NULL;
    if (room > 0 && mover->shared && !shared_slots_resize(mover->shared, DEPTH * room))
        mover->shared = NULL;
    for (int i = 0; i < DEPTH && room > 0; i++) {
        struct slot *slot = &mover->slots[i];
        if (mover->shared) {
            slot->out = slot_of(mover, mover->me, i);
            continue;
        }
        slot->out = mover->sends.rank >= 0 ? malloc(room) : NULL;
        slot->in = mover->receives.rank >= 0 ? malloc(room) : NULL;
        if ((mover->sends.rank >= 0 && !slot->out) || (mover->receives.rank >= 0 && !slot->in))
            return ESP_NO_MEMORY;
    }
    return ESP_OK;
}

/* No rank starts unless all can, because others would wait for it. */
static bool all_can(const struct mover *mover, bool mine)
{
    int can = mine, all = 0;
    return MPI_Allreduce(&can, &all, 1, MPI_INT, MPI_MIN, mover->comm) == MPI_SUCCESS && all;
}

enum esp_status mpi_redistribute(const struct redistribution *what, const struct redistribution_plan *plan,
                                 MPI_Comm comm, struct shared_slots *shared, const struct mpi_parts *parts,
                                 struct esp_error *error)
{
    struct mover mover = {.what = what,
                          .plan = plan,
                          .comm = comm,
                          .shared = shared,
                          .from = parts->from,
                          .to = parts->to,
                          .bytes = parts->bytes,
                          .error = error};
    MPI_Comm_rank(comm, &mover.me);
    int me = mover.me;
    bool opened = side_open(&mover.sends, &what->from, &what->to, what->from_ids, me) == ESP_OK &&
                  side_open(&mover.receives, &what->to, &what->from, what->to_ids, me) == ESP_OK;
    opened = slots_open(&mover) == ESP_OK && opened; /* all ranks together */
    if (parts->from_leading > 0)
        mover.sends.height = parts->from_leading;
    if (parts->to_leading > 0)
        mover.receives.height = parts->to_leading;
    enum esp_status status =
        all_can(&mover, opened) ? run(&mover) : error_no_memory(error, "the messages of a redistribution");
    for (int i = 0; i < DEPTH && !mover.shared; i++) {
        free(mover.slots[i].out);
        free(mover.slots[i].in);
    }
    side_close(&mover.sends);
    side_close(&mover.receives);
    return status;
}
