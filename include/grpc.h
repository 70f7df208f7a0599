/* SPDX-License-Identifier: Apache-2.0
 *
 * grpc.h: the GridRPC End-User API as standardised by the Open Grid Forum (GFD.52).
 *
 * A function handle names a problem, and perhaps a server; a session is one call. Compile with
 * `cc prog.c $(pkg-config --cflags --libs espalier)`. What the standard lacks (texts of errors, deadlines,
 * what a session took, calls by argument vector) is in espalier.h.
 *
 * Arguments of grpc_call() and grpc_call_async() follow the problem's description (`espalier problems NAME`
 * shows it), in its order, without its work arrays:
 *
 *   description          in                              out, inout
 *   char, short, int     int                             pointer to it
 *   long, int64          long, int64_t                   pointer to it
 *   float, double        double                          pointer to it
 *   complex              float complex (by value)        pointer to it
 *   double complex       double complex (by value)       pointer to it
 *   array of any type    pointer to the first element (column-major unless the description says otherwise)
 *   string               char *                          char **: set to malloc'ed text, which is the
 *                                                        caller's to free (inout: what it pointed to
 *                                                        before stays the caller's as well)
 *   file                 char *: the path to read        char *: the path to write
 *   string[n]            char **: n texts                char **: n pointers, set to malloc'ed texts
 *   file[n]              char **: n paths to read        char **: n paths to write (null: not wanted)
 *
 * A null pointer for an output means that nobody wants it. Arrays of length zero are valid, with any pointer.
 * Memory that a session reads or writes must stay untouched until the session has ended: grpc_call() has
 * returned, or a wait or probe function has told so. A session that failed may have written part of its
 * outputs.
 *
 * Threads: every function may be called from any thread at any time; handles may be shared.
 * grpc_finalize() waits until the other threads have left the library. No function prints, exits, or touches
 * signals (but for sequences, espalier.h) or the locale. A process that makes only blocking calls with
 * arguments below 8 MB gets no threads from this library beyond those of the ORB.
 *
 * fork(): in a child of a process that is between grpc_initialize() and grpc_finalize() every function fails
 * with GRPC_OTHER_ERROR_CODE until the child calls grpc_initialize() again, which begins anew: without the
 * handles, sessions and data of the parent, and on connections of its own. That fails, too, when another
 * thread was in the middle of a call at the fork. Sequences (espalier.h) are for processes that were not
 * forked after the first one of their parent.
 *
 * Every function returns GRPC_NO_ERROR or one of the codes named with it; any function but grpc_initialize()
 * and grpc_error_string() returns GRPC_NOT_INITIALIZED outside grpc_initialize() .. grpc_finalize().
 * GRPC_OTHER_ERROR_CODE (memory exhausted, a null pointer where none may be, a fork) may come from each.
 * esp_last_error() in espalier.h gives the text that belongs to the last failure in the calling thread.
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

/* The numbers are those of the standard's reference implementation. The type is an int, as there: programs
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

/* A session's local name: 1, 2, 3, ... A number comes again only after 2,147,483,647 sessions. */
typedef int grpc_sessionid_t;
#define GRPC_SESSIONID_VOID (-1)

/* Lives in the caller's memory; made by grpc_function_handle_default() or _init(). The fields are the
 * library's own. A copy names the same handle. */
typedef struct grpc_function_handle_s {
    uint64_t esp_number;
    uint64_t esp_check;
} grpc_function_handle_t;

/* ---- begin and end ---- */

/* Reads the configuration file. NULL: $ESPALIER_CONFIG, else ~/.config/espalier/client.conf, else the
 * system's client.conf. Connects to nobody yet. Initialize and finalize may alternate any number of times.
 * GRPC_ALREADY_INITIALIZED, GRPC_CONFIGFILE_NOT_FOUND, GRPC_CONFIGFILE_ERROR. */
grpc_error_t grpc_initialize(char *config_file_name);

/* Cancels all sessions that are under way, waits until they have ended, and frees everything: handles and
 * session ids become invalid. Calls of other threads return soon, with GRPC_SESSION_FAILED or another code:
 * who does not answer is not waited for, its connection is cut. It takes locks and waits for threads: never
 * call it in a signal handler (set a flag there, and call it where the flag is looked at). */
grpc_error_t grpc_finalize(void);

/* ---- function handles ---- */

/* A handle whose calls go to the servers that the agents choose, each call anew.
 * GRPC_FUNCTION_NOT_FOUND: no server of the hierarchy has the problem; GRPC_SERVER_NOT_FOUND: no agent can be
 * reached, or servers or agents were lost that may have it. *handle is left alone then. */
grpc_error_t grpc_function_handle_default(grpc_function_handle_t *handle, char *func_name);

/* A handle bound to one server: its name (as `espalier tree` shows it) or its address, "host:port".
 * GRPC_SERVER_NOT_FOUND: there is none of that name, what is there is no server (an agent, a stranger), or it
 * cannot be reached; GRPC_FUNCTION_NOT_FOUND: the server does not have the problem.
 * As the standard has it, the server must be there when the handle is made: one that is being restarted at
 * that moment cannot be told from one that never was, and is not waited for; try again. Once the handle is
 * made, its calls do wait for a server that comes back (`agent_patience` in client.conf), under the same
 * name. */
grpc_error_t grpc_function_handle_init(grpc_function_handle_t *handle, char *server_name, char *func_name);

/* The handle is invalid from now on. Sessions under way go on. GRPC_INVALID_FUNCTION_HANDLE. */
grpc_error_t grpc_function_handle_destruct(grpc_function_handle_t *handle);

/* *handle becomes the very pointer that the session was started with.
 * GRPC_INVALID_SESSION_ID (and NULL): there is none, or it is not among the last 4096 that were waited for;
 * GRPC_INVALID_FUNCTION_HANDLE (and NULL): the handle was destructed in the meantime. */
grpc_error_t grpc_get_handle(grpc_function_handle_t **handle, grpc_sessionid_t sessionID);

/* ---- calls ---- */

/* Calls and waits for the end. GRPC_INVALID_FUNCTION_HANDLE; GRPC_SERVER_NOT_FOUND: no server can take it, or
 * the one that the handle is bound to cannot be reached; GRPC_FUNCTION_NOT_FOUND: no server has the problem
 * any more; GRPC_RPC_REFUSED; GRPC_COMMUNICATION_FAILED: the connection was lost in the middle of the call;
 * GRPC_SESSION_FAILED: the routine failed or crashed, its arguments are wrong, the deadline passed. */
grpc_error_t grpc_call(grpc_function_handle_t *handle, ...);

/* Starts a session. The arguments are checked before it returns; whatever goes wrong later is the session's
 * failure. GRPC_INVALID_FUNCTION_HANDLE; GRPC_SESSION_FAILED: wrong arguments. *sessionID is
 * GRPC_SESSIONID_VOID when no session was started. */
grpc_error_t grpc_call_async(grpc_function_handle_t *handle, grpc_sessionid_t *sessionID, ...);

/* ---- asking after sessions, without waiting ---- */

/* GRPC_NO_ERROR: it has ended, well or not; GRPC_NOT_COMPLETED; GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_probe(grpc_sessionid_t sessionID);

/* *idPtr becomes the first of the sessions that has ended; those that no wait function has reported yet come
 * before those that one has. GRPC_NONE_COMPLETED with GRPC_SESSIONID_VOID: none has, or `length` is 0;
 * GRPC_INVALID_SESSION_ID: one of them is invalid. */
grpc_error_t grpc_probe_or(grpc_sessionid_t *idArray, size_t length, grpc_sessionid_t *idPtr);

/* ---- cancelling ---- */

/* Ends the session and stops its computation on the server. Its error is GRPC_SESSION_FAILED; it can be
 * waited for. Nothing happens to one that has ended. GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_cancel(grpc_sessionid_t sessionID);

/* All that were started by grpc_call_async(). */
grpc_error_t grpc_cancel_all(void);

/* ---- waiting ---- */

/* Until the session has ended. GRPC_SESSION_FAILED: it failed, grpc_get_error() says how;
 * GRPC_INVALID_SESSION_ID. Waiting again gives the same answer again.
 * An id stays valid until grpc_finalize(), unless it is older than the newest 500,000 failures. What
 * grpc_get_handle() and esp_session_info_get() tell is kept of the last 4096 sessions that a wait function
 * has reported; of those before them, how they ended. */
grpc_error_t grpc_wait(grpc_sessionid_t sessionID);

/* Until all of them have ended. GRPC_SESSION_FAILED: at least one failed; GRPC_INVALID_SESSION_ID: one of
 * them is invalid (nothing was waited for). */
grpc_error_t grpc_wait_and(grpc_sessionid_t *idArray, size_t length);

/* Until one of them has ended; *idPtr says which (in the order of grpc_probe_or()), and is
 * GRPC_SESSIONID_VOID with GRPC_NO_ERROR when `length` is 0. GRPC_SESSION_FAILED: that one failed;
 * GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_wait_or(grpc_sessionid_t *idArray, size_t length, grpc_sessionid_t *idPtr);

/* Until all sessions have ended. GRPC_SESSION_FAILED: at least one of those that no wait function had
 * reported yet failed. */
grpc_error_t grpc_wait_all(void);

/* Until any session has ended that no wait function has reported yet; in the order in which they end. When
 * no such session is left, *idPtr is GRPC_SESSIONID_VOID with GRPC_NO_ERROR. GRPC_SESSION_FAILED: the session
 * failed (*idPtr says which). */
grpc_error_t grpc_wait_any(grpc_sessionid_t *idPtr);

/* ---- errors ---- */

/* How the session ended: GRPC_NO_ERROR or as with grpc_call(), and esp_last_error() then has the session's
 * text. A session that still runs has no error: GRPC_NO_ERROR (grpc_probe() tells whether it has ended).
 * GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_get_error(grpc_sessionid_t sessionID);

/* A constant English text, never NULL; for a number that is no error code, and for GRPC_UNKNOWN_ERROR_CODE,
 * the string "GRPC_UNKNOWN_ERROR_CODE". Works always. Not to be written to. */
char *grpc_error_string(grpc_error_t error_code);

/* Sessions of grpc_call_async() that failed, one by one in the order in which they did, each once; then
 * GRPC_SESSIONID_VOID. */
grpc_error_t grpc_get_failed_sessionid(grpc_sessionid_t *idPtr);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
