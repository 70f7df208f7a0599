/* SPDX-License-Identifier: Apache-2.0
 *
 * A deadline for what a library does with a socket and cannot be told to give up: a thread that shuts the
 * socket down when its time is over, so that the library finds its connection closed. (libldap with GnuTLS
 * waits for ever, or spins, for a handshake that nobody answers.)
 */
#ifndef SERVICES_DIRECTORY_PATIENCE_H
#define SERVICES_DIRECTORY_PATIENCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct patience {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    int64_t ms, until_ns;
    int fd; /* -1: there is no socket yet */
    bool runs, end, over;
};

/* The time begins. False: there is no thread for it, and no deadline. */
bool patience_begin(struct patience *patience, int64_t ms);
/* The socket that it is about, which lives until patience_end(). */
void patience_watch(struct patience *patience, int fd);
/* Something came of it: the time begins anew. */
void patience_renew(struct patience *patience);
/* Whether the time was over at some moment. */
bool patience_is_over(struct patience *patience);
/* Before the socket is closed. */
void patience_end(struct patience *patience);

#endif
