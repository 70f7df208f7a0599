/* SPDX-License-Identifier: Apache-2.0
 *
 * grpc.h: the GridRPC End-User API as standardised by the Open Grid Forum (GFD.52).
 *
 * A function handle names a problem, and may name a server. A session is one call. Compile with
 * `cc prog.c $(pkg-config --cflags --libs espalier)`. espalier.h has what the standard lacks: texts of
 * errors, deadlines, times of sessions, calls by argument vector.
 *
 * Arguments of grpc_call() and grpc_call_async() are those of the problem's description (`espalier problems
 * NAME` shows it), in the same order, without work arrays:
 *
 *   description          in                              out, inout
 *   char, short, int     int                             pointer to it
 *   long, int64          long, int64_t                   pointer to it
 *   float, double        double                          pointer to it
 *   complex              float complex (by value)        pointer to it
 *   double complex       double complex (by value)       pointer to it
 *   array of any type    pointer to the first element (column-major unless the description says otherwise)
 *   string               char *                          char **: set to malloc'ed text, which the
 *                                                        caller frees (inout: the caller also frees
 *                                                        the text that it pointed to before)
 *   file                 char *: the path to read        char *: the path to write
 *   string[n]            char **: n texts                char **: n pointers, set to malloc'ed texts
 *   file[n]              char **: n paths to read        char **: n paths to write (null: not wanted)
 *
 * A null pointer for an output means that the output is not wanted. Arrays of length zero are valid, with any
 * pointer. The program must not change memory that a session reads or writes until the session has ended,
 * that is until grpc_call() has returned, or a wait or probe function has reported the end. A session that
 * failed may have written part of its outputs.
 *
 * Threads: every function may be called from any thread at any time. Threads may share handles.
 * grpc_finalize() waits until the other threads have left the library. No function prints, exits, or changes
 * signals or the locale; sequences (espalier.h) are the exception. In a process that makes only blocking
 * calls with arguments below 8 MB, this library starts no threads beyond those of the ORB.
 *
 * fork(): in the child of a process that is between grpc_initialize() and grpc_finalize(), every function
 * fails with GRPC_OTHER_ERROR_CODE until the child calls grpc_initialize(). The child then has connections of
 * its own, and none of the parent's handles, sessions and data. grpc_initialize() fails if another thread was
 * in a function of the library at the fork. After a process has begun its first sequence (espalier.h), the
 * children that it forks cannot use sequences.
 *
 * Every function returns GRPC_NO_ERROR or one of the codes in its comment. Every function except
 * grpc_initialize() and grpc_error_string() returns GRPC_NOT_INITIALIZED outside grpc_initialize() ..
 * grpc_finalize(). Every function may return GRPC_OTHER_ERROR_CODE (memory exhausted, a null pointer where
 * none is allowed, a fork). esp_last_error() in espalier.h gives the text of the last failure in the calling
 * thread.
 *
 * The public headers compile as C89 with <stdint.h> and as C++98, and as every later version of both.
 */
#ifndef GRPC_H
#define GRPC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Numbers and type are those of the standard's reference implementation. The type is an int, because programs
 * in C++ assign numbers to it. */
typedef int grpc_error_t;
enum grpc_error_e {
    GRPC_NO_ERROR = 0,
    GRPC_NOT_INITIALIZED = 1,
    GRPC_ALREADY_INITIALIZED = 2,
    GRPC_CONFIGFILE_NOT_FOUND = 3,
    GRPC_CONFIGFILE_ERROR = 4,
    GRPC_SERVER_NOT_FOUND = 5,
    GRPC_FUNCTION_NOT_FOUND = 6,
    GRPC_INVALID_FUNCTION_HANDLE = 7,
    GRPC_INVALID_SESSION_ID = 8,
    GRPC_RPC_REFUSED = 9,
    GRPC_COMMUNICATION_FAILED = 10,
    GRPC_SESSION_FAILED = 11,
    GRPC_NOT_COMPLETED = 12,
    GRPC_NONE_COMPLETED = 13,
    GRPC_OTHER_ERROR_CODE = 18,
    GRPC_UNKNOWN_ERROR_CODE = 19,
    GRPC_LAST_ERROR_CODE = 20
};

/* A session's number in this process: 1, 2, 3, ... A number is used again after 2,147,483,647 sessions. */
typedef int grpc_sessionid_t;
#define GRPC_SESSIONID_VOID (-1)

/* A handle in the caller's memory, set by grpc_function_handle_default() or grpc_function_handle_init(). Only
 * the library uses the members. A copy of the struct names the same handle. */
typedef struct grpc_function_handle_s {
    uint64_t esp_number;
    uint64_t esp_check;
} grpc_function_handle_t;

/* ---- begin and end ---- */

/* Reads the configuration file. NULL: $ESPALIER_CONFIG, else ~/.config/espalier/client.conf, else the
 * system's client.conf. Makes no connection. A program may initialize and finalize the library any number of
 * times. GRPC_ALREADY_INITIALIZED. GRPC_CONFIGFILE_NOT_FOUND. GRPC_CONFIGFILE_ERROR. */
grpc_error_t grpc_initialize(char *config_file_name);

/* Cancels all running sessions, waits until they have ended, and frees everything. Handles and session ids
 * become invalid. Calls of other threads return soon, with GRPC_SESSION_FAILED or another code. The function
 * does not wait for nodes that do not answer; it closes their connections. Never call it in a signal handler,
 * because it takes locks and waits for threads. */
grpc_error_t grpc_finalize(void);

/* ---- function handles ---- */

/* Makes a handle without a server: the agents choose a server for each call. On an error *handle does not
 * change. GRPC_FUNCTION_NOT_FOUND: no server of the hierarchy has the problem. GRPC_SERVER_NOT_FOUND: no
 * agent can be reached, or servers or agents are lost that may have the problem. */
grpc_error_t grpc_function_handle_default(grpc_function_handle_t *handle, char *func_name);

/* Makes a handle that is bound to one server, given by its name (as `espalier tree` shows it) or its address,
 * "host:port". GRPC_SERVER_NOT_FOUND: there is no server of that name, the node at the address is not a
 * server, or it cannot be reached. GRPC_FUNCTION_NOT_FOUND: the server does not have the problem. The
 * standard requires that the server is up when the handle is made. If it is being restarted at that moment,
 * the function fails; try again. Calls of an existing handle do wait until a lost server is back under the
 * same name
 * (`agent_patience` in client.conf). */
grpc_error_t grpc_function_handle_init(grpc_function_handle_t *handle, char *server_name, char *func_name);

/* Makes the handle invalid. Its running sessions continue. GRPC_INVALID_FUNCTION_HANDLE. */
grpc_error_t grpc_function_handle_destruct(grpc_function_handle_t *handle);

/* Sets *handle to the pointer with which the session was started, or to NULL on an error.
 * GRPC_INVALID_SESSION_ID: there is no such session, or it is not among the last 4096 that a wait function
 * has reported. GRPC_INVALID_FUNCTION_HANDLE: the handle was destructed in the meantime. */
grpc_error_t grpc_get_handle(grpc_function_handle_t **handle, grpc_sessionid_t sessionID);

/* ---- calls ---- */

/* Calls the problem and waits for the end. GRPC_INVALID_FUNCTION_HANDLE. GRPC_SERVER_NOT_FOUND: no server can
 * take the call, or the server of the handle cannot be reached. GRPC_FUNCTION_NOT_FOUND: no server has the
 * problem any more. GRPC_RPC_REFUSED. GRPC_COMMUNICATION_FAILED: the connection was lost during the call.
 * GRPC_SESSION_FAILED: the routine failed or crashed, an argument is wrong, or the deadline passed. */
grpc_error_t grpc_call(grpc_function_handle_t *handle, ...);

/* Starts a session and returns. The arguments are checked first; later errors are those of the session.
 * *sessionID becomes GRPC_SESSIONID_VOID if no session was started. GRPC_INVALID_FUNCTION_HANDLE.
 * GRPC_SESSION_FAILED: wrong arguments. */
grpc_error_t grpc_call_async(grpc_function_handle_t *handle, grpc_sessionid_t *sessionID, ...);

/* ---- state of sessions, without waiting ---- */

/* Returns GRPC_NO_ERROR if the session has ended, well or not; GRPC_NOT_COMPLETED if it runs.
 * GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_probe(grpc_sessionid_t sessionID);

/* Sets *idPtr to the first session of the array that has ended. Sessions that no wait function has reported
 * yet come before those that one has reported. GRPC_NONE_COMPLETED, with GRPC_SESSIONID_VOID: none has ended,
 * or `length` is 0. GRPC_INVALID_SESSION_ID: an id is invalid. */
grpc_error_t grpc_probe_or(grpc_sessionid_t *idArray, size_t length, grpc_sessionid_t *idPtr);

/* ---- cancelling ---- */

/* Ends the session and stops its computation on the server. Its error becomes GRPC_SESSION_FAILED; the wait
 * functions accept it. A session that has ended does not change. GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_cancel(grpc_sessionid_t sessionID);

/* Cancels all sessions that were started by grpc_call_async(). */
grpc_error_t grpc_cancel_all(void);

/* ---- waiting ---- */

/* Waits until the session has ended. GRPC_SESSION_FAILED: it failed; grpc_get_error() says how.
 * GRPC_INVALID_SESSION_ID. A second wait gives the same answer.
 * An id stays valid until grpc_finalize(), except that the library remembers at most 500,000 failures and
 * forgets sessions that are older. grpc_get_handle() and esp_session_info_get() work for the last 4096
 * sessions that a wait function has reported; of older sessions only the error is known. */
grpc_error_t grpc_wait(grpc_sessionid_t sessionID);

/* Waits until all sessions of the array have ended. GRPC_SESSION_FAILED: at least one failed.
 * GRPC_INVALID_SESSION_ID: an id is invalid; the function does not wait. */
grpc_error_t grpc_wait_and(grpc_sessionid_t *idArray, size_t length);

/* Waits until a session of the array has ended, and sets *idPtr to it (in the order of grpc_probe_or()). If
 * `length` is 0, returns GRPC_NO_ERROR and sets GRPC_SESSIONID_VOID. GRPC_SESSION_FAILED: session *idPtr
 * failed. GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_wait_or(grpc_sessionid_t *idArray, size_t length, grpc_sessionid_t *idPtr);

/* Waits until all sessions have ended. GRPC_SESSION_FAILED: at least one failed of those that no wait
 * function had reported yet. */
grpc_error_t grpc_wait_all(void);

/* Waits until a session has ended that no wait function has reported yet, and sets *idPtr to it. Sessions are
 * reported in the order in which they end. If there is none left, returns GRPC_NO_ERROR and sets
 * GRPC_SESSIONID_VOID. GRPC_SESSION_FAILED: session *idPtr failed. */
grpc_error_t grpc_wait_any(grpc_sessionid_t *idPtr);

/* ---- errors ---- */

/* Returns the session's error: GRPC_NO_ERROR or an error of grpc_call(). esp_last_error() then has the
 * session's text. A session that still runs has GRPC_NO_ERROR (see grpc_probe()). GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_get_error(grpc_sessionid_t sessionID);

/* Returns a constant English text, never NULL, which must not be written to. For GRPC_UNKNOWN_ERROR_CODE and
 * numbers that are not error codes it is "GRPC_UNKNOWN_ERROR_CODE". Works without grpc_initialize(). */
char *grpc_error_string(grpc_error_t error_code);

/* Sets *idPtr to the next failed session of grpc_call_async(), in the order of the failures, each once; after
 * the last to GRPC_SESSIONID_VOID. */
grpc_error_t grpc_get_failed_sessionid(grpc_sessionid_t *idPtr);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
