/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the redirector: redirector/redirector.c (its life, and what comes in), redirector/masters.c (the
 * master agents that have registered), redirector/names.c (names that two of them have), redirector/answers.c
 * (what clients hear) and redirector/figures.c (what is to be seen of it). All under the endpoint's lock.
 */
#ifndef REDIRECTOR_INTERNAL_H
#define REDIRECTOR_INTERNAL_H

#include "core/hierarchy/absent.h"
#include "core/hierarchy/children.h"
#include "core/hierarchy/lost_problems.h"
#include "core/hierarchy/namesakes.h"
#include "redirector/redirector.h"
#include "util/log.h"
#include "util/told.h"

/* A node below a master. */
struct named {
    char name[CAP_NAME + 1];
    uint64_t incarnation;
    int64_t since_ns;
};

/* What a master's last report said; lies behind its struct child. */
struct master {
    const struct child *child;
    struct node_record totals; /* numbers of all servers below it; texts are the child's */
    uint32_t servers;
    uint64_t named;          /* when it was last named first to a client, counted in clients */
    struct extension solves; /* its EXTENSION_SOLVES, with a value of its own; NULL: it does not tell */
    struct named *names;     /* who is below it, in order of their names */
    size_t n_names;
};

struct redirector {
    char *name;
    uint64_t incarnation;
    struct endpoint *endpoint; /* NULL until it is open */
    struct children *children;
    uint64_t clients, refused, lost; /* lost: master agents */
    bool told;                       /* the masters know each other */
    int64_t learned_ns;              /* until then there may be masters that it has not heard of */
    struct absentees absentees;
    struct lost_problems lost_problems; /* that they solved */
    struct duty duty;                   /* what it does on orders to itself */
    struct membership *no_tie;
    const struct clock *clock;
    int64_t sure_ns; /* two nodes of one name that are there for so long are two */
    struct told namesakes;
};

/* ---- redirector/masters.c ---- */

enum esp_status masters_create(struct redirector *r, const struct children_options *options,
                               struct esp_error *error);
void masters_clear(struct redirector *r);
void redirector_post(void *self, const char *address, uint64_t to_incarnation, const struct message *message);

/* ---- redirector/names.c ---- */

/* Who is below the master, as its report has it. Without memory nothing is known of them. */
void names_take(struct redirector *r, struct master *master, const struct extensions *extensions);
/* Names that another one has too are told to both, and in the log. */
void names_compare(struct redirector *r, const struct master *master);

/* ---- redirector/answers.c ---- */

/* Replies; NULL without memory. */
struct message *answer_locate(struct redirector *r, const struct locate *asked);
struct message *answer_greet(struct redirector *r, const struct greet *asked);
struct message *answer_tree(struct redirector *r, const char *node);

#endif
