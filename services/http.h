/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon's small HTTP port on loopback: /health and /metrics, to be read only. One thread of its own, a few
 * connections at a time: where there are more, the oldest that has not sent a whole request makes way.
 */
#ifndef SERVICES_HTTP_H
#define SERVICES_HTTP_H

#include "util/error.h"
#include "util/listen_at.h"
#include "util/metrics.h"

struct http;

/* What the pages say. Called from the port's thread, one call at a time. */
#define HTTP_HEALTH 2048

struct http_pages {
    void *self;
    /* The whole text of /health without its last '\n', in HTTP_HEALTH bytes; false: answered with status 503.
     */
    bool (*health)(void *self, char *text, size_t size);
    void (*metrics)(void *self, struct metrics *metrics);
};

/* Listens at the address, "host:port", which is one of loopback; port 0: any free one. `pages` is copied.
 * ESP_CONFIG: not an address of loopback; ESP_SYSTEM: the port is taken, among others. */
enum esp_status http_open(const char *address, const struct http_pages *pages, struct http **http,
                          struct esp_error *error);
/* "127.0.0.1:40123". Lives as long as the port. */
const char *http_address(const struct http *http);
/* Returns when no page is being made any more. NULL is nothing to do. */
void http_close(struct http *http);

#define HTTP_ADDRESS 80
/* Sockets that listen at all addresses of "host:port"; `loopback`: one socket, at its first address that
 * works, which has to be of loopback. `bound` gets the first one's address with its port. `key` names the
 * address in messages. ESP_CONFIG, ESP_SYSTEM. */
enum esp_status http_listen(const char *key, const char *address, bool loopback,
                            struct listen_sockets *sockets, char bound[HTTP_ADDRESS],
                            struct esp_error *error);

#endif
