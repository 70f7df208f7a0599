/* SPDX-License-Identifier: Apache-2.0
 *
 * Function handles behind the caller's structs. Handles are found by number, never through a pointer in the
 * caller's memory, so that a struct with garbage in it is invalid and nothing worse.
 */
#ifndef CLIENT_HANDLE_H
#define CLIENT_HANDLE_H

#include "client/arguments/function.h"
#include "grpc.h"

struct handle {
    uint64_t number;
    struct function *function;
    char *server;              /* bound to it; NULL: the agents choose */
    char *address;             /* of that server */
    _Atomic double deadline_s; /* 0: as the configuration says */
    atomic_uint users;
};

struct engine;
struct handles;

enum esp_status handles_create(struct handles **handles, struct esp_error *error);
/* Destructs all handles that are left. */
void handles_destroy(struct handles *handles);

/* Makes a handle for the problem: of the agents, or, unless `server` (a name or an address) is NULL, of that
 * server. It is in no table, and goes with handle_release(). Errors as of functions_get() and
 * engine_find_server(); ESP_UNREACHABLE: what is there is no server that this program could use. */
enum esp_status handle_open(struct engine *engine, const char *server, const char *problem,
                            struct handle **handle, struct esp_error *error);

/* Puts a handle into the table, which owns it from now on (also when this fails). */
enum esp_status handles_put(struct handles *handles, struct handle *handle, grpc_function_handle_t *out,
                            struct esp_error *error);

/* The handle behind the struct, for use until handle_release(); NULL: invalid. Any thread. */
struct handle *handles_use(struct handles *handles, const grpc_function_handle_t *handle);
void handle_release(struct handle *handle);

/* Whether it is still there. */
bool handles_has(struct handles *handles, uint64_t number);

/* False: invalid. */
bool handles_remove(struct handles *handles, const grpc_function_handle_t *handle);

#endif
