/* SPDX-License-Identifier: Apache-2.0
 *
 * What the functions of grpc_data.h share: client/data/grid_api.c makes and frees data,
 * client/data/grid_api_moves.c moves them and waits for that, client/data/grid_api_info.c tells of them and
 * keeps them in files.
 */
#ifndef CLIENT_GRID_API_H
#define CLIENT_GRID_API_H

#include "client/data/grid_data.h"
#include "client/library.h"
#include "grpc_data.h"

/* The code of a function outside initialize .. finalize. */
grpc_error_t grid_api_not_inside(void);
/* A wrong use, with its text: GRPC_OTHER_ERROR_CODE. */
grpc_error_t grid_api_wrong(const char *text);
/* Of functions that move nothing themselves. */
grpc_error_t grid_api_code_of(enum esp_status status);

/* How long strings are is known to servers only: there is no memory, and no file, to bring them to or take
 * them from. ESP_INVALID. */
enum esp_status grid_api_check_places(const struct grid_uris *uris, const struct datum_shape *shape,
                                      struct esp_error *error);

/* How every function on data begins: the library is entered and *grid is used; NULL: *code says why not. */
struct library *grid_api_enter(const grpc_data_t *data, struct grid_data **grid, grpc_error_t *code);
/* How it ends; returns the code. */
grpc_error_t grid_api_leave(struct grid_data *grid, grpc_error_t code);

/* Calls `what` with the data, or with each of a container's, also behind one with which it fails; the first
 * failure is told. */
enum esp_status grid_api_each(struct grid_data *grid,
                              enum esp_status (*what)(struct grid_data *grid, void *arg,
                                                      struct esp_error *error),
                              void *arg, struct esp_error *error);

#endif
