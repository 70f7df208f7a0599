/* SPDX-License-Identifier: Apache-2.0
 *
 * An encrypted connection between two porters: TLS 1.3 with a key that both have of their daemons, which told
 * it to each other over a connection with certificates (RFC 8446, 2.2: external PSK, with ephemeral keys
 * besides). Ranks need no certificates for that, and a key is of one loan only. OpenSSL is loaded for it, by
 * the first.
 */
#ifndef SED_PORTER_TLS_H
#define SED_PORTER_TLS_H

#include "sed/porter/porter_stream.h"
#include "sed/porter/porter_wire.h"

#include <sys/uio.h>

struct porter_tls;

/* Whether what has come first is the hello of such a connection rather than a request in the clear. Takes
 * nothing off. */
bool porter_tls_begins(int socket);

/* Both ends make one, on a socket that stays the caller's and does not block any more. ESP_SECURITY: the
 * other has another key, or none, or is nobody who was meant, or OpenSSL is missing; the rest as
 * porter_wait(). */
enum esp_status porter_tls_connect(int socket, uint64_t ticket, const unsigned char *secret,
                                   const struct porter_end *end, struct porter_tls **tls,
                                   struct esp_error *error);
/* `find` gives the key of a ticket; false: it has none. *ticket is the one that was named. */
enum esp_status porter_tls_accept(int socket, bool (*find)(void *arg, uint64_t ticket, unsigned char *secret),
                                  void *arg, const struct porter_end *end, struct porter_tls **tls,
                                  uint64_t *ticket, struct esp_error *error);
/* NULL is nothing to do. */
void porter_tls_close(struct porter_tls *tls);

/* All of these runs, or ESP_UNREACHABLE, ESP_TIMEOUT, ESP_CANCELLED; ESP_SECURITY: somebody has changed them.
 */
enum esp_status porter_tls_move(struct porter_tls *tls, bool write, const struct iovec *runs, size_t n,
                                const struct porter_end *end, struct esp_error *error);

#endif
