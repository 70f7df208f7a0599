/* SPDX-License-Identifier: Apache-2.0
 *
 * The in-process network: endpoints, faults, time.
 */
#include "core/inproc/inproc_net.h"

#include <stdlib.h>
#include <string.h>

struct inproc *inproc_of(const struct inproc_endpoint *endpoint)
{
    return (struct inproc *)endpoint->endpoint.transport;
}

struct inproc_endpoint *inproc_find(const struct inproc *net, const char *address)
{
    struct inproc_endpoint *endpoint;
    HASH_FIND_STR(net->by_address, address, endpoint);
    return endpoint;
}

int64_t inproc_arrival_ns(struct inproc *net)
{
    int64_t jitter = net->faults.jitter_ns;
    int64_t extra = jitter > 0 ? (int64_t)random_below(&net->random, (uint64_t)jitter + 1) : 0;
    return net->clock.time_ns + net->faults.latency_ns + extra;
}

bool inproc_draw(struct inproc *net, double probability)
{
    return probability > 0 && random_real(&net->random) < probability;
}

/* ---- partitions ---- */

static size_t cut_key(const char *a, const char *b, char *key)
{
    if (strcmp(a, b) > 0)
        return cut_key(b, a, key);
    size_t n = strlen(a) + 1, m = strlen(b) + 1;
    memcpy(key, a, n);
    memcpy(key + n, b, m);
    return n + m;
}

bool inproc_is_cut(const struct inproc *net, const char *a, const char *b)
{
    char key[2 * (CAP_ADDRESS + 1)];
    if (!net->cuts)
        return false;
    struct inproc_cut *cut;
    size_t length = cut_key(a, b, key);
    HASH_FIND(hh, net->cuts, key, length, cut);
    return cut != NULL;
}

void inproc_partition(struct transport *transport, const char *a, const char *b, bool cut)
{
    struct inproc *net = (struct inproc *)transport;
    size_t length = strlen(a) + strlen(b) + 2;
    struct inproc_cut *fresh = malloc(sizeof *fresh + length), *known;
    if (!fresh)
        return;
    cut_key(a, b, fresh->key);
    HASH_FIND(hh, net->cuts, fresh->key, length, known);
    if (known) {
        free(fresh);
        if (!cut) {
            HASH_DEL(net->cuts, known);
            free(known);
        }
    } else if (cut) {
        HASH_ADD(hh, net->cuts, key, length, fresh);
    } else {
        free(fresh);
    }
}

/* ---- operations ---- */

static void empty_outbox(struct inproc_endpoint *endpoint, bool send)
{
    HASH_CLEAR(hh, endpoint->outbox_by_address);
    struct parcel *parcel, *next;
    DL_FOREACH_SAFE(endpoint->outbox, parcel, next)
    {
        DL_DELETE(endpoint->outbox, parcel);
        if (send)
            parcel_send(inproc_of(endpoint), parcel);
        else
            parcel_free(parcel);
    }
}

/* Moves the tick's timer only to an earlier time: when it fires too early, the next time is asked again.
 * Most operations then leave the heap unchanged. */
static void plan_tick(struct inproc_endpoint *endpoint)
{
    struct inproc *net = inproc_of(endpoint);
    int64_t due = endpoint->ops->due ? endpoint->ops->due(endpoint->self) : CLOCK_NEVER;
    if (due == CLOCK_NEVER || (timer_is_set(&endpoint->tick) && endpoint->tick.due_ns <= due))
        return;
    int64_t now = net->clock.time_ns;
    timers_set(&net->timers, &endpoint->tick, due > now ? due : now, NULL);
}

void inproc_begin(struct inproc_endpoint *endpoint)
{
    endpoint->inside++;
}

void inproc_end(struct inproc_endpoint *endpoint)
{
    if (--endpoint->inside > 0)
        return;
    empty_outbox(endpoint, endpoint->alive);
    if (endpoint->alive)
        plan_tick(endpoint);
}

static void tick_due(struct timer *timer, int64_t now_ns, void *context)
{
    (void)context;
    struct inproc_endpoint *endpoint =
        (struct inproc_endpoint *)((char *)timer - offsetof(struct inproc_endpoint, tick));
    if (endpoint->ops->due(endpoint->self) > now_ns) {
        plan_tick(endpoint);
        return;
    }
    inproc_begin(endpoint);
    if (endpoint->ops->tick)
        endpoint->ops->tick(endpoint->self);
    inproc_end(endpoint);
}

/* ---- endpoints ---- */

static void inproc_enter(struct endpoint *endpoint)
{
    inproc_begin((struct inproc_endpoint *)endpoint);
}

static void inproc_leave(struct endpoint *endpoint)
{
    inproc_end((struct inproc_endpoint *)endpoint);
}

static const char *inproc_address(const struct endpoint *endpoint)
{
    return ((const struct inproc_endpoint *)endpoint)->address;
}

static void endpoint_free(struct inproc_endpoint *endpoint)
{
    struct inproc *net = inproc_of(endpoint);
    inproc_close_lines(endpoint, false);
    empty_outbox(endpoint, false);
    timers_cancel(&net->timers, &endpoint->tick);
    DL_DELETE(net->endpoints, endpoint);
    free(endpoint->name);
    free(endpoint->address);
    free(endpoint);
}

/* Returns the name, unless `listen` asks for another address, so that a test can have two nodes of one
 * name. */
static const char *wanted_address(const struct endpoint_options *options)
{
    const char *listen = options->listen;
    size_t length = strlen(INPROC_LISTEN);
    return listen && strncmp(listen, INPROC_LISTEN, length) == 0 ? listen + length : options->name;
}

static enum esp_status inproc_serve(struct transport *transport, const struct endpoint_options *options,
                                    const struct endpoint_ops *ops, void *self, struct endpoint **result,
                                    struct esp_error *error)
{
    struct inproc *net = (struct inproc *)transport;
    if (!options->name || !*options->name || strlen(options->name) > CAP_ADDRESS)
        return error_set(error, ESP_INVALID, "an endpoint needs a name of 1 to %d bytes", CAP_ADDRESS);
    const char *address = wanted_address(options);
    if (inproc_find(net, address))
        return error_set(error, ESP_SYSTEM, "cannot serve %s: the address is in use", address);
    struct inproc_endpoint *endpoint = calloc(1, sizeof *endpoint);
    if (!endpoint || !(endpoint->address = strdup(address)) || !(endpoint->name = strdup(options->name))) {
        if (endpoint)
            free(endpoint->address);
        free(endpoint);
        return error_no_memory(error, "an endpoint");
    }
    endpoint->endpoint.transport = transport;
    endpoint->id = ++net->last_id;
    endpoint->incarnation = options->incarnation;
    endpoint->ops = ops;
    endpoint->self = self;
    endpoint->alive = true;
    endpoint->tick.fire = tick_due;
    endpoint->tick.context = net;
    DL_APPEND(net->endpoints, endpoint);
    HASH_ADD_KEYPTR(hh, net->by_address, endpoint->address, strlen(endpoint->address), endpoint);
    *result = &endpoint->endpoint;
    plan_tick(endpoint);
    return ESP_OK;
}

static void retire(struct inproc_endpoint *endpoint)
{
    struct inproc *net = inproc_of(endpoint);
    endpoint->alive = false;
    HASH_DEL(net->by_address, endpoint);
    timers_cancel(&net->timers, &endpoint->tick);
}

void inproc_kill(struct transport *transport, const char *address)
{
    struct inproc_endpoint *endpoint = inproc_find((struct inproc *)transport, address);
    if (!endpoint)
        return;
    retire(endpoint);
    empty_outbox(endpoint, false);
    inproc_close_lines(endpoint, true);
    inproc_calls_lost(endpoint);
}

void inproc_hang_up(struct transport *transport, const char *address)
{
    struct inproc_endpoint *endpoint = inproc_find((struct inproc *)transport, address);
    if (endpoint)
        inproc_close_lines(endpoint, true);
}

static void inproc_close(struct endpoint *base)
{
    struct inproc_endpoint *endpoint = (struct inproc_endpoint *)base;
    inproc_calls_close(endpoint);
    if (endpoint->alive) {
        empty_outbox(endpoint, true);
        retire(endpoint);
        inproc_close_lines(endpoint, true);
    }
    endpoint_free(endpoint);
}

/* ---- time ---- */

bool inproc_step(struct inproc *net, int64_t until_ns)
{
    if (timers_next_ns(&net->timers) > until_ns || net->timers.n == 0)
        return false;
    struct timer *timer = net->timers.heap[0];
    timers_cancel(&net->timers, timer);
    if (timer->due_ns > net->clock.time_ns)
        net->clock.time_ns = timer->due_ns;
    timer->fire(timer, net->clock.time_ns, timer->context);
    return true;
}

static uint64_t run(struct inproc *net, int64_t until_ns, uint64_t max_events)
{
    uint64_t n = 0;
    bool nested = net->running;
    net->running = true;
    while (n < max_events && inproc_step(net, until_ns))
        n++;
    net->running = nested;
    return n;
}

uint64_t inproc_run(struct transport *transport, int64_t until_ns)
{
    struct inproc *net = (struct inproc *)transport;
    uint64_t n = run(net, until_ns, UINT64_MAX);
    if (until_ns != CLOCK_NEVER && net->clock.time_ns < until_ns)
        net->clock.time_ns = until_ns;
    return n;
}

uint64_t inproc_run_events(struct transport *transport, uint64_t max_events)
{
    return run((struct inproc *)transport, CLOCK_NEVER, max_events);
}

int64_t inproc_now_ns(const struct transport *transport)
{
    return ((const struct inproc *)transport)->clock.time_ns;
}

void inproc_set_faults(struct transport *transport, const struct inproc_faults *faults)
{
    ((struct inproc *)transport)->faults = *faults;
}

void inproc_counters(const struct transport *transport, struct inproc_counters *counters)
{
    *counters = ((const struct inproc *)transport)->counters;
}

/* In this transport only the queue itself waits for calls. */
static void inproc_set_help(struct call *call, bool (*help)(void *arg, int64_t until_ns), void *arg)
{
    (void)call, (void)help, (void)arg;
}

static void inproc_destroy(struct transport *transport)
{
    struct inproc *net = (struct inproc *)transport;
    inproc_calls_clear(net);
    struct parcel *parcel, *next_parcel;
    DL_FOREACH_SAFE(net->parcels, parcel, next_parcel)
    parcel_end(net, parcel);
    HASH_CLEAR(hh, net->by_address);
    struct inproc_endpoint *endpoint, *next_endpoint;
    DL_FOREACH_SAFE(net->endpoints, endpoint, next_endpoint)
    endpoint_free(endpoint);
    struct inproc_cut *cut, *next_cut;
    HASH_ITER(hh, net->cuts, cut, next_cut)
    {
        HASH_DEL(net->cuts, cut);
        free(cut);
    }
    timers_clear(&net->timers);
    free(net);
}

enum esp_status inproc_create(uint64_t seed, struct transport **transport, struct esp_error *error)
{
    static const struct transport_ops ops = {
        .serve = inproc_serve,
        .close = inproc_close,
        .address = inproc_address,
        .post = inproc_post,
        .enter = inproc_enter,
        .leave = inproc_leave,
        .reply = inproc_reply,
        .envelope = inproc_call_envelope,
        .set_help = inproc_set_help,
        .call = inproc_call,
        .put = inproc_put,
        .get = inproc_get,
        .destroy = inproc_destroy,
    };
    struct inproc *net = calloc(1, sizeof *net);
    if (!net)
        return error_no_memory(error, "the in-process transport");
    manual_clock_init(&net->clock, NS_PER_S);
    random_seed(&net->random, seed);
    net->transport.ops = &ops;
    net->transport.clock = &net->clock.clock;
    *transport = &net->transport;
    return ESP_OK;
}
