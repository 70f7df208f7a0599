/* SPDX-License-Identifier: Apache-2.0
 *
 * What a daemon counts, and the text in which Prometheus reads it (exposition format 0.0.4).
 *
 * State machines keep plain numbers and histograms in their own structs, under their own lock; whoever wants
 * to see them takes the lock for the moment in which they are written into a text. So counting costs an
 * addition, and nothing is shared between threads.
 */
#ifndef UTIL_METRICS_H
#define UTIL_METRICS_H

#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 20

enum histogram_kind {
    HISTOGRAM_SECONDS, /* 0.1 ms to half an hour */
    HISTOGRAM_RATIO    /* 1/50 to 50: what came by what was expected */
};

/* All zero is an empty one, of seconds. */
struct histogram {
    enum histogram_kind kind;
    uint64_t counts[HISTOGRAM_BUCKETS + 1]; /* per bucket, not summed up; the last one has no bound */
    double sum;
};

/* Counts a value; what is no number is left out. */
void histogram_add(struct histogram *histogram, double value);
uint64_t histogram_count(const struct histogram *histogram);

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* A text that grows. All zero is an empty one; metrics_release() frees it. */
struct metrics {
    char *text; /* NUL-terminated once something was written */
    size_t length, capacity;
    bool failed;        /* out of memory, or beyond METRICS_BYTES: the text is cut */
    const char *family; /* borrowed: the one under way */
};
#define METRICS_BYTES (4u << 20)

void metrics_release(struct metrics *metrics);

/* Begins a family: what follows are its samples. `name` lives until the next one begins; names end in their
 * unit, counters in _total. `help` is one line. */
void metrics_family(struct metrics *metrics, const char *name, enum metric_type type, const char *help);

/* A sample of the family with labels: pairs of name and value, then NULL. Values may be any text. */
void metrics_sample(struct metrics *metrics, double value, ... /* const char * */) __attribute__((sentinel));

/* A family with one sample and no labels. */
void metrics_counter(struct metrics *metrics, const char *name, double value, const char *help);
void metrics_gauge(struct metrics *metrics, const char *name, double value, const char *help);
/* Failures by why: all zero is none. */
#define METRICS_STATUSES 32
struct status_counts {
    uint64_t counts[METRICS_STATUSES];
};
void status_count(struct status_counts *counts, enum esp_status status);
/* A family of counters with the label "reason" in words; reasons that never occurred are left out. */
void metrics_statuses(struct metrics *metrics, const char *name, const struct status_counts *counts,
                      const char *help);
/* A family with one histogram. */
void metrics_histogram(struct metrics *metrics, const char *name, const struct histogram *histogram,
                       const char *help);

#endif
