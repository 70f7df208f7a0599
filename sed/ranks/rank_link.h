/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol between a server daemon and each rank of its MPI job, over a Unix socket that preserves
 * message boundaries. The daemon listens in a folder of its own user; each rank connects there, sends its
 * number, and receives the rings and the board (sed/ranks/rank_board.h), on which calls are posted. When
 * one end closes, the other ends as well: a rank ends at once, whatever it computes. Ranks on other hosts
 * cannot connect there; envoys (sed/ranks/envoy.h) represent them, each with a channel of this kind. */
#ifndef SED_RANK_LINK_H
#define SED_RANK_LINK_H

#include "core/forecast/parallel_profile.h"
#include "sed/pool/ring.h"

#define RANK_LINK_VARIABLE "ESPALIER_RANKS" /* environment variable: the path of the daemon's socket */
#define RANK_HOST_VARIABLE                                                                                   \
    "ESPALIER_PORTERS"          /* the host on which the rank's porter listens; "": all interfaces */
#define RANKS_CHANGED "changed" /* to `espalier-prd --check`: has a file of a library changed? */
#define RANK_MEMORY_VARIABLE                                                                                 \
    "ESPALIER_RANKS_MEMORY" /* bytes that a routine may allocate, and keep after a call: "1024,256"; 0:      \
                               unlimited */
#define RANK_LINK_VERSION 18u
#define RANKS_MOST        4096 /* of one server */
#define RANK_RINGS_MOST   16   /* calls at a time */
#define RANK_CALLS_KEPT   64   /* prepared calls in a rank's cache: at the remainder of the key */
/* Small parts lie in memory that a rank keeps, each between fences of this size. */
#define RANK_SMALL_BYTES (64 << 10)
#define RANK_SMALL_PART  4096
#define RANK_SMALL_FENCE 64

enum rank_message_kind {
    RANK_HELLO = 1, /* rank to daemon, the first message */
    RANK_SETUP,     /* daemon to rank: the bell, the board and the rings as descriptors */
    RANK_READY,     /* rank to daemon: it waits for calls */
    RANK_LAST_WORD, /* rank to daemon: it is ending */
    RANK_KEPT,      /* rank to daemon: its routines have kept too much memory */
    RANK_FILES      /* daemon to rank: the descriptors of the call that is posted next; to an envoy: the call
                       itself */
};

/* How a rank ends. */
enum rank_end {
    RANK_KILLED = 1,      /* by the signal `code` */
    RANK_EXITED,          /* by itself, with that exit code */
    RANK_ABORTED,         /* by MPI_Abort() with that code */
    RANK_ENDED_BY_MPIRUN, /* because another rank has ended */
    RANK_ENDED_AS_TOLD    /* the daemon has closed the channel */
};

struct rank_message {
    uint32_t kind, version;
    uint32_t ring_bytes; /* RANK_HELLO: sizeof(struct ring), which must be equal on both sides */
    uint32_t rank, size; /* RANK_HELLO */
    uint32_t n_descriptors;
    uint32_t ring;  /* RANK_FILES to an envoy */
    uint32_t known; /* RANK_SETUP: the ranks' speed is known, and need not be measured */
    int32_t pid;
    uint32_t end;                /* RANK_LAST_WORD */
    int32_t code;                /* likewise */
    uint64_t refused_bytes;      /* RANK_LAST_WORD: that the routine could not allocate; 0: none */
    uint64_t kept_bytes;         /* RANK_KEPT */
    char host[64];               /* RANK_HELLO */
    struct parallel_speed speed; /* RANK_READY: equal in all ranks */
};

/* Writes the path where the rank's porter (sed/porter/porter.h) takes orders: beside the daemon's socket.
 * `path` has PORTER_PATH bytes. */
void rank_porter_path(const char *link, uint32_t rank, char *path);

/* Sends one message with descriptors; `flags` as for sendmsg(). False: errno. */
bool rank_link_send(int socket, const struct rank_message *message, const int *descriptors, uint32_t n,
                    int flags);
/* Receives one message, with at most RING_MAX_DESCRIPTORS descriptors. 0: the other end is closed; below
 * 0: errno. */
int rank_link_receive(int socket, struct rank_message *message, int *descriptors, uint32_t *n, int flags);

#endif
