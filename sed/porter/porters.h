/* SPDX-License-Identifier: Apache-2.0
 *
 * The porters of a server (sed/porter/porter.h): those of its ranks while these are there, else one in the
 * daemon.
 */
#ifndef SED_PORTERS_H
#define SED_PORTERS_H

#include "sed/porter/porter_order.h"
#include "sed/pool/workers.h"

struct porters;

/* The porter's port is so much greater than the server's, unless its file says otherwise. */
#define PORTERS_PORT_OFFSET 200

/* `ranks` (sed/ranks/ranks.h), which outlive it, or NULL. */
enum esp_status porters_create(struct workers *ranks, struct porters **porters, struct esp_error *error);
/* Starts the daemon's own porter, once; `host`: on which it is to be reached; `port`: there, 0 for any free
 * one. Until then, and where this fails (ESP_SYSTEM, ESP_LIMIT), there are those of the ranks only. */
enum esp_status porters_listen(struct porters *porters, const char *host, uint16_t port,
                               struct esp_error *error);
/* The ranks are about to go: there are no porters any more. */
void porters_close(struct porters *porters);
/* NULL is nothing to do, to both. */
void porters_destroy(struct porters *porters);

/* As struct server_options wants it; `porters` is a struct porters. Any thread. */
void porters_list(void *porters, struct porter_list *list);
void porters_lenders(void *porters, struct datum_key value, uint64_t ticket, struct porter_lenders *lenders);

#endif
