/* SPDX-License-Identifier: Apache-2.0
 *
 * An encrypted connection between two porters: TLS 1.3 with a key that both got from their daemons, which
 * exchanged it over a connection with certificates (RFC 8446, 2.2: external PSK, with additional ephemeral
 * keys). So ranks need no certificates, and a key belongs to one loan only. OpenSSL is loaded by the first
 * connection. */
#ifndef SED_PORTER_TLS_H
#define SED_PORTER_TLS_H

#include "sed/porter/porter_stream.h"
#include "sed/porter/porter_wire.h"

#include <sys/uio.h>

struct porter_tls;

/* Whether the first bytes are the hello of such a connection, and not an unencrypted request. Consumes
 * nothing. */
bool porter_tls_begins(int socket);

/* Both ends make one, on a socket that remains the caller's and becomes non-blocking. ESP_SECURITY: the
 * other side has another key, or none, or OpenSSL is missing; other errors as for porter_wait(). */
enum esp_status porter_tls_connect(int socket, uint64_t ticket, const unsigned char *secret,
                                   const struct porter_end *end, struct porter_tls **tls,
                                   struct esp_error *error);
/* `find` gets the key of a ticket; false: it has none. *ticket becomes the peer's. */
enum esp_status porter_tls_accept(int socket, bool (*find)(void *arg, uint64_t ticket, unsigned char *secret),
                                  void *arg, const struct porter_end *end, struct porter_tls **tls,
                                  uint64_t *ticket, struct esp_error *error);
/* NULL is ignored. */
void porter_tls_close(struct porter_tls *tls);

/* Moves all of these runs, or fails with ESP_UNREACHABLE, ESP_TIMEOUT, ESP_CANCELLED; ESP_SECURITY: they
 * were modified on the way. */
enum esp_status porter_tls_move(struct porter_tls *tls, bool write, const struct iovec *runs, size_t n,
                                const struct porter_end *end, struct esp_error *error);

#endif
