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

/* `host`: on which it is to be reached; `ranks` (sed/ranks/ranks.h), which outlive it, or NULL. ESP_SYSTEM,
 * ESP_LIMIT. */
enum esp_status porters_create(const char *host, struct workers *ranks, struct porters **porters,
                               struct esp_error *error);
/* The ranks are about to go: there are no porters any more. */
void porters_close(struct porters *porters);
/* NULL is nothing to do, to both. */
void porters_destroy(struct porters *porters);

/* As struct server_options wants it; `porters` is a struct porters. Any thread. */
void porters_list(void *porters, struct porter_list *list);

#endif
