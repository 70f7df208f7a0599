/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of higher rooms of the client at the steps of a call. Arguments and sessions do not know data
 * or sequences. They call these operations, which the library registers at its start (client/api/life.c).
 * An operation that is NULL does nothing and succeeds, so that tests can run calls without those rooms.
 */
#ifndef CLIENT_HOOKS_H
#define CLIENT_HOOKS_H

#include "client/arguments/invocation.h"
#include "espalier.h"

struct engine;
struct values_library;

struct call_hooks {
    /* ---- while arguments are gathered ---- */

    /* Checks whether `given` points to a grpc_data_t (*is_data); if so, binds the datum to the value.
     * Returns ESP_INVALID if the datum does not fit the argument. */
    enum esp_status (*take_data)(struct value *value, const struct argument *argument, void *given,
                                 bool *is_data, struct esp_error *error);
    /* All arguments are gathered: gives the call its place in the order of calls that make and take values
     * of data. */
    void (*enter)(struct invocation *invocation);
    /* Called before contents of arrays are read: returns ESP_NO_SERVER if no server can hold the call. */
    enum esp_status (*check_room)(const struct room *room, const struct function *function,
                                  const struct number *scope, const struct shape *shapes,
                                  struct esp_error *error);
    /* The size of an argument is known: checks that its datum fits, and makes an input part of the
     * thread's sequence. May block. */
    enum esp_status (*check_input)(struct value *value, const struct problem *problem,
                                   const struct number *scope, const struct shape *shape,
                                   struct esp_error *error);
    /* An array of strings is packed as it travels: does for it what check_input does for other arrays. */
    enum esp_status (*check_strings)(struct value *value, const struct problem *problem,
                                     const struct number *scope, const struct shape *shape,
                                     struct esp_error *error);
    /* Called after check_input of all arguments: makes a result part of the sequence. A result may take
     * the place of an input. */
    enum esp_status (*check_result)(struct value *value, const struct problem *problem,
                                    const struct number *scope, const struct shape *shape,
                                    struct esp_error *error);
    /* The memory is about to be written: first fetches results of a sequence that belong there. */
    enum esp_status (*sync)(const void *memory, uint64_t bytes, struct esp_error *error);
    /* Frees what the other operations have bound to the value. */
    void (*release)(struct value *value);

    /* ---- while a session runs ---- */

    /* Called before a server is called: puts values that are to stay there, unless they are on servers
     * already. An error means that this server cannot take the call. `server` may be an address. */
    enum esp_status (*before_call)(struct invocation *invocation, struct engine *engine, const char *server,
                                   const char *address, struct esp_error *error);
    /* Called after the results of that server have arrived: notes those that stayed, and fetches those
     * that are wanted here, too. Blocks. */
    enum esp_status (*after_call)(struct invocation *invocation, struct engine *engine, const char *server,
                                  const char *address, struct esp_error *error);
    /* The called server says that one of the call's data is on no server: looks for data of a sequence
     * again, and computes them again if necessary. Returns ESP_NOT_FOUND if none is of a sequence, or if
     * one cannot be restored. Blocks. */
    enum esp_status (*find_again)(struct invocation *invocation, struct engine *engine,
                                  struct esp_error *error);
    /* No server has the memory for values that a sequence would leave there: has results come to the
     * program's memory, and inputs sent from there. Returns false if there are no such values. */
    bool (*bring_home)(struct invocation *invocation);

    /* ---- for values that are given as text ---- */

    /* Functions of the interface that values need; NULL: values cannot be completed. */
    const struct values_library *values;
};

/* The registered operations; never NULL. */
extern const struct call_hooks *call_hooks;
/* Registers the operations for all later calls. NULL: none. Called while no other thread uses the library. */
void call_hooks_set(const struct call_hooks *hooks);

#endif
