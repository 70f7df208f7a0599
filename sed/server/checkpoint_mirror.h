/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of checkpoints on other servers, the keepers: where the client's request would go next. A copy is a
 * volatile datum in the keeper's store, whose identity is made of the call and the checkpoint's number, so
 * that whoever goes on with the call finds the newest. To the keeper the call is a client: when nobody has
 * put, looked at or renewed a copy for the lease of data (data_lease), it goes. All of this blocks: for
 * threads beside the state machine.
 */
#ifndef SED_CHECKPOINT_MIRROR_H
#define SED_CHECKPOINT_MIRROR_H

#include "core/message/message.h"
#include "core/transport.h"

/* Larger states stay on their own server: a copy goes through memory that nobody has reserved. */
#define MIRROR_MOST_BYTES ((uint64_t)256 << 20)

struct keeper {
    char name[CAP_NAME + 1], address[CAP_ADDRESS + 1];
};

/* What the copies of one call's states are called: the upper half of their identities. It cannot be guessed
 * by who does not know the call's secret. Never 0. */
uint64_t mirror_key(const struct session_id *origin);

/* The number of the newest state that the keeper has; 0: none, or it is not there. That the call goes on is
 * told by it: what the keeper has stays. */
uint64_t mirror_newest(struct transport *transport, const struct keeper *keeper, uint64_t key);
/* Fetches that state into the file. ESP_PROTOCOL: what came is none. */
enum esp_status mirror_fetch(struct transport *transport, const struct keeper *keeper, uint64_t key,
                             uint64_t number, const char *path, struct esp_error *error);
/* Puts the file's state there, and drops the older ones when it is safe. *number: which one it was.
 * ESP_LIMIT: it is too large. */
enum esp_status mirror_put(struct transport *transport, const struct keeper *keeper, uint64_t key,
                           const char *path, uint64_t *number, struct esp_error *error);
/* Drops all below that number; UINT64_MAX: all. */
void mirror_drop(struct transport *transport, const struct keeper *keeper, uint64_t key, uint64_t below);

#endif
