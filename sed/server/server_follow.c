/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients that follow a session: they get its output, its progress and the calls of their functions while it
 * runs.
 *
 * A client that computes an answer does not wait here, so its death would not be noticed. Therefore the
 * client counts as lost when the question is sent, until it comes back within the orphan lease with the
 * answer, or with a follow that says that it is working on it (`answered`, and ESP_PENDING).
 */
#include "core/problem/problem_callback.h"
#include "sed/sessions/printed.h"
#include "sed/server/server_state.h"

#include <string.h>
#include <utlist.h>

/* How often progress is read. Routines may set it as often as they like. */
#define LOOK_NS          (200 * NS_PER_MS)
#define MOST_PATIENCE_MS 600000

/* Bytes of output of all sessions together, beyond which no more output is stored. */
#define MOST_PRINTED (64u << 20)

static double progress_of(const struct server *server, const struct session *session)
{
    const struct workers_ops *ops = server->workers->ops;
    if (session->state == SESSION_DONE)
        return 1;
    if (session->state != SESSION_RUNNING || !ops->progress)
        return -1;
    return ops->progress(server->workers, session->job.id);
}

static bool find_question(const struct server *server, const struct session *session,
                          struct job_question *question, void *data)
{
    const struct workers_ops *ops = server->workers->ops;
    return session->state == SESSION_RUNNING && ops->question &&
           ops->question(server->workers, session->job.id, question, data);
}

static bool has_question(const struct server *server, const struct waiter *waiter)
{
    struct job_question question;
    return problem_has_callbacks(waiter->session->problem) &&
           find_question(server, waiter->session, &question, NULL) && question.number != waiter->answering;
}

static void add_question(struct server *server, const struct waiter *waiter, struct message *message)
{
    struct follow_reply *reply = &message->follow_reply;
    struct job_question question;
    uint8_t *data = has_question(server, waiter) ? arena_alloc(&message->arena, CALLBACK_MOST_BYTES) : NULL;
    if (!data || !find_question(server, waiter->session, &question, data))
        return;
    reply->asked = question.number;
    reply->argument = question.argument;
    reply->question = data;
    reply->question_length = question.bytes;
    server_client_lost(server, waiter->session->client);
}

static struct message *follow_answer(const struct waiter *waiter)
{
    struct server *server = waiter->server;
    struct session *session = waiter->session;
    struct message *message = message_create(MESSAGE_FOLLOW_REPLY);
    struct follow_reply *reply = message ? &message->follow_reply : NULL;
    if (!reply)
        return NULL;
    reply->progress = progress_of(server, session);
    uint64_t total = session->printed ? session->printed->total : 0;
    uint64_t fresh = total > waiter->seen ? total - waiter->seen : 0;
    uint8_t *text =
        fresh > 0 ? arena_alloc(&message->arena, fresh < CAP_PRINTED ? fresh : CAP_PRINTED) : NULL;
    reply->position = waiter->seen;
    if (text) {
        reply->text = text;
        reply->text_length = printed_since(session->printed, waiter->seen, text, &reply->position);
    }
    add_question(server, waiter, message);
    session->collected |= waiter->collects && session->state == SESSION_DONE;
    if (server_fill_session(server, session, &message->arena, &reply->session) &&
        server_tell_lease(server, session, message))
        return message;
    message_destroy(message);
    return NULL;
}

static bool has_more(const struct server *server, const struct waiter *waiter)
{
    const struct session *session = waiter->session;
    return server_has_news(session) || (session->printed && session->printed->total > waiter->seen) ||
           progress_of(server, session) > waiter->progress || has_question(server, waiter);
}

static void answer(struct waiter *waiter)
{
    struct message *reply = follow_answer(waiter);
    call_reply(server_dissolve_waiter(waiter), reply);
}

static void on_look(struct timer *timer, int64_t now_ns, void *context)
{
    struct server *server = context;
    struct waiter *waiter = (struct waiter *)((char *)timer - offsetof(struct waiter, patience));
    int64_t next = now_ns + LOOK_NS < waiter->until_ns ? now_ns + LOOK_NS : waiter->until_ns;
    if (now_ns >= waiter->until_ns || has_more(server, waiter) ||
        timers_set(&server->timers, &waiter->patience, next, NULL) != ESP_OK)
        answer(waiter);
}

/* A follow without output and progress only looks at the state of a job, and a client that has it kept goes
 * away. */
static bool collects(const struct follow *follow)
{
    return follow->seen != UINT64_MAX && follow->progress <= 1 &&
           !extension_find(&follow->extensions, EXTENSION_KEEP);
}

/* Answers the follows that said that the client is working on the question. */
static void release_answering(struct session *session, uint64_t number)
{
    struct waiter *waiter, *next;
    DL_FOREACH_SAFE(session->waiters, waiter, next)
    {
        if (waiter->follows && waiter->answering == number)
            answer(waiter);
    }
}

static void take_answer(struct server *server, struct session *session, const struct follow *follow)
{
    const struct workers_ops *ops = server->workers->ops;
    if (follow->answered == 0 || follow->answer_status == ESP_PENDING || !ops->answer ||
        session->state != SESSION_RUNNING)
        return;
    ops->answer(server->workers, session->job.id, follow->answered, (enum esp_status)follow->answer_status,
                follow->answer, follow->answer_length);
    release_answering(session, follow->answered);
}

void server_job_asked(void *arg, uint64_t job_id)
{
    struct server *server = arg;
    endpoint_enter(server->endpoint);
    const struct slot *slot = slots_find(&server->slots, job_id);
    struct session *session = slot ? slot->session : NULL;
    struct waiter *waiter, *next;
    if (session) {
        if (!session->waiters) /* no client is known to be there */
            server_client_lost(server, session->client);
        DL_FOREACH_SAFE(session->waiters, waiter, next)
        {
            if (waiter->follows && has_question(server, waiter))
                answer(waiter);
        }
    }
    endpoint_leave(server->endpoint);
}

void server_on_follow(struct server *server, struct call *call, const struct message *request)
{
    const struct follow *follow = &request->follow;
    struct esp_error error;
    struct session *session = server_find_session(server, &follow->session, &error);
    if (!session) {
        call_reply(call, message_failure(MESSAGE_FOLLOW_REPLY, error.status, "%s", error.text));
        return;
    }
    if (extension_find(&follow->extensions, EXTENSION_KEEP)) {
        if (server_keep_job(server, session, &error) != ESP_OK) {
            call_reply(call, message_failure(MESSAGE_FOLLOW_REPLY, error.status, "%s", error.text));
            return;
        }
        server_set_timer(server, session); /* a job that is kept has another lease */
    }
    if (extension_find(&follow->extensions, EXTENSION_GIVEN_UP)) {
        server_give_up_session(server, session);
        call_reply(call, message_create(MESSAGE_FOLLOW_REPLY));
        return;
    }
    if (extension_find(&follow->extensions, EXTENSION_GIVE_BACK))
        server_give_back(server, session);
    take_answer(server, session, follow);
    uint64_t answering = follow->answer_status == ESP_PENDING ? follow->answered : 0;
    uint64_t patience_ms = follow->patience_ms < MOST_PATIENCE_MS ? follow->patience_ms : MOST_PATIENCE_MS;
    int64_t now_ns = server_now(server);
    struct waiter now = {.server = server,
                         .session = session,
                         .follows = true,
                         .seen = follow->seen,
                         .progress = follow->progress,
                         .collects = collects(follow),
                         .answering = answering};
    struct waiter *waiter = NULL;
    if (patience_ms > 0 && !has_more(server, &now))
        waiter = server_take_waiter(server, session, call, now_ns + (int64_t)patience_ms * NS_PER_MS,
                                    follow_answer);
    if (!waiter) {
        call_reply(call, follow_answer(&now));
        return;
    }
    waiter->follows = true;
    waiter->seen = follow->seen;
    waiter->progress = now.progress;
    waiter->collects = now.collects;
    waiter->answering = answering;
    waiter->patience.fire = on_look;
    waiter->patience.context = server;
    int64_t first = now_ns + LOOK_NS < waiter->until_ns ? now_ns + LOOK_NS : waiter->until_ns;
    if (timers_set(&server->timers, &waiter->patience, first, NULL) != ESP_OK)
        answer(waiter);
}

void server_printed(struct server *server, struct session *session, const char *line)
{
    uint32_t before = session->printed ? session->printed->size : 0;
    /* A session that has a ring goes on in it, however much the others take. */
    if (before == 0 && server->sessions.printed_bytes > MOST_PRINTED)
        return;
    printed_add(&session->printed, line, (uint32_t)strlen(line));
    server->sessions.printed_bytes += (session->printed ? session->printed->size : 0) - before;
    struct waiter *waiter, *next;
    DL_FOREACH_SAFE(session->waiters, waiter, next)
    {
        if (waiter->follows)
            answer(waiter);
    }
}
