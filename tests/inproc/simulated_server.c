/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/inproc/simulated_server.h"

#include "core/choice/aggregate.h"
#include "core/choice/estimate.h"
#include "core/forecast/told_links.h"
#include "core/hierarchy/location.h"
#include "core/hierarchy/membership.h"
#include "core/problem/problem.h"
#include "core/choice/terms.h"
#include "util/random.h"
#include "util/timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum stage { ARRIVING, QUEUED, RUNNING, LEAVING };

struct job {
    struct simulated_server *server;
    struct call *call;
    uint64_t sequence, bytes_in, bytes_out;
    enum stage stage;
    double takes_s;
    int64_t start_ns, end_ns;
    struct timer timer;
    struct job *prev, *next;
};

/* A placement whose call has not arrived. */
struct promise {
    uint64_t master, number;
    double seconds;
    int64_t expires_ns;
    struct promise *prev, *next;
};

struct simulated_server {
    struct simulated_options options;
    char *name;
    char **problems;
    char **holds;
    char *signature;
    uint64_t catalog;
    struct transport *transport;
    struct endpoint *endpoint;
    struct membership *membership;
    struct location *location; /* of what it holds, as far as that has identities */
    uint32_t here;
    char why[256];     /* it is not below a parent */
    uint32_t tellings; /* of why */
    struct job *jobs;  /* as they came */
    uint32_t running;
    int64_t in_free_ns, out_free_ns; /* its link, each way: one transfer after the other */
    uint32_t n_jobs;
    struct promise *promises;
    struct placement_mark marks[16];
    uint32_t n_marks;
    struct timers timers;
    struct random random;
    bool draining, returns, mute;
    uint64_t expected_ms;
    const char *disabled; /* to be told with the next report, as much as this: */
    uint32_t disabled_length;
    uint64_t asks, completed;
};

/* ---- problems ---- */

void simulated_text(const char *problem, const char *signature, char *text, size_t size)
{
    snprintf(text, size,
             "problem %s \"Simulated%s\"\n    gams    Z\n    in      int     n\n    inout   double  A[n]\n",
             problem, signature ? signature : "");
}

uint64_t simulated_digest(const char *problem, const char *signature)
{
    char text[512];
    simulated_text(problem, signature, text, sizeof text);
    return digest_text(text, strlen(text));
}

static void set_catalog(struct simulated_server *s)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < s->options.n_problems; i++)
        digest = digest * UINT64_C(1099511628211) + simulated_digest(s->problems[i], s->signature);
    s->catalog = digest;
}

static bool solves(const struct simulated_server *s, uint64_t digest)
{
    for (size_t i = 0; i < s->options.n_problems; i++)
        if (simulated_digest(s->problems[i], s->signature) == digest)
            return true;
    return false;
}

/* ---- load ---- */

static int64_t now(const struct simulated_server *s)
{
    return clock_now_ns(transport_clock(s->transport));
}

static void drop_promise(struct simulated_server *s, struct promise *promise)
{
    DL_DELETE(s->promises, promise);
    free(promise);
}

/* The queue as others should see it: what has arrived, and what has been promised. */
static void promised_load(struct simulated_server *s, struct load *load)
{
    double *free_in_s = calloc(s->options.slots + 1, sizeof *free_in_s);
    const struct job *job;
    uint32_t n = 0;
    DL_FOREACH(s->jobs, job)
    if (job->stage == RUNNING)
        free_in_s[n++] = (double)(job->end_ns - now(s)) / 1e9;
    load_init(load, s->options.slots, now(s));
    load_set(load, free_in_s, s->options.slots, now(s));
    free(free_in_s);
    DL_FOREACH(s->jobs, job)
    if (job->stage < RUNNING)
        load_place(load, job->takes_s, now(s));
    for (const struct promise *promise = s->promises; promise; promise = promise->next)
        load_place(load, promise->seconds, now(s));
}

/* Counts the missing bytes of its sessions' arguments, as a real server does. */
static uint64_t incoming_bytes(const struct simulated_server *s)
{
    const struct path *link = &s->options.link;
    const int64_t left_ns = s->in_free_ns - now(s);
    return left_ns > 0 && link->bandwidth_bps > 0 ? (uint64_t)((double)left_ns / 1e9 * link->bandwidth_bps)
                                                  : 0;
}

/* A model that tells nothing but what the routine takes. */
static void tell_model(const struct simulated_server *s, struct arena *arena, struct node_record *record)
{
    struct cost_term time = {1e-3, {0}}, memory = {s->options.routine_bytes, {0}};
    struct cost_piece pieces[] = {{.until = HUGE_VAL, .n_terms = 1, .terms = &time},
                                  {.until = HUGE_VAL, .n_terms = 1, .terms = &memory}};
    const struct cost_model model = {
        .digest = simulated_digest(s->options.problems[0], s->options.signature),
        .threads = 1,
        .n_variables = 1,
        .variables = {{.argument = COST_BYTES, .name = "bytes", .most = 1e18}},
        .time = {.n_pieces = 1, .pieces = &pieces[0], .least = 1e-3, .most = 1e-3},
        .memory = {.n_pieces = 1, .pieces = &pieces[1], .most = s->options.routine_bytes},
        .factor = 1};
    struct cost_set set = {0};
    uint32_t length = 0;
    cost_set_add(&set, &model, false, NULL);
    const uint8_t *data = cost_encode(&set, arena, &length);
    extension_add(&record->extensions, EXTENSION_COST_MODELS, data, length, arena);
    cost_set_clear(&set);
}

/* Sends this with all else that servers report once, and not again with each change of their load. */
static void tell_fetched(const struct simulated_server *s, struct arena *arena, struct node_record *record)
{
    const struct told_link link = {.peer = s->options.fetched_from, .path = s->options.fetched};
    if (s->options.fetched_from)
        told_links_add(&record->extensions, EXTENSION_FETCHED_LINKS, &link, 1, arena);
}

static void tell_terms(struct simulated_server *s, struct arena *arena, struct node_record *record)
{
    const uint64_t incoming = incoming_bytes(s);
    if (incoming)
        terms_add_integer(&record->extensions, EXTENSION_INCOMING, incoming, arena);
    if (s->returns)
        extension_add(&record->extensions, EXTENSION_BACK_SOON, "", 0, arena);
    if (s->expected_ms > 0)
        terms_add_integer(&record->extensions, EXTENSION_EXPECTED, s->expected_ms, arena);
    if (s->disabled_length > 0)
        extension_add(&record->extensions, EXTENSION_DISABLED, s->disabled, s->disabled_length, arena);
    s->disabled_length = 0;
    if (s->options.memory_held)
        terms_add_integer(&record->extensions, EXTENSION_MEMORY_HELD, s->options.memory_held, arena);
    if (s->options.routine_bytes > 0)
        tell_model(s, arena, record);
    if (s->options.price > 0)
        terms_add_real(&record->extensions, EXTENSION_PRICE, s->options.price, arena);
    if (s->options.n_properties)
        terms_add_texts(&record->extensions, EXTENSION_PROPERTIES, s->options.properties,
                        s->options.n_properties, arena);
}

static void mark(struct simulated_server *s, uint64_t master, uint64_t number)
{
    for (uint32_t i = 0; i < s->n_marks; i++)
        if (s->marks[i].master == master) {
            if (number > s->marks[i].number)
                s->marks[i].number = number;
            return;
        }
    if (s->n_marks < 16)
        s->marks[s->n_marks++] = (struct placement_mark){master, number};
}

/* ---- towards the parent ---- */

static void post(void *self, const char *address, uint64_t to_incarnation, const struct message *message)
{
    struct simulated_server *s = self;
    if (s->mute || !s->endpoint)
        return;
    endpoint_post(s->endpoint, address, to_incarnation, message, NULL);
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(void *self, bool complete, struct message *message)
{
    struct simulated_server *s = self;
    struct load load;
    promised_load(s, &load);
    struct node_record *record = arena_alloc(&message->arena, sizeof *record);
    double *free_in_s = arena_alloc(&message->arena, load.slots * sizeof *free_in_s);
    for (uint32_t i = 0; i < load.slots; i++)
        free_in_s[i] = load.free_at_ns[i] > now(s) ? (double)(load.free_at_ns[i] - now(s)) / 1e9 : 0;
    qsort(free_in_s, load.slots, sizeof *free_in_s, by_time);
    load_release(&load);
    *record = (struct node_record){
        .name = s->name,
        .parent = membership_parent_name(s->membership),
        .address = endpoint_address(s->endpoint),
        .role = ROLE_SERVER,
        .incarnation = s->options.incarnation,
        .draining = s->draining,
        .link = s->options.link,
        .catalog = s->catalog,
        .speed_flops = s->options.speed_flops,
        .slots = s->options.slots,
        .threads = 1,
        .free_in_s = free_in_s,
        .n_free_in = s->options.slots,
        .running = s->running,
        .queued = s->n_jobs - s->running,
        .memory_total = s->options.memory,
        .memory_free = s->options.memory - s->options.memory_taken,
        .completed = s->completed,
        .marks = s->marks,
        .n_marks = s->n_marks,
    };
    tell_terms(s, &message->arena, record);
    if (complete)
        tell_fetched(s, &message->arena, record);
    message->report.records = record;
    message->report.n_records = 1;
    location_tell(s->location, complete, message);
}

static void touch(struct simulated_server *s)
{
    membership_touch(s->membership, s->options.report_within_ms ? s->options.report_within_ms : 20);
}

static void changed(void *self, bool joined, const char *parent, const char *why)
{
    struct simulated_server *s = self;
    (void)parent;
    snprintf(s->why, sizeof s->why, "%s", why);
    s->tellings += !joined;
}

static const struct membership_ops membership_ops = {.post = post, .report = report, .changed = changed};

static void on_ask(struct simulated_server *s, const struct ask *ask)
{
    struct message message = {.kind = MESSAGE_ANSWER, .answer = {.id = ask->id}};
    struct response *response = &message.answer.response;
    struct server_estimate estimate = {
        .server = s->name, .address = endpoint_address(s->endpoint), .incarnation = s->options.incarnation};
    const struct request *request = &ask->request;
    struct data_location rows[CAP_ARGUMENTS];
    s->asks++;
    response->name = s->name;
    response->data = rows;
    for (uint32_t i = 0; i < request->n_arguments; i++)
        for (size_t j = 0; j < s->options.n_holds; j++)
            if (strcmp(request->arguments[i].datum, s->holds[j]) == 0)
                rows[response->n_data++] =
                    (struct data_location){request->arguments[i].index, s->name, {.known = true}};
    if (solves(s, request->digest) && !s->draining && request->memory_bytes <= s->options.memory) {
        struct load load;
        promised_load(s, &load);
        struct standing standing = {.line = (double)s->n_jobs / s->options.slots,
                                    .memory_free = s->options.memory - s->options.memory_taken};
        const struct computer computer = {.speed_flops = s->options.speed_flops};
        estimate_fill(&estimate, request, &computer, &load, &standing, now(s), &message.arena);
        load_release(&load);
        response->servers = &estimate;
        response->n_servers = response->capable = 1;
    }
    post(s, membership_parent_address(s->membership), membership_parent_incarnation(s->membership), &message);
    arena_clear(&message.arena);
}

static bool knows_placement(const struct simulated_server *s, const struct placement *placement)
{
    for (uint32_t i = 0; i < s->n_marks; i++)
        if (s->marks[i].master == placement->master && s->marks[i].number >= placement->number)
            return true;
    return false;
}

static void on_place(struct simulated_server *s, const struct place *place)
{
    for (uint32_t i = 0; i < place->n; i++) {
        const struct placement *placement = &place->items[i];
        if (strcmp(placement->server, s->name) != 0 || knows_placement(s, placement))
            continue;
        struct promise *promise = calloc(1, sizeof *promise);
        *promise = (struct promise){
            .master = placement->master,
            .number = placement->number,
            .seconds = placement->seconds,
            .expires_ns = now(s) + (int64_t)placement->lease_ms * NS_PER_MS,
        };
        DL_APPEND(s->promises, promise);
        mark(s, placement->master, placement->number);
        touch(s);
    }
}

static void on_want(struct simulated_server *s, const struct want *want)
{
    const char *parent = membership_parent_address(s->membership);
    uint64_t incarnation = membership_parent_incarnation(s->membership);
    for (uint32_t i = 0; i < want->n_catalogs; i++) {
        struct message message = {.kind = MESSAGE_CATALOG, .catalog = {.digest = s->catalog}};
        if (want->catalogs[i] != s->catalog)
            continue;
        struct catalog_entry *entries = arena_alloc(&message.arena, s->options.n_problems * sizeof *entries);
        for (size_t j = 0; j < s->options.n_problems; j++)
            entries[j] =
                (struct catalog_entry){s->problems[j], simulated_digest(s->problems[j], s->signature)};
        message.catalog.entries = entries;
        message.catalog.n_entries = (uint32_t)s->options.n_problems;
        post(s, parent, incarnation, &message);
        arena_clear(&message.arena);
    }
    for (uint32_t i = 0; i < want->n_texts; i++)
        for (size_t j = 0; j < s->options.n_problems; j++) {
            if (simulated_digest(s->problems[j], s->signature) != want->texts[i])
                continue;
            char text[512];
            simulated_text(s->problems[j], s->signature, text, sizeof text);
            struct described item = {want->texts[i], text};
            struct message message = {.kind = MESSAGE_TEXTS, .texts = {.items = &item, .n = 1}};
            post(s, parent, incarnation, &message);
        }
}

static void on_post(void *self, const struct envelope *envelope, const struct message *message)
{
    struct simulated_server *s = self;
    if (s->mute || membership_post(s->membership, envelope, message) || !membership_joined(s->membership))
        return;
    if (message->kind == MESSAGE_ASK)
        on_ask(s, &message->ask);
    else if (message->kind == MESSAGE_PLACE)
        on_place(s, &message->place);
    else if (message->kind == MESSAGE_WANT)
        on_want(s, &message->want);
}

static void on_undelivered(void *self, const char *address, const struct esp_error *why)
{
    struct simulated_server *s = self;
    membership_undelivered(s->membership, address, why);
}

static void on_hung_up(void *self, const struct envelope *from)
{
    struct simulated_server *s = self;
    membership_hung_up(s->membership, from);
}

/* ---- calls ---- */

static void begin_next(struct simulated_server *s);

static void reply_to(struct job *job)
{
    struct simulated_server *s = job->server;
    DL_DELETE(s->jobs, job);
    s->n_jobs--;
    s->completed++;
    if (job->call) {
        struct message *reply = message_create(MESSAGE_CALL_REPLY);
        reply->call_reply.session.sequence = job->sequence;
        reply->call_reply.session.state = SESSION_DONE;
        reply->call_reply.session.timings.compute_s = (double)(job->end_ns - job->start_ns) / 1e9;
        reply->call_reply.session.timings.queue_s = 0;
        call_reply(job->call, reply);
    }
    free(job);
    touch(s);
}

/* When bytes that begin now are over the link; the ones after them begin then. */
static int64_t cross(struct simulated_server *s, int64_t *free_ns, uint64_t bytes)
{
    const struct path *link = &s->options.link;
    int64_t begin_ns = *free_ns > now(s) ? *free_ns : now(s);
    if (bytes == 0 || !link->known)
        return now(s);
    *free_ns =
        begin_ns + (link->bandwidth_bps > 0 ? (int64_t)((double)bytes / link->bandwidth_bps * 1e9) : 0);
    return begin_ns + (int64_t)(path_seconds(link, bytes) * 1e9);
}

static void on_stage_over(struct timer *timer, int64_t now_ns, void *context)
{
    struct job *job = context;
    struct simulated_server *s = job->server;
    (void)timer;
    (void)now_ns;
    if (job->stage == ARRIVING) {
        job->stage = QUEUED;
        begin_next(s);
        return;
    }
    if (job->stage == LEAVING) {
        reply_to(job);
        return;
    }
    job->stage = LEAVING;
    s->running--;
    const int64_t there_ns = cross(s, &s->out_free_ns, job->bytes_out);
    if (there_ns > now(s))
        timers_set(&s->timers, &job->timer, there_ns, NULL);
    else
        reply_to(job);
    touch(s);
    begin_next(s);
}

/* Waiting sessions get the slots that are free, in the order in which their arguments are complete. */
static void begin_next(struct simulated_server *s)
{
    while (s->running < s->options.slots) {
        struct job *job, *next = NULL;
        DL_FOREACH(s->jobs, job)
        if (job->stage == QUEUED && (!next || job->start_ns < next->start_ns))
            next = job;
        if (!next)
            return;
        next->stage = RUNNING;
        next->start_ns = now(s);
        next->end_ns = now(s) + (int64_t)(next->takes_s * 1e9);
        s->running++;
        timers_set(&s->timers, &next->timer, next->end_ns, NULL);
        touch(s);
    }
}

static void count_bytes(struct job *job, const struct call_request *request)
{
    for (uint32_t i = 0; i < request->n_arguments; i++) {
        const struct call_argument *argument = &request->arguments[i];
        if (argument->kind == KIND_BULK)
            job->bytes_in += argument->bytes;
        else if (argument->kind == KIND_WANTED)
            job->bytes_out += argument->bytes;
    }
}

static void keep_promise(struct simulated_server *s, const struct call_request *request)
{
    struct promise *promise, *next;
    for (promise = s->promises; promise; promise = next) {
        next = promise->next;
        if (promise->master == request->master && promise->number == request->placement)
            drop_promise(s, promise);
    }
    if (request->placement)
        mark(s, request->master, request->placement);
}

static void on_call(void *self, struct call *call, const struct message *message)
{
    struct simulated_server *s = self;
    if (message->kind != MESSAGE_CALL || s->draining) {
        call_reply(call, message_failure(message_reply_kind(message->kind), ESP_REFUSED, "not here"));
        return;
    }
    const struct call_request *request = &message->call;
    struct job *job = calloc(1, sizeof *job);
    double actual_s = request->forecast_s * (1 + s->options.noise * (2 * random_real(&s->random) - 1));
    keep_promise(s, request);
    job->server = s;
    job->call = call;
    job->sequence = request->session.sequence;
    job->takes_s = actual_s > s->options.least_s ? actual_s : s->options.least_s;
    job->timer = (struct timer){.fire = on_stage_over, .context = job};
    count_bytes(job, request);
    DL_APPEND(s->jobs, job);
    s->n_jobs++;
    job->start_ns = cross(s, &s->in_free_ns, job->bytes_in); /* until it runs: when it is whole */
    job->stage = job->start_ns > now(s) ? ARRIVING : QUEUED;
    if (job->stage == ARRIVING)
        timers_set(&s->timers, &job->timer, job->start_ns, NULL);
    call_set_data(call, job);
    begin_next(s);
    touch(s);
}

static void on_abandoned(void *self, struct call *call)
{
    struct job *job = call_data(call);
    (void)self;
    if (job)
        job->call = NULL;
}

static int64_t on_due(void *self)
{
    struct simulated_server *s = self;
    int64_t due = timers_next_ns(&s->timers), other = membership_due(s->membership);
    if (s->promises && s->promises->expires_ns < due)
        due = s->promises->expires_ns;
    return other < due && !s->mute ? other : due;
}

static void on_tick(void *self)
{
    struct simulated_server *s = self;
    timers_run(&s->timers, now(s));
    while (s->promises && s->promises->expires_ns <= now(s)) {
        drop_promise(s, s->promises);
        touch(s);
    }
    if (!s->mute)
        membership_tick(s->membership);
}

static const struct endpoint_ops ops = {
    .post = on_post,
    .undelivered = on_undelivered,
    .hung_up = on_hung_up,
    .call = on_call,
    .abandoned = on_abandoned,
    .due = on_due,
    .tick = on_tick,
};

/* ---- life ---- */

static char **copy_texts(const char *const *texts, size_t n)
{
    char **copies = calloc(n + 1, sizeof *copies);
    for (size_t i = 0; i < n; i++)
        copies[i] = strdup(texts[i]);
    return copies;
}

static enum esp_status locate(struct simulated_server *s, struct esp_error *error)
{
    const struct location_options options = {.seed = s->options.seed, .track = true};
    enum esp_status status = location_create(&options, &s->location, error);
    if (status == ESP_OK)
        status = location_child(s->location, &s->here, error);
    for (size_t i = 0; status == ESP_OK && i < s->options.n_holds; i++) {
        struct datum_id id;
        if (datum_id_parse(s->holds[i], &id, NULL) == ESP_OK)
            status = location_add(s->location, s->here, id.key, 1, error);
    }
    return status;
}

static void free_texts(char **texts)
{
    for (char **text = texts; *text; text++)
        free(*text);
    free(texts);
}

enum esp_status simulated_create(const struct simulated_options *options, struct transport *transport,
                                 struct simulated_server **created, struct esp_error *error)
{
    struct simulated_server *s = calloc(1, sizeof *s);
    s->options = *options;
    s->transport = transport;
    s->name = strdup(options->name);
    s->problems = copy_texts(options->problems, options->n_problems);
    s->holds = copy_texts(options->holds, options->n_holds);
    s->signature = options->signature ? strdup(options->signature) : NULL;
    random_seed(&s->random, options->seed);
    set_catalog(s);
    struct membership_options membership = {
        .parents = options->parents,
        .n_parents = options->n_parents,
        .role = ROLE_SERVER,
        .name = s->name,
        .seed = options->seed + 1,
        .clock = transport_clock(transport),
    };
    enum esp_status status = locate(s, error);
    if (status == ESP_OK)
        status = membership_create(&membership, &membership_ops, s, &s->membership, error);
    struct endpoint_options endpoint = {
        .name = s->name,
        .role = ROLE_SERVER,
        .incarnation = options->incarnation,
        .listen = options->address ? options->address : options->name,
    };
    if (status == ESP_OK)
        status = transport_serve(transport, &endpoint, &ops, s, &s->endpoint, error);
    if (status != ESP_OK)
        return status;
    endpoint_enter(s->endpoint);
    membership_start(s->membership, endpoint_address(s->endpoint));
    endpoint_leave(s->endpoint);
    *created = s;
    return ESP_OK;
}

void simulated_drop(struct simulated_server *s)
{
    if (!s)
        return;
    endpoint_close(s->endpoint);
    while (s->promises)
        drop_promise(s, s->promises);
    timers_clear(&s->timers); /* they lie in the jobs */
    struct job *job, *next;
    DL_FOREACH_SAFE(s->jobs, job, next)
    free(job);
    membership_destroy(s->membership);
    location_destroy(s->location);
    free_texts(s->problems);
    free_texts(s->holds);
    free(s->signature);
    free(s->name);
    free(s);
}

void simulated_stop(struct simulated_server *s)
{
    endpoint_enter(s->endpoint);
    membership_leave(s->membership, "stopping");
    endpoint_leave(s->endpoint);
    simulated_drop(s);
}

void simulated_drain(struct simulated_server *s, bool draining)
{
    endpoint_enter(s->endpoint);
    s->draining = draining;
    touch(s);
    endpoint_leave(s->endpoint);
}

void simulated_will_return(struct simulated_server *s)
{
    s->returns = true;
    simulated_drain(s, true);
}

void simulated_may_return(struct simulated_server *s, uint64_t ms)
{
    s->expected_ms = ms;
    simulated_drain(s, true);
}

void simulated_disable(struct simulated_server *s, const char *problems, uint32_t length)
{
    endpoint_enter(s->endpoint);
    s->disabled = problems;
    s->disabled_length = length;
    membership_touch(s->membership, 0);
    endpoint_leave(s->endpoint);
}

void simulated_mute(struct simulated_server *s, bool mute)
{
    endpoint_enter(s->endpoint);
    s->mute = mute;
    endpoint_leave(s->endpoint);
}

bool simulated_joined(const struct simulated_server *s)
{
    return membership_joined(s->membership);
}

const char *simulated_why(const struct simulated_server *server)
{
    return server->why;
}

uint32_t simulated_tellings(const struct simulated_server *server)
{
    return server->tellings;
}

uint32_t simulated_promises(const struct simulated_server *s)
{
    uint32_t n = 0;
    for (const struct promise *promise = s->promises; promise; promise = promise->next)
        n++;
    return n;
}

uint64_t simulated_asks(const struct simulated_server *s)
{
    return s->asks;
}

uint32_t simulated_calls(const struct simulated_server *s)
{
    return s->n_jobs;
}

uint64_t simulated_completed(const struct simulated_server *s)
{
    return s->completed;
}

const char *simulated_name(const struct simulated_server *s)
{
    return s->name;
}
