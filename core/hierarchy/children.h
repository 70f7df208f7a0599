/* SPDX-License-Identifier: Apache-2.0
 *
 * The parent's side of the tie that core/hierarchy/membership.h describes: who has said hello, under which
 * lease, and up to which number their reports have arrived. Used by agents and the redirector. Pure state
 * machine.
 *
 * A lease is what a child has at least: one that was heard of irregularly, as its machine is loaded, has more
 * (core/hierarchy/arrivals.h), and a node that was held up itself gives all of them time to be heard first. A
 * connection to it that breaks ends it at once; where its own one ends, it is asked.
 *
 * Two nodes of one name: the newer incarnation at the same address is the same node restarted and takes over
 * at once; at another address it is refused until the first one's lease is over or it cannot be reached
 * (a sign of life is asked for). Of those below different children the owner has to tell: children_refuse().
 */
#ifndef CORE_CHILDREN_H
#define CORE_CHILDREN_H

#include "core/hierarchy/arrivals.h"
#include "core/hierarchy/namesakes.h"
#include "core/hierarchy/refuges.h"
#include "core/transport.h"
#include "util/clock.h"
#include "util/hash.h"

/* Tag of an extension in every report: the child's address as text, so that a parent that was restarted and
 * knows nobody can answer with "rejoin". */
#define EXTENSION_CHILD_ADDRESS 2
/* Tag in the record of a master agent for the redirector: how many servers are below it, a 4-byte count. */
#define EXTENSION_SERVERS 4
/* Tag in reports that are parts of one complete report, one byte: 1, more follow; 0, this is the last one.
 * The first part is marked `complete`. */
#define EXTENSION_PART 11

/* Tag in a welcome: the URL at which children measure their link to this node (services/nws/probe_port.h). */
#define EXTENSION_PROBE 32
#define CAP_PROBE_URL   384

/* What a report is of all that the child knows. */
enum report_part {
    REPORT_CHANGES,
    REPORT_COMPLETE, /* all of it */
    REPORT_BEGINS,   /* the first part of all, and further ones, and the last */
    REPORT_GOES_ON,
    REPORT_ENDS
};

struct child {
    char *name, *address;
    uint64_t incarnation;
    enum node_role role;
    uint32_t minor;        /* the lower of the two versions */
    uint64_t features;     /* that both have */
    uint64_t newest;       /* number of the newest report seen */
    uint64_t through;      /* all reports up to this number have arrived */
    bool reported;         /* a complete report has arrived */
    bool gathering;        /* one is coming in parts */
    enum report_part part; /* what its newest report was */
    bool probed;           /* asked for a sign of life since it was last heard */
    bool silent;           /* it is lost because nothing more is heard of it, */
    bool stands;           /* and its connection did not break: it may be stopped, and go on */
    char *seeks;           /* the agent that it would rather be below; NULL: it is where it should be */
    int64_t trial_ns;      /* it was refused before, as its name was taken: until then that may come again;
                            * 0: it was not. For the owner's log, which may set it to 0 */
    struct arrivals arrivals;
    void *data;                /* the owner's */
    struct child *prev, *next; /* the one not heard of for longest first */
    UT_hash_handle hh;         /* by name */
    UT_hash_handle hh_address;
};

struct children_options {
    const char *name; /* of this node */
    enum node_role role;
    uint32_t roles;                 /* which children are welcome: bits 1 << ROLE_... */
    uint64_t features, required;    /* those spoken here; those that a child must have too */
    uint32_t most;                  /* children at most; 0: 10,000 */
    int64_t lease_ms, heartbeat_ms; /* lease: the shortest silence of one that is dead */
    const char *probe;              /* URL where they measure their links; copied; NULL: nowhere */
    const struct clock *clock;
};

struct children_ops {
    void (*post)(void *self, const char *address, uint64_t to_incarnation, const struct message *message);
    /* This node's ancestors (without itself), for welcomes and the detection of loops. */
    const char *const *(*ancestors)(void *self, size_t *n);
    /* Where that child may go when this node is lost. May be NULL: nowhere. */
    void (*refuges)(void *self, const struct child *child, struct refuges *refuges);
    /* It has just asked where the agent is that it seeks; what is known at once goes with the refuges. May be
     * NULL. */
    void (*seeks)(void *self, const struct child *child);
    /* Where nodes may go that are refused. May be NULL: that is not told. */
    void (*refer)(void *self, struct refuges *refuges);
    /* A child said hello and is welcome. False (no memory): it is refused. */
    bool (*joined)(void *self, struct child *child);
    /* It is gone: left, dead, or replaced. Its struct is freed after this. */
    void (*lost)(void *self, struct child *child, const char *why);
    /* A report that is newer than all before. `whole`: none before it is missing, so that it confirms what
     * it does not mention. */
    void (*report)(void *self, struct child *child, const struct report *report, bool whole);
    /* Somebody was refused; may be NULL. */
    void (*refused)(void *self, const char *name, const char *why);
};

struct children;

enum esp_status children_create(const struct children_options *options, const struct children_ops *ops,
                                void *self, struct children **children, struct esp_error *error);
/* Without calling lost(). */
void children_destroy(struct children *children);

/* Hand it what came: true when the message was its (hello, report, goodbye). */
bool children_post(struct children *children, const struct envelope *envelope, const struct message *message);
void children_undelivered(struct children *children, const char *address);
/* The connection of a child has ended: it is asked for a sign of life, and is dead when that is refused. */
void children_hung_up(struct children *children, const struct envelope *from);
int64_t children_due(const struct children *children);
void children_tick(struct children *children);

/* From now on so many at most (0: 10,000); those that are there stay. */
void children_set_most(struct children *children, uint32_t most);
/* How they keep in touch from now on: they are told, and nobody is taken for dead for a lease. */
void children_set_terms(struct children *children, int64_t lease_ms, int64_t heartbeat_ms);

/* The ancestors, or the refuges, changed: every child is told. */
void children_welcome_all(struct children *children);
/* A node bears a name that is taken (core/hierarchy/namesakes.h). A child of that name and incarnation is
 * lost, told why, and refused for a while. */
void children_refuse(struct children *children, const struct namesake *namesake);
/* The same of somebody below that child, which is to see to it. */
void children_refuse_below(struct children *children, const struct child *child,
                           const struct namesake *namesake);
/* This node stops: every child may look for another parent at once, and this one takes none in any more. */
void children_dismiss(struct children *children, const char *reason);

struct child *children_find(const struct children *children, const char *name);
/* The child that speaks, NULL when it is none (or a past incarnation of one). */
struct child *children_speaker(const struct children *children, const struct envelope *envelope);
struct child *children_first(const struct children *children); /* follow hh.next */
size_t children_count(const struct children *children);
void children_post_to(struct children *children, const struct child *child, const struct message *message);

#endif
