/* SPDX-License-Identifier: Apache-2.0
 *
 * The in-process network: endpoints, one-way parcels between them, faults, time.
 */
#include "core/inproc_net.h"

#include <stdlib.h>
#include <string.h>

/* One post under way (or, after a failed delivery, the news of it on its way back). */
struct parcel {
    struct batch batch;
    struct timer timer;
    char *from, *to;
    uint64_t from_id;
    struct parcel *prev, *next; /* in the sender's outbox, then among those under way */
    UT_hash_handle hh;          /* in the sender's outbox_by_address */
};

static struct inproc *net_of(const struct inproc_endpoint *endpoint)
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

/* ---- parcels ---- */

static void parcel_free(struct parcel *parcel)
{
    batch_release(&parcel->batch);
    free(parcel->from);
    free(parcel->to);
    free(parcel);
}

/* The parcel was on its way; it has come to its end. */
static void parcel_end(struct inproc *net, struct parcel *parcel)
{
    timers_cancel(&net->timers, &parcel->timer);
    DL_DELETE(net->parcels, parcel);
    parcel_free(parcel);
}

static void parcel_came_back(struct timer *timer, int64_t now_ns, void *context)
{
    (void)now_ns;
    struct inproc *net = context;
    struct parcel *parcel = (struct parcel *)((char *)timer - offsetof(struct parcel, timer));
    struct inproc_endpoint *sender = inproc_find(net, parcel->from);
    if (sender && sender->id == parcel->from_id && sender->ops->undelivered) {
        inproc_begin(sender);
        sender->ops->undelivered(sender->self, parcel->to, ESP_UNREACHABLE);
        inproc_end(sender);
    }
    parcel_end(net, parcel);
}

static void parcel_read(struct inproc_endpoint *target, struct parcel *parcel)
{
    struct post post;
    struct memory_wire memory;
    memory_wire_decoder(&memory, parcel->batch.memory.data, parcel->batch.memory.size, NULL);
    bool stale = parcel->batch.to_incarnation && parcel->batch.to_incarnation != target->incarnation;
    if (!stale && target->ops->post && wire_post(&memory.wire, &post)) {
        post.envelope.peer = parcel->from;
        post.envelope.identity = "";
        inproc_begin(target);
        for (struct post_item *item = post.items; item && target->alive; item = item->next)
            target->ops->post(target->self, &post.envelope, &item->message);
        inproc_end(target);
        post_clear(&post);
    }
}

static void parcel_arrived(struct timer *timer, int64_t now_ns, void *context)
{
    (void)now_ns;
    struct inproc *net = context;
    struct parcel *parcel = (struct parcel *)((char *)timer - offsetof(struct parcel, timer));
    struct inproc_endpoint *target = inproc_find(net, parcel->to);
    if (!inproc_is_cut(net, parcel->from, parcel->to)) {
        if (!target) {
            parcel->timer.fire = parcel_came_back;
            if (timers_set(&net->timers, &parcel->timer, inproc_arrival_ns(net), NULL) == ESP_OK)
                return;
        } else {
            parcel_read(target, parcel);
        }
    } else {
        net->counters.lost++;
    }
    parcel_end(net, parcel);
}

static bool parcel_launch(struct inproc *net, struct parcel *parcel)
{
    parcel->timer.fire = parcel_arrived;
    parcel->timer.context = net;
    if (timers_set(&net->timers, &parcel->timer, inproc_arrival_ns(net), NULL) != ESP_OK) {
        parcel_free(parcel);
        return false;
    }
    DL_APPEND(net->parcels, parcel);
    return true;
}

static struct parcel *parcel_copy(const struct parcel *parcel)
{
    struct parcel *copy = calloc(1, sizeof *copy);
    if (!copy)
        return NULL;
    copy->from_id = parcel->from_id;
    copy->batch.to_incarnation = parcel->batch.to_incarnation;
    copy->from = strdup(parcel->from);
    copy->to = strdup(parcel->to);
    memory_wire_encoder(&copy->batch.memory, parcel->batch.memory.size);
    bool copied = copy->from && copy->to &&
                  copy->batch.memory.wire.ops->move(&copy->batch.memory.wire, parcel->batch.memory.data, 1,
                                                    parcel->batch.memory.size);
    if (!copied) {
        parcel_free(copy);
        return NULL;
    }
    return copy;
}

static void parcel_send(struct inproc *net, struct parcel *parcel)
{
    net->counters.posts++;
    net->counters.messages += parcel->batch.count;
    net->counters.bytes += parcel->batch.memory.size;
    if (inproc_is_cut(net, parcel->from, parcel->to) || inproc_draw(net, net->faults.lose)) {
        net->counters.lost++;
        parcel_free(parcel);
        return;
    }
    struct parcel *twin = inproc_draw(net, net->faults.duplicate) ? parcel_copy(parcel) : NULL;
    parcel_launch(net, parcel);
    if (twin && parcel_launch(net, twin))
        net->counters.duplicated++;
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
            parcel_send(net_of(endpoint), parcel);
        else
            parcel_free(parcel);
    }
}

/* The tick's timer is moved only to an earlier time: one that fires too early looks again. Most operations
 * then leave the heap alone. */
static void plan_tick(struct inproc_endpoint *endpoint)
{
    struct inproc *net = net_of(endpoint);
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
    struct inproc *net = net_of(endpoint);
    empty_outbox(endpoint, false);
    timers_cancel(&net->timers, &endpoint->tick);
    DL_DELETE(net->endpoints, endpoint);
    free(endpoint->name);
    free(endpoint->address);
    free(endpoint);
}

/* The name, unless `listen` asks for another one, so that a test can have two nodes of one name. */
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
    struct inproc *net = net_of(endpoint);
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
    inproc_calls_lost(endpoint);
}

static void inproc_close(struct endpoint *base)
{
    struct inproc_endpoint *endpoint = (struct inproc_endpoint *)base;
    inproc_calls_close(endpoint);
    if (endpoint->alive) {
        empty_outbox(endpoint, true);
        retire(endpoint);
    }
    endpoint_free(endpoint);
}

static struct parcel *open_parcel(struct inproc_endpoint *endpoint, const char *address,
                                  uint64_t to_incarnation, struct esp_error *error)
{
    struct parcel *parcel = calloc(1, sizeof *parcel);
    struct envelope envelope = {endpoint->name, endpoint->incarnation, to_incarnation, "", ""};
    if (!parcel || !(parcel->to = strdup(address)) || !(parcel->from = strdup(endpoint->address)) ||
        batch_begin(&parcel->batch, &envelope, MESSAGE_BYTES, NULL) != ESP_OK) {
        if (parcel)
            parcel_free(parcel);
        error_no_memory(error, "a post");
        return NULL;
    }
    parcel->from_id = endpoint->id;
    return parcel;
}

/* Makes it the parcel that takes what is posted to its address from now on. */
static void put_in_outbox(struct inproc_endpoint *endpoint, struct parcel *parcel, struct parcel *older)
{
    if (older)
        HASH_DEL(endpoint->outbox_by_address, older);
    HASH_ADD_KEYPTR(hh, endpoint->outbox_by_address, parcel->to, strlen(parcel->to), parcel);
    DL_APPEND(endpoint->outbox, parcel);
}

static enum esp_status inproc_post(struct endpoint *base, const char *address, uint64_t to_incarnation,
                                   const struct message *message, struct esp_error *error)
{
    struct inproc_endpoint *endpoint = (struct inproc_endpoint *)base;
    if (!endpoint->alive)
        return ESP_OK; /* a dead process's messages go nowhere */
    if (!endpoint->inside)
        return error_set(error, ESP_INTERNAL, "%s posts a %s outside of its operations and without entering",
                         endpoint->address, message_name(message->kind));
    if (strlen(address) > CAP_ADDRESS)
        return error_set(error, ESP_INVALID, "an address has at most %d bytes", CAP_ADDRESS);
    struct parcel *parcel;
    HASH_FIND_STR(endpoint->outbox_by_address, address, parcel);
    if (parcel && parcel->batch.to_incarnation == to_incarnation) {
        enum esp_status status = batch_add(&parcel->batch, message, error);
        if (status != ESP_LIMIT)
            return status;
    }
    /* The first one, one for another incarnation, or one that does not fit into the same post any more. */
    struct parcel *fresh = open_parcel(endpoint, address, to_incarnation, error);
    if (!fresh)
        return ESP_NO_MEMORY;
    enum esp_status status = batch_add(&fresh->batch, message, error);
    if (status == ESP_OK)
        put_in_outbox(endpoint, fresh, parcel);
    else
        parcel_free(fresh);
    return status;
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

/* In this transport nobody waits for a call but the queue itself. */
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
