/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to porters (sed/porter/porter.h). The daemon sends them over a Unix socket, one connection per
 * order, which ends when either side closes it. Other porters use TCP, one connection per message of a
 * redistribution, with TLS if servers have certificates. Porters of ranks on other hosts get their
 * daemon's orders over TCP, too, always with TLS. */
#ifndef SED_PORTER_WIRE_H
#define SED_PORTER_WIRE_H

#include "core/redistribution/block_cyclic.h"
#include "core/data/datum.h"

#define PORTER_VERSION      6u
#define PORTERS_MOST        4096 /* as many as ranks of a server (sed/ranks/rank_link.h) */
#define PORTER_HOST         256  /* bytes of a host's name */
#define PORTER_TEXT         512
#define PORTER_SECRET_BYTES 32
#define PORTER_LENDERS_MOST 64
#define PORTER_LENDER_HOST  64 /* bytes of a numeric address */
#define PORTER_ORDERS       0  /* instead of a ticket, which is never 0: the connection is for an order */

/* Porters of ranks on other hosts than their daemon, which lend their cached parts (struct porter_keeper)
 * by name: a porter that knows the name may read, and the answer for a missing piece is ESP_NOT_FOUND.
 * None of them has to exist: the porters of the daemon's host lend everything. */
struct porter_lender {
    uint32_t rank;
    uint16_t port; /* 0: none */
    char host[PORTER_LENDER_HOST];
};

struct porter_lenders {
    struct datum_key name;
    /* Of encrypted connections to them, for the ticket of the request. */
    unsigned char secret[PORTER_SECRET_BYTES];
    uint32_t ranks; /* number of ranks of their job; 0: not known */
    uint32_t n;
    struct porter_lender all[PORTER_LENDERS_MOST];
};

/* ---- the daemon and its own porter; memory is sent with the order as a descriptor ---- */

enum porter_order_kind {
    PORTER_LEND = 1, /* porters with the ticket may read the pieces until the connection is closed */
    PORTER_FETCH,    /* fill pieces from other porters that lend theirs */
    PORTER_ASK,      /* check for a sign of life: a porter that does not answer is dead, not busy */
    PORTER_KEEP      /* on another host: fetch one piece into the process's cache */
};

struct porter_order {
    uint32_t kind, version;
    uint64_t ticket;
    struct datum_key key;                /* of the lent datum */
    struct block_cyclic_matrix from, to; /* `to`: of PORTER_FETCH, PORTER_KEEP */
    uint32_t element_bytes;
    /* Whether porters use encrypted connections only, and with which key (sed/porter/porter_tls.h). */
    uint32_t sealed;
    unsigned char secret[PORTER_SECRET_BYTES];
    uint64_t offset, bytes; /* of all pieces, in the memory of the order */
    struct datum_key name;  /* PORTER_KEEP: name of the cached piece */
    /* PORTER_FETCH, PORTER_KEEP: pieces place, place + places, ... are this porter's; those of other rank
     * r are at port r mod n_ports. */
    uint32_t place, places, n_ports;
    uint32_t stall_ms; /* longest silence of a source; 0: PORTER_STALL_MS */
    uint16_t ports[PORTERS_MOST];
    char host[PORTER_HOST];
    char source[PORTER_HOST];      /* the name of the lending server, for errors; "": not known */
    struct porter_lenders lenders; /* PORTER_FETCH, PORTER_KEEP: asked first */
};

enum porter_answer_kind {
    PORTER_LENT = 1, /* `port` is set */
    PORTER_MOVED,    /* `bytes` more have arrived */
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
/* Requests: the magic, the ticket, the key's two words, source and target rank, bytes of an element,
 * whether a checksum follows, and both layouts: of rows and of columns n, block, ranks, source, then
 * by_columns last. Answers: status and bytes; unless the status is ESP_OK, PORTER_TEXT bytes of text; else
 * the elements in the order of redistribution_runs(), columns in the outer loop; and, if requested, their
 * CRC32C. */

#endif
