/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the server has work, and who wants to know when some comes.
 */
#include "sed/server/server_state.h"

#include <math.h>

void server_work_comes(struct server *server)
{
    if (server->on_work)
        server->on_work(server->on_work_arg);
}

static bool has_work(const struct server *server)
{
    return server->sessions.active || server->n_promises > 0 || server->draining || server->leaving;
}

static bool others_work(const struct server *server)
{
    const double quota = server->options.cpu_quota ? fmin(server->options.cpu_quota(), 1) : 1;
    return server->weather.available > 0 && server->weather.forecast < SERVER_QUIET * quota;
}

/* It has had no work for so long. */
static bool has_rested(const struct server *server, int64_t for_ns)
{
    return !has_work(server) && server->slots.running == 0 &&
           server_now(server) - server->idle_since_ns >= for_ns;
}

bool server_is_idle(struct server *server, int64_t for_ns)
{
    endpoint_enter(server->endpoint);
    const bool idle = for_ns > 0 ? has_rested(server, for_ns) && !others_work(server) : !has_work(server);
    endpoint_leave(server->endpoint);
    return idle;
}

bool server_is_crowded(struct server *server, int64_t for_ns, double *left)
{
    endpoint_enter(server->endpoint);
    const bool crowded = has_rested(server, for_ns) && others_work(server);
    *left = server->weather.forecast;
    endpoint_leave(server->endpoint);
    return crowded;
}

void server_watch_work(struct server *server, void (*works)(void *arg), void *arg)
{
    endpoint_enter(server->endpoint);
    server->on_work = works;
    server->on_work_arg = arg;
    endpoint_leave(server->endpoint);
}

void server_set_beside(struct server *server, bool beside)
{
    endpoint_enter(server->endpoint);
    server->beside = beside;
    endpoint_leave(server->endpoint);
}

bool server_has_beside(struct server *server)
{
    endpoint_enter(server->endpoint);
    const bool beside = server->beside;
    endpoint_leave(server->endpoint);
    return beside;
}
