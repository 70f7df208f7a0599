/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a planned flow on the servers of a platform. The run of the graph (core/flow/) decides what happens,
 * as in a simulation; here its computations are asynchronous calls, and its messages are copies of data from
 * server to server. Nothing that operations make passes through the client, except results and scalars.
 *
 * If a server is lost, another one takes its nodes, and what was only there is made again when an operation
 * needs it: by the task that made it, which may need other tasks again.
 */
#ifndef FLOW_EXECUTION_H
#define FLOW_EXECUTION_H

#include "core/flow/flow_record.h"
#include "core/flow/program.h"
#include "flow/inputs.h"
#include "flow/servers.h"

#define EXECUTION_INLINE_BYTES  32768 /* smaller inputs of the flow travel with each call that reads them */
#define EXECUTION_MOST_ATTEMPTS 5     /* of one task, when servers or data are lost */

struct execution_spec {
    struct flow_plan *plan; /* with `calls`, for the nodes of `servers` */
    struct flow_servers *servers;
    const struct inputs *inputs;
    bool record;         /* keep all computations and transfers */
    const char *journal; /* a file: data are persistent, and a run that ended before goes on; or NULL */
    void *self;
    void (*progress)(void *self, uint64_t done, uint64_t all); /* tasks; may be NULL */
    bool (*stopped)(void *self); /* asked several times a second: end with ESP_CANCELLED; may be NULL */
};

/* A datum that the flow has brought to the client. */
struct execution_output {
    const char *name; /* "x[1]"; lives as long as the plan */
    struct flow_array array;
    void *memory;
};

struct execution_result {
    double seconds;
    struct flow_counts counts;
    struct flow_record record;
    struct execution_output *outputs;
    size_t n_outputs;
    uint64_t calls;                      /* sessions that ended well */
    uint64_t again;                      /* of these, to make again what was lost */
    uint64_t resumed;                    /* tasks that had ended before, by the journal */
    uint64_t sent_bytes, received_bytes; /* of arrays, from and to the client */
    uint64_t copied_bytes;               /* of arrays, from server to server for messages */
    unsigned lost_servers;
};

/* Takes a connection: between grpc_initialize() and grpc_finalize(), in which nothing else waits for any
 * session. Errors name file, line and column of the operation. On failure the result is empty, and what the
 * flow has left on servers has been deleted, unless there is a journal or the library was closed meanwhile.
 */
enum esp_status execution_run(const struct execution_spec *spec, struct execution_result *result,
                              struct esp_error *error);
/* Deletes what a run has left, and its journal. A run that has the journal now is ended first, by SIGTERM;
 * *pid is its process, 0: there was none. ESP_TIMEOUT: it has not ended within `patience_s`. Between
 * grpc_initialize() and grpc_finalize(). */
enum esp_status execution_cancel(const char *journal, double patience_s, long *pid, struct esp_error *error);
void execution_clear(struct execution_result *result);

#endif
