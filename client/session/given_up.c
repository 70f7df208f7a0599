/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/given_up.h"
#include "client/arguments/invocation_data.h"
#include "client/session/choice.h"
#include "client/session/link.h"
#include "core/message/open_sessions.h"
#include "util/clock.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define LATE_MS 1000 /* most delay of the first answer */
#define LOOK_MS 1500 /* and of each of the next answers */
#define STEADY  6    /* number of such answers before they may take longer */
#define ASK_MS  3000 /* time in which agents say whether a server is lost */

/* limit of informing a server that is back */
#define TELL_MS       500
#define TELL_AGAIN_MS 1000
#define TELL_FOR_NS   (600 * NS_PER_S) /* a session's result is not stored for longer */

int64_t given_up_answer_ms(const struct engine *engine, unsigned unanswered, int64_t patience_ms)
{
    int64_t most_ms = engine->call_timeout_ms, late_ms = LATE_MS;
    if (engine->answer_patience_ms <= 0)
        late_ms = most_ms;
    else if (unanswered > 0)
        late_ms = (int64_t)LOOK_MS << (unanswered <= STEADY ? 0 : unanswered < 16 ? unanswered - STEADY : 10);
    return patience_ms + (late_ms < most_ms ? late_ms : most_ms);
}

bool given_up_is_lost(struct engine *engine, const char *server, const char *address)
{
    struct message request = {.kind = MESSAGE_TREE, .tree = {.node = server}}, reply = {0};
    struct esp_error unread;
    const int64_t timeout_ms = engine->call_timeout_ms < ASK_MS ? engine->call_timeout_ms : ASK_MS;
    const enum esp_status status = route_ask(engine->route, &request, timeout_ms, &reply, &unread);
    bool lost = status == ESP_NOT_FOUND || status == ESP_NO_SERVER;
    if (status == ESP_OK && reply.tree_reply.n_records > 0)
        lost = strcmp(reply.tree_reply.records[0].address, address) != 0;
    message_clear(&reply);
    return lost;
}

/* Whether each of its data was also on another server when it was looked up. */
static bool has_data_elsewhere(const struct session *session)
{
    const char *silent = session->link->address;
    for (uint32_t i = 0; i < session->invocation.n_values; i++) {
        const char *datum = session->invocation.values[i].datum;
        const char *holders = datum ? strchr(datum, ' ') : NULL;
        if (datum && (!holders || strcmp(holders + 1, silent) == 0))
            return false;
    }
    return true;
}

static void lose(struct session *session)
{
    session->lost = true;
    error_set(&session->remote_error, ESP_TIMEOUT, "it fell silent: it is stopped, overloaded or cut off");
}

static bool may_leave(struct session *session)
{
    return session_may_move(session) && !session->attached && has_data_elsewhere(session) &&
           choice_knows_other(session);
}

bool given_up_leaves(struct session *session)
{
    const bool leaves = may_leave(session);
    if (leaves)
        lose(session);
    return leaves;
}

bool given_up_in_transfer(struct session *session)
{
    const struct engine *engine = session->engine;
    const int64_t until_ns = clock_now_ns(engine->clock) + engine->call_timeout_ms * NS_PER_MS;
    struct esp_error unread;
    for (unsigned unanswered = 1; session_may_move(session) && !session_is_cancelled(session) &&
                                  session_left_ms(session) > 1 && clock_now_ns(engine->clock) < until_ns;
         unanswered++) {
        if (link_acknowledge_within(session->link, given_up_answer_ms(engine, unanswered, 0), &unread) !=
            ESP_TIMEOUT)
            return false;
        if (given_up_is_lost(session->engine, session->server, session->link->address))
            return may_leave(session);
    }
    return false;
}

/* A job is called again with its stored arguments. */
static bool leaves(struct session *session)
{
    if (!given_up_is_lost(session->engine, session->server, session->link->address))
        return false;
    if (!session->attached)
        return given_up_leaves(session);
    if (!session->job_ops->is_kept(session->record))
        return false;
    lose(session);
    return true;
}

bool given_up_watch(struct session *session)
{
    const struct engine *engine = session->engine;
    struct patience patience = engine_patience(engine);
    const bool movable = session_may_move(session);
    for (unsigned unanswered = 1; !session_is_cancelled(session) && session_left_ms(session) > 1;
         unanswered++) {
        struct esp_error error;
        const int64_t most_ms = session_left_ms(session) + GRACE_MS,
                      look_ms = given_up_answer_ms(engine, unanswered, 0);
        if (link_acknowledge_within(session->link, look_ms < most_ms ? look_ms : most_ms, &error) !=
            ESP_TIMEOUT)
            return false;
        if (movable && leaves(session))
            return true;
        if (!patience_lasts(&patience, true, clock_now_ns(engine->clock))) {
            lose(session);
            return true;
        }
    }
    return true;
}

/* ---- servers to be informed when they are back ---- */

struct given_up {
    struct link *link;
    struct session_id id;
    int64_t until_ns;
    struct given_up *prev, *next;
};

/* Returns false if the server does not answer; it may do so later. */
static bool tell(struct engine *engine, const struct given_up *given_up)
{
    struct extension extension = {EXTENSION_GIVEN_UP, (const uint8_t *)"", 0};
    struct message request = {.kind = MESSAGE_FOLLOW,
                              .follow = {.session = given_up->id, .extensions = {&extension, 1}}},
                   reply = {0};
    const enum esp_status status =
        transport_call(engine->transport, given_up->link->address, &request, TELL_MS, &reply, NULL);
    message_clear(&reply);
    return !session_is_uncertain(status) && status != ESP_UNREACHABLE;
}

/* Returns NULL if there are none left; the next entry starts the job again. */
static struct given_up *first_one(struct engine *engine)
{
    pthread_mutex_lock(&engine->marks_lock);
    struct given_up *first = engine->given_up;
    engine->tells = first != NULL;
    pthread_mutex_unlock(&engine->marks_lock);
    return first;
}

/* Moves all entries of that link behind those of other links. */
static void postpone(struct engine *engine, const struct link *link)
{
    struct given_up *given_up, *next, *last;
    pthread_mutex_lock(&engine->marks_lock);
    last = engine->given_up->prev;
    for (given_up = engine->given_up; given_up; given_up = given_up == last ? NULL : next) {
        next = given_up->next;
        if (given_up->link == link) {
            DL_DELETE(engine->given_up, given_up);
            DL_APPEND(engine->given_up, given_up);
        }
    }
    pthread_mutex_unlock(&engine->marks_lock);
}

static void forget(struct engine *engine, struct given_up *given_up)
{
    pthread_mutex_lock(&engine->marks_lock);
    DL_DELETE(engine->given_up, given_up);
    pthread_mutex_unlock(&engine->marks_lock);
    free(given_up);
}

/* One thread delivers all entries; no other thread removes one. */
static void tell_job(void *arg)
{
    struct engine *engine = arg;
    struct given_up *given_up;
    while (!atomic_load(&engine->closing) && (given_up = first_one(engine))) {
        if (tell(engine, given_up) || clock_now_ns(engine->clock) >= given_up->until_ns) {
            forget(engine, given_up);
            continue;
        }
        postpone(engine, given_up->link);
        engine_pause(&engine->closing, TELL_AGAIN_MS);
    }
}

void given_up_note(struct engine *engine, struct link *link, const struct session_id *id)
{
    struct given_up *given_up = malloc(sizeof *given_up);
    if (!given_up)
        return; /* it drops the result when its lease ends */
    *given_up =
        (struct given_up){.link = link, .id = *id, .until_ns = clock_now_ns(engine->clock) + TELL_FOR_NS};
    pthread_mutex_lock(&engine->marks_lock);
    DL_APPEND(engine->given_up, given_up);
    const bool begin = !engine->tells;
    engine->tells = true;
    pthread_mutex_unlock(&engine->marks_lock);
    if (!begin)
        return;
    engine->telling = (struct thread_job){.run = tell_job, .arg = engine};
    if (thread_pool_submit(engine->pollers, &engine->telling))
        return;
    pthread_mutex_lock(&engine->marks_lock);
    engine->tells = false; /* the next entry starts it again */
    pthread_mutex_unlock(&engine->marks_lock);
}

void given_up_clear(struct engine *engine)
{
    struct given_up *given_up, *next;
    DL_FOREACH_SAFE(engine->given_up, given_up, next)
    {
        DL_DELETE(engine->given_up, given_up);
        free(given_up);
    }
}
