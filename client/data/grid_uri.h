/* SPDX-License-Identifier: Apache-2.0
 *
 * Places of data as grpc_data.h names them: "memory:KEY", "file:PATH", "server:NAME", "data:IDENTITY".
 */
#ifndef CLIENT_GRID_URI_H
#define CLIENT_GRID_URI_H

#include "core/data/datum.h"
#include "grpc_data.h"

enum grid_place { GRID_MEMORY, GRID_FILE, GRID_SERVER, GRID_DATUM };

struct grid_uri {
    enum grid_place place;
    char *rest; /* owned: the key, the path, the name, the identity */
    grpc_data_mode_t mode;
};

struct grid_uris {
    struct grid_uri *items;
    size_t n;
};

#define GRID_MOST_URIS 64

/* Reads a list that ends with NULL (NULL: an empty one). `outputs`: with their modes (NULL: all volatile),
 * and without data; else without servers. ESP_INVALID. *uris is for grid_uris_clear() in any case. */
enum esp_status grid_uris_read(struct grid_uris *uris, const char **list, const grpc_data_mode_t *modes,
                               bool outputs, struct esp_error *error);
void grid_uris_clear(struct grid_uris *uris);
/* One URI; `rest` is for free(). */
enum esp_status grid_uri_read(const char *text, enum grid_place *place, char **rest, struct esp_error *error);
/* They as text, by blanks; for free(), NULL without memory. */
char *grid_uris_text(const struct grid_uris *uris);

/* "GRPC_PERSISTENT"; and how a value of that mode is kept. ESP_INVALID: it is none. */
const char *grid_mode_name(grpc_data_mode_t mode);
enum esp_status grid_mode_check(grpc_data_mode_t mode, struct esp_error *error);
/* It stays on servers for later calls. */
bool grid_mode_stays(grpc_data_mode_t mode);

#endif
