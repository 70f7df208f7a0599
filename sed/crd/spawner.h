/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol between a server daemon and its spawner, over a socket pair that preserves message
 * boundaries.
 *
 * The spawner is a small process with one thread that has loaded the numerical libraries but never uses
 * them, so that it can fork a worker in two milliseconds, whatever memory and threads the daemon has. It
 * ends, and its workers with it, when the daemon's end of the socket closes. */
#ifndef SED_SPAWNER_H
#define SED_SPAWNER_H

#include "sed/pool/signature.h"

#define SPAWNER_SOCKET      3 /* the descriptor of the spawner's end */
#define SPAWNER_MAX_LIMITS  8
#define SPAWNER_DESCRIPTORS 4 /* of a worker: socket, ring, bell, output */
/* Exit code of a worker that kept too much memory (ring->kept). */
#define WORKER_KEPT_TOO_MUCH 9

enum spawner_kind {
    /* daemon to spawner */
    SPAWNER_SETUP = 1, /* the first */
    SPAWNER_SPAWN,     /* with SPAWNER_DESCRIPTORS descriptors */
    SPAWNER_KILL,      /* the worker's process group */
    SPAWNER_CHECK,     /* load the library, and look the symbol up unless it is "" */
    SPAWNER_COMPARE,   /* compare loaded files with those on disk now */
    SPAWNER_END, /* the last message: the daemon continues when the socket is closed, and removes its folder
                    itself */
    /* spawner to daemon */
    SPAWNER_BORN,    /* pid */
    SPAWNER_UNBORN,  /* status: errno */
    SPAWNER_DIED,    /* pid, status as from waitpid() */
    SPAWNER_CHECKED, /* status: enum esp_status, and a text; after SPAWNER_COMPARE, the text for ESP_STALE is
                        the path of a changed file */
    /* daemon to spawner, and back when all earlier messages are done */
    SPAWNER_PING
};

struct spawner_limit {
    int32_t resource; /* RLIMIT_* */
    uint64_t value;
};

struct spawner_setup {
    uint64_t memory; /* that a worker may allocate besides its arguments; 0: unlimited */
    uint64_t keep;   /* kept of it after a call; a worker that keeps more ends; 0: unlimited */
    uint32_t threads;
    int32_t nice;
    uint32_t n_limits;
    struct spawner_limit limits[SPAWNER_MAX_LIMITS];
    char folder[SIGNATURE_MAX_PATH]; /* exists; workers get private folders in it; removed at the end */
};

struct spawner_check {
    char folder[SIGNATURE_MAX_PATH], library[SIGNATURE_MAX_PATH], symbol[SIGNATURE_MAX_SYMBOL];
};

/* One message. It always travels as a whole, because messages are few. */
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
