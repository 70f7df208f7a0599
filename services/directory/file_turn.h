/* SPDX-License-Identifier: Apache-2.0
 *
 * Who writes a file that is read, changed and replaced as a whole: one after the other, or the later one
 * takes what the other has added for not there. Readers need no turn.
 */
#ifndef SERVICES_DIRECTORY_FILE_TURN_H
#define SERVICES_DIRECTORY_FILE_TURN_H

#include "util/error.h"

#include <stdint.h>

struct file_turn;

/* Waits for at most that long until nobody else writes the file, of which there need be none yet, and keeps
 * others out until file_turn_end(): processes (of other machines, too, where the file system can), and other
 * turns of this one. ESP_BUSY: another one's turn lasts longer (the text names its process); ESP_SYSTEM: the
 * file "PATH.lock", which is there while a turn lasts, cannot be made or locked. Any thread. */
enum esp_status file_turn_begin(const char *path, int64_t timeout_ms, struct file_turn **turn,
                                struct esp_error *error);
/* The next one's. NULL is nothing to do. */
void file_turn_end(struct file_turn *turn);

#endif
