/* SPDX-License-Identifier: Apache-2.0
 *
 * Data on servers: who has a datum. What programs ask for is in espalier.h (client/data.c, data_look.c).
 */
#ifndef CLIENT_DATA_H
#define CLIENT_DATA_H

#include "client/engine.h"
#include "core/datum.h"

/* Servers that were found, one behind the other. */
struct data_holder {
    char server[CAP_NAME + 1];
    char address[CAP_ADDRESS + 1];
};

#define DATA_MOST_HOLDERS 16

/* Who holds the datum: first the server that made it is asked, then (`all`, or when it has it not) the
 * others. At most DATA_MOST_HOLDERS. ESP_NOT_FOUND with what its maker says of it. */
enum esp_status data_find(struct engine *engine, const char *id, bool all, struct data_holder *holders,
                          size_t *n_holders, struct esp_error *error);

/* Every server of the hierarchy (`only`: that one). Stops when `visit` does not return ESP_OK. */
enum esp_status data_each_server(struct engine *engine, const char *only,
                                 enum esp_status (*visit)(void *arg, const struct data_holder *server,
                                                          struct esp_error *error),
                                 void *arg, struct esp_error *error);

/* One question about data to a server. A store that is busy is asked again for a while. The caller clears
 * *reply in every case. */
enum esp_status data_ask(struct engine *engine, const char *address, const struct message *request,
                         struct message *reply, struct esp_error *error);

#endif
