/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of an agent that may change while it runs: ranking, numbers, waiting times, and the intervals of
 * the children's messages.
 */
#include "agent/agent_internal.h"

#include <math.h>
#include <string.h>

void renew_defaults(struct agent_options *options)
{
#define DEFAULT(field, value)                                                                                \
    if (options->field == 0)                                                                                 \
    options->field = (value)
    DEFAULT(breadth, 8);
    DEFAULT(candidates, 3);
    DEFAULT(waiting, 4096);
    DEFAULT(heartbeat_ms, 2000);
    DEFAULT(lease_ms, 8000);
    DEFAULT(freshness_ms, 10000);
    DEFAULT(answer_timeout_ms, 2000);
    DEFAULT(placement_lease_ms, 10000);
    DEFAULT(report_within_ms, 75);
    DEFAULT(place_within_ms, 25);
#undef DEFAULT
    if (options->breadth > CAP_CANDIDATES)
        options->breadth = CAP_CANDIDATES;
    if (options->candidates > CAP_CANDIDATES)
        options->candidates = CAP_CANDIDATES;
}

/* `name` is a built-in scheduler or the path of a library. */
enum esp_status renew_scheduler(struct agent *agent, const char *name, struct esp_error *error)
{
    const struct esp_scheduler *scheduler = NULL;
    void *library = NULL;
    if (name && strchr(name, '/')) {
        enum esp_status status = scheduler_library_open(name, &library, &scheduler, error);
        if (status != ESP_OK)
            return status;
    } else if (!(scheduler = scheduler_find(name))) {
        return error_set(error, ESP_CONFIG, "no scheduler is named \"%s\"", name);
    }
    scheduler_library_close(agent->library);
    agent->library = library;
    agent->scheduler = scheduler;
    agent->told_no_number = false;
    return ESP_OK;
}

/* NaN counts as infinity: a best server with NaN is no better than the others. */
void renew_check_score(struct agent *agent, const struct esp_server_view *best)
{
    const struct esp_scheduler *scheduler = agent->scheduler;
    if (agent->told_no_number || scheduler->flags & ESP_SCHEDULER_RANDOM || !isnan(scheduler->score(best)))
        return;
    agent->told_no_number = true;
    log_warning(
        "scheduler \"%s\" gives no number (NaN) for the best of the servers, which counts as infinity: it "
        "does not rank them",
        scheduler->name);
}

static enum esp_status renew(struct agent *agent, const struct agent_options *now, struct esp_error *error)
{
    struct agent_options *options = &agent->options;
    enum esp_status status = renew_scheduler(agent, now->scheduler, error);
    if (status != ESP_OK)
        return status;
    options->breadth = now->breadth;
    options->candidates = now->candidates;
    options->ahead = now->ahead;
    options->children = now->children;
    options->waiting = now->waiting;
    options->freshness_ms = now->freshness_ms;
    options->answer_timeout_ms = now->answer_timeout_ms;
    options->placement_lease_ms = now->placement_lease_ms;
    options->heartbeat_ms = now->heartbeat_ms;
    options->lease_ms = now->lease_ms;
    renew_defaults(options);
    children_set_most(agent->children, options->children);
    children_set_terms(agent->children, options->lease_ms, options->heartbeat_ms);
    agent->duty.options.administrators = now->administrators;
    return ESP_OK;
}

enum esp_status agent_renew(struct agent *agent, const struct agent_options *now, const char *pending,
                            struct esp_error *error)
{
    endpoint_enter(agent->endpoint);
    enum esp_status status = now ? renew(agent, now, error) : error->status;
    duty_reloaded(&agent->duty, status, error, pending, "");
    endpoint_leave(agent->endpoint);
    return status;
}

size_t agent_learn_parents(struct agent *agent, const char *const *addresses, size_t n)
{
    endpoint_enter(agent->endpoint);
    const size_t learned = agent->membership ? membership_learn_parents(agent->membership, addresses, n) : 0;
    endpoint_leave(agent->endpoint);
    return learned;
}
