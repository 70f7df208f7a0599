/* SPDX-License-Identifier: Apache-2.0
 *
 * Porters move matrices in pieces from one server to another. Each rank of a parallel server has one, a
 * thread that listens beside the routines, and a daemon has one for data without ranks. A datum that gets
 * another layout elsewhere moves according to the plan of that redistribution
 * (core/redistribution/redistribution.h): each message goes directly from the porter that has the data to
 * the porter that needs them, from the memory of one store into that of the other, without a buffer.
 *
 *     porter.c          the porter: its listening thread, the pieces it lends, and how it fills pieces
 *     porter_message.c  the elements of a message, through a socket
 *     porter_order.c    the daemon's side */
#ifndef SED_PORTER_H
#define SED_PORTER_H

#include "sed/porter/porter_wire.h"

#define PORTER_PATH 108 /* bytes of a Unix socket's path */

struct porter;

/* Listens at `path` for orders of processes of the same user, and on any free TCP port of `host` (a name
 * or an address; NULL or "": all interfaces) for porters. Threads have all signals blocked. ESP_LIMIT: the
 * path is too long; ESP_SYSTEM. */
enum esp_status porter_create(const char *path, const char *host, struct porter **porter,
                              struct esp_error *error);
/* Like porter_create(), on that TCP port (0: any free one). ESP_SYSTEM with errno if the port is in use. */
enum esp_status porter_create_at(const char *path, const char *host, uint16_t port, struct porter **porter,
                                 struct esp_error *error);
/* Takes orders at another path, because the old one was removed. `path` has at most PORTER_PATH bytes with
 * its NUL. ESP_SYSTEM, ESP_LIMIT: nothing changes. Any thread. */
enum esp_status porter_listen_again(struct porter *porter, const char *path, struct esp_error *error);
/* A process's cache of parts of data: porters that know a name may read its pieces (struct
 * porter_lenders), and the daemon may add some (PORTER_KEEP). */
struct porter_keeper {
    /* Returns the piece with that number, `bytes` of it, by columns without gaps, which stays until
     * let(*held). NULL: it is not there. Threads of the porter call both. */
    const char *(*hold)(struct datum_key name, const struct block_cyclic_matrix *layout, int64_t piece,
                        uint32_t element_bytes, uint64_t bytes, void **held);
    void (*let)(void *held);
    /* Returns room for that piece, to be filled by the caller, who then calls filled(held), and let(held)
     * in any case. NULL: there is no room, or another thread fills it. */
    char *(*make)(struct datum_key name, const struct block_cyclic_matrix *layout, int64_t piece,
                  uint32_t element_bytes, uint64_t bytes, void **held);
    void (*filled)(void *held);
    /* Gets the key of encrypted connections for that ticket, or PORTER_ORDERS. False: it has none. NULL:
     * there are no encrypted connections. */
    bool (*key)(uint64_t ticket, unsigned char secret[PORTER_SECRET_BYTES]);
    bool sealed; /* it lends over encrypted connections only */
};
/* Creates a porter that lends what `keeper` has, and takes orders over encrypted connections only; borrows
 * it. ESP_SYSTEM. */
enum esp_status porter_create_keeping(const struct porter_keeper *keeper, const char *host,
                                      struct porter **porter, struct esp_error *error);
/* Returns its TCP port. */
uint16_t porter_port(const struct porter *porter);
/* Ends what is in progress, and waits for that. NULL is ignored. */
void porter_destroy(struct porter *porter);

#endif
