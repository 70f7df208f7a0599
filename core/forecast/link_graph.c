/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/link_graph.h"

#include "core/forecast/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct edge {
    struct link_graph_node *to;
    struct path path;
    bool measured; /* in this direction */
    struct edge *next;
};

struct link_graph_node {
    char *name;
    struct path host; /* to others of its host */
    struct edge *edges;
    UT_hash_handle hh;
    /* state of the present search */
    double seconds;
    bool settled;
    struct path path;
};

static struct link_graph_node *find(const struct link_graph *graph, const char *name)
{
    struct link_graph_node *node;
    HASH_FIND_STR(graph->nodes, name, node);
    return node;
}

static struct link_graph_node *get(struct link_graph *graph, const char *name)
{
    struct link_graph_node *node = find(graph, name);
    if (node || graph->n_nodes == LINK_GRAPH_NODES || !(node = calloc(1, sizeof *node)))
        return node;
    node->name = strdup(name);
    if (node->name)
        HASH_ADD_KEYPTR(hh, graph->nodes, node->name, strlen(node->name), node);
    if (!node->name || !node->hh.tbl) {
        free(node->name);
        free(node);
        return NULL;
    }
    graph->n_nodes++;
    return node;
}

static void cut(struct link_graph *graph, struct link_graph_node *from, const struct link_graph_node *to)
{
    for (struct edge **at = &from->edges; *at; at = &(*at)->next)
        if ((*at)->to == to) {
            struct edge *gone = *at;
            *at = gone->next;
            free(gone);
            graph->n_links--;
            return;
        }
}

static bool join(struct link_graph *graph, struct link_graph_node *from, struct link_graph_node *to,
                 struct path path, bool measured)
{
    for (struct edge *edge = from->edges; edge; edge = edge->next)
        if (edge->to == to) {
            if (measured || !edge->measured)
                *edge = (struct edge){to, path, measured, edge->next};
            return true;
        }
    struct edge *edge = graph->n_links < LINK_GRAPH_LINKS ? malloc(sizeof *edge) : NULL;
    if (!edge)
        return false;
    *edge = (struct edge){to, path, measured, from->edges};
    from->edges = edge;
    graph->n_links++;
    return true;
}

bool link_graph_set(struct link_graph *graph, const char *from, const char *to, const struct path *path)
{
    struct link_graph_node *one = path->known ? get(graph, from) : find(graph, from);
    struct link_graph_node *other = path->known ? get(graph, to) : find(graph, to);
    if (!one || !other || one == other)
        return !path->known;
    if (path->known)
        return join(graph, one, other, *path, true) &&
               join(graph, other, one, path_turned(*path), path->back_bps > 0);
    cut(graph, one, other);
    cut(graph, other, one);
    return true;
}

bool link_graph_set_host(struct link_graph *graph, const char *name, const struct path *path)
{
    struct link_graph_node *node = get(graph, name);
    if (node)
        node->host = *path;
    return node != NULL;
}

struct path link_graph_host(const struct link_graph *graph, const char *one, const char *other)
{
    const struct link_graph_node *a = find(graph, one), *b = find(graph, other);
    if (!a || !b || !a->host.known || !b->host.known)
        return (struct path){0};
    return a->host.bandwidth_bps < b->host.bandwidth_bps ? a->host : b->host;
}

void link_graph_remove(struct link_graph *graph, const char *name)
{
    struct link_graph_node *node = find(graph, name);
    if (!node)
        return;
    while (node->edges) {
        struct link_graph_node *other = node->edges->to;
        cut(graph, other, node);
        cut(graph, node, other);
    }
    HASH_DELETE(hh, graph->nodes, node);
    graph->n_nodes--;
    free(node->name);
    free(node);
}

void link_graph_clear(struct link_graph *graph)
{
    while (graph->nodes)
        link_graph_remove(graph, graph->nodes->name);
    *graph = (struct link_graph){0};
}

/* ---- shortest path ---- */

static struct link_graph_node *nearest(const struct link_graph *graph)
{
    struct link_graph_node *best = NULL;
    for (struct link_graph_node *node = graph->nodes; node; node = node->hh.next)
        if (!node->settled && node->seconds < HUGE_VAL && (!best || node->seconds < best->seconds))
            best = node;
    return best;
}

/* A path never gets faster by another link, so the nearest node is final, as in Dijkstra's algorithm. (The
 * time over two links is not the sum of both times, so among paths of three or more links a slightly
 * faster one may be missed.) */
static void look_from(const struct link_graph_node *node, uint64_t bytes)
{
    for (const struct edge *edge = node->edges; edge; edge = edge->next) {
        const struct path way = path_join(node->path, edge->path);
        const double seconds = path_datum_seconds(&way, bytes);
        if (!edge->to->settled && seconds < edge->to->seconds) {
            edge->to->seconds = seconds;
            edge->to->path = way;
        }
    }
}

struct path link_graph_path(const struct link_graph *graph, const char *from, const char *to, uint64_t bytes)
{
    static const struct path no_way = {.known = true};
    if (strcmp(from, to) == 0)
        return no_way;
    struct link_graph_node *start = find(graph, from), *end = find(graph, to), *node;
    if (!start || !end)
        return (struct path){0};
    for (node = graph->nodes; node; node = node->hh.next) {
        node->seconds = HUGE_VAL;
        node->settled = false;
    }
    start->seconds = 0;
    start->path = no_way;
    while ((node = nearest(graph)) && node != end) {
        node->settled = true;
        look_from(node, bytes);
    }
    return node ? end->path : (struct path){0};
}
