/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of several master agents is nearest: all are greeted at once, and how long their answers take says
 * how far they are; one whose servers are all busy counts as farther. Those that are about as near as the
 * nearest one stay in the order in which the redirector named them, so that clients spread.
 */
#include "client/session/route_internal.h"
#include "util/clock.h"
#include "util/thread_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEASURED_MOST 16   /* masters; what is beyond stays behind them */
#define GREETING_MS   300  /* one that takes longer is far in any case */
#define CALL_TRIPS    2.0  /* round trips to the master that a small call waits for */
#define QUEUE_S       0.05 /* what a session for each slot that waits already adds to the way, about */
#define EMPTY_S       1.0  /* and having no servers at all */
/* As near as the nearest one: within measurement, as latencies go. */
#define ALIKE_FACTOR 1.5
#define ALIKE_S      1e-3

struct measured {
    struct thread_job job;
    struct route *route;
    const struct master_entry *master;
    double way_s, distance_s; /* infinite: it did not answer */
};

static bool greet(struct route *route, const char *address, double *took_s)
{
    const struct clock *clock = transport_clock(route->transport);
    const struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}};
    struct message reply = {0};
    const int64_t asked_ns = clock_now_ns(clock);
    const enum esp_status status =
        transport_call(route->transport, address, &request, GREETING_MS, &reply, NULL);
    *took_s = (double)(clock_now_ns(clock) - asked_ns) / 1e9;
    message_clear(&reply);
    return status == ESP_OK;
}

/* The first greeting opens the connection, the second one measures. */
static void measure(void *arg)
{
    struct measured *measured = arg;
    const struct master_entry *master = measured->master;
    double first_s, second_s;
    if (!greet(measured->route, master->address, &first_s) ||
        !greet(measured->route, master->address, &second_s))
        return;
    measured->way_s = CALL_TRIPS * fmin(first_s, second_s);
    measured->distance_s =
        measured->way_s + QUEUE_S * fmax(0, master->load - 1) + (master->servers == 0 ? EMPTY_S : 0);
}

static void measure_all(struct measured *measured, size_t n)
{
    struct thread_pool *pool = NULL;
    if (thread_pool_create((unsigned)n - 1, &pool, NULL) != ESP_OK)
        return; /* without memory all are alike */
    for (size_t i = 1; i < n; i++) {
        measured[i].job = (struct thread_job){.run = measure, .arg = &measured[i]};
        if (!thread_pool_submit(pool, &measured[i].job))
            measure(&measured[i]);
    }
    measure(&measured[0]);
    thread_pool_destroy(pool);
}

/* Insertion, as those that are alike must keep their order. */
static void sort(struct measured *measured, size_t n, double alike_s)
{
    for (size_t i = 1; i < n; i++) {
        const struct measured one = measured[i];
        size_t k = i;
        for (; k > 0 && one.distance_s < measured[k - 1].distance_s && measured[k - 1].distance_s > alike_s;
             k--)
            measured[k] = measured[k - 1];
        measured[k] = one;
    }
}

void route_nearest_first(struct route *route, struct locate_reply *located, double way_s[MOST_MASTERS])
{
    struct measured measured[MEASURED_MOST];
    struct master_entry sorted[MEASURED_MOST];
    const size_t n = located->n_masters < MEASURED_MOST ? located->n_masters : MEASURED_MOST;
    double nearest_s = INFINITY;
    if (n < 2)
        return;
    for (size_t i = 0; i < n; i++)
        measured[i] = (struct measured){
            .route = route, .master = &located->masters[i], .way_s = INFINITY, .distance_s = INFINITY};
    measure_all(measured, n);
    for (size_t i = 0; i < n; i++)
        nearest_s = fmin(nearest_s, measured[i].distance_s);
    sort(measured, n, ALIKE_FACTOR * nearest_s + ALIKE_S);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = *measured[i].master;
        way_s[i] = measured[i].way_s;
    }
    memcpy(located->masters, sorted, n * sizeof *sorted);
}
