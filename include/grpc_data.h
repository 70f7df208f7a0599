/* SPDX-License-Identifier: Apache-2.0
 *
 * grpc_data.h: the GridRPC data management API after the Open Grid Forum's GFD.186. Which of its choices this
 * library makes is said here and in grpc_data(3).
 *
 * A grpc_data_t describes one array: what it is, where its value comes from, where it is to go, and how long
 * copies of it stay on servers. Its address is passed to grpc_call(), grpc_call_async(), argument stacks,
 * esp_call() and esp_job_submit() in place of the array's; that must be the address that grpc_data_init(),
 * grpc_data_load() or grpc_data_container_get() was given, as it is by its address that it is told from an
 * array.
 *
 * Places are URIs:
 *   memory:KEY          memory of this program, named by grpc_data_memory_mapping_set()
 *   file:PATH           a file with the bytes of the array as they lie in memory, and nothing else
 *   server:NAME         the store of that server (outputs only); "server:" alone: where it is, or is made
 *   data:IDENTITY       a datum that lives on servers already (inputs only), as esp_data_put() names it
 * "memory://HOST/KEY" and "file://HOST/PATH" are taken too when HOST is empty, "localhost" or this host.
 *
 * Threads: every function may be called from any thread; one grpc_data_t is not for two threads at once, but
 * any number of sessions may use it. Every function returns GRPC_NO_ERROR, GRPC_NOT_INITIALIZED,
 * GRPC_INVALID_DATA (the struct was never made, or freed) or one of the codes named with it; esp_last_error()
 * has the text.
 */
#ifndef GRPC_DATA_H
#define GRPC_DATA_H

#include "grpc.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Beside the codes of grpc.h. */
#define GRPC_INVALID_DATA 30

/* Lives in the caller's memory. The fields are the library's own. */
typedef struct grpc_data_s {
    uint64_t esp_number;
    uint64_t esp_check;
} grpc_data_t;

/* Elements, as problem descriptions name them. */
typedef enum grpc_data_type_e {
    GRPC_CHAR = 1,
    GRPC_SHORT,
    GRPC_INT,   /* int32_t */
    GRPC_LONG,  /* int64_t */
    GRPC_INT64, /* int64_t */
    GRPC_FLOAT,
    GRPC_DOUBLE,
    GRPC_COMPLEX, /* float complex */
    GRPC_DOUBLE_COMPLEX,
    GRPC_STRING, /* one dimension; values on servers only: "data:" in, "server:" out (esp_data_put(),
                  * esp_data_get_strings()) */
    GRPC_CONTAINER_OF_GRPC_DATA = 100 /* data by rank, each of them of any type */
} grpc_data_type_t;

/* How long a value stays on the servers that it came to. Lists of modes end with GRPC_END_LIST. */
typedef enum grpc_data_mode_e {
    GRPC_END_LIST = -1,
    GRPC_VOLATILE, /* no longer than the calls that use it, or as long as memory is not wanted otherwise */
    GRPC_STRICTLY_VOLATILE, /* no longer than the first session that uses it, on any server */
    GRPC_STICKY,            /* on disk, for ever, on that server; other servers may have copies */
    GRPC_UNIQUE_STICKY,     /* on disk, for ever, on that server, and nowhere else */
    GRPC_PERSISTENT         /* on disk, for ever; may be copied and moved */
} grpc_data_mode_t;

typedef enum grpc_completion_mode_e { GRPC_WAIT_ALL, GRPC_WAIT_ANY } grpc_completion_mode_t;

typedef enum grpc_data_info_type_e {
    GRPC_INFO_STATUS,     /* "empty", "moving", "ready" or "failed" */
    GRPC_INFO_TYPE,       /* "double", "container", ... */
    GRPC_INFO_DIMENSIONS, /* "100 200" */
    GRPC_INFO_MODE,       /* "GRPC_PERSISTENT": of its first output */
    GRPC_INFO_INPUTS,     /* URIs, by blanks */
    GRPC_INFO_OUTPUTS,
    GRPC_INFO_IDENTITY, /* of the value on servers; "" when it is on none */
    GRPC_INFO_PLACES    /* the servers that have it, by blanks */
} grpc_data_info_type_t;

/* Describes an array. `dimensions` end with 0. `input_URIs` (NULL: none; they end with NULL): where the value
 * comes from, the first that can be read; `output_URIs`: where it goes when a call has made it, or when it is
 * transferred (a single "server:NAME" has it alone then, except that a transfer leaves a "data:" input and
 * a GRPC_STICKY value of another server where they are, and copies them); `modes`: one for each output, in
 * their order (the last one counts for the rest); NULL: GRPC_VOLATILE. Without outputs the first mode says
 * how the value stays on the servers that calls bring it to. A container has `dimensions` {n, 0} and no URIs.
 * Nothing is read or moved yet. GRPC_OTHER_ERROR_CODE: a URI, a mode, a type or dimensions that are none. */
grpc_error_t grpc_data_init(grpc_data_t *data, const char **input_URIs, const char **output_URIs,
                            grpc_data_type_t type, const size_t *dimensions, const grpc_data_mode_t *modes);

/* Names memory of this program for "memory:KEY"; again: another memory. NULL: the name is not used any more.
 * The memory must be there as long as data with that name are used. */
grpc_error_t grpc_data_memory_mapping_set(const char *key, void *memory);
/* GRPC_OTHER_ERROR_CODE: nothing has that name. */
grpc_error_t grpc_data_memory_mapping_get(const char *key, void **memory);

/* Puts `data` at `rank` (from 0) of the container, in place of what was there. The container goes with that
 * one: what is freed or unbound is in it no more. Containers are not put into containers. */
grpc_error_t grpc_data_container_set(grpc_data_t *container, int rank, const grpc_data_t *data);
/* *data becomes the one at that rank. GRPC_OTHER_ERROR_CODE: there is none. */
grpc_error_t grpc_data_container_get(const grpc_data_t *container, int rank, grpc_data_t *data);

/* Takes the value anew from the inputs (NULL: the value that it has, from wherever that is; when it has none:
 * from the inputs of grpc_data_init()) and brings it to the outputs (NULL: those of grpc_data_init()), in the
 * background: grpc_data_wait() tells the end. Lists that are given replace those of grpc_data_init(), unless
 * one of them is wrong (GRPC_OTHER_ERROR_CODE): then nothing happens. What happens to a container happens to
 * all in it. An output to which it cannot be brought keeps it from none of the others, and is the error. */
grpc_error_t grpc_data_transfer(grpc_data_t *data, const char **input_URIs, const char **output_URIs,
                                const grpc_data_mode_t *output_modes);

/* Waits until transfers, and sessions whose result they are, have ended: of all data of the list (which ends
 * with NULL), or of one, which *returned then tells (NULL: not wanted; with GRPC_WAIT_ALL: one that failed).
 * A container has ended when all that is in it has. GRPC_SESSION_FAILED: a transfer or session failed.
 * GRPC_OTHER_ERROR_CODE: another mode. */
grpc_error_t grpc_data_wait(const grpc_data_t **list, grpc_completion_mode_t mode, grpc_data_t **returned);

/* *info is for free(). `server`: GRPC_INFO_PLACES tells that server only when it has the value; NULL: all. It
 * is GRPC_OTHER_ERROR_CODE where nobody is reached who has it or knows that it is gone. Of a container:
 * GRPC_INFO_STATUS is the worst of those in it ("failed", "moving", "empty", also where a rank has no data,
 * "ready"); GRPC_INFO_PLACES each server that has one of them; GRPC_INFO_IDENTITY and GRPC_INFO_MODE a word
 * for each rank, "-" where there is none. */
grpc_error_t grpc_data_getinfo(const grpc_data_t *data, grpc_data_info_type_t tag, const char *server,
                               char **info);

/* Writes down, in the file of a "file:" URI, what is needed to use the value in another program: a value that
 * is on servers; of a container, all of them, with their ranks. GRPC_OTHER_ERROR_CODE: it is on none
 * (transfer it first; the text tells the rank), or the file cannot be written. */
grpc_error_t grpc_data_save(const grpc_data_t *data, const char *uri_output);
/* The other half: initializes *data. What is in a container that was loaded is forgotten with it, unless
 * grpc_data_container_get() has given it to the program. */
grpc_error_t grpc_data_load(grpc_data_t *data, const char *uri_input);

/* Forgets the description; values on servers stay where they are. */
grpc_error_t grpc_data_unbind(grpc_data_t *data);
/* Deletes the value: on the servers of `URIs_filter` ("server:NAME", ends with NULL), or everywhere, and then
 * forgets the description as well. What memory and files hold is not touched. What calls that have begun take
 * goes when they have ended (of the whole value; copies of a filter's servers go at once). It fails, and the
 * description stays, where a server of the list is not there, or one that may keep a value that is to stay.
 */
grpc_error_t grpc_data_free(grpc_data_t *data, const char **URIs_filter);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
