/* SPDX-License-Identifier: Apache-2.0
 *
 * A server that ends in good order. What it has not begun its clients take elsewhere at once; what runs gets
 * a grace, and what is not through by then is cut short. Neither is cancelled, as nobody wanted it ended: to
 * its client such a session is one that this server does not have any more, and the report says why, and
 * whether it was begun.
 *
 * Jobs are called again by whoever looks after them next, who may come after this process has ended. So one
 * that is kept stays in the queue, and may get through within the grace; but for those that may not be
 * repeated, which end here, unbegun, so that this can be told.
 */
#include "sed/server/server_state.h"

#include <utlist.h>

static bool is_handed_back(const struct session *session)
{
    return !session->begun && !(session->detached && session->problem->idempotent);
}

/* Looked for anew each time: the end of one makes room for others, which may change their state. */
static struct session *next_in(const struct server *server, enum session_state state)
{
    struct session *session;
    DL_FOREACH2(server->sessions.active, session, next_active)
    {
        if (session->state == state && is_handed_back(session))
            return session;
    }
    return NULL;
}

static void hand_back(struct server *server, struct session *session)
{
    struct esp_error error;
    const char *name = session->problem->name;
    session->cut_short = !session->detached || session->problem->idempotent;
    if (session->cut_short)
        error_set(&error, ESP_UNREACHABLE, "it is shutting down, and had not begun %s", name);
    else
        error_set(&error, ESP_UNREACHABLE,
                  "server %s was stopped before it began %s: nothing was computed, submit it again",
                  server->name, name);
    server_end_session(server, session, SESSION_FAILED, &error);
}

/* In the order in which they would go on: the end of one begins none of the others. */
static void hand_back_unbegun(struct server *server)
{
    static const enum session_state states[] = {SESSION_WAITING, SESSION_RECEIVING, SESSION_QUEUED};
    struct session *session;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        while ((session = next_in(server, states[i])))
            hand_back(server, session);
}

void server_drain(struct server *server, bool restarts)
{
    endpoint_enter(server->endpoint);
    server->duty.restarts = restarts;
    server->stage.ending = !restarts && !server->duty.place.draining && !server->duty.retires;
    server->stage.draining = true;
    membership_touch(server->membership, 0);
    hand_back_unbegun(server);
    endpoint_leave(server->endpoint);
}

/* What runs is stopped by its workers, who tell. */
static struct session *next_idle(const struct server *server)
{
    struct session *session;
    DL_FOREACH2(server->sessions.active, session, next_active)
    {
        if (session->state != SESSION_RUNNING)
            return session;
    }
    return NULL;
}

/* What waits first: it would take the place of what runs. */
static void cut_short_all(struct server *server)
{
    struct session *session, *next;
    while ((session = next_idle(server))) {
        if (!session->begun) {
            hand_back(server, session);
            continue;
        }
        session->cut_short = true;
        server_stop_session(server, session, ESP_MAYBE);
    }
    DL_FOREACH_SAFE2(server->sessions.active, session, next, next_active)
    {
        session->cut_short = session->stopping == ESP_OK;
        server_stop_session(server, session, ESP_MAYBE);
    }
}

void server_leave(struct server *server)
{
    endpoint_enter(server->endpoint);
    server->stage.draining = server->stage.leaving = true;
    server_tell_losses(server);
    membership_tell_due(server->membership); /* that it may be back: it may have been drained just now */
    membership_leave(server->membership, "it is shutting down");
    cut_short_all(server);
    server_data_stop(server->data);
    endpoint_leave(server->endpoint);
}
