/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the program that a problem's routine calls while the session runs.
 */
#ifndef CLIENT_CALLBACK_H
#define CLIENT_CALLBACK_H

#include "client/arguments/invocation.h"

/* The answer of the program's function. */
struct callback_answer {
    uint64_t number; /* of the question; 0: none */
    enum esp_status status;
    void *data; /* owned; the error text if the status is not ESP_OK */
    uint32_t length;
};

/* Calls the program's function for the question, in this thread. The answer also reports an invalid
 * question, and an error of the function. */
void callback_run(const struct invocation *invocation, const struct follow_reply *question,
                  struct callback_answer *answer);
void callback_answer_release(struct callback_answer *answer);

/* Whether this thread is inside a function of the program. */
bool callback_is_running(void);

#endif
