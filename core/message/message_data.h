/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages (core/message/message.h) about data that live on servers: two-way, asked by clients and by
 * servers that pull.
 */
#ifndef CORE_MESSAGE_DATA_H
#define CORE_MESSAGE_DATA_H

#include "core/message/message_basic.h"

/* A datum, as a server has it or as a client offers it. */
struct datum_info {
    const char *datum; /* identity */
    uint32_t type;     /* enum base_type */
    int64_t *dims;
    uint32_t n_dims;
    uint32_t storage; /* enum storage */
    int64_t layout_a, layout_b, layout_c;
    bool row_major;
    uint64_t bytes;
    uint32_t mode;     /* enum datum_mode */
    uint32_t flags;    /* of enum datum_flag */
    int64_t created_s; /* since 1970, by its maker's clock */
    bool complete;     /* all bytes are there, and it was finished */
    bool in_memory, on_disk;
    uint32_t users;      /* that have it open */
    uint64_t puts, gets; /* pieces that arrived, times it was opened */
    uint64_t bytes_in, bytes_out;
    uint64_t disk_reads; /* of the whole, because its memory had been given to others */
    double idle_s;       /* since its last use */
    const char *owner;   /* "": nobody in particular */
    const char *server;  /* who has it, */
    const char *address;
    struct extensions extensions;
};

/* Server: room for a datum. Said again for one that has not been finished, it goes on: the answer tells what
 * is missing, and an earlier ticket ends. One that is finished already has the ticket 0 and no gaps. */
struct offer {
    struct datum_info datum;
    struct extensions extensions;
};
/* What has not arrived, from the byte `from` up to the byte before `to`. */
struct datum_gap {
    uint64_t from, to;
};
struct offer_reply {
    struct outcome outcome;
    uint64_t ticket; /* that the chunks show */
    struct datum_gap *gaps;
    uint32_t n_gaps;
    struct extensions extensions;
};

/* Server: a datum is wanted. It stays readable with the ticket until the asker has finished, or has not been
 * heard of for a while, also when it is deleted meanwhile. */
struct open {
    const char *datum;
    struct extensions extensions;
};
struct open_reply {
    struct outcome outcome;
    struct datum_info datum;
    uint64_t ticket;
    struct extensions extensions;
};

/* Server: of an offer: all chunks have been put; it is visible from now on, and a persistent one is on disk,
 * when the answer comes (said again: the same). Of an open: it has been read. Answered with a done_reply. */
struct finish {
    const char *datum;
    uint64_t ticket;
    struct extensions extensions;
};

/* Server: the datum is not wanted any more; with the ticket of an offer: not after all. Answered with a
 * done_reply. */
struct drop {
    const char *datum;
    uint64_t ticket; /* 0: the datum itself */
    struct extensions extensions;
};

/* Server: its data, in order of their identities. Agent: where that one is (one entry for each holder). */
struct data {
    const char *datum; /* only this one; "": all */
    const char *after; /* behind this identity; "" from the start */
    uint32_t limit;
    struct extensions extensions;
};
/* Tag in an offer, an open and a server's data: the client's id (two little-endian 64-bit numbers, high and
 * low): its volatile data are kept for a lease after the last sign of it. */
#define EXTENSION_DATA_CLIENT 43
#define DATA_CLIENT_BYTES     16
/* Tag in a pull: eight bytes, milliseconds (little-endian) that the asker is ready to wait for room, and
 * without anything of it coming; without it a minute. */
#define EXTENSION_PATIENCE 80
/* Tag in a pull of a datum that is there: names of other servers that keep it for good, each with its NUL;
 * they are noted, and nothing is fetched. Tag in a data_reply of a server about one datum: the same of those
 * that keep it, or to which it has moved from there, whether they are reached or not. */
#define EXTENSION_PLACES 82
/* Tag in a data request to a server: the files that were damaged and set aside there are wanted in place of
 * data; the answer has it too (one of an earlier version has not, and tells of data). Entries are as of the
 * datum, `bytes` those of the file; those that are not `complete` have a damaged header: nothing but identity
 * and bytes counts. Tag in a drop, with a ticket of DAMAGED_TICKET, which earlier versions refuse: what was
 * set aside of that datum is to be removed. */
#define EXTENSION_DAMAGED 83
#define DAMAGED_TICKET    UINT64_MAX
/* Tag in a session_report: the seconds, a double of 8 bytes, little-endian, in which the server waited for
 * data that live on servers, when all was there that comes from the client. */
#define EXTENSION_FETCH_TIME 95
/* Tag in a call_request: as EXTENSION_KEPT, of arrays of strings, whose length is known when they are there.
 * One for which there is no room then comes as other results do, and so do those of earlier versions. */
#define EXTENSION_KEPT_TEXTS 91
/* Tag in a call_request: bytes at both ends of outputs that stay by EXTENSION_KEPT, which are to come at
 * once: EDGES_BYTES each: the argument's index, how many of the first, and how many of the last bytes, as
 * 4-byte little-endian numbers. Tag in the session_report of a session that is done: the same, each with
 * these bytes behind it. Those that are not there (of a server of an earlier version, of a result in pieces)
 * are read from the datum. */
#define EXTENSION_EDGES 108
#define EDGES_BYTES     12
#define EDGES_MOST      (64u << 10) /* of one end */
/* Tag in a data_reply of a server about one datum, which is not there: who may delete it has done so,
 * everywhere; who keeps it still may let go of it. */
#define EXTENSION_DELETED 90
/* Tag in a drop: names of servers, each with its NUL, that need not be named any more as those that keep the
 * datum, which has been deleted here: it has gone from there, too, or is given up. Nothing is deleted. */
#define EXTENSION_SETTLED 84
/* Tag in a data request to a master agent about one datum, empty: the asker has given it up while servers
 * that may have it could not be reached, and those are to delete it when they are back. Tag in the answer:
 * that is noted (one of an earlier version has not). Tag in an order to a child of that verb: identity and
 * owner (datum_given_up_pack()) of a datum that is there, or below there, and is to go. */
#define EXTENSION_DISOWNED 126
#define ORDER_GIVEN_UP     "given-up"
/* Of PASS_GIVEN_UP, between master agents. In a pass: the sum of what the sender knows to be given up
 * (disowned_sum(), 8 bytes) and a byte: 1 says that the sender was told another one, and needs not be told
 * again. Who has another sum asks for the list, empty, in a pass; it comes in a passed with the id of that
 * one: of each datum the seconds since 1970 (8 bytes, little-endian) at which it was given up, and what
 * datum_given_up_pack() makes. */
#define EXTENSION_GIVEN_UP_SUM    138
#define GIVEN_UP_SUM_BYTES        9
#define EXTENSION_GIVEN_UP_WANTED 139
#define EXTENSION_GIVEN_UP_LIST   140
/* Tag in an open: the name of the server that fetches the datum because a session there needs it. */
#define EXTENSION_FETCHER 45
/* Tag in an open_reply to such a server: a byte, not 0: its copy is one that may stay there as a replica. */
#define EXTENSION_REPLICA 46
/* Tag in an open: name and address of the server that fetches the datum, each with its NUL. Tag in a
 * data_reply of a server: the same of those that may have copies of that one datum of which agents know
 * nothing yet. */
#define EXTENSION_COPIES 47
/* Tag in a drop: the datum lives on elsewhere, only the copy here goes. Not empty: it has moved to the server
 * of that name, and the copy goes only if it is a replica. */
#define EXTENSION_ELSEWHERE 48
/* Tag in an open: the server of that name wants to have the original in place of this one; no other is let in
 * for that meanwhile. Tag in its reply, empty: so it shall be. Tag in a finish: that server has it, the one
 * here is to go. Tag in a pull (of a copy that is kept): the server of that name has lost the original: the
 * replica here becomes it, and nothing is fetched. */
#define EXTENSION_MOVES 49
/* Tag in a data_reply of an agent: the address of the agent above, which may know more. */
#define EXTENSION_ABOVE 41
/* Tag in an open: porters are to lend the pieces (sed/porter/porter.h), with any value over encrypted
 * connections, without one in the open. In its reply: the ports of these, 16-bit numbers, little-endian; the
 * host is that of the address. Where they are encrypted a port of 0 and the key of 32 bytes
 * (sed/porter/porter_tls.h) come before. */
#define EXTENSION_PORTERS 65
/* Tag in such a reply, where they are not encrypted: porters of ranks on other hosts, which may keep pieces
 * and are to be asked first. The name of the value there (two 64-bit numbers); then of each porter its rank
 * (32 bits), port (16 bits), the length of its address (8 bits) and the address in numbers. Little-endian. */
#define EXTENSION_LENDERS 141
/* Tag in such a reply, where they are encrypted and the server has certificates: the same, behind the key of
 * connections to them for the ticket (32 bytes). */
#define EXTENSION_LENDERS_SEALED 142
/* Tag in a pull: another datum of the same value is wanted, that lies as this says: rows and columns of ranks
 * (0: in one piece), rows and columns of a block, as 64-bit numbers, little-endian, then its identity. */
#define EXTENSION_LAID 66
#define LAID_WORDS     4
/* Tag in such a pull: a byte. 0: the asker will say that he has its identity, and until then it is not to
 * outlive him; not 0: he has it. Without it (earlier versions), it stays whoever asks. */
#define EXTENSION_LAID_TAKEN 92
struct data_reply {
    struct outcome outcome;
    struct datum_info *items;
    uint32_t n;
    bool more;
    struct extensions extensions;
};

/* Server: fetch the datum from one of those (in this order), or from whom the agents name. Answered when it
 * is here, or after the patience with how far it is; said again it goes on. */
struct pull_request {
    const char *datum;
    const char **sources; /* addresses */
    uint32_t n_sources;
    uint32_t mode; /* enum datum_mode: of what is here then */
    uint32_t flags;
    uint64_t patience_ms;
    struct extensions extensions;
};
struct pull_reply {
    struct outcome outcome; /* ESP_OK with complete unset: it is on its way */
    bool complete;
    uint64_t arrived, bytes;
    struct extensions extensions;
};

#endif
