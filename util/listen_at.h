/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the addresses at which a program listens for a given host: all addresses of the host's name on
 * this machine. A name may have several (IPv4 and IPv6), or loopback addresses only ("127.0.1.1 node" in
 * /etc/hosts, as Debian writes it). */
#ifndef UTIL_LISTEN_AT_H
#define UTIL_LISTEN_AT_H

#include "util/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define LISTEN_MOST 16 /* most addresses of one name; further ones are left out */
#define LISTEN_TEXT 80

struct listen_at {
    struct sockaddr_storage items[LISTEN_MOST]; /* with the port, each address once */
    uint32_t n;
    bool any; /* all addresses of this machine: [::] and 0.0.0.0 */
};

/* Finds the addresses of "host", "[::1]" or "::1". "*" and "" stand for all addresses of this machine.
 * Asks the resolver, and waits for it. ESP_SYSTEM: the name cannot be resolved. */
enum esp_status listen_at_find(const char *host, uint16_t port, struct listen_at *at,
                               struct esp_error *error);
/* Whether all of them are loopback addresses. */
bool listen_at_is_loopback(const struct listen_at *at);
/* Whether an interface of this machine has one of them; also true when the system cannot tell. */
bool listen_at_is_here(const struct listen_at *at);
/* Writes "10.0.0.1" or "[::1]". */
const char *listen_at_text(const struct sockaddr_storage *address, char text[LISTEN_TEXT]);
/* Opens a socket that listens at the first address that works, for both families if `at` stands for all
 * addresses; -1 with errno of the first failure. */
int listen_at_open(const struct listen_at *at, int backlog);

struct listen_sockets {
    int fds[LISTEN_MOST];
    uint32_t n;
};
/* Opens sockets that listen at all of the addresses, at one port; addresses that this machine does not
 * have are left out. False, with errno and no socket, when another address cannot be served, or none can. */
bool listen_at_open_all(const struct listen_at *at, int backlog, struct listen_sockets *sockets);
/* Closes all of the sockets. */
void listen_sockets_close(struct listen_sockets *sockets);

/* Computes the address of a further port of a daemon with that `listen`: its host, and its port number
 * plus `offset`. Port 0 (any free one) if `listen` names no port, or the number is too large; "" if
 * `listen` is no address. */
void listen_at_beside(const char *listen, unsigned offset, char *address, size_t size);

#endif
