/* SPDX-License-Identifier: Apache-2.0
 *
 * Saves the servers that an agent expects back (core/hierarchy/returning.h), so that the agent still
 * expects them after its own restart. They are in the file "awaited" in its state folder, which is
 * replaced as a whole. */
#ifndef SERVICES_AWAITED_FILE_H
#define SERVICES_AWAITED_FILE_H

#include "core/hierarchy/returning.h"

/* Most names of problems in the file, over all servers; further ones are left out. */
#define AWAITED_PROBLEMS_MOST 16384

/* Writes the file. `now_ns` is of the clock of `returning`, `now_s` seconds since 1970. Errors as for
 * durable_file_replace(). Waits for the disk. */
enum esp_status awaited_file_write(const char *folder, const struct returning *returning, int64_t now_ns,
                                   int64_t now_s, struct esp_error *error);
/* Adds the servers whose time is not over. If the clock was set back meanwhile, no server gets more time
 * than was left when the file was written. Without a file, adds none. ESP_CONFIG when the file is of
 * another version or malformed: servers before the bad line are added. */
enum esp_status awaited_file_read(const char *folder, struct returning *returning, int64_t now_ns,
                                  int64_t now_s, struct esp_error *error);

#endif
