/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent remembers of the nodes below it: the whole subtree, through which child each is reached, how
 * loaded each server is, and the placements that it does not know of yet.
 *
 * A server's own record says how long its slots are busy and, by marks, which placements are counted in
 * that. Placements beyond the mark are pending: they are put on top of the record's load until a later record
 * contains them or their lease ends.
 *
 * Pure data; one thread at a time; time comes from the clock that is passed in.
 */
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

/* What a node tells when it changes, and what holds until it tells it anew. */
struct told_seldom {
    uint8_t *bytes; /* as it was told; NULL: nothing was */
    uint32_t length;
    bool passed_on; /* to those above */
};

/* One node below. Read by all, written only by knowledge*.c. */
struct knowledge_node {
    char *name, *parent, *address;
    enum node_role role;
    uint64_t incarnation;
    bool draining;
    struct path link;              /* from its parent */
    struct path access;            /* from this agent: the links on the way */
    struct known_catalog *catalog; /* NULL: none */
    double speed_flops;
    uint32_t slots, threads, queued, running;
    uint64_t memory_total, memory_free, completed, failed;
    struct placement_mark *marks;
    uint32_t n_marks;
    struct extensions extensions; /* but for its models, its links and its speeds */
    struct cost_set *models;      /* of what calls cost there; NULL: none were told */
    uint8_t *models_told;         /* as they were told, for those above */
    uint32_t models_length;
    uint8_t *grids_told; /* likewise, of their ranks; NULL: none were told */
    uint32_t grids_length;
    bool models_passed_on;
    struct told_seldom fetched;             /* its links from others (EXTENSION_FETCHED_LINKS) */
    struct told_seldom called;              /* what calls reach there (EXTENSION_PROBLEM_SPEEDS), */
    struct problem_speeds speeds;           /* and the same, read */
    const struct problem_speeds *elsewhere; /* the knowledge's: of all servers */
    struct told_seldom disabled;   /* problems that it does not solve any more (EXTENSION_DISABLED) */
    struct told_seldom uncallable; /* problems that it describes and cannot call (EXTENSION_UNCALLABLE) */
    struct server_terms terms;     /* its texts lie in `extensions` */
    int64_t link_base_ns;          /* when what was on its way there will be through, as the record says */
    int64_t link_free_ns;          /* with the pending placements behind it */
    struct load base;              /* as the record says */
    struct load load;              /* with the pending placements on top */
    struct pending *pending;
    uint32_t n_pending;
    uint32_t n_expected;    /* since the load was last worked out: knowledge_expect() */
    uint64_t pending_bytes; /* of memory, as far as told */
    int64_t last_placed_ns; /* the newest placement, pending or not */
    int64_t confirmed_ns;   /* when it was last known to be so */
    struct branch *branch;
    struct index_entry entry; /* in its catalogue's index while it takes sessions */
    /* internal */
    bool dirty;
    uint64_t stamp;
    struct arena arena; /* of the extensions */
    struct knowledge_node *branch_prev, *branch_next, *dirty_prev, *dirty_next;
    UT_hash_handle hh, hh_address;
};

/* A placement that the server's record does not contain. */
struct pending {
    struct knowledge_node *node;
    uint64_t master, number;
    struct session_id session;
    double seconds;
    uint64_t memory_bytes; /* 0: not told */
    uint64_t bytes_in;     /* of arguments that the client sends; 0: not told */
    int64_t placed_ns, expires_ns;
    bool announced;                      /* the owner's: it has been told down the path */
    struct pending *prev, *next;         /* of the node, by number within a master */
    struct pending *all_prev, *all_next; /* of all nodes, first to expire first */
};

struct branch_catalog {
    struct known_catalog *catalog;
    uint32_t servers;
};

/* All that is reached through one child. */
struct branch {
    char *name;       /* of the child */
    int64_t floor_ns; /* everything in it was confirmed at this time or later; INT64_MIN: never */
    struct knowledge_node *nodes;
    uint32_t n_nodes, n_servers; /* servers: those that take sessions */
    struct branch_catalog *catalogs;
    uint32_t n_catalogs;
    uint64_t complete_stamp; /* internal: of its last complete report */
    void *data;              /* the owner's */
    struct branch *prev, *next;
};

struct knowledge_options {
    const char *name; /* the agent's own: a record of this name from below is a loop and ignored */
    const struct clock *clock;
    struct catalog_store *catalogs;
    bool track; /* remember changes for knowledge_report() */
};

enum esp_status knowledge_create(const struct knowledge_options *options, struct knowledge **knowledge,
                                 struct esp_error *error);
void knowledge_destroy(struct knowledge *knowledge);

/* A new child. NULL without memory. */
struct branch *knowledge_branch(struct knowledge *knowledge, const char *child);
/* Forgets the branch and all in it. */
void knowledge_branch_remove(struct knowledge *knowledge, struct branch *branch);

/* What happened to a record. */
enum knowledge_change {
    KNOWLEDGE_IGNORED, /* a loop, older than what another branch says, or without memory */
    KNOWLEDGE_SAME,    /* known node, nothing that matters to the tree above is sooner than usual */
    KNOWLEDGE_BETTER,  /* new, or a busy server became free, or it takes sessions again: tell soon */
    KNOWLEDGE_NAMESAKE /* ignored: another node, at another address, has that name in another branch */
};
enum knowledge_change knowledge_update(struct knowledge *knowledge, struct branch *branch,
                                       const struct node_record *record);
/* Forgets the node if it is known through this branch; true when it was. */
bool knowledge_remove(struct knowledge *knowledge, const struct branch *branch, const char *name);
/* A complete report: between begin and end, nodes of the branch that were not updated are forgotten.
 * Returns how many. Those of several branches may come at the same time, in several messages each. */
void knowledge_complete_begin(struct knowledge *knowledge, struct branch *branch);
size_t knowledge_complete_end(struct knowledge *knowledge, struct branch *branch);
/* Everything in the branch was confirmed at most `oldest_s` ago. */
void knowledge_confirm(struct knowledge *knowledge, struct branch *branch, double oldest_s);

struct knowledge_node *knowledge_find(const struct knowledge *knowledge, const char *name);
/* The node at that address; NULL: none. One of them, where two say that they are there. */
struct knowledge_node *knowledge_find_address(const struct knowledge *knowledge, const char *address);
/* Whether some server below has said that its ranks are not there. */
bool knowledge_has_trouble(const struct knowledge *knowledge);
/* Whether that server is one of these, and has no other way to compute the problem of that digest. */
bool knowledge_lacks_ranks(const struct knowledge_node *node, uint64_t digest);
size_t knowledge_count(const struct knowledge *knowledge);
/* Servers that take sessions. */
uint32_t knowledge_servers(const struct knowledge *knowledge);
struct knowledge_node *knowledge_first(const struct knowledge *knowledge); /* follow hh.next */
struct branch *knowledge_branches(const struct knowledge *knowledge);      /* follow next */

/* Age of the oldest thing known below, in seconds. */
double knowledge_oldest_s(const struct knowledge *knowledge);
/* Whether all servers that can solve the variant were confirmed within `freshness_ns` (0: never). Takes
 * constant time while all is fresh. */
bool knowledge_is_fresh(struct knowledge *knowledge, const struct variant *variant, int64_t freshness_ns);
bool branch_is_fresh(const struct knowledge *knowledge, const struct branch *branch, int64_t freshness_ns);
/* Whether a server in the branch takes sessions of the variant. */
bool branch_can_solve(const struct branch *branch, const struct variant *variant);

/* Counts a placement on the node until a record contains it or the lease ends. A second time the same is
 * ignored. False without memory. */
bool knowledge_place(struct knowledge *knowledge, struct knowledge_node *node,
                     const struct placement *placement);
/* Counts so much computing on the node, from now, until the next record of it: what nobody is to be told of.
 */
void knowledge_expect(struct knowledge *knowledge, struct knowledge_node *node, double seconds);
/* How many times less than the declared work of a request its search may reckon with, as calls elsewhere were
 * quicker than their declared work promised: 1 or less. */
double knowledge_least_work(const struct knowledge *knowledge, uint64_t digest);
/* The server as what computes. */
struct computer knowledge_computer(const struct knowledge_node *node);
/* How the server stands, the pending placements counted in. */
struct standing knowledge_standing(const struct knowledge_node *node);
/* The first lease that ends, CLOCK_NEVER when none is pending; and ending those that are over. */
int64_t knowledge_due(const struct knowledge *knowledge);
void knowledge_tick(struct knowledge *knowledge);
size_t knowledge_pending(const struct knowledge *knowledge);
/* The placement that expires last; follow all_prev up to the first one (whose all_prev is the last). */
struct pending *knowledge_last_pending(const struct knowledge *knowledge);

/* The link to the server from another one, or within its host (its own name), as it has told it. False: it
 * has not. */
bool node_fetched(const struct knowledge_node *node, const char *peer, struct path *path);

/* The next problem that was disabled on the server, behind `after` (NULL: the first); NULL behind the last.
 */
const char *node_disabled_next(const struct knowledge_node *node, const char *after);
bool node_disables(const struct knowledge_node *node, const char *problem);
/* Why the server cannot call a problem that its files describe; NULL: it has said nothing of it. */
const char *node_cannot_call(const struct knowledge_node *node, const char *problem);

/* The node as a record; what it points to is the node's or lies in `arena`. False without memory. */
bool knowledge_record(const struct knowledge *knowledge, const struct knowledge_node *node,
                      struct arena *arena, struct node_record *record);
/* About what a record takes on the wire, and not less. */
size_t knowledge_record_bytes(const struct node_record *record);
/* Adds to a report what changed since the last one (`complete`: everything counts as changed), until it has
 * about `most_bytes` on the wire, and counts it as told. What is left over is for the next one.
 * `own` comes first. False without memory: nothing is counted as told. */
bool knowledge_report(struct knowledge *knowledge, bool complete, const struct node_record *own,
                      size_t most_bytes, struct arena *arena, struct report *report);
/* Whether there is anything (left) for a report. */
bool knowledge_changed(const struct knowledge *knowledge);
/* All nodes as records behind `own`, parents before children. */
bool knowledge_tree(const struct knowledge *knowledge, const struct node_record *own, struct arena *arena,
                    struct node_record **records, uint32_t *n_records);

#endif
