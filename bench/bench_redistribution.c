/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans of redistributions: steps and cost against their lower bounds, and how the time to make one grows.
 */
#include "bench/bench.h"
#include "core/redistribution/redistribution.h"

static const struct redistribution_costs costs = {1e-5, 1e-8};

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* One period of a vector. */
static struct redistribution line(int64_t p, int64_t q, int64_t r, int64_t s)
{
    int64_t period = p * r / gcd(p * r, q * s) * q * s;
    return (struct redistribution){.from = block_cyclic_vector((struct block_cyclic){period, r, p, 0}),
                                   .to = block_cyclic_vector((struct block_cyclic){period, s, q, 0})};
}

static struct redistribution_summary plan(const struct redistribution *what,
                                          enum redistribution_schedule schedule)
{
    struct redistribution_plan *made;
    struct esp_error error = {0};
    if (redistribution_plan_create(what, schedule, &costs, &made, &error) != ESP_OK)
        bench_fail("%s", error.text);
    struct redistribution_summary summary = *redistribution_plan_summary(made);
    redistribution_plan_destroy(made);
    return summary;
}

struct sums {
    double steps, least_steps, stepwise, greedy, caterpillar, cases;
};

/* Costs as multiples of their lower bound, so that every case counts alike. */
static void add_case(struct sums *sums, int64_t p, int64_t q, int64_t r, int64_t s)
{
    struct redistribution what = line(p, q, r, s);
    struct redistribution_summary stepwise = plan(&what, REDISTRIBUTION_STEPWISE);
    double least = (double)stepwise.least_cost;
    sums->cases++;
    sums->steps += stepwise.steps;
    sums->least_steps += stepwise.least_steps;
    sums->stepwise += (double)stepwise.cost / least;
    sums->greedy += (double)plan(&what, REDISTRIBUTION_GREEDY).cost / least;
    sums->caterpillar += (double)plan(&what, REDISTRIBUTION_CATERPILLAR).cost / least;
}

static void cost_row(const char *name, double sum, const struct sums *sums)
{
    bench_row(&(struct bench_case){"redistribution", name, "bounds", BENCH_SHOWN, 0}, sum / sums->cases, 1);
}

static void steps_of_all(void)
{
    struct sums sums = {0};
    for (int64_t r = 1; r <= 12; r++)
        for (int64_t s = 1; s <= 12; s++)
            for (int64_t p = 1; p <= 16; p++)
                for (int64_t q = 1; q <= 16; q++)
                    add_case(&sums, p, q, r, s);
    bench_row(&(struct bench_case){"redistribution", "steps of all r, s <= 12, P, Q <= 16", "steps",
                                   BENCH_AT_MOST, 1},
              sums.steps, sums.least_steps);
    cost_row("their cost, stepwise", sums.stepwise, &sums);
    cost_row("their cost, greedy", sums.greedy, &sums);
    cost_row("their cost, caterpillar", sums.caterpillar, &sums);
}

static double plan_seconds(void *context, size_t n)
{
    double begin = bench_now();
    for (size_t i = 0; i < n; i++)
        plan(context, REDISTRIBUTION_BEST);
    return (bench_now() - begin) / (double)n * 1e6;
}

static void growth(const char *name, enum bench_bound kind, struct redistribution large,
                   struct redistribution small)
{
    bench_compare(&(struct bench_case){"redistribution", name, "us", kind, 100}, plan_seconds, &large,
                  plan_seconds, &small, 3, 7);
}

int main(void)
{
    growth("plan for P = Q = 1024 / for 128, r = 37, s = 53", BENCH_AT_MOST, line(1024, 1024, 37, 53),
           line(128, 128, 37, 53));
    growth("plan for P = Q = 512 / for 64, r = 36, s = 54", BENCH_SHOWN, line(512, 512, 36, 54),
           line(64, 64, 36, 54));
    growth("plan for 512 to 480 / 64 to 60, r = 37, s = 54", BENCH_SHOWN, line(512, 480, 37, 54),
           line(64, 60, 37, 54));
    steps_of_all();
    return 0;
}
