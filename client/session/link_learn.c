/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/access.h"
#include "client/session/link.h"
#include "client/session/link_rates.h"
#include "client/session/link_sound.h"
#include "client/session/route.h"
#include "client/session/sounding.h"
#include "core/choice/aggregate.h"
#include "core/choice/estimate.h"
#include "core/forecast/path.h"
#include "core/forecast/told_links.h"
#include "core/message/chunk.h"
#include "util/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- calls ---- */

/* Sizes within this factor tell of each other. */
#define NEAR 2

/* Most bytes of a call that gave a rate (`is_least`: a lower bound). 0: none did. */
static double longest_call(const struct link *link, bool is_least)
{
    double most = 0;
    for (unsigned i = 0; i < LINK_RATES && i < link->n_called; i++)
        if (link->called[i].is_least == is_least)
            most = fmax(most, (double)link->called[i].bytes);
    return most;
}

/* The quickest call with at least so many bytes. Other delays made calls longer, and if a rate depends on
 * size, shorter calls are not slower. 0: there is none. */
static double quickest_call(const struct link *link, bool is_least, double bytes)
{
    double most_bps = 0;
    for (unsigned i = 0; i < LINK_RATES && i < link->n_called; i++)
        if (link->called[i].is_least == is_least && (double)link->called[i].bytes >= bytes)
            most_bps = fmax(most_bps, link->called[i].bps);
    return most_bps;
}

static int by_bytes(const void *a, const void *b)
{
    const struct size_point *x = a, *y = b;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Rate at that size by calls that gave a rate; 0: none did. */
static double rate_between_calls(const struct link *link, double bytes)
{
    struct size_point points[LINK_RATES];
    size_t n = 0;
    for (unsigned i = 0; i < LINK_RATES && i < link->n_called; i++) {
        const double size = (double)link->called[i].bytes;
        if (!link->called[i].is_least)
            points[n++] = (struct size_point){size, size / quickest_call(link, false, size / NEAR)};
    }
    qsort(points, n, sizeof *points, by_bytes);
    return size_points_rate(points, n, bytes);
}

static struct called_rate rate_of_calls(const struct link *link, double bytes)
{
    const double told = longest_call(link, false), least = longest_call(link, true),
                 longest = told > 0 ? told : least, size = bytes > 0 ? bytes : longest;
    const double rate_bps = rate_between_calls(link, size),
                 least_bps = quickest_call(link, true, fmin(size, least) / NEAR);
    return (struct called_rate){fmax(rate_bps, least_bps), (uint64_t)longest,
                                least_bps > rate_bps || size > CALLS_REACH * told};
}

/* ---- transfers ---- */

struct weighed {
    double rate_bps, weight;
};

static int by_rate(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    return (x->rate_bps > y->rate_bps) - (x->rate_bps < y->rate_bps);
}

/* Index of the median of the rates, which are in ascending order; there is at least one. */
static unsigned median_of(const struct weighed *rates, unsigned n)
{
    double left = 0;
    for (unsigned i = 0; i < n; i++)
        left += rates[i].weight / 2;
    for (unsigned i = 0; i < n; i++)
        if ((left -= rates[i].weight) < 0)
            return i;
    return n - 1;
}

/* If two or more transfers were clearly quicker, the delayed ones weigh no more than one of them, because
 * nothing makes a transfer quicker than its link. */
static void outvote(struct weighed *rates, unsigned n, unsigned slow)
{
    double most = 0;
    unsigned quicker = 0;
    for (unsigned i = slow + 1; i < n; i++)
        if (rates[i].rate_bps > RATE_MORE * rates[slow].rate_bps) {
            most = fmax(most, rates[i].weight);
            quicker++;
        }
    if (quicker >= 2)
        rates[slow].weight = fmin(rates[slow].weight, most);
}

/* The median of the last transfers in that direction; a transfer that shared the link does not count more.
 * Long transfers tell more than short ones, but the longest alone does not decide. 0: there is none. */
static double rate_of_transfers(const struct link *link, bool there)
{
    struct weighed rates[LINK_RATES];
    const unsigned n = link->n_rates[there] < LINK_RATES ? link->n_rates[there] : LINK_RATES;
    if (n == 0)
        return 0;
    for (unsigned i = 0; i < n; i++)
        rates[i] = (struct weighed){link->rates[there][i], sqrt((double)link->rate_bytes[there][i])};
    qsort(rates, n, sizeof *rates, by_rate);
    outvote(rates, n, median_of(rates, n));
    return rates[median_of(rates, n)].rate_bps;
}

/* A slower rate is that of a link, which is the same for all sizes. */
static bool rate_depends_on_size(double rate_bps)
{
    return rate_bps >= CHUNK_LINK_BYTES_PER_S;
}

/* The given rate, or the rate of such sizes if it depends on size. */
static double rate_at_size(double rate_bps, const struct size_rates *sizes, uint64_t bytes)
{
    const double size_bps = rate_depends_on_size(rate_bps) ? size_rates_at(sizes, (double)bytes) : 0;
    return size_bps > 0 ? size_bps : rate_bps;
}

/* If no sizes are known in that direction, those of the other direction are used. */
static const struct size_rates *sizes_of(const struct size_rates sizes[2], bool there)
{
    struct size_rate rate;
    for (unsigned i = 0; i < SIZE_CLASSES; i++)
        if (size_rates_class(&sizes[there], i, &rate))
            return &sizes[there];
    return &sizes[!there];
}

/* Sets the path's rates for so many bytes, if they depend on size. */
static void rates_fit(struct path *path, const struct size_rates sizes[2], const struct request_bytes *bytes)
{
    const double there_bps = path->bandwidth_bps, back_bps = path_turned(*path).bandwidth_bps;
    path->bandwidth_bps = rate_at_size(there_bps, sizes_of(sizes, true), bytes->in);
    if (rate_depends_on_size(back_bps))
        path->back_bps = rate_at_size(back_bps, sizes_of(sizes, false), bytes->out);
}

/* A client learns the links to servers from its own transfers, and sends them with its requests. The
 * agents know other links. */

/* Shorter transfers reflect scheduling and round trips more than the rate. */
#define TELLING_BYTES (256 << 10)

/* Shorter transfers, and calls with inline arguments, count only while nothing else is known. */
#define CALLED_BYTES (32 << 10)

/* Links are sent with requests whose transfer takes so long over a known link or one that agents see, or
 * if the agent is not near. Shorter ones are placed by computing time, so that delays of the machine
 * during a measurement do not matter. */
#define LONG_S 0.005

/* Error of forecasts over measured links (doc/forecast.md, the bench "links"). */
#define KNOWN_DOUBT 0.1

static bool is_slow(const struct path *path)
{
    return path_seconds(path, TELLING_BYTES) + fmax(path->latency_s, 0) >= LONG_S;
}

/* Once a link was slow for few bytes, small requests carry links, too. Called with its lock. */
static void note_slow(struct link *link, double rate_bps)
{
    const struct path path = {true, link->trip_s / 2, rate_bps, 0};
    if (is_slow(&path))
        atomic_store(&link->engine->has_slow_link, true);
}

/* A window that is as good as open. */
#define OPEN 1e15

/* A transfer gives a rate if that depends on the assumed window by no more than this. */
#define ALIKE 0.9

/* Seconds per byte of a transfer: with the window that the connection has, and with an open one. */
struct told_rate {
    uint64_t bytes;
    double seconds, inverse, open_inverse;
};

/* Whether the transfer gives a rate. It does not if latency or slow start is a large part of its time,
 * because then other delays, or another window, would change the rate. */
static bool is_telling(const struct told_rate *told)
{
    return told->inverse > 0 && told->inverse >= ALIKE * told->open_inverse &&
           told->inverse * (double)told->bytes >= told->seconds / 2;
}

/* If the transfer gives no rate, it was at least as quick as it would have been with an open window; if
 * latency alone explains the time, at least as quick as bytes per time. Called with the lock. */
static void note_call(struct link *link, const struct told_rate *told)
{
    const bool tells = is_telling(told);
    const double inverse = tells ? told->inverse : told->open_inverse;
    const double rate_bps = inverse > 0 ? 1 / inverse : (double)told->bytes / told->seconds;
    const unsigned i = link->n_called++ % LINK_RATES;
    link->called[i].bps = rate_bps;
    link->called[i].bytes = told->bytes;
    link->called[i].is_least = !tells;
    note_slow(link, rate_bps);
}

/* Start of a transfer that ends now. */
static int64_t begun_ns(int64_t now_ns, double seconds)
{
    return now_ns - (int64_t)(seconds * 1e9);
}

/* Called with the lock. */
static double window_at(const struct link *link, bool there, int64_t ns)
{
    return window_now(&link->windows[there], link->engine->habit, link->trip_s, ns);
}

/* The windows of the connection grow by a message of `bytes` and its answer of `back`. Called with the lock.
 */
static void grow(struct link *link, uint64_t bytes, uint64_t back, int64_t now_ns)
{
    const struct window_habit habit = link->engine->habit;
    window_message(&link->windows[true], habit, link->trip_s, (double)bytes, now_ns);
    window_message(&link->windows[false], habit, link->trip_s, (double)back, now_ns);
}

void link_called(struct link *link, uint64_t bytes, uint64_t back, double seconds, double there_s,
                 unsigned trips)
{
    const int64_t now_ns = clock_now_ns(link->engine->clock), then_ns = begun_ns(now_ns, seconds);
    pthread_mutex_lock(&link->lock);
    if (trips > 0)
        link->windows[true] = link->windows[false] = (struct window){0};
    const struct path_exchange exchange = {(double)bytes, window_at(link, true, then_ns), (double)back,
                                           window_at(link, false, then_ns)},
                               open = {(double)bytes, OPEN, (double)back, OPEN};
    const double way_s = seconds - there_s - trips * link->trip_s, latency_s = link->trip_s / 2;
    if (bytes + back >= CALLED_BYTES && there_s >= 0 && way_s > 0)
        note_call(link,
                  &(struct told_rate){bytes + back, way_s, path_exchange_inverse(latency_s, exchange, way_s),
                                      path_exchange_inverse(latency_s, open, way_s)});
    grow(link, bytes, back, now_ns);
    pthread_mutex_unlock(&link->lock);
}

void link_answered(struct link *link, double seconds, unsigned trips)
{
    const double trip_s = seconds / (1 + trips);
    if (!(trip_s > 0))
        return;
    pthread_mutex_lock(&link->lock);
    if (link->trip_s <= 0 || trip_s < link->trip_s) {
        link->trip_s = trip_s;
        note_slow(link, 0);
    }
    pthread_mutex_unlock(&link->lock);
}

double link_begins(struct link *link, bool there)
{
    pthread_mutex_lock(&link->lock);
    const double begun_ns = sharing_begin(&link->sharing[there], clock_now_ns(link->engine->clock));
    pthread_mutex_unlock(&link->lock);
    return begun_ns;
}

double link_ends(struct link *link, bool there, double begun_ns)
{
    pthread_mutex_lock(&link->lock);
    const double seconds = sharing_end(&link->sharing[there], clock_now_ns(link->engine->clock), begun_ns);
    pthread_mutex_unlock(&link->lock);
    return seconds;
}

void link_sounded(struct link *link, double trip_s, double rate_bps)
{
    pthread_mutex_lock(&link->lock);
    if (link->trip_s <= 0 || trip_s < link->trip_s)
        link->trip_s = trip_s;
    link->sounded_bps = rate_bps;
    link->sounded_s = time(NULL);
    note_slow(link, rate_bps);
    pthread_mutex_unlock(&link->lock);
}

/* The known figures of a link, and their source. */
struct known {
    struct path path;     /* `known`: it has a rate for the bytes in question */
    int64_t sounded_s;    /* from greetings, seconds since 1970; 0: not from greetings */
    uint64_t short_bytes; /* longest of the short transfers and calls that gave it; 0: none did */
    bool is_least;        /* the rate is a lower bound */
};

/* The link's figures by transfers, for a request of so many bytes (NULL: of any size). For a direction
 * without transfers, takes a sounding, then the other direction, then short transfers. */
static struct known know(struct link *link, const struct request_bytes *bytes)
{
    struct known known = {.sounded_s = 0};
    pthread_mutex_lock(&link->lock);
    const double back_bps = rate_of_transfers(link, false);
    double there_bps = rate_of_transfers(link, true);
    if (there_bps <= 0 && back_bps <= 0)
        known.sounded_s = link->sounded_s;
    if (there_bps <= 0)
        there_bps = link->sounded_bps > 0 ? link->sounded_bps : back_bps;
    if (there_bps <= 0) {
        const struct called_rate called = rate_of_calls(link, bytes ? (double)(bytes->in + bytes->out) : 0);
        there_bps = called.bps;
        known.short_bytes = called.bytes;
        known.is_least = called.is_least;
    }
    known.path = (struct path){there_bps > 0, link->trip_s / 2, there_bps, back_bps};
    if (bytes && known.short_bytes == 0)
        rates_fit(&known.path, link->sizes, bytes);
    pthread_mutex_unlock(&link->lock);
    return known;
}

/* Stored in place of the byte count if only a lower bound is known. */
#define LEAST_KNOWN 1

static struct known as_remembered(const struct remembered_link *link, const struct request_bytes *bytes)
{
    struct known known = {link->path, link->sounded ? link->used_s : 0, 0, link->short_bytes == LEAST_KNOWN};
    if (link->is_short) /* earlier versions did not store the byte count */
        known.short_bytes = link->short_bytes > CALLED_BYTES ? link->short_bytes : CALLED_BYTES;
    if (known.short_bytes > TELLING_BYTES)
        known.short_bytes = TELLING_BYTES;
    if (bytes)
        rates_fit(&known.path, link->sizes, bytes);
    return known;
}

const struct link_memory *links_memory(struct engine *engine)
{
    if (!engine->remembers || engine->remembered)
        return &engine->memory;
    char path[4096];
    link_memory_path(path, sizeof path);
    link_memory_load(&engine->memory, path, time(NULL));
    for (size_t i = 0; i < engine->memory.n; i++)
        if (is_slow(&engine->memory.links[i].path))
            atomic_store(&engine->has_slow_link, true);
    engine->remembered = true;
    return &engine->memory;
}

/* Called with the lock. */
static bool has_transfers(const struct link *link)
{
    return link->n_rates[true] + link->n_rates[false] > 0;
}

/* Takes the rates by size of an earlier process; this process's transfers adjust them. */
static void take_sizes(struct link *link)
{
    pthread_mutex_lock(&link->engine->links_lock);
    const struct remembered_link *remembered = link_memory_find(links_memory(link->engine), link->address);
    pthread_mutex_lock(&link->lock);
    if (remembered && !has_transfers(link))
        memcpy(link->sizes, remembered->sizes, sizeof link->sizes);
    pthread_mutex_unlock(&link->lock);
    pthread_mutex_unlock(&link->engine->links_lock);
}

/* The rate in that direction that an earlier process found; 0: none. A direction without transfers takes
 * the rate of the other one. *doubted: that process was surprised at its end. */
static double remembered_bps(struct link *link, bool there, uint64_t bytes, bool *doubted)
{
    double rate_bps = 0;
    pthread_mutex_lock(&link->engine->links_lock);
    const struct remembered_link *remembered = link_memory_find(links_memory(link->engine), link->address);
    if (remembered) {
        const struct path *path = &remembered->path;
        const double there_bps = path->bandwidth_bps == path->back_bps ? 0 : path->bandwidth_bps;
        rate_bps = rate_at_size(there ? there_bps : path->back_bps, &remembered->sizes[there], bytes);
        *doubted = remembered->doubted;
    }
    pthread_mutex_unlock(&link->engine->links_lock);
    return rate_bps;
}

struct expected {
    double seconds; /* 0: not known */
    bool is_first;  /* no transfer of this process in that direction has given a rate */
    bool doubted;   /* an earlier process was surprised at its end */
};

/* How long so many bytes should take in that direction, on a connection with that window: by what this
 * process knows of the link, else by an earlier process, else by the lower bound from calls or the agents'
 * expectation. */
static struct expected expect(struct link *link, bool there, double window, uint64_t bytes, double agents_s)
{
    struct expected expected = {0, false, false};
    pthread_mutex_lock(&link->lock);
    const double latency_s = link->trip_s / 2;
    double rate_bps = rate_at_size(rate_of_transfers(link, there), &link->sizes[there], bytes);
    expected.is_first = rate_bps <= 0;
    if (rate_bps <= 0 && there)
        rate_bps = link->sounded_bps;
    const double called_bps = rate_of_calls(link, (double)bytes).bps;
    pthread_mutex_unlock(&link->lock);
    if (rate_bps <= 0)
        rate_bps = remembered_bps(link, there, bytes, &expected.doubted);
    if (rate_bps <= 0)
        rate_bps = called_bps;
    expected.seconds =
        rate_bps > 0 ? path_chunks_grown_s(latency_s, 1 / rate_bps, &window, (double)bytes) : agents_s;
    return expected;
}

/* A rate that was found at a bad moment would stay as long as transfers are too short to give a rate. A
 * transfer that is quicker than the rate allows replaces it. Called with the lock. */
static void disprove(struct link *link, bool there, const struct told_rate *told)
{
    const double least_bps = (double)told->bytes / told->seconds, known_bps = rate_of_transfers(link, there);
    if (known_bps > 0 && least_bps > RATE_MORE * rate_at_size(known_bps, &link->sizes[there], told->bytes)) {
        size_rates_disprove(&link->sizes[there], (double)told->bytes);
        if (!rate_depends_on_size(known_bps))
            link->n_rates[there] = 0;
    }
    if (there && least_bps > RATE_MORE * link->sounded_bps)
        link->sounded_bps = 0;
}

/* Called with the lock. */
static void note_transfer(struct link *link, bool there, const struct told_rate *told)
{
    const double rate_bps = 1 / told->inverse;
    const unsigned i = link->n_rates[there]++ % LINK_RATES;
    link->rates[there][i] = rate_bps;
    link->rate_bytes[there][i] = told->bytes;
    size_rates_add(&link->sizes[there], (double)told->bytes, rate_bps);
    note_slow(link, rate_bps);
}

/* Whether a transfer that ends now and gave that rate counts. Called with the lock. */
static bool is_believed(struct link *link, bool there, const struct expected *expected,
                        const struct told_rate *told, int64_t now_ns)
{
    struct surprise *surprise = &link->surprise[there];
    const bool counts = expected->is_first
                            ? surprise_first_counts(surprise, expected->seconds, told->seconds, now_ns)
                            : surprise_counts(surprise, expected->seconds, told->seconds, now_ns);
    link->waiting_bps[there] = counts || told->inverse <= 0 ? 0 : 1 / told->inverse;
    return counts || expected->doubted;
}

void link_learn(struct link *link, bool there, uint64_t bytes, double seconds, double agents_s)
{
    if (bytes < TELLING_BYTES)
        link_called(link, there ? bytes : 0, there ? 0 : bytes, seconds, 0, 0);
    if (bytes < TELLING_BYTES || !(seconds > 0))
        return;
    const int64_t now_ns = clock_now_ns(link->engine->clock);
    pthread_mutex_lock(&link->lock);
    const bool had_transfers = has_transfers(link);
    double window = window_at(link, there, begun_ns(now_ns, seconds));
    pthread_mutex_unlock(&link->lock);
    if (!had_transfers)
        take_sizes(link);
    const struct expected expected = expect(link, there, window, bytes, agents_s);
    pthread_mutex_lock(&link->lock);
    const double latency_s = link->trip_s / 2;
    const struct told_rate told = {bytes, seconds,
                                   path_chunks_inverse(latency_s, window, (double)bytes, seconds),
                                   path_chunks_inverse(latency_s, OPEN, (double)bytes, seconds)};
    if (!is_believed(link, there, &expected, &told, now_ns)) {
        pthread_mutex_unlock(&link->lock);
        return;
    }
    if (told.inverse > 0)
        path_chunks_grown_s(latency_s, told.inverse, &window, (double)bytes);
    window_grew(&link->windows[there], window, link->trip_s, told.inverse, now_ns);
    if (is_telling(&told)) {
        note_transfer(link, there, &told);
    } else {
        note_call(link, &told);
        disprove(link, there, &told);
    }
    pthread_mutex_unlock(&link->lock);
}

bool links_know(struct engine *engine, const char *address)
{
    struct link *link;
    struct known known = {.sounded_s = 0};
    pthread_mutex_lock(&engine->links_lock);
    HASH_FIND_STR(engine->links, address, link);
    if (link)
        known = know(link, NULL);
    bool is_known = known.path.known && known.short_bytes == 0; /* greetings tell more than short transfers */
    if (!is_known) {
        const struct remembered_link *remembered = link_memory_find(links_memory(engine), address);
        is_known = remembered && !remembered->is_short;
        if (is_known)
            known = as_remembered(remembered, NULL);
    }
    pthread_mutex_unlock(&engine->links_lock);
    const int64_t age_s = time(NULL) - known.sounded_s; /* below 0: the clock was set back */
    return is_known && (known.sounded_s == 0 || (age_s >= 0 && age_s < LINK_MEMORY_SOUNDED_S));
}

struct telling {
    struct told_link links[CAP_TOLD_LINKS];
    size_t n;
    double longest_s;
    struct request_bytes bytes;
};

/* Adds the link as it is known; it begins as in *begin. */
static void add(struct telling *telling, const struct known *known, const struct told_link *begin)
{
    if (telling->n == CAP_TOLD_LINKS)
        return;
    const struct transfer_times times =
        request_path_times(&telling->bytes, &known->path, (struct path_opening){0, 0, 0});
    struct told_link told = *begin;
    told.path = known->path;
    const uint64_t bytes = telling->bytes.in + telling->bytes.out;
    if (known->short_bytes > 0 && (known->is_least || bytes > CALLS_REACH * known->short_bytes)) {
        told.least_bps = told.path.bandwidth_bps;
        told.path.bandwidth_bps = 0;
    }
    telling->longest_s = fmax(telling->longest_s, times.in_s + times.out_s);
    telling->links[telling->n++] = told;
}

/* How calls begin at servers that were never called. */
static uint8_t opening_of_strangers(const struct engine *engine)
{
    return (uint8_t)(engine->connection_trips | (engine->answer_patience_ms > 0 ? TOLD_GREETS : 0));
}

/* How a call there begins: an open connection has grown. */
static struct told_link begin_at(struct link *link)
{
    struct told_link begin = {.peer = link->address, .opening = link_opening(link)};
    const int64_t now_ns = clock_now_ns(link->engine->clock);
    if (link_trips(link) > 0)
        return begin;
    pthread_mutex_lock(&link->lock);
    begin.window = window_at(link, true, now_ns);
    begin.window_back = window_at(link, false, now_ns);
    pthread_mutex_unlock(&link->lock);
    return begin;
}

/* Adds what this process has learned; where it has not, what earlier ones have; and at least the latency. */
static void add_link(struct telling *telling, struct link *link, const struct link_memory *memory)
{
    struct known known = know(link, &telling->bytes);
    const bool is_sure = known.path.known && known.short_bytes == 0;
    const struct remembered_link *remembered = is_sure ? NULL : link_memory_find(memory, link->address);
    if (remembered && (!known.path.known || !remembered->is_short)) /* short transfers tell less */
        known = as_remembered(remembered, &telling->bytes);
    const struct told_link begin = begin_at(link);
    if (known.path.known || known.path.latency_s > 0)
        add(telling, &known, &begin); /* links and their memory live as long as the engine */
}

static void add_all(struct telling *telling, struct engine *engine)
{
    pthread_mutex_lock(&engine->links_lock);
    const struct link_memory *memory = links_memory(engine);
    for (struct link *link = engine->links; link; link = link->hh.next)
        add_link(telling, link, memory);
    for (size_t i = 0; i < memory->n; i++) {
        struct link *link;
        HASH_FIND_STR(engine->links, memory->links[i].address, link);
        if (!link) {
            const struct known known = as_remembered(&memory->links[i], &telling->bytes);
            const struct told_link begin = {.peer = memory->links[i].address,
                                            .opening = opening_of_strangers(engine)};
            add(telling, &known, &begin);
        }
    }
    pthread_mutex_unlock(&engine->links_lock);
}

/* Whether this process or an earlier one knows a slow link. */
static bool knows_slow(struct engine *engine)
{
    if (!atomic_load(&engine->has_looked)) {
        pthread_mutex_lock(&engine->links_lock);
        links_memory(engine);
        pthread_mutex_unlock(&engine->links_lock);
        atomic_store(&engine->has_looked, true);
    }
    return atomic_load(&engine->has_slow_link);
}

bool links_tell(struct engine *engine, struct request *request, struct arena *arena)
{
    struct telling telling = {.bytes = request_client_bytes(request)};
    const uint64_t bytes = telling.bytes.in + telling.bytes.out;
    /* If the agent is far, the ways that it knows say little about the ways from here. */
    const bool far = route_trip_s(engine->route) >= ACCESS_WORTH_S;
    bool matters = far || bytes >= LINK_GREAT_BYTES || atomic_load(&engine->has_long_way);
    if (matters || bytes >= TELLING_BYTES || knows_slow(engine))
        add_all(&telling, engine);
    matters |= telling.longest_s >= LONG_S;
    if (!matters)
        telling.n = 0;
    return access_tell(engine, request, matters, arena) &&
           ((!matters && atomic_load(&engine->has_called)) ||
            told_own_add(&request->extensions, telling.links, telling.n, opening_of_strangers(engine),
                         arena));
}

void links_note_choice(struct engine *engine, const struct request *request, const struct submit_reply *reply)
{
    const struct request_bytes bytes = request_client_bytes(request);
    for (uint32_t i = 0; i < reply->n_candidates && bytes.in + bytes.out < TELLING_BYTES; i++)
        if (reply->candidates[i].transfer_s >= LONG_S)
            atomic_store(&engine->has_long_way, true);
}

/* By the transfers in that direction. Called with the lock. */
static double doubt_of(const struct link *link, bool there)
{
    double least = HUGE_VAL, most = 0;
    for (unsigned i = 0; i < LINK_RATES && i < link->n_rates[there]; i++) {
        least = fmin(least, link->rates[there][i]);
        most = fmax(most, link->rates[there][i]);
    }
    if (most <= 0)
        return LINK_STRANGE_DOUBT;
    return most > least ? fmax(KNOWN_DOUBT, (most - least) / (most + least)) : KNOWN_DOUBT;
}

/* By transfers of this process; 0: it has made none. */
static double doubt_by_transfers(struct link *link, struct request_bytes bytes)
{
    double doubt = 0;
    pthread_mutex_lock(&link->lock);
    if (has_transfers(link)) {
        const double in = 1 + (double)bytes.in, out = 1 + (double)bytes.out;
        doubt = (in * doubt_of(link, true) + out * doubt_of(link, false)) / (in + out);
    }
    pthread_mutex_unlock(&link->lock);
    return doubt;
}

double links_doubt(struct engine *engine, const char *address, struct request_bytes bytes)
{
    struct link *link;
    pthread_mutex_lock(&engine->links_lock);
    HASH_FIND_STR(engine->links, address, link);
    double doubt = link ? doubt_by_transfers(link, bytes) : 0;
    if (doubt <= 0) {
        const struct remembered_link *remembered =
            link && know(link, NULL).path.known ? NULL : link_memory_find(links_memory(engine), address);
        doubt =
            remembered && !remembered->sounded && !remembered->is_short ? KNOWN_DOUBT : LINK_STRANGE_DOUBT;
    }
    pthread_mutex_unlock(&engine->links_lock);
    return doubt;
}

/* Other processes may have written meanwhile, so the file is read again before it is changed. */
static void open_memory(struct link_memory *memory, char *path, size_t size)
{
    if (memory->links)
        return;
    link_memory_path(path, size);
    link_memory_load(memory, path, time(NULL));
}

/* Whether a link of which only the latency is known is new, or clearly has another latency now. */
static bool is_new_length(const struct engine *engine, const char *address, const struct path *path)
{
    const struct remembered_link *before = link_memory_find(&engine->memory, address);
    if (!(path->latency_s > 0))
        return false;
    return !before || (before->is_short && before->path.bandwidth_bps <= 0 &&
                       fabs(path->latency_s - before->path.latency_s) > before->path.latency_s / 2);
}

/* By all transfers of this process over the link. */
static bool is_surprised(const struct link *link)
{
    return !has_transfers(link) &&
           (link->surprise[true].until_ns != 0 || link->surprise[false].until_ns != 0);
}

/* If no transfer was known before, notes whether the transfers of this process surprise: then the first
 * one of the next process counts in any case. */
static void remember_surprise(struct link_memory *memory, const struct link *link)
{
    const double back_bps = link->waiting_bps[false],
                 there_bps = link->waiting_bps[true] > 0 ? link->waiting_bps[true] : back_bps;
    const struct path path = {true, link->trip_s / 2, there_bps, back_bps};
    if (link_memory_doubt(memory, link->address) || there_bps <= 0)
        return;
    link_memory_set(memory, link->address, &path, time(NULL));
    link_memory_doubt(memory, link->address);
}

static void remember_transfers(struct link_memory *memory, const struct link *link, const struct path *path)
{
    link_memory_set(memory, link->address, path, time(NULL));
    if (rate_depends_on_size(path->bandwidth_bps) || rate_depends_on_size(path->back_bps))
        link_memory_set_sizes(memory, link->address, link->sizes);
}

void links_remember(struct engine *engine)
{
    char path[4096];
    struct link_memory memory = {0};
    if (!engine->remembers)
        return;
    for (struct link *link = engine->links; link; link = link->hh.next) {
        const struct known known = know(link, NULL);
        if (!known.path.known && !is_surprised(link) && !is_new_length(engine, link->address, &known.path))
            continue;
        open_memory(&memory, path, sizeof path);
        if (is_surprised(link))
            remember_surprise(&memory, link);
        else if (!known.path.known || known.short_bytes > 0)
            link_memory_set_short(&memory, link->address, &known.path,
                                  known.is_least ? LEAST_KNOWN : known.short_bytes, time(NULL));
        else if (known.sounded_s)
            link_memory_set_sounded(&memory, link->address, &known.path, known.sounded_s);
        else
            remember_transfers(&memory, link, &known.path);
    }
    if (engine->access.rate_bps > 0) {
        const struct path access = {true, route_trip_s(engine->route) / 2, engine->access.rate_bps, 0};
        open_memory(&memory, path, sizeof path);
        link_memory_set_sounded(&memory, engine->access.address, &access, engine->access.sounded_s);
    }
    if (memory.links)
        link_memory_save(&memory, path);
    link_memory_clear(&memory);
    link_memory_clear(&engine->memory);
}

/* A second ballast is sent if the first one took less than this, because a small one tells little of a
 * quick link. */
#define LIGHT_BYTES     (64 << 10)
#define HEAVY_BYTES     (1 << 20)
#define SOUNDING_LONG_S 0.05

/* Greetings of each size. After this time, only the second one is sent. */
#define TRIES   3
#define TRIES_S 0.4

/* Greetings to one node, over one connection. */
struct soundings {
    sounding_greeting *greet;
    void *arg;
    double most_s, spent_s;
    double window; /* that the connection has grown to by the earlier greetings */
};

/* The quickest of several greetings with the same ballast. */
struct quickest {
    uint32_t bytes;
    double took_s, window; /* when it began */
};

/* Other delays make a greeting longer, and nothing makes it shorter. */
static bool quickest_of_some(struct soundings *soundings, struct quickest *quickest)
{
    const double begun_s = soundings->spent_s;
    double took_s;
    for (int i = 0; i < TRIES; i++) {
        if (i > 0 && ((i > 1 && soundings->spent_s - begun_s > TRIES_S) ||
                      soundings->spent_s + quickest->took_s > soundings->most_s))
            break;
        if (!soundings->greet(soundings->arg, quickest->bytes, &took_s))
            return i > 0;
        soundings->spent_s += took_s;
        if (i == 0 || took_s < quickest->took_s)
            quickest->took_s = took_s, quickest->window = soundings->window;
        soundings->window = path_window(soundings->window, quickest->bytes);
    }
    return true;
}

/* The answer is small: the additional time of a greeting with ballast is the time of its bytes. If slow
 * start on this connection explains that time, the rate is hidden, and *inverse is 0.
 */
static bool measure(struct soundings *soundings, uint32_t most_bytes, double *trip_s,
                    struct quickest *ballast, double *inverse)
{
    struct quickest light = {.bytes = 0};
    double connect_s;
    if (!soundings->greet(soundings->arg, 0, &connect_s) || !quickest_of_some(soundings, &light))
        return false;
    *trip_s = light.took_s;
    for (ballast->bytes = LIGHT_BYTES;; ballast->bytes = HEAVY_BYTES) {
        if (!quickest_of_some(soundings, ballast))
            return false;
        const struct path_exchange exchange = {ballast->bytes, ballast->window, 0, 0};
        *inverse = path_exchange_inverse(*trip_s / 2, exchange, ballast->took_s);
        if (ballast->bytes == most_bytes || (ballast->took_s >= SOUNDING_LONG_S && *inverse > 0) ||
            soundings->spent_s >= soundings->most_s)
            return ballast->took_s > 0;
    }
}

/* If the rate is hidden, the bytes per time are its lower bound. */
bool sounding_measure(sounding_greeting *greet, void *arg, double most_s, double *trip_s, double *rate_bps)
{
    struct soundings soundings = {.greet = greet, .arg = arg, .most_s = most_s};
    struct quickest ballast = {0};
    double inverse;
    *rate_bps = 0;
    if (!measure(&soundings, HEAVY_BYTES, trip_s, &ballast, &inverse))
        return false;
    *rate_bps = inverse > 0 ? 1 / inverse : ballast.bytes / ballast.took_s;
    return true;
}

bool sounding_glance(sounding_greeting *greet, void *arg, double most_s, double *trip_s, double *rate_bps)
{
    struct soundings soundings = {.greet = greet, .arg = arg, .most_s = most_s};
    struct quickest ballast = {0};
    double inverse;
    *rate_bps = 0;
    if (!measure(&soundings, LIGHT_BYTES, trip_s, &ballast, &inverse))
        return false;
    *rate_bps = inverse > 0 ? 1 / inverse : 0;
    return true;
}

/* Tag of an extension of a greeting that no node reads. */
#define EXTENSION_BALLAST 80

static double now_s(const struct engine *engine)
{
    return (double)clock_now_ns(engine->clock) / NS_PER_S;
}

struct greeted {
    struct engine *engine;
    const char *address;
    double until_s;
};

/* Random bytes, which no line can compress. */
static bool greet_with(void *arg, uint32_t bytes, double *seconds)
{
    const struct greeted *greeted = arg;
    struct engine *engine = greeted->engine;
    struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}}, reply = {0};
    uint8_t *noise = bytes ? malloc(bytes) : NULL;
    uint64_t state = bytes;
    if (bytes && !noise)
        return false;
    for (uint32_t i = 0; i < bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        noise[i] = (uint8_t)(state >> 56);
    }
    struct extension ballast = {EXTENSION_BALLAST, noise, bytes};
    request.greet.extensions = (struct extensions){&ballast, bytes > 0};
    const double begun_s = now_s(engine);
    const int64_t timeout_ms = (int64_t)(1e3 * fmax(greeted->until_s - begun_s, 0)) + 1;
    const bool answered =
        transport_call(engine->transport, greeted->address, &request, timeout_ms, &reply, NULL) == ESP_OK;
    *seconds = now_s(engine) - begun_s;
    message_clear(&reply);
    free(noise);
    return answered;
}

static void sound(struct link *link, double until_s)
{
    struct greeted greeted = {link->engine, link->address, until_s};
    double trip_s, rate_bps;
    if (!sounding_measure(greet_with, &greeted, until_s - now_s(link->engine), &trip_s, &rate_bps))
        return;
    link_heard(link);
    link_sounded(link, trip_s, rate_bps);
}

bool link_glance(struct engine *engine, const char *address, double most_s, double *trip_s, double *rate_bps)
{
    struct greeted greeted = {engine, address, now_s(engine) + LINK_SOUND_MOST_S}; /* the one under way */
    return sounding_glance(greet_with, &greeted, most_s, trip_s, rate_bps);
}

bool link_is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]", 5) == 0 ||
           strncmp(address, "localhost", 9) == 0;
}

/* Whether it is time to measure again. Returns true in only one thread at a time. */
static bool is_due(struct engine *engine)
{
    int_least64_t last = atomic_load(&engine->sounded_ns);
    const int64_t now_ns = clock_now_ns(engine->clock);
    return (last == 0 || now_ns - last > LINK_SOUND_AGAIN_S * NS_PER_S) &&
           atomic_compare_exchange_strong(&engine->sounded_ns, &last, now_ns);
}

/* Then a measurement of the way to the agent would take longer than it could save. */
static bool is_near(struct engine *engine)
{
    char address[CAP_ADDRESS + 1];
    return route_first(engine->route, address) && link_is_loopback(address);
}

static void sound_candidates(struct engine *engine, const struct submit_reply *reply)
{
    const double until_s = now_s(engine) + LINK_SOUND_MOST_S;
    unsigned sounded = 0;
    for (uint32_t i = 0; i < reply->n_candidates && sounded < LINK_SOUND_MOST; i++) {
        const char *address = reply->candidates[i].address;
        if (link_is_loopback(address) || links_know(engine, address))
            continue;
        struct link *link = now_s(engine) < until_s ? link_find(engine, address) : NULL;
        if (!link || atomic_load(&engine->closing))
            return;
        sound(link, until_s);
        sounded++;
    }
}

void links_sound(struct engine *engine, const struct message *submit)
{
    const struct request *request = &submit->submit.request;
    const struct request_bytes bytes = request_client_bytes(request);
    struct extension forecast = {EXTENSION_FORECAST, (const uint8_t *)"", 0};
    struct message asked = *submit, reply = {0};
    struct esp_error error;
    const bool great = bytes.in + bytes.out >= LINK_GREAT_BYTES;
    if (!engine->sounds || bytes.in + bytes.out < LINK_MANY_BYTES || *request->server)
        return;
    if (great || !is_near(engine) || extension_find(&request->extensions, EXTENSION_FORECAST))
        access_sound(engine);
    if (!great || !is_due(engine))
        return;
    asked.submit.request.extensions = (struct extensions){&forecast, 1};
    if (route_ask(engine->route, &asked, engine->call_timeout_ms, &reply, &error) == ESP_OK)
        sound_candidates(engine, &reply.submit_reply);
    message_clear(&reply);
}
