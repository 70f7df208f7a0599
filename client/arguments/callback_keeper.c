/* SPDX-License-Identifier: Apache-2.0
 *
 * A server learns that a client is gone from the connection on which it waits. One that computes the answer
 * to a question does not wait; when that takes long, this thread does in its place.
 */
#include "client/arguments/callback.h"
#include "client/session/link.h"
#include "core/transport.h"
#include "util/clock.h"

#define LONG_MS     1000 /* shorter ones are not worth a request */
#define PATIENCE_MS 3000 /* the most that the end of a session may have to wait for this thread */
#define REPLY_MS    5000
#define AGAIN_MS    1000 /* after the server could not be reached */

/* With the lock. True: the question is still the same after so many milliseconds. */
static bool lasts(struct callback_keeper *keeper, uint64_t number, int64_t ms)
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
                                     .seen = UINT64_MAX, /* its text is for the session's runner */
                                     .progress = 1,
                                     .patience_ms = PATIENCE_MS,
                                     .answered = number,
                                     .answer_status = ESP_PENDING};
    enum esp_status status = transport_call(session->engine->transport, session->link->address, &request,
                                            PATIENCE_MS + REPLY_MS, &reply, NULL);
    message_clear(&reply);
    return status;
}

static void *keep(void *arg)
{
    struct callback_keeper *keeper = arg;
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

void callback_keeper_open(struct callback_keeper *keeper, const struct session *session)
{
    *keeper = (struct callback_keeper){.session = session};
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_cond_init(&keeper->changed, NULL);
}

void callback_keeper_set(struct callback_keeper *keeper, uint64_t number)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->number = number;
    /* Without a thread the server waits for the orphan lease only: long enough for most functions. */
    if (!keeper->started && number != 0)
        keeper->started = pthread_create(&keeper->thread, NULL, keep, keeper) == 0;
    pthread_cond_signal(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
}

void callback_keeper_close(struct callback_keeper *keeper)
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
