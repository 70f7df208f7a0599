/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/inproc/server_rig.h"

#include "sed/porter/porter_order.h"

#include "core/choice/terms.h"
#include "core/forecast/cost_model.h"
#include "util/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char problems[] = "problem copy \"y := x\"\n"
                               "    in      int     n\n"
                               "    in      double  x[n]\n"
                               "    out     double  y[n]\n"
                               "    require n >= 0\n"
                               "    work    1e6*n\n"
                               "implementation c\n"
                               "    c copy(n, x, y) in libcopy.so\n"
                               "problem task \"only work\"\n"
                               "    in      double  flop\n"
                               "    in      int     k = 3\n"
                               "    out     double  r\n"
                               "    work    flop\n"
                               "implementation c\n"
                               "    c task(flop, k, r) in libtask.so\n";

/* ---- workers ---- */

static double job_flop(const struct job *job)
{
    double flop = 0;
    problem_work(job->problem, job->scope, &flop, NULL);
    return flop;
}

static enum esp_status sim_start(struct workers *workers, const struct job *job, struct esp_error *error)
{
    struct sim_workers *pool = (struct sim_workers *)workers;
    if (pool->start_fails != ESP_OK) {
        enum esp_status status = pool->start_fails;
        pool->start_fails = ESP_OK;
        return error_set(error, status, "the worker could not be started");
    }
    assert_true(pool->n_jobs < RIG_MOST_JOBS);
    struct sim_job *to = &pool->jobs[pool->n_jobs++];
    *to = (struct sim_job){.job = *job, .order = pool->started};
    to->end_ns =
        clock_now_ns(pool->clock) + (int64_t)(fmax(job_flop(job) / pool->speed_flops, pool->least_s) * 1e9);
    to->status = pool->ends_with;
    to->text = pool->ends_with == ESP_OK ? "" : "the routine ended so";
    if (pool->n_jobs > pool->most_at_once)
        pool->most_at_once = pool->n_jobs;
    if (pool->started < sizeof pool->first - 1 && strcmp(job->problem->name, "copy") == 0 &&
        job->arguments[RIG_X].bytes > 0)
        pool->first[pool->started] = (char)*(const double *)job->arguments[RIG_X].data;
    pool->started++;
    if (pool->on_start)
        pool->on_start(pool->arg, job);
    return ESP_OK;
}

static void sim_cancel(struct workers *workers, uint64_t job_id)
{
    struct sim_workers *pool = (struct sim_workers *)workers;
    for (uint32_t i = 0; i < pool->n_jobs; i++)
        if (pool->jobs[i].job.id == job_id) {
            pool->jobs[i].end_ns = clock_now_ns(pool->clock);
            pool->jobs[i].status = ESP_CANCELLED;
            pool->jobs[i].text = "killed";
            pool->cancelled++;
        }
}

static bool sim_help(struct workers *workers, uint64_t job_id, int64_t until_ns)
{
    (void)workers, (void)job_id, (void)until_ns;
    return false;
}

static void sim_drop(struct workers *workers, uint64_t state)
{
    ((struct sim_workers *)workers)->dropped = state;
}

static double sim_progress(struct workers *workers, uint64_t job_id)
{
    (void)job_id;
    return ((struct sim_workers *)workers)->progress;
}

static void sim_destroy(struct workers *workers)
{
    (void)workers;
}

static const struct workers_ops sim_ops = {.start = sim_start,
                                           .cancel = sim_cancel,
                                           .help = sim_help,
                                           .drop = sim_drop,
                                           .progress = sim_progress,
                                           .destroy = sim_destroy};

static struct sim_job *next_job(struct sim_workers *pool)
{
    struct sim_job *next = NULL;
    for (uint32_t i = 0; i < pool->n_jobs; i++) {
        struct sim_job *job = &pool->jobs[i];
        if (!next || job->end_ns < next->end_ns || (job->end_ns == next->end_ns && job->order < next->order))
            next = job;
    }
    return next;
}

static void end_job(struct sim_workers *pool, struct sim_job *job)
{
    struct sim_job ended = *job;
    struct job_end end = {.compute_s = fmax(job_flop(&ended.job) / pool->speed_flops, pool->least_s)};
    error_set(&end.error, ended.status, "%s", ended.text);
    end.cpu_s = ended.job.timed ? end.compute_s * pool->cpu_share : 0;
    if (pool->loses > 0) {
        pool->loses--;
        error_set(&end.error, ESP_CRASHED, "its worker was killed");
        end.lost = true;
        end.unbegun = pool->unbegun;
        end.intact = pool->intact;
    }
    if (end.error.status == ESP_OK && strcmp(ended.job.problem->name, "copy") == 0 &&
        ended.job.arguments[RIG_X].bytes > 0)
        memcpy(ended.job.arguments[RIG_Y].data, ended.job.arguments[RIG_X].data,
               ended.job.arguments[RIG_X].bytes);
    if (end.error.status == ESP_OK && strcmp(ended.job.problem->name, "task") == 0)
        *(double *)ended.job.arguments[2].data = *(const int32_t *)ended.job.arguments[1].data;
    *job = pool->jobs[--pool->n_jobs];
    end.keeps_state = pool->keeps && problem_state_index(ended.job.problem) >= 0;
    pool->worked_on = ended.job.state;
    pool->workers.ended(pool->workers.arg, ended.job.id, &end);
}

void rig_end_jobs(struct rig *rig)
{
    struct sim_job *job;
    while ((job = next_job(&rig->pool)) && job->end_ns <= clock_now_ns(rig->pool.clock))
        end_job(&rig->pool, job);
}

static bool take_errand(struct errands *errands, struct thread_job *job)
{
    struct thread_job **last = &((struct rig_errands *)errands)->first;
    while (*last)
        last = &(*last)->next;
    job->next = NULL;
    *last = job;
    return true;
}

static void run_errands(struct rig *rig)
{
    struct thread_job *job;
    while ((job = rig->errands.first)) {
        rig->errands.first = job->next;
        job->run(job->arg);
    }
}

void rig_run(struct rig *rig, double seconds)
{
    int64_t until = inproc_now_ns(rig->transport) + (int64_t)(seconds * 1e9);
    for (;;) {
        struct sim_job *job = next_job(&rig->pool);
        int64_t to = job && job->end_ns < until ? job->end_ns : until;
        uint64_t started = rig->pool.started;
        /* Something may start, or be cancelled, and end before that: look again after every step. */
        do
            run_errands(rig);
        while (inproc_run(rig->transport, inproc_now_ns(rig->transport)) > 0 || rig->errands.first);
        if (rig->pool.started != started || next_job(&rig->pool) != job)
            continue;
        job = next_job(&rig->pool);
        if (job && job->end_ns <= inproc_now_ns(rig->transport)) {
            end_job(&rig->pool, job);
            continue;
        }
        if (inproc_now_ns(rig->transport) >= until)
            return;
        int64_t step = inproc_now_ns(rig->transport) + NS_PER_MS;
        inproc_run(rig->transport, to < step ? to : step);
    }
}

double rig_now(const struct rig *rig)
{
    return (double)inproc_now_ns(rig->transport) / 1e9;
}

/* ---- the parent ---- */

static void take_speeds(struct rig *rig, const struct extension *extension)
{
    if (!extension)
        return;
    free(rig->speeds.items);
    assert_true(problem_speeds_read(extension, &rig->speeds));
}

static void take_report(struct rig *rig, const struct report *report)
{
    rig->reports++;
    if (report->n_records == 0)
        return;
    const struct node_record *record = &report->records[0];
    rig->record = *record;
    rig->ranks_trouble = extension_find(&record->extensions, EXTENSION_RANKS_TROUBLE) != NULL;
    rig->returns = extension_find(&record->extensions, EXTENSION_BACK_SOON) != NULL;
    rig->senses = extension_find(&record->extensions, EXTENSION_SENSES) != NULL;
    rig->sensed = extension_find(&record->extensions, EXTENSION_WEATHER) != NULL;
    rig->models += extension_find(&record->extensions, EXTENSION_COST_MODELS) != NULL;
    take_speeds(rig, extension_find(&record->extensions, EXTENSION_PROBLEM_SPEEDS));
    assert_int_equal(record->n_free_in, record->slots);
    rig->first_free_s = record->free_in_s[0];
    if (record->n_marks > 0) {
        rig->mark_master = record->marks[0].master;
        rig->mark_number = record->marks[0].number;
    }
}

static void parent_post(void *self, const struct envelope *envelope, const struct message *message)
{
    struct rig *rig = self;
    struct message reply = {0};
    (void)envelope;
    switch (message->kind) {
    case MESSAGE_HELLO:
        reply.kind = MESSAGE_WELCOME;
        reply.welcome.lease_ms = 3000;
        reply.welcome.heartbeat_ms = 1000;
        reply.welcome.extensions = message->hello.extensions;
        endpoint_post(rig->parent, message->hello.address, 0, &reply, NULL);
        break;
    case MESSAGE_REPORT:
        take_report(rig, &message->report);
        reply.kind = MESSAGE_PULSE;
        reply.pulse.number = message->report.number;
        endpoint_post(rig->parent, "sed", 0, &reply, NULL);
        break;
    case MESSAGE_GOODBYE:
        rig->goodbyes++;
        break;
    case MESSAGE_WELCOME: /* as if the server were a parent */
        rig->welcomed = (enum esp_status)message->welcome.outcome.status;
        break;
    case MESSAGE_ANSWER:
        rig->answers++;
        rig->n_servers = message->answer.response.n_servers;
        rig->capable = message->answer.response.capable;
        if (rig->n_servers)
            rig->estimate = message->answer.response.servers[0];
        break;
    case MESSAGE_CATALOG:
        rig->n_catalog = message->catalog.n_entries;
        break;
    case MESSAGE_TEXTS:
        rig->n_texts += message->texts.n;
        break;
    default:
        break;
    }
}

static void parent_call(void *self, struct call *call, const struct message *request)
{
    (void)self;
    call_reply(call, message_failure(message_reply_kind(request->kind), ESP_PROTOCOL, "only a parent"));
}

static const struct endpoint_ops parent_ops = {.post = parent_post, .call = parent_call};

/* ---- life ---- */

static struct problem_set *parse(const char *text)
{
    struct problem_set *set;
    struct esp_error error;
    if (problem_parse(text, strlen(text), "rig.esp", &set, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return set;
}

/* Another life of the server. */
static void begin_life(struct rig *rig)
{
    const struct endpoint_options endpoint = {.name = rig->options.name,
                                              .role = ROLE_SERVER,
                                              .incarnation = rig->options.incarnation,
                                              .listen = rig->options.name};
    struct esp_error error;
    rig->options.problems = parse(rig->problems);
    assert_int_equal(server_create(&rig->options, &rig->server, &error), ESP_OK);
    assert_int_equal(
        transport_serve(rig->transport, &endpoint, &server_ops, rig->server, &rig->endpoint, &error), ESP_OK);
    server_start(rig->server, rig->endpoint);
}

void rig_kill(struct rig *rig)
{
    inproc_kill(rig->transport, rig->options.name);
    rig->pool.n_jobs = 0;
    assert_true(rig->n_past < RIG_MOST_LIVES);
    rig->past[rig->n_past++] = (struct rig_past){rig->server, rig->endpoint};
    rig->server = NULL;
    rig->endpoint = NULL;
}

void rig_restart(struct rig *rig)
{
    rig->options.incarnation++;
    begin_life(rig);
}

/* There is no process that could be stopped. */
static void control_nothing(void *arg, enum duty_control what)
{
    (void)arg;
    (void)what;
}

static void no_porters(void *arg, struct porter_list *list)
{
    (void)arg;
    list->n = 0;
}

void rig_open(struct rig *rig, const struct rig_options *options)
{
    struct esp_error error;
    struct log_options log = {.node = "rig", .path = "/dev/null", .level = LOG_DEBUG_LEVEL};
    log_open(&log, NULL);
    memset(rig, 0, sizeof *rig);
    rig->problems = options->problems ? options->problems : problems;
    if (options->beside)
        rig->transport = options->beside->transport;
    else
        assert_int_equal(inproc_create(options->seed ? options->seed : 1, &rig->transport, &error), ESP_OK);
    rig->shares_transport = options->beside;
    rig->errands.errands.submit = take_errand;
    const char *name = options->name ? options->name : "sed";
    rig->pool.workers.ops = &sim_ops;
    rig->pool.clock = transport_clock(rig->transport);
    rig->pool.speed_flops = options->pool_flops > 0 ? options->pool_flops : 1e9;
    rig->pool.cpu_share = options->cpu_share;
    rig->parents[0] = options->parent_name ? options->parent_name : "parent";
    rig->options = (struct server_options){
        .name = name,
        .incarnation = 77,
        .control = control_nothing,
        .parents = rig->parents,
        .n_parents = options->parent || options->parent_name ? 1 : 0,
        .slots = options->slots ? options->slots : 1,
        .threads = 1,
        .memory_bytes = options->memory_bytes ? options->memory_bytes : 100u << 20,
        .queue = options->queue ? options->queue : 1000,
        .sessions_per_client = options->sessions_per_client ? options->sessions_per_client : 1000,
        .kept_bytes_per_client = options->kept_bytes_per_client,
        .result_lease_ns = options->result_lease_ns ? options->result_lease_ns : 600 * NS_PER_S,
        .receive_lease_ns = options->receive_lease_ns,
        .job_lease_ns = options->job_lease_ns,
        .inline_bytes = options->inline_bytes ? options->inline_bytes : 65536,
        .speed_flops = options->speed_flops < 0   ? 0
                       : options->speed_flops > 0 ? options->speed_flops
                                                  : 1e9,
        .cpu_quota = options->cpu_quota,
        .confined = options->confined,
        .senses = options->senses,
        .seed = 1,
        .clock = transport_clock(rig->transport),
        .workers = &rig->pool.workers,
        .store_memory = options->store_memory,
        .store_disk = options->store_disk,
        .files = options->files,
        .replicas = options->replicas,
        .replica_asks = 1,
        .replica_rest_ns = (int64_t)(options->replica_rest_s * 1e9),
        .errands = &rig->errands.errands,
        .porters = options->porters ? no_porters : NULL,
    };
    struct endpoint_options parent = {
        .name = "parent", .role = ROLE_MASTER, .incarnation = 5, .listen = "parent"};
    if (options->parent)
        assert_int_equal(transport_serve(rig->transport, &parent, &parent_ops, rig, &rig->parent, &error),
                         ESP_OK);
    begin_life(rig);
    if (options->parent)
        rig_run(rig, 0.5);
}

void rig_close(struct rig *rig)
{
    endpoint_close(rig->endpoint);
    endpoint_close(rig->parent);
    for (uint32_t i = 0; i < rig->n_past; i++)
        endpoint_close(rig->past[i].endpoint);
    inproc_run(rig->transport, inproc_now_ns(rig->transport));
    for (uint32_t i = 0; i < rig->n_past; i++)
        server_destroy(rig->past[i].server);
    server_destroy(rig->server);
    free(rig->speeds.items);
    rig->speeds = (struct problem_speeds){0};
    if (!rig->shares_transport)
        transport_destroy(rig->transport);
    log_close();
}

struct server_counts rig_counts(struct rig *rig)
{
    struct server_counts counts;
    server_count(rig->server, &counts);
    return counts;
}

/* ---- clients ---- */

struct session_id rig_session(uint64_t client, uint64_t sequence)
{
    return (struct session_id){
        .client_high = client, .client_low = 1, .sequence = sequence, .secret = 1000 + sequence};
}

static void take_session(struct answered *answered, const struct session_report *session)
{
    answered->sequence = session->sequence;
    answered->state = (enum session_state)session->state;
    answered->outcome = (enum esp_status)session->outcome.status;
    snprintf(answered->why, sizeof answered->why, "%s", session->outcome.text);
    answered->ahead = session->ahead;
    answered->unbegun = extension_find(&session->extensions, EXTENSION_UNBEGUN) != NULL;
    answered->timings = session->timings;
    answered->n_results = session->n_results;
    for (uint32_t i = 0; i < session->n_results && i < 4; i++) {
        const struct call_result *result = &session->results[i];
        answered->kind[i] = result->kind;
        answered->index[i] = result->index;
        answered->bytes[i] = result->bytes;
        if (result->kind == KIND_INLINE && result->length >= 8)
            memcpy(&answered->value[i], result->data, 8);
    }
}

struct sent {
    struct rig *rig;
    struct answered *answered;
};

static void on_reply(void *arg, enum esp_status status, const struct message *reply)
{
    struct sent *sent = arg;
    struct answered *answered = sent->answered;
    assert_false(answered->done); /* nothing is answered twice */
    answered->done = true;
    answered->status = status;
    answered->at = rig_now(sent->rig);
    if (reply && reply->outcome.text)
        snprintf(answered->text, sizeof answered->text, "%s", reply->outcome.text);
    if (reply && reply->kind == MESSAGE_CALL_REPLY)
        answered->awaited = extension_find(&reply->call_reply.session.extensions, EXTENSION_AWAITED) != NULL;
    if (reply && reply->kind == MESSAGE_CALL_REPLY && status == ESP_OK)
        take_session(answered, &reply->call_reply.session);
    if (reply && reply->kind == MESSAGE_AWAIT_REPLY && status == ESP_OK) {
        answered->n_sessions = reply->await_reply.n_sessions;
        if (answered->n_sessions)
            take_session(answered, &reply->await_reply.sessions[0]);
        for (uint32_t i = 1; i < answered->n_sessions && answered->more; i++)
            take_session(&answered->more[i - 1], &reply->await_reply.sessions[i]);
    }
    if (reply && reply->kind == MESSAGE_FOLLOW_REPLY && status == ESP_OK) {
        const struct follow_reply *follow = &reply->follow_reply;
        take_session(answered, &follow->session);
        answered->progress = follow->progress;
        answered->position = follow->position;
        uint64_t lease_ms;
        answered->lease_ms = lease_get(&follow->extensions, &lease_ms) ? (int64_t)lease_ms : -1;
        snprintf(answered->printed, sizeof answered->printed, "%.*s", (int)follow->text_length,
                 follow->text ? (const char *)follow->text : "");
    }
    if (reply && reply->kind == MESSAGE_LIST_REPLY)
        answered->n_results = reply->list_reply.n;
    free(sent);
}

void rig_send(struct rig *rig, const struct message *request, double timeout_s, struct answered *answered)
{
    struct sent *sent = malloc(sizeof *sent);
    struct esp_error error;
    struct answered *more = answered->more;
    *sent = (struct sent){rig, answered};
    *answered = (struct answered){.more = more};
    int64_t timeout_ms = timeout_s > 0 ? (int64_t)(timeout_s * 1000) : 10000000;
    if (inproc_call_async(rig->transport, rig->options.name, request, timeout_ms, on_reply, sent, &error) !=
        ESP_OK)
        fail_msg("%s", error.text);
}

uint64_t rig_digest(struct rig *rig, const char *problem)
{
    struct problem_set *set = parse(rig->problems);
    const struct problem *found = problem_find(set, problem);
    uint64_t digest = found ? found->digest : 1;
    problem_set_destroy(set);
    return digest;
}

void rig_call(struct rig *rig, const struct rig_call *call, struct answered *answered)
{
    const char *problem = call->problem ? call->problem : "copy";
    uint64_t bytes = (uint64_t)(call->n > 0 ? call->n : 0) * sizeof(double);
    int32_t n = call->n;
    struct call_argument copy[] = {
        {0, KIND_INLINE, sizeof n, (const uint8_t *)&n, sizeof n},
        {RIG_X, call->x ? KIND_INLINE : KIND_BULK, bytes, (const uint8_t *)call->x,
         call->x ? (uint32_t)bytes : 0},
        {RIG_Y, call->unwanted ? KIND_ABSENT : KIND_WANTED, 0, NULL, 0},
    };
    struct call_argument task[] = {
        {0, KIND_INLINE, sizeof call->flop, (const uint8_t *)&call->flop, sizeof call->flop},
        {2, KIND_WANTED, 0, NULL, 0},
    };
    const bool is_task = strcmp(problem, "task") == 0 || strcmp(problem, "once") == 0;
    struct message request = {.kind = MESSAGE_CALL};
    request.call = (struct call_request){
        .session = call->session,
        .oldest_unacknowledged = call->oldest,
        .server_incarnation = call->incarnation,
        .time_left_ms = call->time_left_ms,
        .patience_ms = call->patience_ms,
        .problem = problem,
        .digest = call->digest ? call->digest : rig_digest(rig, problem),
        .master = call->master,
        .placement = call->placement,
        .arguments = is_task ? task : copy,
        .n_arguments = is_task ? 2 : 3,
    };
    struct extension extensions[4];
    request.call.extensions = (struct extensions){extensions, 0};
    if (call->detached)
        extensions[request.call.extensions.n++] =
            (struct extension){EXTENSION_DETACHED, (const uint8_t *)"", 0};
    if (call->open && open_put(call->open, &request.arena, &extensions[request.call.extensions.n]))
        request.call.extensions.n++;
    if (call->job)
        extensions[request.call.extensions.n++] = (struct extension){EXTENSION_JOB, (const uint8_t *)"", 0};
    if (call->owner)
        extensions[request.call.extensions.n++] =
            (struct extension){EXTENSION_OWNER, (const uint8_t *)call->owner, OWNER_BYTES};
    rig_send(rig, &request, call->timeout_s, answered);
    arena_clear(&request.arena);
}

void rig_run_session(struct rig *rig, struct session_id session, uint64_t patience_ms,
                     struct answered *answered)
{
    struct message request = {.kind = MESSAGE_RUN, .run = {.session = session, .patience_ms = patience_ms}};
    rig_send(rig, &request, 0, answered);
}

void rig_follow(struct rig *rig, struct session_id session, uint64_t seen, double progress,
                uint64_t patience_ms, struct answered *answered)
{
    struct message request = {
        .kind = MESSAGE_FOLLOW,
        .follow = {.session = session, .seen = seen, .progress = progress, .patience_ms = patience_ms}};
    rig_send(rig, &request, 0, answered);
}

void rig_keep(struct rig *rig, struct session_id session, struct answered *answered)
{
    struct extension keep = {EXTENSION_KEEP, (const uint8_t *)"", 0};
    struct message request = {.kind = MESSAGE_FOLLOW,
                              .follow = {.session = session, .progress = 1, .extensions = {&keep, 1}}};
    rig_send(rig, &request, 0, answered);
}

void rig_await(struct rig *rig, uint64_t client, uint64_t oldest, const uint64_t *sequences, uint32_t n,
               uint64_t patience_ms, struct answered *answered)
{
    struct await_entry entries[64];
    struct message request = {.kind = MESSAGE_AWAIT};
    for (uint32_t i = 0; i < n; i++)
        entries[i] = (struct await_entry){sequences[i], 1000 + sequences[i]};
    request.await = (struct await){client, 1, oldest, entries, n, patience_ms};
    rig_send(rig, &request, 0, answered);
}

void rig_cancel(struct rig *rig, struct session_id session, struct answered *answered)
{
    struct message request = {.kind = MESSAGE_CANCEL, .cancel = {.session = session}};
    rig_send(rig, &request, 0, answered);
}

enum esp_status rig_put(struct rig *rig, struct session_id session, uint32_t argument, uint64_t offset,
                        const void *data, uint64_t length, struct esp_error *error)
{
    struct message header = {.kind = MESSAGE_PUT};
    header.chunk =
        (struct chunk){.session = session, .argument = argument, .offset = offset, .length = length};
    return transport_put(rig->transport, rig->options.name, &header, data, 1000, 0, error);
}

enum esp_status rig_get(struct rig *rig, struct session_id session, uint32_t argument, uint64_t offset,
                        void *data, uint64_t *length, struct esp_error *error)
{
    struct message header = {.kind = MESSAGE_GET};
    header.chunk =
        (struct chunk){.session = session, .argument = argument, .offset = offset, .length = *length};
    return transport_get(rig->transport, rig->options.name, &header, data, length, 1000, 0, error);
}
