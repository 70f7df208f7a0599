/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry of schedulers, and the index that finds the best servers by them without looking at all.
 */
#include "tests/unit/unit.h"
#include "core/server_index.h"
#include "util/random.h"

#include <stdlib.h>

static void the_registry_knows_its_rows_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"mct", "round-robin", "random", "least-loaded"};
    size_t n;
    const struct scheduler *table = scheduler_table(&n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_non_null(scheduler_find(names[i]));
        assert_string_equal(scheduler_find(names[i])->name, names[i]);
    }
    assert_ptr_equal(scheduler_find(NULL), &table[0]);
    assert_ptr_equal(scheduler_find(""), &table[0]);
    assert_string_equal(table[0].name, "mct");
    assert_null(scheduler_find("best"));
}

/* What the index's pruning rests on. */
static void no_score_falls_when_anything_grows(void **state)
{
    (void)state;
    struct random random;
    size_t n;
    random_seed(&random, 1);
    for (int round = 0; round < 2000; round++) {
        struct scheduler_view low = {random_real(&random), random_real(&random), random_real(&random), 0,
                                     random_below(&random, 100)};
        struct scheduler_view high = low;
        switch (random_below(&random, 4)) {
        case 0:
            high.wait_s += random_real(&random);
            break;
        case 1:
            high.compute_s += random_real(&random);
            break;
        case 2:
            high.transfer_s += random_real(&random);
            break;
        default:
            high.turn += random_below(&random, 9);
        }
        const struct scheduler *table = scheduler_table(&n);
        for (size_t i = 0; i < n; i++)
            assert_true(table[i].score(&high) >= table[i].score(&low));
    }
}

static void mct_waits_for_a_faster_server_when_that_is_sooner(void **state)
{
    (void)state;
    const struct scheduler *mct = scheduler_find("mct");
    struct scheduler_view busy_fast = {.wait_s = 2, .compute_s = 1}, idle_slow = {.compute_s = 4};
    assert_true(mct->score(&busy_fast) < mct->score(&idle_slow));
    const struct scheduler *least = scheduler_find("least-loaded");
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
        struct scheduler_view view = index_view(entry, query);
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
        struct scheduler_view view = index_view(found[i], query);
        if (!query->scheduler->random) {
            assert_true(query->scheduler->score(&view) == ranks[i].score);
            assert_true(view.line == ranks[i].line);
        }
        assert_true(has_memory(found[i], query));
        assert_true(!query->wanted || query->wanted(found[i], NULL));
        for (size_t j = 0; j < i; j++)
            assert_ptr_not_equal(found[i], found[j]);
    }
}

static void the_index_finds_exactly_the_best(void **state)
{
    (void)state;
    static struct pool pool;
    struct index_search search = {0};
    size_t n_schedulers;
    const struct scheduler *table = scheduler_table(&n_schedulers);
    random_seed(&pool.random, 77);
    for (size_t i = 0; i < SERVERS; i++) {
        pool.entries[i].id = i + 1;
        pool.where[i] = INDEXES;
    }
    for (int round = 0; round < 4000; round++) {
        change(&pool);
        struct index_query query = {
            .scheduler = &table[random_below(&pool.random, n_schedulers)],
            .work_flop = 1e9 * random_real(&pool.random),
            .call_s = 1e-5,
            .bytes = random_below(&pool.random, 1000000000),
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
    struct index_query query = {.scheduler = scheduler_find("mct"), .work_flop = 1e9};
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
        cmocka_unit_test(mct_waits_for_a_faster_server_when_that_is_sooner),
        cmocka_unit_test(the_index_finds_exactly_the_best),
        cmocka_unit_test(the_index_counts_who_has_the_memory),
        cmocka_unit_test(a_search_among_many_looks_at_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
