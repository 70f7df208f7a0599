/* SPDX-License-Identifier: Apache-2.0
 *
 * What each of the servers on one machine promises of its memory, so that they do not promise it twice.
 *
 * A file that all of them open stands for the memory: each byte of it for one of the machine's. A server
 * locks as many bytes as it promises (fcntl(2), open file description locks) and writes nothing. The system
 * lets go of the locks when the process ends, however it ends, so there is nothing to tidy up and nothing
 * that could be out of date.
 *
 * The memory of a control group with a limit has bytes of its own, far behind those of the machine: its
 * servers lock as many of these, too.
 */
#ifndef SED_MEMORY_SHARE_H
#define SED_MEMORY_SHARE_H

#include "util/error.h"
#include <stdint.h>

/* On every Linux, and every user may write there. A container of its own has one of its own. */
#define MEMORY_SHARE_FILE "/dev/shm/espalier-memory"

struct memory_share;

/* How much there is. */
struct memory_bounds {
    uint64_t machine;
    uint64_t group; /* bytes that the processes of a control group may have together; 0: there is no limit */
    uint64_t group_id; /* as control_groups_memory_of() tells it */
    uint64_t most;     /* of what is not wanted by number; 0: whatever is left */
};

/* Takes `wanted` bytes of that, or, when wanted is 0, three quarters of what nobody has promised yet.
 * *bytes is what was locked: less than wanted when others have promised too much for that. ESP_SYSTEM when
 * the file cannot be used: nothing is taken, and *share is NULL. */
enum esp_status memory_share_take(const char *file, const struct memory_bounds *bounds, uint64_t wanted,
                                  struct memory_share **share, uint64_t *bytes, struct esp_error *error);
/* NULL is nothing to do. */
void memory_share_give(struct memory_share *share);

#endif
