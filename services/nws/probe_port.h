/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP port beside a daemon's public address to which other nodes measure their links. Its URL
 * contains a secret that is known within the tree only. With it, a node may
 *
 *     GET  URL/bytes?n=65536     receive that many bytes
 *     POST URL/bytes             send bytes; the answer comes when all have arrived
 *     POST URL/turn              "name URL": ask for a turn. 200 with a sibling to measure too ("name URL",
 * or empty), or 503: another child measures, ask again after Retry-After POST URL/done              "name",
 * then a line "peer connect_ms latency_ms Mbit/s" for each link measured
 *
 * One turn at a time, under a lease. Traffic is limited, in both directions: PROBE_MOST_BYTES in one
 * request, PROBE_RATE_BYTES in ten seconds (else 429), PROBE_CONNECTIONS at a time. It has its own thread. */
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

/* PEM files, the same as for the daemon's other connections. With them the port uses HTTPS, which protects
 * its secret. Names in certificates are not compared, as between daemons. */
struct probe_tls {
    const char *ca, *certificate, *key;
};

/* Called from threads of the port, one call at a time. */
struct probe_port_ops {
    void *self;
    /* A child has measured its link to a sibling (or to this node: its own name). */
    void (*measured)(void *self, const char *child, const char *peer,
                     const struct link_measurement *measurement);
};

/* Listens at all addresses of "host:port" (port 0: any free one). `publish`: the host that other nodes
 * use; NULL: that of the address, or this machine's name if the address stands for all. `tls` NULL: plain
 * HTTP. ESP_CONFIG, ESP_SYSTEM, ESP_SECURITY (the files), ESP_NO_MEMORY. */
enum esp_status probe_port_open(const char *address, const char *publish, const struct probe_tls *tls,
                                const struct probe_port_ops *ops, struct probe_port **port,
                                struct esp_error *error);
/* Returns "http://10.0.0.1:40123/0123...". Lives as long as the port. */
const char *probe_port_url(const struct probe_port *port);
/* Waits until no answer is being made any more. NULL is ignored. */
void probe_port_close(struct probe_port *port);

#endif
