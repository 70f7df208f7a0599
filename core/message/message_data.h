/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages (core/message/message.h) about data that live on servers: two-way, from clients and from
 * servers that pull. */
#ifndef CORE_MESSAGE_DATA_H
#define CORE_MESSAGE_DATA_H

#include "core/message/message_basic.h"

/* A datum that a server has or a client offers. */
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
    int64_t created_s; /* seconds since 1970, by its creator's clock */
    bool complete;     /* all bytes have arrived, and it was finished */
    bool in_memory, on_disk;
    uint32_t users;      /* number of processes that have it open */
    uint64_t puts, gets; /* pieces that arrived; times it was opened */
    uint64_t bytes_in, bytes_out;
    uint64_t disk_reads; /* times all of it was read from disk, because its memory had been freed */
    double idle_s;       /* since its last use */
    const char *owner;   /* "": no owner */
    const char *server;  /* the server that has it, */
    const char *address;
    struct extensions extensions;
};

/* Server: asks for room for a datum. A repeated offer of an unfinished datum continues it: the reply lists
 * the gaps, and an earlier ticket ends. The reply for a finished datum has ticket 0 and no gaps. */
struct offer {
    struct datum_info datum;
    struct extensions extensions;
};
/* Bytes that have not arrived, from byte `from` up to the byte before `to`. */
struct datum_gap {
    uint64_t from, to;
};
struct offer_reply {
    struct outcome outcome;
    uint64_t ticket; /* the chunks carry it */
    struct datum_gap *gaps;
    uint32_t n_gaps;
    struct extensions extensions;
};

/* Server: asks to read a datum. It stays readable with the ticket until the reader has finished, or has
 * been silent for a while, even if it is deleted meanwhile. */
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

/* Server: ends an offer or an open. Of an offer: all chunks have been put; when the reply comes, the datum
 * is visible, and a persistent one is on disk (a repeated finish has the same effect). Of an open: the
 * datum has been read. The reply is a done_reply. */
struct finish {
    const char *datum;
    uint64_t ticket;
    struct extensions extensions;
};

/* Server: deletes a datum; with the ticket of an offer, withdraws the offer. The reply is a done_reply. */
struct drop {
    const char *datum;
    uint64_t ticket; /* 0: the datum itself */
    struct extensions extensions;
};

/* Server: lists its data, in order of their identities. Agent: lists the holders of one datum (one entry
 * each). */
struct data {
    const char *datum; /* only this datum; "": all */
    const char *after; /* only identities after this one; "": from the start */
    uint32_t limit;
    struct extensions extensions;
};
/* Tag in an offer, an open and a server's data: the client's id (two little-endian 64-bit numbers, high
 * and low). The client's volatile data are kept for a lease after its last message. */
#define EXTENSION_DATA_CLIENT 43
#define DATA_CLIENT_BYTES     16
/* Tag in a pull: milliseconds (8 bytes, little-endian) that the client waits for room, and for the next
 * bytes to arrive. Default: a minute. */
#define EXTENSION_PATIENCE 80
/* Tag in a pull of a datum that is present: names of other servers with permanent copies, each with its
 * NUL; the server notes them and fetches nothing. Tag in a server's data_reply about one datum: the
 * servers with permanent copies, or to which the datum has moved, whether reachable or not. */
#define EXTENSION_PLACES 82
/* Tag in a data request to a server: lists the damaged files that were quarantined there instead of data;
 * the reply has the tag too. Its entries describe the datum, except that `bytes` is the file's size. If an
 * entry is not `complete`, the file's header is damaged, and only identity and bytes are valid. Tag in a
 * drop with the ticket DAMAGED_TICKET: removes the quarantined files of that datum. */
#define EXTENSION_DAMAGED 83
#define DAMAGED_TICKET    UINT64_MAX
/* Tag in a session_report: seconds (a double of 8 bytes, little-endian) that the server waited for data
 * from other servers after everything from the client had arrived. */
#define EXTENSION_FETCH_TIME 95
/* Tag in a call_request: like EXTENSION_KEPT, for arrays of strings, whose length is known only after the
 * call. If there is no room for one, it comes back as an ordinary result. */
#define EXTENSION_KEPT_TEXTS 91
/* Tag in a call_request: the client wants bytes at both ends of outputs that stay by EXTENSION_KEPT at
 * once, EDGES_BYTES each: the argument's index, the number of first bytes, and the number of last bytes,
 * as 4-byte little-endian numbers. Tag in the session_report of a finished session: the same, each
 * followed by these bytes. Missing ones (for a result in pieces) are read from the datum. */
#define EXTENSION_EDGES 108
#define EDGES_BYTES     12
#define EDGES_MOST      (64u << 10) /* of one end */
/* Tag in a server's data_reply about one datum that is not there: the owner has deleted it everywhere, so
 * a holder may delete its copy. */
#define EXTENSION_DELETED 90
/* Tag in a drop: names of servers, each with its NUL, which this server no longer needs to list as holders
 * of a deleted datum, because they have deleted it or were given up. Nothing is deleted. */
#define EXTENSION_SETTLED 84
/* Tag in a data request to a master agent about one datum, empty: the client has deleted it while servers
 * that may have it were unreachable; they must delete it when they are back. Tag in the reply: the agent
 * has noted this. Tag in an order to a child with verb ORDER_GIVEN_UP: identity and owner
 * (datum_given_up_pack()) of a datum that must be deleted on that child or below it. */
#define EXTENSION_DISOWNED 126
#define ORDER_GIVEN_UP     "given-up"
/* Of PASS_GIVEN_UP, between master agents. In a pass: the sum of the sender's list of given-up data
 * (disowned_sum(), 8 bytes) and a byte: 1 says that the sender was told another sum and needs no reply. A
 * receiver with another sum asks for the list with an empty value in a pass. The list comes in a passed
 * with that pass's id: of each datum the seconds since 1970 (8 bytes, little-endian) at which it was given
 * up, and the output of datum_given_up_pack(). */
#define EXTENSION_GIVEN_UP_SUM    138
#define GIVEN_UP_SUM_BYTES        9
#define EXTENSION_GIVEN_UP_WANTED 139
#define EXTENSION_GIVEN_UP_LIST   140
/* Tag in an open: name of the server that fetches the datum because one of its sessions needs it. */
#define EXTENSION_FETCHER 45
/* Tag in an open_reply to such a server: a byte, not 0: the server may keep its copy as a replica. */
#define EXTENSION_REPLICA 46
/* Tag in an open: name and address of the server that fetches the datum, each with its NUL. Tag in a
 * server's data_reply: the same for servers that may have copies of that datum which agents do not know
 * yet. */
#define EXTENSION_COPIES 47
/* Tag in a drop: only the copy here is deleted, because the datum lives on elsewhere. Not empty: it has
 * moved to the server of that name, and the copy is deleted only if it is a replica. */
#define EXTENSION_ELSEWHERE 48
/* Tag in an open: the server of that name wants to take over the original; no other server may do so
 * meanwhile. Tag in its reply, empty: granted. Tag in a finish: that server has the original, so this copy
 * is deleted. Tag in a pull of a datum that is present: the server of that name has lost the original, so
 * the replica here becomes the original; nothing is fetched. */
#define EXTENSION_MOVES 49
/* Tag in a data_reply of an agent: address of the agent's parent, which may know more. */
#define EXTENSION_ABOVE 41
/* Tag in an open: asks for porters to lend the pieces (sed/porter/porter.h); with any value over encrypted
 * connections, without a value unencrypted. In its reply: the ports of the porters, 16-bit numbers,
 * little-endian; the host is that of the address. If they are encrypted, a port of 0 and the key of 32
 * bytes (sed/porter/porter_tls.h) come first. */
#define EXTENSION_PORTERS 65
/* Tag in such a reply without encryption: porters of ranks on other hosts, which may have pieces and are
 * asked first. The name of the value there (two 64-bit numbers); then of each porter its rank (32 bits),
 * port (16 bits), the length of its address (8 bits) and the numeric address. Little-endian. */
#define EXTENSION_LENDERS 141
/* Tag in such a reply with encryption when the server has certificates: the key of the connections to
 * these porters for the ticket (32 bytes), then the value of EXTENSION_LENDERS. */
#define EXTENSION_LENDERS_SEALED 142
/* Tag in a pull: asks for another datum with the same value in another layout: rows and columns of ranks
 * (0: in one piece), rows and columns of a block, as 64-bit numbers, little-endian, then its identity. */
#define EXTENSION_LAID 66
#define LAID_WORDS     4
/* Tag in such a pull: a byte. Not 0: the client has the identity of the new datum. 0: the client will
 * confirm the identity later, and until then the datum must not outlive the client. Without the tag, the
 * datum stays. */
#define EXTENSION_LAID_TAKEN 92
struct data_reply {
    struct outcome outcome;
    struct datum_info *items;
    uint32_t n;
    bool more;
    struct extensions extensions;
};

/* Server: fetches the datum from one of these servers (in this order), or from a holder that the agents
 * name. The reply comes when the datum is here, or after the patience with its progress; a repeated pull
 * continues. */
struct pull_request {
    const char *datum;
    const char **sources; /* addresses */
    uint32_t n_sources;
    uint32_t mode; /* enum datum_mode: of the new copy */
    uint32_t flags;
    uint64_t patience_ms;
    struct extensions extensions;
};
struct pull_reply {
    struct outcome outcome; /* ESP_OK while `complete` is unset: the datum is on its way */
    bool complete;
    uint64_t arrived, bytes;
    struct extensions extensions;
};

#endif
