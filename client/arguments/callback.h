/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the caller that a problem's routine calls while the session runs.
 */
#ifndef CLIENT_CALLBACK_H
#define CLIENT_CALLBACK_H

#include "client/arguments/invocation.h"

/* What the caller's function said. */
struct callback_answer {
    uint64_t number; /* of the question; 0: there is none */
    enum esp_status status;
    void *data; /* owned; the reason when the status is not ESP_OK */
    uint32_t length;
};

/* Calls the function of the program that the question is for, in this thread. The answer also tells of a
 * question that makes no sense and of a function that fails. */
void callback_run(const struct invocation *invocation, const struct follow_reply *question,
                  struct callback_answer *answer);
void callback_answer_release(struct callback_answer *answer);

/* Whether this thread is inside a function of the caller. */
bool callback_is_running(void);

#endif
