/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses servers from the children's answers, and counts the placements made since the children were
 * asked.
 */
#include "agent/agent_internal.h"
#include "agent/peers.h"

#include <math.h>
#include <stdlib.h>

/* ---- answers from memory ---- */

/* Allocates room for the rows and the servers. The single row describes data that come through this agent. */
static bool begin_response(struct agent *agent, struct arena *arena, size_t most, struct response *response)
{
    *response = (struct response){.name = agent->name};
    response->data = arena_alloc(arena, sizeof *response->data);
    response->servers = arena_alloc(arena, most * sizeof *response->servers);
    if (!response->data || !response->servers)
        return false;
    response->data[response->n_data++] = (struct data_location){.argument = DATA_THROUGH_ME, .holder = ""};
    return true;
}

/* `access`: the path to the server from the node in whose name the response speaks. */
static bool add_server(struct agent *agent, const struct knowledge_node *node, struct path access,
                       const struct request *request, struct arena *arena, struct response *response)
{
    struct server_estimate *estimate = &response->servers[response->n_servers];
    const struct standing standing = knowledge_standing(node);
    const struct computer computer = knowledge_computer(node);
    *estimate = (struct server_estimate){
        .server = node->name,
        .address = node->address,
        .incarnation = node->incarnation,
        .transfer = arena_memdup(arena, &access, sizeof access),
        .n_transfer = 1,
    };
    if (!estimate->transfer ||
        !estimate_fill(estimate, request, &computer, &node->load, &standing, agent_now(agent), arena) ||
        !aggregate_tell_access(estimate, &access, arena))
        return false;
    response->n_servers++;
    return true;
}

void decide_from_memory(struct agent *agent, const struct variant *variant, const struct request *request,
                        uint32_t breadth, struct arena *arena, struct response *response)
{
    struct index_entry *found[CAP_CANDIDATES];
    struct index_query query;
    if (breadth > CAP_CANDIDATES)
        breadth = CAP_CANDIDATES;
    size_t n = submit_select(agent, variant, request, found, breadth, &query);
    if (!begin_response(agent, arena, n, response))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct knowledge_node *node = found[i]->owner;
        if (!add_server(agent, node, node->access, request, arena, response))
            return;
    }
    response->capable = submit_capable(variant, request);
}

static bool solves(const struct knowledge_node *node, const struct variant *variant)
{
    for (uint32_t i = 0; i < variant->n_catalogs; i++)
        if (variant->catalogs[i] == node->catalog)
            return node->entry.in != NULL;
    return false;
}

/* Adds what is remembered of a child that did not answer, as if the child had answered. The paths start at
 * the child. Only whole paths are remembered, so they are not known in parts. */
static bool branch_from_memory(struct agent *agent, const struct branch *branch,
                               const struct variant *variant, const struct request *request,
                               struct arena *arena, struct response *response)
{
    if (!begin_response(agent, arena, branch->n_servers, response))
        return false;
    response->name = branch->name;
    for (const struct knowledge_node *node = branch->nodes; node; node = node->branch_next) {
        if (!solves(node, variant) || node->memory_total < request->memory_bytes ||
            submit_misfit(node, request) != FITS)
            continue;
        if (!add_server(agent, node, (struct path){0}, request, arena, response))
            return false;
        response->capable++;
    }
    return true;
}

/* ---- merging ---- */

/* Adds to the estimate the placements made since the question was sent. Earlier placements had been sent
 * to the children before the question. */
static void count_placements(const struct question *question, const struct knowledge_node *node,
                             struct load *load)
{
    if (!node || node->last_placed_ns <= question->sent_ns)
        return;
    for (const struct pending *pending = node->pending; pending; pending = pending->next)
        if (pending->placed_ns > question->sent_ns)
            load_place(load, pending->seconds, pending->placed_ns);
}

static void correct(const struct question *question, struct response *merged)
{
    struct agent *agent = question->agent;
    int64_t now_ns = agent_now(agent);
    for (uint32_t i = 0; i < merged->n_servers; i++) {
        struct server_estimate *estimate = &merged->servers[i];
        const struct knowledge_node *node = knowledge_find(agent->knowledge, estimate->server);
        struct load load;
        if (!node || !node->pending || estimate_load(estimate, now_ns, &load) != ESP_OK)
            continue;
        count_placements(question, node, &load);
        estimate->queue_s = load_wait_s(&load, now_ns);
        load_release(&load);
    }
}

/* A server knows only its own calls. If it has never computed the problem, the times of other servers are
 * a better estimate than the declared work. */
static void forecast_by_others(struct agent *agent, const struct request *request, struct response *merged)
{
    for (uint32_t i = 0; i < merged->n_servers; i++) {
        struct server_estimate *estimate = &merged->servers[i];
        const struct knowledge_node *node = knowledge_find(agent->knowledge, estimate->server);
        struct request_cost told, here;
        estimate_told_cost(estimate, request, &told);
        if (!node || told.ground != COST_NOT_MEASURED || told.by == BY_RANKS)
            continue;
        const struct computer computer = knowledge_computer(node);
        estimate_cost(request, &computer, &here);
        if (here.ground != COST_CALLED)
            continue;
        estimate->compute_s = here.compute_s;
        estimate->error_s = here.error_s;
    }
}

static uint64_t largest_datum(const struct request *request)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < request->n_arguments; i++)
        if (argument_is_datum(&request->arguments[i]) && request->arguments[i].bytes > bytes)
            bytes = request->arguments[i].bytes;
    return bytes;
}

bool decide_merge(struct question *question, struct arena *arena, struct response *merged)
{
    struct agent *agent = question->agent;
    const struct request *request = &question->ask->ask.request;
    const struct variant *variant = catalog_variant(agent->catalogs, request->digest);
    struct aggregate_input *inputs =
        arena_alloc(arena, (question->n_asked ? question->n_asked : 1) * sizeof *inputs);
    const struct knowledge_node **children =
        arena_alloc(arena, (question->n_asked ? question->n_asked : 1) * sizeof *children);
    size_t n = 0;
    for (uint32_t i = 0; inputs && children && i < question->n_asked; i++) {
        const struct asked *asked = &question->asked[i];
        const struct knowledge_node *child = knowledge_find(agent->knowledge, asked->child);
        const struct response *response = asked->answer ? &asked->answer->answer.response : NULL;
        struct response *remembered = NULL;
        if (!response && variant && asked->branch && !request_has_data(request) &&
            branch_is_fresh(agent->knowledge, asked->branch, agent->options.freshness_ms * NS_PER_MS) &&
            (remembered = arena_alloc(arena, sizeof *remembered)) &&
            branch_from_memory(agent, asked->branch, variant, request, arena, remembered))
            response = remembered;
        if (!response)
            continue;
        children[n] = child;
        inputs[n++] = (struct aggregate_input){response, child ? child->link : (struct path){0}, NULL,
                                               asked->certificate};
    }
    if (inputs && children && request_has_data(request))
        links_brothers(agent, children, n, largest_datum(request), arena, inputs);
    const struct aggregate_across across = {links_across, agent};
    struct esp_error error;
    if (!inputs || !children ||
        aggregate_merge(agent->name, request, inputs, n, &across, arena, merged, &error) != ESP_OK)
        return false;
    forecast_by_others(agent, request, merged);
    /* The master agent keeps each candidate's load in memory while it chooses; see decide_begin(). */
    if (!question->group)
        correct(question, merged);
    return true;
}

void decide_remember(const char *server, void *context, struct remembered *remembered)
{
    struct agent *agent = context;
    const struct knowledge_node *node = knowledge_find(agent->knowledge, server);
    if (!node)
        return;
    const int64_t wait_ns = node->link_free_ns - agent_now(agent);
    remembered->turn = node->entry.self.turn;
    remembered->price = node->terms.price;
    remembered->link_wait_s = wait_ns > 0 ? (double)wait_ns / 1e9 : 0;
}

/* ---- choosing for clients ---- */

struct option {
    const struct server_estimate *estimate;
    struct knowledge_node *node; /* NULL: not in memory; it can be chosen but not counted */
    struct load load;
    struct standing standing;
    struct transfer_times transfer;
    struct esp_server_view view;
    double score;
    bool shut_out; /* it may not fetch data that it lacks */
};

struct decision {
    struct question *question;
    const struct response *merged;
    struct option *options;
    uint32_t n;
};

/* Adds one more session with that memory to the option. */
static void stand_behind(struct option *option, uint64_t memory_bytes)
{
    struct standing *standing = &option->standing;
    standing->line += 1.0 / (option->load.slots ? option->load.slots : 1);
    standing->memory_free -= memory_bytes < standing->memory_free ? memory_bytes : standing->memory_free;
}

static void count_standing(const struct question *question, struct option *option)
{
    const struct pending *pending = option->node ? option->node->pending : NULL;
    for (; pending; pending = pending->next)
        if (pending->placed_ns > question->sent_ns)
            stand_behind(option, pending->memory_bytes);
}

struct decision *decide_begin(struct question *question, const struct response *merged)
{
    struct agent *agent = question->agent;
    const struct request *request = &question->ask->ask.request;
    struct decision *decision = calloc(1, sizeof *decision);
    if (!decision)
        return NULL;
    decision->question = question;
    decision->merged = merged;
    decision->options = calloc(merged->n_servers ? merged->n_servers : 1, sizeof *decision->options);
    for (uint32_t i = 0; decision->options && i < merged->n_servers; i++) {
        struct option *option = &decision->options[decision->n];
        option->estimate = &merged->servers[i];
        option->node = knowledge_find(agent->knowledge, option->estimate->server);
        /* Servers check a request's constraints themselves; this check also covers servers that do not. */
        if ((option->node && submit_misfit(option->node, request) != FITS) ||
            estimate_load(option->estimate, agent_now(agent), &option->load) != ESP_OK)
            continue;
        struct shut_out why;
        option->shut_out = !aggregate_may_fetch(request, merged, option->estimate, &why);
        option->transfer = aggregate_transfer(request, merged, option->estimate);
        count_placements(question, option->node, &option->load);
        option->standing = estimate_standing(option->estimate);
        count_standing(question, option);
        decision->n++;
    }
    return decision;
}

void decide_end(struct decision *decision)
{
    if (!decision)
        return;
    for (uint32_t i = 0; i < decision->n; i++)
        load_release(&decision->options[i].load);
    free(decision->options);
    free(decision);
}

static double start_s(const struct option *option, const struct request *request, int64_t now_ns)
{
    struct request_cost cost;
    estimate_told_cost(option->estimate, request, &cost);
    return fmax(load_start_s(&option->load, option->standing.memory_free >= cost.memory_bytes, now_ns),
                estimate_line_s(option->standing.line));
}

static bool is_too_late(const struct option *option)
{
    return option->view.complete_s > option->view.deadline_s;
}

/* A server that ends the call too late ranks behind all others. */
static void score(struct decision *decision, const struct request *request)
{
    struct agent *agent = decision->question->agent;
    const struct esp_scheduler *scheduler = agent->scheduler;
    for (uint32_t i = 0; i < decision->n; i++) {
        struct option *option = &decision->options[i];
        struct remembered remembered = {0};
        decide_remember(option->estimate->server, agent, &remembered);
        option->view = aggregate_view(request, option->estimate, start_s(option, request, agent_now(agent)),
                                      &option->transfer, &remembered);
        option->score = scheduler->flags & ESP_SCHEDULER_RANDOM ? random_real(&agent->random)
                                                                : scheduler_score(scheduler, &option->view);
        if (is_too_late(option))
            option->score = HUGE_VAL;
    }
}

static uint32_t count_in_time(const struct decision *decision)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < decision->n; i++)
        n += !is_too_late(&decision->options[i]);
    return n;
}

static bool is_better(const struct option *a, const struct option *b)
{
    if (is_too_late(a) != is_too_late(b))
        return is_too_late(b);
    if (a->shut_out != b->shut_out)
        return b->shut_out; /* the call will fail there, unless the agent does not know all data */
    return a->score != b->score ? a->score < b->score : a->standing.line < b->standing.line;
}

/* Brings the best `most` options to the front, in order. */
static void best_first(struct decision *decision, uint32_t most)
{
    for (uint32_t i = 0; i < most; i++) {
        uint32_t best = i;
        for (uint32_t j = i + 1; j < decision->n; j++)
            if (is_better(&decision->options[j], &decision->options[best]))
                best = j;
        struct option other = decision->options[i];
        decision->options[i] = decision->options[best];
        decision->options[best] = other;
    }
}

/* Writes the first `most` options as candidates. NULL without memory. */
static struct message *tell_options(const struct decision *decision, const struct request *request,
                                    uint32_t most)
{
    struct message *message = message_create(MESSAGE_SUBMIT_REPLY);
    struct submit_reply *reply = message ? &message->submit_reply : NULL;
    if (!reply ||
        !(reply->candidates = arena_alloc(&message->arena, (most + 1) * sizeof *reply->candidates))) {
        message_destroy(message);
        return NULL;
    }
    const bool forecast = extension_find(&request->extensions, EXTENSION_FORECAST);
    uint8_t *told = submit_tell_costs(reply, most, &message->arena),
            *by = told && forecast ? submit_tell_by(reply, most, &message->arena) : NULL;
    if (!told || (forecast && !by)) {
        message_destroy(message);
        return NULL;
    }
    for (uint32_t i = 0; i < most; i++) {
        const struct option *option = &decision->options[i];
        struct request_cost cost;
        estimate_told_cost(option->estimate, request, &cost);
        cost_put(&cost, told + i * COST_BYTES_TOLD);
        if (by)
            cost_put_by(&cost, by + i * BY_BYTES_TOLD);
        reply->candidates[i] = (struct candidate){
            .server = arena_strdup(&message->arena, option->estimate->server),
            .address = arena_strdup(&message->arena, option->estimate->address),
            .incarnation = option->estimate->incarnation,
            .compute_s = option->estimate->compute_s,
            .queue_s = submit_queue_s(&option->view),
            .transfer_s = option->view.transfer_s,
            .error_s = option->estimate->error_s,
        };
        reply->n_candidates++;
    }
    return message;
}

static struct message *make_reply(struct decision *decision, const struct request *request, uint32_t most)
{
    struct agent *agent = decision->question->agent;
    struct message *message = tell_options(decision, request, most);
    if (!message)
        return NULL;
    struct submit_reply *reply = &message->submit_reply;
    struct option *first = &decision->options[0];
    reply->master = agent->options.incarnation;
    reply->capable = decision->merged->capable;
    reply->asked = true;
    struct request_cost cost;
    estimate_told_cost(first->estimate, request, &cost);
    const double seconds = estimate_count_s(cost.compute_s, cost.ground);
    if (first->node)
        reply->placement = submit_place(agent, first->node, request, seconds);
    load_place(&first->load, seconds, agent_now(agent));
    stand_behind(first, request->memory_bytes);
    return message;
}

static void explain_none(struct decision *decision, const struct request *request, struct esp_error *error)
{
    struct question *question = decision->question;
    struct agent *agent = question->agent;
    const struct variant *variant = catalog_choose(agent->catalogs, request->problem, request->digest);
    uint32_t silent = 0;
    for (uint32_t i = 0; i < question->n_asked; i++)
        silent += !question->asked[i].answer;
    if (silent) /* the children died or are slow, so servers may exist */
        error_set(error, ESP_UNREACHABLE, "%u of the %u children that could solve %s did not answer in time",
                  silent, question->n_asked, request->problem);
    else if (variant)
        submit_explain(agent, variant, request, error);
    else
        error_set(error, ESP_UNKNOWN_PROBLEM, "no server below \"%s\" solves %s any more", agent->name,
                  request->problem);
}

/* Moves options that would fail behind all others, also behind those that end too late. Returns how many
 * remain in front. */
static uint32_t shut_out_last(struct decision *decision)
{
    uint32_t may = 0;
    for (uint32_t i = 0; i < decision->n; i++) {
        struct option option = decision->options[i];
        if (option.shut_out)
            continue;
        decision->options[i] = decision->options[may];
        decision->options[may++] = option;
    }
    return may;
}

/* Answers a forecast: places nothing, and lists all servers that answered, except those that may not fetch
 * the data. */
static void forecast_member(struct decision *decision, const struct member *member)
{
    const struct request *request = &member->submit->request;
    const uint32_t n = decision->n;
    for (uint32_t i = 0; i < n; i++) /* independent of what the scheduler ranks by */
        decision->options[i].score = decision->options[i].view.complete_s;
    decision->n = shut_out_last(decision);
    best_first(decision, decision->n);
    struct message *told = tell_options(decision, request, decision->n);
    decision->n = n;
    call_reply(member->call, forecast_complete(decision->question->agent, request, decision->merged, told));
}

void decide_member(struct decision *decision, struct member *member)
{
    struct agent *agent = decision->question->agent;
    const struct request *request = &member->submit->request;
    uint32_t most = request->candidates ? request->candidates : agent->options.candidates;
    score(decision, request);
    if (extension_find(&request->extensions, EXTENSION_FORECAST)) {
        forecast_member(decision, member);
        return;
    }
    const uint32_t in_time = count_in_time(decision);
    if (most > in_time)
        most = in_time;
    if (most == 0) {
        struct esp_error error;
        explain_none(decision, request, &error);
        agent_refuse(agent, member->call, member->submit, &error);
        return;
    }
    best_first(decision, most);
    if (!member->asked && submit_is_free(agent, request) &&
        peers_ask_sooner(agent, member->call, member->submit, decision->options[0].view.complete_s))
        return;
    renew_check_score(agent, &decision->options[0].view);
    struct message *reply = make_reply(decision, request, most);
    if (reply)
        submit_log(request, &reply->submit_reply);
    histogram_add(&agent->counts.answered_s, (double)(agent_now(agent) - member->since_ns) / 1e9);
    if (reply)
        trace_note(&agent->duty.trace, &request->session, TRACE_CHOSEN, member->since_ns, agent_now(agent),
                   reply->submit_reply.candidates[0].server);
    call_reply(member->call, reply);
}
