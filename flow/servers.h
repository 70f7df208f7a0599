/* SPDX-License-Identifier: Apache-2.0
 *
 * The servers that a flow runs on: which are the nodes of its graph, and who takes the place of a lost one.
 *
 * Nodes go to the servers that have most of the flow's problems, among these to the fastest ones by the
 * platform's forecast of their processors. All functions are called by one thread.
 */
#ifndef FLOW_SERVERS_H
#define FLOW_SERVERS_H

#include "core/flow/program_tree.h"

#include <espalier.h>

#define SERVERS_NONE UINT32_MAX

struct flow_server {
    char *name, *address;
    double speed;          /* floating-point operations per second that a call would get */
    uint64_t memory_bytes; /* for sessions */
    unsigned n_problems;   /* of the flow's, that it has */
    bool is_lost;
    uint32_t running; /* calls of the flow */
    uint64_t running_bytes;
    uint64_t data_bytes; /* of the flow, that are there */
};

struct flow_servers {
    const struct flow_program *program;
    struct flow_server *servers; /* best first */
    uint32_t n;
    uint32_t *nodes; /* the server of each node of the graph */
    uint32_t n_nodes;
    struct flow_handle
        *handles; /* of each server and, behind them, of no one in particular, for each operation */
};

/* `n_nodes` 0: as many as there are servers that have a problem of the flow. ESP_NO_SERVER: none has. */
enum esp_status flow_servers_find(struct flow_servers *servers, const struct flow_program *program,
                                  uint32_t n_nodes, struct esp_error *error);
void flow_servers_clear(struct flow_servers *servers);

/* The server of that name; SERVERS_NONE: it is none of these. */
uint32_t flow_servers_named(const struct flow_servers *servers, const char *name);
/* The handle for calls of an operation there; where the server lacks the problem, and for SERVERS_NONE, the
 * agents choose, and *bound is false. NULL: *error says why. */
grpc_function_handle_t *flow_servers_handle(struct flow_servers *servers, uint32_t server, uint32_t operation,
                                            bool *bound, struct esp_error *error);
/* The server is lost: its nodes go to the others in turn. ESP_NO_SERVER: no other is left. */
enum esp_status flow_servers_lose(struct flow_servers *servers, uint32_t server, struct esp_error *error);

#endif
