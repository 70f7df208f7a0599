/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's request at the master agent. While the knowledge of all capable servers is fresh, it is
 * answered from memory, without messages and without looking at all servers.
 */
#include "agent/agent_internal.h"
#include "agent/peers.h"

#include "core/choice/ahead.h"
#include "core/forecast/told_links.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- selection from memory ---- */

static bool is_named(const char *const *names, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_wanted(const struct index_entry *entry, void *arg)
{
    const struct request *request = arg;
    const struct knowledge_node *node = entry->owner;
    return !is_named((const char *const *)request->excluded, request->n_excluded, node->name) &&
           submit_misfit(node, request) == FITS;
}

enum misfit submit_misfit(const struct knowledge_node *node, const struct request *request)
{
    struct constraints constraints;
    struct request_cost cost;
    constraints_get(&request->extensions, &constraints);
    if (property_missing(&constraints.wanted, &node->terms.properties))
        return LACKS_PROPERTY;
    if (knowledge_lacks_ranks(node, request->digest))
        return LACKS_RANKS;
    if (constraints.most_memory_bytes == UINT64_MAX)
        return FITS;
    const struct computer computer = knowledge_computer(node);
    estimate_cost(request, &computer, &cost);
    return cost.memory_bytes > constraints.most_memory_bytes ? TAKES_TOO_MUCH : FITS;
}

static bool takes(const struct knowledge_node *node, const struct variant *variant,
                  const struct request *request)
{
    if (!node->entry.in || node->memory_total < request->memory_bytes)
        return false;
    for (uint32_t i = 0; i < variant->n_catalogs; i++)
        if (variant->catalogs[i] == node->catalog)
            return is_wanted(&node->entry, (void *)request);
    return false;
}

/* Returns estimate_cost() for this server, but at least the bound by which the index is searched. */
static void cost_there(const struct index_entry *entry, void *arg, double *compute_s, uint64_t *memory_bytes)
{
    const struct request *request = arg;
    const struct knowledge_node *node = entry->owner;
    struct request_cost cost;
    const struct computer computer = knowledge_computer(node);
    estimate_cost(request, &computer, &cost);
    if (cost.compute_s > *compute_s)
        *compute_s = cost.compute_s;
    *memory_bytes = cost.memory_bytes;
}

static bool has_own(const struct index_own *own, size_t n, const struct index_entry *entry)
{
    for (size_t i = 0; i < n; i++)
        if (own[i].entry == entry)
            return true;
    return false;
}

/* Takes the servers to which the client has measured its own links. Returns how many. */
static size_t take_own(struct agent *agent, const struct request *request, const struct path *access,
                       bool has_others)
{
    struct told_reader reader = {.n = 0};
    struct told_link link;
    size_t n = 0;
    while (told_own_next(&request->extensions, &reader, &link)) {
        struct knowledge_node *node = knowledge_find_address(agent->knowledge, link.peer);
        if (!node || node->role != ROLE_SERVER || has_own(agent->own, n, &node->entry))
            continue;
        const struct path shortest = told_shortest(access, &node->access);
        agent->own[n++] =
            (struct index_own){&node->entry, told_over(&link, shortest), told_opening(&link, has_others)};
    }
    return n;
}

struct index_query submit_query(struct agent *agent, const struct variant *variant,
                                const struct request *request)
{
    const struct request_bytes bytes = request_client_bytes(request);
    const struct path access = told_access(&request->extensions);
    const bool has_others = extension_find(&request->extensions, EXTENSION_CLIENT_OPENING) &&
                            !*request->server && submit_capable(variant, request) > 1;
    struct constraints constraints;
    constraints_get(&request->extensions, &constraints);
    return (struct index_query){
        .scheduler = agent->scheduler,
        .work_flop = request->work_flop > 0
                         ? request->work_flop * knowledge_least_work(agent->knowledge, request->digest)
                         : 0,
        .call_s = ESTIMATE_CALL_S,
        .bytes = bytes,
        .trips = told_other_trips(&request->extensions, has_others),
        .access_s = access.latency_s,
        .access_inverse = access.bandwidth_bps > 0 ? 1 / access.bandwidth_bps : 0,
        .own = agent->own,
        .n_own = take_own(agent, request, &access, has_others),
        .finish_s = constraints.finish_s,
        .now_ns = agent_now(agent),
        .memory_bytes = request->memory_bytes,
        .wanted = request->n_excluded || request->extensions.n || knowledge_has_trouble(agent->knowledge)
                      ? is_wanted
                      : NULL,
        .arg = (void *)request,
        .cost = cost_there,
        .random = &agent->random,
    };
}

size_t submit_select(struct agent *agent, const struct variant *variant, const struct request *request,
                     struct index_entry **found, size_t most, struct index_query *query)
{
    *query = submit_query(agent, variant, request);
    if (*request->server) {
        struct knowledge_node *node = knowledge_find(agent->knowledge, request->server);
        if (!node || !takes(node, variant, request) ||
            index_view(&node->entry, query).complete_s > query->finish_s)
            return 0;
        found[0] = &node->entry;
        return 1;
    }
    struct server_index *few[16], **indexes = few;
    if (variant->n_catalogs > 16 && !(indexes = malloc(variant->n_catalogs * sizeof(struct server_index *))))
        return 0;
    for (uint32_t i = 0; i < variant->n_catalogs; i++)
        indexes[i] = &variant->catalogs[i]->index;
    size_t n = index_select(&agent->search, indexes, variant->n_catalogs, query, found, most);
    if (indexes != few)
        free(indexes);
    return n;
}

uint32_t submit_capable(const struct variant *variant, const struct request *request)
{
    uint32_t capable = 0;
    for (uint32_t i = 0; i < variant->n_catalogs; i++)
        capable += index_capable(&variant->catalogs[i]->index, request->memory_bytes);
    return capable;
}

/* ---- placements ---- */

uint64_t submit_place(struct agent *agent, struct knowledge_node *node, const struct request *request,
                      double seconds)
{
    struct placement placement = {
        .server = node->name,
        .session = request->session,
        .memory_bytes = request->memory_bytes,
        .bytes_in = request_client_bytes(request).in,
        .master = agent->options.incarnation,
        .number = agent->placements + 1,
        .seconds = seconds,
        .lease_ms = (uint64_t)agent->options.placement_lease_ms,
    };
    placement.session.secret = 0;
    if (!knowledge_place(agent->knowledge, node, &placement))
        return 0;
    agent->placements++;
    /* Nodes below rank only when they are asked, and placements are sent before each question. So
     * placements may be gathered for a moment, in which a quick call has often come and gone. */
    int64_t announce_ns = agent_now(agent) + agent->options.place_within_ms * NS_PER_MS;
    if (announce_ns < agent->announce_ns)
        agent->announce_ns = announce_ns;
    return placement.number;
}

struct told_server {
    const struct child *child;
    struct placement placement;
};

static int by_child_and_number(const void *a, const void *b)
{
    const struct told_server *x = a, *y = b;
    if (x->child != y->child)
        return (uintptr_t)x->child < (uintptr_t)y->child ? -1 : 1;
    return (x->placement.number > y->placement.number) - (x->placement.number < y->placement.number);
}

/* Sends one PLACE message to each child. */
static void tell_children(struct agent *agent, struct told_server *told, size_t n)
{
    struct placement *items = malloc((n ? n : 1) * sizeof *items);
    if (!items)
        return; /* the server learns of its call from the call; agents on the way count it by its report */
    qsort(told, n, sizeof *told, by_child_and_number);
    for (size_t i = 0; i < n;) {
        struct message message = {.kind = MESSAGE_PLACE, .place = {.items = items}};
        const struct child *child = told[i].child;
        for (; i < n && told[i].child == child && message.place.n < CAP_MESSAGES; i++)
            items[message.place.n++] = told[i].placement;
        children_post_to(agent->children, child, &message);
    }
    free(items);
}

static bool reaches_back(const struct pending *pending)
{
    return pending && !pending->announced;
}

void submit_announce(struct agent *agent)
{
    agent->announce_ns = CLOCK_NEVER;
    struct pending *last = knowledge_last_pending(agent->knowledge), *pending;
    size_t n = 0;
    /* All leases have one length here, so the placements that were not sent yet are the last to expire. */
    for (pending = last; reaches_back(pending); pending = pending->all_prev) {
        n++;
        if (pending->all_prev == last)
            break;
    }
    struct told_server *told = n ? malloc(n * sizeof *told) : NULL;
    if (!told)
        return;
    pending = last;
    for (size_t i = 0; i < n; i++, pending = pending->all_prev) {
        pending->announced = true;
        told[i] = (struct told_server){
            .child = down_child(pending->node->branch),
            .placement =
                {
                    .server = pending->node->name,
                    .session = pending->session,
                    .master = pending->master,
                    .number = pending->number,
                    .seconds = pending->seconds,
                    .bytes_in = pending->bytes_in,
                    .lease_ms = (uint64_t)((pending->expires_ns - agent_now(agent)) / NS_PER_MS),
                },
        };
    }
    tell_children(agent, told, n);
    free(told);
}

void submit_on_place(struct agent *agent, const struct place *place)
{
    struct told_server *told = malloc((place->n ? place->n : 1) * sizeof *told);
    size_t n = 0;
    for (uint32_t i = 0; told && i < place->n; i++) {
        struct knowledge_node *node = knowledge_find(agent->knowledge, place->items[i].server);
        if (!node)
            continue;
        if (log_wants(LOG_DEBUG_LEVEL)) {
            char text[SESSION_TEXT];
            log_write(LOG_DEBUG_LEVEL, session_id_text(&place->items[i].session, text),
                      "placed on \"%s\": counted with %.3g s", node->name, place->items[i].seconds);
        }
        const int64_t now_ns = agent_now(agent);
        trace_note(&agent->duty.trace, &place->items[i].session, TRACE_PLACED, now_ns, now_ns, node->name);
        knowledge_place(agent->knowledge, node, &place->items[i]);
        told[n++] = (struct told_server){down_child(node->branch), place->items[i]};
    }
    if (told)
        tell_children(agent, told, n);
    free(told);
}

/* ---- the request ---- */

/* A smaller difference of times comes from rounding, and is no queue. */
#define LEAST_QUEUE_S 1e-9

double submit_queue_s(const struct esp_server_view *view)
{
    const double queue_s = view->complete_s - view->compute_s - view->transfer_s;
    return queue_s >= LEAST_QUEUE_S + 1e-12 * view->complete_s ? queue_s : 0;
}

bool submit_candidate(const struct request *request, const struct index_entry *entry,
                      const struct index_query *query, struct arena *arena, struct candidate *candidate,
                      uint8_t *told)
{
    const struct knowledge_node *node = entry->owner;
    const struct esp_server_view view = index_view(entry, query);
    struct request_cost cost;
    *candidate = (struct candidate){
        .server = arena_strdup(arena, node->name),
        .address = arena_strdup(arena, node->address),
        .incarnation = node->incarnation,
        .queue_s = submit_queue_s(&view),
        .transfer_s = view.transfer_s,
    };
    const struct computer computer = knowledge_computer(node);
    estimate_cost(request, &computer, &cost);
    candidate->compute_s = cost.compute_s;
    candidate->error_s = cost.error_s;
    cost_put(&cost, told);
    return candidate->server && candidate->address;
}

uint8_t *submit_tell_costs(struct submit_reply *reply, uint32_t n, struct arena *arena)
{
    struct extension *extensions = arena_alloc(arena, 2 * sizeof *extensions);
    uint8_t *told = arena_alloc(arena, n * COST_BYTES_TOLD);
    if (!extensions || !told)
        return NULL;
    extensions[0] = (struct extension){EXTENSION_COSTS, told, n * COST_BYTES_TOLD};
    reply->extensions = (struct extensions){extensions, 1};
    return told;
}

uint8_t *submit_tell_by(struct submit_reply *reply, uint32_t n, struct arena *arena)
{
    uint8_t *told = arena_alloc(arena, n * BY_BYTES_TOLD);
    if (!told)
        return NULL;
    reply->extensions.items[1] = (struct extension){EXTENSION_COMPUTED_BYS, told, n * BY_BYTES_TOLD};
    reply->extensions.n = 2;
    return told;
}

/* Whether the request may also be served below another master agent, if the call ends sooner there. If a
 * site ranks by something else than the end, each agent chooses among its own servers only. A client that
 * uses stored data asks the agents itself (client/session/route.c). */
bool submit_is_free(const struct agent *agent, const struct request *request)
{
    return agent->scheduler == scheduler_find(NULL) && !*request->server && !request_has_data(request) &&
           agent->n_registered > 0;
}

/* Returns NULL if *error says why, or if (with `call` not NULL) the call was sent to the peers and *passed
 * is true. */
static struct message *reply_from_memory(struct agent *agent, struct call *call, const struct submit *submit,
                                         const struct variant *variant, bool *passed, struct esp_error *error)
{
    const struct request *request = &submit->request;
    struct index_entry *found[CAP_CANDIDATES];
    struct index_query query;
    uint32_t most = request->candidates ? request->candidates : agent->options.candidates;
    if (most > CAP_CANDIDATES)
        most = CAP_CANDIDATES;
    size_t n = submit_select(agent, variant, request, found, most, &query);
    if (n == 0) {
        submit_explain(agent, variant, request, error);
        return NULL;
    }
    const struct esp_server_view best = index_view(found[0], &query);
    if (call && submit_is_free(agent, request) && peers_ask_sooner(agent, call, submit, best.complete_s)) {
        *passed = true;
        return NULL;
    }
    renew_check_score(agent, &best);
    struct message *message = message_create(MESSAGE_SUBMIT_REPLY);
    struct submit_reply *reply = &message->submit_reply;
    const size_t room = n > AHEAD_SERVERS ? n : AHEAD_SERVERS;
    uint8_t costs[CAP_CANDIDATES * COST_BYTES_TOLD];
    bool whole =
        message && (reply->candidates = arena_alloc(&message->arena, room * sizeof *reply->candidates));
    for (size_t i = 0; whole && i < n; i++)
        whole = submit_candidate(request, found[i], &query, &message->arena, &reply->candidates[i],
                                 costs + i * COST_BYTES_TOLD);
    if (!whole) {
        message_destroy(message);
        error_no_memory(error, "the reply to a request");
        return NULL;
    }
    reply->n_candidates = (uint32_t)n;
    reply->master = agent->options.incarnation;
    struct request_cost cost;
    cost_get(costs, &cost);
    reply->placement = submit_place(agent, found[0]->owner, request,
                                    estimate_count_s(reply->candidates[0].compute_s, cost.ground));
    reply->capable = submit_capable(variant, request);
    ahead_decide(agent, variant, request, message, costs);
    extension_add(&reply->extensions, EXTENSION_COSTS, costs, reply->n_candidates * COST_BYTES_TOLD,
                  &message->arena);
    return message;
}

void submit_log(const struct request *request, const struct submit_reply *reply)
{
    char text[SESSION_TEXT];
    const struct candidate *first = &reply->candidates[0];
    if (!log_wants(LOG_DEBUG_LEVEL))
        return;
    log_write(LOG_DEBUG_LEVEL, session_id_text(&request->session, text),
              "%s placed on \"%s\" of %u%s: queue %.3g s, transfer %.3g s, computation %.3g s",
              request->problem, first->server, reply->capable, reply->asked ? ", asked" : "", first->queue_s,
              first->transfer_s, first->compute_s);
}

static bool has_whom_to_ask(const struct agent *agent, const struct variant *variant)
{
    for (const struct branch *branch = knowledge_branches(agent->knowledge); branch; branch = branch->next)
        if (branch_can_solve(branch, variant))
            return true;
    return false;
}

static bool is_stranger(const struct agent *agent, const char *server)
{
    return *server && !knowledge_find(agent->knowledge, server);
}

/* Returns NULL if no present server has the problem; an expected server may have it. */
static struct variant *variant_here(const struct agent *agent, const struct request *request)
{
    struct variant *variant = catalog_choose(agent->catalogs, request->problem, request->digest);
    return variant && variant_servers(variant) > 0 ? variant : NULL;
}

bool submit_is_strange(struct agent *agent, const struct submit *submit)
{
    const struct request *request = &submit->request;
    return !variant_here(agent, request) || is_stranger(agent, request->server);
}

/* During the warm-up, the problem or the server of the request may not be known yet. Returns true if the
 * peers were asked (unless they have had the request just now), or if the call waits here; false if it
 * must be answered now. */
static bool comes_too_early(struct agent *agent, struct call *call, const struct submit *submit,
                            const struct variant *variant, bool asked)
{
    if ((variant && !is_stranger(agent, submit->request.server)) || !learning_is(agent) ||
        (!variant && passed_is(call)))
        return false;
    return (!variant && !asked && peers_ask_first(agent, call, submit, NULL)) ||
           learning_keeps(agent, call, submit, variant != NULL);
}

static void serve(struct agent *agent, struct call *call, const struct submit *submit, bool asked)
{
    const struct request *request = &submit->request;
    struct esp_error error;
    if (!agent->is_master) {
        error_set(&error, ESP_REFUSED, "\"%s\" is a leader agent: a master agent takes requests",
                  agent->name);
        agent_refuse(agent, call, submit, &error);
        return;
    }
    trace_note_again(&agent->duty.trace, &request->session, &request->extensions, agent_now(agent));
    struct variant *variant = variant_here(agent, request);
    if (!peers_is_sooner(request) && comes_too_early(agent, call, submit, variant, asked))
        return;
    struct variant *other = variant ? NULL : catalog_choose(agent->catalogs, request->problem, 0);
    const struct extension *forecast = extension_find(&request->extensions, EXTENSION_FORECAST);
    if (other && variant_servers(other) > 0 && forecast && forecast->length > 0) {
        call_reply(call, forecast_answer(agent, other, request));
        return;
    }
    if (!variant) {
        submit_explain_unknown(agent, request, &error);
        agent_refuse(agent, call, submit, &error);
        return;
    }
    const bool must_ask =
        request_has_data(request) ||
        !knowledge_is_fresh(agent->knowledge, variant, agent->options.freshness_ms * NS_PER_MS);
    if (forecast && !(must_ask && has_whom_to_ask(agent, variant))) {
        call_reply(call, forecast_answer(agent, variant, request));
        return;
    }
    if (must_ask) {
        question_submit(agent, call, submit, variant, asked);
        return;
    }
    const int64_t since_ns = agent_now(agent);
    bool passed = false;
    struct message *reply = reply_from_memory(agent, asked ? NULL : call, submit, variant, &passed, &error);
    if (passed)
        return;
    if (!reply) {
        agent_refuse(agent, call, submit, &error);
        return;
    }
    agent->from_memory++;
    histogram_add(&agent->counts.answered_s, (double)(agent_now(agent) - since_ns) / 1e9);
    trace_note(&agent->duty.trace, &request->session, TRACE_CHOSEN, since_ns, agent_now(agent),
               reply->submit_reply.candidates[0].server);
    submit_log(request, &reply->submit_reply);
    call_reply(call, reply);
}

void submit_on_call(struct agent *agent, struct call *call, const struct submit *submit)
{
    serve(agent, call, submit, false);
}

void submit_again(struct agent *agent, struct call *call, const struct submit *submit)
{
    serve(agent, call, submit, true);
}
