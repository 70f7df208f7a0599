/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said to porters (sed/porter/porter.h): by the daemon, in messages over a Unix socket, one
 * connection an order, which is over when either end closes it; and by other porters over TCP, one connection
 * a message of a redistribution, in TLS where servers have certificates. Porters of ranks on other hosts have
 * their daemon's orders over TCP, too, always in TLS.
 */
#ifndef SED_PORTER_WIRE_H
#define SED_PORTER_WIRE_H

#include "core/redistribution/block_cyclic.h"
#include "core/data/datum.h"

#define PORTER_VERSION      6u
#define PORTERS_MOST        4096 /* as ranks of a server (sed/ranks/rank_link.h) */
#define PORTER_HOST         256  /* bytes of a host's name */
#define PORTER_TEXT         512
#define PORTER_SECRET_BYTES 32
#define PORTER_LENDERS_MOST 64
#define PORTER_LENDER_HOST  64 /* bytes of an address in numbers */
#define PORTER_ORDERS       0  /* in place of a ticket, which never is 0: the connection is for an order */

/* Porters of ranks on other hosts than their daemon, which lend what they keep (struct porter_keeper) under
 * the name that they know the value by: who knows it may read it, and each answers ESP_NOT_FOUND for a piece
 * that it does not keep. None of them has to be there: the porters of the daemon's host lend everything. */
struct porter_lender {
    uint32_t rank;
    uint16_t port; /* 0: none */
    char host[PORTER_LENDER_HOST];
};

struct porter_lenders {
    struct datum_key name;
    /* Of encrypted connections to them, with the ticket that they were asked about. */
    unsigned char secret[PORTER_SECRET_BYTES];
    uint32_t ranks; /* of the job that they are of; 0: not known */
    uint32_t n;
    struct porter_lender all[PORTER_LENDERS_MOST];
};

/* ---- the daemon and its own porter; memory comes with the order as a descriptor ---- */

enum porter_order_kind {
    PORTER_LEND = 1, /* whoever shows the ticket may read the pieces until the connection is closed */
    PORTER_FETCH,    /* fill pieces from other porters that lend theirs */
    PORTER_ASK,      /* whether anybody is there: what does not answer is no busy porter, but a dead one */
    PORTER_KEEP      /* on another host: fetch the one piece into what the process keeps */
};

struct porter_order {
    uint32_t kind, version;
    uint64_t ticket;
    struct datum_key key;                /* of the datum that is lent */
    struct block_cyclic_matrix from, to; /* `to`: of PORTER_FETCH, PORTER_KEEP */
    uint32_t element_bytes;
    /* Whether porters speak over encrypted connections only, and with which key (sed/porter/porter_tls.h). */
    uint32_t sealed;
    unsigned char secret[PORTER_SECRET_BYTES];
    uint64_t offset, bytes; /* of all pieces, in the memory that comes with it */
    struct datum_key name;  /* PORTER_KEEP: as which the piece is kept */
    /* PORTER_FETCH, PORTER_KEEP: pieces place, place + places, ... are this porter's; those of other rank r
     * are at port r mod n_ports. */
    uint32_t place, places, n_ports;
    uint32_t stall_ms; /* for how long a source may send nothing; 0: PORTER_STALL_MS */
    uint16_t ports[PORTERS_MOST];
    char host[PORTER_HOST];
    char source[PORTER_HOST];      /* the name of the server that lends, for errors; "": not known */
    struct porter_lenders lenders; /* PORTER_FETCH, PORTER_KEEP: who is asked first */
};

enum porter_answer_kind {
    PORTER_LENT = 1, /* `port` is where */
    PORTER_MOVED,    /* `bytes` more have come */
    PORTER_THERE,    /* to PORTER_ASK */
    PORTER_ENDED     /* `status`, `text`: the memory is not used any more */
};

struct porter_answer {
    uint32_t kind, status, port;
    uint64_t bytes;
    char text[PORTER_TEXT];
};

/* ---- two porters: 64-bit words, little-endian ---- */

#define PORTER_MAGIC         0x3152455452504553u /* "SEPRTER1" */
#define PORTER_REQUEST_WORDS 25
/* Requests: the magic, the ticket, the key's two words, source and target rank, bytes of an element, whether
 * a checksum follows, and both layouts: of rows and of columns n, block, ranks, source, then by_columns last.
 * Answers: status and bytes; unless the status is ESP_OK, PORTER_TEXT bytes of text; else the elements in the
 * order of redistribution_runs(), columns outside; and, where it was asked for, their CRC32C. */

#endif
