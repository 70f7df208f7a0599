/* SPDX-License-Identifier: Apache-2.0
 *
 * Identities of sessions, acknowledgement, and clients that are gone.
 *
 * A client may be gone if a connection on which it waits, has waited, or moves data, is closed or cut off: a
 * process that ends closes its connections, and the keepalive of a machine that is cut off fails. A living
 * client connects again, so its sessions end only when it is silent for the orphan lease. During the lease
 * its queued sessions do not begin. A client that only pauses closes no connection, and loses nothing.
 *
 * The server itself may have paused for longer than the lease, with unread messages of the client. So a lease
 * counts as over when it is found over twice, SECOND_LOOK_NS apart.
 */
#include "sed/server/server_state.h"

#include <stdlib.h>
#include <utlist.h>

static void look_by(struct server *server, int64_t due_ns)
{
    if (due_ns < server->sessions.orphans_due_ns)
        server->sessions.orphans_due_ns = due_ns;
}

void server_client_lost(struct server *server, struct client *client)
{
    if (!client)
        return;
    client->lost_ns = server_now(server);
    client->doubted_ns = 0;
    look_by(server, client->lost_ns + server->options.orphan_lease_ns);
}

void server_part_session(struct server *server, struct session *session)
{
    session->parted_ns = server_now(server);
    server_set_timer(server, session);
}

static bool outlives(const struct session *session)
{
    /* A session without all its arguments will not get them any more. */
    return session->dropped || (session->detached && session->state != SESSION_RECEIVING);
}

/* Whether the client waits for a session here, or is about to. */
static bool has_unfinished(const struct client *client)
{
    const struct session *session;
    DL_FOREACH(client->sessions, session)
    {
        if (!session_has_ended(session) && !outlives(session))
            return true;
    }
    return false;
}

/* Whether the client waits on a connection that is open as far as is known. */
static bool waits(const struct client *client)
{
    const struct session *session;
    if (client->await)
        return true;
    DL_FOREACH(client->sessions, session)
    {
        if (session->waiters)
            return true;
    }
    return false;
}

static bool is_lost(const struct client *client)
{
    return client->lost_ns != 0 && client->seen_ns <= client->lost_ns && !waits(client);
}

bool server_holds_back(const struct session *session)
{
    return session->client && is_lost(session->client) && !outlives(session);
}

void server_client_heard(struct server *server, struct client *client)
{
    client->seen_ns = server_now(server);
    if (client->lost_ns != 0)
        look_by(server, client->seen_ns);
    client->lost_ns = 0;
}

void server_on_parted(void *self, const struct session_id *id)
{
    struct server *server = self;
    struct client *client = client_find(&server->sessions, id->client_high, id->client_low);
    struct session *session;
    if (client && id->sequence == 0 && has_unfinished(client))
        server_client_lost(server, client);
    DL_FOREACH(client ? client->sessions : NULL, session)
    {
        if (session->id.sequence == id->sequence && session->id.secret == id->secret)
            server_part_session(server, session);
    }
}

void server_give_up_session(struct server *server, struct session *session)
{
    char text[SESSION_TEXT];
    if (session->given_up)
        return; /* said again */
    session->given_up = true;
    server->totals.extra_runs += session->begun;
    log_write(LOG_NOTICE_LEVEL, session_id_text(&session->id, text),
              "%s: %s, as its client has called it elsewhere while this server said nothing",
              session->problem->name,
              session_has_ended(session) ? "its result is dropped"
              : session->begun           ? "it is stopped"
                                         : "it is not begun");
    if (session->job_counted) { /* no client will come for it, and no acknowledgement will name it */
        server_forget_session(server, session);
    } else if (session_has_ended(session)) {
        states_give_up(server->states, session);
        server_drop_result(server, session);
    } else {
        server_stop_session(server, session, ESP_CANCELLED);
    }
}

static void give_up(struct server *server, struct client *client)
{
    struct session *session, *next;
    unsigned n = 0;
    DL_FOREACH_SAFE(client->sessions, session, next)
    {
        if (outlives(session))
            continue;
        n++;
        if (session_has_ended(session))
            server_drop_result(server, session);
        else
            server_stop_session(server, session, ESP_UNREACHABLE);
    }
    if (n > 0)
        log_notice("a client (%016llx) is gone: %u of its sessions end", (unsigned long long)client->key[0],
                   n);
}

void server_give_up_orphans(struct server *server)
{
    int64_t now_ns = server_now(server);
    if (now_ns < server->sessions.orphans_due_ns)
        return;
    server->sessions.orphans_due_ns = CLOCK_NEVER;
    for (struct client *client = server->sessions.clients; client; client = client->hh.next) {
        if (client->lost_ns == 0)
            continue;
        int64_t due_ns = client->doubted_ns != 0 ? client->doubted_ns + SECOND_LOOK_NS
                                                 : client->lost_ns + server->options.orphan_lease_ns;
        if (!is_lost(client)) { /* the client came back */
            client->lost_ns = 0;
        } else if (now_ns < due_ns) {
            look_by(server, due_ns);
        } else if (client->doubted_ns == 0) {
            client->doubted_ns = now_ns;
            look_by(server, now_ns + SECOND_LOOK_NS);
        } else {
            client->lost_ns = 0;
            give_up(server, client);
        }
    }
}

/* ---- identity, and what a client has acknowledged ---- */

struct session *server_find_session(struct server *server, const struct session_id *id,
                                    struct esp_error *error)
{
    struct session *session = session_find(&server->sessions, id);
    char text[SESSION_TEXT];
    if (!session) {
        error_set(error, ESP_NOT_FOUND, "server %s has no session %s", server->name,
                  session_id_text(id, text));
        return NULL;
    }
    if (session->id.secret != id->secret) {
        error_set(error, ESP_REFUSED, "session %s: the secret is not the one it was opened with",
                  session_id_text(id, text));
        return NULL;
    }
    session->heard_ns = server_now(server);
    server_client_heard(server, session->client);
    server_data_client_seen(server->data, session->client->key);
    return session;
}

void server_acknowledge(struct server *server, struct client *client, uint64_t floor)
{
    if (floor <= client->floor)
        return;
    struct session *session, *next;
    client->floor = floor;
    DL_FOREACH_SAFE(client->sessions, session, next)
    {
        if (session->id.sequence < floor)
            server_forget_session(server, session);
    }
}

/* Messages overtake each other: only a later list that reaches further is taken. */
void server_acknowledge_open(struct server *server, struct client *client,
                             const struct extensions *extensions)
{
    struct open_sessions open;
    if (!open_get(extensions, &open))
        return;
    if (!client->open)
        client->open = calloc(1, sizeof *client->open);
    if (!client->open || open.version <= client->open->version || open.ceiling < client->open->ceiling) {
        open_clear(&open);
        return;
    }
    open_clear(client->open);
    *client->open = open;
    struct session *session, *next;
    DL_FOREACH_SAFE(client->sessions, session, next)
    {
        if (open_excludes(&open, session->id.sequence))
            server_forget_session(server, session);
    }
}
