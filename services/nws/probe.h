/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring one link by HTTP against the other side's probe port: libcurl's times of a transfer are NWS's
 * three figures, but for the latency, which is from just before a small message is sent to its answer.
 * Blocks.
 */
#ifndef SERVICES_NWS_PROBE_H
#define SERVICES_NWS_PROBE_H

#include "services/nws/probe_port.h"

#include <stdbool.h>

/* What a probe may cost: no transfer is begun that would take longer than this by what is known so far. */
#define PROBE_MOST_S 1.0

/* Measures the link from the port of that URL to here; `tls` (may be NULL) says whom ports of HTTPS have to
 * be vouched for by. *busy_s gets how long the link was busy. `stop` (may be NULL) ends it early.
 * ESP_UNREACHABLE, ESP_TIMEOUT, ESP_REFUSED (not our secret, too much asked), ESP_PROTOCOL (what came is not
 * what was asked for), ESP_CANCELLED. */
enum esp_status probe_link(const char *url, const struct probe_tls *tls, int64_t timeout_ms,
                           const volatile bool *stop, struct link_measurement *measurement, double *busy_s,
                           struct esp_error *error);
/* The rate of the same link from here to the port, whose latency has been measured: *bandwidth in Mb/s, 0
 * when the port takes no bytes (it is of an older version). Adds to *busy_s. Errors as above. */
enum esp_status probe_back(const char *url, const struct probe_tls *tls, int64_t timeout_ms,
                           const volatile bool *stop, double latency_ms, double *bandwidth, double *busy_s,
                           struct esp_error *error);
/* Posts the text to URL/page; `answer` gets what came back, cut to `size`. ESP_BUSY: answered with 503. */
enum esp_status probe_post(const char *url, const struct probe_tls *tls, const char *page, const char *text,
                           int64_t timeout_ms, char *answer, size_t size, struct esp_error *error);

#endif
