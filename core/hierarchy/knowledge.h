/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent's knowledge of the nodes below it: the whole subtree, through which child each node is reached,
 * how loaded each server is, and the placements that a server's record does not include yet.
 *
 * A server's own record says how long its slots are busy. Its marks say which placements that time
 * includes. Later placements are pending: they are added to the record's load until a later record
 * includes them or their lease ends.
 *
 * Pure data; one thread at a time; time comes from the clock that is passed in. */
#ifndef CORE_KNOWLEDGE_H
#define CORE_KNOWLEDGE_H

#include "core/hierarchy/catalog.h"
#include "core/choice/estimate.h"
#include "core/forecast/problem_speeds.h"
#include "core/message/message.h"
#include "core/choice/server_index.h"
#include "core/choice/terms.h"
#include "util/clock.h"
#include "util/hash.h"

struct knowledge;
struct branch;
struct pending;

/* A value that a node reports when it changes, valid until it is reported again. */
struct told_seldom {
    uint8_t *bytes; /* as received; NULL: none */
    uint32_t length;
    bool passed_on; /* included in a report to the parent */
};

/* One node below. All may read it; only knowledge*.c write it. */
struct knowledge_node {
    char *name, *parent, *address;
    enum node_role role;
    uint64_t incarnation;
    bool draining;
    struct path link;              /* link from its parent */
    struct path access;            /* path from this agent: all links on the way */
    struct known_catalog *catalog; /* NULL: none */
    double speed_flops;
    uint32_t slots, threads, queued, running;
    uint64_t memory_total, memory_free, completed, failed;
    struct placement_mark *marks;
    uint32_t n_marks;
    struct extensions extensions; /* except models, links and speeds */
    struct cost_set *models;      /* cost models of calls there; NULL: none were sent */
    uint8_t *models_told;         /* models as received, for reports to the parent */
    uint32_t models_length;
    uint8_t *grids_told; /* process grids of its ranks as received; NULL: none were sent */
    uint32_t grids_length;
    bool models_passed_on;
    struct told_seldom fetched;             /* links to it from other servers (EXTENSION_FETCHED_LINKS) */
    struct told_seldom called;              /* speeds that calls reach there (EXTENSION_PROBLEM_SPEEDS), */
    struct problem_speeds speeds;           /* and the same, parsed */
    const struct problem_speeds *elsewhere; /* speeds from all servers; owned by the knowledge */
    struct told_seldom disabled;            /* problems that are disabled there (EXTENSION_DISABLED) */
    struct told_seldom uncallable; /* problems that it describes but cannot call (EXTENSION_UNCALLABLE) */
    struct server_terms terms;     /* its texts lie in `extensions` */
    int64_t link_base_ns; /* when the bytes on their way will have arrived, according to the record */
    int64_t link_free_ns; /* the same with the pending placements */
    struct load base;     /* load according to the record */
    struct load load;     /* load with the pending placements added */
    struct pending *pending;
    uint32_t n_pending;
    uint32_t n_expected;    /* calls of knowledge_expect() since the load was last computed */
    uint64_t pending_bytes; /* memory of pending placements, as far as known */
    int64_t last_placed_ns; /* the newest placement, pending or not */
    int64_t confirmed_ns;   /* when its state was last confirmed */
    struct branch *branch;
    struct index_entry entry; /* in its catalogue's index while it accepts sessions */
    /* internal */
    bool dirty;
    uint64_t stamp;
    struct arena arena; /* memory of the extensions */
    struct knowledge_node *branch_prev, *branch_next, *dirty_prev, *dirty_next;
    UT_hash_handle hh, hh_address;
};

/* A placement that the server's record does not include. */
struct pending {
    struct knowledge_node *node;
    uint64_t master, number;
    struct session_id session;
    double seconds;
    uint64_t memory_bytes; /* 0: not known */
    uint64_t bytes_in;     /* of arguments that the client sends; 0: not known */
    int64_t placed_ns, expires_ns;
    bool announced;                      /* the owner's: it has been announced down the path */
    struct pending *prev, *next;         /* of the node, by number within a master */
    struct pending *all_prev, *all_next; /* of all nodes, in order of expiry */
};

struct branch_catalog {
    struct known_catalog *catalog;
    uint32_t servers;
};

/* All that is reached through one child. */
struct branch {
    char *name;       /* of the child */
    int64_t floor_ns; /* everything in the branch was confirmed at this time or later; INT64_MIN: never */
    struct knowledge_node *nodes;
    uint32_t n_nodes, n_servers; /* servers: those that accept sessions */
    struct branch_catalog *catalogs;
    uint32_t n_catalogs;
    uint64_t complete_stamp; /* internal: of its last complete report */
    void *data;              /* the owner's */
    struct branch *prev, *next;
};

struct knowledge_options {
    const char *name; /* the agent's own: a record of this name from below shows a loop and is ignored */
    const struct clock *clock;
    struct catalog_store *catalogs;
    bool track; /* remember changes for knowledge_report() */
};

enum esp_status knowledge_create(const struct knowledge_options *options, struct knowledge **knowledge,
                                 struct esp_error *error);
void knowledge_destroy(struct knowledge *knowledge);

/* Adds a child. NULL without memory. */
struct branch *knowledge_branch(struct knowledge *knowledge, const char *child);
/* Forgets the branch and all nodes in it. */
void knowledge_branch_remove(struct knowledge *knowledge, struct branch *branch);

/* The outcome of knowledge_update(). */
enum knowledge_change {
    KNOWLEDGE_IGNORED, /* a loop, older than another branch's record, or no memory */
    KNOWLEDGE_SAME,    /* known node; nothing that the parent must know earlier than usual */
    KNOWLEDGE_BETTER,  /* new node, or a busy server became free, or accepts sessions again: report soon */
    KNOWLEDGE_NAMESAKE /* ignored: in another branch, a node at another address has that name */
};
enum knowledge_change knowledge_update(struct knowledge *knowledge, struct branch *branch,
                                       const struct node_record *record);
/* Forgets the node if it is in this branch; true when it was. */
bool knowledge_remove(struct knowledge *knowledge, const struct branch *branch, const char *name);
/* Between begin and end of a complete report, nodes of the branch that were not updated are forgotten.
 * Returns how many. Reports of several branches may arrive at the same time, in several messages each. */
void knowledge_complete_begin(struct knowledge *knowledge, struct branch *branch);
size_t knowledge_complete_end(struct knowledge *knowledge, struct branch *branch);
/* Everything in the branch was confirmed at most `oldest_s` ago. */
void knowledge_confirm(struct knowledge *knowledge, struct branch *branch, double oldest_s);

struct knowledge_node *knowledge_find(const struct knowledge *knowledge, const char *name);
/* Returns the node at that address; NULL: none. If two records have the address, returns one of them. */
struct knowledge_node *knowledge_find_address(const struct knowledge *knowledge, const char *address);
/* Whether a server below has reported that its ranks are missing. */
bool knowledge_has_trouble(const struct knowledge *knowledge);
/* Whether that server's ranks are missing and it has no other way to compute the problem of that digest. */
bool knowledge_lacks_ranks(const struct knowledge_node *node, uint64_t digest);
size_t knowledge_count(const struct knowledge *knowledge);
/* Counts the servers that accept sessions. */
uint32_t knowledge_servers(const struct knowledge *knowledge);
struct knowledge_node *knowledge_first(const struct knowledge *knowledge); /* follow hh.next */
struct branch *knowledge_branches(const struct knowledge *knowledge);      /* follow next */

/* Age of the oldest record below, in seconds. */
double knowledge_oldest_s(const struct knowledge *knowledge);
/* Whether all servers that can solve the variant were confirmed within `freshness_ns` (0: never). Takes
 * constant time while all records are fresh. */
bool knowledge_is_fresh(struct knowledge *knowledge, const struct variant *variant, int64_t freshness_ns);
bool branch_is_fresh(const struct knowledge *knowledge, const struct branch *branch, int64_t freshness_ns);
/* Whether a server in the branch accepts sessions of the variant. */
bool branch_can_solve(const struct branch *branch, const struct variant *variant);

/* Counts a placement on the node until a record includes it or the lease ends. A repeated placement is
 * ignored. False without memory. */
bool knowledge_place(struct knowledge *knowledge, struct knowledge_node *node,
                     const struct placement *placement);
/* Counts that much computing on the node until its next record. It is not reported to any other node. */
void knowledge_expect(struct knowledge *knowledge, struct knowledge_node *node, double seconds);
/* Returns the factor (at most 1) by which a search may reduce the declared work of a request, because
 * calls on other servers were quicker than their declared work promised. */
double knowledge_least_work(const struct knowledge *knowledge, uint64_t digest);
/* Returns the server as input for estimates. */
struct computer knowledge_computer(const struct knowledge_node *node);
/* Returns the server's load, including pending placements. */
struct standing knowledge_standing(const struct knowledge_node *node);
/* knowledge_due() returns when the first lease ends, CLOCK_NEVER when none is pending; knowledge_expire()
 * ends the leases that are over. */
int64_t knowledge_due(const struct knowledge *knowledge);
void knowledge_tick(struct knowledge *knowledge);
size_t knowledge_pending(const struct knowledge *knowledge);
/* The placement that expires last; follow all_prev to the first one (whose all_prev is the last). */
struct pending *knowledge_last_pending(const struct knowledge *knowledge);

/* Returns the link to the server from another server, or within its host (its own name), as the server
 * reported it. False: not reported. */
bool node_fetched(const struct knowledge_node *node, const char *peer, struct path *path);

/* Returns the next problem disabled on the server, after `after` (NULL: the first); NULL after the last. */
const char *node_disabled_next(const struct knowledge_node *node, const char *after);
bool node_disables(const struct knowledge_node *node, const char *problem);
/* Why the server cannot call a problem that its files describe; NULL: it gave no reason. */
const char *node_cannot_call(const struct knowledge_node *node, const char *problem);

/* Writes the node as a record whose pointers belong to the node or to `arena`. False without memory. */
bool knowledge_record(const struct knowledge *knowledge, const struct knowledge_node *node,
                      struct arena *arena, struct node_record *record);
/* An upper estimate of the record's bytes on the wire. */
size_t knowledge_record_bytes(const struct node_record *record);
/* Adds to a report what changed since the last one (`complete`: all nodes), up to about `most_bytes` on
 * the wire, and marks it as reported. The rest is left for the next report. `own` comes first. False
 * without memory: nothing is marked as reported. */
bool knowledge_report(struct knowledge *knowledge, bool complete, const struct node_record *own,
                      size_t most_bytes, struct arena *arena, struct report *report);
/* Whether there is anything (left) to report. */
bool knowledge_changed(const struct knowledge *knowledge);
/* Writes all nodes as records after `own`, parents before children. */
bool knowledge_tree(const struct knowledge *knowledge, const struct node_record *own, struct arena *arena,
                    struct node_record **records, uint32_t *n_records);

#endif
