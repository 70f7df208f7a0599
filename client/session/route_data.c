/* SPDX-License-Identifier: Apache-2.0
 *
 * Which master agent is asked first for a request that takes data which live on servers. Each master agent
 * knows the data of its own tree only, so the nearest one would have them sent to its servers from another
 * tree. All masters are asked at the same time what the call would take below them, and the one whose best
 * server is expected to end first goes to the front. The choice is remembered for the next calls that take
 * the same data.
 */
#include "client/session/route_internal.h"
#include "core/choice/aggregate.h"
#include "core/choice/estimate.h"
#include "util/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_BYTES    (64 * 1024) /* fewer take no longer to move than the question takes */
#define ASK_MS         2000        /* a master that has not answered by then is not chosen */
#define ASK_SHARE      3           /* and the question takes no more than this share of the time */
#define GAIN_S         1e-3        /* the nearest master stays first unless another one is sooner by this */
#define GAIN_SHARE     0.1         /* and by this share of the whole */
#define CHOICE_OLD_S   30.0        /* data move: then all are asked again */
#define CHOICE_SLACK   2.0         /* a choice is forgotten when its master forecasts so many times as much */
#define CHOICE_SLACK_S 0.05        /* and this */

static uint64_t datum_bytes(const struct request *request)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < request->n_arguments; i++)
        if (argument_is_datum(&request->arguments[i]))
            bytes += request->arguments[i].bytes;
    return bytes;
}

static bool counts_data(const struct message *message)
{
    return message->kind == MESSAGE_SUBMIT && !*message->submit.request.server &&
           datum_bytes(&message->submit.request) >= LEAST_BYTES;
}

/* FNV-1a, with the NUL of the text. */
static uint64_t mix(uint64_t hash, const char *text)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    do
        hash = (hash ^ (unsigned char)*text) * prime;
    while (*text++);
    return hash;
}

static uint64_t key_of(const struct request *request)
{
    uint64_t key = request->digest;
    for (uint32_t i = 0; i < request->n_arguments; i++)
        if (argument_is_datum(&request->arguments[i]))
            key = mix(key, request->arguments[i].datum);
    for (uint32_t i = 0; i < request->n_excluded; i++)
        key = mix(key, request->excluded[i]);
    return key;
}

static int64_t now_ns(const struct route *route)
{
    return clock_now_ns(transport_clock(route->transport));
}

/* ---- choices that are remembered ---- */

/* With the lock held. NULL: none that still counts. */
static struct data_choice *find_choice(struct route *route, uint64_t key)
{
    const int64_t now = now_ns(route);
    for (size_t i = 0; i < MOST_DATA_CHOICES; i++) {
        struct data_choice *choice = &route->data_choices[i];
        if (choice->address[0] && choice->key == key && (double)(now - choice->at_ns) / 1e9 < CHOICE_OLD_S)
            return choice;
    }
    return NULL;
}

/* The oldest choice gives way. */
static void remember(struct route *route, uint64_t key, const char *address, double end_s)
{
    pthread_mutex_lock(&route->lock);
    struct data_choice *place = find_choice(route, key);
    for (size_t i = 0; !place && i < MOST_DATA_CHOICES; i++)
        if (!route->data_choices[i].address[0])
            place = &route->data_choices[i];
    if (!place) {
        place = &route->data_choices[0];
        for (size_t i = 1; i < MOST_DATA_CHOICES; i++)
            if (route->data_choices[i].at_ns < place->at_ns)
                place = &route->data_choices[i];
    }
    *place = (struct data_choice){.key = key, .at_ns = now_ns(route), .end_s = end_s};
    strcpy(place->address, address);
    pthread_mutex_unlock(&route->lock);
}

static bool recall(struct route *route, uint64_t key, char *address)
{
    pthread_mutex_lock(&route->lock);
    const struct data_choice *choice = find_choice(route, key);
    if (choice)
        strcpy(address, choice->address);
    pthread_mutex_unlock(&route->lock);
    return choice != NULL;
}

/* ---- the choice ---- */

static bool is_excluded(const struct request *request, const char *server)
{
    for (uint32_t i = 0; i < request->n_excluded; i++)
        if (strcmp(request->excluded[i], server) == 0)
            return true;
    return false;
}

static double candidate_s(const struct candidate *candidate)
{
    return candidate->queue_s + candidate->transfer_s + candidate->compute_s;
}

/* Of its best server; infinite: it has none for this request. */
static double soonest_s(const struct submit_reply *reply, const struct request *request)
{
    double soonest = INFINITY;
    for (uint32_t i = 0; i < reply->n_candidates; i++) {
        const struct candidate *candidate = &reply->candidates[i];
        if (!is_excluded(request, candidate->server) && candidate_s(candidate) < soonest)
            soonest = candidate_s(candidate);
    }
    return soonest;
}

/* Asks the masters for forecasts, by which nothing is placed. Returns the number of the best one. *end_s:
 * infinite when no master answered. */
static size_t find_best(struct route *route, const struct message *forecast, int64_t until_ns,
                        const struct masters *masters, double *end_s)
{
    struct route_question *questions = calloc(masters->n, sizeof *questions);
    size_t best = 0;
    *end_s = INFINITY;
    if (!questions)
        return 0;
    for (size_t i = 0; i < masters->n; i++) {
        questions[i].address = masters->addresses[i];
        questions[i].request = forecast;
        questions[i].until_ns = until_ns;
    }
    route_ask_each(route, questions, masters->n);
    for (size_t i = 0; i < masters->n; i++) {
        if (questions[i].status != ESP_OK)
            continue;
        const double one_s = soonest_s(&questions[i].reply.submit_reply, &forecast->submit.request);
        if (!isfinite(*end_s) ? one_s < *end_s : one_s + GAIN_S + GAIN_SHARE * *end_s < *end_s) {
            best = i;
            *end_s = one_s;
        }
    }
    route_questions_clear(questions, masters->n);
    return best;
}

/* Which master agent has the servers that end first; false: nobody can tell. */
static bool choose(struct route *route, const struct message *request, int64_t until_ns,
                   const struct masters *masters, char *address)
{
    struct message forecast = *request;
    struct extensions *extensions = &forecast.submit.request.extensions;
    const struct extensions all = *extensions;
    const int64_t now = now_ns(route), left_ns = (until_ns - now) / ASK_SHARE;
    const int64_t most_ns = ASK_MS * NS_PER_MS < left_ns ? ASK_MS * NS_PER_MS : left_ns;
    double end_s;
    struct extension *items = calloc(all.n + 1, sizeof *items);
    if (!items)
        return false;
    if (all.n > 0)
        memcpy(items, all.items, all.n * sizeof *items);
    items[all.n] = (struct extension){EXTENSION_FORECAST, (const uint8_t *)"", 0};
    *extensions = (struct extensions){items, all.n + 1};
    forecast.submit.time_left_ms = (uint64_t)(most_ns / NS_PER_MS);
    const size_t best = find_best(route, &forecast, now + most_ns, masters, &end_s);
    free(items);
    if (!isfinite(end_s))
        return false;
    strcpy(address, masters->addresses[best]);
    remember(route, key_of(&request->submit.request), address, end_s);
    return true;
}

void route_data_first(struct route *route, const struct message *request, int64_t until_ns,
                      struct masters *masters)
{
    char address[CAP_ADDRESS + 1];
    if (masters->n < 2 || !counts_data(request))
        return;
    if (!recall(route, key_of(&request->submit.request), address) &&
        !choose(route, request, until_ns, masters, address))
        return;
    for (size_t i = 1; i < masters->n; i++)
        if (strcmp(masters->addresses[i], address) == 0) {
            memmove(masters->addresses[1], masters->addresses[0], i * sizeof masters->addresses[0]);
            strcpy(masters->addresses[0], address);
            return;
        }
}

void route_note_data(struct route *route, const char *address, const struct message *request,
                     const struct submit_reply *reply)
{
    if (!counts_data(request))
        return;
    pthread_mutex_lock(&route->lock);
    struct data_choice *choice = find_choice(route, key_of(&request->submit.request));
    const double end_s = reply ? soonest_s(reply, &request->submit.request) : INFINITY;
    if (choice && strcmp(choice->address, address) == 0 &&
        !(end_s <= CHOICE_SLACK * choice->end_s + CHOICE_SLACK_S))
        choice->address[0] = 0;
    pthread_mutex_unlock(&route->lock);
}
