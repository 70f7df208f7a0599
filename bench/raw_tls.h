/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS over a plain socket, by OpenSSL alone and with the suite that the ORB's connections agree on: what
 * encryption costs on this machine when nothing else is done.
 */
#ifndef BENCH_RAW_TLS_H
#define BENCH_RAW_TLS_H

#include <stdbool.h>
#include <stdint.h>

struct ssl_st;

/* One end of a connection; the other end calls it at the same time. Ends the program with a message on
 * failure, as everything here but raw_tls_move() does. */
struct ssl_st *raw_tls_shake(int socket, bool serves);
/* Sends or receives all of it. False: the connection is broken. */
bool raw_tls_move(struct ssl_st *ssl, char *data, uint64_t bytes, bool sends);
/* NULL is nothing to do. The socket stays the caller's. */
void raw_tls_end(struct ssl_st *ssl);

#endif
