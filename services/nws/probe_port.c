/* SPDX-License-Identifier: Apache-2.0 */
#include "services/nws/probe_port.h"

#include "services/http.h"
#include "util/clock.h"
#include "util/random.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S    15
#define MOST_UPLOAD   (8u << 10)
#define MOST_PEM      (64u << 10)
#define RATE_WINDOW_S 10
#define FORGET_S      600 /* a child without a turn for so long is forgotten */

/* A child that takes turns. */
struct known {
    char name[PROBE_MOST_NAME + 1], url[PROBE_MOST_URL + 1];
    int64_t asked_s;
    uint64_t measured; /* the last turn in which it was the sibling to measure */
};

struct probe_port {
    struct probe_port_ops ops;
    /* One for each address, with a thread each. The lock guards everything below. */
    struct MHD_Daemon *daemons[LISTEN_MOST];
    uint32_t n_daemons;
    pthread_mutex_t lock;
    char url[PROBE_MOST_URL + 1], secret[40];
    char *certificate, *key; /* texts, with TLS */
    uint64_t turns;
    char holder[PROBE_MOST_NAME + 1]; /* "": nobody */
    int64_t holder_until_s;
    struct known *known;
    size_t n_known;
    int64_t window_s; /* the period of time in which the bytes were served */
    uint64_t window_bytes;
};

/* The body of a POST. */
struct upload {
    bool dropped; /* ignored; only `length` counts */
    size_t length;
    char text[MOST_UPLOAD + 1];
};

static int64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* ---- answers ---- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static bool may_serve(struct probe_port *port, uint64_t bytes)
{
    const int64_t window = now_s() / RATE_WINDOW_S;
    if (window != port->window_s)
        port->window_bytes = 0;
    port->window_s = window;
    if (port->window_bytes + bytes > PROBE_RATE_BYTES)
        return false;
    port->window_bytes += bytes;
    return true;
}

/* Pseudo-random bytes, which cannot be compressed: one page repeated. */
static ssize_t noise(void *arg, uint64_t position, char *buffer, size_t most)
{
    (void)arg;
    uint64_t state = position * UINT64_C(6364136223846793005) + 1442695040888963407u;
    for (size_t i = 0; i < most; i++) {
        if (i % 8 == 0)
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        buffer[i] = (char)(state >> (8 * (i % 8)));
    }
    return (ssize_t)most;
}

static enum MHD_Result answer_bytes(struct probe_port *port, struct MHD_Connection *connection)
{
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "n");
    char *end = NULL;
    const unsigned long long n = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (n == 0 || *end || n > PROBE_MOST_BYTES)
        return answer(connection, MHD_HTTP_BAD_REQUEST, "expected bytes?n=NUMBER, at most 16777216\n");
    if (!may_serve(port, n))
        return answer(connection, MHD_HTTP_TOO_MANY_REQUESTS, "this port has served enough for now\n");
    struct MHD_Response *response = MHD_create_response_from_callback(n, 64 << 10, noise, NULL, NULL);
    if (!response)
        return MHD_NO;
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- turns ---- */

static struct known *know(struct probe_port *port, const char *name)
{
    const int64_t now = now_s();
    for (size_t i = 0; i < port->n_known; i++)
        if (strcmp(port->known[i].name, name) == 0)
            return &port->known[i];
    for (size_t i = 0; i < port->n_known; i++)
        if (now - port->known[i].asked_s > FORGET_S) {
            port->known[i] = (struct known){0};
            return &port->known[i];
        }
    if (port->n_known == PROBE_MOST_KNOWN)
        return NULL;
    struct known *grown = realloc(port->known, (port->n_known + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    port->known = grown;
    grown[port->n_known] = (struct known){0};
    return &grown[port->n_known++];
}

/* Returns the child that was no sibling for longest, and still takes turns. */
static struct known *choose_brother(struct probe_port *port, const char *name)
{
    struct known *best = NULL;
    for (size_t i = 0; i < port->n_known; i++) {
        struct known *known = &port->known[i];
        if (strcmp(known->name, name) != 0 && now_s() - known->asked_s <= FORGET_S &&
            (!best || known->measured < best->measured))
            best = known;
    }
    return best;
}

static enum MHD_Result give_turn(struct probe_port *port, struct MHD_Connection *connection,
                                 const struct upload *upload)
{
    char name[PROBE_MOST_NAME + 1] = "", url[PROBE_MOST_URL + 1] = "",
                                text[PROBE_MOST_NAME + PROBE_MOST_URL + 4] = "";
    if (sscanf(upload->text, "%255s %384s", name, url) != 2 || strncmp(url, "http", 4) != 0)
        return answer(connection, MHD_HTTP_BAD_REQUEST, "expected \"NAME URL\"\n");
    if (*port->holder && strcmp(port->holder, name) != 0 && now_s() < port->holder_until_s)
        return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "another one measures\n");
    struct known *child = know(port, name);
    if (child) {
        strcpy(child->name, name);
        strcpy(child->url, url);
        child->asked_s = now_s();
    }
    strcpy(port->holder, name);
    port->holder_until_s = now_s() + PROBE_LEASE_S;
    port->turns++;
    struct known *brother = choose_brother(port, name);
    if (brother) {
        brother->measured = port->turns;
        snprintf(text, sizeof text, "%s %s\n", brother->name, brother->url);
    }
    return answer(connection, MHD_HTTP_OK, text);
}

static enum MHD_Result take_measurements(struct probe_port *port, struct MHD_Connection *connection,
                                         struct upload *upload)
{
    char *rest = NULL, *line = strtok_r(upload->text, "\n", &rest);
    if (!line || strlen(line) > PROBE_MOST_NAME)
        return answer(connection, MHD_HTTP_BAD_REQUEST, "expected a name, then measurements\n");
    const char *child = line;
    while ((line = strtok_r(NULL, "\n", &rest))) {
        char peer[PROBE_MOST_NAME + 1];
        struct link_measurement measurement = {.time_s = time(NULL)};
        if (sscanf(line, "%255s %lf %lf %lf", peer, &measurement.connect_ms, &measurement.latency_ms,
                   &measurement.bandwidth) != 4)
            return answer(connection, MHD_HTTP_BAD_REQUEST,
                          "expected \"PEER CONNECT_MS LATENCY_MS MBITS\"\n");
        port->ops.measured(port->ops.self, child, peer, &measurement);
    }
    if (strcmp(port->holder, child) == 0)
        *port->holder = 0;
    return answer(connection, MHD_HTTP_OK, "");
}

/* ---- the port ---- */

/* Compares in constant time, so that the time reveals nothing. */
static bool is_secret(const struct probe_port *port, const char *text, size_t length)
{
    unsigned char differs = length != strlen(port->secret);
    for (size_t i = 0; i < length && port->secret[i]; i++)
        differs |= (unsigned char)(text[i] ^ port->secret[i]);
    return !differs;
}

static enum MHD_Result on_post(struct probe_port *port, struct MHD_Connection *connection, const char *page,
                               struct upload *upload)
{
    if (upload->dropped)
        return answer(connection, MHD_HTTP_OK, "");
    if (strcmp(page, "/turn") == 0)
        return give_turn(port, connection, upload);
    if (strcmp(page, "/done") == 0)
        return take_measurements(port, connection, upload);
    return answer(connection, MHD_HTTP_NOT_FOUND, "there are bytes, turn and done\n");
}

/* Returns the announced length of the request's body; 0: none, or too many. */
static uint64_t announced(struct MHD_Connection *connection)
{
    const char *text =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    char *end = NULL;
    const unsigned long long n = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    return end && !*end && n <= PROBE_MOST_BYTES ? n : 0;
}

/* Handles the request's head: refuses an unacceptable body before any of it is received. */
static enum MHD_Result begin(struct probe_port *port, struct MHD_Connection *connection, const char *method,
                             const char *page, void **state)
{
    const bool drops = strcmp(method, MHD_HTTP_METHOD_POST) == 0 && strcmp(page, "/bytes") == 0;
    const uint64_t bytes = drops ? announced(connection) : 0;
    if (drops && bytes == 0)
        return answer(connection, MHD_HTTP_BAD_REQUEST, "expected a length, at most 16777216\n");
    if (drops && !may_serve(port, bytes))
        return answer(connection, MHD_HTTP_TOO_MANY_REQUESTS, "this port has served enough for now\n");
    struct upload *upload = calloc(1, sizeof *upload);
    if (upload)
        upload->dropped = drops;
    *state = upload;
    return upload ? MHD_YES : MHD_NO;
}

static enum MHD_Result take(struct probe_port *port, struct MHD_Connection *connection, const char *url,
                            const char *method, const char *data, size_t *size, void **state)
{
    struct upload *upload = *state;
    const char *page = strchr(url + 1, '/');
    if (*url != '/' || !page || !is_secret(port, url + 1, (size_t)(page - url - 1)))
        return answer(connection, MHD_HTTP_FORBIDDEN, "this port is for nodes of the tree\n");
    if (!upload) /* only the head has arrived */
        return begin(port, connection, method, page, state);
    if (*size > 0 && upload->dropped) {
        upload->length += *size;
        *size = 0;
        return upload->length <= PROBE_MOST_BYTES ? MHD_YES : MHD_NO;
    }
    if (*size > 0) {
        const size_t left = MOST_UPLOAD - upload->length, taken = *size < left ? *size : left;
        memcpy(upload->text + upload->length, data, taken);
        upload->length += taken;
        *size = 0;
        return MHD_YES;
    }
    if (strcmp(method, MHD_HTTP_METHOD_POST) == 0)
        return on_post(port, connection, page, upload);
    if (strcmp(method, MHD_HTTP_METHOD_GET) == 0 && strcmp(page, "/bytes") == 0)
        return answer_bytes(port, connection);
    return answer(connection, MHD_HTTP_NOT_FOUND, "there are bytes, turn and done\n");
}

static enum MHD_Result on_request(void *self, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *size,
                                  void **state)
{
    struct probe_port *port = self;
    (void)version;
    pthread_mutex_lock(&port->lock);
    const enum MHD_Result result = take(port, connection, url, method, data, size, state);
    pthread_mutex_unlock(&port->lock);
    return result;
}

static void on_end(void *self, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode code)
{
    (void)self;
    (void)connection;
    (void)code;
    free(*state);
    *state = NULL;
}

static enum esp_status draw_secret(struct probe_port *port, struct esp_error *error)
{
    uint64_t numbers[2];
    enum esp_status status = random_bytes(numbers, sizeof numbers, error);
    snprintf(port->secret, sizeof port->secret, "%016" PRIx64 "%016" PRIx64, numbers[0], numbers[1]);
    return status;
}

/* The text of a small file, for free(). */
static char *read_text(const char *path, struct esp_error *error)
{
    char *text = calloc(1, MOST_PEM + 1);
    FILE *file = text ? fopen(path, "re") : NULL;
    const size_t n = file ? fread(text, 1, MOST_PEM, file) : 0;
    const bool whole = file && !ferror(file) && feof(file);
    if (!text)
        error_no_memory(error, "a certificate");
    else if (!file)
        error_errno(error, "probe: %s cannot be read", path);
    else if (!whole || n == 0)
        error_set(error, ESP_SECURITY, "probe: %s: expected a file in PEM of at most %u bytes", path,
                  MOST_PEM);
    if (file)
        fclose(file);
    if (whole && n > 0)
        return text;
    free(text);
    return NULL;
}

static void release(struct probe_port *port)
{
    if (port->key)
        explicit_bzero(port->key, strlen(port->key));
    free(port->key);
    free(port->certificate);
    free(port->known);
    pthread_mutex_destroy(&port->lock);
    free(port);
}

static enum esp_status read_pem(struct probe_port *port, const struct probe_tls *tls, struct esp_error *error)
{
    if (!tls)
        return ESP_OK;
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return error_set(error, ESP_SECURITY, "probe: this libmicrohttpd is built without TLS");
    return (port->certificate = read_text(tls->certificate, error)) &&
                   (port->key = read_text(tls->key, error))
               ? ESP_OK
               : error->status;
}

/* The daemon owns the socket if it succeeds. */
static struct MHD_Daemon *serve_one(struct probe_port *port, int fd)
{
    const unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | (port->key ? MHD_USE_TLS : 0);
    const struct MHD_OptionItem pem[] = {
        {port->key ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, port->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, port->key},
        {MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(flags, 0, NULL, NULL, on_request, port, MHD_OPTION_LISTEN_SOCKET, fd,
                            MHD_OPTION_CONNECTION_LIMIT, PROBE_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
                            PATIENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(128 << 10),
                            MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_ARRAY, pem, MHD_OPTION_END);
}

/* Takes over the sockets. */
static bool serve(struct probe_port *port, struct listen_sockets *sockets)
{
    for (; sockets->n > 0; sockets->n--) {
        struct MHD_Daemon *daemon = serve_one(port, sockets->fds[sockets->n - 1]);
        if (!daemon)
            break;
        port->daemons[port->n_daemons++] = daemon;
    }
    const bool all = sockets->n == 0;
    listen_sockets_close(sockets);
    return all;
}

/* Determines the published host of the port: that in the file, the machine's name if the port listens at
 * all addresses, or the name if it has several addresses. */
static void name_host(const char *address, const char *publish, bool several, char bound[HTTP_ADDRESS])
{
    char name[HTTP_ADDRESS - 12] = "localhost", port[12];
    const bool any = strncmp(bound, "[::]:", 5) == 0 || strncmp(bound, "0.0.0.0:", 8) == 0;
    const int length = (int)(strrchr(address, ':') - address);
    if ((!any && !several && !publish) || (several && !publish && length >= (int)sizeof name))
        return;
    snprintf(port, sizeof port, "%s", strrchr(bound, ':'));
    if (publish)
        snprintf(name, sizeof name, "%s", publish);
    else if (several)
        snprintf(name, sizeof name, "%.*s", length, address);
    else
        gethostname(name, sizeof name - 1);
    snprintf(bound, HTTP_ADDRESS, "%s%s", name, port);
}

enum esp_status probe_port_open(const char *address, const char *publish, const struct probe_tls *tls,
                                const struct probe_port_ops *ops, struct probe_port **opened,
                                struct esp_error *error)
{
    char bound[HTTP_ADDRESS];
    struct listen_sockets sockets = {.n = 0};
    struct probe_port *port = calloc(1, sizeof *port);
    if (!port)
        return error_no_memory(error, "the probe's port");
    port->ops = *ops;
    pthread_mutex_init(&port->lock, NULL);
    enum esp_status status = draw_secret(port, error);
    if (status == ESP_OK)
        status = read_pem(port, tls, error);
    if (status == ESP_OK)
        status = http_listen("probe", address, false, &sockets, bound, error);
    if (status != ESP_OK) {
        release(port);
        return status;
    }
    name_host(address, publish, sockets.n > 1, bound);
    snprintf(port->url, sizeof port->url, "%s://%s/%s", tls ? "https" : "http", bound, port->secret);
    if (!serve(port, &sockets)) {
        probe_port_close(port);
        return error_set(error, tls ? ESP_SECURITY : ESP_SYSTEM, "probe: the port at %s cannot be served%s",
                         bound, tls ? " (do the certificate and the key belong together?)" : "");
    }
    *opened = port;
    return ESP_OK;
}

const char *probe_port_url(const struct probe_port *port)
{
    return port->url;
}

void probe_port_close(struct probe_port *port)
{
    if (!port)
        return;
    for (uint32_t i = 0; i < port->n_daemons; i++)
        MHD_stop_daemon(port->daemons[i]); /* closes the socket too */
    release(port);
}
