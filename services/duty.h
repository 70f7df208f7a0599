/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node does when an administrator wants something of the node itself: move to another parent, drain,
 * disable problems, read its files again, stop, tell what it remembers of a session. Agents and servers share
 * it; how orders find their way down the tree is the agents' affair (agent/administer.c). Under the owner's
 * lock; a state machine but for the file that keeps what was changed (services/place.h), which is small.
 *
 *     look                nothing: tells the generation
 *     home [ADDRESS]      tells the name of the parent that it goes back to by itself; "": it is there, or
 *                         does not know it. Told where that one is now, it goes there at once
 *     stay NAME           makes the parent of that name, which it has, the one that it belongs to; tells the
 *                         name of the one that it would have gone back to, "" when it was that one
 *     move NAME ADDRESS   changes the parent, answered when that is done
 *     drain, undrain      takes no new sessions; takes them again
 *     drain briefly       until it is started again, which its files have to allow, and for DUTY_BRIEF_NS
 *                         at most, as who wanted it may be gone: it is said again meanwhile
 *     retire              likewise, until it is stopped for good: nobody is to wait for it
 *     disable PROBLEM...  does not solve them any more, answered when that is so; where its files do
 *                         not allow to be read again, nothing changes
 *     enable PROBLEM...   does so again
 *     problems            tells which problems a server solves now, a line each, and those that are
 *                         disabled behind a '-'
 *     ranks               what is known of a server's ranks (core/forecast/parallel_profile.h);
 *                         "": it has none
 *     reload              as SIGHUP
 *     stop                as SIGTERM
 *     restart             ends as by stop, and runs again at the same address: as SIGUSR2
 *     trace SESSION       lines of core/hierarchy/trace.h
 *     weather [NUMBER]    lines of core/forecast/outlook.h, from that number on
 *
 * By itself a node that has found another parent, because the preferred one was gone, goes back when that one
 * is there again, in the same way: without being gone for a moment. It knows it by its name: where that one
 * is now, if it is not at its address any more, those above tell.
 */
#ifndef SERVICES_DUTY_H
#define SERVICES_DUTY_H

#include "core/forecast/outlook.h"
#include "core/hierarchy/handover.h"
#include "core/hierarchy/trace.h"
#include "services/place.h"
#include "util/clock.h"
#include "util/config.h"

#define DUTY_BRIEF_NS (20 * NS_PER_S)
#define DUTY_LASTING  (sizeof((struct esp_error *)NULL)->text + 80)

enum duty_control { DUTY_RELOAD, DUTY_STOP, DUTY_RESTART };

/* For duty_options.control of a daemon: as if somebody had sent it SIGHUP, SIGTERM or SIGUSR2, which its main
 * thread waits for (services/daemon.h). */
void duty_signal(void *arg, enum duty_control what);

struct duty_options {
    const char *name;                            /* of the node; lives as long as it */
    const char *state_dir;                       /* copied; NULL: what is changed ends with the process */
    const char *file_parent;                     /* that its file names, borrowed; NULL: none */
    const struct config_strings *administrators; /* names in certificates, borrowed; NULL: nobody's */
    void (*control)(void *arg,
                    enum duty_control what); /* does it soon, on another thread; NULL: not possible */
    /* Whether its files would let it do that: asked before a reload and a restart, with the node's lock. What
     * is wrong with them refuses the order. NULL: it is not asked. */
    enum esp_status (*check)(void *arg, struct esp_error *error);
    void *control_arg;                    /* of both */
    bool reports;                         /* tells by duty_reloaded() how a reload has ended */
    struct membership_options membership; /* for a tie to another parent; the parents in it do not matter */
    const struct membership_ops *membership_ops;
    struct membership **tie; /* the owner's; NULL in it: it has no parent, and cannot get one */
    void *self;              /* the owner, for the operations */
};

/* How a process ends: what is in the node's state_dir is found again when it is started, or goes as well
 * (word "folder" of the order), or nobody starts it again ("removed"). */
enum duty_end { DUTY_END_PROCESS, DUTY_END_FOLDER, DUTY_END_FOR_GOOD };

struct duty_ops {
    const char *(*own_address)(void *self);
    void (*post)(void *self, const char *address, uint64_t to_incarnation, const struct message *message);
    /* Draining begins or ends. NULL: the node takes no sessions itself. */
    void (*drain)(void *self, bool draining);
    /* The tie to the parent is another one now. */
    void (*moved)(void *self);
    /* What came of an order that took time: for the log. */
    void (*told)(void *self, const char *verb, enum esp_status status, const char *text);
    /* The answer to a question that is the node's own, in `arena`; NULL: it knows no such verb with so many
     * words. May be NULL. */
    const char *(*ask)(void *self, const char *verb, const char *const *words, size_t n, struct arena *arena);
    /* ESP_REFUSED: what would be lost by an end of that kind. `kept` (may be NULL): what the order says of
     * data that others keep, too ("0123456789abcdef", of the answer to "originals"). NULL: nothing ever. */
    enum esp_status (*losses)(void *self, enum duty_end end, const char *kept, struct esp_error *error);
};

/* What a daemon's sensors know is no part of its node: it is asked from them. Called with the node's lock,
 * for which it must not wait. All zero: nothing is known. */
struct duty_weather {
    void (*tell)(void *arg, struct outlook_page *page);
    void *arg;
};

/* Whether it only asks, and leaves no trace in the log. */
bool duty_is_question(const char *verb);

/* Whom to answer: a call, or the parent that sent an order. */
struct duty_asker {
    struct call *call; /* NULL: an order */
    uint64_t id, incarnation;
    char *address;
};

struct duty {
    struct duty_options options;
    const struct duty_ops *ops;
    char *state_dir;
    struct node_place place;
    struct handover handover;
    struct trace trace;
    struct duty_weather weather; /* the owner sets it */
    struct esp_error unwritten;  /* why the place is not in its file as it is; ESP_OK: it is */
    int64_t write_ns;            /* when that is tried next; 0: it is there */
    char lasting[DUTY_LASTING];  /* how long what was changed counts */
    int64_t brief_until_ns;      /* it takes no sessions until then; 0: not briefly */
    bool retires;                /* and nobody starts it again */
    bool restarts;               /* its process ends, to run again: the owner sets it */
    bool stops;                  /* an administrator has stopped it: nobody is to wait for it */
    struct duty_asker mover;     /* who waits for the move that is under way */
    struct duty_asker reloader;  /* and for the files to be read again */
    char **switched;             /* problems that this is to disable or (`enabled`) enable; NULL: none */
    size_t n_switched;
    bool enabled;
    char *target;
    struct esp_error kept; /* of the move: how writing it down ended */
    const char *remark;
    char *wanted;                 /* the address of the preferred parent; NULL: not known yet */
    char sought[CAP_ADDRESS + 1]; /* where those above said that it is, as tried; "": they have not */
    bool returning;               /* what is under way is the return to the preferred parent */
    int64_t return_ns;            /* when that is tried next; 0: it is where it should be */
    int64_t pause_ns;
    unsigned looks; /* for the preferred parent, since it was lost: the log hears of the first one */
};

/* Reads what was changed in an earlier life. ESP_CONFIG and ESP_SYSTEM as place_load() has them. */
enum esp_status duty_init(struct duty *duty, const struct duty_options *options, const struct duty_ops *ops,
                          struct esp_error *error);
void duty_release(struct duty *duty);

/* Adds to the text of /health why what was changed of the node is not written down, as long as it is not. */
void duty_tell_unwritten(const struct duty *duty, char *text, size_t size);

/* Whether it takes no sessions because it is to start again, and will then. */
bool duty_is_back_soon(const struct duty *duty);
/* Whether it would take sessions again if whatever ends the process now started it again: no administrator
 * has meant otherwise. */
bool duty_may_be_back(const struct duty *duty);

/* Whether who speaks may give that order: with TLS only those whom the node's file names, but for the
 * weather and what ranks are like, which everybody sees who sees the tree. ESP_SECURITY. */
enum esp_status duty_permits(const struct duty *duty, const struct envelope *envelope, const char *verb,
                             struct esp_error *error);
/* An order for this node from its parent: answered by a message, now or when it is done. */
void duty_order(struct duty *duty, const char *parent_address, const struct envelope *envelope,
                const struct order *order);
/* The same of a call; `permitted` already. */
void duty_call(struct duty *duty, struct call *call, const struct administer *administer);
/* True when that call waited here. */
bool duty_abandon(struct duty *duty, const struct call *call);

/* The files were read again, by an order or not. `status` and `error` tell how that went. `pending` names the
 * keys that count when the node is started again, `remark` is what else an administrator should know ("":
 * nothing). */
void duty_reloaded(struct duty *duty, enum esp_status status, const struct esp_error *error,
                   const char *pending, const char *remark);

/* Beside those of the tie itself. */
void duty_post(struct duty *duty, const struct envelope *envelope, const struct message *message);
void duty_undelivered(struct duty *duty, const char *address, const struct esp_error *why);
int64_t duty_due(const struct duty *duty);
void duty_tick(struct duty *duty);

#endif
