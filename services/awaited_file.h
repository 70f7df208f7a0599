/* SPDX-License-Identifier: Apache-2.0
 *
 * The servers that an agent expects back (core/hierarchy/returning.h), so that it does when it was started
 * again itself: in its state folder the file "awaited" has them, which is replaced as a whole.
 */
#ifndef SERVICES_AWAITED_FILE_H
#define SERVICES_AWAITED_FILE_H

#include "core/hierarchy/returning.h"

/* Names of problems in the file, of all servers together; the rest of them is left out. */
#define AWAITED_PROBLEMS_MOST 16384

/* `now_ns` is of the clock of `returning`, `now_s` seconds since 1970. ESP_SYSTEM and others: as
 * durable_file_replace(). Waits for the disk. */
enum esp_status awaited_file_write(const char *folder, const struct returning *returning, int64_t now_ns,
                                   int64_t now_s, struct esp_error *error);
/* Adds those whose time is not over. A clock that was set back meanwhile gives nobody more time than was left
 * when the file was written. No file: there are none. ESP_CONFIG, where another version has written it or it
 * makes no sense: those in front of the line in question are expected. */
enum esp_status awaited_file_read(const char *folder, struct returning *returning, int64_t now_ns,
                                  int64_t now_s, struct esp_error *error);

#endif
