/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures one link by HTTP against the other side's probe port. NWS's three figures are libcurl's times
 * of a transfer, except for the latency, which is measured from just before a small message is sent to its
 * answer. Blocks. */
#ifndef SERVICES_NWS_PROBE_H
#define SERVICES_NWS_PROBE_H

#include "services/nws/probe_port.h"

#include <stdbool.h>

/* Longest transfer: no transfer is started that is expected to take longer. */
#define PROBE_MOST_S 1.0

/* Measures the link from the port of that URL to this process; `tls` (may be NULL) has the authority for
 * HTTPS. *busy_s gets how long the link was busy. `stop` (may be NULL) ends it early. ESP_UNREACHABLE,
 * ESP_TIMEOUT, ESP_REFUSED (wrong secret, too many bytes), ESP_PROTOCOL (an unexpected answer),
 * ESP_CANCELLED. */
enum esp_status probe_link(const char *url, const struct probe_tls *tls, int64_t timeout_ms,
                           const volatile bool *stop, struct link_measurement *measurement, double *busy_s,
                           struct esp_error *error);
/* Measures the rate of the same link from this process to the port; the latency is known: *bandwidth in
 * Mb/s, 0 when the port accepts no bytes. Adds to *busy_s. Errors as above. */
enum esp_status probe_back(const char *url, const struct probe_tls *tls, int64_t timeout_ms,
                           const volatile bool *stop, double latency_ms, double *bandwidth, double *busy_s,
                           struct esp_error *error);
/* Posts the text to URL/page; `answer` gets the reply, cut to `size`. ESP_BUSY: status 503. */
enum esp_status probe_post(const char *url, const struct probe_tls *tls, const char *page, const char *text,
                           int64_t timeout_ms, char *answer, size_t size, struct esp_error *error);

#endif
