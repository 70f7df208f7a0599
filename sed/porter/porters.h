/* SPDX-License-Identifier: Apache-2.0
 *
 * The porters of a server (sed/porter/porter.h): those of its ranks while these exist, else one in the
 * daemon. */
#ifndef SED_PORTERS_H
#define SED_PORTERS_H

#include "sed/porter/porter_order.h"
#include "sed/pool/workers.h"

struct porters;

/* The porter's default port is the server's plus this. */
#define PORTERS_PORT_OFFSET 200

/* `ranks` (sed/ranks/ranks.h) must outlive it, or be NULL. */
enum esp_status porters_create(struct workers *ranks, struct porters **porters, struct esp_error *error);
/* Starts the daemon's own porter, once; `host`: the host to listen on; `port`: there, 0 for any free one.
 * Before that, and if it fails (ESP_SYSTEM, ESP_LIMIT), there are only the ranks' porters. */
enum esp_status porters_listen(struct porters *porters, const char *host, uint16_t port,
                               struct esp_error *error);
/* The ranks are about to end: there are no porters any more. */
void porters_close(struct porters *porters);
/* Both ignore NULL. */
void porters_destroy(struct porters *porters);

/* For struct server_options; `porters` is a struct porters. Any thread. */
void porters_list(void *porters, struct porter_list *list);
void porters_lenders(void *porters, struct datum_key value, uint64_t ticket, struct porter_lenders *lenders);

#endif
