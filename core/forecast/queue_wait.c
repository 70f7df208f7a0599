/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/queue_wait.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST        1024 /* most waiting times in the history */
#define ALIKE_MIN   8    /* with fewer similar jobs, all jobs of the queue are used */
#define QUANTILE    0.95
#define CONFIDENCE  0.95
#define BOUND_NEEDS 59 /* fewest waiting times for which the bound exists */
#define RARE_RUN    3  /* this many in a row beyond the bound: chance 0.05^3 without a change */
#define LINE        96

struct wait {
    double cores, time_s, wait_s;
};

struct queue_wait {
    struct wait waits[MOST]; /* a ring */
    size_t first, n;
    double error_sum; /* sum of the errors of earlier forecasts, decaying */
    double error_weight;
    uint32_t run; /* number of latest waiting times beyond the bound, in a row */
};

enum esp_status queue_wait_create(struct queue_wait **history, struct esp_error *error)
{
    *history = calloc(1, sizeof **history);
    return *history ? ESP_OK : error_no_memory(error, "the history of a queue");
}

void queue_wait_destroy(struct queue_wait *history)
{
    free(history);
}

static const struct wait *at(const struct queue_wait *history, size_t i)
{
    return &history->waits[(history->first + i) % MOST];
}

/* ---- similar jobs ---- */

static int power_of_two(double value)
{
    return value >= 1 ? (int)ceil(log2(value) - 1e-9) : 0;
}

static bool are_alike(const struct wait *wait, const struct queue_request *request)
{
    return power_of_two(wait->cores) == power_of_two(request->cores) &&
           power_of_two(wait->time_s) == power_of_two(request->time_s);
}

/* The waiting times that count, in ascending order. */
struct sample {
    double waits[MOST];
    uint32_t n;
    bool alike;
};

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void collect(const struct queue_wait *history, const struct queue_request *request, bool alike,
                    double waited_s, struct sample *sample)
{
    sample->n = 0;
    sample->alike = alike;
    for (size_t i = 0; i < history->n; i++) {
        const struct wait *wait = at(history, i);
        if ((!alike || are_alike(wait, request)) && (waited_s <= 0 || wait->wait_s > waited_s))
            sample->waits[sample->n++] = wait->wait_s;
    }
    qsort(sample->waits, sample->n, sizeof *sample->waits, ascending);
}

static void collect_best(const struct queue_wait *history, const struct queue_request *request,
                         double waited_s, struct sample *sample)
{
    collect(history, request, true, waited_s, sample);
    if (sample->n < ALIKE_MIN)
        collect(history, request, false, waited_s, sample);
}

static double median(const struct sample *sample)
{
    const uint32_t n = sample->n;
    return n % 2 ? sample->waits[n / 2] : (sample->waits[n / 2 - 1] + sample->waits[n / 2]) / 2;
}

static double mean_distance(const struct sample *sample, double centre)
{
    double sum = 0;
    for (uint32_t i = 0; i < sample->n; i++)
        sum += fabs(sample->waits[i] - centre);
    return sum / sample->n;
}

/* ---- the bound ---- */

/* Sums the binomial distribution of the number of waiting times below the quantile, until it reaches the
 * confidence. */
uint32_t queue_wait_bound_rank(uint32_t n, double q, double c)
{
    double sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        const double log_term =
            lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + k * log(q) + (n - k) * log1p(-q);
        sum += exp(log_term);
        if (sum >= c)
            return k + 1;
    }
    return 0;
}

static double bound(const struct sample *sample)
{
    const uint32_t rank = queue_wait_bound_rank(sample->n, QUANTILE, CONFIDENCE);
    return sample->waits[rank ? rank - 1 : sample->n - 1];
}

/* ---- forecasts ---- */

static void forecast_from(const struct queue_wait *history, const struct sample *sample, double waited_s,
                          struct queue_forecast *forecast)
{
    const double centre = median(sample), most = bound(sample);
    const double spread = mean_distance(sample, centre);
    const double past = history->error_weight > 0 ? history->error_sum / history->error_weight : spread;
    *forecast = (struct queue_forecast){.wait_s = centre - waited_s,
                                        .error_s = sample->alike ? spread : fmax(spread, past),
                                        .bound_s = most - waited_s,
                                        .n = sample->n,
                                        .alike = sample->alike};
}

bool queue_wait_forecast(const struct queue_wait *history, const struct queue_request *request,
                         double waited_s, struct queue_forecast *forecast)
{
    struct sample sample;
    if (history->n == 0)
        return false;
    waited_s = waited_s > 0 ? waited_s : 0;
    collect_best(history, request, waited_s, &sample);
    if (sample.n == 0)
        *forecast = (struct queue_forecast){.wait_s = waited_s, .error_s = waited_s, .bound_s = 2 * waited_s};
    else
        forecast_from(history, &sample, waited_s, forecast);
    return true;
}

void queue_wait_combine(struct queue_forecast *forecast, double expected_s, double system_error_s)
{
    const double own = fmax(forecast->error_s, 1e-3);
    const double other = fmax(system_error_s > 0 ? system_error_s : own, 1e-3);
    const double own_weight = 1 / (own * own), other_weight = 1 / (other * other);
    if (!isfinite(expected_s) || expected_s < 0)
        return;
    forecast->wait_s =
        (own_weight * forecast->wait_s + other_weight * expected_s) / (own_weight + other_weight);
    /* Not less than the better of both alone, because they forecast the same queue. */
    forecast->error_s = fmin(own, other);
    forecast->bound_s = fmax(forecast->bound_s, forecast->wait_s);
}

/* ---- history ---- */

static void cut(struct queue_wait *history, size_t kept)
{
    if (history->n <= kept)
        return;
    history->first = (history->first + history->n - kept) % MOST;
    history->n = kept;
    history->error_sum = history->error_weight = 0;
}

/* Compares the known waiting time with its forecast, and checks whether the queue has changed. */
static void learn(struct queue_wait *history, const struct queue_request *request, double wait_s)
{
    struct queue_forecast forecast;
    if (!queue_wait_forecast(history, request, 0, &forecast))
        return;
    history->error_sum = 0.95 * history->error_sum + fabs(wait_s - forecast.wait_s);
    history->error_weight = 0.95 * history->error_weight + 1;
    history->run = wait_s > forecast.bound_s ? history->run + 1 : 0;
    if (history->n >= BOUND_NEEDS && history->run >= RARE_RUN) {
        cut(history, ALIKE_MIN);
        history->run = 0;
    }
}

static void push(struct queue_wait *history, const struct wait *wait)
{
    if (history->n == MOST) {
        history->first = (history->first + 1) % MOST;
        history->n--;
    }
    history->waits[(history->first + history->n++) % MOST] = *wait;
}

bool queue_wait_add(struct queue_wait *history, const struct queue_request *request, double wait_s)
{
    if (!isfinite(wait_s) || wait_s < 0 || !isfinite(request->cores) || !isfinite(request->time_s))
        return false;
    const struct wait wait = {request->cores, request->time_s, wait_s};
    learn(history, request, wait_s);
    push(history, &wait);
    return true;
}

/* ---- as a text ---- */

char *queue_wait_write(const struct queue_wait *history)
{
    char *text = malloc(history->n * LINE + 1);
    size_t used = 0;
    if (!text)
        return NULL;
    text[0] = 0;
    for (size_t i = 0; i < history->n; i++) {
        const struct wait *wait = at(history, i);
        used +=
            (size_t)snprintf(text + used, LINE, "%.9g %.9g %.9g\n", wait->cores, wait->time_s, wait->wait_s);
    }
    return text;
}

static bool read_line(const char *line, size_t length, struct wait *wait)
{
    char copy[LINE];
    int end = 0;
    if (length >= sizeof copy)
        return false;
    memcpy(copy, line, length);
    copy[length] = 0;
    return sscanf(copy, "%lf %lf %lf%n", &wait->cores, &wait->time_s, &wait->wait_s, &end) == 3 &&
           copy[end] == 0 && isfinite(wait->cores) && isfinite(wait->time_s) && isfinite(wait->wait_s) &&
           wait->wait_s >= 0;
}

size_t queue_wait_read(struct queue_wait *history, const char *text, size_t length)
{
    size_t taken = 0;
    for (size_t begin = 0; begin < length;) {
        const char *end = memchr(text + begin, '\n', length - begin);
        const size_t n = end ? (size_t)(end - text) - begin : length - begin;
        struct wait wait;
        if (read_line(text + begin, n, &wait)) {
            push(history, &wait);
            taken++;
        }
        begin += n + 1;
    }
    return taken;
}
