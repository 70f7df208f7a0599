/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders of a daemon to its porters. They block: for threads without locks.
 */
#ifndef SED_PORTER_ORDER_H
#define SED_PORTER_ORDER_H

#include "sed/porter/porter.h"

/* Where porters listen for orders. */
struct porter_list {
    char paths[PORTERS_MOST][PORTER_PATH];
    uint32_t n;
};

/* Lends the pieces that the order tells of, in the memory of `fd` (which the porter maps; only read), until
 * *socket is closed. At most 5 s. ESP_UNREACHABLE: no porter listens there; others are the porter's. */
enum esp_status porter_lend(const char *path, const struct porter_order *order, int fd, int *socket,
                            uint16_t *port, struct esp_error *error);

struct porter_watch {
    void (*moved)(void *arg, uint64_t bytes);
    bool (*stopped)(void *arg); /* asked several times a second: true ends all with ESP_CANCELLED */
    void *arg;
};

/* Has those porters fill the pieces between them, with what place and places the order leaves open; `fd` may
 * be written. Returns when all have ended. When one fails the others are stopped. *let_go: no porter uses the
 * memory any more (they have 30 s for that). ESP_UNREACHABLE: a porter, here or there, is gone; ESP_TIMEOUT;
 * ESP_PROTOCOL: a checksum was wrong; ESP_NOT_FOUND: the other side does not know the ticket; ESP_LIMIT: the
 * plan is too large. */
enum esp_status porter_fetch_all(const struct porter_list *porters, const struct porter_order *order, int fd,
                                 const struct porter_watch *watch, bool *let_go, struct esp_error *error);

#endif
