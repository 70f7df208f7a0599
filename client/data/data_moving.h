/* SPDX-License-Identifier: Apache-2.0
 *
 * What putting (client/data/data_put.c) and reading data (client/data/data_get.c) share.
 */
#ifndef CLIENT_DATA_MOVING_H
#define CLIENT_DATA_MOVING_H

#include "client/data/data.h"
#include "services/data/transfer.h"

#define DATA_MOST_RESUMED 5 /* times that a transfer goes on with a new ticket */

struct data_progress {
    struct data_told told;
    uint64_t bytes, moved;
    _Atomic int64_t since_ns; /* when something moved last, or it began */
    int64_t patience_ns;      /* that nothing may move for: as long as an answer may take */
    int64_t until_ns;         /* when all of it has to be over (client/session/deadline.h) */
};
void data_progress_begin(struct data_progress *progress, const struct engine *engine);
/* Whether nothing has moved for longer, or the time is over. */
bool data_is_late(const struct data_progress *progress);
/* How much longer nothing may move; never less than a moment. */
int64_t data_left_ms(const struct data_progress *progress);
/* What a chunk that begins now may take: so many times as long as nothing may move. */
int64_t data_chunk_ms(const struct data_progress *progress, unsigned patiences);
/* Of a transfer whose `arg` is a struct data_progress. */
void data_moved(void *arg, uint64_t bytes);

/* Ends the ticket of an offer (what was put is visible then) or of an open. */
enum esp_status data_finish(struct engine *engine, const char *address, const char *id, uint64_t ticket,
                            struct esp_error *error);
/* Moves only [from, to) of a datum, whose memory this is. */
enum esp_status data_move_range(const struct transfer_options *options, const struct ranges *done,
                                uint64_t from, uint64_t to, const void *memory, struct esp_error *error);

#endif
