/* SPDX-License-Identifier: Apache-2.0
 *
 * Porters carry matrices in pieces from one server to another: each rank of a parallel server has one, a
 * thread that listens beside the routines, and a daemon has one for what ranks do not carry. A datum that is
 * to lie otherwise elsewhere moves as the plan of that redistribution says
 * (core/redistribution/redistribution.h), each message from the porter that has the piece straight to the one
 * that wants it, out of the memory of the one store into that of the other, without a buffer between.
 *
 *     porter.c          the porter: its listening thread, the pieces it lends, and how it fills pieces
 *     porter_message.c  the elements of a message, through a socket
 *     porter_order.c    the daemon's side
 */
#ifndef SED_PORTER_H
#define SED_PORTER_H

#include "sed/porter/porter_wire.h"

#define PORTER_PATH 108 /* bytes of a Unix socket's path */

struct porter;

/* Listens at `path` for orders of processes of the same user, and on any free TCP port of `host` (a name or
 * an address; NULL or "": all interfaces) for porters. Threads with all signals blocked. ESP_LIMIT: the path
 * is too long; ESP_SYSTEM. */
enum esp_status porter_create(const char *path, const char *host, struct porter **porter,
                              struct esp_error *error);
/* The same on that TCP port (0: any free one). ESP_SYSTEM with errno where the port is in use. */
enum esp_status porter_create_at(const char *path, const char *host, uint16_t port, struct porter **porter,
                                 struct esp_error *error);
/* Takes orders at another path, in place of the one that somebody has removed. `path` has at most PORTER_PATH
 * bytes with its NUL. ESP_SYSTEM, ESP_LIMIT: all stays as it was. Any thread. */
enum esp_status porter_listen_again(struct porter *porter, const char *path, struct esp_error *error);
/* What a process keeps of data, piece by piece, to be read by whoever knows the name (struct porter_lenders),
 * and to be added to by its daemon (PORTER_KEEP). */
struct porter_keeper {
    /* The piece of that number, `bytes` of it, by columns without gaps, which stays until let(*held). NULL:
     * it is not kept. Threads of the porter call both. */
    const char *(*hold)(struct datum_key name, const struct block_cyclic_matrix *layout, int64_t piece,
                        uint32_t element_bytes, uint64_t bytes, void **held);
    void (*let)(void *held);
    /* Room for that piece, to be filled by who then says filled(held), and let(held) in any case. NULL: there
     * is none, or somebody else fills it. */
    char *(*make)(struct datum_key name, const struct block_cyclic_matrix *layout, int64_t piece,
                  uint32_t element_bytes, uint64_t bytes, void **held);
    void (*filled)(void *held);
    /* The key of encrypted connections for that ticket, or PORTER_ORDERS. False: it has none. NULL: there are
     * no encrypted connections. */
    bool (*key)(uint64_t ticket, unsigned char secret[PORTER_SECRET_BYTES]);
    bool sealed; /* it lends over encrypted connections only */
};
/* One that lends what `keeper` has, and takes orders over encrypted connections only; borrowed. ESP_SYSTEM.
 */
enum esp_status porter_create_keeping(const struct porter_keeper *keeper, const char *host,
                                      struct porter **porter, struct esp_error *error);
/* Its TCP port. */
uint16_t porter_port(const struct porter *porter);
/* Ends what is under way, and waits for it. NULL is nothing to do. */
void porter_destroy(struct porter *porter);

#endif
