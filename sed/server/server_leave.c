/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a server in good order. Clients call sessions that have not begun elsewhere at once. Running
 * sessions get a grace; sessions that do not end within it are cut short. These sessions are not cancelled,
 * as no client wanted that: the client hears that this server has the session no more, why, and whether the
 * session had begun.
 *
 * A client that looks for a job may come after this process has ended, and calls the job again. So a job that
 * is kept stays in the queue, and may end within the grace. A job that may not be repeated ends here if it
 * has not begun, so that its client hears that.
 *
 * A client whose session waits long may ask for it, to call it on another server.
 */
#include "sed/server/server_state.h"

#include <utlist.h>

static bool is_handed_back(const struct session *session)
{
    return !session->begun && !(session->detached && session->problem->idempotent);
}

/* Searched again each time, as the end of one session makes room for others and changes their states. */
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

void server_give_back(struct server *server, struct session *session)
{
    struct esp_error error;
    if (session->begun || session->detached ||
        (session->state != SESSION_WAITING && session->state != SESSION_QUEUED))
        return;
    session->cut_short = true;
    error_set(&error, ESP_UNREACHABLE, "it had not begun %s, which its client calls on another server",
              session->problem->name);
    server_end_session(server, session, SESSION_CANCELLED, &error);
}

/* In this order the end of a session starts none of the others. */
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

/* Running sessions end when their workers report it. */
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

/* Waiting sessions first, as they would take the slots of running ones. */
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
    membership_tell_due(server->membership); /* also if the server was drained just now */
    membership_leave(server->membership, "it is shutting down");
    cut_short_all(server);
    server_data_stop(server->data);
    endpoint_leave(server->endpoint);
}
