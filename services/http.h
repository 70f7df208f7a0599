/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon's small HTTP port on loopback: read-only /health and /metrics. It has its own thread and
 * accepts a few connections at a time; for a further one, the oldest with an incomplete request is closed. */
#ifndef SERVICES_HTTP_H
#define SERVICES_HTTP_H

#include "util/error.h"
#include "util/listen_at.h"
#include "util/metrics.h"

struct http;

/* The contents of the pages. Called from the port's thread, one call at a time. */
#define HTTP_HEALTH 2048

struct http_pages {
    void *self;
    /* Writes the text of /health without its last '\n', in HTTP_HEALTH bytes; false: answered with status
     * 503. */
    bool (*health)(void *self, char *text, size_t size);
    void (*metrics)(void *self, struct metrics *metrics);
};

/* Listens at the address "host:port", which must be loopback; port 0: any free one. `pages` is copied.
 * ESP_CONFIG: not a loopback address; ESP_SYSTEM: for example, the port is in use. */
enum esp_status http_open(const char *address, const struct http_pages *pages, struct http **http,
                          struct esp_error *error);
/* Returns "127.0.0.1:40123". Lives as long as the port. */
const char *http_address(const struct http *http);
/* Waits until no page is being made any more. NULL is ignored. */
void http_close(struct http *http);

#define HTTP_ADDRESS 80
/* Opens sockets that listen at all addresses of "host:port"; `loopback`: one socket, at its first address
 * that works, which must be loopback. `bound` gets the first one's address with its port. `key` names the
 * address in messages. ESP_CONFIG, ESP_SYSTEM. */
enum esp_status http_listen(const char *key, const char *address, bool loopback,
                            struct listen_sockets *sockets, char bound[HTTP_ADDRESS],
                            struct esp_error *error);

#endif
