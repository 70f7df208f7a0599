/* SPDX-License-Identifier: Apache-2.0
 *
 * Which master agent is asked first for servers while those below the nearest one are busy: what each has
 * said of the last request is remembered, and the next one of its kind goes where it is expected to end
 * first. So a program that has many calls under way fills the servers of all of them, and asks nobody more
 * than once for a call.
 *
 * For requests that take data which live on servers, see client/session/route_data.c. A request for one
 * server stays with the nearest master agent.
 */
#include "client/session/route_internal.h"
#include "core/choice/aggregate.h"
#include "core/choice/estimate.h"
#include "util/clock.h"

#include <math.h>
#include <string.h>

#define WAIT_S 0.05 /* less is not worth it */
#define WAYS   20   /* a wait counts as long when it is so many times the way to the other one */
#define OLD_S  30.0 /* what was said is tried again */
#define DOWN_S 10.0 /* and one that did not answer is left alone */

static bool is_free(const struct route *route, const struct message *message)
{
    const struct request *request = &message->submit.request;
    return message->kind == MESSAGE_SUBMIT && route->n_agents == 0 && !*request->server &&
           request->n_excluded == 0 && !request_has_data(request) &&
           !extension_find(&request->extensions, EXTENSION_FORECAST);
}

static int64_t now_ns(const struct route *route)
{
    return clock_now_ns(transport_clock(route->transport));
}

/* What is left of the wait that it told. */
static double wait_s(const struct told *told, int64_t now)
{
    return fmax(0, told->queue_s - (double)(now - told->at_ns) / 1e9);
}

/* NULL: nothing that counts any more. */
static const struct told *told_by(const struct route *route, size_t master, uint64_t digest, int64_t now)
{
    const struct told *told = &route->told[master];
    const bool counts = told->at_ns != 0 && (told->is_down || told->digest == digest);
    return counts && (double)(now - told->at_ns) / 1e9 < (told->is_down ? DOWN_S : OLD_S) ? told : NULL;
}

/* With the lock held. The one that is asked first, or the one below which it would end sooner. */
static size_t find_sooner(const struct route *route, uint64_t digest)
{
    const int64_t now = now_ns(route);
    const struct told *nearest = told_by(route, route->current, digest, now);
    const double longest_s = nearest && !nearest->is_down ? wait_s(nearest, now) : 0;
    size_t found = route->current;
    double best_s = nearest ? longest_s + nearest->rest_s - WAIT_S : 0;
    for (size_t i = 0; longest_s > WAIT_S && i < route->n_masters; i++) {
        const struct told *told = told_by(route, i, digest, now);
        const double end_s = !told           ? nearest->rest_s
                             : told->is_down ? INFINITY
                                             : wait_s(told, now) + told->rest_s;
        if (i != route->current && end_s < best_s && WAYS * route->way_s[i] < longest_s) {
            found = i;
            best_s = end_s;
        }
    }
    return found;
}

void route_sooner_first(struct route *route, const struct message *request, struct masters *masters)
{
    char first[CAP_ADDRESS + 1];
    if (masters->n < 2 || !is_free(route, request))
        return;
    pthread_mutex_lock(&route->lock);
    const size_t n = route->n_masters, found = find_sooner(route, request->submit.request.digest);
    const size_t at = (found + n - route->current) % n;
    if (masters->generation == route->generation && at > 0 &&
        strcmp(masters->addresses[at], route->masters[found]) == 0) {
        memcpy(first, masters->addresses[at], sizeof first);
        memmove(masters->addresses[1], masters->addresses[0], at * sizeof masters->addresses[0]);
        memcpy(masters->addresses[0], first, sizeof first);
    }
    pthread_mutex_unlock(&route->lock);
}

void route_note_told(struct route *route, const char *address, const struct message *request,
                     const struct submit_reply *reply)
{
    route_note_data(route, address, request, reply);
    if (!is_free(route, request) || (reply && reply->n_candidates == 0))
        return;
    struct told told = {
        .at_ns = now_ns(route), .digest = request->submit.request.digest, .is_down = reply == NULL};
    if (reply) {
        const struct candidate *best = &reply->candidates[0];
        told.queue_s = isfinite(best->queue_s) ? best->queue_s : 0;
        told.rest_s = isfinite(best->compute_s + best->transfer_s) ? best->compute_s + best->transfer_s : 0;
    }
    pthread_mutex_lock(&route->lock);
    for (size_t i = 0; i < route->n_masters; i++)
        if (strcmp(route->masters[i], address) == 0)
            route->told[i] = told;
    pthread_mutex_unlock(&route->lock);
}
