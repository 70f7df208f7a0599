/* SPDX-License-Identifier: Apache-2.0
 *
 * fast.h: present figures of nodes and links of the tree, and forecasts of the rules of an abstract
 * problem. Forecasts of other problems are in client/abstract/call_forecast.c.
 */
#include "client/abstract/foresight.h"
#include "client/session/library.h"
#include "core/forecast/path.h"
#include "fast.h"
#include "util/package.h"

#include <math.h>
#include <string.h>

#define MOST_DEPTH 64

static const struct esp_node *find(const struct esp_node *nodes, size_t n, const char *name)
{
    for (size_t i = 0; name && *name && i < n; i++)
        if (strcmp(nodes[i].name, name) == 0)
            return &nodes[i];
    return NULL;
}

static bool is_ancestor(const struct esp_node *nodes, size_t n, const char *name, const struct esp_node *of)
{
    for (int i = 0; of && i < MOST_DEPTH; i++) {
        if (strcmp(of->name, name) == 0)
            return true;
        of = find(nodes, n, of->parent);
    }
    return false;
}

struct way {
    double latency_s, bandwidth_bps;
    bool within_host;
};

/* Adds the links between a node and its first ancestor that is, or is above, the other node: upward or
 * downward. */
static bool climb(const struct esp_node *nodes, size_t n, const struct esp_node *from,
                  const struct esp_node *other, bool up, struct way *way)
{
    for (int i = 0; i < MOST_DEPTH && !is_ancestor(nodes, n, from->name, other); i++) {
        if (!from->link_known)
            return false;
        const double rate_bps = up && from->back_bps > 0 ? from->back_bps : from->bandwidth_bps;
        way->latency_s += from->latency_s;
        if (rate_bps > 0)
            way->bandwidth_bps = fmin(way->bandwidth_bps, rate_bps);
        if (!(from = find(nodes, n, from->parent)))
            return false;
    }
    return true;
}

/* Whether two servers have the same host in their addresses; then data between them do not leave it. */
static bool share_host(const struct esp_node *one, const struct esp_node *other)
{
    const char *end = strrchr(one->address, ':');
    const size_t length = end ? (size_t)(end - one->address) + 1 : 0;
    return one != other && one->host_bps > 0 && other->host_bps > 0 && length > 1 &&
           strncmp(one->address, other->address, length) == 0 && !strchr(other->address + length, ':');
}

static enum esp_status no_node(const char *name, struct esp_error *error)
{
    return error_set(error, ESP_NOT_FOUND, "the platform has no node \"%s\" (esp_tree() tells all names)",
                     name);
}

static enum esp_status find_way(const struct esp_node *nodes, size_t n, const char *source,
                                const char *destination, struct way *way, struct esp_error *error)
{
    *way = (struct way){.bandwidth_bps = HUGE_VAL};
    if (!source || !destination)
        return error_set(error, ESP_INVALID,
                         "a link has two ends: expected the names of two nodes as source and destination, "
                         "found NULL as the %s",
                         source ? "destination" : "source");
    const struct esp_node *from = find(nodes, n, source), *to = find(nodes, n, destination);
    if (!from || !to)
        return no_node(from ? destination : source, error);
    if (share_host(from, to)) {
        *way = (struct way){fmax(from->host_latency_s, to->host_latency_s),
                            fmin(from->host_bps, to->host_bps), true};
        return ESP_OK;
    }
    if (!climb(nodes, n, from, to, true, way) || !climb(nodes, n, to, from, false, way))
        return error_set(error, ESP_NOT_FOUND,
                         "a link on the way from \"%s\" to \"%s\" has not been measured", source,
                         destination);
    return ESP_OK;
}

enum esp_status fast_comm_time(const char *source, const char *destination, uint64_t bytes, double *seconds)
{
    struct esp_error *error = library_error();
    struct esp_node *nodes = NULL;
    size_t n = 0;
    struct way way;
    enum esp_status status = esp_tree(NULL, &nodes, &n);
    if (status == ESP_OK)
        status = find_way(nodes, n, source, destination, &way, error);
    /* Windows do not matter within a host. */
    if (status == ESP_OK && seconds)
        *seconds = way.within_host ? way.latency_s + (double)bytes / way.bandwidth_bps
                                   : path_time_s(way.latency_s, 1 / way.bandwidth_bps, (double)bytes);
    esp_tree_free(nodes);
    return status;
}

/* Of a slot, beside other load. A server without a sensor does not report it. */
static double flops_of(const struct esp_node *node)
{
    const double available = node->cpu_available;
    return available > 0 && available < 1 ? available * node->speed_flops : node->speed_flops;
}

static enum esp_status of_server(const struct esp_node *node, enum fast_resource resource, double *amount,
                                 struct esp_error *error)
{
    if (node->role != ESP_ROLE_SERVER || node->unreachable)
        return error_set(error, ESP_NOT_FOUND, "\"%s\" is no server that can be reached", node->name);
    switch (resource) {
    case FAST_FLOP:
        *amount = flops_of(node);
        return ESP_OK;
    case FAST_MEMORY:
        *amount = (double)node->memory_free;
        return ESP_OK;
    case FAST_SLOTS:
        *amount = node->running + node->queued < node->slots ? node->slots - node->running - node->queued : 0;
        return ESP_OK;
    default:
        return error_set(error, ESP_INVALID, "expected operations, memory, slots, bandwidth or latency");
    }
}

enum esp_status fast_avail(enum fast_resource resource, const char *source, const char *destination,
                           double *amount)
{
    struct esp_error *error = library_error();
    struct esp_node *nodes = NULL;
    size_t n = 0;
    struct way way;
    if (!amount)
        return error_set(error, ESP_INVALID, "expected a place for the amount, found NULL");
    enum esp_status status = esp_tree(NULL, &nodes, &n);
    if (status != ESP_OK)
        return status;
    const struct esp_node *node = find(nodes, n, source);
    if (resource == FAST_BANDWIDTH || resource == FAST_LATENCY) {
        status = find_way(nodes, n, source, destination, &way, error);
        if (status == ESP_OK)
            *amount = resource == FAST_LATENCY ? way.latency_s : way.bandwidth_bps;
    } else if (!source) {
        status = error_set(error, ESP_INVALID, "expected the name of a node as source, found NULL");
    } else if (!node) {
        status = no_node(source, error);
    } else {
        status = of_server(node, resource, amount, error);
    }
    esp_tree_free(nodes);
    return status;
}

/* ---- rules by sizes alone: the contents of arrays are not known, so all rules are forecast ---- */

static enum esp_status tell_rules(const struct fast_call *call, const struct esp_call_options *options,
                                  const struct problem *problem, struct fast_step **steps, size_t *n,
                                  struct esp_error *error)
{
    struct foresight *foresight = NULL;
    if (!problem->abstract)
        return error_set(error, ESP_NOT_FOUND, "%s is no abstract problem: it has no rules", call->problem);
    if (foresight_of_sizes(problem, call, options, &foresight, error) != ESP_OK)
        return error->status;
    for (uint32_t i = 0; i < problem->abstract->n_rules; i++)
        if (!foresight_rule(foresight, i, NULL)) {
            foresight_destroy(foresight);
            return error_no_memory(error, "the forecasts");
        }
    if (foresight_check_sizes(foresight, error) != ESP_OK) {
        foresight_destroy(foresight);
        return error->status;
    }
    *steps = foresight_end(foresight, n);
    return ESP_OK;
}

enum esp_status fast_forecast_rules(const struct fast_call *call, const struct esp_call_options *options,
                                    struct fast_step **steps, size_t *n)
{
    struct esp_error *error = library_error(), why = {0};
    struct function *function = NULL;
    struct library *library;
    if (!call || !call->problem || (call->n_values && !call->values) || !steps || !n)
        return error_set(error, ESP_INVALID, "expected a call and places for the steps, found NULL");
    if (!(library = library_enter(error)))
        return error->status;
    enum esp_status status = functions_get_soon(library->engine->functions, call->problem, &function, &why);
    if (status == ESP_OK)
        status = tell_rules(call, options, function->problem, steps, n, &why);
    function_release(function);
    library_leave(status == ESP_OK);
    if (status != ESP_OK)
        *error = why;
    return status;
}

void fast_rules_free(struct fast_step *steps)
{
    package_destroy(steps);
}
