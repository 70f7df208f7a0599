/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/predictor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY 51
#define AHEAD   10 /* the longest horizon */
/* Decay of errors, so that after a series has changed its nature another member can take over: half is
 * forgotten after about 350 measurements. */
#define FADING 0.998
/* Fraction of a window that a trimmed predictor leaves out at each end. */
#define TRIMMED 0.3

const unsigned predictor_horizons[PREDICTOR_HORIZONS] = {1, 2, 5, AHEAD};

enum kind { LAST, RUNNING_MEAN, SMOOTHED, MEAN, MEDIAN, TRIMMED_MEDIAN, ADAPTIVE_MEDIAN };

/* The registry of predictors, one row a member. */
static const struct member {
    const char *name;
    enum kind kind;
    double gain;
    unsigned least, most; /* windows */
} members[] = {
    {"last value", LAST, 0, 0, 0},
    {"running mean", RUNNING_MEAN, 0, 0, 0},
    {"smoothing 0.05", SMOOTHED, 0.05, 0, 0},
    {"smoothing 0.1", SMOOTHED, 0.1, 0, 0},
    {"smoothing 0.15", SMOOTHED, 0.15, 0, 0},
    {"smoothing 0.2", SMOOTHED, 0.2, 0, 0},
    {"smoothing 0.3", SMOOTHED, 0.3, 0, 0},
    {"smoothing 0.4", SMOOTHED, 0.4, 0, 0},
    {"smoothing 0.5", SMOOTHED, 0.5, 0, 0},
    {"smoothing 0.75", SMOOTHED, 0.75, 0, 0},
    {"mean of 5", MEAN, 0, 5, 5},
    {"mean of 31", MEAN, 0, 31, 31},
    {"median of 5", MEDIAN, 0, 5, 5},
    {"median of 31", MEDIAN, 0, 31, 31},
    {"trimmed median of 31", TRIMMED_MEDIAN, 0, 31, 31},
    {"trimmed median of 51", TRIMMED_MEDIAN, 0, 51, 51},
    {"adaptive median 5-21", ADAPTIVE_MEDIAN, 0, 5, 21},
    {"adaptive median 21-51", ADAPTIVE_MEDIAN, 0, 21, 51},
};
#define MEMBERS (sizeof members / sizeof *members)

struct score {
    double absolute, square, weight;
};

struct predictor {
    double history[HISTORY]; /* the newest first */
    unsigned n_history;
    uint64_t n;
    double mean;
    double values[MEMBERS]; /* the present forecasts */
    unsigned windows[MEMBERS];
    double past[AHEAD][MEMBERS]; /* forecasts made 1, 2, ... measurements ago, the newest first */
    unsigned n_past;
    struct score scores[PREDICTOR_HORIZONS][MEMBERS];
};

enum esp_status predictor_create(struct predictor **predictor, struct esp_error *error)
{
    *predictor = calloc(1, sizeof **predictor);
    if (!*predictor)
        return error_no_memory(error, "a predictor");
    for (size_t i = 0; i < MEMBERS; i++)
        (*predictor)->windows[i] = (members[i].least + members[i].most) / 2;
    return ESP_OK;
}

void predictor_destroy(struct predictor *predictor)
{
    free(predictor);
}

/* ---- members ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the newest `window` values in ascending order; returns how many there are. */
static unsigned sorted_window(const struct predictor *p, unsigned window, double *sorted)
{
    unsigned n = window < p->n_history ? window : p->n_history;
    memcpy(sorted, p->history, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    return n;
}

static double mean_of(const double *values, unsigned n)
{
    double sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += values[i] / n;
    return sum;
}

static double median_over(const struct predictor *p, unsigned window)
{
    double sorted[HISTORY];
    unsigned n = sorted_window(p, window, sorted);
    return n % 2 ? sorted[n / 2] : sorted[n / 2 - 1] / 2 + sorted[n / 2] / 2;
}

/* Returns the mean after cutting off both ends. */
static double trimmed_over(const struct predictor *p, unsigned window)
{
    double sorted[HISTORY];
    unsigned n = sorted_window(p, window, sorted), cut = (unsigned)(TRIMMED * n);
    return mean_of(sorted + cut, n - 2 * cut);
}

/* Changes the window by one towards the size that would have predicted this value better. */
static void adapt(struct predictor *p, size_t i, double value)
{
    unsigned window = p->windows[i], best = window;
    double least = fabs(median_over(p, window) - value);
    for (int step = -1; step <= 1; step += 2) {
        unsigned other = window + (unsigned)step;
        if (other < members[i].least || other > members[i].most)
            continue;
        double off = fabs(median_over(p, other) - value);
        if (off < least) {
            least = off;
            best = other;
        }
    }
    p->windows[i] = best;
}

static double next_value(const struct predictor *p, size_t i, double value)
{
    const struct member *member = &members[i];
    unsigned window = p->windows[i];
    switch (member->kind) {
    case LAST:
        return value;
    case RUNNING_MEAN:
        return p->mean;
    case SMOOTHED:
        return p->n == 1 ? value : p->values[i] + member->gain * (value - p->values[i]);
    case MEAN:
        return mean_of(p->history, window < p->n_history ? window : p->n_history);
    case TRIMMED_MEDIAN:
        return trimmed_over(p, window);
    case MEDIAN:
    case ADAPTIVE_MEDIAN:
        break;
    }
    return median_over(p, window);
}

/* ---- measurements ---- */

static void settle_scores(struct predictor *p, double value)
{
    for (size_t h = 0; h < PREDICTOR_HORIZONS; h++) {
        unsigned ago = predictor_horizons[h];
        if (ago > p->n_past)
            break;
        for (size_t i = 0; i < MEMBERS; i++) {
            struct score *score = &p->scores[h][i];
            double off = fabs(p->past[ago - 1][i] - value);
            score->absolute = FADING * score->absolute + off;
            score->square = FADING * score->square + off * off;
            score->weight = FADING * score->weight + 1;
        }
    }
}

static void push(struct predictor *p, double value)
{
    memmove(p->history + 1, p->history, (HISTORY - 1) * sizeof *p->history);
    p->history[0] = value;
    if (p->n_history < HISTORY)
        p->n_history++;
    p->n++;
    p->mean += (value - p->mean) / (double)p->n;
}

bool predictor_add(struct predictor *p, double value)
{
    if (!isfinite(value) || fabs(value) > 1e150) /* whose square overflows */
        return false;
    settle_scores(p, value);
    for (size_t i = 0; p->n_history > 0 && i < MEMBERS; i++)
        if (members[i].kind == ADAPTIVE_MEDIAN)
            adapt(p, i, value);
    push(p, value);
    for (size_t i = 0; i < MEMBERS; i++)
        p->values[i] = next_value(p, i, value);
    memmove(p->past[1], p->past[0], (AHEAD - 1) * sizeof p->past[0]);
    memcpy(p->past[0], p->values, sizeof p->past[0]);
    if (p->n_past < AHEAD)
        p->n_past++;
    return true;
}

/* ---- forecasts ---- */

static double mean_error(const struct score *score, bool square)
{
    if (!(score->weight > 0))
        return 0;
    double sum = square ? score->square : score->absolute;
    return square ? sqrt(sum / score->weight) : sum / score->weight;
}

static size_t best_member(const struct predictor *p, size_t horizon, bool square)
{
    size_t best = 0;
    for (size_t i = 1; i < MEMBERS; i++)
        if (mean_error(&p->scores[horizon][i], square) < mean_error(&p->scores[horizon][best], square))
            best = i;
    return best;
}

bool predictor_forecast(const struct predictor *p, unsigned ahead, struct prediction *prediction)
{
    size_t horizon = 0;
    if (p->n == 0)
        return false;
    while (horizon + 1 < PREDICTOR_HORIZONS && predictor_horizons[horizon] < ahead)
        horizon++;
    while (horizon > 0 && !(p->scores[horizon][0].weight > 0)) /* too few measurements for this horizon */
        horizon--;
    size_t absolute = best_member(p, horizon, false), square = best_member(p, horizon, true);
    *prediction = (struct prediction){
        .value = p->values[absolute],
        .error = mean_error(&p->scores[horizon][absolute], false),
        .value_by_square = p->values[square],
        .error_by_square = mean_error(&p->scores[horizon][square], true),
        .method = members[absolute].name,
        .method_by_square = members[square].name,
        .n = p->n,
    };
    return true;
}

size_t predictor_members(void)
{
    return MEMBERS;
}

const char *predictor_member_name(size_t i)
{
    return i < MEMBERS ? members[i].name : "";
}

double predictor_member_value(const struct predictor *p, size_t i)
{
    return i < MEMBERS ? p->values[i] : 0;
}

double predictor_member_error(const struct predictor *p, size_t i, size_t horizon)
{
    return i < MEMBERS && horizon < PREDICTOR_HORIZONS ? mean_error(&p->scores[horizon][i], false) : 0;
}
