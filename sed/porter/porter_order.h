/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends a daemon's orders to its porters. The functions block: call them on threads without locks. */
#ifndef SED_PORTER_ORDER_H
#define SED_PORTER_ORDER_H

#include "sed/porter/porter.h"

/* Where porters listen for orders. */
struct porter_list {
    char paths[PORTERS_MOST][PORTER_PATH];
    uint32_t n;
    bool of_ranks; /* each is the porter of the rank with that number */
};

/* Returns "rank 1 of 4" or "porter 0 of 1". */
#define PORTER_NAME 48
const char *porter_name(const struct porter_list *porters, uint32_t place, char text[PORTER_NAME]);

/* Lends the order's pieces, in the memory of `fd` (which the porter maps read-only), until *socket is
 * closed. ESP_UNREACHABLE: no porter listens there; ESP_TIMEOUT: it has not answered in that time; other
 * errors are the porter's. */
enum esp_status porter_lend(const char *path, const struct porter_order *order, int fd, int timeout_ms,
                            int *socket, uint16_t *port, struct esp_error *error);

struct porter_watch {
    void (*moved)(void *arg, uint64_t bytes);
    bool (*stopped)(void *arg); /* called several times a second: true ends everything with ESP_CANCELLED */
    void *arg;
    /* Called at once when one of the porters is silent, because it may keep using the memory for long. Or
     * NULL. */
    void (*silent)(void *arg, const struct esp_error *error);
    int64_t patience_ms; /* for a porter that does not answer the check for a sign of life; 0: 30 s */
};

/* Lets these porters fill the pieces together, setting place and places of the order; `fd` must be
 * writable. Returns when all have ended. When one fails the others are stopped. *let_go: no porter uses
 * the memory any more (they have 30 s for that). ESP_UNREACHABLE: a porter, here or there, is gone;
 * ESP_TIMEOUT: a source has sent nothing for order->stall_ms, or one of these porters is silent;
 * ESP_PROTOCOL: a wrong checksum; ESP_NOT_FOUND: the other side does not know the ticket; ESP_LIMIT: the
 * plan is too large. */
enum esp_status porter_fetch_all(const struct porter_list *porters, const struct porter_order *order, int fd,
                                 const struct porter_watch *watch, bool *let_go, struct esp_error *error);

#endif
