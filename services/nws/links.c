/* SPDX-License-Identifier: Apache-2.0 */
#include "services/nws/links.h"

#include "core/forecast/path.h"
#include "core/forecast/surprise.h"
#include "services/nws/probe.h"
#include "services/nws/ring_files.h"
#include "util/listen_at.h"
#include "util/clock.h"
#include "util/config.h"
#include "util/hash.h"
#include "util/log.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS 10000
#define SHARE      0.02 /* most of a link's time */
/* Fast links use more processor time than link time, so the pause also depends on the processor time of a
 * turn. */
#define SHARE_OF_PROCESSOR 0.001
#define MOST_PEERS         1024
/* When there are MOST_PEERS links, one without a measurement for this long is replaced by another. */
#define IDLE_NS        (3600 * NS_PER_S)
#define AGAIN_NS       NS_PER_S
#define MOST_DOUBLINGS 12 /* of that */
/* Maximum number of log lines per second about implausible reports of children. */
#define MOST_LINES 5

/* A link, from or to the parent, from a sibling, or between two children. */
struct peer {
    char *name, *from, *to;
    struct series *series;
    struct surprise surprise;
    int64_t used_ns; /* when it was last measured, */
    int64_t calm_ns; /* and when it was last measured without disturbance, or first seen */
    UT_hash_handle hh;
};

struct links {
    struct links_ops ops;
    char *name, *state_dir;
    char *ca; /* NULL: probes are plain HTTP */
    int64_t every_ns;
    const struct clock *clock;
    struct probe_port *port;
    pthread_t thread;
    pthread_mutex_t telling; /* held while the node is informed of children's measurements; guards `told` */
    bool told;               /* the node can be informed */
    pthread_mutex_t lock;    /* guards the following members */
    pthread_cond_t wake;
    struct peer *peers;
    bool runs;
    volatile bool stop; /* read by a probe without the lock */
    bool silent;        /* the last turn failed; logged once */
    bool full;          /* there are too many links; logged once */
    struct log_quota refused;
};

/* ---- peers ---- */

/* Converts a name to that of a file, with special characters spelled out so that the path stays in the
 * folder. */
static void file_of(const struct links *links, const char *name, char *path, size_t size)
{
    size_t n = (size_t)snprintf(path, size, "%s/links/", links->state_dir);
    for (; *name && n + 4 < size; name++) {
        const bool plain = isalnum((unsigned char)*name) || (*name == '-' || *name == '_');
        n += (size_t)snprintf(path + n, size - n, plain ? "%c" : "%%%02X", (unsigned char)*name);
    }
    snprintf(path + n, size - n, ".ring");
}

/* The link of a series: its name, also that of its file, and the nodes at both ends. */
struct link_name {
    const char *name, *from, *to;
};

static void peer_free(struct peer *peer)
{
    series_close(peer->series);
    free(peer->name);
    free(peer->from);
    free(peer->to);
    free(peer);
}

/* Removes the link without a measurement for longest, with its file, if that is long ago: nodes change
 * their names, and old links remain. */
static bool make_room(struct links *links, const char *name)
{
    struct peer *oldest = NULL;
    char path[4096];
    if (HASH_COUNT(links->peers) < MOST_PEERS)
        return true;
    for (struct peer *peer = links->peers; peer; peer = peer->hh.next)
        if (!oldest || peer->used_ns < oldest->used_ns)
            oldest = peer;
    if (clock_now_ns(links->clock) - oldest->used_ns < IDLE_NS) {
        if (!links->full)
            log_warning("link to \"%s\" is not kept: %d others are measured already", name, MOST_PEERS);
        links->full = true;
        return false;
    }
    if (links->state_dir) {
        file_of(links, oldest->name, path, sizeof path);
        unlink(path);
    }
    HASH_DELETE(hh, links->peers, oldest);
    peer_free(oldest);
    return true;
}

/* Call it with the lock. */
static struct peer *get_peer(struct links *links, const struct link_name *link)
{
    struct peer *peer;
    struct esp_error error;
    char path[4096];
    HASH_FIND_STR(links->peers, link->name, peer);
    if (peer)
        peer->used_ns = clock_now_ns(links->clock);
    if (peer || !make_room(links, link->name) || !(peer = calloc(1, sizeof *peer)))
        return peer;
    peer->used_ns = peer->calm_ns = clock_now_ns(links->clock);
    if (links->state_dir)
        file_of(links, link->name, path, sizeof path);
    peer->name = strdup(link->name);
    peer->from = strdup(link->from);
    peer->to = strdup(link->to);
    if (peer->name && peer->from && peer->to &&
        series_open(links->state_dir ? path : NULL, &peer->series, &error) == ESP_OK)
        HASH_ADD_KEYPTR(hh, links->peers, peer->name, strlen(peer->name), peer);
    if (peer->series && peer->hh.tbl)
        return peer;
    peer_free(peer);
    return NULL;
}

/* Adds the measurement and returns the forecast; false when there is none. */
static bool note(struct links *links, const struct link_name *link,
                 const struct link_measurement *measurement, struct path *forecast)
{
    pthread_mutex_lock(&links->lock);
    struct peer *peer = get_peer(links, link);
    const bool taken = peer && series_add(peer->series, measurement);
    if (peer && !taken && log_quota_take(&links->refused, clock_now_ns(links->clock)))
        log_warning(
            "link to \"%s\": a measurement that cannot be is left out: connection %.3g ms, latency %.3g ms, "
            "%.3g Mb/s",
            link->name, measurement->connect_ms, measurement->latency_ms, measurement->bandwidth);
    const bool known = peer && series_forecast(peer->series, forecast, NULL);
    pthread_mutex_unlock(&links->lock);
    return taken && known;
}

/* Whether a measurement that took `seconds` instead of `expected_s` says something about the link, and not
 * about an end that was stopped. */
static bool counts(struct links *links, const struct link_name *link, double expected_s, double seconds)
{
    pthread_mutex_lock(&links->lock);
    struct peer *peer = get_peer(links, link);
    const bool counted =
        !peer || surprise_counts(&peer->surprise, expected_s, seconds, clock_now_ns(links->clock));
    pthread_mutex_unlock(&links->lock);
    return counted;
}

/* Traffic through the node before a probe. */
struct traffic {
    uint64_t n;
    bool moves;
};

static struct traffic traffic_of(const struct links *links)
{
    struct traffic traffic = {0, false};
    if (links->ops.traffic)
        traffic.n = links->ops.traffic(links->ops.self, &traffic.moves);
    return traffic;
}

/* Whether data were on the link since then, so that the probe measured only the rest of its rate, which
 * forecasts already consider. Not for ever: if the link is never calm, the rest of its rate is what
 * remains of it. */
static bool is_disturbed(struct links *links, const struct link_name *link, struct traffic before)
{
    const struct traffic now = traffic_of(links);
    const int64_t now_ns = clock_now_ns(links->clock);
    bool disturbed = before.moves || now.moves || now.n != before.n;
    struct path known;
    pthread_mutex_lock(&links->lock);
    struct peer *peer = get_peer(links, link);
    disturbed = disturbed && peer && now_ns - peer->calm_ns < LINKS_DISTURBED_S * NS_PER_S &&
                series_forecast(peer->series, &known, NULL);
    if (peer && !disturbed)
        peer->calm_ns = now_ns;
    pthread_mutex_unlock(&links->lock);
    return disturbed;
}

/* No transfer of a probe is expected to take longer than this. */
static bool probe_counts(struct links *links, const struct link_name *link, double busy_s,
                         struct traffic before)
{
    return !is_disturbed(links, link, before) && counts(links, link, PROBE_MOST_S / 2, busy_s);
}

/* The way to a node has a separate series, with rates only. */
static void note_back(struct links *links, const char *peer, double bandwidth, double busy_s,
                      struct traffic before, struct path *path)
{
    char name[PROBE_MOST_NAME + 2];
    struct path back = {0};
    const struct link_measurement measurement = {.bandwidth = bandwidth, .time_s = time(NULL)};
    snprintf(name, sizeof name, ">%s", peer);
    const struct link_name link = {name, links->name, peer};
    if (bandwidth > 0 && probe_counts(links, &link, busy_s, before) &&
        note(links, &link, &measurement, &back) && back.known)
        path->back_bps = back.bandwidth_bps;
}

/* ---- a turn ---- */

struct turn {
    char parent[PROBE_MOST_NAME + 1], url[PROBE_MOST_URL + 1];
    char brother[PROBE_MOST_NAME + 1], brother_url[PROBE_MOST_URL + 1];
    char report[2048];
    size_t length;
    double busy_s;
    double latency_ms; /* of the link measured last */
};

/* Returns the client's files; the port has the others. */
static const struct probe_tls *tls_of(const struct links *links, struct probe_tls *tls)
{
    *tls = (struct probe_tls){.ca = links->ca};
    return links->ca ? tls : NULL;
}

static enum esp_status measure(struct links *links, struct turn *turn, const char *peer, const char *url,
                               struct path *forecast, struct esp_error *error)
{
    struct link_measurement measurement;
    struct probe_tls tls;
    double busy_s = 0;
    const struct traffic before = traffic_of(links);
    enum esp_status status =
        probe_link(url, tls_of(links, &tls), TIMEOUT_MS, &links->stop, &measurement, &busy_s, error);
    turn->busy_s = fmax(turn->busy_s, busy_s);
    if (status != ESP_OK)
        return status;
    turn->latency_ms = measurement.latency_ms;
    const struct link_name link = {peer, peer, links->name};
    forecast->known = false;
    if (!probe_counts(links, &link, busy_s, before))
        return ESP_OK;
    const int n =
        snprintf(turn->report + turn->length, sizeof turn->report - turn->length, "%s %.17g %.17g %.17g\n",
                 peer, measurement.connect_ms, measurement.latency_ms, measurement.bandwidth);
    turn->length += n > 0 && (size_t)n < sizeof turn->report - turn->length ? (size_t)n : 0;
    if (!note(links, &link, &measurement, forecast))
        forecast->known = false;
    return ESP_OK;
}

/* Measures the link to the parent in both directions. If the parent does not accept bytes, only one
 * direction is measured. */
static enum esp_status measure_parent(struct links *links, struct turn *turn, struct esp_error *error)
{
    struct path path = {0};
    struct probe_tls tls;
    double bandwidth = 0, busy_s = 0;
    enum esp_status status = measure(links, turn, turn->parent, turn->url, &path, error);
    if (status != ESP_OK)
        return status;
    const struct traffic before = traffic_of(links);
    status = probe_back(turn->url, tls_of(links, &tls), TIMEOUT_MS, &links->stop, turn->latency_ms,
                        &bandwidth, &busy_s, error);
    turn->busy_s += busy_s; /* the same link again */
    note_back(links, turn->parent, bandwidth, busy_s, before, &path);
    if (path.known)
        links->ops.to_parent(links->ops.self, &path);
    return status;
}

static enum esp_status take_turn(struct links *links, struct turn *turn, struct esp_error *error)
{
    char text[PROBE_MOST_NAME + PROBE_MOST_URL + 4], answer[PROBE_MOST_NAME + PROBE_MOST_URL + 4];
    struct path aside;
    struct esp_error ignored;
    struct probe_tls tls;
    snprintf(text, sizeof text, "%s %s\n", links->name, probe_port_url(links->port));
    enum esp_status status =
        probe_post(turn->url, tls_of(links, &tls), "turn", text, TIMEOUT_MS, answer, sizeof answer, error);
    if (status != ESP_OK)
        return status;
    turn->length = (size_t)snprintf(turn->report, sizeof turn->report, "%s\n", links->name);
    status = measure_parent(links, turn, error);
    /* A sibling that is gone or unreachable is no failure of the turn. */
    if (status == ESP_OK && sscanf(answer, "%255s %384s", turn->brother, turn->brother_url) == 2)
        measure(links, turn, turn->brother, turn->brother_url, &aside, &ignored);
    /* Sent even without a result, because the next child waits for the turn. */
    enum esp_status given = probe_post(turn->url, tls_of(links, &tls), "done", turn->report, TIMEOUT_MS, NULL,
                                       0, status == ESP_OK ? error : &ignored);
    return status == ESP_OK ? given : status;
}

static void tell(struct links *links, enum esp_status status, const struct esp_error *error)
{
    const bool failed = status != ESP_OK && status != ESP_BUSY && status != ESP_CANCELLED;
    if (failed && !links->silent)
        log_warning("the link to the parent is not measured: %s", error->text);
    else if (status == ESP_OK && links->silent)
        log_notice("the link to the parent is measured again");
    if (status != ESP_BUSY)
        links->silent = failed;
}

/* Returns true when the thread must end. */
static bool pause_for(struct links *links, int64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += until.tv_nsec;
    until.tv_sec += ns / NS_PER_S;
    until.tv_nsec = ns % NS_PER_S;
    pthread_mutex_lock(&links->lock);
    while (!links->stop && pthread_cond_timedwait(&links->wake, &links->lock, &until) == 0)
        ;
    const bool stop = links->stop;
    pthread_mutex_unlock(&links->lock);
    return stop;
}

/* Returns the least pause between turns. A failed one is repeated soon, and then at growing intervals. */
static int64_t least_pause_ns(const struct links *links, unsigned failures)
{
    const unsigned doublings = failures < MOST_DOUBLINGS ? failures : MOST_DOUBLINGS;
    const int64_t again_ns = AGAIN_NS << doublings;
    return failures > 0 && again_ns < links->every_ns ? again_ns : links->every_ns;
}

/* Returns the processor time of this thread. */
static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *run(void *self)
{
    struct links *links = self;
    int64_t pause_ns = AGAIN_NS / 4;
    unsigned failures = 0; /* failed turns in a row */
    while (!pause_for(links, pause_ns)) {
        struct turn turn = {.busy_s = 0};
        struct esp_error error = {0};
        pause_ns = AGAIN_NS;
        if (!links->ops.parent(links->ops.self, turn.parent, turn.url))
            continue;
        const double before_s = cpu_s();
        enum esp_status status = take_turn(links, &turn, &error);
        tell(links, status, &error);
        if (status == ESP_BUSY)
            continue;
        const double rest_s = fmax(turn.busy_s / SHARE, (cpu_s() - before_s) / SHARE_OF_PROCESSOR);
        failures = status == ESP_OK ? 0 : failures + 1;
        pause_ns = (int64_t)fmax(rest_s * 1e9, (double)least_pause_ns(links, failures));
    }
    return NULL;
}

/* ---- measurements by transfers ---- */

/* The time of a shorter transfer depends mainly on schedulers and round trips. */
#define TELLING_BYTES (256 << 10)

bool links_learn(struct links *links, const char *peer, uint64_t bytes, double seconds, struct path *path)
{
    if (!links || bytes < TELLING_BYTES || !(seconds > 0))
        return false;
    const struct link_name link = {peer, peer, links->name};
    pthread_mutex_lock(&links->lock);
    const struct peer *known = get_peer(links, &link);
    struct path before = {0};
    if (known)
        series_forecast(known->series, &before, NULL);
    pthread_mutex_unlock(&links->lock);
    if (!counts(links, &link, path_seconds(&before, bytes), seconds))
        return false;
    const double inverse = path_inverse_bandwidth(before.latency_s, (double)bytes, seconds);
    const struct link_measurement measurement = {
        .bandwidth = inverse > 0 ? fmin(8e-6 / inverse, SERIES_MOST_MBITS) : 0, .time_s = time(NULL)};
    return measurement.bandwidth > 0 && note(links, &link, &measurement, path);
}

/* ---- measurements of children ---- */

static void on_measured(void *self, const char *child, const char *peer,
                        const struct link_measurement *measurement)
{
    struct links *links = self;
    struct path path;
    char pair[2 * PROBE_MOST_NAME + 2];
    if (strcmp(peer, links->name) == 0)
        return; /* its own record has the forecast */
    snprintf(pair, sizeof pair, "%s:%s", child, peer);
    if (!note(links, &(struct link_name){pair, peer, child}, measurement, &path))
        return;
    pthread_mutex_lock(&links->telling);
    if (links->told && links->ops.between)
        links->ops.between(links->ops.self, child, peer, &path);
    pthread_mutex_unlock(&links->telling);
}

/* ---- weather reports ---- */

#define TELL_PATIENCE_NS (100 * NS_PER_MS)

void links_tell(struct links *links, struct outlook_page *page)
{
    struct timespec until;
    if (!links)
        return;
    /* The caller holds its node's lock, so the wait is limited: a disk that hangs during a measurement
     * must not stop the node. */
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TELL_PATIENCE_NS;
    until.tv_sec += until.tv_nsec / NS_PER_S;
    until.tv_nsec %= NS_PER_S;
    if (pthread_mutex_clocklock(&links->lock, CLOCK_MONOTONIC, &until) != 0)
        return;
    const int64_t now_s = time(NULL);
    for (const struct peer *peer = links->peers; peer; peer = peer->hh.next)
        series_tell(peer->series, peer->from, peer->to, now_s, page);
    pthread_mutex_unlock(&links->lock);
}

/* ---- creation and end ---- */

/* Returns "10.0.0.1:4880" for "10.0.0.1:4780"; "" if there is no port. */
static void port_address(const struct links_options *options, char *address, size_t size)
{
    char host[256] = "";
    uint16_t port;
    *address = 0;
    if (options->probe && strcmp(options->probe, "none") != 0)
        snprintf(address, size, "%s", options->probe);
    if (options->probe || config_read_address(options->listen, "0", host, sizeof host, &port, NULL) != ESP_OK)
        return;
    if (strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 || strcmp(host, "localhost") == 0 || !*host)
        return; /* loopback has no link to measure */
    listen_at_beside(options->listen, LINKS_PORT_OFFSET, address, size);
}

static enum esp_status open_port(const struct links_options *options, const char *address,
                                 const struct probe_port_ops *ops, struct probe_port **port,
                                 struct esp_error *error)
{
    const struct probe_tls *tls = options->tls.ca ? &options->tls : NULL;
    char any[300];
    char host[256];
    const char *colon = options->publish && !options->probe ? strrchr(options->publish, ':') : NULL;
    const char *publish = colon ? host : NULL;
    if (colon)
        snprintf(host, sizeof host, "%.*s", (int)(colon - options->publish), options->publish);
    enum esp_status status = probe_port_open(address, publish, tls, ops, port, error);
    if (status != ESP_SYSTEM || options->probe)
        return status;
    log_notice("links are measured at any free port: %s", error->text);
    snprintf(any, sizeof any, "%.*s:0", (int)(strrchr(address, ':') - address), address);
    return probe_port_open(any, publish, tls, ops, port, error);
}

/* An agent's state_dir may not exist yet: other code creates it later. */
static bool make_folder(const char *state_dir, const char *folder)
{
    return (mkdir(state_dir, 0700) == 0 || errno == EEXIST) && (mkdir(folder, 0700) == 0 || errno == EEXIST);
}

static void open_folder(const struct links *links, const char *folder)
{
    if (!make_folder(links->state_dir, folder)) {
        log_warning("%s: %s; measurements of links are kept in memory", folder, strerror(errno));
        return;
    }
    const unsigned n = ring_files_drop_old(folder, MOST_PEERS);
    if (n)
        log_notice("%s: %u series of links that were not measured for long are gone", folder, n);
}

enum esp_status links_create(const struct links_options *options, struct links **created,
                             struct esp_error *error)
{
    char address[300], folder[4096];
    pthread_condattr_t attributes;
    *created = NULL;
    port_address(options, address, sizeof address);
    if (!*address && !options->learns)
        return ESP_OK;
    struct links *links = calloc(1, sizeof *links);
    if (!links)
        return error_no_memory(error, "the links");
    links->every_ns = options->every_ns;
    links->clock = options->clock ? options->clock : &clock_system;
    links->refused = (struct log_quota){.most = MOST_LINES, .what = "measurements that cannot be"};
    links->name = strdup(options->name);
    links->state_dir = options->state_dir ? strdup(options->state_dir) : NULL;
    links->ca = options->tls.ca ? strdup(options->tls.ca) : NULL;
    if (links->state_dir &&
        snprintf(folder, sizeof folder, "%s/links", links->state_dir) < (int)sizeof folder)
        open_folder(links, folder);
    pthread_mutex_init(&links->lock, NULL);
    pthread_mutex_init(&links->telling, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&links->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    const struct probe_port_ops port_ops = {links, on_measured};
    const bool whole =
        links->name && (links->state_dir || !options->state_dir) && (links->ca || !options->tls.ca);
    enum esp_status status = whole ? ESP_OK : error_no_memory(error, "the links");
    if (status == ESP_OK && *address)
        status = open_port(options, address, &port_ops, &links->port, error);
    if (status == ESP_OK)
        *created = links;
    else
        links_destroy(links);
    return status;
}

const char *links_url(const struct links *links)
{
    return links && links->port ? probe_port_url(links->port) : NULL;
}

enum esp_status links_start(struct links *links, const struct links_ops *ops, struct esp_error *error)
{
    sigset_t all, before;
    if (!links)
        return ESP_OK;
    pthread_mutex_lock(&links->telling);
    links->ops = *ops;
    links->told = true;
    pthread_mutex_unlock(&links->telling);
    if (!links->port)
        return ESP_OK;
    sigfillset(&all); /* signals are for the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&links->thread, NULL, run, links);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    links->runs = code == 0;
    return code == 0 ? ESP_OK : error_set(error, ESP_SYSTEM, "no thread for the links (error %d)", code);
}

void links_stop(struct links *links)
{
    if (!links)
        return;
    pthread_mutex_lock(&links->telling);
    links->told = false;
    pthread_mutex_unlock(&links->telling);
    if (!links->runs)
        return;
    pthread_mutex_lock(&links->lock);
    links->stop = true;
    pthread_cond_signal(&links->wake);
    pthread_mutex_unlock(&links->lock);
    pthread_join(links->thread, NULL);
    links->runs = false;
}

void links_destroy(struct links *links)
{
    if (!links)
        return;
    links_stop(links);
    probe_port_close(links->port);
    struct peer *peer, *next;
    HASH_ITER(hh, links->peers, peer, next)
    {
        HASH_DELETE(hh, links->peers, peer);
        peer_free(peer);
    }
    pthread_cond_destroy(&links->wake);
    pthread_mutex_destroy(&links->telling);
    pthread_mutex_destroy(&links->lock);
    free(links->state_dir);
    free(links->ca);
    free(links->name);
    free(links);
}
