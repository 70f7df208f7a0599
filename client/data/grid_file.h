/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptions of data in files, for other programs:
 *
 *     espalier data 1
 *     identity node7:0123456789abcdef0123456789abcdef
 *     type double
 *     dimensions 100 200
 *     mode GRPC_PERSISTENT
 */
#ifndef CLIENT_GRID_FILE_H
#define CLIENT_GRID_FILE_H

#include "client/data/grid_data.h"

/* ESP_NOT_FOUND: the value is on no server; ESP_SYSTEM: the file cannot be written. The file is whole or not
 * there. */
enum esp_status grid_file_write(const char *path, struct grid_data *grid, struct esp_error *error);
/* A description with that value, which has one user. ESP_NOT_FOUND: no file; ESP_SYNTAX tells the line. */
enum esp_status grid_file_read(const char *path, struct grid_data **grid, struct esp_error *error);

#endif
