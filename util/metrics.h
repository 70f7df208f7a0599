/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a daemon's counters as a text for Prometheus (exposition format 0.0.4).
 *
 * State machines keep plain numbers and histograms in their own structs, under their own lock. A reader
 * takes that lock while they are written into a text. So counting costs an addition, and no counter is
 * shared between threads. */
#ifndef UTIL_METRICS_H
#define UTIL_METRICS_H

#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 20

enum histogram_kind {
    HISTOGRAM_SECONDS, /* 0.1 ms to half an hour */
    HISTOGRAM_RATIO    /* 1/50 to 50: actual over expected value */
};

/* All zero is empty, with buckets for seconds. */
struct histogram {
    enum histogram_kind kind;
    uint64_t counts[HISTOGRAM_BUCKETS + 1]; /* per bucket, not cumulative; the last one has no bound */
    double sum;
};

/* Counts a value; NaN is ignored. */
void histogram_add(struct histogram *histogram, double value);
uint64_t histogram_count(const struct histogram *histogram);

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* A text that grows. All zero is empty; metrics_release() frees it. */
struct metrics {
    char *text; /* NUL-terminated once something was written */
    size_t length, capacity;
    bool failed;        /* out of memory, or beyond METRICS_BYTES: the text is cut */
    const char *family; /* borrowed: the current family */
};
#define METRICS_BYTES (4u << 20)

void metrics_release(struct metrics *metrics);

/* Begins a family: the following samples belong to it. `name` must live until the next one begins; names
 * end in their unit, counters in _total. `help` is one line. */
void metrics_family(struct metrics *metrics, const char *name, enum metric_type type, const char *help);

/* Writes a sample of the family with labels: pairs of name and value, then NULL. Values may be any text. */
void metrics_sample(struct metrics *metrics, double value, ... /* const char * */) __attribute__((sentinel));

/* Write a family with one sample and no labels. */
void metrics_counter(struct metrics *metrics, const char *name, double value, const char *help);
void metrics_gauge(struct metrics *metrics, const char *name, double value, const char *help);
/* Failures by status: all zero is empty. */
#define METRICS_STATUSES 32
struct status_counts {
    uint64_t counts[METRICS_STATUSES];
};
void status_count(struct status_counts *counts, enum esp_status status);
/* Writes a family of counters with the label "reason" in words; reasons that never occurred are omitted. */
void metrics_statuses(struct metrics *metrics, const char *name, const struct status_counts *counts,
                      const char *help);
/* Writes a family with one histogram. */
void metrics_histogram(struct metrics *metrics, const char *name, const struct histogram *histogram,
                       const char *help);

#endif
