/* SPDX-License-Identifier: Apache-2.0
 *
 * What was measured of one link: a series of NWS's three figures, with the battery of predictors over it
 * (core/forecast/gauge.h), and a ring of the last measurements on disk, from which it goes on after a
 * restart.
 *
 * A ring file: SERIES_HEADER bytes of heading, then SERIES_RECORDS records of fixed size, each with its
 * number and a checksum; record n is in place n modulo SERIES_RECORDS. So a crash while writing costs one
 * record. One thread.
 */
#ifndef SERVICES_NWS_SERIES_H
#define SERVICES_NWS_SERIES_H

#include "core/forecast/outlook.h"
#include "core/message/message_basic.h"
#include "util/error.h"

#define SERIES_RECORDS 512
#define SERIES_HEADER  16

/* In NWS's units. What was not measured is 0. A series that is not a link's has its figure as bandwidth. */
struct link_measurement {
    double connect_ms; /* connectTimeTcp: to open a connection */
    double latency_ms; /* latencyTcp: a small message there and back */
    double bandwidth;  /* bandwidthTcp: Mb/s */
    int64_t time_s;    /* since 1970, by a clock that may jump: for people only */
};

struct series;

/* Reads the ring at `path` if there is one (NULL: memory only). A file that is damaged, or of another
 * version, is set aside as PATH.damaged and told to the log; what is whole in it is used. ESP_NO_MEMORY. */
enum esp_status series_open(const char *path, struct series **series, struct esp_error *error);
void series_close(struct series *series); /* NULL is nothing to do */

/* The next measurement. False, and nothing is taken, when one of its figures cannot be: negative, not finite,
 * more than SERIES_MOST_MS or SERIES_MOST_MBITS. A full disk is told to the log once, and the series goes on
 * in memory. */
#define SERIES_MOST_MS    3600e3
#define SERIES_MOST_MBITS 10e6
bool series_add(struct series *series, const struct link_measurement *measurement);

/* The forecast of the next seconds as a path; false before the first measurement. *error (may be NULL):
 * relative, of the bandwidth. */
bool series_forecast(const struct series *series, struct path *path, double *error);
/* The bandwidths that the ring on disk holds, at most `most` of the newest, the oldest of them first. */
size_t series_history(const struct series *series, double *bandwidths, size_t most);
/* How many were taken, the ring's included; refused: that could not be. */
uint64_t series_count(const struct series *series, uint64_t *refused);
/* The last one; false before the first. */
bool series_last(const struct series *series, struct link_measurement *measurement);
/* Adds what is known of the link between these two nodes to the page: a line for each figure that has been
 * measured. `now_s`: since 1970. */
void series_tell(const struct series *series, const char *from, const char *to, int64_t now_s,
                 struct outlook_page *page);

#endif
