/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the server has work, and a callback for new work.
 */
#include "sed/server/server_state.h"

#include <math.h>
#include <stdlib.h>

struct idleness {
    void (*on_work)(void *arg); /* NULL: none */
    void *on_work_arg;
    int64_t since_ns;  /* when the last session ended */
    uint32_t promised; /* sessions that agents promised, and that have not called yet */
    bool beside;       /* something of its own computes outside of sessions, and ends when work comes */
};

void server_work_comes(struct server *server)
{
    if (server->idleness->on_work)
        server->idleness->on_work(server->idleness->on_work_arg);
}

static bool has_work(const struct server *server)
{
    return server->sessions.active || server->idleness->promised > 0 || server->stage.draining ||
           server->stage.leaving;
}

static bool others_work(const struct server *server)
{
    const double quota = server->options.cpu_quota ? fmin(server->options.cpu_quota(), 1) : 1;
    return server_weather(server)->available > 0 && server_weather(server)->forecast < SERVER_QUIET * quota;
}

/* Whether the server had no work for so long. */
static bool has_rested(const struct server *server, int64_t for_ns)
{
    return !has_work(server) && server->slots.running == 0 &&
           server_now(server) - server->idleness->since_ns >= for_ns;
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
    *left = server_weather(server)->forecast;
    endpoint_leave(server->endpoint);
    return crowded;
}

void server_watch_work(struct server *server, void (*works)(void *arg), void *arg)
{
    endpoint_enter(server->endpoint);
    server->idleness->on_work = works;
    server->idleness->on_work_arg = arg;
    endpoint_leave(server->endpoint);
}

void server_set_beside(struct server *server, bool beside)
{
    endpoint_enter(server->endpoint);
    server->idleness->beside = beside;
    endpoint_leave(server->endpoint);
}

bool server_has_beside(struct server *server)
{
    endpoint_enter(server->endpoint);
    const bool beside = server->idleness->beside;
    endpoint_leave(server->endpoint);
    return beside;
}

void server_work_promised(struct server *server, uint32_t n)
{
    const bool more = n > server->idleness->promised;
    server->idleness->promised = n;
    if (more)
        server_work_comes(server);
}

bool server_is_beside(const struct server *server)
{
    return server->idleness->beside;
}

void server_idle_begin(struct server *server)
{
    server->idleness->since_ns = server_now(server);
}

static void on_ended(struct server *server, struct session *session)
{
    server->idleness->since_ns = session->ended_ns;
}

const struct session_observer idle_observer = {.ended = on_ended};

bool server_idle_create(struct server *server)
{
    return (server->idleness = calloc(1, sizeof *server->idleness));
}

void server_idle_destroy(struct server *server)
{
    free(server->idleness);
}
