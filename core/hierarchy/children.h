/* SPDX-License-Identifier: Apache-2.0
 *
 * The parent's side of the tie that core/hierarchy/membership.h describes: which nodes have said hello,
 * their leases, and up to which number their reports have arrived. Used by agents and the redirector. Pure
 * state machine.
 *
 * The lease is a lower bound: a child whose messages come irregularly, because its machine is loaded, has
 * longer (core/hierarchy/arrivals.h). A node that was held up itself first gives all children time to be
 * heard. When a connection to the child breaks, the child is lost at once. When the child's own connection
 * to this node ends, it is asked for a sign of life.
 *
 * Two children with one name: the newer incarnation at the same address is the same node restarted, and
 * replaces the old one at once. At another address, the newcomer is refused until the first child's lease
 * is over or it cannot be reached (this node asks it for a sign of life). Equal names below different
 * children are found by the owner, which calls children_refuse(). */
#ifndef CORE_CHILDREN_H
#define CORE_CHILDREN_H

#include "core/hierarchy/arrivals.h"
#include "core/hierarchy/namesakes.h"
#include "core/hierarchy/refuges.h"
#include "core/transport.h"
#include "util/clock.h"
#include "util/hash.h"

/* Tag of an extension in every report: the child's address as text. A restarted parent, which knows no
 * child, can answer "rejoin" to this address. */
#define EXTENSION_CHILD_ADDRESS 2
/* Tag in the record of a master agent for the redirector: how many servers are below it, a 4-byte count. */
#define EXTENSION_SERVERS 4
/* Tag in reports that are parts of one complete report, one byte: 1, more follow; 0, this is the last one.
 * The first part is marked `complete`. */
#define EXTENSION_PART 11

/* Tag in a welcome: the URL at which children measure their link to this node (services/nws/probe_port.h). */
#define EXTENSION_PROBE 32
#define CAP_PROBE_URL   384

/* How much of the child's knowledge a report contains. */
enum report_part {
    REPORT_CHANGES,
    REPORT_COMPLETE, /* all of it */
    REPORT_BEGINS,   /* the first part of a complete report, a further one, and the last one */
    REPORT_GOES_ON,
    REPORT_ENDS
};

struct child {
    char *name, *address;
    uint64_t incarnation;
    enum node_role role;
    uint32_t minor;        /* the lower of the two versions */
    uint64_t features;     /* features that both have */
    uint64_t newest;       /* number of the newest report received */
    uint64_t through;      /* all reports up to this number have arrived */
    bool reported;         /* a complete report has arrived */
    bool gathering;        /* a complete report is arriving in parts */
    enum report_part part; /* the part of its newest report */
    bool probed;           /* asked for a sign of life since its last message */
    bool silent;           /* lost because of silence, */
    bool stands;      /* and its connection did not break: the process may be stopped and continue later */
    char *seeks;      /* the agent that it would rather be below; NULL: this node is the preferred one */
    int64_t trial_ns; /* the child was refused before because its name was taken, and may be refused again
                         until this time; 0: it was not. For the owner's log, which may set it to 0 */
    struct arrivals arrivals;
    void *data;                /* the owner's */
    struct child *prev, *next; /* the child silent for longest first */
    UT_hash_handle hh;         /* by name */
    UT_hash_handle hh_address;
};

struct children_options {
    const char *name; /* of this node */
    enum node_role role;
    uint32_t roles;                 /* roles that are accepted: bits 1 << ROLE_... */
    uint64_t features, required;    /* features of this node; features that a child must have */
    uint32_t most;                  /* most children; 0: 10,000 */
    int64_t lease_ms, heartbeat_ms; /* lease: the shortest silence after which a child is dead */
    const char *probe;              /* URL where children measure their links; copied; NULL: none */
    const struct clock *clock;
};

struct children_ops {
    void (*post)(void *self, const char *address, uint64_t to_incarnation, const struct message *message);
    /* Returns this node's ancestors (without itself), for welcomes and the detection of loops. */
    const char *const *(*ancestors)(void *self, size_t *n);
    /* Fills in where the child may go when this node is lost. May be NULL: nowhere. */
    void (*refuges)(void *self, const struct child *child, struct refuges *refuges);
    /* The child has just asked where its preferred agent is. A known address goes with the refuges.
     * May be NULL. */
    void (*seeks)(void *self, const struct child *child);
    /* Fills in where refused nodes may go. May be NULL: a refusal names no address. */
    void (*refer)(void *self, struct refuges *refuges);
    /* A child said hello and may join. False (no memory): it is refused. */
    bool (*joined)(void *self, struct child *child);
    /* The child left, died, or was replaced. Its struct is freed after this call. */
    void (*lost)(void *self, struct child *child, const char *why);
    /* A report newer than all before. `whole`: no earlier report is missing, so it confirms what it does
     * not mention. */
    void (*report)(void *self, struct child *child, const struct report *report, bool whole);
    /* A node was refused; may be NULL. */
    void (*refused)(void *self, const char *name, const char *why);
};

struct children;

enum esp_status children_create(const struct children_options *options, const struct children_ops *ops,
                                void *self, struct children **children, struct esp_error *error);
/* Frees everything without calling lost(). */
void children_destroy(struct children *children);

/* Handles a message: true when it was a hello, report or goodbye. */
bool children_post(struct children *children, const struct envelope *envelope, const struct message *message);
void children_undelivered(struct children *children, const char *address);
/* The child's connection to this node has ended: asks the child for a sign of life. It is dead when that
 * message is refused. */
void children_hung_up(struct children *children, const struct envelope *from);
int64_t children_due(const struct children *children);
void children_tick(struct children *children);

/* Sets the most children from now on (0: 10,000). Present ones stay. */
void children_set_most(struct children *children, uint32_t most);
/* Sets new lease and heartbeat: every child gets a welcome, and no child is taken for dead for one lease. */
void children_set_terms(struct children *children, int64_t lease_ms, int64_t heartbeat_ms);

/* Sends every child a welcome, because the ancestors or the refuges changed. */
void children_welcome_all(struct children *children);
/* Loses and refuses for a while the child with that name and incarnation, with the reason: its name is
 * taken (core/hierarchy/namesakes.h). */
void children_refuse(struct children *children, const struct namesake *namesake);
/* Asks that child to refuse a node below it whose name is taken. */
void children_refuse_below(struct children *children, const struct child *child,
                           const struct namesake *namesake);
/* This node stops: every child may look for another parent at once, and no child is accepted any more. */
void children_dismiss(struct children *children, const char *reason);

struct child *children_find(const struct children *children, const char *name);
/* Returns the child that sent the envelope; NULL when the sender is no child (or an earlier incarnation of
 * one). */
struct child *children_speaker(const struct children *children, const struct envelope *envelope);
struct child *children_first(const struct children *children); /* follow hh.next */
size_t children_count(const struct children *children);
void children_post_to(struct children *children, const struct child *child, const struct message *message);

#endif
