/* SPDX-License-Identifier: Apache-2.0
 *
 * The child's side of the tie to a parent: hello, welcome, reports under a lease. It also finds the parent
 * again when the parent was not up yet, was restarted, or fell silent. Used by servers, agents, and a
 * master agent towards the redirector. Pure state machine; the owner posts its messages.
 *
 * Reports are changes, so none may be lost. A pulse of the parent says up to which number it has them all.
 * If a report stays unconfirmed, the next one is complete. Numbers never restart within an incarnation, so
 * a delayed report cannot overwrite a later one. A report too long for one message goes in several, each
 * after the one before has been confirmed. */
#ifndef CORE_MEMBERSHIP_H
#define CORE_MEMBERSHIP_H

#include "core/hierarchy/namesakes.h"
#include "core/hierarchy/refuges.h"
#include "core/transport.h"
#include "util/clock.h"

struct membership;

/* Tag of an extension that a hello carries and its welcome returns unchanged (struct hello_ticket): it
 * identifies the parent among the child's parents, and the hello. Without it, a late welcome of one parent
 * could be taken for that of the next one tried, and a welcome sent before a goodbye would undo the
 * goodbye. */
#define EXTENSION_TICKET 1
struct hello_ticket {
    uint32_t parent; /* index among the child's parents */
    uint32_t number; /* of the hello, over the life of the child */
};

/* Longest pause between hellos without a parent, unless the options say otherwise. It serves two promises:
 * after a network cut the tree is whole again within 5 s, and a fresh agent waits this long before it
 * considers its list of children complete. */
#define MEMBERSHIP_RETRY_MOST_MS 2500

struct membership_options {
    const char *const *parents; /* addresses, the preferred one first; copied */
    size_t n_parents;
    enum node_role role;
    const char *name; /* this node's name; a welcome whose ancestors contain it shows a loop, and the parent
                         is left */
    uint64_t features;
    int64_t retry_first_ms,
        retry_most_ms; /* between hellos, doubling, with jitter; 0: 100 and MEMBERSHIP_RETRY_MOST_MS */
    uint64_t seed;
    const struct clock *clock;
    bool quiet; /* call `changed` only when joined, not with reasons: for a look whether a lost parent is
                   back, which the owner has reported already */
    const struct membership
        *after; /* the tie of the same node that this one replaces: numbers continue from there; or NULL */
};

struct membership_ops {
    /* Sends this message to the parent. */
    void (*post)(void *self, const char *address, uint64_t to_incarnation, const struct message *message);
    /* Fills a report: everything (`complete`), or what changed since the last one (possibly nothing). What
     * it points to must live until the next operation; build it in message->arena. The caller fills in the
     * number, `complete` and the extensions of the tie; the owner may add at most REPORT_EXTENSIONS. */
    void (*report)(void *self, bool complete, struct message *report);
    /* Whether something was left over for the next report. May be NULL: never. */
    bool (*more)(void *self);
    /* The state changed: joined (parent's name), refused (with the text), not reachable, or lost. For the
     * log: once per change, not once per try. A node that was refused because its name is taken, and is
     * let in again, reports this after it has stayed for a lease. `parent` is a name, or an address while
     * no name is known; `why` is "" when joined. */
    void (*changed)(void *self, bool joined, const char *parent, const char *why);
    /* The ancestors or the refuges are new (after `changed`, or because something changed further up): an
     * agent passes them to its children. May be NULL. */
    void (*ancestors)(void *self);
    /* An agent further up wants a node below refused, because its name is taken. The owner, an agent,
     * refuses it. May be NULL. */
    void (*namesake)(void *self, const struct namesake *namesake);
};

/* Copies the options' strings and borrows the clock. Without parents the node stays alone until it learns
 * of some. */
enum esp_status membership_create(const struct membership_options *options, const struct membership_ops *ops,
                                  void *self, struct membership **membership, struct esp_error *error);
void membership_destroy(struct membership *membership);

/* The node's own address is known: says hello (in the next tick, which is due at once). */
void membership_start(struct membership *membership, const char *own_address);

/* Handles a message: true when it was a welcome, pulse or rejoin. */
bool membership_post(struct membership *membership, const struct envelope *envelope,
                     const struct message *message);
/* A message to that address could not be delivered. If the peer speaks another contract (ESP_VERSION), the
 * text of `why` is reported; any other error counts as absence. */
void membership_undelivered(struct membership *membership, const char *address, const struct esp_error *why);

/* The connection of a node has ended. If it is the parent, a report asks at once whether the parent is
 * still there. */
void membership_hung_up(struct membership *membership, const struct envelope *from);

/* Something changed below: a report is due soon (changes are gathered for `within_ms`; 0: now). */
void membership_touch(struct membership *membership, int64_t within_ms);
/* Makes a complete report due now. */
void membership_tell_all(struct membership *membership);

/* Asks the parent, at once, where the agent of that name is. Its answer arrives among the refuges. */
void membership_ask_where(struct membership *membership, const char *name);

int64_t membership_due(const struct membership *membership);
void membership_tick(struct membership *membership);

/* Sends a due report at once, because nothing can be reported after a goodbye. */
void membership_tell_due(struct membership *membership);
/* Says goodbye to the parent and stays out of the tree until membership_start(). */
void membership_leave(struct membership *membership, const char *reason);

bool membership_joined(const struct membership *membership);
/* The parent's name and incarnation while joined, else NULL and 0. */
const char *membership_parent_name(const struct membership *membership);
const char *membership_parent_address(const struct membership *membership);
uint64_t membership_parent_incarnation(const struct membership *membership);
uint64_t membership_features(const struct membership *membership); /* those that both have */
/* The URL at which the parent lets its children measure their links (EXTENSION_PROBE); NULL: none. */
const char *membership_parent_probe(const struct membership *membership);
/* Whether the node is joined and the parent has confirmed all reports. */
bool membership_settled(const struct membership *membership);
/* Whether a node that has just started can be found: it is settled, or has no parents. If not, fills in
 * `why`. */
bool membership_is_known_above(const struct membership *membership, char *why, size_t size);
/* Why there is no tie to the preferred parent, as last passed to `changed`; NULL: no reason was passed. */
const char *membership_why(const struct membership *membership);
/* Whether the preferred parent may still answer: no reason was passed, or only that it has not answered so
 * far. */
bool membership_may_answer(const struct membership *membership);
/* Whether the reason is a refusal, not the parent's absence. */
bool membership_is_refused(const struct membership *membership);
/* The addresses that are tried, the preferred one first. */
const char *const *membership_parents(const struct membership *membership, size_t *n);
/* Adds parents after those that are tried already. Known ones are left out. False without memory. */
bool membership_add_parents(struct membership *membership, const char *const *addresses, size_t n);
/* Adds fallback parents that became known at run time: tried after all present parents, and forgotten with
 * the refuges. A node without parents joins these and keeps them. Its own address is left out. Returns how
 * many are new. */
size_t membership_learn_parents(struct membership *membership, const char *const *addresses, size_t n);
/* Where the newest parent said to go when it is lost: tried after the configured parents. A master agent
 * does not try them itself but sends them to its children. Valid until the next welcome. */
const struct refuges *membership_refuges(const struct membership *membership);
/* The parent's ancestors, itself first, while joined. */
const char *const *membership_ancestors(const struct membership *membership, size_t *n);

#endif
