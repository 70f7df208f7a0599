/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry of schedulers, and the index that finds the best servers by them without looking at all.
 */
#include "tests/unit/unit.h"
#include "core/choice/server_index.h"
#include "util/random.h"

#include <math.h>
#include <stdlib.h>

static void the_registry_knows_its_rows_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"mct", "cheapest", "round-robin", "random", "least-loaded"};
    size_t n;
    const struct esp_scheduler *table = scheduler_table(&n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_non_null(scheduler_find(names[i]));
        assert_string_equal(scheduler_find(names[i])->name, names[i]);
    }
    assert_ptr_equal(scheduler_find(NULL), &table[0]);
    assert_ptr_equal(scheduler_find(""), &table[0]);
    assert_string_equal(table[0].name, "mct");
    assert_null(scheduler_find("best"));
}

static struct esp_server_view view_of(const struct schedule_times *times, double price, uint64_t turn,
                                      double deadline_s)
{
    struct esp_server_view view = {.price = price, .turn = turn, .deadline_s = deadline_s};
    scheduler_view_times(&view, times);
    return view;
}

/* The property on which the index's pruning relies. */
static void no_score_falls_when_anything_grows(void **state)
{
    (void)state;
    struct random random;
    size_t n;
    random_seed(&random, 1);
    for (int round = 0; round < 4000; round++) {
        double members[7], more[7];
        for (int i = 0; i < 7; i++)
            members[i] = more[i] = random_real(&random);
        more[random_below(&random, 7)] += random_real(&random);
        const double deadline_s = random_below(&random, 2) ? HUGE_VAL : 3 * random_real(&random);
        struct esp_server_view low =
            view_of(&(struct schedule_times){members[0], members[1], members[2], members[3], members[4]},
                    members[5], (uint64_t)(100 * members[6]), deadline_s);
        struct esp_server_view high =
            view_of(&(struct schedule_times){more[0], more[1], more[2], more[3], more[4]}, more[5],
                    (uint64_t)(100 * more[6]), deadline_s);
        const struct esp_scheduler *table = scheduler_table(&n);
        for (size_t i = 0; i < n; i++)
            assert_true(scheduler_score(&table[i], &high) >= scheduler_score(&table[i], &low));
    }
}

static void arguments_travel_while_others_compute(void **state)
{
    (void)state;
    struct schedule_times times = {.wait_s = 5, .compute_s = 2, .in_s = 3, .out_s = 1};
    assert_float_equal(view_of(&times, 0, 0, HUGE_VAL).complete_s, 8, 1e-12);
    times.link_wait_s = 4; /* what was sent there before is through by then */
    assert_float_equal(view_of(&times, 0, 0, HUGE_VAL).complete_s, 10, 1e-12);
    assert_float_equal(view_of(&times, 0, 0, HUGE_VAL).transfer_s, 4, 1e-12);
    assert_float_equal(view_of(&times, 0, 0, HUGE_VAL).wait_s, 5, 1e-12);
}

static void the_cheapest_in_time_comes_first_and_else_the_soonest(void **state)
{
    (void)state;
    const struct esp_scheduler *cheapest = scheduler_find("cheapest");
    const struct schedule_times quick = {.compute_s = 1}, slow = {.compute_s = 10};
    struct esp_server_view dear = view_of(&quick, 100, 0, 20), cheap = view_of(&slow, 1, 0, 20);
    assert_true(scheduler_score(cheapest, &cheap) < scheduler_score(cheapest, &dear));
    dear.deadline_s = cheap.deadline_s = 5;
    assert_true(scheduler_score(cheapest, &dear) < scheduler_score(cheapest, &cheap));
    dear.deadline_s = cheap.deadline_s = 0.5; /* both too late: the price counts no more */
    assert_true(scheduler_score(cheapest, &dear) < scheduler_score(cheapest, &cheap));
    struct esp_server_view also_cheap = view_of(&quick, 1, 0, 20);
    cheap.deadline_s = 20;
    assert_true(scheduler_score(cheapest, &also_cheap) < scheduler_score(cheapest, &cheap));
}

static void mct_waits_for_a_faster_server_when_that_is_sooner(void **state)
{
    (void)state;
    const struct esp_scheduler *mct = scheduler_find("mct");
    const struct esp_server_view busy_fast = view_of(&(struct schedule_times){.wait_s = 2, .compute_s = 1}, 0,
                                                     0, HUGE_VAL),
                                 idle_slow =
                                     view_of(&(struct schedule_times){.compute_s = 4}, 0, 0, HUGE_VAL);
    assert_true(mct->score(&busy_fast) < mct->score(&idle_slow));
    const struct esp_scheduler *least = scheduler_find("least-loaded");
    assert_true(least->score(&idle_slow) < least->score(&busy_fast));
}

/* ---- the index ---- */

enum { SERVERS = 300, INDEXES = 3 };

struct pool {
    struct server_index indexes[INDEXES];
    struct index_entry entries[SERVERS];
    size_t where[SERVERS]; /* its index; INDEXES: in none */
    struct random random;
};

/* Values that often coincide, so that ties and idle servers are tested too. */
static void draw_bounds(struct pool *pool, struct index_entry *entry)
{
    struct random *random = &pool->random;
    entry->self = (struct index_bounds){
        .slowness = 1e-9 * (double)(1 + random_below(random, 8)),
        .free_ns = (int64_t)random_below(random, 20) * 100000000,
        .drained_ns = (int64_t)random_below(random, 40) * 100000000,
        .line = (double)random_below(random, 4),
        .latency_s = 0.01 * (double)random_below(random, 3),
        .inverse_bandwidth = 1e-9 * (double)random_below(random, 3),
        .turn = random_below(random, 50),
        .price = (double)random_below(random, 5) * 1000,
        .link_free_ns = (int64_t)random_below(random, 20) * 100000000,
        .memory = random_below(random, 10) * 1000,
        .memory_free = random_below(random, 10) * 1000,
    };
}

static void change(struct pool *pool)
{
    size_t i = random_below(&pool->random, SERVERS);
    struct index_entry *entry = &pool->entries[i];
    switch (random_below(&pool->random, 4)) {
    case 0:
        index_remove(entry);
        pool->where[i] = INDEXES;
        break;
    case 1:
        draw_bounds(pool, entry);
        pool->where[i] = random_below(&pool->random, INDEXES);
        index_insert(&pool->indexes[pool->where[i]], entry);
        break;
    default:
        if (random_below(&pool->random, 2))
            draw_bounds(pool, entry);
        else
            entry->self.free_ns += 50000000;
        index_update(entry);
    }
}

static bool odd_ones_only(const struct index_entry *entry, void *arg)
{
    (void)arg;
    return entry->id % 2 == 1;
}

/* Some take longer than the bound tells, and more memory. */
static void dearer(const struct index_entry *entry, void *arg, double *compute_s, uint64_t *memory_bytes)
{
    (void)arg;
    *compute_s *= 1 + (double)(entry->id * 7 % 5);
    *memory_bytes += entry->id % 4 * 2000;
}

static bool has_memory(const struct index_entry *entry, const struct index_query *query)
{
    double compute_s = 0;
    uint64_t memory = query->memory_bytes;
    if (query->cost)
        query->cost(entry, NULL, &compute_s, &memory);
    return entry->self.memory >= memory;
}

struct rank {
    double score, line;
};

static int ascending(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->score != y->score)
        return (x->score > y->score) - (x->score < y->score);
    return (x->line > y->line) - (x->line < y->line);
}

/* The ranks of all that fit, sorted: what an exact search has to begin with. */
static size_t brute_force(const struct pool *pool, size_t n_indexes, const struct index_query *query,
                          struct rank *ranks)
{
    size_t n = 0;
    for (size_t i = 0; i < SERVERS; i++) {
        const struct index_entry *entry = &pool->entries[i];
        if (pool->where[i] >= n_indexes || !has_memory(entry, query) ||
            (query->wanted && !query->wanted(entry, query->arg)))
            continue;
        struct esp_server_view view = index_view(entry, query);
        if (view.complete_s > query->finish_s)
            continue;
        ranks[n++] = (struct rank){query->scheduler->score(&view), view.line};
    }
    qsort(ranks, n, sizeof *ranks, ascending);
    return n;
}

static void check_query(struct pool *pool, struct index_search *search, const struct index_query *query)
{
    struct server_index *indexes[INDEXES];
    struct index_entry *found[SERVERS];
    struct rank ranks[SERVERS];
    for (size_t i = 0; i < INDEXES; i++)
        indexes[i] = &pool->indexes[i];
    size_t n_indexes = 1 + random_below(&pool->random, INDEXES);
    size_t most = 1 + random_below(&pool->random, 12);
    size_t all = brute_force(pool, n_indexes, query, ranks);
    size_t n = index_select(search, indexes, n_indexes, query, found, most);
    assert_int_equal(n, all < most ? all : most);
    for (size_t i = 0; i < n; i++) {
        struct esp_server_view view = index_view(found[i], query);
        if (!(query->scheduler->flags & ESP_SCHEDULER_RANDOM)) {
            assert_true(query->scheduler->score(&view) == ranks[i].score);
            assert_true(view.line == ranks[i].line);
        }
        assert_true(has_memory(found[i], query));
        assert_true(!query->wanted || query->wanted(found[i], NULL));
        for (size_t j = 0; j < i; j++)
            assert_ptr_not_equal(found[i], found[j]);
    }
}

/* A site's own idea: nothing can be pruned by it. */
static double longest_computation(const struct esp_server_view *view)
{
    return -view->compute_s;
}

static const struct esp_scheduler slowest_first = {ESP_SCHEDULER_VERSION, ESP_SCHEDULER_EVERY,
                                                   "slowest-first", "for tests", longest_computation};

/* Ways that the client knows itself, of some: quicker than any bound tells, or slower. */
static size_t draw_own(struct pool *pool, struct index_own *own)
{
    size_t n = 0;
    if (random_below(&pool->random, 2))
        return 0;
    for (size_t i = 0; i < SERVERS; i++)
        if (random_below(&pool->random, 4) == 0)
            own[n++] = (struct index_own){
                &pool->entries[i],
                {true, 1e-3 * random_real(&pool->random), 1e7 + 1e9 * random_real(&pool->random),
                 random_below(&pool->random, 2) ? 0 : 1e8 * random_real(&pool->random)},
                {(unsigned)random_below(&pool->random, 3), 0, 0}};
    return n;
}

/* Within messages, in chunks, or both. */
static struct request_bytes draw_bytes(struct random *random)
{
    struct request_bytes bytes = {random_below(random, 1000000000), random_below(random, 1000000000), 0, 0};
    bytes.chunks_in = random_below(random, 2) ? random_below(random, bytes.in + 1) : 0;
    bytes.chunks_out = random_below(random, 2) ? random_below(random, bytes.out + 1) : 0;
    return bytes;
}

static void the_index_finds_exactly_the_best(void **state)
{
    (void)state;
    static struct pool pool;
    static struct index_own own[SERVERS];
    struct index_search search = {0};
    size_t n_schedulers;
    const struct esp_scheduler *table = scheduler_table(&n_schedulers);
    random_seed(&pool.random, 77);
    for (size_t i = 0; i < SERVERS; i++) {
        pool.entries[i].id = i + 1;
        pool.where[i] = INDEXES;
    }
    for (int round = 0; round < 4000; round++) {
        change(&pool);
        struct index_query query = {
            .scheduler = random_below(&pool.random, 8) ? &table[random_below(&pool.random, n_schedulers)]
                                                       : &slowest_first,
            .work_flop = 1e9 * random_real(&pool.random),
            .call_s = 1e-5,
            .bytes = draw_bytes(&pool.random),
            .trips = (unsigned)random_below(&pool.random, 3),
            .access_s = random_below(&pool.random, 2) ? 0 : 0.1 * random_real(&pool.random),
            .access_inverse = random_below(&pool.random, 2) ? 0 : 1e-7 * random_real(&pool.random),
            .own = own,
            .n_own = draw_own(&pool, own),
            .finish_s = random_below(&pool.random, 3) ? HUGE_VAL : 3 * random_real(&pool.random),
            .now_ns = (int64_t)random_below(&pool.random, 30) * 100000000,
            .memory_bytes = random_below(&pool.random, 3) * 3000,
            .wanted = random_below(&pool.random, 3) ? NULL : odd_ones_only,
            .cost = random_below(&pool.random, 2) ? NULL : dearer,
            .random = &pool.random,
        };
        check_query(&pool, &search, &query);
    }
    index_search_release(&search);
}

static void the_index_counts_who_has_the_memory(void **state)
{
    (void)state;
    static struct pool pool;
    random_seed(&pool.random, 3);
    for (size_t i = 0; i < SERVERS; i++) {
        pool.entries[i].id = i + 1;
        draw_bounds(&pool, &pool.entries[i]);
        index_insert(&pool.indexes[0], &pool.entries[i]);
    }
    for (uint64_t need = 0; need < 12000; need += 500) {
        uint32_t expected = 0;
        uint64_t most = 0;
        for (size_t i = 0; i < SERVERS; i++) {
            expected += pool.entries[i].self.memory >= need;
            most = pool.entries[i].self.memory > most ? pool.entries[i].self.memory : most;
        }
        assert_int_equal(index_capable(&pool.indexes[0], need), expected);
        assert_int_equal(index_most_memory(&pool.indexes[0]), most);
    }
    assert_int_equal(index_count(&pool.indexes[0]), SERVERS);
    for (size_t i = 0; i < SERVERS; i++)
        index_remove(&pool.entries[i]);
    assert_int_equal(index_count(&pool.indexes[0]), 0);
}

/* Equal servers sorted by speed alone would make a list of a plain tree. */
static void a_search_among_many_looks_at_few(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    struct index_entry *entries = calloc(MANY, sizeof *entries);
    struct server_index index = {0}, *indexes[] = {&index};
    struct index_search search = {0};
    struct random random;
    random_seed(&random, 9);
    for (size_t i = 0; i < MANY; i++) {
        entries[i].id = i + 1;
        entries[i].self = (struct index_bounds){.slowness = 1e-9 * (1 + random_real(&random)),
                                                .free_ns = (int64_t)random_below(&random, 4000000000)};
        index_insert(&index, &entries[i]);
    }
    struct index_query query = {.scheduler = scheduler_find("mct"), .work_flop = 1e9, .finish_s = HUGE_VAL};
    struct index_entry *found[3];
    for (int i = 0; i < 100; i++) {
        assert_int_equal(index_select(&search, indexes, 1, &query, found, 3), 3);
        found[0]->self.free_ns += 1000000000;
        index_update(found[0]);
    }
    assert_true(search.capacity < 2048); /* what was open at one time: far from 20,000 */
    index_search_release(&search);
    free(entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_registry_knows_its_rows_by_name),
        cmocka_unit_test(no_score_falls_when_anything_grows),
        cmocka_unit_test(arguments_travel_while_others_compute),
        cmocka_unit_test(the_cheapest_in_time_comes_first_and_else_the_soonest),
        cmocka_unit_test(mct_waits_for_a_faster_server_when_that_is_sooner),
        cmocka_unit_test(the_index_finds_exactly_the_best),
        cmocka_unit_test(the_index_counts_who_has_the_memory),
        cmocka_unit_test(a_search_among_many_looks_at_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
