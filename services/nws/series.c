/* SPDX-License-Identifier: Apache-2.0 */
#include "services/nws/series.h"

#include "core/forecast/gauge.h"
#include "util/crc32c.h"
#include "util/log.h"
#include "util/regular_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADING "ESPLINK 1\n"

/* The format of the file, little-endian like all supported machines. */
struct record {
    uint64_t number; /* 1, 2, 3, ...; 0: none yet */
    int64_t time_s;
    double connect_ms, latency_ms, bandwidth;
    uint32_t unused, checksum; /* checksum: of all members before it */
};

struct series {
    char *path;
    int fd;                          /* -1: memory only */
    uint64_t number, refused, found; /* found: intact records in the ring */
    bool told;
    struct link_measurement last;
    struct gauge *connect, *latency, *bandwidth;
};

static uint32_t checksum(const struct record *record)
{
    return crc32c(0, (const char *)record, offsetof(struct record, checksum));
}

static bool is_possible(double value, double most)
{
    return isfinite(value) && value >= 0 && value <= most;
}

static bool can_be(const struct link_measurement *measurement)
{
    return is_possible(measurement->connect_ms, SERIES_MOST_MS) &&
           is_possible(measurement->latency_ms, SERIES_MOST_MS) &&
           is_possible(measurement->bandwidth, SERIES_MOST_MBITS) &&
           (measurement->latency_ms > 0 || measurement->bandwidth > 0);
}

static void learn(struct series *series, const struct link_measurement *measurement)
{
    if (measurement->connect_ms > 0)
        gauge_add(series->connect, measurement->connect_ms, measurement->time_s);
    if (measurement->latency_ms > 0)
        gauge_add(series->latency, measurement->latency_ms, measurement->time_s);
    if (measurement->bandwidth > 0)
        gauge_add(series->bandwidth, measurement->bandwidth, measurement->time_s);
    series->last = *measurement;
}

/* ---- the ring ---- */

static int by_number(const void *a, const void *b)
{
    const struct record *one = a, *other = b;
    return (one->number > other->number) - (one->number < other->number);
}

/* Takes the intact records; false when there are others. */
static bool take_records(struct series *series, struct record *records, size_t n)
{
    bool whole = true;
    size_t good = 0;
    for (size_t i = 0; i < n; i++) {
        static const struct record none;
        if (memcmp(&records[i], &none, sizeof none) == 0)
            continue;
        const struct link_measurement measurement = {records[i].connect_ms, records[i].latency_ms,
                                                     records[i].bandwidth, records[i].time_s};
        if (records[i].checksum == checksum(&records[i]) && records[i].number % SERIES_RECORDS == i &&
            can_be(&measurement))
            records[good++] = records[i];
        else
            whole = false;
    }
    if (good)
        qsort(records, good, sizeof *records, by_number);
    for (size_t i = 0; i < good; i++) {
        learn(series, &(struct link_measurement){records[i].connect_ms, records[i].latency_ms,
                                                 records[i].bandwidth, records[i].time_s});
        series->number = records[i].number;
    }
    series->found = good;
    return whole;
}

/* Whether the heading is valid for another version. An invalid heading says nothing, and the records
 * decide. */
static bool is_of_another_version(const char *head)
{
    const size_t word = sizeof "ESPLINK " - 1;
    return memcmp(head, HEADING, word) == 0 && memcmp(head, HEADING, sizeof HEADING - 1) != 0 &&
           isdigit((unsigned char)head[word]) &&
           (head[word + 1] == '\n' || isdigit((unsigned char)head[word + 1]));
}

/* False: the file is damaged. Intact records are used: a damaged heading, or a cut record at the end, does
 * not affect the others. */
static bool read_ring(struct series *series, struct record *records)
{
    char head[SERIES_HEADER] = "";
    ssize_t n = pread(series->fd, head, sizeof head, 0);
    if (n == 0)
        return true; /* new */
    if (n != sizeof head || is_of_another_version(head))
        return false;
    n = pread(series->fd, records, SERIES_RECORDS * sizeof *records, SERIES_HEADER);
    const bool whole = n >= 0 && take_records(series, records, (size_t)n / sizeof *records);
    return whole && n % (ssize_t)sizeof *records == 0 && memcmp(head, HEADING, sizeof HEADING - 1) == 0;
}

static bool write_head(const struct series *series)
{
    static const char head[SERIES_HEADER] = HEADING;
    return pwrite(series->fd, head, sizeof head, 0) == sizeof head;
}

static void write_record(struct series *series, const struct link_measurement *measurement)
{
    struct record record = {.number = series->number,
                            .time_s = measurement->time_s,
                            .connect_ms = measurement->connect_ms,
                            .latency_ms = measurement->latency_ms,
                            .bandwidth = measurement->bandwidth};
    record.checksum = checksum(&record);
    const off_t at = SERIES_HEADER + (off_t)(series->number % SERIES_RECORDS) * (off_t)sizeof record;
    if (pwrite(series->fd, &record, sizeof record, at) == sizeof record)
        return;
    if (!series->told)
        log_warning("%s cannot be written: %s; measurements are kept in memory", series->path,
                    strerror(errno));
    series->told = true;
}

static void set_aside(struct series *series)
{
    char aside[4200];
    snprintf(aside, sizeof aside, "%s.damaged", series->path);
    log_warning(
        "%s is damaged, or of another version: it is set aside as %s; %llu measurements of it are used",
        series->path, aside, (unsigned long long)series->found);
    close(series->fd);
    if (rename(series->path, aside) != 0)
        log_warning("%s cannot be renamed: %s", series->path, strerror(errno));
    series->fd = regular_file_descriptor(series->path, O_RDWR | O_CREAT, NULL);
}

/* Writes the intact records of a quarantined file again. */
static bool write_again(const struct series *series, const struct record *records)
{
    for (uint64_t i = 0; i < series->found; i++) {
        const off_t at = SERIES_HEADER + (off_t)(records[i].number % SERIES_RECORDS) * (off_t)sizeof *records;
        if (pwrite(series->fd, &records[i], sizeof *records, at) != sizeof *records)
            return false;
    }
    return true;
}

static void open_ring(struct series *series)
{
    struct record *records = calloc(SERIES_RECORDS, sizeof *records);
    struct esp_error error;
    series->fd = records ? regular_file_descriptor(series->path, O_RDWR | O_CREAT, &error) : -1;
    if (records && series->fd < 0) {
        log_warning("%s; measurements are kept in memory", error.text);
        series->told = true;
        free(records);
        return;
    }
    bool whole = series->fd >= 0;
    if (whole && !read_ring(series, records)) {
        set_aside(series);
        whole = series->fd >= 0 && write_again(series, records);
    }
    free(records);
    if (!whole || !write_head(series)) {
        log_warning("%s: %s; measurements are kept in memory", series->path, strerror(errno));
        series->told = true;
    }
}

enum esp_status series_open(const char *path, struct series **opened, struct esp_error *error)
{
    struct series *series = calloc(1, sizeof *series);
    if (!series)
        return error_no_memory(error, "a series");
    series->fd = -1;
    if (gauge_create(1, &series->connect, error) != ESP_OK ||
        gauge_create(1, &series->latency, error) != ESP_OK ||
        gauge_create(1, &series->bandwidth, error) != ESP_OK || (path && !(series->path = strdup(path)))) {
        series_close(series);
        return error_no_memory(error, "a series");
    }
    if (path)
        open_ring(series);
    *opened = series;
    return ESP_OK;
}

void series_close(struct series *series)
{
    if (!series)
        return;
    if (series->fd >= 0)
        close(series->fd);
    gauge_destroy(series->connect);
    gauge_destroy(series->latency);
    gauge_destroy(series->bandwidth);
    free(series->path);
    free(series);
}

/* ---- use ---- */

bool series_add(struct series *series, const struct link_measurement *measurement)
{
    if (!can_be(measurement)) {
        series->refused++;
        return false;
    }
    series->number++;
    learn(series, measurement);
    if (series->fd >= 0)
        write_record(series, measurement);
    return true;
}

bool series_forecast(const struct series *series, struct path *path, double *error)
{
    struct prediction latency, bandwidth;
    const bool knows_latency = gauge_forecast(series->latency, 1, &latency);
    const bool knows_bandwidth = gauge_forecast(series->bandwidth, 1, &bandwidth);
    *path = (struct path){.known = knows_latency || knows_bandwidth};
    if (knows_latency)
        path->latency_s = fmax(latency.value, 0) / 2e3;
    if (knows_bandwidth)
        path->bandwidth_bps = fmax(bandwidth.value, 0) * 1e6 / 8;
    if (error)
        *error = knows_bandwidth && bandwidth.value > 0 ? bandwidth.error / bandwidth.value : 0;
    return path->known;
}

size_t series_history(const struct series *series, double *bandwidths, size_t most)
{
    struct record record;
    const uint64_t held = series->number < SERIES_RECORDS ? series->number : SERIES_RECORDS;
    size_t n = 0;
    if (series->fd < 0)
        return 0;
    for (uint64_t i = series->number - (held < most ? held : most) + 1; i <= series->number; i++) {
        const off_t at = SERIES_HEADER + (off_t)(i % SERIES_RECORDS) * (off_t)sizeof record;
        if (pread(series->fd, &record, sizeof record, at) == sizeof record && record.number == i &&
            record.checksum == checksum(&record))
            bandwidths[n++] = record.bandwidth;
    }
    return n;
}

uint64_t series_count(const struct series *series, uint64_t *refused)
{
    if (refused)
        *refused = series->refused;
    return series->number;
}

bool series_last(const struct series *series, struct link_measurement *measurement)
{
    *measurement = series->last;
    return series->number > 0;
}

void series_tell(const struct series *series, const char *from, const char *to, int64_t now_s,
                 struct outlook_page *page)
{
    const struct {
        const char *resource;
        const struct gauge *gauge;
    } told[] = {{"bandwidthTcp", series->bandwidth},
                {"latencyTcp", series->latency},
                {"connectTimeTcp", series->connect}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        struct outlook outlook = {.resource = told[i].resource, .from = from, .to = to};
        if (gauge_outlook(told[i].gauge, 1, now_s, &outlook))
            outlook_page_add(page, &outlook);
    }
}
