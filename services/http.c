/* SPDX-License-Identifier: Apache-2.0 */
#include "services/http.h"

#include "util/listen_at.h"
#include "util/process_limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_CONNECTIONS 16
#define PATIENCE_S       10
#define REQUEST_BYTES    (16u << 10) /* memory of one connection */

struct http {
    struct http_pages pages;
    struct MHD_Daemon *daemon;
    char address[HTTP_ADDRESS];
    struct connection *oldest, *newest;
    unsigned n_connections;
};

/* An open connection; used by the port's thread only. */
struct connection {
    struct connection *older, *newer;
    int fd;
    bool answered; /* its request is complete, and the answer is being sent */
};

/* ---- connections ---- */

/* Returns the connection to close for a new one: the oldest with an incomplete request, else the oldest. */
static const struct connection *find_dispensable(const struct http *http)
{
    const struct connection *found = NULL;
    for (const struct connection *at = http->newest->older; at; at = at->older)
        if (!found || !at->answered || found->answered)
            found = at;
    return found;
}

/* At the maximum, no further connection is accepted. So the last place is freed at once; otherwise a few
 * clients that send half a request would block others. The library notices the closed connection. */
static void keep_a_place_free(const struct http *http)
{
    const struct connection *one = http->n_connections >= MOST_CONNECTIONS ? find_dispensable(http) : NULL;
    if (one)
        shutdown(one->fd, SHUT_RDWR);
}

static struct connection *begin_connection(struct http *http, struct MHD_Connection *opened)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(opened, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *one = info ? calloc(1, sizeof *one) : NULL;
    if (!one)
        return NULL;
    one->fd = info->connect_fd;
    one->older = http->newest;
    *(http->newest ? &http->newest->newer : &http->oldest) = one;
    http->newest = one;
    http->n_connections++;
    return one;
}

static void end_connection(struct http *http, struct connection *one)
{
    if (!one)
        return; /* without memory the connection is not tracked */
    *(one->older ? &one->older->newer : &http->oldest) = one->newer;
    *(one->newer ? &one->newer->older : &http->newest) = one->older;
    http->n_connections--;
    free(one);
}

static void on_connection(void *self, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *http = self;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        end_connection(http, *context);
        return;
    }
    *context = begin_connection(http, connection);
    keep_a_place_free(http);
}

static void note_answered(struct MHD_Connection *connection, bool answered)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *one = info ? info->socket_context : NULL;
    if (one)
        one->answered = answered;
}

static void on_answered(void *self, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode how)
{
    (void)self;
    (void)state;
    (void)how;
    note_answered(connection, false); /* another request may follow */
}

/* ---- pages ---- */

/* Answers with a copy of the text. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              const char *text, size_t length)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, (void *)text, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    note_answered(connection, true);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return answer(connection, status, "text/plain; charset=utf-8", text, strlen(text));
}

static enum MHD_Result health(struct http *http, struct MHD_Connection *connection)
{
    char text[HTTP_HEALTH] = "";
    bool good = http->pages.health(http->pages.self, text, sizeof text - 1);
    strcat(text, "\n");
    return answer_text(connection, good ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, text);
}

static enum MHD_Result metrics(struct http *http, struct MHD_Connection *connection)
{
    struct metrics metrics = {0};
    http->pages.metrics(http->pages.self, &metrics);
    enum MHD_Result result =
        metrics.failed || !metrics.text
            ? answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory for the metrics\n")
            : answer(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", metrics.text,
                     metrics.length);
    metrics_release(&metrics);
    return result;
}

static enum MHD_Result on_request(void *self, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
    (void)version;
    (void)upload;
    if (*upload_size > 0) { /* the body is not wanted: read it to its end */
        *upload_size = 0;
        return MHD_YES;
    }
    if (!*state) { /* only the head has arrived */
        *state = self;
        return MHD_YES;
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "these pages can only be read: GET\n");
    if (strcmp(url, "/health") == 0)
        return health(self, connection);
    if (strcmp(url, "/metrics") == 0)
        return metrics(self, connection);
    return answer_text(connection, MHD_HTTP_NOT_FOUND, "there are /health and /metrics\n");
}

/* ---- the port ---- */

static void note_address(int fd, char bound[HTTP_ADDRESS])
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0)
        getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(bound, HTTP_ADDRESS, strchr(host, ':') ? "[%.60s]:%.10s" : "%.60s:%.10s", host, port);
}

enum esp_status http_listen(const char *key, const char *address, bool loopback,
                            struct listen_sockets *sockets, char bound[HTTP_ADDRESS], struct esp_error *error)
{
    char host[256];
    struct listen_at at;
    const char *colon = strrchr(address, ':');
    if (!colon || (size_t)(colon - address) >= sizeof host)
        return error_set(error, ESP_CONFIG, "%s: expected \"host:port\", found \"%.100s\"", key, address);
    snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
    if (listen_at_find(host, (uint16_t)strtoul(colon + 1, NULL, 10), &at, error) != ESP_OK ||
        (loopback && !listen_at_is_loopback(&at)))
        return error_set(error, ESP_CONFIG, "%s: expected %s, found \"%.100s\"", key,
                         loopback
                             ? "an address of loopback like \"127.0.0.1:4790\" (these pages are for this "
                               "machine only)"
                             : "an address of this machine",
                         address);
    enum esp_status status = ESP_OK;
    bool listens;
    if (loopback) { /* at the first address that works, because that one is published */
        sockets->fds[0] = listen_at_open(&at, MOST_CONNECTIONS);
        sockets->n = listens = sockets->fds[0] >= 0;
    } else {
        listens = listen_at_open_all(&at, MOST_CONNECTIONS, sockets);
    }
    if (!listens && errno == EADDRINUSE)
        status =
            error_set(error, ESP_SYSTEM,
                      "%s: cannot listen at %.100s: the port is in use: another program listens there (see "
                      "\"ss -ltnp\"); choose another port, or 0 for any free one",
                      key, address);
    else if (!listens)
        status = error_errno(error, "%s: cannot listen at %.100s", key, address);
    else
        note_address(sockets->fds[0], bound);
    return status;
}

enum esp_status http_open(const char *address, const struct http_pages *pages, struct http **opened,
                          struct esp_error *error)
{
    *opened = NULL;
    struct http *http = calloc(1, sizeof *http);
    if (!http)
        return error_no_memory(error, "the HTTP port");
    http->pages = *pages;
    struct listen_sockets sockets;
    enum esp_status status = http_listen("http", address, true, &sockets, http->address, error);
    if (status != ESP_OK) {
        free(http);
        return status;
    }
    errno = 0;
    http->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL, on_request, http,
        MHD_OPTION_LISTEN_SOCKET, sockets.fds[0], MHD_OPTION_CONNECTION_LIMIT, MOST_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, PATIENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED, on_answered, NULL,
        MHD_OPTION_END);
    if (!http->daemon) {
        char why[256] = "the library gives no reason";
        if (errno != 0) /* mostly that of its thread */
            process_limits_why(errno, why, sizeof why);
        listen_sockets_close(&sockets);
        free(http);
        return error_set(error, ESP_SYSTEM, "http: the port at %s cannot be served: %s", address, why);
    }
    *opened = http;
    return ESP_OK;
}

const char *http_address(const struct http *http)
{
    return http->address;
}

void http_close(struct http *http)
{
    if (!http)
        return;
    MHD_stop_daemon(http->daemon); /* closes the socket too */
    free(http);
}
