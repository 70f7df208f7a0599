/* SPDX-License-Identifier: Apache-2.0 */
#include "services/nws/probe.h"

#include "core/forecast/path.h"

#include <curl/curl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Least number of messages, and most until the two fastest agree. */
#define PINGS        5
#define PINGS_MOST   20
#define AGREEING     1.1
#define FIRST_BYTES  (32.0 * 1024)
#define FIRST_PACKET 1448 /* of an Ethernet */
#define UPLOAD_PIECE (256 << 10)
/* A transfer that takes this long, and this many round trips, has left slow start. */
#define LONG_S     0.1
#define LONG_TRIPS 8

struct sink {
    char *text;
    size_t size, length;
    const volatile bool *stop;
};

static size_t take(char *data, size_t one, size_t n, void *arg)
{
    struct sink *sink = arg;
    const size_t left = sink->size > sink->length ? sink->size - sink->length - 1 : 0;
    const size_t taken = n < left ? n : left;
    (void)one;
    if (taken) {
        memcpy(sink->text + sink->length, data, taken);
        sink->length += taken;
        sink->text[sink->length] = 0;
    }
    return sink->stop && *sink->stop ? 0 : n;
}

static enum esp_status failed(CURLcode code, const char *url, struct esp_error *error)
{
    const enum esp_status status =
        code == CURLE_OPERATION_TIMEDOUT                                             ? ESP_TIMEOUT
        : code == CURLE_WRITE_ERROR || code == CURLE_ABORTED_BY_CALLBACK             ? ESP_CANCELLED
        : code == CURLE_OUT_OF_MEMORY                                                ? ESP_NO_MEMORY
        : code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ? ESP_SECURITY
                                                                                     : ESP_UNREACHABLE;
    /* Returns the host without the secret at the end of the URL. */
    const char *host = strstr(url, "//");
    return error_set(error, status, "probe of %.*s: %s", host ? (int)strcspn(host + 2, "/") : 0,
                     host ? host + 2 : "", curl_easy_strerror(code));
}

static CURL *open_handle(const struct probe_tls *tls, int64_t timeout_ms, struct sink *sink)
{
    CURL *handle = curl_easy_init();
    if (!handle)
        return NULL;
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    if (tls) {
        curl_easy_setopt(handle, CURLOPT_CAINFO, tls->ca);
        curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST,
                         0L); /* as between daemons, because addresses change */
    }
    curl_easy_setopt(handle, CURLOPT_PROXY, ""); /* a proxy would be another link */
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, sink);
    return handle;
}

static enum esp_status perform(CURL *handle, const char *url, const char *page, struct esp_error *error)
{
    char whole[PROBE_MOST_URL + 64];
    long answered = 0;
    snprintf(whole, sizeof whole, "%s/%s", url, page);
    curl_easy_setopt(handle, CURLOPT_URL, whole);
    const CURLcode code = curl_easy_perform(handle);
    if (code != CURLE_OK)
        return failed(code, url, error);
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answered);
    if (answered == 200)
        return ESP_OK;
    return error_set(error, answered == 503 ? ESP_BUSY : ESP_REFUSED, "probe: answered with HTTP status %ld",
                     answered);
}

/* Checks that the answer has the requested length: a page of another program would look like an infinitely
 * fast link. */
static enum esp_status fetch(CURL *handle, const char *url, double bytes, struct esp_error *error)
{
    char page[64];
    curl_off_t came = 0;
    snprintf(page, sizeof page, "bytes?n=%.0f", bytes);
    enum esp_status status = perform(handle, url, page, error);
    if (status != ESP_OK)
        return status;
    curl_easy_getinfo(handle, CURLINFO_SIZE_DOWNLOAD_T, &came);
    if ((double)came == bytes)
        return ESP_OK;
    return error_set(error, ESP_PROTOCOL,
                     "probe: expected %.0f bytes, found %.0f: another program answers there", bytes,
                     (double)came);
}

static double time_of(CURL *handle, CURLINFO what)
{
    curl_off_t us = 0;
    curl_easy_getinfo(handle, what, &us);
    return (double)us / 1e6;
}

/* ---- the three figures ---- */

/* Times of a small message and its answer, as seen by the programs at both ends: NWS's latency. The time
 * of sending is taken by us when sending starts; libcurl takes it when sending is done, when the answer
 * may have arrived already on one host. */
struct ping {
    struct timespec sent, heard;
    bool is_heard;
};

static int on_sending(void *arg, char *peer, char *own, int peer_port, int own_port)
{
    struct ping *ping = arg;
    (void)peer;
    (void)own;
    (void)peer_port;
    (void)own_port;
    ping->is_heard = false;
    clock_gettime(CLOCK_MONOTONIC, &ping->sent);
    return CURL_PREREQFUNC_OK;
}

static size_t on_header(char *data, size_t one, size_t n, void *arg)
{
    struct ping *ping = arg;
    (void)data;
    if (!ping->is_heard)
        clock_gettime(CLOCK_MONOTONIC, &ping->heard);
    ping->is_heard = true;
    return one * n;
}

static double trip_of(const struct ping *ping)
{
    return (double)(ping->heard.tv_sec - ping->sent.tv_sec) +
           (double)(ping->heard.tv_nsec - ping->sent.tv_nsec) / 1e9;
}

/* Returns the least time of some small messages on the open connection; longer ones waited in queues. One
 * fast message needs a second one to confirm it, because on a slow link the next measurement may be a
 * minute away. Opening a connection does not count, because the kernel answers that. */
static enum esp_status measure_latency(CURL *handle, const char *url, struct link_measurement *measurement,
                                       struct esp_error *error)
{
    double least_s = HUGE_VAL, second_s = HUGE_VAL;
    struct ping ping = {.is_heard = false};
    curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, on_sending);
    curl_easy_setopt(handle, CURLOPT_PREREQDATA, &ping);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &ping);
    for (int i = 0; i < PINGS || (i < PINGS_MOST && second_s > AGREEING * least_s); i++) {
        if (fetch(handle, url, 1, error) != ESP_OK)
            return error->status;
        if (i == 0)
            measurement->connect_ms = 1e3 * (time_of(handle, CURLINFO_CONNECT_TIME_T) -
                                             time_of(handle, CURLINFO_NAMELOOKUP_TIME_T));
        const double trip_s = trip_of(&ping);
        second_s = fmin(second_s, fmax(least_s, trip_s));
        least_s = fmin(least_s, trip_s);
    }
    curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, NULL);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, NULL);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, NULL);
    measurement->latency_ms = 1e3 * least_s;
    return ESP_OK;
}

/* Computes the seconds per byte. The transfer before, a quarter as long, has opened the window, so from
 * the arrival of its first packet on the last transfer came at the link's rate. */
static double seconds_per_byte(double bytes, double took_s, double trip_s)
{
    return bytes > FIRST_BYTES ? took_s / (bytes - FIRST_PACKET)
                               : path_inverse_bandwidth(trip_s / 2, bytes, took_s);
}

/* Makes one transfer of that many bytes, and measures its time from the first byte's arrival on. */
typedef enum esp_status transfer_once(CURL *handle, const char *url, double bytes, double trip_s,
                                      double *took_s, struct esp_error *error);

static enum esp_status fetch_once(CURL *handle, const char *url, double bytes, double trip_s, double *took_s,
                                  struct esp_error *error)
{
    (void)trip_s;
    enum esp_status status = fetch(handle, url, bytes, error);
    *took_s = time_of(handle, CURLINFO_TOTAL_TIME_T) - time_of(handle, CURLINFO_STARTTRANSFER_TIME_T);
    return status;
}

/* Pseudo-random bytes, which cannot be compressed: one page repeated. */
struct noise {
    uint64_t state, left; /* left: bytes of this transfer */
    const volatile bool *stop;
};

static size_t give_noise(char *buffer, size_t one, size_t n, void *arg)
{
    struct noise *noise = arg;
    const size_t given = one * n < noise->left ? one * n : noise->left;
    for (size_t i = 0; i < given; i++) {
        if (i % 8 == 0)
            noise->state = noise->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        buffer[i] = (char)(noise->state >> (8 * (i % 8)));
    }
    noise->left -= given;
    return noise->stop && *noise->stop ? CURL_READFUNC_ABORT : given;
}

/* The answer comes when all bytes have arrived: half a round trip before the first byte's arrival, and
 * half of one after the last. */
static enum esp_status send_once(CURL *handle, const char *url, double bytes, double trip_s, double *took_s,
                                 struct esp_error *error)
{
    struct noise *noise = NULL;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &noise);
    noise->left = (uint64_t)bytes;
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
    enum esp_status status = perform(handle, url, "bytes", error);
    *took_s = fmax(
        time_of(handle, CURLINFO_TOTAL_TIME_T) - time_of(handle, CURLINFO_PRETRANSFER_TIME_T) - trip_s, 0);
    return status;
}

/* Makes larger and larger transfers, until one is long enough for the rate. */
static enum esp_status measure_bandwidth(CURL *handle, const char *url, transfer_once *transfer,
                                         double latency_ms, double *bandwidth, double *busy_s,
                                         struct esp_error *error)
{
    const double trip_s = latency_ms / 1e3;
    for (double bytes = FIRST_BYTES; bytes <= PROBE_MOST_BYTES; bytes *= 4) {
        double took_s;
        if (transfer(handle, url, bytes, trip_s, &took_s, error) != ESP_OK)
            /* If the port refuses further bytes, earlier transfers still count; it may have closed the
             * connection before its answer was read. */
            return *bandwidth > 0 && (error->status == ESP_REFUSED || transfer == send_once) ? ESP_OK
                                                                                             : error->status;
        const double inverse = seconds_per_byte(bytes, took_s, trip_s);
        *busy_s += took_s;
        if (inverse > 0)
            *bandwidth = fmin(8e-6 / inverse, SERIES_MOST_MBITS);
        const double rounds_s = LONG_TRIPS * trip_s;
        if ((took_s >= LONG_S && took_s >= rounds_s) || 4 * took_s > PROBE_MOST_S)
            break;
    }
    return ESP_OK;
}

enum esp_status probe_link(const char *url, const struct probe_tls *tls, int64_t timeout_ms,
                           const volatile bool *stop, struct link_measurement *measurement, double *busy_s,
                           struct esp_error *error)
{
    struct sink sink = {.stop = stop};
    struct esp_error own;
    if (!error)
        error = &own;
    CURL *handle = open_handle(tls, timeout_ms, &sink);
    if (!handle)
        return error_no_memory(error, "a probe");
    *busy_s = 0;
    *measurement = (struct link_measurement){.time_s = time(NULL)};
    enum esp_status status = measure_latency(handle, url, measurement, error);
    if (status == ESP_OK)
        status = measure_bandwidth(handle, url, fetch_once, measurement->latency_ms, &measurement->bandwidth,
                                   busy_s, error);
    curl_easy_cleanup(handle);
    return status;
}

enum esp_status probe_back(const char *url, const struct probe_tls *tls, int64_t timeout_ms,
                           const volatile bool *stop, double latency_ms, double *bandwidth, double *busy_s,
                           struct esp_error *error)
{
    struct sink sink = {.stop = stop};
    struct noise noise = {.state = 1, .stop = stop};
    struct esp_error own;
    if (!error)
        error = &own;
    *bandwidth = 0;
    CURL *handle = open_handle(tls, timeout_ms, &sink);
    /* Without "Expect", which would add a round trip that the time does not consider. */
    struct curl_slist *headers = handle ? curl_slist_append(NULL, "Expect:") : NULL;
    if (!headers) {
        curl_easy_cleanup(handle);
        return error_no_memory(error, "a probe");
    }
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, give_noise);
    curl_easy_setopt(handle, CURLOPT_READDATA, &noise);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, &noise);
    curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_PIECE);
    enum esp_status status = measure_bandwidth(handle, url, send_once, latency_ms, bandwidth, busy_s, error);
    curl_slist_free_all(headers);
    curl_easy_cleanup(handle);
    /* A port without this page has refused it. */
    return status == ESP_REFUSED ? ESP_OK : status;
}

enum esp_status probe_post(const char *url, const struct probe_tls *tls, const char *page, const char *text,
                           int64_t timeout_ms, char *answer, size_t size, struct esp_error *error)
{
    struct sink sink = {.text = answer, .size = size};
    CURL *handle = open_handle(tls, timeout_ms, &sink);
    if (!handle)
        return error_no_memory(error, "a probe");
    if (size)
        *answer = 0;
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, text);
    enum esp_status status = perform(handle, url, page, error);
    curl_easy_cleanup(handle);
    return status;
}
