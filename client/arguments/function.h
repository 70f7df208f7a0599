/* SPDX-License-Identifier: Apache-2.0
 *
 * A function: a problem as the client has learned it from the hierarchy.
 */
#ifndef CLIENT_FUNCTION_H
#define CLIENT_FUNCTION_H

#include "core/message/message.h"
#include "core/problem/problem.h"
#include <stdatomic.h>

/* A problem's signature. Immutable except for the count of its users. */
struct function {
    struct problem_set *set;
    const struct problem *problem; /* in the set */
    uint64_t digest;               /* the signature's identity in the hierarchy */
    uint32_t servers;              /* that had it when it was asked for; 0: not known */
    char *signatures;              /* servers with this signature and with others; NULL: all have this one */
    atomic_uint users;
};

/* Makes a function from the description that an agent or a server gave. The caller has a use of it
 * (function_release()). Returns ESP_SYNTAX or ESP_PROTOCOL if the text is no description of that problem. */
enum esp_status function_create(const char *name, const struct describe_reply *described,
                                struct function **function, struct esp_error *error);

/* Adds to an error about a call's arguments which servers have another signature of that name. Returns
 * error->status. */
enum esp_status function_tell_signatures(const struct function *function, struct esp_error *error);

struct function *function_use(struct function *function);
void function_release(struct function *function); /* accepts NULL */

#endif
