/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal of a run: which tasks have ended, and where their data are, so that the run can go on after its
 * client was killed. The file is locked while a run has it.
 *
 * The file is text. The first line is "espalier flow 1 DIGEST PID", the others are, in the order of the ends:
 *
 *   data TASK OUTPUT ID       an output lives on servers
 *   scalar TASK OUTPUT HEX    an output that is no array: its 16 bytes
 *   done TASK                 all outputs of the task are in the lines above
 */
#ifndef FLOW_JOURNAL_H
#define FLOW_JOURNAL_H

#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

#define JOURNAL_MOST_BYTES (256 << 20)

struct journal;

struct journal_entry {
    enum { JOURNAL_DATA, JOURNAL_SCALAR, JOURNAL_DONE } kind;
    uint32_t task;
    uint8_t output;
    const char *id;           /* JOURNAL_DATA */
    unsigned char scalar[16]; /* JOURNAL_SCALAR */
};

/* Opens or begins the journal at `path` for a run with that digest, and calls `entry` for each line that is
 * there. A last line that is not whole is removed. ESP_BUSY: another run has it. ESP_INVALID: it is of
 * another run, or of another flow. */
enum esp_status journal_open(const char *path, uint64_t digest,
                             void (*entry)(void *arg, const struct journal_entry *entry), void *arg,
                             struct journal **journal, struct esp_error *error);
/* Closes it. `remove`: the run has ended, and the file goes. NULL is fine. */
void journal_close(struct journal *journal, bool remove);

/* Add a line. What cannot be written is told by journal_error(). */
void journal_add_data(struct journal *journal, uint32_t task, uint8_t output, const char *id);
void journal_add_scalar(struct journal *journal, uint32_t task, uint8_t output, const void *bytes);
void journal_add_done(struct journal *journal, uint32_t task);
/* ESP_OK, or why the last line could not be written. */
enum esp_status journal_error(const struct journal *journal, struct esp_error *error);

/* For who is not the run: *pid is the process that has the journal now, 0: none, and the file is locked by
 * the caller until journal_close(). Calls `entry` as journal_open() in that case. ESP_NOT_FOUND. */
enum esp_status journal_inspect(const char *path, void (*entry)(void *arg, const struct journal_entry *entry),
                                void *arg, long *pid, struct journal **journal, struct esp_error *error);

#endif
