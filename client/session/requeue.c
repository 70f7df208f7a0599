/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/requeue.h"
#include "client/session/attempt.h"
#include "client/session/choice.h"
#include "client/session/link.h"
#include "core/choice/terms.h"
#include "core/message/open_sessions.h"
#include "util/clock.h"

#include <string.h>

#define SEARCH_MS 1000 /* limit of the agents' answer */
/* The session is expected to wait as long again as it has waited. It moves if it ends elsewhere after less
 * than this share of that time, and of its computation. */
#define MUCH_SOONER 0.5

/* Asks the server for the session's state, and takes the answer. `give_back`: the server is to end the
 * session if it has not begun it. */
static void ask_server(struct session *session, bool give_back)
{
    struct extension extension = {EXTENSION_GIVE_BACK, (const uint8_t *)"", 0};
    struct message request = {.kind = MESSAGE_FOLLOW}, reply = {0};
    struct esp_error error;
    request.follow = (struct follow){
        .session = session->id,
        .seen = UINT64_MAX, /* the output is for the session's follower */
        .progress = 1,
        .extensions = {&extension, give_back},
    };
    if (attempt_ask(session, &request, 0, &reply, &error) == ESP_OK)
        session_absorb(session, &reply.follow_reply.session);
    message_clear(&reply);
}

/* Excludes the present server for this one request. */
static bool leave_out_present(const struct session *session, struct message *message)
{
    struct request *request = &message->submit.request;
    const char **excluded =
        arena_alloc(&message->arena, (session->n_excluded + 1) * sizeof *request->excluded);
    if (!excluded || session->n_excluded == MOST_EXCLUDED)
        return false;
    for (uint32_t i = 0; i < session->n_excluded; i++)
        excluded[i] = session->excluded[i];
    excluded[session->n_excluded] = session->server;
    request->excluded = excluded;
    request->n_excluded = session->n_excluded + 1;
    return true;
}

/* Has the agents place the session on a server on which it ends within `end_s`. Returns whether there is
 * one. Agents place nothing otherwise. */
static bool find_sooner(struct session *session, double end_s, struct choice *choice)
{
    struct engine *engine = session->engine;
    struct message message = {.kind = MESSAGE_SUBMIT}, reply = {0};
    struct request *request = &message.submit.request;
    struct esp_error unread;
    const int64_t left_ms = session_left_ms(session), timeout_ms = left_ms < SEARCH_MS ? left_ms : SEARCH_MS;
    const bool found = choice_request(session, timeout_ms, &message, &unread) == ESP_OK &&
                       leave_out_present(session, &message) && links_tell(engine, request, &message.arena) &&
                       terms_add_real(&request->extensions, EXTENSION_SOONER, end_s, &message.arena) &&
                       route_ask(engine->route, &message, timeout_ms, &reply, &unread) == ESP_OK &&
                       reply.submit_reply.n_candidates > 0 && choice_of(&reply.submit_reply, choice);
    message_clear(&message);
    message_clear(&reply);
    return found;
}

bool requeue_try(struct session *session)
{
    struct choice choice;
    const double waited_s =
        (double)(clock_now_ns(session->engine->clock) - session->queued_ns) / (double)NS_PER_S;
    session_search_later(session);
    ask_server(session, false); /* the server may have begun the session */
    if (session_search_ns(session) == CLOCK_NEVER || session_is_cancelled(session) ||
        !find_sooner(session, MUCH_SOONER * waited_s + session->forecast_compute_s, &choice))
        return false;
    ask_server(session, true);
    if (!session->lost || !session->unbegun) {
        choice_release(&choice);
        return false;
    }
    attempt_move(session, &choice);
    return true;
}
