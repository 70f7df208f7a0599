/* SPDX-License-Identifier: Apache-2.0
 *
 * The battery of predictors on five kinds of series, against whichever single predictor would have been the
 * best for the whole of the series. Generated, so that every run sees the same.
 */
#include "bench/bench.h"
#include "core/forecast/predictor.h"
#include "util/random.h"

#include <math.h>
#include <stdio.h>

#define LENGTH 4000
#define PI     3.14159265358979

static double noise(struct random *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += random_real(random);
    return sum;
}

/* A machine that jobs come to and leave. */
static double steps(struct random *random, int i)
{
    static double level;
    if (i == 0 || random_below(random, 80) == 0)
        level = (double)(1 + random_below(random, 4)) / 4;
    return level + 0.01 * noise(random);
}

static double diurnal(struct random *random, int i)
{
    return 0.5 + 0.4 * sin(2 * PI * i / 288) + 0.03 * noise(random);
}

static double noisy(struct random *random, int i)
{
    (void)i;
    return 50 + 10 * noise(random);
}

/* Quiet, with outbursts. */
static double bursts(struct random *random, int i)
{
    static int left;
    if (i == 0)
        left = 0;
    if (left == 0 && random_below(random, 60) == 0)
        left = 1 + (int)random_below(random, 8);
    if (left > 0)
        left--;
    return (left > 0 ? 40 : 2) + 0.3 * noise(random);
}

static double constant(struct random *random, int i)
{
    (void)random;
    (void)i;
    return 7;
}

static const struct series {
    const char *name;
    double (*value)(struct random *random, int i);
} all_series[] = {
    {"steps", steps}, {"diurnal", diurnal}, {"noisy", noisy}, {"bursts", bursts}, {"constant", constant},
};

static void run(const struct series *series)
{
    struct predictor *predictor;
    struct random random;
    struct prediction prediction;
    double own = 0, single[64] = {0};
    char name[64];
    random_seed(&random, 2026);
    if (predictor_create(&predictor, NULL) != ESP_OK)
        bench_fail("no memory");
    for (int i = 0; i < LENGTH; i++) {
        double value = series->value(&random, i);
        if (predictor_forecast(predictor, 1, &prediction)) {
            own += fabs(prediction.value - value) / LENGTH;
            for (size_t k = 0; k < predictor_members(); k++)
                single[k] += fabs(predictor_member_value(predictor, k) - value) / LENGTH;
        }
        predictor_add(predictor, value);
    }
    size_t best = 0;
    for (size_t k = 1; k < predictor_members(); k++)
        if (single[k] < single[best])
            best = k;
    snprintf(name, sizeof name, "%s: mean error", series->name);
    printf("%s: the best is %s\n", series->name, predictor_member_name(best));
    const struct bench_case which = {"predictor", name, "", BENCH_AT_MOST, 1.05};
    /* A constant is told exactly by all: 0 to 0. */
    bench_row(&which, own + 1e-9, single[best] + 1e-9);
    predictor_destroy(predictor);
}

int main(void)
{
    for (size_t i = 0; i < sizeof all_series / sizeof *all_series; i++)
        run(&all_series[i]);
    return 0;
}
