/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside core/knowledge: shared by its files.
 */
#ifndef CORE_KNOWLEDGE_INTERNAL_H
#define CORE_KNOWLEDGE_INTERNAL_H

#include "core/hierarchy/knowledge.h"

struct knowledge {
    char *name;
    const struct clock *clock;
    struct catalog_store *catalogs;
    bool track;
    struct knowledge_node *nodes;      /* by name */
    struct knowledge_node *by_address; /* the same ones */
    struct branch *branches;
    struct knowledge_node *dirty;
    char **removed;
    uint32_t n_removed, removed_capacity;
    struct pending *pending; /* of all nodes */
    size_t n_pending;
    uint32_t n_servers;
    uint32_t n_troubled; /* nodes whose ranks are not there */
    uint64_t stamp;      /* of the last complete report that has begun */
    uint64_t next_id, turn;
    /* Of problems that were called on any server, as the last one that reported them has it; speeds are parts
     * of the speed measured there. They stay when the server leaves. */
    struct problem_speeds called;
    int64_t fresh_least_ns; /* the least floor of all branches with servers, or less; INT64_MIN: not known */
};

/* Works the node's load out again from its record and its pending placements, and tells the index. */
void node_reload(struct knowledge_node *node);
void node_drop_pending(struct knowledge *knowledge, struct pending *pending);
/* Drops the placements that the node's marks contain. */
void node_drop_contained(struct knowledge *knowledge, struct knowledge_node *node);

/* Notes that it changed, and that this has been told. */
void knowledge_touch(struct knowledge *knowledge, struct knowledge_node *node);
void knowledge_untouch(struct knowledge *knowledge, struct knowledge_node *node);

/* ---- core/hierarchy/knowledge.c ---- */

/* What it tells seldom, and what holds until it tells it again. */
void node_drop_models(struct knowledge_node *node);
void node_drop_seldom(struct knowledge_node *node); /* but for its models */
/* Out of and into the index of its catalogue, where it is found by what it costs. */
void node_leave_index(struct knowledge *k, struct knowledge_node *node);
void node_enter_index(struct knowledge *k, struct knowledge_node *node);
void node_leave_branch(struct knowledge *k, struct knowledge_node *node);
/* One that is in no branch. */
void node_free(struct knowledge *k, struct knowledge_node *node);
/* It is no more found by its address. */
void node_leave_address(struct knowledge *k, struct knowledge_node *node);
/* It is gone, and this will be told. */
void node_forget(struct knowledge *k, struct knowledge_node *node);

/* ---- core/hierarchy/knowledge_record.c ---- */

/* When something was so that is so many seconds old now. */
int64_t record_time(int64_t now_ns, double age_s);

#endif
