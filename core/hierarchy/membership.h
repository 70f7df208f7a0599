/* SPDX-License-Identifier: Apache-2.0
 *
 * The child's side of the tie to a parent: hello, welcome, reports under a lease, and finding the parent
 * again when it was not there yet, was restarted, or fell silent. Used by servers, agents, and a master agent
 * towards the redirector. Pure state machine; the owner posts what it is told to.
 *
 * Reports are changes, so none may be lost: a pulse says up to which number the parent has them all, and when
 * one stays unconfirmed the next report is a complete one. Numbers never start again within an incarnation,
 * so a report that was delayed cannot overwrite a later one. What is too much for one message goes in
 * several, each after the one before it has been confirmed.
 */
#ifndef CORE_MEMBERSHIP_H
#define CORE_MEMBERSHIP_H

#include "core/hierarchy/namesakes.h"
#include "core/hierarchy/refuges.h"
#include "core/transport.h"
#include "util/clock.h"

struct membership;

/* Tag of an extension that a hello carries and its welcome gives back as it is (struct hello_ticket): which
 * of the child's parents is meant, and which hello. Without it, the late welcome of one parent could be taken
 * for that of the next one tried, and one that was sent before a goodbye would undo it. */
#define EXTENSION_TICKET 1
struct hello_ticket {
    uint32_t parent; /* index among the child's parents */
    uint32_t number; /* of the hello, in the life of the child */
};

/* Between two hellos of who has long had no parent, unless the options say otherwise: after a cut, however
 * long, the tree is to be whole in 5 s, and a fresh agent waits for so long before it takes those for all
 * that it knows. */
#define MEMBERSHIP_RETRY_MOST_MS 2500

struct membership_options {
    const char *const *parents; /* addresses, the preferred one first; copied */
    size_t n_parents;
    enum node_role role;
    const char *name; /* its own; a welcome whose ancestors contain it is a loop and is left again */
    uint64_t features;
    int64_t retry_first_ms,
        retry_most_ms; /* between hellos, doubling, with jitter; 0: 100 and MEMBERSHIP_RETRY_MOST_MS */
    uint64_t seed;
    const struct clock *clock;
    bool quiet; /* why there is no tie is not told to `changed`, only that there is one: a look whether
                 * somebody is back, which the owner has told of before */
    const struct membership *after; /* of the same node, which it is to replace: numbers go on; or NULL */
};

struct membership_ops {
    /* Send this to the parent. */
    void (*post)(void *self, const char *address, uint64_t to_incarnation, const struct message *message);
    /* Fill a report: all that is known (`complete`), or what changed since the last one (maybe nothing).
     * What it points to must live until the next operation; building in message->arena is best. The number,
     * `complete` and the extensions of the tie are filled in by the caller; at most two of the owner's go
     * along. */
    void (*report)(void *self, bool complete, struct message *report);
    /* Whether the report just filled left something over, for a next one. May be NULL: never. */
    bool (*more)(void *self);
    /* The state changed: joined (parent's name), refused (with the text), not reachable, or lost.
     * For the log, once per change, not once per try; who was put out as its name is taken and is let in
     * again tells so when it has stayed for a lease. `parent` is a name, or an address while no name is
     * known; `why` is "" when joined. */
    void (*changed)(void *self, bool joined, const char *parent, const char *why);
    /* The ancestors, or the refuges, are new (after `changed`, or because something changed further up): an
     * agent tells its children. May be NULL. */
    void (*ancestors)(void *self);
    /* Those above want a node below refused: its name is taken. An agent sees to it. May be NULL. */
    void (*namesake)(void *self, const struct namesake *namesake);
};

/* The options' strings are copied, the clock is borrowed. Without parents it stays alone until it learns of
 * some. */
enum esp_status membership_create(const struct membership_options *options, const struct membership_ops *ops,
                                  void *self, struct membership **membership, struct esp_error *error);
void membership_destroy(struct membership *membership);

/* The own address is known: say hello (in the next tick, which is due at once). */
void membership_start(struct membership *membership, const char *own_address);

/* Hand it what came: returns true when the message was its (welcome, pulse, rejoin). */
bool membership_post(struct membership *membership, const struct envelope *envelope,
                     const struct message *message);
/* What was posted there did not arrive. That another contract is spoken there (ESP_VERSION) is told in the
 * words of `why`, all else as absence. */
void membership_undelivered(struct membership *membership, const char *address, const struct esp_error *why);

/* The connection of a node has ended. If it is that of the parent, a report asks at once whether it is still
 * there. */
void membership_hung_up(struct membership *membership, const struct envelope *from);

/* Something changed below: a report is due soon (changes are gathered for `within_ms`, 0: now). */
void membership_touch(struct membership *membership, int64_t within_ms);
/* A complete report is due now. */
void membership_tell_all(struct membership *membership);

/* Asks the parent, at once, where the agent of that name is: what it knows is among the refuges soon. */
void membership_ask_where(struct membership *membership, const char *name);

int64_t membership_due(const struct membership *membership);
void membership_tick(struct membership *membership);

/* Sends a report at once if one is due: nothing that was touched is told behind a goodbye. */
void membership_tell_due(struct membership *membership);
/* Says goodbye to the parent and stays out of the tree until membership_start(). */
void membership_leave(struct membership *membership, const char *reason);

bool membership_joined(const struct membership *membership);
/* Of the parent while joined, else NULL / 0. */
const char *membership_parent_name(const struct membership *membership);
const char *membership_parent_address(const struct membership *membership);
uint64_t membership_parent_incarnation(const struct membership *membership);
uint64_t membership_features(const struct membership *membership); /* those that both have */
/* The URL at which the parent lets its children measure their links (EXTENSION_PROBE); NULL: it does not. */
const char *membership_parent_probe(const struct membership *membership);
/* Joined, and the parent has confirmed all that it was told. */
bool membership_settled(const struct membership *membership);
/* For who waits until a node that has just started is found: settled, or without parents; else `why` not
 * (yet). */
bool membership_is_known_above(const struct membership *membership, char *why, size_t size);
/* Why there is no tie to the preferred parent, as last told to `changed`; NULL: not (yet) told. */
const char *membership_why(const struct membership *membership);
/* Whether it may still answer: nothing was told, or only that it has not answered so far. */
bool membership_may_answer(const struct membership *membership);
/* Whether that is a refusal, and not that the parent is not there. */
bool membership_is_refused(const struct membership *membership);
/* The addresses that are tried, the preferred one first. */
const char *const *membership_parents(const struct membership *membership, size_t *n);
/* Tries these too, behind those that are tried already. Those that are known are left out. False without
 * memory. */
bool membership_add_parents(struct membership *membership, const char *const *addresses, size_t n);
/* Others to fall back on, which became known while it runs: tried behind all parents of now, and forgotten
 * with the refuges; who has none joins them, and keeps them. Its own address is none. Returns how many are
 * new. */
size_t membership_learn_parents(struct membership *membership, const char *const *addresses, size_t n);
/* Where the newest parent said to go when it is lost: behind the configured parents, these are tried (but by
 * a master agent, whose children are told them). Lives until the next welcome. */
const struct refuges *membership_refuges(const struct membership *membership);
/* The parent's ancestors, itself first, while joined. */
const char *const *membership_ancestors(const struct membership *membership, size_t *n);

#endif
