/* SPDX-License-Identifier: Apache-2.0
 *
 * Measured links between nodes, and the path between two nodes without a measured link: the shortest path
 * over measured ones (FAST, section I.2.3 of the DIET paper: the least bandwidth, the sum of latencies). A
 * link measured in one direction counts in both. Pure data; one thread at a time. */
#ifndef CORE_LINK_GRAPH_H
#define CORE_LINK_GRAPH_H

#include "core/message/message_basic.h"
#include "util/error.h"
#include "util/hash.h"

#define LINK_GRAPH_NODES 4096 /* most nodes */
#define LINK_GRAPH_LINKS 65536

struct link_graph_node;

/* All-zero is empty. */
struct link_graph {
    struct link_graph_node *nodes;
    size_t n_nodes, n_links;
};

void link_graph_clear(struct link_graph *graph);
/* Sets the link between two nodes. The way back has path's `back_bps`, or the same bandwidth if that was
 * not measured. An unknown path removes the link in both directions. False: no room or no memory. */
bool link_graph_set(struct link_graph *graph, const char *from, const char *to, const struct path *path);
/* Sets how data move between the nodes of that node's host; unknown: not reported. False: no room or no
 * memory. */
bool link_graph_set_host(struct link_graph *graph, const char *name, const struct path *path);
/* Returns the path between two nodes on one host: the slower of their reports; unknown if either has none. */
struct path link_graph_host(const struct link_graph *graph, const char *one, const char *other);
/* Removes a node with its links. */
void link_graph_remove(struct link_graph *graph, const char *name);
/* Returns the fastest path for that many bytes; unknown if no measured links connect the nodes. From a
 * node to itself: a path without latency and limit. */
struct path link_graph_path(const struct link_graph *graph, const char *from, const char *to, uint64_t bytes);

#endif
