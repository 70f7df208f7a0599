/* SPDX-License-Identifier: Apache-2.0
 *
 * Following a session: one long poll at a time, which returns the session's output, its progress, and its
 * end.
 */
#include "client/arguments/callback.h"
#include "client/session/attempt.h"
#include "client/session/link.h"
#include "core/problem/problem_callback.h"
#include "util/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS     2500 /* a silent server is noticed after this */
#define JOB_POLL_MS 1000 /* the server does not notice when this process stops waiting for a job */
#define MOST_KEPT   CAP_PRINTED

/* ---- output ---- */

/* Called with the marks lock held. */
static void keep(struct following *following, const char *text, size_t length)
{
    if (!following->kept && !(following->kept = malloc(MOST_KEPT))) {
        following->lost += length;
        return;
    }
    if (length > MOST_KEPT) {
        following->lost += length - MOST_KEPT;
        text += length - MOST_KEPT;
        length = MOST_KEPT;
    }
    if (following->n_kept + length > MOST_KEPT) {
        size_t drop = following->n_kept + length - MOST_KEPT;
        memmove(following->kept, following->kept + drop, following->n_kept - drop);
        following->n_kept -= drop;
        following->lost += drop;
    }
    memcpy(following->kept + following->n_kept, text, length);
    following->n_kept += length;
}

static int lost_text(char *text, size_t size, uint64_t bytes)
{
    return snprintf(text, size, "[%llu bytes of output are lost]\n", (unsigned long long)bytes);
}

size_t session_take_output(struct session *session, char *buffer, size_t size)
{
    struct following *following = &session->following;
    pthread_mutex_lock(&session->engine->marks_lock);
    size_t used = 0;
    char text[64];
    if (following->lost > 0) {
        size_t length = (size_t)lost_text(text, sizeof text, following->lost);
        if (length <= size) {
            memcpy(buffer, text, length);
            used = length;
            following->lost = 0;
        }
    }
    size_t n = following->lost > 0 ? 0 : following->n_kept < size - used ? following->n_kept : size - used;
    if (n > 0) {
        memcpy(buffer + used, following->kept, n);
        memmove(following->kept, following->kept + n, following->n_kept - n);
        following->n_kept -= n;
    }
    pthread_mutex_unlock(&session->engine->marks_lock);
    return used + n;
}

static void take_text(struct session *session, const struct follow_reply *reply)
{
    struct following *following = &session->following;
    uint64_t lost = reply->position > following->seen ? reply->position - following->seen : 0;
    const char *text = (const char *)reply->text;
    following->seen = reply->position + reply->text_length;
    if (following->output) {
        char words[64];
        if (lost > 0)
            following->output(following->arg, words, (size_t)lost_text(words, sizeof words, lost));
        if (reply->text_length > 0)
            following->output(following->arg, text, reply->text_length);
        return;
    }
    pthread_mutex_lock(&session->engine->marks_lock);
    following->lost += lost;
    if (reply->text_length > 0)
        keep(following, text, reply->text_length);
    pthread_mutex_unlock(&session->engine->marks_lock);
}

static void take_progress(struct session *session, double progress)
{
    struct following *following = &session->following;
    if (!(progress >= 0 && progress <= 1) || progress == following->told)
        return;
    pthread_mutex_lock(&session->engine->marks_lock);
    following->told = progress;
    pthread_mutex_unlock(&session->engine->marks_lock);
    if (following->progress)
        following->progress(following->arg, progress);
}

/* ---- functions of the program that take long ---- */

/* A server notices that a client is gone by the connection of its poll. A client that computes the answer
 * to a question has no poll under way; if that takes long, this thread polls in its place. */

#define LONG_MS     1000 /* a shorter function needs no poll */
#define PATIENCE_MS 3000 /* the longest delay of the session's end by this thread */
#define REPLY_MS    5000
#define AGAIN_MS    1000 /* pause after the server could not be reached */

struct keeper {
    const struct session *session;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started, stopping;
    uint64_t number; /* the question that is being answered; 0: none */
};

/* Called with the lock held. Returns true if the same question is still being answered after so many
 * milliseconds. */
static bool lasts(struct keeper *keeper, uint64_t number, int64_t ms)
{
    const struct timespec until = clock_ms_from_now(CLOCK_REALTIME, ms);
    int late = 0;
    while (keeper->number == number && !keeper->stopping && late == 0)
        late = pthread_cond_timedwait(&keeper->changed, &keeper->lock, &until);
    return keeper->number == number && !keeper->stopping;
}

static enum esp_status wait_there(const struct session *session, uint64_t number)
{
    struct message request = {.kind = MESSAGE_FOLLOW}, reply = {0};
    request.follow = (struct follow){.session = session->id,
                                     .seen = UINT64_MAX, /* the output is for the session's runner */
                                     .progress = 1,
                                     .patience_ms = PATIENCE_MS,
                                     .answered = number,
                                     .answer_status = ESP_PENDING};
    enum esp_status status = transport_call(session->engine->transport, session->link->address, &request,
                                            PATIENCE_MS + REPLY_MS, &reply, NULL);
    message_clear(&reply);
    return status;
}

static void *keep_asking(void *arg)
{
    struct keeper *keeper = arg;
    pthread_mutex_lock(&keeper->lock);
    while (!keeper->stopping) {
        uint64_t number = keeper->number;
        if (number == 0) {
            pthread_cond_wait(&keeper->changed, &keeper->lock);
            continue;
        }
        int64_t ms = LONG_MS;
        while (lasts(keeper, number, ms)) {
            pthread_mutex_unlock(&keeper->lock);
            ms = wait_there(keeper->session, number) == ESP_OK ? 1 : AGAIN_MS;
            pthread_mutex_lock(&keeper->lock);
        }
    }
    pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

static void keeper_open(struct keeper *keeper, const struct session *session)
{
    *keeper = (struct keeper){.session = session};
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_cond_init(&keeper->changed, NULL);
}

static void keeper_set(struct keeper *keeper, uint64_t number)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->number = number;
    /* Without this thread the server waits for the orphan lease only, which is long enough for most
     * functions. */
    if (!keeper->started && number != 0)
        keeper->started = pthread_create(&keeper->thread, NULL, keep_asking, keeper) == 0;
    pthread_cond_signal(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
}

static void keeper_close(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->stopping = true;
    pthread_cond_signal(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
    if (keeper->started)
        pthread_join(keeper->thread, NULL);
    pthread_cond_destroy(&keeper->changed);
    pthread_mutex_destroy(&keeper->lock);
}

/* ---- asking ---- */

/* Milliseconds until the session looks for another server. */
static int64_t search_ms(const struct session *session)
{
    const int64_t due_ns = session_search_ns(session), now_ns = clock_now_ns(session->engine->clock);
    return due_ns <= now_ns ? 0 : (due_ns - now_ns) / NS_PER_MS + 1;
}

static void build(const struct session *session, const struct callback_answer *answer,
                  struct message *request)
{
    int64_t left_ms = session_left_ms(session), poll_ms = session->is_job ? JOB_POLL_MS : POLL_MS;
    if (search_ms(session) < poll_ms)
        poll_ms = search_ms(session);
    request->follow = (struct follow){.session = session->id,
                                      .seen = session->following.seen,
                                      .progress = session->following.told,
                                      .patience_ms = (uint64_t)(left_ms < poll_ms ? left_ms : poll_ms),
                                      .answered = answer->number,
                                      .answer_status = answer->status,
                                      .answer = answer->data,
                                      .answer_length = answer->length};
}

static bool is_settled(const struct session *session)
{
    int remote = atomic_load(&session->remote);
    if (session->is_job && !session->attached && session->job_ops->is_handed_over(session))
        return true;
    return session->lost || remote >= SESSION_DONE || remote == SESSION_RECEIVING;
}

/* The server does not know this request, so the session continues without output. A routine that asks
 * questions would wait for ever, and a job could not be told from one that the server does not have; these
 * end with an error. */
static void go_without(struct session *session, const struct esp_error *error)
{
    if (!session->is_job && !problem_has_callbacks(session->invocation.function->problem)) {
        session->follow = false;
        return;
    }
    session->lost = true;
    session->remote_error = *error;
}

/* Sends one request, with the answer to the last question, and takes the reply. Returns false if the
 * session is over. */
static bool follow_once(struct session *session, struct keeper *keeper, struct callback_answer *answer)
{
    struct message request = {.kind = MESSAGE_FOLLOW}, reply = {0};
    struct esp_error error = {0};
    build(session, answer, &request);
    enum esp_status status =
        attempt_ask(session, &request, (int64_t)request.follow.patience_ms, &reply, &error);
    callback_answer_release(answer);
    if (status == ESP_OK && session->attached)
        session->absence.begun_ns = 0; /* a silent server has answered again */
    if (status == ESP_OK) {
        take_text(session, &reply.follow_reply);
        take_progress(session, reply.follow_reply.progress);
        session_absorb(session, &reply.follow_reply.session);
    } else if (!session->lost) {
        go_without(session, &error);
    }
    if (status == ESP_OK && reply.follow_reply.asked > 0 && !is_settled(session) &&
        !session_is_cancelled(session)) {
        keeper_set(keeper, reply.follow_reply.asked);
        callback_run(&session->invocation, &reply.follow_reply, answer);
        keeper_set(keeper, 0);
    }
    message_clear(&reply);
    return status == ESP_OK && session_left_ms(session) > 1;
}

void session_follow(struct session *session)
{
    struct keeper keeper;
    struct callback_answer answer = {.number = 0};
    keeper_open(&keeper, session);
    while (!is_settled(session) && !session_is_cancelled(session) && !session->restless &&
           follow_once(session, &keeper, &answer))
        session->restless = search_ms(session) == 0;
    callback_answer_release(&answer);
    keeper_close(&keeper);
}
