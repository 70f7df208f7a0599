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
    char *server;              /* the handle is bound to it; NULL: the agents choose */
    char *address;             /* of that server */
    _Atomic double deadline_s; /* 0: as in the configuration */
    atomic_uint users;
};

struct engine;
struct handles;

enum esp_status handles_create(struct handles **handles, struct esp_error *error);
/* Destructs all remaining handles. */
void handles_destroy(struct handles *handles);

/* Makes a handle for the problem: of the agents, or, unless `server` (a name or an address) is NULL, of
 * that server. The handle is in no table; handle_release() frees it. Errors are those of functions_get()
 * and engine_find_server(). ESP_UNREACHABLE: the address is not that of a server that this program could
 * use. */
enum esp_status handle_open(struct engine *engine, const char *server, const char *problem,
                            struct handle **handle, struct esp_error *error);

/* Puts a handle into the table, which owns it from now on (also if this fails). */
enum esp_status handles_put(struct handles *handles, struct handle *handle, grpc_function_handle_t *out,
                            struct esp_error *error);

/* Returns the handle behind the struct, for use until handle_release(). Returns NULL if it is invalid. Any
 * thread. */
struct handle *handles_use(struct handles *handles, const grpc_function_handle_t *handle);
void handle_release(struct handle *handle);

/* Whether the handle still exists. */
bool handles_has(struct handles *handles, uint64_t number);

/* Returns false if the handle is invalid. */
bool handles_remove(struct handles *handles, const grpc_function_handle_t *handle);

#endif
