/* SPDX-License-Identifier: Apache-2.0
 *
 * grpc_data.h: the GridRPC data management API of the Open Grid Forum (GFD.186). Comments and grpc_data(3)
 * say what this library does where the document leaves a choice.
 *
 * A grpc_data_t describes one array: its type and extents, where its value comes from, where the value goes,
 * and how long copies stay on servers. A program passes the address of a grpc_data_t in place of the array to
 * grpc_call(), grpc_call_async(), argument stacks, esp_call() and esp_job_submit(). It must be the address
 * that was given to grpc_data_init(), grpc_data_load() or grpc_data_container_get(), because the library
 * recognizes a grpc_data_t by its address.
 *
 * Places are URIs:
 *   memory:KEY          memory of this program, named by grpc_data_memory_mapping_set()
 *   file:PATH           a file with the bytes of the array in memory, and nothing else
 *   server:NAME         the store of that server (outputs only). "server:" alone: the server that has or
 *                       makes the value
 *   data:IDENTITY       a datum that lives on servers already (inputs only), as esp_data_put() names it
 * "memory://HOST/KEY" and "file://HOST/PATH" are accepted if HOST is empty, "localhost" or this host.
 *
 * Threads: every function may be called from any thread. Only one thread at a time may use a grpc_data_t; any
 * number of sessions may. Every function returns GRPC_NO_ERROR, GRPC_NOT_INITIALIZED, GRPC_INVALID_DATA (the
 * struct was not initialized, or was freed) or one of the codes in its comment. esp_last_error() has the
 * text.
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

/* An error code in addition to those of grpc.h. */
#define GRPC_INVALID_DATA 30

/* A description in the caller's memory. Only the library uses the members. */
typedef struct grpc_data_s {
    uint64_t esp_number;
    uint64_t esp_check;
} grpc_data_t;

/* Types of elements, as in problem descriptions. */
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
    GRPC_STRING, /* one dimension, with values on servers only: inputs "data:", outputs "server:" (see
                  * esp_data_put(), esp_data_get_strings()) */
    GRPC_CONTAINER_OF_GRPC_DATA = 100 /* data by rank, each of any type */
} grpc_data_type_t;

/* How long a value stays on a server. Lists of modes end with GRPC_END_LIST. */
typedef enum grpc_data_mode_e {
    GRPC_END_LIST = -1,
    GRPC_VOLATILE,          /* while calls use it, and longer until the server needs the memory */
    GRPC_STRICTLY_VOLATILE, /* on any server until the first session that uses it has ended */
    GRPC_STICKY,            /* on disk until it is deleted; does not move, may be copied */
    GRPC_UNIQUE_STICKY,     /* on disk until it is deleted; may be neither moved nor copied */
    GRPC_PERSISTENT         /* on disk until it is deleted; may be moved and copied */
} grpc_data_mode_t;

typedef enum grpc_completion_mode_e { GRPC_WAIT_ALL, GRPC_WAIT_ANY } grpc_completion_mode_t;

typedef enum grpc_data_info_type_e {
    GRPC_INFO_STATUS,     /* "empty", "moving", "ready" or "failed" */
    GRPC_INFO_TYPE,       /* "double", "container", ... */
    GRPC_INFO_DIMENSIONS, /* "100 200" */
    GRPC_INFO_MODE,       /* of the first output: "GRPC_PERSISTENT" */
    GRPC_INFO_INPUTS,     /* URIs, separated by blanks */
    GRPC_INFO_OUTPUTS,
    GRPC_INFO_IDENTITY, /* of the value on servers; "" if it is on none */
    GRPC_INFO_PLACES    /* the servers that have the value, separated by blanks */
} grpc_data_info_type_t;

/* Initializes the description of an array. Nothing is read or transferred yet.
 * `dimensions` ends with 0. A container has the dimensions {n, 0} and no URIs.
 * `input_URIs` ends with NULL; NULL: none. The value comes from the first URI that can be read.
 * `output_URIs` ends with NULL; NULL: none. The value goes there when a call has made it, or in a transfer.
 * After a transfer to a single "server:NAME" no other server has the value, except that a "data:" input, and
 * a GRPC_STICKY value of another server, are copied and stay. `modes` has one mode for each output; the last
 * one counts for all further outputs; NULL: GRPC_VOLATILE. Without outputs the first mode applies to servers
 * to which calls bring the value. GRPC_OTHER_ERROR_CODE: a URI, a mode, the type or the dimensions are wrong.
 */
grpc_error_t grpc_data_init(grpc_data_t *data, const char **input_URIs, const char **output_URIs,
                            grpc_data_type_t type, const size_t *dimensions, const grpc_data_mode_t *modes);

/* Names memory of this program "memory:KEY", in place of earlier memory of that name. NULL: removes the name.
 * The memory must exist as long as data with that name are used. */
grpc_error_t grpc_data_memory_mapping_set(const char *key, void *memory);
/* Gets the memory of a name. GRPC_OTHER_ERROR_CODE: there is no such name. */
grpc_error_t grpc_data_memory_mapping_get(const char *key, void **memory);

/* Puts `data` at `rank` (from 0) of the container, in place of earlier data. Data that are freed or unbound
 * leave the container. A container cannot hold containers. */
grpc_error_t grpc_data_container_set(grpc_data_t *container, int rank, const grpc_data_t *data);
/* Sets *data to the data at that rank. GRPC_OTHER_ERROR_CODE: the rank has none. */
grpc_error_t grpc_data_container_get(const grpc_data_t *container, int rank, grpc_data_t *data);

/* Starts a transfer of the value from the inputs to the outputs, in the background; grpc_data_wait() waits
 * for its end. `input_URIs` NULL: the present value, or, if there is none, the inputs of grpc_data_init().
 * `output_URIs` NULL: the outputs of grpc_data_init(). Lists that are given replace those of
 * grpc_data_init(). If a list is wrong, nothing happens (GRPC_OTHER_ERROR_CODE). The transfer of a container
 * transfers all its data. If an output cannot be reached, the transfer still goes to the other outputs, and
 * then fails. */
grpc_error_t grpc_data_transfer(grpc_data_t *data, const char **input_URIs, const char **output_URIs,
                                const grpc_data_mode_t *output_modes);

/* Waits until transfers of data, and sessions that make them, have ended. `list` ends with NULL.
 * GRPC_WAIT_ALL: of all data of the list; *returned becomes data that failed. GRPC_WAIT_ANY: of one;
 * *returned becomes it. `returned` may be NULL. A container has ended when all its data have.
 * GRPC_SESSION_FAILED: a transfer or session failed. GRPC_OTHER_ERROR_CODE: unknown mode. */
grpc_error_t grpc_data_wait(const grpc_data_t **list, grpc_completion_mode_t mode, grpc_data_t **returned);

/* Gets information as a text, for free(). `server` limits GRPC_INFO_PLACES to that server; NULL: all servers.
 * GRPC_INFO_PLACES returns GRPC_OTHER_ERROR_CODE if no node can be reached that has the value or knows that
 * it is gone. For a container, GRPC_INFO_STATUS is the first of "failed", "moving", "empty" (also for a rank
 * without data) and "ready" that applies to any of its data. GRPC_INFO_PLACES lists each server that has any
 * of them. GRPC_INFO_IDENTITY and GRPC_INFO_MODE have a word for each rank, "-" for a rank without data. */
grpc_error_t grpc_data_getinfo(const grpc_data_t *data, grpc_data_info_type_t tag, const char *server,
                               char **info);

/* Writes a file ("file:" URI) with which another program can use the value on servers; of a container, all
 * its values with their ranks. GRPC_OTHER_ERROR_CODE: the value (of the rank in the text) is on no server, so
 * transfer it first; or the file cannot be written. */
grpc_error_t grpc_data_save(const grpc_data_t *data, const char *uri_output);
/* Initializes *data from a file of grpc_data_save(). When a loaded container is unbound, its data are unbound
 * too, except those that the program has got by grpc_data_container_get(). */
grpc_error_t grpc_data_load(grpc_data_t *data, const char *uri_input);

/* Frees the description. Values on servers stay. */
grpc_error_t grpc_data_unbind(grpc_data_t *data);
/* Deletes the value on the servers of `URIs_filter` ("server:NAME", ends with NULL; NULL: on all servers),
 * and frees the description. Memory and files of the program do not change. A value that running calls use is
 * deleted when they have ended; with a filter, copies are deleted at once. The function fails, and the
 * description stays, if a server of the filter, or a server that may store the value durably, cannot be
 * reached. */
grpc_error_t grpc_data_free(grpc_data_t *data, const char **URIs_filter);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
