/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends and receives bytes over a TCP connection for porters and the envoys of ranks: all or nothing,
 * ended by a lack of progress or by the caller. */
#ifndef SED_PORTER_STREAM_H
#define SED_PORTER_STREAM_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>

#define PORTER_STALL_MS 30000 /* default of the longest time without progress */

/* Descriptors that end a wait: an eventfd that becomes readable, and the daemon's socket, which is closed
 * when the order is withdrawn (-1: none). */
struct porter_end {
    int stop, order;
    int stall_ms; /* longest time without progress; 0: PORTER_STALL_MS */
};

/* Waits until the socket can be read (or written); timeout_ms -1: for ever. ESP_TIMEOUT, ESP_CANCELLED:
 * ended. */
enum esp_status porter_wait(int socket, bool write, const struct porter_end *end, int timeout_ms,
                            struct esp_error *error);
/* Returns the longest time without progress. */
int porter_stall_ms(const struct porter_end *end);
/* Sends or receives all of these bytes, or fails with ESP_UNREACHABLE (closed), ESP_TIMEOUT,
 * ESP_CANCELLED. */
enum esp_status porter_say(int socket, const void *data, size_t bytes, const struct porter_end *end,
                           struct esp_error *error);
enum esp_status porter_hear(int socket, void *data, size_t bytes, const struct porter_end *end,
                            struct esp_error *error);

#endif
