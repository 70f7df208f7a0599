/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes that are visited again, later. Where a core is shared with somebody else's hyperthread, or a guest
 * with other guests, a routine has several speeds that last for seconds: the quickest is that of a machine
 * which its users rarely have. What one visit found far off what the other sizes lead to expect was measured
 * at such a time, above as well as below; the median of three visits is what is typical of it.
 */
#include "services/fast/fit.h"

#include <math.h>
#include <stdlib.h>

#define MOST_AGAIN 12
#define VISITS     3
/* Off the model's forecast by this, and by this many of its errors; visits that are closer agree. */
#define CLEARLY    0.05
#define ERRORS     1.5
#define MOST_ERROR 0.5 /* one visit that was disturbed counts as so far off at most */

struct look {
    struct cost_measurement *m, visits[VISITS];
    unsigned n;
    double first_s, expected_s;
};

static int by_distance(const void *a, const void *b)
{
    const struct look *x = a, *y = b;
    const double off_x = fabs(log(x->m->seconds / x->expected_s));
    const double off_y = fabs(log(y->m->seconds / y->expected_s));
    return (off_x < off_y) - (off_x > off_y);
}

static int by_time(const void *a, const void *b)
{
    const struct cost_measurement *x = a, *y = b;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* Those that are furthest off, by a factor, the furthest first. */
static unsigned find_all(struct cost_model *model, struct look *looks)
{
    const double clearly = fmax(CLEARLY, ERRORS * model->time.error);
    unsigned n = 0;
    for (uint32_t i = 0; i < model->n_measurements; i++) {
        struct cost_measurement *m = &model->measurements[i];
        const double expected_s = cost_curve_value(model, &model->time, m->x, NULL);
        if (expected_s > 0 && m->seconds > 0 && fabs(log(m->seconds / expected_s)) > log1p(clearly))
            looks[n++] = (struct look){
                .m = m, .visits = {*m}, .n = 1, .first_s = m->seconds, .expected_s = expected_s};
    }
    qsort(looks, n, sizeof *looks, by_distance);
    return n < MOST_AGAIN ? n : MOST_AGAIN;
}

static bool agrees(const struct look *look)
{
    const double a = look->visits[0].seconds, b = look->visits[1].seconds;
    return fabs(a - b) <= CLEARLY * fmin(a, b);
}

/* Of three the median; of two, as there was no time for a third, the one that is nearer to what is expected.
 */
static const struct cost_measurement *typical(struct look *look)
{
    if (look->n == 1 || agrees(look))
        return look->m;
    qsort(look->visits, look->n, sizeof *look->visits, by_time);
    if (look->n == VISITS)
        return &look->visits[VISITS / 2];
    const double middle = sqrt(look->visits[0].seconds * look->visits[1].seconds);
    return &look->visits[look->expected_s > middle];
}

static enum esp_status visit_all(struct look *looks, unsigned n, fit_visit *visit, void *arg,
                                 struct esp_error *error)
{
    for (unsigned round = 1; round < VISITS; round++)
        for (unsigned i = 0; i < n; i++) {
            struct look *look = &looks[i];
            if (round > 1 && agrees(look))
                continue;
            enum esp_status status = visit(arg, look->m, &look->visits[look->n], error);
            if (status == ESP_LIMIT)
                return ESP_OK;
            if (status != ESP_OK)
                return status;
            look->n++;
        }
    return ESP_OK;
}

/* What a visit is off what is typical of its size is no error of the curve any more, and part of what a call
 * has to expect: the squared share that all sizes have of it, at their first visit. */
static double spread_of(const struct look *looks, unsigned n, uint32_t n_measurements)
{
    double squares = 0;
    for (unsigned i = 0; i < n; i++) {
        const double off = fmin(fabs(looks[i].first_s / looks[i].m->seconds - 1), MOST_ERROR);
        squares += off * off;
    }
    return squares / n_measurements;
}

enum esp_status fit_again(struct cost_model *model, fit_visit *visit, void *arg, struct arena *arena,
                          struct esp_error *error)
{
    bool changed = false;
    struct look *looks = calloc(model->n_measurements + 1, sizeof *looks);
    if (!looks)
        return error_no_memory(error, "a second look");
    const unsigned n = find_all(model, looks);
    enum esp_status status = visit_all(looks, n, visit, arg, error);
    for (unsigned i = 0; i < n && status == ESP_OK; i++) {
        struct cost_measurement *m = looks[i].m;
        const struct cost_measurement counts = *typical(&looks[i]);
        changed = changed || counts.seconds != m->seconds;
        *m = counts;
    }
    const double spread = spread_of(looks, n, model->n_measurements);
    free(looks);
    if (status != ESP_OK || !changed)
        return status;
    status = fit_model(model, arena, error);
    if (status == ESP_OK)
        model->time.error = sqrt(model->time.error * model->time.error + spread);
    return status;
}
