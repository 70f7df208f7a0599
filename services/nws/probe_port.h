/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP port beside a daemon's public address to which others measure their links. Whoever knows its URL,
 * which has a secret in it that is told within the tree only, may
 *
 *     GET  URL/bytes?n=65536     so many bytes that nobody has a use for
 *     POST URL/bytes             takes as many that nobody has a use for, and answers when they are there
 *     POST URL/turn              "name URL": may I measure now? 200 with the brother to measure too ("name
 * URL", or nothing), or 503: another child measures, ask again after Retry-After POST URL/done "name", then a
 * line "peer connect_ms latency_ms Mbit/s" for each link measured
 *
 * One turn at a time, under a lease. What is served is limited, either way: PROBE_MOST_BYTES in one request,
 * PROBE_RATE_BYTES in ten seconds (else 429), PROBE_CONNECTIONS at a time. One thread of its own.
 */
#ifndef SERVICES_NWS_PROBE_PORT_H
#define SERVICES_NWS_PROBE_PORT_H

#include "services/nws/series.h"

#define PROBE_MOST_BYTES  (16u << 20)
#define PROBE_RATE_BYTES  (64u << 20)
#define PROBE_CONNECTIONS 16
#define PROBE_LEASE_S     30
#define PROBE_MOST_NAME   255
#define PROBE_MOST_URL    384
#define PROBE_MOST_KNOWN  1024 /* children that take turns */

struct probe_port;

/* Files in PEM, as the daemon has them for its other connections: with them the port speaks HTTPS, and
 * nobody who reads along learns its secret. Names in certificates are not compared, as between daemons. */
struct probe_tls {
    const char *ca, *certificate, *key;
};

/* Called from threads of the port, one call at a time. */
struct probe_port_ops {
    void *self;
    /* A child has measured its link to a brother (or to this node: its own name). */
    void (*measured)(void *self, const char *child, const char *peer,
                     const struct link_measurement *measurement);
};

/* Listens at all addresses of "host:port" (port 0: any free one). `publish`: the host by which others reach
 * the port; NULL: the one of the address, or this machine's name where that stands for all. `tls` NULL: plain
 * HTTP. ESP_CONFIG, ESP_SYSTEM, ESP_SECURITY (the files), ESP_NO_MEMORY. */
enum esp_status probe_port_open(const char *address, const char *publish, const struct probe_tls *tls,
                                const struct probe_port_ops *ops, struct probe_port **port,
                                struct esp_error *error);
/* "http://10.0.0.1:40123/0123..." Lives as long as the port. */
const char *probe_port_url(const struct probe_port *port);
/* Returns when no answer is being made any more. NULL is nothing to do. */
void probe_port_close(struct probe_port *port);

#endif
