/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/star.h"
#include "util/arena.h"
#include "util/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Jobs that progress at one rate: the computations of a node, or the transfers from one node to another one.
 * `served` is what each job of the channel has got since the channel was made, so a job that began at
 * served = a and takes d ends at served = a + d, whatever the rate was meanwhile. */
struct job {
    double end;      /* of `served` */
    uint64_t number; /* in the order of beginnings */
    double duration; /* of a waiting job */
    void *ticket;
    struct job *next; /* of waiting and free ones */
};

struct channel {
    UT_hash_handle hh;
    uint64_t pair;     /* from * n_nodes + to */
    unsigned from, to; /* of a node's computations both are the node */
    bool is_transfer;
    double served, since, rate; /* served at the time `since` */
    struct job **jobs;          /* a heap by (end, number) */
    unsigned n_jobs, capacity;
    struct job *waiting, **last_waiting;
    double next;  /* when the first job ends */
    size_t place; /* in the star's heap; NOWHERE: not in it */
    /* The other active channels with this sender, and with this receiver. */
    struct channel *next_out, *previous_out, *next_in, *previous_in;
};
#define NOWHERE SIZE_MAX

struct node {
    double speed;
    struct channel computing;
    struct channel *out, *in; /* channels with transfers under way */
    unsigned n_out, n_in;     /* transfers that progress */
    struct star_use use;
    double used_since;
};

struct star {
    struct star_spec spec;
    double now;
    uint64_t n_started;
    struct node *nodes;
    struct channel *channels; /* by pair */
    struct channel **heap;    /* channels with jobs that progress, by (next, number of the first job) */
    size_t n_heap, heap_capacity;
    struct arena memory;
    struct job *free_jobs;
};

/* ---- the heap of channels ---- */

static bool sooner(const struct channel *a, const struct channel *b)
{
    if (a->next != b->next)
        return a->next < b->next;
    return a->jobs[0]->number < b->jobs[0]->number;
}

static void put(struct star *star, struct channel *channel, size_t place)
{
    star->heap[place] = channel;
    channel->place = place;
}

static void sift_up(struct star *star, struct channel *channel)
{
    size_t place = channel->place;
    while (place > 0 && sooner(channel, star->heap[(place - 1) / 2])) {
        put(star, star->heap[(place - 1) / 2], place);
        place = (place - 1) / 2;
    }
    put(star, channel, place);
}

static void sift_down(struct star *star, struct channel *channel)
{
    size_t place = channel->place;
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= star->n_heap)
            break;
        if (child + 1 < star->n_heap && sooner(star->heap[child + 1], star->heap[child]))
            child++;
        if (!sooner(star->heap[child], channel))
            break;
        put(star, star->heap[child], place);
        place = child;
    }
    put(star, channel, place);
}

static void remove_channel(struct star *star, struct channel *channel)
{
    size_t place = channel->place;
    if (place == NOWHERE)
        return;
    channel->place = NOWHERE;
    struct channel *last = star->heap[--star->n_heap];
    if (last == channel)
        return;
    put(star, last, place);
    sift_up(star, last);
    sift_down(star, last);
}

static void place_channel(struct star *star, struct channel *channel)
{
    if (channel->n_jobs == 0 || !(channel->rate > 0)) {
        remove_channel(star, channel);
        return;
    }
    if (channel->place == NOWHERE)
        put(star, channel, star->n_heap++);
    sift_up(star, channel);
    sift_down(star, channel);
}

/* ---- the jobs of a channel ---- */

static bool job_sooner(const struct job *a, const struct job *b)
{
    return a->end != b->end ? a->end < b->end : a->number < b->number;
}

static bool push_job(struct channel *channel, struct job *job)
{
    if (channel->n_jobs == channel->capacity) {
        unsigned capacity = channel->capacity ? 2 * channel->capacity : 4;
        struct job **moved = realloc(channel->jobs, capacity * sizeof *moved);
        if (!moved)
            return false;
        channel->jobs = moved;
        channel->capacity = capacity;
    }
    unsigned place = channel->n_jobs++;
    while (place > 0 && job_sooner(job, channel->jobs[(place - 1) / 2])) {
        channel->jobs[place] = channel->jobs[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    channel->jobs[place] = job;
    return true;
}

static struct job *pop_job(struct channel *channel)
{
    struct job *first = channel->jobs[0], *last = channel->jobs[--channel->n_jobs];
    unsigned place = 0;
    for (;;) {
        unsigned child = 2 * place + 1;
        if (child >= channel->n_jobs)
            break;
        if (child + 1 < channel->n_jobs && job_sooner(channel->jobs[child + 1], channel->jobs[child]))
            child++;
        if (!job_sooner(channel->jobs[child], last))
            break;
        channel->jobs[place] = channel->jobs[child];
        place = child;
    }
    if (channel->n_jobs)
        channel->jobs[place] = last;
    return first;
}

static struct job *new_job(struct star *star, double duration, void *ticket)
{
    struct job *job = star->free_jobs;
    if (job)
        star->free_jobs = job->next;
    else
        job = arena_alloc(&star->memory, sizeof *job);
    if (job)
        *job = (struct job){.number = star->n_started++, .duration = duration, .ticket = ticket};
    return job;
}

/* ---- rates ---- */

static double share(const struct star_shares *shares, unsigned n)
{
    if (n == 0 || shares->n == 0)
        return 0;
    return shares->of[n < shares->n ? n - 1 : shares->n - 1];
}

static double communication(const struct star *star, const struct node *node)
{
    double used = share(&star->spec.send, node->n_out) + share(&star->spec.receive, node->n_in);
    return used < 1 ? used : 1;
}

static void serve(const struct star *star, struct channel *channel)
{
    channel->served += channel->rate * (star->now - channel->since);
    channel->since = star->now;
}

static void set_rate(struct star *star, struct channel *channel, double rate)
{
    serve(star, channel);
    channel->rate = rate;
    if (channel->n_jobs == 0) {
        channel->served = 0; /* keeps the numbers small, so that little is lost in sums */
    } else {
        double left = channel->jobs[0]->end - channel->served;
        channel->next = star->now + (left > 0 ? left / rate : 0);
    }
    place_channel(star, channel);
}

/* Adds up what the node did since the last change; called before each change. */
static void account(struct star *star, struct node *node)
{
    double elapsed = star->now - node->used_since;
    node->used_since = star->now;
    if (!(elapsed > 0))
        return;
    double used = communication(star, node);
    node->use.communicating_s += used * elapsed;
    if (node->computing.n_jobs)
        node->use.computing_s += (1 - used) * elapsed;
    if (node->n_out)
        node->use.sending_s += elapsed;
    if (node->n_in)
        node->use.receiving_s += elapsed;
}

static void set_computing_rate(struct star *star, struct node *node)
{
    double left = 1 - communication(star, node);
    set_rate(star, &node->computing,
             node->computing.n_jobs ? node->speed * left / node->computing.n_jobs : 0);
}

static void set_transfer_rate(struct star *star, struct channel *channel)
{
    unsigned out = star->nodes[channel->from].n_out, in = star->nodes[channel->to].n_in;
    set_rate(star, channel, 1.0 / (out > in ? out : in));
}

static void set_rates_out(struct star *star, struct node *node)
{
    for (struct channel *channel = node->out; channel; channel = channel->next_out)
        set_transfer_rate(star, channel);
}

static void set_rates_in(struct star *star, struct node *node)
{
    for (struct channel *channel = node->in; channel; channel = channel->next_in)
        set_transfer_rate(star, channel);
}

/* After the number of transfers of a channel has changed. */
static void share_again(struct star *star, struct channel *channel)
{
    struct node *from = &star->nodes[channel->from], *to = &star->nodes[channel->to];
    set_rates_out(star, from);
    set_rates_in(star, to);
    set_computing_rate(star, from);
    set_computing_rate(star, to);
}

/* ---- channels ---- */

static void link_channel(struct star *star, struct channel *channel)
{
    struct node *from = &star->nodes[channel->from], *to = &star->nodes[channel->to];
    channel->previous_out = channel->previous_in = NULL;
    channel->next_out = from->out;
    if (from->out)
        from->out->previous_out = channel;
    from->out = channel;
    channel->next_in = to->in;
    if (to->in)
        to->in->previous_in = channel;
    to->in = channel;
}

static void unlink_channel(struct star *star, struct channel *channel)
{
    struct node *from = &star->nodes[channel->from], *to = &star->nodes[channel->to];
    if (channel->previous_out)
        channel->previous_out->next_out = channel->next_out;
    else
        from->out = channel->next_out;
    if (channel->next_out)
        channel->next_out->previous_out = channel->previous_out;
    if (channel->previous_in)
        channel->previous_in->next_in = channel->next_in;
    else
        to->in = channel->next_in;
    if (channel->next_in)
        channel->next_in->previous_in = channel->previous_in;
}

static void open_channel(struct channel *channel, unsigned from, unsigned to, bool is_transfer)
{
    channel->from = from;
    channel->to = to;
    channel->is_transfer = is_transfer;
    channel->last_waiting = &channel->waiting;
    channel->place = NOWHERE;
}

static bool reserve_heap(struct star *star, size_t n)
{
    if (n <= star->heap_capacity)
        return true;
    size_t capacity = 2 * n;
    struct channel **moved = realloc(star->heap, capacity * sizeof *moved);
    if (!moved)
        return false;
    star->heap = moved;
    star->heap_capacity = capacity;
    return true;
}

static struct channel *find_channel(struct star *star, unsigned from, unsigned to)
{
    uint64_t pair = (uint64_t)from * star->spec.n_nodes + to;
    struct channel *channel = NULL;
    HASH_FIND(hh, star->channels, &pair, sizeof pair, channel);
    if (channel)
        return channel;
    if (!reserve_heap(star, star->spec.n_nodes + HASH_COUNT(star->channels) + 1) ||
        !(channel = arena_alloc(&star->memory, sizeof *channel)))
        return NULL;
    open_channel(channel, from, to, true);
    channel->pair = pair;
    channel->since = star->now;
    HASH_ADD(hh, star->channels, pair, sizeof pair, channel);
    return channel->hh.tbl ? channel : NULL;
}

static bool begin_transfer(struct star *star, struct channel *channel, struct job *job)
{
    struct node *from = &star->nodes[channel->from], *to = &star->nodes[channel->to];
    account(star, from);
    account(star, to);
    serve(star, channel);
    job->end = channel->served + job->duration;
    if (!push_job(channel, job))
        return false;
    if (channel->n_jobs == 1)
        link_channel(star, channel);
    from->n_out++;
    to->n_in++;
    share_again(star, channel);
    return true;
}

bool star_transfer(struct star *star, unsigned from, unsigned to, uint64_t bytes, void *ticket)
{
    struct channel *channel = find_channel(star, from, to);
    struct job *job = new_job(star, star->spec.latency_s + (double)bytes / star->spec.bandwidth_Bps, ticket);
    if (!channel || !job)
        return false;
    if (star->spec.channel && channel->n_jobs >= star->spec.channel) {
        *channel->last_waiting = job;
        channel->last_waiting = &job->next;
        return true;
    }
    return begin_transfer(star, channel, job);
}

bool star_compute(struct star *star, unsigned index, double seconds, void *ticket)
{
    struct node *node = &star->nodes[index];
    struct job *job = new_job(star, seconds, ticket);
    if (!job)
        return false;
    account(star, node);
    serve(star, &node->computing);
    job->end = node->computing.served + seconds;
    if (!push_job(&node->computing, job))
        return false;
    set_computing_rate(star, node);
    return true;
}

static void end_transfer(struct star *star, struct channel *channel)
{
    struct node *from = &star->nodes[channel->from], *to = &star->nodes[channel->to];
    from->n_out--;
    to->n_in--;
    struct job *job = channel->waiting;
    if (job) {
        channel->waiting = job->next;
        if (!channel->waiting)
            channel->last_waiting = &channel->waiting;
        job->next = NULL;
        job->end = channel->served + job->duration;
        push_job(channel, job); /* there is room, as a job has just left */
        from->n_out++;
        to->n_in++;
    } else if (channel->n_jobs == 0) {
        unlink_channel(star, channel);
        set_rate(star, channel, 0);
    }
    share_again(star, channel);
}

bool star_next(struct star *star, void **ticket, bool *is_transfer)
{
    if (star->n_heap == 0)
        return false;
    struct channel *channel = star->heap[0];
    if (channel->next > star->now)
        star->now = channel->next;
    account(star, &star->nodes[channel->from]);
    account(star, &star->nodes[channel->to]);
    remove_channel(star, channel);
    struct job *job = pop_job(channel);
    channel->served = job->end; /* exactly, so that rounding never leaves a rest */
    channel->since = star->now;
    *ticket = job->ticket;
    *is_transfer = channel->is_transfer;
    if (channel->is_transfer)
        end_transfer(star, channel);
    else
        set_computing_rate(star, &star->nodes[channel->from]);
    job->next = star->free_jobs;
    star->free_jobs = job;
    return true;
}

/* ---- the whole ---- */

static enum esp_status check_shares(const struct star_shares *shares, const char *what,
                                    struct esp_error *error)
{
    if (shares->n > STAR_MOST_SHARES)
        return error_set(error, ESP_LIMIT, "%s: expected at most %d numbers, found %u", what,
                         STAR_MOST_SHARES, shares->n);
    for (unsigned i = 0; i < shares->n; i++)
        if (!(shares->of[i] >= 0 && shares->of[i] <= 1))
            return error_set(error, ESP_INVALID,
                             "%s: the part of a processor that %u transfers use: expected 0 to 1, found %g",
                             what, i + 1, shares->of[i]);
    return ESP_OK;
}

static enum esp_status check(const struct star_spec *spec, struct esp_error *error)
{
    if (spec->n_nodes == 0)
        return error_set(error, ESP_INVALID, "expected a platform of at least one node, found none");
    if (!(spec->latency_s >= 0) || isinf(spec->latency_s))
        return error_set(error, ESP_INVALID, "latency: expected seconds >= 0, found %g", spec->latency_s);
    if (!(spec->bandwidth_Bps > 0))
        return error_set(error, ESP_INVALID, "bandwidth: expected bytes per second > 0, found %g",
                         spec->bandwidth_Bps);
    for (unsigned i = 0; spec->speeds && i < spec->n_nodes; i++)
        if (!(spec->speeds[i] > 0) || isinf(spec->speeds[i]))
            return error_set(error, ESP_INVALID, "speed of node %u: expected a number > 0, found %g", i,
                             spec->speeds[i]);
    enum esp_status status = check_shares(&spec->send, "send", error);
    return status == ESP_OK ? check_shares(&spec->receive, "receive", error) : status;
}

enum esp_status star_create(const struct star_spec *spec, struct star **star, struct esp_error *error)
{
    *star = NULL;
    enum esp_status status = check(spec, error);
    if (status != ESP_OK)
        return status;
    struct star *made = calloc(1, sizeof *made);
    if (!made || !(made->nodes = calloc(spec->n_nodes, sizeof *made->nodes)) ||
        !reserve_heap(made, spec->n_nodes)) {
        star_destroy(made);
        return error_no_memory(error, "a simulated platform");
    }
    made->spec = *spec;
    made->spec.speeds = NULL;
    for (unsigned i = 0; i < spec->n_nodes; i++) {
        made->nodes[i].speed = spec->speeds ? spec->speeds[i] : 1;
        open_channel(&made->nodes[i].computing, i, i, false);
    }
    *star = made;
    return ESP_OK;
}

void star_destroy(struct star *star)
{
    if (!star)
        return;
    struct channel *channel, *next;
    HASH_ITER(hh, star->channels, channel, next)
    {
        HASH_DEL(star->channels, channel);
        free(channel->jobs);
    }
    for (unsigned i = 0; star->nodes && i < star->spec.n_nodes; i++)
        free(star->nodes[i].computing.jobs);
    free(star->nodes);
    free(star->heap);
    arena_clear(&star->memory);
    free(star);
}

double star_now(const struct star *star)
{
    return star->now;
}

void star_use(struct star *star, unsigned node, struct star_use *use)
{
    account(star, &star->nodes[node]);
    *use = star->nodes[node].use;
}
