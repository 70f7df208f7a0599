/* SPDX-License-Identifier: Apache-2.0
 *
 * A deadline for libldap's socket operations: a layer of its input and output that waits for the socket
 * only until the deadline. It lies directly above the socket, below TLS and SASL. (libldap waits without a
 * limit when it writes and in a TLS handshake. With its own network timeout it would do the handshake
 * without blocking, in a busy loop with GnuTLS.) */
#ifndef SERVICES_DIRECTORY_PATIENCE_H
#define SERVICES_DIRECTORY_PATIENCE_H

#include <lber.h>
#include <stdbool.h>
#include <stdint.h>

/* Used only by the functions here, by one thread. */
struct patience {
    int64_t ms, until_ns;
    int fd;
    bool over;
};

/* Starts the time. */
void patience_begin(struct patience *patience, int64_t ms);
/* Installs the layer in a connected socket, which `patience` must outlive. Also limits the size of one
 * message. False: no memory. */
bool patience_guard(struct patience *patience, Sockbuf *socket);
/* Restarts the time after progress. */
void patience_renew(struct patience *patience);
/* Whether an operation was given up because the time was over. From then on no operation waits any more,
 * unless the time is renewed. */
bool patience_is_over(const struct patience *patience);

#endif
