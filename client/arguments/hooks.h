/* SPDX-License-Identifier: Apache-2.0
 *
 * What higher rooms of the client do at the steps of a call. Arguments and sessions do not know data or
 * sequences: they call these operations, which the library registers when it starts (client/api/life.c). An
 * operation that is NULL does nothing and succeeds, so that tests can run calls without those rooms.
 */
#ifndef CLIENT_HOOKS_H
#define CLIENT_HOOKS_H

#include "client/arguments/invocation.h"
#include "espalier.h"

struct engine;
struct values_library;

struct call_hooks {
    /* ---- while arguments are gathered ---- */

    /* Whether `given` points to a grpc_data_t (*is_data); then the datum is bound to the value. ESP_INVALID:
     * the datum does not fit the argument. */
    enum esp_status (*take_data)(struct value *value, const struct argument *argument, void *given,
                                 bool *is_data, struct esp_error *error);
    /* All arguments are gathered: the call takes its place in the order of calls that make and take values of
     * data. */
    void (*enter)(struct invocation *invocation);
    /* Before contents of arrays are read: whether any server can hold the call. ESP_NO_SERVER. */
    enum esp_status (*check_room)(const struct room *room, const struct function *function,
                                  const struct number *scope, const struct shape *shapes,
                                  struct esp_error *error);
    /* The bytes of an argument are known: whether its datum fits, and what goes in of it belongs to the
     * thread's sequence. May block. */
    enum esp_status (*check_input)(struct value *value, const struct problem *problem,
                                   const struct number *scope, const struct shape *shape,
                                   struct esp_error *error);
    /* An array of strings is packed as it travels: what check_input does of other arrays. */
    enum esp_status (*check_strings)(struct value *value, const struct problem *problem,
                                     const struct number *scope, const struct shape *shape,
                                     struct esp_error *error);
    /* After check_input of all arguments: what comes out, as a result may take the place of an input. */
    enum esp_status (*check_result)(struct value *value, const struct problem *problem,
                                    const struct number *scope, const struct shape *shape,
                                    struct esp_error *error);
    /* That memory is about to be written: results of a sequence that belong there come first. */
    enum esp_status (*sync)(const void *memory, uint64_t bytes, struct esp_error *error);
    /* Frees what the other operations have bound to the value. */
    void (*release)(struct value *value);

    /* ---- while a session runs ---- */

    /* Before a server is called: what is to stay there is put there, unless it is on servers already. An
     * error means that the server is none for this call. `server` may be an address. */
    enum esp_status (*before_call)(struct invocation *invocation, struct engine *engine, const char *server,
                                   const char *address, struct esp_error *error);
    /* After the results of that server have come: notes those that stayed, and fetches those that are wanted
     * here as well. Blocks. */
    enum esp_status (*after_call)(struct invocation *invocation, struct engine *engine, const char *server,
                                  const char *address, struct esp_error *error);
    /* The called server says that one of the call's data is nowhere: those of a sequence are looked for
     * again, and computed again if need be. ESP_NOT_FOUND: there is none of a sequence, or one cannot be had.
     * Blocks. */
    enum esp_status (*find_again)(struct invocation *invocation, struct engine *engine,
                                  struct esp_error *error);
    /* No server has the memory for what a sequence would leave there: results are to come to the program's
     * memory, and what is in that is sent. Returns false when there is nothing of the kind. */
    bool (*bring_home)(struct invocation *invocation);

    /* ---- for values that are given as text ---- */

    /* The functions of the interface that values ask for; NULL: values cannot be completed. */
    const struct values_library *values;
};

/* The registered operations; never NULL. */
extern const struct call_hooks *call_hooks;
/* Registers them for all later calls. NULL: none. While no other thread uses the library. */
void call_hooks_set(const struct call_hooks *hooks);

#endif
