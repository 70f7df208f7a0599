/* SPDX-License-Identifier: Apache-2.0 */
#include "util/metrics.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double bounds[][HISTOGRAM_BUCKETS] = {
    [HISTOGRAM_SECONDS] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                           0.25,   0.5,     1,      2.5,   5,      10,    30,   60,    300,  1800},
    [HISTOGRAM_RATIO] = {0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1,
                         1.1,  1.25, 1.5, 2,   3,    5,   10,   20,  35,  50},
};

void histogram_add(struct histogram *histogram, double value)
{
    size_t i = 0;
    if (isnan(value))
        return;
    while (i < HISTOGRAM_BUCKETS && value > bounds[histogram->kind][i])
        i++;
    histogram->counts[i]++;
    histogram->sum += value;
}

uint64_t histogram_count(const struct histogram *histogram)
{
    uint64_t n = 0;
    for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++)
        n += histogram->counts[i];
    return n;
}

/* ---- the exposition format ---- */

void metrics_release(struct metrics *metrics)
{
    free(metrics->text);
    *metrics = (struct metrics){0};
}

static bool reserve(struct metrics *metrics, size_t more)
{
    size_t wanted = metrics->length + more + 1, capacity = metrics->capacity ? metrics->capacity : 4096;
    if (metrics->failed || wanted > METRICS_BYTES) {
        metrics->failed = true;
        return false;
    }
    if (wanted <= metrics->capacity)
        return true;
    while (capacity < wanted)
        capacity *= 2;
    char *text = realloc(metrics->text, capacity);
    if (!text) {
        metrics->failed = true;
        return false;
    }
    metrics->text = text;
    metrics->capacity = capacity;
    return true;
}

static void put(struct metrics *metrics, const char *text, size_t length)
{
    if (!reserve(metrics, length))
        return;
    memcpy(metrics->text + metrics->length, text, length);
    metrics->length += length;
    metrics->text[metrics->length] = '\0';
}

static void put_text(struct metrics *metrics, const char *text)
{
    put(metrics, text, strlen(text));
}

/* Writes a label's value with the three special characters escaped. */
static void put_quoted(struct metrics *metrics, const char *value)
{
    put_text(metrics, "\"");
    for (; *value; value++) {
        if (*value == '\n')
            put_text(metrics, "\\n");
        else if (*value == '"' || *value == '\\')
            put(metrics, (const char[]){'\\', *value}, 2);
        else
            put(metrics, value, 1);
    }
    put_text(metrics, "\"");
}

static void put_number(struct metrics *metrics, double value)
{
    char text[40];
    if (isinf(value))
        put_text(metrics, value > 0 ? "+Inf" : "-Inf");
    else {
        snprintf(text, sizeof text, "%.15g", value);
        put_text(metrics, text);
    }
}

void metrics_family(struct metrics *metrics, const char *name, enum metric_type type, const char *help)
{
    static const char *const types[] = {
        [METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_HISTOGRAM] = "histogram"};
    const char *const words[] = {"# HELP ", name, " ", help, "\n# TYPE ", name, " ", types[type], "\n"};
    metrics->family = name;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        put_text(metrics, words[i]);
}

void metrics_sample(struct metrics *metrics, double value, ...)
{
    const char *label;
    bool first = true;
    va_list labels;
    put_text(metrics, metrics->family);
    va_start(labels, value);
    while ((label = va_arg(labels, const char *))) {
        put_text(metrics, first ? "{" : ",");
        put_text(metrics, label);
        put_text(metrics, "=");
        put_quoted(metrics, va_arg(labels, const char *));
        first = false;
    }
    va_end(labels);
    put_text(metrics, first ? " " : "} ");
    put_number(metrics, value);
    put_text(metrics, "\n");
}

void metrics_counter(struct metrics *metrics, const char *name, double value, const char *help)
{
    metrics_family(metrics, name, METRIC_COUNTER, help);
    metrics_sample(metrics, value, (const char *)NULL);
}

void metrics_gauge(struct metrics *metrics, const char *name, double value, const char *help)
{
    metrics_family(metrics, name, METRIC_GAUGE, help);
    metrics_sample(metrics, value, (const char *)NULL);
}

static void put_part(struct metrics *metrics, const char *name, const char *part, double value)
{
    put_text(metrics, name);
    put_text(metrics, part);
    put_number(metrics, value);
    put_text(metrics, "\n");
}

void metrics_histogram(struct metrics *metrics, const char *name, const struct histogram *histogram,
                       const char *help)
{
    uint64_t n = 0;
    metrics_family(metrics, name, METRIC_HISTOGRAM, help);
    for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++) {
        n += histogram->counts[i];
        put_text(metrics, name);
        put_text(metrics, "_bucket{le=\"");
        put_number(metrics, i < HISTOGRAM_BUCKETS ? bounds[histogram->kind][i] : INFINITY);
        put_text(metrics, "\"} ");
        put_number(metrics, (double)n);
        put_text(metrics, "\n");
    }
    put_part(metrics, name, "_sum ", histogram->sum);
    put_part(metrics, name, "_count ", (double)n);
}

void status_count(struct status_counts *counts, enum esp_status status)
{
    counts->counts[(unsigned)status < METRICS_STATUSES ? (unsigned)status : ESP_INTERNAL]++;
}

void metrics_statuses(struct metrics *metrics, const char *name, const struct status_counts *counts,
                      const char *help)
{
    metrics_family(metrics, name, METRIC_COUNTER, help);
    for (unsigned i = 0; i < METRICS_STATUSES; i++)
        if (counts->counts[i] > 0)
            metrics_sample(metrics, (double)counts->counts[i], "reason",
                           esp_status_string((enum esp_status)i), (const char *)NULL);
}
