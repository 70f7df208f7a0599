/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the caller that a problem's routine calls while the session runs.
 */
#ifndef CLIENT_CALLBACK_H
#define CLIENT_CALLBACK_H

#include "client/session/session.h"

#include <pthread.h>

/* What the caller's function said. */
struct callback_answer {
    uint64_t number; /* of the question; 0: there is none */
    enum esp_status status;
    void *data; /* owned; the reason when the status is not ESP_OK */
    uint32_t length;
};

/* Calls the function that the question is for, in this thread. A question that makes no sense, and a function
 * that fails, is an answer too. */
void callback_run(const struct session *session, const struct follow_reply *question,
                  struct callback_answer *answer);
void callback_answer_release(struct callback_answer *answer);

/* Whether this thread is inside a function of the caller. */
bool callback_is_running(void);
/* Inside of one: the raw scalars of the problem around it that its sizes use
 * (core/problem/problem_callback.h). NULL: there are none. */
const uint64_t *callback_running_outer(void);

/* While a function takes long: tells the server that its client is at work, and shows it by waiting there
 * when the client is gone. */
struct callback_keeper {
    const struct session *session;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started, stopping;
    uint64_t number; /* that is being answered; 0: none */
};

void callback_keeper_open(struct callback_keeper *keeper, const struct session *session);
/* `number` 0: it is answered. */
void callback_keeper_set(struct callback_keeper *keeper, uint64_t number);
void callback_keeper_close(struct callback_keeper *keeper);

#endif
