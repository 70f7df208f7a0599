/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent pays for knowing where 100,000 data are: memory for each, and a lookup against the same with
 * 100 data. A lookup is what a request costs that names a datum: its identity is read and looked for.
 */
#include "bench/bench.h"
#include "core/hierarchy/location.h"
#include "util/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { MANY = 100000, FEW = 100, CHILDREN = 20, LOOKUPS = 100 };

struct table {
    struct location *location;
    struct datum_id *ids;
    struct random random;
    uint32_t n;
    char texts[LOOKUPS][DATUM_TEXT]; /* of one batch */
};

static void fill(struct table *table, uint32_t n)
{
    struct location_options options = {.seed = 7, .track = true};
    struct esp_error error;
    uint32_t children[CHILDREN];
    *table = (struct table){.n = n, .ids = calloc(n, sizeof *table->ids)};
    random_seed(&table->random, n);
    if (!table->ids || location_create(&options, &table->location, &error) != ESP_OK)
        bench_fail("no memory");
    for (int i = 0; i < CHILDREN; i++)
        location_child(table->location, &children[i], NULL);
    for (uint32_t i = 0; i < n; i++) {
        struct datum_id *id = &table->ids[i];
        id->key = (struct datum_key){random_next(&table->random), random_next(&table->random)};
        snprintf(id->origin, sizeof id->origin, "node%u", i % 1000);
        if (location_add(table->location, children[i % CHILDREN], id->key, 8000, &error) != ESP_OK)
            bench_fail("%s", error.text);
    }
}

static void choose(struct table *table)
{
    for (int i = 0; i < LOOKUPS; i++)
        datum_id_text(&table->ids[random_below(&table->random, table->n)], table->texts[i]);
}

static double look_up(void *context, size_t n)
{
    struct table *table = context;
    struct datum_id id;
    uint32_t child;
    double seconds = 0;
    for (size_t i = 0; i < n; i++) {
        choose(table);
        double start = bench_now();
        for (int k = 0; k < LOOKUPS; k++)
            if (datum_id_parse(table->texts[k], &id, NULL) != ESP_OK ||
                location_find(table->location, id.key, NULL, &child, 1) != 1)
                bench_fail("a datum was not found");
        seconds += bench_now() - start;
    }
    return seconds / (double)n / LOOKUPS * 1e9;
}

int main(void)
{
    static struct table many, few;
    fill(&many, MANY);
    fill(&few, FEW);
    bench_row(
        &(struct bench_case){"location", "memory per datum, 100000 data", "bytes", BENCH_GROWS_AT_MOST, 128},
        (double)location_memory(many.location) / MANY, 0);
    bench_compare(&(struct bench_case){"location", "lookup, 100000 data against 100", "ns", BENCH_AT_MOST, 2},
                  look_up, &many, look_up, &few, 500, 9);
    location_destroy(many.location);
    location_destroy(few.location);
    free(many.ids);
    free(few.ids);
    return 0;
}
