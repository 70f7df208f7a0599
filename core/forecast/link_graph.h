/* SPDX-License-Identifier: Apache-2.0
 *
 * Measured links between nodes, and the way between two that nobody has measured: the shortest path over
 * links that were (FAST, section I.2.3 of the DIET paper: the least bandwidth, the sum of latencies). What
 * was measured in one direction only counts in the other one too. Pure data; one thread at a time.
 */
#ifndef CORE_LINK_GRAPH_H
#define CORE_LINK_GRAPH_H

#include "core/message/message_basic.h"
#include "util/error.h"
#include "util/hash.h"

#define LINK_GRAPH_NODES 4096 /* more are not taken */
#define LINK_GRAPH_LINKS 65536

struct link_graph_node;

/* All-zero is empty. */
struct link_graph {
    struct link_graph_node *nodes;
    size_t n_nodes, n_links;
};

void link_graph_clear(struct link_graph *graph);
/* The link from one to the other is this now, and the way back what the path says of it, or the same where
 * nobody has measured that; an unknown one is taken out, both ways. False: there is no room or memory. */
bool link_graph_set(struct link_graph *graph, const char *from, const char *to, const struct path *path);
/* How data move between nodes of that node's host; unknown: not told. False: there is no room or memory. */
bool link_graph_set_host(struct link_graph *graph, const char *name, const struct path *path);
/* The way between two nodes that are on one host: that of the slower word; unknown when either has not told.
 */
struct path link_graph_host(const struct link_graph *graph, const char *one, const char *other);
/* The node is gone, with its links. */
void link_graph_remove(struct link_graph *graph, const char *name);
/* The quickest way for so many bytes; unknown when none is measured from end to end. From a node to itself:
 * nothing is in the way. */
struct path link_graph_path(const struct link_graph *graph, const char *from, const char *to, uint64_t bytes);

#endif
