/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes an administrator's orders to the node itself: move to another parent, drain, disable problems,
 * read its files again, stop, trace a session. Agents and servers share it; agents pass orders down the
 * tree (agent/administer.c). Under the owner's lock. A state machine, except for the small file with saved
 * changes (services/place.h).
 *
 *     look                no action: returns the generation
 *     home [ADDRESS]      returns the name of the parent that the node will return to by itself; "": it is
 *                         there, or does not know it. With that parent's address it goes there at once
 *     stay NAME           makes the present parent NAME the preferred one; returns the name of the parent
 *                         that it would have returned to, "" if that is the same
 *     move NAME ADDRESS   changes the parent; answered when that is done
 *     drain, undrain      stops accepting new sessions; accepts them again
 *     drain briefly       until it is restarted, which its files must allow, and for at most DUTY_BRIEF_NS,
 *                         because the command may have died: the command repeats it meanwhile
 *     retire              the same, until it is stopped for good: clients must not wait for it
 *     disable PROBLEM...  stops solving them; answered when that is done; if its files cannot be read
 *                         again, nothing changes
 *     enable PROBLEM...   solves them again
 *     problems            lists the problems that a server solves now, a line each, and disabled ones
 *                         after a '-'
 *     ranks               the profile of a server's ranks (core/forecast/parallel_profile.h);
 *                         "": it has none
 *     reload              like SIGHUP
 *     stop                like SIGTERM
 *     restart             ends as by stop, and runs again at the same address: like SIGUSR2
 *     trace SESSION       lines of core/hierarchy/trace.h
 *     weather [NUMBER]    lines of core/forecast/outlook.h, from that number on
 *
 * A node that has found another parent, because the preferred one was gone, returns by itself when the
 * preferred one is back, without an interruption. It recognises that parent by its name: if its address
 * has changed, the present parent reports the new one. */
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

/* For duty_options.control of a daemon: sends the process SIGHUP, SIGTERM or SIGUSR2, which its main
 * thread waits for (services/daemon.h). */
void duty_signal(void *arg, enum duty_control what);

struct duty_options {
    const char *name;                            /* of the node; must outlive it */
    const char *state_dir;                       /* copied; NULL: changes end with the process */
    const char *file_parent;                     /* named in its file, borrowed; NULL: none */
    const struct config_strings *administrators; /* names in certificates, borrowed; NULL: none */
    void (*control)(void *arg,
                    enum duty_control what); /* does it soon, on another thread; NULL: not possible */
    /* Whether its files allow that: called before a reload and a restart, with the node's lock. An error
     * refuses the order. NULL: not checked. */
    enum esp_status (*check)(void *arg, struct esp_error *error);
    void *control_arg;                    /* of both */
    bool reports;                         /* calls duty_reloaded() when a reload has ended */
    struct membership_options membership; /* for a tie to another parent; the parents in it are ignored */
    const struct membership_ops *membership_ops;
    struct membership **tie; /* the owner's; if it points to NULL, the node cannot have a parent */
    void *self;              /* the owner, for the operations */
};

/* How a process ends: its state_dir stays for the next start, is deleted as well (word "folder" of the
 * order), or it is never started again ("removed"). */
enum duty_end { DUTY_END_PROCESS, DUTY_END_FOLDER, DUTY_END_FOR_GOOD };

struct duty_ops {
    const char *(*own_address)(void *self);
    void (*post)(void *self, const char *address, uint64_t to_incarnation, const struct message *message);
    /* Starts or stops draining. NULL: the node has no sessions of its own. */
    void (*drain)(void *self, bool draining);
    /* The tie to the parent has been replaced. */
    void (*moved)(void *self);
    /* Reports the outcome of an order that took time, for the log. */
    void (*told)(void *self, const char *verb, enum esp_status status, const char *text);
    /* Returns the answer to a question to the node itself, in `arena`; NULL: unknown verb with that many
     * words. May be NULL. */
    const char *(*ask)(void *self, const char *verb, const char *const *words, size_t n, struct arena *arena);
    /* ESP_REFUSED: names what would be lost by such an end. `kept` (may be NULL): data of which other
     * servers have copies, according to the order ("0123456789abcdef", from the answer to "originals").
     * NULL: nothing is ever lost. */
    enum esp_status (*losses)(void *self, enum duty_end end, const char *kept, struct esp_error *error);
};

/* Asks a daemon's sensors, which are not part of its node. Called with the node's lock, so it must not
 * wait for that. All zero: no sensors. */
struct duty_weather {
    void (*tell)(void *arg, struct outlook_page *page);
    void *arg;
};

/* Whether the verb only asks, and is not logged. */
bool duty_is_question(const char *verb);

/* The receiver of an answer: a call, or the parent that sent an order. */
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
    struct esp_error unwritten;  /* why the saved file is not up to date; ESP_OK: it is */
    int64_t write_ns;            /* when saving is tried next; 0: not needed */
    char lasting[DUTY_LASTING];  /* how long changes are valid */
    int64_t brief_until_ns;      /* it accepts no sessions until then; 0: not in a brief drain */
    bool retires;                /* and it will not be started again */
    bool restarts;               /* its process ends, to run again: set by the owner */
    bool stops;                  /* an administrator has stopped it: clients must not wait for it */
    struct duty_asker mover;     /* waits for the present move */
    struct duty_asker reloader;  /* waits for the files to be read again */
    char **switched;             /* problems being disabled or (`enabled`) enabled; NULL: none */
    size_t n_switched;
    bool enabled;
    char *target;
    struct esp_error kept; /* of the move: outcome of saving it */
    const char *remark;
    char *wanted;                 /* the address of the preferred parent; NULL: not known yet */
    char sought[CAP_ADDRESS + 1]; /* its new address according to the present parent, as tried; "": none */
    bool returning;               /* the present handover is the return to the preferred parent */
    int64_t return_ns;            /* when the return is tried next; 0: it is below the preferred parent */
    int64_t pause_ns;
    unsigned looks; /* number of checks since the preferred parent was lost: only the first one is logged */
};

/* Reads the changes saved by an earlier process. ESP_CONFIG and ESP_SYSTEM as for place_load(). */
enum esp_status duty_init(struct duty *duty, const struct duty_options *options, const struct duty_ops *ops,
                          struct esp_error *error);
void duty_release(struct duty *duty);

/* Adds to the text of /health why changes are not saved, as long as they are not. */
void duty_tell_unwritten(const struct duty *duty, char *text, size_t size);

/* Whether it accepts no sessions because it is about to restart. */
bool duty_is_back_soon(const struct duty *duty);
/* Whether it would accept sessions again after a restart by an outside program: no administrator has
 * ordered otherwise. */
bool duty_may_be_back(const struct duty *duty);

/* Checks whether the sender may give that order: with TLS only administrators named in the node's file,
 * except for the weather and the profile of ranks, which any client may read. ESP_SECURITY. */
enum esp_status duty_permits(const struct duty *duty, const struct envelope *envelope, const char *verb,
                             struct esp_error *error);
/* Executes an order from the node's parent; answers by a message, now or when it is done. */
void duty_order(struct duty *duty, const char *parent_address, const struct envelope *envelope,
                const struct order *order);
/* Like duty_order(), for a call whose permission has been checked. */
void duty_call(struct duty *duty, struct call *call, const struct administer *administer);
/* Forgets a call that is gone; true when it waited here. */
bool duty_abandon(struct duty *duty, const struct call *call);

/* The files were read again, by an order or not. `status` and `error` are the outcome. `pending` lists the
 * keys that apply after a restart, `remark` is further information for the administrator ("": none). */
void duty_reloaded(struct duty *duty, enum esp_status status, const struct esp_error *error,
                   const char *pending, const char *remark);

/* Call these in addition to those of the tie itself. */
void duty_post(struct duty *duty, const struct envelope *envelope, const struct message *message);
void duty_undelivered(struct duty *duty, const char *address, const struct esp_error *why);
int64_t duty_due(const struct duty *duty);
void duty_tick(struct duty *duty);

#endif
