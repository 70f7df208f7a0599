/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptions of data in files, for other programs:
 *
 *     espalier data 1
 *     identity node7:0123456789abcdef0123456789abcdef
 *     type double
 *     dimensions 100 200
 *     mode GRPC_PERSISTENT
 *
 * and of a container, with such lines from "identity" on for each rank at which there are data:
 *
 *     espalier data 1
 *     container 3
 *     rank 0
 *     identity ...
 *     rank 2
 *     identity ...
 *     end
 */
#ifndef CLIENT_GRID_FILE_H
#define CLIENT_GRID_FILE_H

#include "client/data/grid_data.h"

/* ESP_NOT_FOUND: the value, or one of the container, is on no server; ESP_SYSTEM: the file cannot be written.
 * The file is whole or not there. */
enum esp_status grid_file_write(const char *path, struct grid_data *grid, struct esp_error *error);
/* A description with that value, which has one user. What is in a container has no names (grid_add()).
 * ESP_NOT_FOUND: no file; ESP_SYNTAX tells the line. */
enum esp_status grid_file_read(const char *path, struct grid_data **grid, struct esp_error *error);

#endif
