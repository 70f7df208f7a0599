/* SPDX-License-Identifier: Apache-2.0
 *
 * Explains to a client why no server takes its request.
 */
#include "agent/agent_internal.h"
#include "core/data/datum.h"
#include "util/escape.h"
#include "util/bytes.h"

#include <inttypes.h>
#include <math.h>

/* ---- constraints ---- */

/* Counts how many servers that take sessions of the problem pass each constraint of the request. */
struct sieve {
    uint32_t taking, with_properties, small_enough, big_enough;
    uint64_t least_memory; /* least memory that the call takes on a server with the properties */
    const struct knowledge_node *biggest, *soonest, *without_ranks;
    double soonest_s;
};

bool submit_knows(const struct knowledge_node *node, const struct variant *variant)
{
    for (uint32_t i = 0; i < variant->n_catalogs; i++)
        if (variant->catalogs[i] == node->catalog)
            return true;
    return false;
}

static bool solves(const struct knowledge_node *node, const struct variant *variant)
{
    return submit_knows(node, variant) && node->entry.in != NULL;
}

static void sift(struct sieve *sieve, const struct knowledge_node *node, const struct request *request,
                 const struct index_query *query)
{
    struct request_cost cost;
    const enum misfit misfit = submit_misfit(node, request);
    sieve->taking++;
    if (misfit == LACKS_PROPERTY)
        return;
    sieve->with_properties++;
    if (misfit == LACKS_RANKS) {
        sieve->without_ranks = node;
        return;
    }
    const struct computer computer = knowledge_computer(node);
    estimate_cost(request, &computer, &cost);
    if (cost.memory_bytes < sieve->least_memory)
        sieve->least_memory = cost.memory_bytes;
    if (misfit == TAKES_TOO_MUCH)
        return;
    sieve->small_enough++;
    if (!sieve->biggest || node->memory_total > sieve->biggest->memory_total)
        sieve->biggest = node;
    if (node->memory_total < cost.memory_bytes)
        return;
    sieve->big_enough++;
    const double end_s = index_view(&node->entry, query).complete_s;
    if (end_s < sieve->soonest_s) {
        sieve->soonest_s = end_s;
        sieve->soonest = node;
    }
}

static void sift_all(struct agent *agent, const struct variant *variant, const struct request *request,
                     struct sieve *sieve)
{
    const struct index_query query = submit_query(agent, variant, request);
    *sieve = (struct sieve){.least_memory = UINT64_MAX, .soonest_s = HUGE_VAL};
    for (const struct knowledge_node *node = knowledge_first(agent->knowledge); node; node = node->hh.next)
        if (solves(node, variant) && (!*request->server || strcmp(request->server, node->name) == 0))
            sift(sieve, node, request, &query);
}

static void name_properties(const struct property_set *set, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (const char *word = property_next(set, NULL); word && used < size; word = property_next(set, word))
        used += (size_t)snprintf(text + used, size - used, "%s\"%s\"", used ? " and " : "", word);
}

/* Returns true if a constraint of the request is the reason. */
static bool explain_constraints(struct agent *agent, const struct variant *variant,
                                const struct request *request, struct esp_error *error)
{
    struct constraints constraints;
    struct sieve sieve;
    char words[200], shown[ESCAPED_TEXT], needed[BYTES_TEXT], had[BYTES_TEXT];
    constraints_get(&request->extensions, &constraints);
    sift_all(agent, variant, request, &sieve);
    if (sieve.taking == 0)
        return false;
    if (sieve.with_properties == 0) {
        name_properties(&constraints.wanted, words, sizeof words);
        error_set(error, ESP_NO_SERVER, "%s is wanted on a server with %s: none of the %u that solve it is",
                  request->problem, words, sieve.taking);
    } else if (sieve.small_enough == 0 && sieve.without_ranks) {
        error_set(error, ESP_NO_SERVER, "only ranks compute %s, and of server \"%s\" it is known: %s",
                  request->problem, sieve.without_ranks->name,
                  escape(property_next(&sieve.without_ranks->terms.ranks_trouble, NULL), shown));
    } else if (sieve.small_enough == 0) {
        error_set(error, ESP_NO_SERVER, "%s takes %s of memory where at most %s are wanted", request->problem,
                  bytes_text(sieve.least_memory, needed), bytes_text(constraints.most_memory_bytes, had));
    } else if (sieve.big_enough && sieve.soonest_s > constraints.finish_s) {
        error_set(error, ESP_NO_SERVER,
                  "%s is wanted within %.4g s: the soonest end is expected in %.4g s, on server \"%s\"",
                  request->problem, constraints.finish_s, sieve.soonest_s, sieve.soonest->name);
    } else {
        return false;
    }
    return true;
}

/* ---- other reasons ---- */

const char *held_words(const struct knowledge_node *node, char text[HELD_TEXT])
{
    char held[BYTES_TEXT];
    *text = 0;
    if (node->terms.held_bytes)
        snprintf(text, HELD_TEXT, " (others on its machine hold %s of what it gives to calls)",
                 bytes_text(node->terms.held_bytes, held));
    return text;
}

const char *limit_words(const struct knowledge_node *node, char text[HELD_TEXT])
{
    return *held_words(node, text) ? text : " (memory in its file)";
}

/* A server is suitable by what is remembered of it, but its answer excluded it. */
static void explain_unchosen(const struct variant *variant, const struct request *request,
                             const struct knowledge_node *node, struct esp_error *error)
{
    struct constraints constraints;
    constraints_get(&request->extensions, &constraints);
    if (!submit_knows(node, variant))
        error_set(error, ESP_NO_SERVER, "server \"%s\" does not solve %s as the client knows it",
                  request->server, variant->problem);
    else if (!node->entry.in)
        error_set(error, ESP_NO_SERVER, "server \"%s\" takes no sessions now", request->server);
    else if (constraints.finish_s < HUGE_VAL)
        error_set(error, ESP_NO_SERVER,
                  "%s is wanted within %.4g s: server \"%s\" has not offered to end it by then",
                  request->problem, constraints.finish_s, request->server);
    else
        error_set(error, ESP_NO_SERVER, "server \"%s\" has not taken %s, which it solves", request->server,
                  request->problem);
}

static void explain_server(struct agent *agent, const struct variant *variant, const struct request *request,
                           struct esp_error *error)
{
    const struct knowledge_node *node = knowledge_find(agent->knowledge, request->server);
    char shown[ESCAPED_TEXT], held[HELD_TEXT], closest[CLOSEST_TEXT];
    char needed[BYTES_TEXT], had[BYTES_TEXT];
    if (!node || node->role != ROLE_SERVER)
        error_set(error, ESP_NO_SERVER, "server \"%s\" is not below \"%s\"%s", escape(request->server, shown),
                  agent->name, closest_node(agent, request->server, true, closest));
    else if (node->draining)
        error_set(error, ESP_NO_SERVER, "server \"%s\" is draining: it takes no new sessions",
                  request->server);
    else if (node_disables(node, request->problem))
        error_set(error, ESP_NO_SERVER,
                  "%s is disabled on server \"%s\" ('espalier admin enable %s --on %s' has it solved there)",
                  request->problem, request->server, request->problem, request->server);
    else if (node->entry.in && node->memory_total < request->memory_bytes)
        error_set(error, ESP_NO_SERVER, "%s needs %s of memory, server \"%s\" has %s%s", request->problem,
                  bytes_text(request->memory_bytes, needed), request->server,
                  bytes_text(node->memory_total, had), limit_words(node, held));
    else
        explain_unchosen(variant, request, node, error);
}

/* The arguments would fit, but the memory that the routine is forecast to take does not. Returns false if
 * it fits. */
static bool explain_forecast(struct agent *agent, const struct variant *variant,
                             const struct request *request, struct esp_error *error)
{
    struct sieve sieve;
    char held[HELD_TEXT], needed[BYTES_TEXT], had[BYTES_TEXT];
    sift_all(agent, variant, request, &sieve);
    if (!sieve.biggest || sieve.big_enough > 0)
        return false;
    error_set(error, ESP_NO_SERVER,
              "%s is forecast to take %s of memory, its routine's own counted: server \"%s\", the biggest "
              "of %u, has %s%s",
              request->problem, bytes_text(sieve.least_memory, needed), sieve.biggest->name,
              sieve.small_enough, bytes_text(sieve.biggest->memory_total, had),
              limit_words(sieve.biggest, held));
    return true;
}

/* Suitable servers exist, but the client has tried them, or a leader agent did not answer in time. */
static void explain_silent(const struct agent *agent, const struct variant *variant,
                           const struct request *request, struct esp_error *error)
{
    const uint32_t capable = submit_capable(variant, request);
    uint32_t tried = 0;
    for (uint32_t i = 0; i < request->n_excluded; i++)
        tried += knowledge_find(agent->knowledge, request->excluded[i]) != NULL;
    if (tried >= capable)
        error_set(error, ESP_NO_SERVER,
                  "all %u servers that could take %s have been tried already, and the request excludes them",
                  capable, request->problem);
    else
        error_set(error, tried ? ESP_NO_SERVER : ESP_UNREACHABLE,
                  "%u of the %u servers that could take %s did not answer their agent in time (do they hang?)"
                  "%s",
                  capable - tried, capable, request->problem,
                  tried ? ", the others have been tried already" : "");
}

void submit_explain(struct agent *agent, const struct variant *variant, const struct request *request,
                    struct esp_error *error)
{
    if (awaited_explain(agent, request, error) || explain_constraints(agent, variant, request, error))
        return;
    if (*request->server) {
        explain_server(agent, variant, request, error);
        return;
    }
    uint32_t servers = variant_servers(variant), taking = 0;
    uint64_t most_memory = 0;
    for (uint32_t i = 0; i < variant->n_catalogs; i++) {
        taking += index_count(&variant->catalogs[i]->index);
        uint64_t memory = index_most_memory(&variant->catalogs[i]->index);
        most_memory = memory > most_memory ? memory : most_memory;
    }
    char lost[LOST_TEXT], needed[BYTES_TEXT], had[BYTES_TEXT];
    if (servers == 0)
        error_set(error, ESP_UNKNOWN_PROBLEM, "no server below \"%s\" solves %s%s", agent->name,
                  request->problem, lost_words(agent, request->problem, lost));
    else if (taking == 0)
        error_set(error, ESP_NO_SERVER, "all %u servers that solve %s are draining", servers,
                  request->problem);
    else if (most_memory < request->memory_bytes)
        error_set(error, ESP_NO_SERVER,
                  "%s needs %s of memory, the biggest of %u servers has %s (memory in its file)",
                  request->problem, bytes_text(request->memory_bytes, needed), taking,
                  bytes_text(most_memory, had));
    else if (!explain_forecast(agent, variant, request, error))
        explain_silent(agent, variant, request, error);
}

void submit_explain_unknown(struct agent *agent, const struct request *request, struct esp_error *error)
{
    const struct variant *other = catalog_choose(agent->catalogs, request->problem, 0);
    const char *closest = catalog_closest(agent->catalogs, request->problem);
    char lost[LOST_TEXT], shown[ESCAPED_TEXT], disabled[DISABLED_TEXT], uncallable[UNCALLABLE_TEXT];
    const char *name = escape(request->problem, shown);
    if (other && variant_servers(other) > 0)
        error_set(error, ESP_UNKNOWN_PROBLEM,
                  "%s is known with another signature (%016" PRIx64 ", the client has %016" PRIx64
                  "): ask for its description again",
                  name, other->digest, request->digest);
    else if (awaited_explain(agent, request, error))
        return;
    else if (disabled_words(agent, request->problem, disabled) > 0)
        error_set(error, ESP_NO_SERVER, "%s%s", disabled, lost_words(agent, request->problem, lost));
    else if (*uncallable_words(agent, request->problem, uncallable))
        error_set(error, ESP_UNKNOWN_PROBLEM, "no server below \"%s\" solves %s%s%s", agent->name, name,
                  lost_words(agent, request->problem, lost), uncallable);
    else if (closest)
        error_set(error, ESP_UNKNOWN_PROBLEM, "no server below \"%s\" solves %s%s; did you mean %s?",
                  agent->name, name, lost_words(agent, request->problem, lost), closest);
    else
        error_set(error, ESP_UNKNOWN_PROBLEM, "no server below \"%s\" solves %s%s", agent->name, name,
                  lost_words(agent, request->problem, lost));
}
