/* SPDX-License-Identifier: Apache-2.0
 *
 * A deadline for what libldap does with its socket: a layer of its input and output that waits for the socket
 * until then and no longer. It lies right above the socket, below TLS and SASL. (libldap waits without a time
 * when it writes and in a handshake of TLS; with a time of its own for the network it would do the handshake
 * without blocking, and spin where GnuTLS is below it.)
 */
#ifndef SERVICES_DIRECTORY_PATIENCE_H
#define SERVICES_DIRECTORY_PATIENCE_H

#include <lber.h>
#include <stdbool.h>
#include <stdint.h>

/* Only by the functions here, by one thread. */
struct patience {
    int64_t ms, until_ns;
    int fd;
    bool over;
};

/* The time begins. */
void patience_begin(struct patience *patience, int64_t ms);
/* Puts the layer into a socket that has been connected, and that `patience` outlives. What comes in one
 * message is limited too. False: no memory. */
bool patience_guard(struct patience *patience, Sockbuf *socket);
/* Something came of it: the time begins anew. */
void patience_renew(struct patience *patience);
/* Whether something was given up because the time was over. From then on nothing is waited for any more,
 * unless it is renewed. */
bool patience_is_over(const struct patience *patience);

#endif
