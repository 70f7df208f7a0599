/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of the library, and the transport that the entry point chooses for it.
 */
#ifndef CLIENT_LIFE_H
#define CLIENT_LIFE_H

#include "core/transport.h"
#include "espalier.h"
#include "services/settings.h"

#include <stdbool.h>

/* ---- implemented by the entry point: client/api/entry.c, entry_none.c in builds without a network, or a
 * test; also esp_network_check() and esp_ignore_environment() ---- */

/* Opens the transport, which is destroyed with the library. */
enum esp_status client_open_transport(const struct settings_client *settings, struct transport **transport,
                                      struct esp_error *error);

/* ---- grpc_initialize() and grpc_finalize() ---- */

/* Returns ESP_INVALID if the library is initialized already (*again). */
enum esp_status library_start(const struct esp_options *options, bool *again, struct esp_error *error);
/* Ends all sessions and waits until their threads have left. */
enum esp_status library_stop(struct esp_error *error);

#endif
