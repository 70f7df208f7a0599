/* SPDX-License-Identifier: Apache-2.0
 *
 * Transfers of data (grpc_data.h), and deletions, in the background.
 */
#ifndef CLIENT_GRID_TRANSFER_H
#define CLIENT_GRID_TRANSFER_H

#include "client/data/grid_data.h"

/* Takes the value in (`anew`: also when it has one) and brings it out: begun when this returns, after those
 * before it. Its end, and how, is that of the holding. ESP_NO_MEMORY. */
enum esp_status grid_transfer(struct grid_data *grid, struct engine *engine, bool anew,
                              struct esp_error *error);
/* Deletes, in the background, values of an array on servers that others have taken the place of and nobody
 * else has a name for; those that a session may still want (unless `even_read`) later. Of a container:
 * nothing. */
void grid_drop_old(struct grid_data *grid, struct engine *engine, bool even_read);
/* Returns when none is under way in this process. */
void grid_transfers_end(void);

/* Forgets the transfers of the parent, before a new life of the library in a forked child. False: another
 * thread of the parent was in the middle of a change at the fork. */
bool grid_transfers_after_fork(void);

#endif
