/* SPDX-License-Identifier: Apache-2.0
 *
 * What a server daemon and its spawner say to each other, over a socket pair that keeps message borders.
 *
 * The spawner is a small process with one thread that has the numerical libraries loaded but never used, so
 * that it can fork a worker in two milliseconds, whatever the daemon has in its memory and whatever its
 * threads are doing. It ends, and its workers with it, when the daemon's end of the socket closes.
 */
#ifndef SED_SPAWNER_H
#define SED_SPAWNER_H

#include "sed/pool/signature.h"

#define SPAWNER_SOCKET      3 /* the descriptor that the spawner finds its end at */
#define SPAWNER_MAX_LIMITS  8
#define SPAWNER_DESCRIPTORS 4 /* of a worker: socket, ring, bell, output */
/* Exit code of a worker that kept more than it may (ring->kept). */
#define WORKER_KEPT_TOO_MUCH 9

enum spawner_kind {
    /* daemon to spawner */
    SPAWNER_SETUP = 1, /* the first */
    SPAWNER_SPAWN,     /* with SPAWNER_DESCRIPTORS descriptors */
    SPAWNER_KILL,      /* the worker's process group */
    SPAWNER_CHECK,     /* load the library; and look the symbol up, unless it is "" */
    SPAWNER_COMPARE,   /* what was loaded with what is on disk now */
    SPAWNER_END,       /* the last: it lives on when the socket is closed, and removes its folder itself */
    /* spawner to daemon */
    SPAWNER_BORN,    /* pid */
    SPAWNER_UNBORN,  /* status: errno */
    SPAWNER_DIED,    /* pid, status as from waitpid() */
    SPAWNER_CHECKED, /* status: enum esp_status, and a text; after SPAWNER_COMPARE, ESP_STALE's is the path of
                      * a file that is another now */
    /* daemon to spawner, and back when all before it is done */
    SPAWNER_PING
};

struct spawner_limit {
    int32_t resource; /* RLIMIT_* */
    uint64_t value;
};

struct spawner_setup {
    uint64_t memory; /* that a worker may allocate beside its arguments; 0: any amount */
    uint64_t keep;   /* of it, that a worker may keep after a call, else it ends; 0: any amount */
    uint32_t threads;
    int32_t nice;
    uint32_t n_limits;
    struct spawner_limit limits[SPAWNER_MAX_LIMITS];
    char folder[SIGNATURE_MAX_PATH]; /* exists; workers get private folders below it; removed at the end */
};

struct spawner_check {
    char folder[SIGNATURE_MAX_PATH], library[SIGNATURE_MAX_PATH], symbol[SIGNATURE_MAX_SYMBOL];
};

/* One message. All of it travels each time: messages are few. */
struct spawner_message {
    uint32_t kind; /* enum spawner_kind */
    uint32_t id;   /* of the worker, or of the check */
    int32_t pid;
    int32_t status;
    union {
        struct spawner_setup setup;
        struct spawner_check check;
        char text[512];
    };
};

#endif
