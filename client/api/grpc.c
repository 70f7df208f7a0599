/* SPDX-License-Identifier: Apache-2.0
 *
 * The GridRPC API: include/grpc.h describes the functions, and the lower rooms implement them.
 */
#include "client/api/call.h"
#include "client/api/life.h"
#include "client/session/library.h"
#include "client/session/table.h"
#include "grpc_data.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Begins each function: outside of the library's life it returns the error. */
#define ENTER(library)                                                                                       \
    struct library *library = library_enter(library_error());                                                \
    if (!library)                                                                                            \
    return not_inside()

/* Begins each function that returns an id. */
#define ENTER_FOR_ID(library, id)                                                                            \
    struct library *library = library_enter(library_error());                                                \
    if (!library && (id))                                                                                    \
        *(id) = GRPC_SESSIONID_VOID;                                                                         \
    if (!library)                                                                                            \
    return not_inside()

static grpc_error_t not_inside(void)
{
    return library_error()->status == ESP_REFUSED ? GRPC_OTHER_ERROR_CODE : GRPC_NOT_INITIALIZED;
}

static grpc_error_t leave(grpc_error_t code)
{
    library_leave(code == GRPC_NO_ERROR);
    return code;
}

/* A wrong use of the API, with its text. */
static grpc_error_t wrong(grpc_error_t code, const char *text)
{
    error_set(library_error(), ESP_INVALID, "%s", text);
    return code;
}

static grpc_error_t null_pointer(const char *name)
{
    error_set(library_error(), ESP_INVALID, "%s: expected a pointer, found a null pointer", name);
    return GRPC_OTHER_ERROR_CODE;
}

static grpc_error_t invalid_handle(void)
{
    return wrong(GRPC_INVALID_FUNCTION_HANDLE, "the function handle was never made, or was destructed");
}

/* Adds the text to the codes that have none of their own. */
static grpc_error_t explain(grpc_error_t code)
{
    if (code == GRPC_INVALID_SESSION_ID)
        return wrong(code, "no session has this id (any more)");
    if (code == GRPC_NOT_COMPLETED || code == GRPC_NONE_COMPLETED)
        error_set(library_error(), ESP_PENDING, "%s", grpc_error_string(code));
    return code;
}

/* ---- codes ---- */

/* Why a handle could not be made. */
static grpc_error_t handle_code(enum esp_status status)
{
    switch (status) {
    case ESP_NOT_FOUND:
    case ESP_TIMEOUT:
    case ESP_MAYBE:
        return GRPC_SERVER_NOT_FOUND;
    case ESP_SYNTAX: /* a description that this library does not understand */
        return GRPC_COMMUNICATION_FAILED;
    case ESP_INVALID:
    case ESP_SYSTEM:
    case ESP_NO_MEMORY:
        return GRPC_OTHER_ERROR_CODE;
    default:
        return outcome_code(status);
    }
}

/* Why the library could not be initialized. */
static grpc_error_t config_code(enum esp_status status)
{
    switch (status) {
    case ESP_OK:
        return GRPC_NO_ERROR;
    case ESP_NOT_FOUND:
        return GRPC_CONFIGFILE_NOT_FOUND;
    case ESP_CONFIG:
    case ESP_SYNTAX:
    case ESP_LIMIT:
    case ESP_SECURITY: /* certificates that the file names */
        return GRPC_CONFIGFILE_ERROR;
    default:
        return GRPC_OTHER_ERROR_CODE;
    }
}

/* ---- begin and end ---- */

grpc_error_t grpc_initialize(char *config_file_name)
{
    bool again;
    struct esp_options options = {.config = config_file_name};
    enum esp_status status = library_start(&options, &again, library_error());
    return again ? GRPC_ALREADY_INITIALIZED : config_code(status);
}

grpc_error_t grpc_finalize(void)
{
    return library_stop(library_error()) == ESP_OK ? GRPC_NO_ERROR : not_inside();
}

/* ---- function handles ---- */

/* `server` NULL: the agents choose for each call. */
static grpc_error_t make_handle(struct library *library, const char *server, const char *problem,
                                grpc_function_handle_t *out)
{
    struct handle *handle;
    struct esp_error *error = library_error();
    enum esp_status status = handle_open(library->engine, server, problem, &handle, error);
    if (status == ESP_OK)
        status = handles_put(library->handles, handle, out, error);
    return leave(handle_code(status));
}

grpc_error_t grpc_function_handle_default(grpc_function_handle_t *handle, char *func_name)
{
    ENTER(library);
    if (!handle || !func_name)
        return leave(null_pointer(handle ? "func_name" : "handle"));
    return make_handle(library, NULL, func_name, handle);
}

grpc_error_t grpc_function_handle_init(grpc_function_handle_t *handle, char *server_name, char *func_name)
{
    ENTER(library);
    if (!handle || !server_name || !func_name)
        return leave(null_pointer(!handle ? "handle" : !server_name ? "server_name" : "func_name"));
    return make_handle(library, server_name, func_name, handle);
}

grpc_error_t grpc_function_handle_destruct(grpc_function_handle_t *handle)
{
    ENTER(library);
    return leave(handles_remove(library->handles, handle) ? GRPC_NO_ERROR : invalid_handle());
}

grpc_error_t grpc_get_handle(grpc_function_handle_t **handle, grpc_sessionid_t sessionID)
{
    if (handle)
        *handle = NULL;
    ENTER(library);
    uint64_t number = 0;
    if (!handle)
        return leave(null_pointer("handle"));
    grpc_error_t code = table_get_handle(library->table, sessionID, handle, &number);
    if (code == GRPC_NO_ERROR && !handles_has(library->handles, number)) {
        *handle = NULL;
        code = invalid_handle();
    }
    return leave(explain(code));
}

/* ---- calls ---- */

static enum esp_status gather(struct library *library, const struct handle *handle, va_list list,
                              struct invocation *invocation)
{
    const struct room room = {library->engine, handle->server};
    const enum esp_status status =
        invocation_from_list(invocation, handle->function, &room, list, library_error());
    return status == ESP_OK ? ESP_OK : function_tell_signatures(handle->function, library_error());
}

grpc_error_t grpc_call(grpc_function_handle_t *handle, ...)
{
    ENTER(library);
    struct handle *used = handles_use(library->handles, handle);
    if (!used)
        return leave(invalid_handle());
    struct invocation invocation;
    va_list list;
    va_start(list, handle);
    enum esp_status status = gather(library, used, list, &invocation);
    va_end(list);
    if (status == ESP_OK)
        status = call_blocking(library, used, &invocation, NULL, NULL, library_error());
    handle_release(used);
    return leave(outcome_code(status));
}

grpc_error_t grpc_call_async(grpc_function_handle_t *handle, grpc_sessionid_t *sessionID, ...)
{
    ENTER_FOR_ID(library, sessionID);
    if (!sessionID)
        return leave(null_pointer("sessionID"));
    *sessionID = GRPC_SESSIONID_VOID;
    struct handle *used = handles_use(library->handles, handle);
    if (!used)
        return leave(invalid_handle());
    struct invocation invocation;
    va_list list;
    va_start(list, sessionID);
    enum esp_status status = gather(library, used, list, &invocation);
    va_end(list);
    if (status == ESP_OK)
        status = call_asynchronous(library, used, handle, &invocation, NULL, sessionID, library_error());
    handle_release(used);
    return leave(outcome_code(status));
}

/* ---- probing, cancelling, waiting ---- */

grpc_error_t grpc_probe(grpc_sessionid_t sessionID)
{
    ENTER(library);
    return leave(explain(table_probe(library->table, sessionID)));
}

grpc_error_t grpc_probe_or(grpc_sessionid_t *idArray, size_t length, grpc_sessionid_t *idPtr)
{
    ENTER_FOR_ID(library, idPtr);
    if (!idPtr)
        return leave(null_pointer("idPtr"));
    if (!idArray && length > 0)
        return leave((*idPtr = GRPC_SESSIONID_VOID, null_pointer("idArray")));
    return leave(explain(table_probe_or(library->table, idArray, length, idPtr)));
}

grpc_error_t grpc_cancel(grpc_sessionid_t sessionID)
{
    ENTER(library);
    return leave(explain(table_cancel(library->table, sessionID)));
}

grpc_error_t grpc_cancel_all(void)
{
    ENTER(library);
    table_cancel_all(library->table);
    return leave(GRPC_NO_ERROR);
}

grpc_error_t grpc_wait(grpc_sessionid_t sessionID)
{
    ENTER(library);
    return leave(explain(table_wait(library->table, sessionID, library_error())));
}

grpc_error_t grpc_wait_and(grpc_sessionid_t *idArray, size_t length)
{
    ENTER(library);
    if (!idArray && length > 0)
        return leave(null_pointer("idArray"));
    return leave(explain(table_wait_and(library->table, idArray, length, library_error())));
}

grpc_error_t grpc_wait_or(grpc_sessionid_t *idArray, size_t length, grpc_sessionid_t *idPtr)
{
    ENTER_FOR_ID(library, idPtr);
    if (!idPtr)
        return leave(null_pointer("idPtr"));
    if (!idArray && length > 0)
        return leave((*idPtr = GRPC_SESSIONID_VOID, null_pointer("idArray")));
    return leave(explain(table_wait_or(library->table, idArray, length, idPtr, library_error())));
}

grpc_error_t grpc_wait_all(void)
{
    ENTER(library);
    return leave(table_wait_all(library->table, library_error()));
}

grpc_error_t grpc_wait_any(grpc_sessionid_t *idPtr)
{
    ENTER_FOR_ID(library, idPtr);
    if (!idPtr)
        return leave(null_pointer("idPtr"));
    return leave(explain(table_wait_any(library->table, idPtr, library_error())));
}

/* ---- errors ---- */

grpc_error_t grpc_get_error(grpc_sessionid_t sessionID)
{
    ENTER(library);
    return leave(explain(table_get_error(library->table, sessionID, library_error())));
}

grpc_error_t grpc_get_failed_sessionid(grpc_sessionid_t *idPtr)
{
    ENTER_FOR_ID(library, idPtr);
    if (!idPtr)
        return leave(null_pointer("idPtr"));
    *idPtr = table_next_failed(library->table);
    return leave(GRPC_NO_ERROR);
}

char *grpc_error_string(grpc_error_t error_code)
{
    static char *const strings[GRPC_LAST_ERROR_CODE + 1] = {
        [GRPC_NO_ERROR] = "no error",
        [GRPC_NOT_INITIALIZED] = "the library is not initialized",
        [GRPC_ALREADY_INITIALIZED] = "the library is initialized already",
        [GRPC_CONFIGFILE_NOT_FOUND] = "configuration file not found",
        [GRPC_CONFIGFILE_ERROR] = "error in the configuration file",
        [GRPC_SERVER_NOT_FOUND] = "no server found",
        [GRPC_FUNCTION_NOT_FOUND] = "function not found",
        [GRPC_INVALID_FUNCTION_HANDLE] = "invalid function handle",
        [GRPC_INVALID_SESSION_ID] = "invalid session id",
        [GRPC_RPC_REFUSED] = "the call was refused",
        [GRPC_COMMUNICATION_FAILED] = "communication failed",
        [GRPC_SESSION_FAILED] = "the session failed",
        [GRPC_NOT_COMPLETED] = "the session has not ended",
        [GRPC_NONE_COMPLETED] = "no session has ended",
        [GRPC_OTHER_ERROR_CODE] = "other error",
        [GRPC_UNKNOWN_ERROR_CODE] = "GRPC_UNKNOWN_ERROR_CODE", /* as GFD.52 prescribes */
        [GRPC_LAST_ERROR_CODE] = "last error code",
    };
    static char invalid_data[] = "invalid data (never made, or freed)"; /* grpc_data.h */
    if (error_code == GRPC_INVALID_DATA)
        return invalid_data;
    size_t index = (size_t)error_code;
    char *text = index <= GRPC_LAST_ERROR_CODE ? strings[index] : NULL;
    return text ? text : strings[GRPC_UNKNOWN_ERROR_CODE];
}
