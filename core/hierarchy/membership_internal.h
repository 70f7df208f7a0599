/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the tie to a parent: core/hierarchy/membership.c (its life and what the parent says),
 * core/hierarchy/membership_seek.c (looking for a parent) and core/hierarchy/membership_report.c (telling it
 * what is below).
 */
#ifndef CORE_MEMBERSHIP_INTERNAL_H
#define CORE_MEMBERSHIP_INTERNAL_H

#include "core/hierarchy/arrivals.h"
#include "core/hierarchy/children.h"
#include "core/hierarchy/membership.h"

enum state { STATE_OUT, STATE_SEEKING, STATE_JOINED };

struct membership {
    struct membership_ops ops;
    void *self;
    const struct clock *clock;
    char **parents;
    size_t n_parents;
    enum node_role role;
    char *name;
    char *own_address;
    uint64_t features;
    int64_t retry_first_ms, retry_most_ms;
    uint64_t random;

    enum state state;
    size_t current;                 /* parent being tried, or joined */
    size_t tries;                   /* hellos since the tie was lost, for the backoff */
    uint32_t hellos, hellos_before; /* ever, and before welcomes could count again */
    int64_t hello_ns;
    bool quiet;
    char **said; /* per parent: the last reason told to `changed` since it was joined, or NULL */

    char parent_probe[CAP_PROBE_URL + 1];
    char *parent_name;
    uint64_t parent_incarnation;
    uint64_t agreed_features;
    char **ancestors;
    size_t n_ancestors;
    size_t n_refuges;       /* the last ones among the parents */
    struct refuges refuges; /* that the last parent told; they outlast it */
    int64_t lease_ns, heartbeat_ns;

    uint64_t number;          /* of the last report sent, over the whole life of this node */
    uint64_t confirmed;       /* the parent has all up to this one */
    int64_t unconfirmed_ns;   /* when the oldest unconfirmed report was sent */
    bool complete_next;       /* the next report must tell all */
    bool parts;               /* a complete report has begun and not ended */
    bool more;                /* the last report left something over */
    char *seeks;              /* the parent is asked where that agent is, by the next report; NULL: not */
    int64_t report_ns;        /* next report */
    struct arrivals arrivals; /* signs of life from the parent */
    int64_t spared_ns;        /* until then it is not taken for dead: this node itself was held up */
    bool put_out;             /* the last tie was ended by a refusal: its name is taken */
    int64_t trial_ns;         /* let in again after that: told when the tie lasts until then; 0: told */
};

/* ---- core/hierarchy/membership.c ---- */

int64_t membership_now(const struct membership *m);
/* A sign of life from the parent. */
void membership_heard(struct membership *m);
bool membership_is_from_parent(const struct membership *m, const struct envelope *envelope);

/* ---- core/hierarchy/membership_seek.c ---- */

/* Tells the owner why there is no tie to this parent, but the same thing only once. Broken, silent, not to be
 * reached: to whoever reads the log these are one and the same absence. */
void membership_say(struct membership *m, size_t index, const char *parent, const char *why);
/* Reasons: that the parent is not there. */
extern const char membership_broken[], membership_silent[], membership_unreachable[], membership_no_answer[];
/* Whether such a reason is that the parent is not there, and not that it refused. */
bool membership_is_absence(const char *why);
/* The same, of a parent that is not there. */
void membership_say_absent(struct membership *m, size_t index, const char *why);
/* It is joined: the next trouble is news again. */
void membership_forget_said(struct membership *m);
/* When to say hello again: doubling up to the most, between half and all of it. Parents are tried in turn, so
 * the pause grows once per round. */
void membership_schedule_hello(struct membership *m);
/* To the parent whose turn it is. */
void membership_send_hello(struct membership *m);
/* Looks for a parent from now on, the preferred one first. */
void membership_seek(struct membership *m);
/* Which of the parents has answered a hello that still counts; SIZE_MAX: none. */
size_t membership_welcome_index(const struct membership *m, const struct welcome *welcome);
/* The tie cannot be: look on. An answer will not change within milliseconds, so back off faster. */
void membership_refused(struct membership *m, size_t index, const char *parent, const char *why);
/* A redirector has told where master agents are now: those that are not known are asked next. */
void membership_referred(struct membership *m, const struct welcome *welcome);

/* ---- core/hierarchy/membership_report.c ---- */

/* A report should have been confirmed by now: half the lease leaves time for a complete one to arrive. */
int64_t membership_resend_ns(const struct membership *m);
/* When the next report goes: parts wait for each other, so that however much there is to tell, one part at a
 * time is on its way. */
int64_t membership_next_report_ns(const struct membership *m);
/* What the owner has to tell, the whole or a part of it. */
void membership_send_report(struct membership *m);
void membership_on_pulse(struct membership *m, const struct envelope *envelope, uint64_t number);

/* ---- core/hierarchy/membership_parents.c ---- */

void membership_free_texts(char **texts, size_t n);
char **membership_copy_texts(const char *const *texts, size_t n);
/* What is known of the parent that it had. */
void membership_forget_parent(struct membership *m);
bool membership_same_ancestors(const struct membership *m, const struct welcome *welcome);
/* The parent is this node, or below it. */
bool membership_is_loop(const struct membership *m, const struct envelope *envelope,
                        const struct welcome *welcome);
/* False without memory: as they were. */
bool membership_take_ancestors(struct membership *m, const struct welcome *welcome);
/* True when they are others than before. */
bool membership_take_refuges(struct membership *m, const struct welcome *welcome);
/* They are for nodes whose parent is lost, not for those that are not wanted: no longer tried until told
 * again. */
void membership_drop_refuges(struct membership *m);

#endif
