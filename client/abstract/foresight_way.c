/* SPDX-License-Identifier: Apache-2.0
 *
 * Which servers make the steps of a rule. Each step goes where the one before went, if it can be made there
 * (abstract_step.c): so the server of the first one is that of all, and is chosen by what all of them take.
 */
#include "client/abstract/foresight_parts.h"
#include "core/choice/estimate.h"

#include <math.h>
#include <string.h>

/* Another server than the one where the first step would be over first has to be better by this: forecasts
 * are no better, and a site's scheduler may have reasons of its own. */
#define CLEARLY_LESS 0.95

static size_t find_server(const struct gathered *step, const char *name)
{
    size_t i = 0;
    while (i < step->n && strcmp(step->servers[i].server, name) != 0)
        i++;
    return i;
}

/* On the server `at`, where the step before was made ("": there is none), if it can be made there, and
 * nowhere else when that one's state is wanted; else on the soonest one that may be taken. */
static enum esp_status take_step(const char *bound, const char *at, struct gathered *step)
{
    const char *only = bound ? bound : *at ? at : NULL;
    size_t i = only ? find_server(step, only) : 0;
    step->taken = step->n;
    if (only && !bound && !step->wants_state && (i == step->n || step->servers[i].excluded))
        i = 0;
    if (i == step->n)
        return only && step->n > 0 ? error_set(&step->why, ESP_NO_SERVER, "%s does not solve it", only)
                                   : error_set(&step->why, ESP_NO_SERVER, "no server has it");
    if (step->servers[i].excluded)
        return error_set(&step->why, ESP_NO_SERVER, "%s: %s", step->servers[i].server,
                         step->servers[i].excluded);
    step->taken = i;
    step->stays = strcmp(step->servers[i].server, at) == 0;
    return ESP_OK;
}

bool foresight_is_too_large(const struct gathered *step, const char *problem, const char *only,
                            struct esp_error *error)
{
    bool found = false;
    for (size_t i = 0; step->status == ESP_OK && i < step->n; i++) {
        const struct fast_server *server = &step->servers[i];
        if (only && strcmp(server->server, only) != 0)
            continue;
        if (!server->excluded || strncmp(server->excluded, EXCLUDED_NEEDS, strlen(EXCLUDED_NEEDS)) != 0)
            return false;
        if (!found)
            error_set(error, ESP_NO_SERVER, "%s: no server has the memory for it (%s %s)", problem,
                      server->server, server->excluded);
        found = true;
    }
    return found;
}

struct fast_server foresight_taken(const struct gathered *step)
{
    struct fast_server server = step->servers[step->taken];
    if (step->stays) { /* it has been waited for */
        server.total_s -= server.queue_s;
        server.queue_s = 0;
    }
    return server;
}

/* With the first step on that server ("": where it would be over first). Of a step of which nothing is known
 * nothing is counted, wherever the others go; HUGE_VAL: one of them cannot be made. */
static double follow(const char *bound, const char *first, struct gathered *steps, uint32_t n)
{
    double seconds = 0;
    const char *at = "";
    for (uint32_t i = 0; i < n; i++) {
        struct gathered *step = &steps[i];
        step->taken = step->n;
        if (step->status != ESP_OK)
            continue;
        if (take_step(bound, i == 0 ? first : at, step) != ESP_OK) {
            seconds = HUGE_VAL;
            continue;
        }
        step->stays = step->stays && i > 0;
        const struct fast_server server = foresight_taken(step);
        seconds += server.total_s;
        at = server.server;
    }
    return seconds;
}

void foresight_way(struct foresight *foresight, struct gathered *steps, uint32_t n)
{
    const char *bound = foresight->run ? foresight->run->server : NULL, *best = "";
    const double soonest_s = follow(bound, "", steps, n);
    double least_s = soonest_s;
    *foresight->first_at = 0;
    for (size_t i = 0; n > 1 && !bound && steps[0].status == ESP_OK && i < steps[0].n; i++) {
        const struct fast_server *server = &steps[0].servers[i];
        const double seconds = server->excluded ? HUGE_VAL : follow(NULL, server->server, steps, n);
        if (seconds < least_s && seconds < CLEARLY_LESS * soonest_s) {
            least_s = seconds;
            best = server->server;
        }
    }
    follow(bound, best, steps, n);
    if (*best && strlen(best) < sizeof foresight->first_at)
        strcpy(foresight->first_at, best);
}
