/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/gauge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gauge {
    struct predictor *predictor;
    double last;
    int64_t time_s;
    unsigned per_value;
    double sum; /* sum of the measurements that do not make a value yet */
    unsigned summed;
    double recent[OUTLOOK_RECENT]; /* a ring */
    uint64_t n;                    /* values ever */
};

enum esp_status gauge_create(unsigned per_value, struct gauge **created, struct esp_error *error)
{
    struct gauge *gauge = calloc(1, sizeof *gauge);
    *created = NULL;
    if (!gauge)
        return error_no_memory(error, "a gauge");
    gauge->per_value = per_value;
    enum esp_status status = predictor_create(&gauge->predictor, error);
    if (status == ESP_OK)
        *created = gauge;
    else
        gauge_destroy(gauge);
    return status;
}

void gauge_destroy(struct gauge *gauge)
{
    if (!gauge)
        return;
    predictor_destroy(gauge->predictor);
    free(gauge);
}

void gauge_add(struct gauge *gauge, double value, int64_t time_s)
{
    if (!predictor_add(gauge->predictor, value))
        return;
    gauge->last = value;
    gauge->time_s = time_s;
    gauge->sum += value;
    if (++gauge->summed < gauge->per_value)
        return;
    gauge->recent[gauge->n++ % OUTLOOK_RECENT] = gauge->sum / gauge->summed;
    gauge->sum = 0;
    gauge->summed = 0;
}

bool gauge_forecast(const struct gauge *gauge, unsigned ahead, struct prediction *prediction)
{
    return predictor_forecast(gauge->predictor, ahead, prediction);
}

bool gauge_outlook(const struct gauge *gauge, unsigned ahead, int64_t now_s, struct outlook *outlook)
{
    struct prediction prediction;
    if (!gauge_forecast(gauge, ahead, &prediction))
        return false;
    outlook->now = gauge->last;
    outlook->forecast = prediction.value;
    outlook->error = prediction.error;
    outlook->age_s =
        now_s > gauge->time_s ? (double)(now_s - gauge->time_s) : 0; /* the clock may have been set back */
    outlook->n = gauge->n < OUTLOOK_RECENT ? (unsigned)gauge->n : OUTLOOK_RECENT;
    for (unsigned i = 0; i < outlook->n; i++)
        outlook->recent[i] = gauge->recent[(gauge->n - outlook->n + i) % OUTLOOK_RECENT];
    return true;
}
