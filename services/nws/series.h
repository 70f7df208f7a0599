/* SPDX-License-Identifier: Apache-2.0
 *
 * The measurements of one link: a series of NWS's three figures, with the battery of predictors over it
 * (core/forecast/gauge.h), and a ring file of the last measurements, with which it continues after a
 * restart.
 *
 * A ring file: SERIES_HEADER bytes of heading, then SERIES_RECORDS records of fixed size, each with its
 * number and a checksum; record n is in place n modulo SERIES_RECORDS. So a crash while writing loses one
 * record. One thread. */
#ifndef SERVICES_NWS_SERIES_H
#define SERVICES_NWS_SERIES_H

#include "core/forecast/outlook.h"
#include "core/message/message_basic.h"
#include "util/error.h"

#define SERIES_RECORDS 512
#define SERIES_HEADER  16

/* In NWS's units. 0: not measured. The series of another quantity has its figure as bandwidth. */
struct link_measurement {
    double connect_ms; /* connectTimeTcp: to open a connection */
    double latency_ms; /* latencyTcp: round trip of a small message */
    double bandwidth;  /* bandwidthTcp: Mb/s */
    int64_t time_s;    /* since 1970, by a clock that may be set: for display only */
};

struct series;

/* Reads the ring at `path` if there is one (NULL: memory only). A file that is damaged, or of another
 * version, is quarantined as PATH.damaged and logged; its intact records are used. ESP_NO_MEMORY. */
enum esp_status series_open(const char *path, struct series **series, struct esp_error *error);
void series_close(struct series *series); /* NULL is ignored */

/* Adds a measurement. False, and nothing is added, when a figure is impossible: negative, not finite, more
 * than SERIES_MOST_MS or SERIES_MOST_MBITS. A full disk is logged once, and the series continues in
 * memory. */
#define SERIES_MOST_MS    3600e3
#define SERIES_MOST_MBITS 10e6
bool series_add(struct series *series, const struct link_measurement *measurement);

/* Forecasts the next seconds as a path; false before the first measurement. *error (may be NULL): relative
 * error of the bandwidth. */
bool series_forecast(const struct series *series, struct path *path, double *error);
/* Gets the bandwidths in the ring file, at most `most` of the newest, the oldest of them first. */
size_t series_history(const struct series *series, double *bandwidths, size_t most);
/* Returns how many were added, including the ring file's; refused: impossible ones. */
uint64_t series_count(const struct series *series, uint64_t *refused);
/* Gets the last one; false before the first. */
bool series_last(const struct series *series, struct link_measurement *measurement);
/* Adds the link between these two nodes to the page: a line for each measured figure. `now_s`: since 1970. */
void series_tell(const struct series *series, const char *from, const char *to, int64_t now_s,
                 struct outlook_page *page);

#endif
