/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes over a TCP connection, as porters and the envoys of ranks send and receive them: all or nothing,
 * given up when nothing moves for long or somebody says that it is over.
 */
#ifndef SED_PORTER_STREAM_H
#define SED_PORTER_STREAM_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>

#define PORTER_STALL_MS 30000 /* without a byte, where nobody says otherwise */

/* Ends waiting: an eventfd that is readable for good once it is over, and the daemon's socket, which is
 * closed when the order is withdrawn (-1: none). */
struct porter_end {
    int stop, order;
    int stall_ms; /* for how long nothing may move; 0: PORTER_STALL_MS */
};

/* Until the socket can be read (or written); timeout_ms -1: for ever. ESP_TIMEOUT, ESP_CANCELLED: it is over.
 */
enum esp_status porter_wait(int socket, bool write, const struct porter_end *end, int timeout_ms,
                            struct esp_error *error);
/* For how long nothing may move. */
int porter_stall_ms(const struct porter_end *end);
/* All of these bytes, or ESP_UNREACHABLE (closed), ESP_TIMEOUT, ESP_CANCELLED. */
enum esp_status porter_say(int socket, const void *data, size_t bytes, const struct porter_end *end,
                           struct esp_error *error);
enum esp_status porter_hear(int socket, void *data, size_t bytes, const struct porter_end *end,
                            struct esp_error *error);

#endif
