/* SPDX-License-Identifier: Apache-2.0
 *
 * The file in which clients keep knowledge of links: found again, bounded, and never an error. */
#include "client/session/link.h"
#include "client/session/link_memory.h"
#include "client/session/route.h"
#include "client/session/sounding.h"
#include "core/choice/estimate.h"
#include "core/forecast/sharing.h"
#include "core/forecast/surprise.h"
#include "core/forecast/path.h"
#include "core/forecast/told_links.h"
#include "tests/unit/unit.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NOW INT64_C(1700000000)

static char folder[] = "/tmp/espalier-memory-XXXXXX", path[200], aside[210];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/cache/espalier/links", folder);
    snprintf(aside, sizeof aside, "%s" LINK_MEMORY_SUFFIX, path);
    return 0;
}

static int tear_down(void **state)
{
    char name[200];
    (void)state;
    unlink(path);
    unlink(aside);
    snprintf(name, sizeof name, "%s/cache/espalier", folder);
    rmdir(name);
    snprintf(name, sizeof name, "%s/cache", folder);
    rmdir(name);
    return rmdir(folder);
}

static void save_two(void)
{
    struct link_memory memory = {0};
    link_memory_set(&memory, "old:1", &(struct path){true, 0.01, 5e6, 0}, NOW - 40 * 86400);
    link_memory_set(&memory, "h:1", &(struct path){true, 0.002, 1e6, 0}, NOW);
    link_memory_set(&memory, "h:1", &(struct path){true, 0.001, 20e6, 0}, NOW);
    link_memory_set(&memory, "not an address", &(struct path){true, 0.001, 20e6, 0}, NOW);
    link_memory_set(&memory, "", &(struct path){true, 0.001, 20e6, 0}, NOW);
    assert_int_equal(memory.n, 2);
    char folder_above[200];
    snprintf(folder_above, sizeof folder_above, "%s/cache", folder);
    assert_true(link_memory_save(&memory, path));
    struct stat found;
    assert_int_equal(stat(folder_above, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0700);
    link_memory_clear(&memory);
}

static void links_are_found_again(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    save_two();
    link_memory_load(&memory, path, NOW + 86400);
    const struct remembered_link *link = link_memory_find(&memory, "h:1");
    assert_non_null(link);
    assert_float_equal(link->path.bandwidth_bps, 20e6, 1);
    assert_float_equal(link->path.latency_s, 0.001, 1e-9);
    assert_null(link_memory_find(&memory, "old:1")); /* the address may belong to another host by now */
    link_memory_clear(&memory);
}

static void a_clock_that_went_back_loses_nothing(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    save_two();
    link_memory_load(&memory, path, NOW - 400 * INT64_C(86400));
    assert_non_null(link_memory_find(&memory, "h:1"));
    link_memory_clear(&memory);
}

/* Results of greetings alone may come from a bad moment: they last for an hour, and transfers replace
 * them. */
static void soundings_are_for_an_hour(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    link_memory_set_sounded(&memory, "s:1", &(struct path){true, 0.5, 1e4, 0}, NOW);
    link_memory_set(&memory, "t:1", &(struct path){true, 0.001, 20e6, 0}, NOW);
    link_memory_set_sounded(&memory, "t:1", &(struct path){true, 0.5, 1e4, 0}, NOW + 1);
    assert_float_equal(link_memory_find(&memory, "t:1")->path.bandwidth_bps, 20e6, 1);
    assert_true(link_memory_save(&memory, path));
    link_memory_clear(&memory);
    link_memory_load(&memory, path, NOW + 3000);
    assert_non_null(link_memory_find(&memory, "s:1"));
    assert_true(link_memory_find(&memory, "s:1")->sounded);
    assert_false(link_memory_find(&memory, "t:1")->sounded);
    link_memory_set(&memory, "s:1", &(struct path){true, 0.001, 30e6, 0}, NOW + 3000);
    assert_false(link_memory_find(&memory, "s:1")->sounded);
    link_memory_clear(&memory);
    link_memory_load(&memory, path, NOW + 4000);
    assert_null(link_memory_find(&memory, "s:1"));
    assert_non_null(link_memory_find(&memory, "t:1"));
    link_memory_clear(&memory);
}

/* A line with a rate of its own in either direction keeps both, also where greetings told the one. */
static void both_directions_are_kept(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    link_memory_set(&memory, "t:1", &(struct path){true, 0.01, 0.5e6, 2e6}, NOW);
    link_memory_set_sounded(&memory, "s:1", &(struct path){true, 0.01, 4e6, 1e6}, NOW);
    link_memory_set(&memory, "o:1", &(struct path){true, 0.01, 3e6, 0}, NOW);
    assert_true(link_memory_save(&memory, path));
    link_memory_clear(&memory);
    link_memory_load(&memory, path, NOW);
    assert_float_equal(link_memory_find(&memory, "t:1")->path.bandwidth_bps, 0.5e6, 1);
    assert_float_equal(link_memory_find(&memory, "t:1")->path.back_bps, 2e6, 1);
    assert_false(link_memory_find(&memory, "t:1")->sounded);
    assert_true(link_memory_find(&memory, "s:1")->sounded);
    assert_float_equal(link_memory_find(&memory, "s:1")->path.back_bps, 1e6, 1);
    assert_true(link_memory_find(&memory, "o:1")->path.back_bps == 0);
    link_memory_clear(&memory);
}

/* Results of short transfers are there for the next program for a day, and all others replace them. */
static void a_link_that_surprised_once_stands_until_it_does_again(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    link_memory_set(&memory, "t:1", &(struct path){true, 0.001, 20e6, 0}, NOW);
    link_memory_set(&memory, "b:1", &(struct path){true, 0.001, 20e6, 5e6}, NOW);
    link_memory_set_sounded(&memory, "s:1", &(struct path){true, 0.001, 20e6, 0}, NOW);
    link_memory_doubt(&memory, "t:1");
    link_memory_doubt(&memory, "b:1");
    link_memory_doubt(&memory, "s:1"); /* what only greetings have told is measured again anyway */
    link_memory_doubt(&memory, "u:1");
    assert_true(link_memory_save(&memory, path));
    link_memory_clear(&memory);
    link_memory_load(&memory, path, NOW);
    assert_int_equal(memory.n, 3);
    assert_true(link_memory_find(&memory, "t:1")->doubted);
    assert_true(link_memory_find(&memory, "t:1")->path.bandwidth_bps == 20e6);
    assert_true(link_memory_find(&memory, "b:1")->doubted);
    assert_true(link_memory_find(&memory, "b:1")->path.back_bps == 5e6);
    assert_false(link_memory_find(&memory, "s:1")->doubted);
    link_memory_set(&memory, "t:1", &(struct path){true, 0.001, 1e6, 0}, NOW);
    assert_false(link_memory_find(&memory, "t:1")->doubted);
    link_memory_clear(&memory);
}

static struct link *make_link(struct engine *engine, const char *address)
{
    struct link *link = calloc(1, sizeof *link + strlen(address) + 1);
    assert_non_null(link);
    link->engine = engine;
    strcpy(link->address, address);
    pthread_mutex_init(&link->lock, NULL);
    return link;
}

/* This many transfers of 50 MB to the server, each of so many seconds; how many have counted. */
static unsigned learn(struct link *link, struct manual_clock *clock, unsigned n, double seconds)
{
    const unsigned before = link->n_rates[true];
    for (unsigned i = 0; i < n; i++) {
        clock->time_ns += (int64_t)(seconds * 1e9);
        link_learn(link, true, 50000000, seconds, 0);
    }
    return link->n_rates[true] - before;
}

/* A pause of one end is no property of the link, and a link that has become slow is learned all the same,
 * also by programs that make one transfer each. */
static void a_pause_in_a_transfer_does_not_count(void **state)
{
    (void)state;
    struct manual_clock clock;
    manual_clock_init(&clock, 1000000000);
    struct engine engine = {.clock = &clock.clock, .remembers = true, .remembered = true};
    pthread_mutex_init(&engine.links_lock, NULL);
    struct link *link = make_link(&engine, "t:1"), *known = make_link(&engine, "k:1");
    assert_int_equal(learn(link, &clock, 1, 27), 1); /* nothing was known */
    assert_int_equal(learn(link, &clock, 3, 0.5), 3);
    assert_int_equal(learn(link, &clock, 1, 27), 0);
    assert_int_equal(learn(link, &clock, 1, 0.5), 1);
    assert_int_equal(learn(link, &clock, 3, 27), 2);

    link_memory_set(&engine.memory, "k:1", &(struct path){true, 0.001, 100e6, 0}, NOW);
    assert_int_equal(learn(known, &clock, 1, 27), 0);
    assert_int_equal(learn(known, &clock, 1, 27), 1);
    known->n_rates[true] = 0;
    known->surprise[true] = (struct surprise){0};
    link_memory_doubt(&engine.memory, "k:1");
    assert_int_equal(learn(known, &clock, 1, 27), 1);
    link_memory_set(&engine.memory, "k:1", &(struct path){true, 0.001, 100e6, 100e6}, NOW);
    known->n_rates[true] = 0; /* it is known in the other direction only */
    assert_int_equal(learn(known, &clock, 1, 27), 1);

    link_memory_clear(&engine.memory);
    pthread_mutex_destroy(&engine.links_lock);
    pthread_mutex_destroy(&link->lock);
    pthread_mutex_destroy(&known->lock);
    free(link);
    free(known);
}

static void what_surprises_counts_when_it_is_said_again(void **state)
{
    (void)state;
    struct surprise surprise = {0};
    const int64_t s = 1000000000;
    assert_true(surprise_counts(&surprise, 0, 27, 30 * s)); /* nothing was known */
    assert_true(surprise_counts(&surprise, 0.01, 0.1, 31 * s));
    assert_false(surprise_counts(&surprise, 0.01, 27, 60 * s));
    assert_false(surprise_counts(&surprise, 0.01, 26, 61 * s)); /* it was under way at the same time */
    assert_true(surprise_counts(&surprise, 0.01, 0.02, 62 * s));
    assert_false(surprise_counts(&surprise, 0.01, 27, 90 * s)); /* another pause */
    assert_true(surprise_counts(&surprise, 0.01, 5, 96 * s));   /* no: it is slow now */
    assert_true(surprise_counts(&surprise, 0.01, 6, 97 * s));
    assert_true(surprise_counts(&surprise, 4, 9, 120 * s)); /* which is known by now */
    assert_false(surprise_counts(&surprise, 0.01, 9, 150 * s));
}

static void what_short_transfers_told_is_kept(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    const struct path slow = {true, 0.5, 1e4, 0}, quick = {true, 0.001, 20e6, 0};
    link_memory_set_short(&memory, "b:1", &slow, 100000, NOW);
    link_memory_set_sounded(&memory, "s:1", &quick, NOW);
    link_memory_set_short(&memory, "s:1", &slow, 100000, NOW);
    link_memory_set(&memory, "t:1", &quick, NOW);
    link_memory_set_short(&memory, "t:1", &slow, 100000, NOW);
    assert_true(link_memory_save(&memory, path));
    link_memory_clear(&memory);
    link_memory_load(&memory, path, NOW + 3000);
    assert_int_equal(memory.n, 3);
    assert_true(link_memory_find(&memory, "b:1")->is_short);
    assert_float_equal(link_memory_find(&memory, "b:1")->path.bandwidth_bps, 1e4, 1);
    assert_true(link_memory_find(&memory, "s:1")->sounded);
    assert_float_equal(link_memory_find(&memory, "t:1")->path.bandwidth_bps, 20e6, 1);
    link_memory_set_sounded(&memory, "b:1", &quick, NOW + 3000);
    assert_false(link_memory_find(&memory, "b:1")->is_short);
    link_memory_clear(&memory);
    link_memory_load(&memory, path, NOW + LINK_MEMORY_SHORT_S + 1);
    assert_int_equal(memory.n, 1);
    link_memory_clear(&memory);
}

/* Small calls tell how far a server is, and take no rate away. */
static void how_far_a_server_is_is_kept(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    const struct path length = {true, 0.02, 0, 0}, rated = {true, 0.5, 1e4, 0};
    link_memory_set_short(&memory, "l:1", &length, 100000, NOW);
    link_memory_set_short(&memory, "r:1", &rated, 100000, NOW);
    link_memory_set_short(&memory, "r:1", &length, 100000, NOW);
    assert_true(link_memory_save(&memory, path));
    link_memory_clear(&memory);
    link_memory_load(&memory, path, NOW);
    assert_int_equal(memory.n, 2);
    assert_float_equal(link_memory_find(&memory, "l:1")->path.latency_s, 0.02, 1e-9);
    assert_true(link_memory_find(&memory, "l:1")->path.bandwidth_bps == 0);
    assert_float_equal(link_memory_find(&memory, "r:1")->path.bandwidth_bps, 1e4, 1);
    link_memory_set_short(&memory, "l:1", &rated, 100000, NOW);
    assert_float_equal(link_memory_find(&memory, "l:1")->path.bandwidth_bps, 1e4, 1);
    link_memory_clear(&memory);
}

/* How long they were is kept with them, and a line of an earlier version does without. */
static void how_long_short_transfers_were_is_kept(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    link_memory_set_short(&memory, "b:1", &(struct path){true, 0.001, 1e4, 0}, 70000, NOW);
    assert_true(link_memory_save(&memory, path));
    link_memory_clear(&memory);
    link_memory_load(&memory, path, NOW);
    assert_int_equal(link_memory_find(&memory, "b:1")->short_bytes, 70000);
    link_memory_set(&memory, "b:1", &(struct path){true, 0.001, 1e4, 0}, NOW);
    assert_int_equal(link_memory_find(&memory, "b:1")->short_bytes, 0);
    link_memory_clear(&memory);
}

/* Where the rate depends on the size, all of them; and a link that is set anew has none. */
static void rates_by_size_are_kept(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    struct size_rates sizes[2] = {0};
    size_rates_add(&sizes[true], 1e6, 4e9);
    size_rates_add(&sizes[true], 100e6, 1e9);
    size_rates_add(&sizes[false], 10e6, 2e9);
    link_memory_set(&memory, "t:1", &(struct path){true, 0.001, 1e9, 2e9}, NOW);
    link_memory_set_sizes(&memory, "t:1", sizes);
    link_memory_set_sounded(&memory, "s:1", &(struct path){true, 0.001, 1e9, 0}, NOW);
    link_memory_set_sizes(&memory, "s:1", sizes);
    assert_true(link_memory_save(&memory, path));
    link_memory_clear(&memory);
    link_memory_load(&memory, path, NOW);
    assert_int_equal(memory.n, 2);
    const struct remembered_link *link = link_memory_find(&memory, "t:1");
    assert_float_equal(link->path.back_bps, 2e9, 1);
    assert_float_equal(size_rates_at(&link->sizes[true], 1e6), 4e9, 10);
    assert_float_equal(size_rates_at(&link->sizes[true], 100e6), 1e9, 10);
    assert_float_equal(size_rates_at(&link->sizes[false], 1e6), 2e9, 10);
    assert_true(size_rates_at(&link_memory_find(&memory, "s:1")->sizes[true], 1e6) == 0);
    link_memory_set(&memory, "t:1", &(struct path){true, 0.001, 1e6, 0}, NOW);
    assert_true(size_rates_at(&link->sizes[true], 1e6) == 0);
    link_memory_clear(&memory);
}

/* ---- reports on links, and how far they are believed ---- */

static struct engine *make_engine(void)
{
    static struct route route;
    struct engine *engine = calloc(1, sizeof *engine);
    assert_non_null(engine);
    *engine = (struct engine){.clock = &clock_system, .route = &route, .remembers = true, .remembered = true};
    pthread_mutex_init(&engine->links_lock, NULL);
    return engine;
}

static struct link *add_link(struct engine *engine, const char *address)
{
    struct link *link = make_link(engine, address);
    HASH_ADD_KEYPTR(hh, engine->links, link->address, strlen(address), link);
    return link;
}

static void drop_engine(struct engine *engine)
{
    struct link *link, *next;
    HASH_ITER(hh, engine->links, link, next)
    {
        HASH_DEL(engine->links, link);
        pthread_mutex_destroy(&link->lock);
        free(link);
    }
    link_memory_clear(&engine->memory);
    pthread_mutex_destroy(&engine->links_lock);
    free(engine);
}

/* Of a link, with a forecast of a request of so many bytes. */
static struct told_link told_with(struct engine *engine, const char *address, uint64_t bytes)
{
    struct argument_attribute argument = {.mode = MODE_IN, .bytes = bytes, .datum = "", .holder = ""};
    struct extension forecast = {EXTENSION_FORECAST, (const uint8_t *)"", 0};
    struct request request = {
        .arguments = &argument, .n_arguments = 1, .server = "", .extensions = {&forecast, 1}};
    struct arena arena = {0};
    struct told_link link = {.peer = NULL};
    atomic_store(&engine->has_long_way, true);
    assert_true(links_tell(engine, &request, &arena));
    assert_true(told_own(&request.extensions, address, &link));
    link.peer = NULL;
    arena_clear(&arena);
    return link;
}

/* A call with 40 kB that a busy machine delayed by a millisecond gives the time of such calls; for longer
 * ones it gives a lower bound of the link's rate. */
static void short_transfers_tell_of_short_requests(void **state)
{
    (void)state;
    struct engine *engine = make_engine();
    struct link *link = add_link(engine, "t:1");
    link_answered(link, 0.0002, 0);
    link_called(link, 40000, 0, 0.0018, 0, 0);
    link_memory_set_short(&engine->memory, "r:1", &(struct path){true, 0.0001, 25e6, 0}, 40000, NOW);
    link_memory_set_short(&engine->memory, "o:1", &(struct path){true, 0.0001, 25e6, 0}, 0, NOW);
    link_memory_set(&engine->memory, "k:1", &(struct path){true, 0.0001, 25e6, 0}, NOW);
    const char *const addresses[] = {"t:1", "r:1", "o:1"};
    for (int i = 0; i < 3; i++) {
        const struct told_link like = told_with(engine, addresses[i], 100000),
                               longer = told_with(engine, addresses[i], 24000000);
        assert_true(like.path.bandwidth_bps > 20e6 && like.path.bandwidth_bps < 30e6);
        assert_true(like.least_bps == 0);
        assert_true(longer.path.bandwidth_bps == 0 && longer.path.latency_s == 0.0001);
        assert_true(longer.least_bps == like.path.bandwidth_bps);
    }
    assert_true(told_with(engine, "k:1", 24000000).path.bandwidth_bps == 25e6);
    link_learn(link, true, 300000, 0.003, 0); /* longer ones know better */
    assert_true(told_with(engine, "t:1", 24000000).path.bandwidth_bps > 50e6);
    drop_engine(engine);
}

/* How many links, and bytes on the opening of calls, are reported with a request of a kB. */
static void tell_small(struct engine *engine, bool forecast, size_t *links, size_t *opening)
{
    struct argument_attribute argument = {.mode = MODE_IN, .bytes = 1000, .datum = "", .holder = ""};
    struct extension asks = {EXTENSION_FORECAST, (const uint8_t *)"", 0};
    struct request request = {
        .arguments = &argument, .n_arguments = 1, .server = "", .extensions = {&asks, forecast}};
    struct arena arena = {0};
    struct told_reader reader = {.n = 0};
    struct told_link link;
    assert_true(links_tell(engine, &request, &arena));
    const struct extension *told = extension_find(&request.extensions, EXTENSION_CLIENT_OPENING);
    for (*links = 0; told_own_next(&request.extensions, &reader, &link);)
        ++*links;
    *opening = told ? told->length : 0;
    arena_clear(&arena);
}

/* The forecast server is in any case the one that gets the call. */
static void a_forecast_tells_what_the_call_would(void **state)
{
    (void)state;
    struct engine *engine = make_engine();
    struct candidate near = {.transfer_s = 0.001}, far = {.transfer_s = 0.04};
    const struct submit_reply by_agents[] = {{.candidates = &near, .n_candidates = 1},
                                             {.candidates = &far, .n_candidates = 1}};
    const struct request request = {.n_arguments = 0};
    size_t links, opening;
    engine->connection_trips = 1;
    link_memory_set(&engine->memory, "k:1", &(struct path){true, 0.0005, 25e6, 0}, NOW);
    const struct {
        size_t links, opening;
    } told[] = {{0, 1}, {0, 1}, {0, 0}, {1, 2}};
    for (int step = 0; step < 4; step++) {
        if (step == 1)
            links_note_choice(engine, &request, &by_agents[0]);
        if (step == 2)
            atomic_store(&engine->has_called, true);
        if (step == 3)
            links_note_choice(engine, &request, &by_agents[1]);
        for (int forecast = 0; forecast < 2; forecast++) {
            tell_small(engine, forecast, &links, &opening);
            assert_int_equal(links, told[step].links);
            assert_int_equal(opening, told[step].opening);
        }
    }
    drop_engine(engine);
}

/* The first answer of a server came over a connection that was opened for it: it is half as far as that took.
 */
static void a_connection_is_no_part_of_a_links_length(void **state)
{
    (void)state;
    struct engine *engine = make_engine();
    struct link *link = add_link(engine, "t:1");
    engine->connection_trips = 1;
    engine->answer_patience_ms = 1000;
    assert_int_equal(link_opening(link), 1 | TOLD_GREETS);
    link_answered(link, 0.1, link_trips(link));
    assert_float_equal(told_with(engine, "t:1", 100).path.latency_s, 0.025, 1e-12);
    link_heard(link);
    assert_int_equal(link_opening(link), 0);
    link_called(link, 1000000, 0, 0.05 + path_time_s(0.025, 1e-6, 1e6) + 0.025, 0, 1);
    assert_float_equal(told_with(engine, "t:1", 1000000).path.bandwidth_bps, 1e6, 1e3);
    drop_engine(engine);
}

/* 300 kB in the time that slow start takes say nothing of a rate but its least. */
static void what_slow_start_explains_is_no_rate(void **state)
{
    (void)state;
    struct engine *engine = make_engine();
    struct link *link = add_link(engine, "t:1");
    link_answered(link, 0.05, 0);
    link_learn(link, true, 300000, 0.2, 0);
    const struct told_link told = told_with(engine, "t:1", 300000);
    assert_true(told.path.bandwidth_bps == 0 && told.least_bps > 1e6);
    assert_false(links_know(engine, "t:1"));
    link_learn(link, true, 3000000, 1.5, 0);
    assert_true(told_with(engine, "t:1", 300000).path.bandwidth_bps > 2e6);
    drop_engine(engine);
}

/* A program's finding on a host counts by its size for the next program, and the next one's finding is
 * added to it. */
static void rates_by_size_are_told_by_the_next_program(void **state)
{
    (void)state;
    struct engine *engine = make_engine();
    struct size_rates sizes[2] = {0};
    size_rates_add(&sizes[true], 8e6, 4e9);
    size_rates_add(&sizes[true], 100e6, 1e9);
    link_memory_set(&engine->memory, "t:1", &(struct path){true, 1e-5, 1e9, 0}, NOW);
    link_memory_set_sizes(&engine->memory, "t:1", sizes);
    assert_float_equal(told_with(engine, "t:1", 8000000).path.bandwidth_bps, 4e9, 10);
    assert_float_equal(told_with(engine, "t:1", 100000000).path.bandwidth_bps, 1e9, 10);
    struct link *link = add_link(engine, "t:1");
    link_learn(link, true, 300000000, 0.4, 0);
    assert_float_equal(told_with(engine, "t:1", 300000000).path.bandwidth_bps, 0.75e9, 0.01e9);
    assert_float_equal(told_with(engine, "t:1", 8000000).path.bandwidth_bps, 4e9, 10);
    drop_engine(engine);
}

/* Where a program's only transfer waits for a second one, the next program's counts whatever it says. */
static void a_transfer_that_waits_is_kept_for_the_next_program(void **state)
{
    (void)state;
    struct engine *engine = make_engine();
    struct link *link = add_link(engine, "t:1");
    struct link_memory memory = {0};
    char cache[200];
    snprintf(cache, sizeof cache, "%s/cache", folder);
    setenv("XDG_CACHE_HOME", cache, 1);
    link_answered(link, 0.001, 0);
    link_learn(link, true, 5000000, 2.5, 0.5);
    assert_int_equal(link->n_rates[true], 0);
    links_remember(engine);
    unsetenv("XDG_CACHE_HOME");
    link_memory_load(&memory, path, time(NULL));
    const struct remembered_link *remembered = link_memory_find(&memory, "t:1");
    assert_true(remembered && remembered->doubted);
    assert_float_equal(remembered->path.bandwidth_bps, 2e6, 0.1e6);
    drop_engine(engine);

    engine = make_engine();
    engine->memory = memory;
    link = add_link(engine, "t:1");
    link_learn(link, true, 5000000, 2.5, 0.5);
    assert_int_equal(link->n_rates[true], 1);
    drop_engine(engine);
}

static void what_only_greetings_or_short_transfers_told_is_doubted(void **state)
{
    (void)state;
    struct engine *engine = make_engine();
    struct link *link = add_link(engine, "t:1");
    const struct path known = {true, 0.01, 5e6, 0};
    const struct request_bytes in = {16000000, 8, 16000000, 0}, out = {8, 16000000, 0, 16000000};
    link_memory_set(&engine->memory, "k:1", &known, NOW);
    link_memory_set_sounded(&engine->memory, "s:1", &known, NOW);
    link_memory_set_short(&engine->memory, "b:1", &known, 40000, NOW);
    assert_true(links_doubt(engine, "k:1", in) < 0.2);
    assert_true(links_doubt(engine, "s:1", in) == LINK_STRANGE_DOUBT);
    assert_true(links_doubt(engine, "b:1", in) == LINK_STRANGE_DOUBT);
    link_memory_set(&engine->memory, "t:1", &known, NOW);
    assert_true(links_doubt(engine, "t:1", in) < 0.2); /* this process has only been there */
    link_sounded(link, 0.02, 5e6);
    assert_true(links_doubt(engine, "t:1", in) == LINK_STRANGE_DOUBT);
    link_learn(link, true, 5000000, 1, 0);
    link_learn(link, true, 5000000, 1.1, 0);
    assert_true(links_doubt(engine, "t:1", in) < 0.2);
    assert_true(links_doubt(engine, "t:1", out) > 0.4); /* nothing has come from there */
    link_learn(link, true, 5000000, 3, 0);
    assert_true(links_doubt(engine, "t:1", in) > 0.4); /* they differ */
    drop_engine(engine);
}

/* ---- sharing ---- */

/* Two transfers of a second each of work, the second one half a second behind: both take longer, and count
 * as one second each. */
static void who_shares_a_link_knows_its_whole_rate(void **state)
{
    (void)state;
    struct sharing sharing = {0};
    const double first = sharing_begin(&sharing, 5000000000);
    const double second = sharing_begin(&sharing, 5500000000);
    assert_float_equal(sharing_end(&sharing, 6500000000, first), 1,
                       1e-9); /* half alone, a whole one by two */
    assert_float_equal(sharing_end(&sharing, 7000000000, second), 1, 1e-9);
    const double alone = sharing_begin(&sharing, 9000000000); /* idle time is nobody's */
    assert_float_equal(sharing_end(&sharing, 9250000000, alone), 0.25, 1e-9);
}

/* ---- soundings ---- */

/* A link of 20 MB/s and 2 ms there and back, on which each greeting of a bad turn is held up. */
struct simulated {
    unsigned greetings, bad, deaf; /* bad: bits, by the turn; deaf: from this turn on, 0: never */
    double held_up_s, spent_s, bps, far_s;
};

static bool greet(void *arg, uint32_t bytes, double *seconds)
{
    struct simulated *link = arg;
    const unsigned turn = link->greetings++;
    *seconds = 0.002 + link->far_s + bytes / link->bps + (link->bad >> turn & 1 ? link->held_up_s : 0);
    link->spent_s += *seconds;
    return link->deaf == 0 || turn < link->deaf;
}

static void one_greeting_that_is_held_up_makes_no_link_slow(void **state)
{
    (void)state;
    /* The first three are without ballast, the first of them connects. */
    for (unsigned bad = 0; bad < 10; bad++) {
        struct simulated link = {.bad = 1u << bad, .held_up_s = 0.25, .bps = 20e6};
        double trip_s, bps;
        assert_true(sounding_measure(greet, &link, 2, &trip_s, &bps));
        assert_float_equal(trip_s, 0.002, 1e-9);
        if (!(bps > 15e6 && bps < 30e6))
            fail_msg("greeting %u held up: %g bytes a second", bad, bps);
    }
}

/* On one host a greeting takes 0.2 ms, and 1 MiB less than slow start over that would: the way of the agents
 * must not be taken for such a link. */
static void a_link_that_is_too_quick_to_tell_is_known_to_be_quick(void **state)
{
    (void)state;
    struct simulated link = {.bps = 1e9};
    double trip_s, bps;
    assert_true(sounding_measure(greet, &link, 2, &trip_s, &bps));
    assert_true(bps > 250e6 && bps <= 1e9);
}

/* 60 ms there and back: a ballast of 64 KiB tells nothing of its rate, and the heavy one is not left out. */
static void a_long_way_does_not_hide_the_rate(void **state)
{
    (void)state;
    struct simulated link = {.bps = 2e6, .far_s = 0.06};
    double trip_s, bps;
    assert_true(sounding_measure(greet, &link, 2, &trip_s, &bps));
    assert_true(bps > 1.5e6 && bps < 5e6);
}

/* A link over which the window of one connection grows with all that goes over it. */
struct grown {
    double latency_s, bps, window;
};

static bool greet_grown(void *arg, uint32_t bytes, double *seconds)
{
    struct grown *link = arg;
    *seconds = path_grown_s(link->latency_s, 1 / link->bps, &link->window, bytes) + link->latency_s;
    return true;
}

/* A connection has grown by the ballast before: what slow start no longer takes is not taken for rate. */
static void greetings_before_have_opened_the_window(void **state)
{
    (void)state;
    const struct grown links[] = {{0.005, 12.5e6, 0}, {0.025, 3.75e6, 0}, {0.002, 6.25e6, 0}, {0.01, 2e6, 0}};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        struct grown link = links[i];
        double trip_s, bps;
        assert_true(sounding_measure(greet_grown, &link, 2, &trip_s, &bps));
        assert_float_equal(bps / link.bps, 1, 0.02);
    }
}

/* Before a call of some hundred kB: the little that ballast shows, and nothing where it shows nothing. */
static void a_glance_is_short_and_invents_nothing(void **state)
{
    (void)state;
    struct simulated slow = {.bps = 500e3}, quick = {.bps = 1e9}, far = {.bps = 20e6, .far_s = 0.06};
    double trip_s, bps;
    assert_true(sounding_glance(greet, &slow, 0.3, &trip_s, &bps));
    assert_true(bps > 400e3 && bps < 600e3);
    assert_true(slow.spent_s < 0.6);
    assert_true(sounding_glance(greet, &quick, 0.3, &trip_s, &bps));
    assert_true(bps == 0 && quick.spent_s < 0.05);
    assert_true(sounding_glance(greet, &far, 0.3, &trip_s, &bps));
    assert_true(bps == 0);
    assert_float_equal(trip_s, 0.062, 1e-9);
}

static void a_slow_link_is_not_filled_with_greetings(void **state)
{
    (void)state;
    struct simulated link = {.bps = 50e3};
    double trip_s, bps;
    assert_true(sounding_measure(greet, &link, 2, &trip_s, &bps));
    assert_true(bps > 35e3 && bps < 75e3);
    assert_true(link.spent_s < 2);
}

static void a_server_that_is_deaf_leaves_nothing(void **state)
{
    (void)state;
    double trip_s, bps;
    struct simulated never = {.bps = 20e6, .deaf = 1}; /* the first one comes through */
    assert_false(sounding_measure(greet, &never, 2, &trip_s, &bps));
    assert_true(bps == 0);
    struct simulated soon = {.bps = 20e6, .deaf = 4}; /* all without ballast do */
    assert_false(sounding_measure(greet, &soon, 2, &trip_s, &bps));
    assert_true(bps == 0);
    assert_int_equal(soon.greetings, 5);
}

/* For every changed byte and every truncation: nothing is believed, and the file is kept for inspection. */
static void a_damaged_file_is_set_aside(void **state)
{
    (void)state;
    char text[1000], wrong[1000];
    save_two();
    FILE *file = fopen(path, "r");
    const size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    for (size_t i = 0; i < 2 * length; i++) {
        struct link_memory memory = {0};
        size_t n = i < length ? length : i - length;
        memcpy(wrong, text, length);
        if (i < length)
            wrong[i] ^= 1;
        file = fopen(path, "w");
        fwrite(wrong, 1, n, file);
        fclose(file);
        link_memory_load(&memory, path, NOW);
        assert_int_equal(memory.n, 0);
        assert_int_not_equal(access(path, F_OK), 0);
        assert_int_equal(access(aside, F_OK), 0);
        link_memory_clear(&memory);
    }
}

static void it_is_bounded(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    char address[50];
    for (int i = 0; i < LINK_MEMORY_MOST + 10; i++) {
        snprintf(address, sizeof address, "host%d:1", i);
        link_memory_set(&memory, address, &(struct path){true, 0.001, 20e6, 0}, NOW + i);
    }
    assert_int_equal(memory.n, LINK_MEMORY_MOST);
    assert_null(link_memory_find(&memory, "host9:1")); /* the oldest ones went */
    assert_non_null(link_memory_find(&memory, "host10:1"));
    assert_true(link_memory_save(&memory, path));
    link_memory_clear(&memory);
    link_memory_load(&memory, path, NOW + 1000);
    assert_int_equal(memory.n, LINK_MEMORY_MOST);
    link_memory_clear(&memory);
}

static void where_nothing_can_be_written_nothing_happens(void **state)
{
    (void)state;
    struct link_memory memory = {0};
    link_memory_set(&memory, "h:1", &(struct path){true, 0.001, 20e6, 0}, NOW);
    assert_false(link_memory_save(&memory, "/proc/nowhere/espalier/links"));
    assert_false(link_memory_save(&memory, ""));
    link_memory_clear(&memory);
    link_memory_load(&memory, "/proc/nowhere/espalier/links", NOW);
    link_memory_load(&memory, "", NOW);
    assert_int_equal(memory.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(links_are_found_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_clock_that_went_back_loses_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(soundings_are_for_an_hour, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_that_surprised_once_stands_until_it_does_again, set_up,
                                        tear_down),
        cmocka_unit_test(a_pause_in_a_transfer_does_not_count),
        cmocka_unit_test(what_surprises_counts_when_it_is_said_again),
        cmocka_unit_test_setup_teardown(what_short_transfers_told_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(how_far_a_server_is_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(how_long_short_transfers_were_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rates_by_size_are_kept, set_up, tear_down),
        cmocka_unit_test(rates_by_size_are_told_by_the_next_program),
        cmocka_unit_test_setup_teardown(a_transfer_that_waits_is_kept_for_the_next_program, set_up,
                                        tear_down),
        cmocka_unit_test(short_transfers_tell_of_short_requests),
        cmocka_unit_test(a_forecast_tells_what_the_call_would),
        cmocka_unit_test(a_connection_is_no_part_of_a_links_length),
        cmocka_unit_test(what_slow_start_explains_is_no_rate),
        cmocka_unit_test(what_only_greetings_or_short_transfers_told_is_doubted),
        cmocka_unit_test(one_greeting_that_is_held_up_makes_no_link_slow),
        cmocka_unit_test(a_link_that_is_too_quick_to_tell_is_known_to_be_quick),
        cmocka_unit_test(a_long_way_does_not_hide_the_rate),
        cmocka_unit_test(greetings_before_have_opened_the_window),
        cmocka_unit_test_setup_teardown(both_directions_are_kept, set_up, tear_down),
        cmocka_unit_test(who_shares_a_link_knows_its_whole_rate),
        cmocka_unit_test(a_glance_is_short_and_invents_nothing),
        cmocka_unit_test(a_slow_link_is_not_filled_with_greetings),
        cmocka_unit_test(a_server_that_is_deaf_leaves_nothing),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_set_aside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_bounded, set_up, tear_down),
        cmocka_unit_test(where_nothing_can_be_written_nothing_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
