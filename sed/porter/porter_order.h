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
    bool of_ranks; /* each is the porter of the rank of that number */
};

/* "rank 1 of 4" or "porter 0 of 1". */
#define PORTER_NAME 48
const char *porter_name(const struct porter_list *porters, uint32_t place, char text[PORTER_NAME]);

/* Lends the pieces that the order tells of, in the memory of `fd` (which the porter maps; only read), until
 * *socket is closed. ESP_UNREACHABLE: no porter listens there; ESP_TIMEOUT: it has not answered in that time;
 * others are the porter's. */
enum esp_status porter_lend(const char *path, const struct porter_order *order, int fd, int timeout_ms,
                            int *socket, uint16_t *port, struct esp_error *error);

struct porter_watch {
    void (*moved)(void *arg, uint64_t bytes);
    bool (*stopped)(void *arg); /* asked several times a second: true ends all with ESP_CANCELLED */
    void *arg;
    /* A porter of these is silent: told at once, as it may not let go of the memory for long. Or NULL. */
    void (*silent)(void *arg, const struct esp_error *error);
    int64_t patience_ms; /* with one that does not even answer the question whether it is there; 0: 30 s */
};

/* Has those porters fill the pieces between them, with what place and places the order leaves open; `fd` may
 * be written. Returns when all have ended. When one fails the others are stopped. *let_go: no porter uses the
 * memory any more (they have 30 s for that). ESP_UNREACHABLE: a porter, here or there, is gone;
 * ESP_TIMEOUT: a source has sent nothing for order->stall_ms, or a porter of these is silent; ESP_PROTOCOL: a
 * checksum was wrong; ESP_NOT_FOUND: the other side does not know the ticket; ESP_LIMIT: the plan is too
 * large. */
enum esp_status porter_fetch_all(const struct porter_list *porters, const struct porter_order *order, int fd,
                                 const struct porter_watch *watch, bool *let_go, struct esp_error *error);

#endif
