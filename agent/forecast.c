/* SPDX-License-Identifier: Apache-2.0
 *
 * A forecast without a placement: how long each server below would take for a request, and why some
 * servers are excluded. It is answered from memory while that is fresh. If data must move, or the
 * knowledge is old, the servers are asked as for a call.
 */
#include "agent/agent_internal.h"
#include "util/escape.h"
#include "util/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define EXCLUDED_BYTES  (256 * 1024)
#define UNREACHED_BYTES (64 * 1024)

struct excluded {
    char *text, *unreached; /* names of servers that cannot be reached */
    size_t n, n_unreached;
};

static bool begin_excluded(struct excluded *excluded, struct arena *arena)
{
    *excluded = (struct excluded){.text = arena_alloc(arena, EXCLUDED_BYTES),
                                  .unreached = arena_alloc(arena, UNREACHED_BYTES)};
    return excluded->text && excluded->unreached;
}

static void exclude(struct excluded *excluded, const char *server, const char *why)
{
    size_t name = strlen(server) + 1, reason = strlen(why) + 1;
    if (excluded->n + name + reason > EXCLUDED_BYTES)
        return;
    memcpy(excluded->text + excluded->n, server, name);
    memcpy(excluded->text + excluded->n + name, why, reason);
    excluded->n += name + reason;
}

/* Excludes a node that was lost and may solve the problem. */
static void exclude_lost(const struct node_record *lost, void *arg)
{
    struct excluded *excluded = arg;
    const size_t name = strlen(lost->name) + 1;
    char why[200];
    snprintf(why, sizeof why, "it cannot be reached, and was last heard of %.0f s ago%s", lost->age_s,
             lost->role == ROLE_SERVER ? "" : " (an agent; servers below it may solve this)");
    exclude(excluded, lost->name, why);
    if (excluded->n_unreached + name > UNREACHED_BYTES)
        return;
    memcpy(excluded->unreached + excluded->n_unreached, lost->name, name);
    excluded->n_unreached += name;
}

static bool solves(const struct knowledge_node *node, const struct variant *variant)
{
    for (uint32_t i = 0; i < variant->n_catalogs; i++)
        if (variant->catalogs[i] == node->catalog)
            return true;
    return false;
}

static bool exclude_by_constraints(const struct knowledge_node *node, const struct request *request,
                                   const struct request_cost *cost, char *why, size_t size)
{
    struct constraints constraints;
    constraints_get(&request->extensions, &constraints);
    if (*request->server && strcmp(request->server, node->name) != 0) {
        snprintf(why, size, "only server \"%s\" is wanted", request->server);
        return true;
    }
    char shown[ESCAPED_TEXT], needed[BYTES_TEXT], had[BYTES_TEXT];
    const char *missing = property_missing(&constraints.wanted, &node->terms.properties);
    if (missing)
        snprintf(why, size, "it has not the property \"%s\"", missing);
    else if (knowledge_lacks_ranks(node, request->digest))
        snprintf(why, size, "only ranks compute %s there, and %s", request->problem,
                 escape(property_next(&node->terms.ranks_trouble, NULL), shown));
    else if (cost->memory_bytes > constraints.most_memory_bytes)
        snprintf(why, size, "takes %s of memory, at most %s are wanted",
                 bytes_text(cost->memory_bytes, needed), bytes_text(constraints.most_memory_bytes, had));
    else
        return false;
    return true;
}

/* Whether the server solves a problem of that name with another signature than the client's. */
static bool has_other_signature(const struct knowledge_node *node, const struct variant *variant,
                                const struct request *request)
{
    for (const struct variant *v = variant->name ? variant->name->variants : NULL; v; v = v->next)
        if (v->digest != request->digest && solves(node, v))
            return true;
    return false;
}

/* Sets the reason why the server is not asked; false: it is asked. `variant` may differ from the
 * request's. */
static bool is_excluded(const struct knowledge_node *node, const struct variant *variant,
                        const struct request *request, char *why, size_t size)
{
    struct request_cost cost;
    char held[HELD_TEXT], needed[BYTES_TEXT], had[BYTES_TEXT];
    const struct computer computer = knowledge_computer(node);
    estimate_cost(request, &computer, &cost);
    if (variant->digest != request->digest || !solves(node, variant))
        snprintf(why, size,
                 has_other_signature(node, variant, request) ? "it has another signature of %s"
                                                             : "it does not solve %s",
                 request->problem);
    else if (node->draining)
        snprintf(why, size, "it is draining: it takes no new sessions");
    else if (node->memory_total < cost.memory_bytes)
        snprintf(why, size, EXCLUDED_NEEDS "%s" EXCLUDED_OF_MEMORY "%s, it has %s%s",
                 bytes_text(cost.memory_bytes, needed),
                 cost.memory_bytes > request->memory_bytes ? " (the routine's own counted)" : "",
                 bytes_text(node->memory_total, had), limit_words(node, held));
    else if (exclude_by_constraints(node, request, &cost, why, size))
        return true;
    else if (!node->entry.in)
        snprintf(why, size, "it takes no sessions now");
    else
        return false;
    return true;
}

static double total_s(const struct candidate *candidate)
{
    return candidate->compute_s + candidate->queue_s + candidate->transfer_s;
}

/* Excludes a server that could take the request, but would end it too late. */
static bool is_too_late(const struct candidate *candidate, const struct request *request, char *why,
                        size_t size)
{
    struct constraints constraints;
    constraints_get(&request->extensions, &constraints);
    if (total_s(candidate) <= constraints.finish_s)
        return false;
    snprintf(why, size, "ends in %.3g s, wanted within %.3g s", total_s(candidate), constraints.finish_s);
    return true;
}

/* Moves entry n, `bytes` long, to place `to`, and shifts the entries between them back. */
static void move_to(uint8_t *entries, size_t bytes, uint32_t n, uint32_t to)
{
    uint8_t entry[BY_BYTES_TOLD];
    memcpy(entry, entries + n * bytes, bytes);
    memmove(entries + (to + 1) * bytes, entries + to * bytes, (n - to) * bytes);
    memcpy(entries + to * bytes, entry, bytes);
}

/* Sorts the candidates with their costs and computing nodes. They are few, so insertion sort is enough. */
static void put_in_order(struct candidate *candidates, uint8_t *told, uint8_t *by, uint32_t n)
{
    struct candidate candidate = candidates[n];
    uint32_t to = n;
    while (to > 0 && total_s(&candidates[to - 1]) > total_s(&candidate)) {
        candidates[to] = candidates[to - 1];
        to--;
    }
    candidates[to] = candidate;
    move_to(told, COST_BYTES_TOLD, n, to);
    move_to(by, BY_BYTES_TOLD, n, to);
}

static void put_by(const struct knowledge_node *node, const struct request *request, uint8_t *to)
{
    struct request_cost cost;
    const struct computer computer = knowledge_computer(node);
    estimate_cost(request, &computer, &cost);
    cost_put_by(&cost, to);
}

/* Adds the extensions that follow the candidates and their costs. */
static bool add_told(struct agent *agent, const struct request *request, struct submit_reply *reply,
                     struct excluded *excluded, struct arena *arena)
{
    struct extension *items = arena_alloc(arena, (reply->extensions.n + 3) * sizeof *items);
    const char *name = arena_strdup(arena, agent->name);
    if (!items || !name || !lost_solvers(agent, request->problem, arena, exclude_lost, excluded))
        return false;
    memcpy(items, reply->extensions.items, reply->extensions.n * sizeof *items);
    items[reply->extensions.n++] =
        (struct extension){EXTENSION_EXCLUDED, (const uint8_t *)excluded->text, (uint32_t)excluded->n};
    if (excluded->n_unreached > 0)
        items[reply->extensions.n++] = (struct extension){
            EXTENSION_UNREACHED, (const uint8_t *)excluded->unreached, (uint32_t)excluded->n_unreached};
    items[reply->extensions.n++] =
        (struct extension){EXTENSION_FORECASTER, (const uint8_t *)name, (uint32_t)strlen(name)};
    reply->extensions.items = items;
    return true;
}

static bool fill(struct agent *agent, const struct variant *variant, const struct request *request,
                 struct message *message)
{
    struct submit_reply *reply = &message->submit_reply;
    struct arena *arena = &message->arena;
    struct excluded excluded;
    struct index_query query = submit_query(agent, variant, request);
    uint32_t n = 0, most = knowledge_servers(agent->knowledge);
    char why[400];
    if (most > CAP_CANDIDATES)
        most = CAP_CANDIDATES;
    reply->candidates = arena_alloc(arena, (most + 1) * sizeof *reply->candidates);
    uint8_t *told = submit_tell_costs(reply, most + 1, arena),
            *by = told ? submit_tell_by(reply, most + 1, arena) : NULL;
    if (!begin_excluded(&excluded, arena) || !reply->candidates || !told || !by)
        return false;
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next) {
        if (node->role != ROLE_SERVER)
            continue;
        if (is_excluded(node, variant, request, why, sizeof why)) {
            exclude(&excluded, node->name, why);
            continue;
        }
        reply->capable++;
        if (n == most)
            continue;
        if (!submit_candidate(request, &node->entry, &query, arena, &reply->candidates[n],
                              told + n * COST_BYTES_TOLD))
            return false;
        if (is_too_late(&reply->candidates[n], request, why, sizeof why)) {
            reply->capable--;
            exclude(&excluded, node->name, why);
            continue;
        }
        put_by(node, request, by + n * BY_BYTES_TOLD);
        put_in_order(reply->candidates, told, by, n++);
    }
    reply->n_candidates = n;
    reply->extensions.items[0].length = n * COST_BYTES_TOLD;
    reply->extensions.items[1].length = n * BY_BYTES_TOLD;
    return add_told(agent, request, reply, &excluded, arena);
}

struct message *forecast_answer(struct agent *agent, const struct variant *variant,
                                const struct request *request)
{
    struct message *message = message_create(MESSAGE_SUBMIT_REPLY);
    if (message && !fill(agent, variant, request, message)) {
        message_destroy(message);
        return NULL;
    }
    return message;
}

/* ---- forecasts from the servers' answers ---- */

/* The candidates are sorted by end, so those that are too late are the last ones. */
static void drop_late(const struct request *request, struct submit_reply *reply, struct excluded *excluded)
{
    char why[400];
    uint32_t n = reply->n_candidates;
    while (n > 0 && is_too_late(&reply->candidates[n - 1], request, why, sizeof why)) {
        n--;
        exclude(excluded, reply->candidates[n].server, why);
    }
    reply->n_candidates = n;
    reply->extensions.items[0].length = n * COST_BYTES_TOLD;
    reply->extensions.items[1].length = n * BY_BYTES_TOLD;
    reply->capable = n;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Excludes a server that would take the request but may not fetch a datum. Returns false if the server has
 * not said so. */
static bool is_shut_out(const struct response *merged, const char *name, const struct request *request,
                        char *why, size_t size)
{
    struct shut_out shut_out;
    for (uint32_t i = 0; i < merged->n_servers; i++) {
        if (strcmp(merged->servers[i].server, name) != 0 ||
            aggregate_may_fetch(request, merged, &merged->servers[i], &shut_out))
            continue;
        snprintf(why, size,
                 "it may not fetch the datum of argument %u: data_servers of server \"%.60s\", which has it, "
                 "does not name \"%.60s\"",
                 shut_out.argument + 1, shut_out.holder, shut_out.certificate);
        return true;
    }
    return false;
}

/* Excludes servers that did not answer or are not candidates. */
static void exclude_silent(struct agent *agent, const struct variant *variant, const struct request *request,
                           const struct response *merged, const char *const *heard, size_t n_heard,
                           struct excluded *excluded)
{
    char why[260];
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next) {
        const char *name = node->name;
        if (node->role != ROLE_SERVER || bsearch(&name, heard, n_heard, sizeof *heard, by_text))
            continue;
        if (variant && is_excluded(node, variant, request, why, sizeof why))
            exclude(excluded, name, why);
        else if (is_shut_out(merged, name, request, why, sizeof why))
            exclude(excluded, name, why);
        else
            exclude(excluded, name, "it was asked, and has not said that it takes the call");
    }
}

struct message *forecast_complete(struct agent *agent, const struct request *request,
                                  const struct response *merged, struct message *message)
{
    struct submit_reply *reply = message ? &message->submit_reply : NULL;
    struct arena *arena = message ? &message->arena : NULL;
    const uint32_t n_heard = reply ? reply->n_candidates : 0;
    const char **heard = message ? arena_alloc(arena, (n_heard + 1) * sizeof *heard) : NULL;
    struct excluded excluded;
    if (!heard || !begin_excluded(&excluded, arena)) {
        message_destroy(message);
        return NULL;
    }
    for (uint32_t i = 0; i < n_heard; i++)
        heard[i] = reply->candidates[i].server;
    qsort(heard, n_heard, sizeof *heard, by_text);
    drop_late(request, reply, &excluded);
    exclude_silent(agent, catalog_choose(agent->catalogs, request->problem, request->digest), request, merged,
                   heard, n_heard, &excluded);
    reply->asked = true;
    if (add_told(agent, request, reply, &excluded, arena))
        return message;
    message_destroy(message);
    return NULL;
}
