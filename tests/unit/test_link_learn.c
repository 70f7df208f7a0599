/* SPDX-License-Identifier: Apache-2.0
 *
 * A client that learns a link from its own calls comes back with its rate, and forecasts the next call by
 * it, whatever the order of their sizes.
 */
#include "client/session/link.h"
#include "client/session/route.h"
#include "core/choice/aggregate.h"
#include "core/choice/estimate.h"
#include "core/forecast/told_links.h"
#include "core/message/chunk.h"
#include "tests/unit/unit.h"
#include "util/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REST_S 1.5
#define SERVER "s:1"

static const struct window_habit keeps = {true}, forgets = {false};

/* ---- a program with one link ---- */

struct program {
    struct manual_clock clock;
    struct route route;
    struct engine engine;
    struct link *link;
};

static struct program *begin_program(struct window_habit habit)
{
    struct program *program = calloc(1, sizeof *program);
    assert_non_null(program);
    manual_clock_init(&program->clock, NS_PER_S);
    struct engine *engine = &program->engine;
    engine->clock = &program->clock.clock;
    engine->route = &program->route;
    engine->remembered = engine->remembers = true;
    engine->connection_trips = 1;
    engine->habit = habit;
    atomic_store(&engine->has_long_way, true);
    pthread_mutex_init(&engine->links_lock, NULL);
    struct link *link = program->link = calloc(1, sizeof *link + sizeof SERVER);
    assert_non_null(link);
    link->engine = engine;
    strcpy(link->address, SERVER);
    pthread_mutex_init(&link->lock, NULL);
    HASH_ADD_KEYPTR(hh, engine->links, link->address, strlen(SERVER), link);
    return program;
}

static void end_program(struct program *program)
{
    HASH_DEL(program->engine.links, program->link);
    pthread_mutex_destroy(&program->link->lock);
    pthread_mutex_destroy(&program->engine.links_lock);
    free(program->link);
    free(program);
}

static void pass(struct program *program, double seconds)
{
    program->clock.time_ns += (int64_t)(seconds * 1e9);
}

/* Forecasts a call with so many bytes as agents do that have measured the path `agents`. */
static double forecast_s(struct program *program, bool there, uint64_t bytes, struct path agents,
                         struct path *way)
{
    struct argument_attribute argument = {
        .mode = there ? MODE_IN : MODE_OUT, .bytes = bytes, .datum = "", .holder = ""};
    struct request request = {.arguments = &argument, .n_arguments = 1, .server = ""};
    struct arena arena = {0};
    struct path_opening opening;
    assert_true(links_tell(&program->engine, &request, &arena));
    *way = told_way(&request.extensions, SERVER, agents, false, &opening);
    const struct request_bytes moved = request_client_bytes(&request);
    const struct transfer_times times = request_path_times(&moved, way, opening);
    arena_clear(&arena);
    return times.in_s + times.out_s;
}

/* Whether its bytes travel in chunks. */
static bool is_chunked(uint64_t bytes)
{
    return bytes > INLINE_BYTES_USUAL;
}

/* A call with so many bytes, of which `seconds` pass on the way of what carries them. */
static void call(struct program *program, bool there, uint64_t bytes, double seconds, double trip_s)
{
    struct link *link = program->link;
    const unsigned trips = link_trips(link);
    const uint64_t inside = is_chunked(bytes) ? 0 : bytes;
    const double call_s = trips * trip_s + (is_chunked(bytes) ? trip_s : seconds);
    pass(program, call_s);
    if (inside <= 1024)
        link_answered(link, call_s, trips);
    link_called(link, there ? inside : 0, there ? 0 : inside, call_s, 0, trips);
    link_heard(link);
    if (!is_chunked(bytes))
        return;
    pass(program, seconds);
    link_learn(link, there, bytes, seconds, 0);
    pass(program, there ? trip_s : 0); /* the word to begin */
}

/* ---- calls that were made over emulated links, on an otherwise idle machine, by BBR ---- */

static const uint64_t sizes[] = {1000, 4000, 16000, 64000, 256000, 1024000, 4096000, 16384000, 65536000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const struct record {
    double trip_s, rate_bps;
    double took_s[SIZES][2]; /* there, and back */
} records[] = {
    /* 30 Mbit/s and 25 ms each way */
    {0.05025,
     3.62e6,
     {{0.1015, 0.05133},
      {0.05251, 0.05285},
      {0.06535, 0.06556},
      {0.1293, 0.3058},
      {0.2636, 0.2347},
      {0.5374, 0.4863},
      {1.691, 1.839},
      {5.013, 5.064},
      {18.28, 18.7}}},
    /* 16 Mbit/s and 10 ms each way */
    {0.0205,
     1.93e6,
     {{0.04178, 0.02164},
      {0.02303, 0.02294},
      {0.02909, 0.02931},
      {0.05583, 0.128},
      {0.2018, 0.1758},
      {0.6558, 0.6378},
      {2.502, 2.478},
      {9.124, 9.473},
      {37.13, 34.86}}},
};

static double error_of_record(const struct record *record)
{
    struct program *program = begin_program(keeps);
    const struct path agents = {true, record->trip_s / 2, record->rate_bps, 0};
    double error = 0;
    for (int i = 0; i < SIZES; i++)
        for (int back = 0; back < 2; back++) {
            struct path way;
            const double took_s = record->took_s[i][back];
            const unsigned around = link_trips(program->link) + (is_chunked(sizes[i]) ? back ? 1 : 2 : 0);
            const double expected_s = forecast_s(program, !back, sizes[i], agents, &way);
            call(program, !back, sizes[i], took_s - around * record->trip_s, record->trip_s);
            print_message("%9d bytes %-5s: forecast %.4g s, took %.4g s (%+.0f %%), %.3g B/s\n",
                          (int)sizes[i], back ? "back" : "there", expected_s, took_s,
                          100 * (expected_s / took_s - 1),
                          back ? path_turned(way).bandwidth_bps : way.bandwidth_bps);
            error += fabs(expected_s / took_s - 1);
            pass(program, REST_S);
        }
    end_program(program);
    return error / (2 * SIZES);
}

static void calls_that_were_made_are_forecast(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        assert_true(error_of_record(&records[i]) < 0.1);
}

/* ---- a modelled link ---- */

struct model {
    double trip_s, rate_bps;
    struct window_habit habit;
    double window[2]; /* back, there */
    double used_s[2];
    double now_s;
};

/* Rounds of a window each until the link is full. */
static double message_s(struct model *model, bool there, double bytes)
{
    double *window = &model->window[there], seconds = 0;
    const double timeout_s = 0.2 + model->trip_s, first = 14480;
    for (double idle_s = model->now_s - model->used_s[there]; !model->habit.keeps && idle_s > timeout_s;
         idle_s -= timeout_s)
        *window = fmax(*window / 2, first);
    *window = fmax(*window, first);
    while (bytes > 0) {
        const double sent = fmin(bytes, *window);
        bytes -= sent;
        seconds += bytes > 0 ? fmax(model->trip_s, sent / model->rate_bps) : sent / model->rate_bps;
        if (2 * sent > *window && *window < 2 * model->trip_s * model->rate_bps)
            *window += sent;
    }
    model->used_s[there] = model->now_s;
    return seconds;
}

static double modelled_s(struct model *model, bool there, uint64_t bytes)
{
    double seconds = 0, last_s = 0;
    if (!is_chunked(bytes))
        return model->trip_s + message_s(model, there, (double)bytes);
    for (uint64_t left = bytes, length = 0; left > 0; left -= length) {
        length = chunk_length(length, (int64_t)(1e9 * last_s));
        length = length < left ? length : left;
        last_s = model->trip_s + message_s(model, there, (double)length);
        seconds += last_s;
    }
    return seconds;
}

/* Calls of those sizes, one after the other; the rate that is known at the end. */
static double learned(struct model model, const uint64_t *bytes, unsigned n)
{
    struct program *program = begin_program(model.habit);
    struct path way;
    for (unsigned i = 0; i < n; i++) {
        model.now_s = (double)program->clock.time_ns / 1e9;
        const double seconds = modelled_s(&model, true, bytes[i]);
        call(program, true, bytes[i], seconds, model.trip_s);
        model.used_s[true] = (double)program->clock.time_ns / 1e9;
        pass(program, REST_S);
    }
    forecast_s(program, true, 8000000, (struct path){0}, &way);
    end_program(program);
    return way.bandwidth_bps;
}

/* Where slow start and answers between chunks take most of all calls, what is known is no more than it is. */
static void a_modelled_links_rate_is_learned(void **state)
{
    (void)state;
    static const uint64_t rising[] = {1000, 4000, 16000, 64000, 256000, 1024000, 4096000},
                          falling[] = {4096000, 1024000, 256000, 64000, 16000, 4000, 1000},
                          mixed[] = {64000, 4096000, 1000, 300000, 2000000, 16000, 700000, 40000, 150000};
    const struct {
        const uint64_t *bytes;
        unsigned n;
    } series[] = {{rising, 7}, {falling, 7}, {mixed, 9}};
    for (double rate_bps = 1e6; rate_bps < 3e7; rate_bps *= 2)
        for (double trip_s = 0.001; trip_s < 0.06; trip_s *= 2)
            for (int habit = 0; habit < 2; habit++)
                for (int i = 0; i < 3; i++) {
                    const struct model model = {
                        .trip_s = trip_s, .rate_bps = rate_bps, .habit = habit ? keeps : forgets};
                    const double found = learned(model, series[i].bytes, series[i].n) / rate_bps;
                    const bool hidden = rate_bps * trip_s > 250e3;
                    if (found < 0.95 || found > 1.05)
                        print_message("%g B/s, %g s, %s, series %d: %.3f of it\n", rate_bps, trip_s,
                                      habit ? "kept" : "forgotten", i, found);
                    assert_true(found < 1.05 && (hidden || found > 0.95));
                }
}

/* A transfer in a bad moment tells a rate that those after it, too short to tell theirs, disprove. */
static void a_rate_that_is_exceeded_is_forgotten(void **state)
{
    (void)state;
    struct path way;
    const double trip_s = 0.05;
    struct program *program = begin_program(keeps);
    call(program, true, 1000, trip_s, trip_s);
    call(program, true, 300000, 2, trip_s);
    forecast_s(program, true, 300000, (struct path){0}, &way);
    assert_true(way.bandwidth_bps > 0 && way.bandwidth_bps < 200e3);
    for (int i = 0; i < 20; i++) {
        pass(program, REST_S);
        call(program, true, 300000, 2.2 * trip_s, trip_s);
    }
    forecast_s(program, true, 300000, (struct path){true, trip_s / 2, 100e6, 0}, &way);
    assert_true(way.bandwidth_bps > 2e6);
    end_program(program);
}

/* ---- sizes, on one host and over links ---- */

static const struct path nowhere = {0};

/* How long bytes took, as a transfer, of which a rate's part is so long. */
static double chunks_s(double trip_s, uint64_t bytes, double rate_bps)
{
    return path_chunks_s(trip_s / 2, 1 / rate_bps, (double)bytes);
}

/* Calls with 64 kB, which stay in caches, and with 1 MB, which do not: each kind is forecast from its own
 * measurements. */
static void calls_tell_of_their_own_size(void **state)
{
    (void)state;
    static const uint64_t orders[][2] = {{64000, 1000000}, {1000000, 64000}};
    for (int order = 0; order < 2; order++) {
        struct program *program = begin_program(keeps);
        struct path way;
        link_heard(program->link);
        link_answered(program->link, 1e-6, 0);
        for (int i = 0; i < 2; i++) {
            const uint64_t bytes = orders[order][i];
            link_called(program->link, bytes, 0, (double)bytes / (bytes > 100000 ? 200e6 : 2e9), 0, 0);
        }
        forecast_s(program, true, 64000, nowhere, &way);
        assert_float_equal(way.bandwidth_bps, 2e9, 0.1e9);
        forecast_s(program, true, 1000000, nowhere, &way);
        assert_float_equal(way.bandwidth_bps, 200e6, 10e6);
        const double middle_s = forecast_s(program, true, 532000, nowhere, &way);
        assert_float_equal(532000 / way.bandwidth_bps, (0.000032 + 0.005) / 2, 0.0001);
        assert_true(middle_s > forecast_s(program, true, 400000, nowhere, &way));
        assert_true(middle_s < forecast_s(program, true, 700000, nowhere, &way));
        end_program(program);
    }
}

/* A call that was held up says nothing of its like, and shorter ones nothing worse than longer ones. */
static void a_call_that_was_held_up_does_not_count(void **state)
{
    (void)state;
    struct program *program = begin_program(keeps);
    struct path way;
    link_heard(program->link);
    link_answered(program->link, 1e-4, 0);
    link_called(program->link, 60000, 0, 0.1, 0, 0);
    link_called(program->link, 100000, 0, 0.01, 0, 0);
    link_called(program->link, 90000, 0, 0.2, 0, 0);
    for (uint64_t bytes = 40000; bytes <= 400000; bytes += 40000) {
        forecast_s(program, true, bytes, nowhere, &way);
        assert_float_equal(way.bandwidth_bps, 10e6, 0.2e6);
    }
    end_program(program);
}

/* The rate that is reported with a request of so many bytes there, or back. */
static double told_bps(struct program *program, bool there, uint64_t bytes)
{
    struct path way;
    forecast_s(program, there, bytes, nowhere, &way);
    return there ? way.bandwidth_bps : path_turned(way).bandwidth_bps;
}

static void transfers_on_one_host_tell_of_their_own_size(void **state)
{
    (void)state;
    static const uint64_t bytes[] = {1 << 20, 8 << 20, 100 << 20};
    static const double rates[] = {4e9, 2e9, 1e9};
    struct program *program = begin_program(keeps);
    const double trip_s = 2e-6;
    call(program, true, 1000, trip_s, trip_s);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 3; i++)
            call(program, true, bytes[i], chunks_s(trip_s, bytes[i], rates[i]), trip_s);
    for (int i = 0; i < 3; i++)
        for (int back = 0; back < 2; back++) /* nothing came from there: as quick as what went */
            assert_float_equal(told_bps(program, !back, bytes[i]), rates[i], 0.05 * rates[i]);
    for (int i = 0; i < 5; i++) /* none of these gives information on the greatest */
        call(program, true, bytes[0], chunks_s(trip_s, bytes[0], rates[0]), trip_s);
    assert_float_equal(told_bps(program, true, bytes[2]), rates[2], 0.05 * rates[2]);
    end_program(program);
}

/* Neither the additional time of small transfers nor the shorter one of great ones belongs to the link. */
static void a_link_has_one_rate_for_all_sizes(void **state)
{
    (void)state;
    struct program *program = begin_program(keeps);
    const double trip_s = 1e-3;
    call(program, true, 1000, trip_s, trip_s);
    call(program, true, 1 << 20, chunks_s(trip_s, 1 << 20, 10e6), trip_s);
    call(program, true, 64 << 20, chunks_s(trip_s, 64 << 20, 11e6), trip_s);
    assert_true(told_bps(program, true, 1 << 20) == told_bps(program, true, 256 << 20));
    end_program(program);
}

/* ---- transfers that were held up ---- */

/* A retransmission takes a fifth of a second: as the first transfer over a link of which calls told, or
 * agents, it waits for the next one. */
static void a_first_transfer_that_says_far_less_waits(void **state)
{
    (void)state;
    const uint64_t bytes = 2 << 20;
    const double trip_s = 0.002, rate_bps = 12e6, alone_s = chunks_s(trip_s, bytes, rate_bps);
    for (int by_agents = 0; by_agents < 2; by_agents++) {
        struct program *program = begin_program(keeps);
        struct link *link = program->link;
        const double agents_s = by_agents ? alone_s : 0;
        call(program, true, 1000, trip_s, trip_s);
        if (!by_agents)
            call(program, true, 60000, path_time_s(0, 1 / rate_bps, 60000) + trip_s, trip_s);
        pass(program, alone_s + 0.2);
        link_learn(link, true, bytes, alone_s + 0.2, agents_s);
        assert_int_equal(link->n_rates[true], 0);
        pass(program, alone_s);
        link_learn(link, true, bytes, alone_s, agents_s);
        assert_int_equal(link->n_rates[true], 1);
        assert_float_equal(told_bps(program, true, bytes), rate_bps, 0.1 * rate_bps);
        end_program(program);
    }
}

/* The second one that says it is right: the link is slower than calls, or agents, have it. */
static void a_link_that_is_slower_than_its_agents_have_it_is_learned(void **state)
{
    (void)state;
    struct program *program = begin_program(keeps);
    const uint64_t bytes = 2 << 20;
    const double took_s = chunks_s(0.01, bytes, 2e6);
    call(program, true, 1000, 0.01, 0.01);
    for (unsigned i = 0; i < 3; i++) {
        pass(program, took_s);
        link_learn(program->link, true, bytes, took_s, 0.2);
        assert_int_equal(program->link->n_rates[true], i);
    }
    assert_float_equal(told_bps(program, true, bytes), 2e6, 0.1e6);
    end_program(program);
}

/* The longest of the last transfers does not decide alone where two others were quicker. */
static void a_great_transfer_that_was_held_up_is_outvoted(void **state)
{
    (void)state;
    const double trip_s = 0.002, rate_bps = 12e6;
    static const uint64_t bytes[] = {1 << 20, 1 << 20, 64 << 20};
    struct program *program = begin_program(keeps);
    call(program, true, 1000, trip_s, trip_s);
    for (int i = 0; i < 3; i++) {
        const double took_s = chunks_s(trip_s, bytes[i], i == 2 ? rate_bps / 2 : rate_bps);
        call(program, true, bytes[i], took_s, trip_s);
    }
    assert_float_equal(told_bps(program, true, bytes[2]), rate_bps, 0.1 * rate_bps);
    call(program, true, bytes[2], chunks_s(trip_s, bytes[2], rate_bps / 2), trip_s);
    call(program, true, bytes[2], chunks_s(trip_s, bytes[2], rate_bps / 2), trip_s);
    assert_float_equal(told_bps(program, true, bytes[2]), rate_bps / 2, 0.1 * rate_bps);
    end_program(program);
}

/* ---- windows ---- */

static void what_idles_is_halved_unless_it_is_kept(void **state)
{
    (void)state;
    const struct window_habit reno = window_habit("reno\n", "1\n"), off = window_habit("cubic\n", "0\n"),
                              bbr = window_habit("bbr\n", "1\n"), unread = window_habit("", "");
    assert_true(!reno.keeps && off.keeps && bbr.keeps && !unread.keeps);
    struct window window = {0};
    window_grew(&window, 1e6, 0.05, 1e-7, 0);
    assert_float_equal(window_now(&window, reno, 0.05, 0), 1e6, 1);
    assert_float_equal(window_now(&window, reno, 0.05, NS_PER_S / 2 + 1), 250e3, 1);
    assert_float_equal(window_now(&window, reno, 0.05, 3600 * NS_PER_S), PATH_FIRST_WINDOW, 1);
    assert_float_equal(window_now(&window, bbr, 0.05, 3600 * NS_PER_S), 1e6, 1);
    window_grew(&window, 64e6, 0.05, 1e-6, 0); /* it fills the path long before */
    assert_float_equal(window_now(&window, bbr, 0.05, 0), 2 * 0.05 / 1e-6, 1);
    struct window few = {0};
    for (int i = 0; i < 100; i++)
        window_message(&few, reno, 0.05, 1000, 0);
    assert_float_equal(window_now(&few, reno, 0.05, 0), PATH_FIRST_WINDOW, 1);
    window_message(&few, reno, 0.05, 3 * PATH_FIRST_WINDOW, 0);
    assert_float_equal(window_now(&few, reno, 0.05, 0), 4 * PATH_FIRST_WINDOW, 1);
}

/* A server gets them in the order of the links; a server that does not know the extension takes them for
 * new. */
static void windows_are_told(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct extensions extensions = {0};
    struct told_link link;
    const struct told_link links[] = {
        {"a:1", {true, 0.001, 5e6, 0}, 0, 0, 0, 0},
        {"b:1", {true, 0.025, 5e6, 6e6}, 0, 1, 300000, 70000},
        {"c:1", {true, 0.001, 0, 0}, 2e6, 0, 0, 6e10},
    };
    assert_true(told_own_add(&extensions, links, 3, 0, &arena));
    assert_true(told_own(&extensions, "a:1", &link) && link.window == 0 && link.window_back == 0);
    assert_true(told_own(&extensions, "b:1", &link) && link.window == 300000 && link.window_back == 70000);
    assert_true(told_own(&extensions, "c:1", &link) && link.window_back == UINT32_MAX);
    const struct path_load load = {100, 256e3};
    told_own(&extensions, "b:1", &link);
    const struct path_opening opening = told_opening(&link, true);
    assert_true(opening.trips == 1);
    assert_float_equal(path_call_s(0.025, 2e-7, load, opening), 0.05 + 0.05 + 0.05 + 256e3 * 2e-7 + 0.025,
                       1e-3);
    assert_true(told_own_add(&(struct extensions){0}, links, 1, 0, &arena));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_were_made_are_forecast),
        cmocka_unit_test(a_modelled_links_rate_is_learned),
        cmocka_unit_test(a_rate_that_is_exceeded_is_forgotten),
        cmocka_unit_test(calls_tell_of_their_own_size),
        cmocka_unit_test(a_call_that_was_held_up_does_not_count),
        cmocka_unit_test(transfers_on_one_host_tell_of_their_own_size),
        cmocka_unit_test(a_link_has_one_rate_for_all_sizes),
        cmocka_unit_test(a_first_transfer_that_says_far_less_waits),
        cmocka_unit_test(a_link_that_is_slower_than_its_agents_have_it_is_learned),
        cmocka_unit_test(a_great_transfer_that_was_held_up_is_outvoted),
        cmocka_unit_test(what_idles_is_halved_unless_it_is_kept),
        cmocka_unit_test(windows_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
