/* SPDX-License-Identifier: Apache-2.0
 *
 * The transport over the ORB, for C. One per process at a time; it may be destroyed and opened again. No
 * exception leaves this interface: each becomes a status and a text. */
#ifndef ORB_ORB_H
#define ORB_ORB_H

#ifdef __cplusplus
extern "C" {
#endif

#include "core/transport.h"

struct orb_options {
    /* All three or none: mutual TLS. PEM files. */
    const char *tls_ca, *tls_certificate, *tls_key;
    bool insecure;                 /* serve beyond loopback without TLS nevertheless */
    unsigned connections;          /* most incoming connections in all; 0: 1000 */
    unsigned connections_per_peer; /* most from one host (or certificate); 0: 200 */
    size_t message_bytes;          /* largest message; 0: MESSAGE_BYTES */
    int64_t connect_timeout_ms;    /* 0: 2000 */
    int64_t first_message_ms;      /* time for the first request of an incoming connection; 0: 10,000 */
    int64_t stalled_ms; /* time for a request that has begun to arrive, and for reading a reply; 0: 120,000 */
    bool client_only;   /* a library in another program's process: no listening socket, signals unchanged */
    bool ports_only;    /* no Unix sockets beside loopback ports (orb/local.h), on either side */
};

/* Opens the transport. Serving beyond loopback without TLS and without `insecure` is ESP_SECURITY, with a
 * text that says what to write into the file. */
enum esp_status orb_open(const struct orb_options *options, struct transport **transport,
                         struct esp_error *error);

/* Removes environment variables from which the ORB would take settings. Call it while there is one thread. */
void orb_ignore_environment(void);

/* Whether the ORB would take settings from this environment variable ("NAME=value"). */
bool orb_reads_variable(const char *entry);

#ifdef __cplusplus
}
#endif
#endif
