/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the tie to children: core/hierarchy/children.c (who they are, their reports and their ends) and
 * core/hierarchy/children_hello.c (who may become one).
 */
#ifndef CORE_CHILDREN_INTERNAL_H
#define CORE_CHILDREN_INTERNAL_H

#include "core/hierarchy/children.h"

struct children {
    struct children_options options;
    char *name, *probe;
    struct children_ops ops;
    void *self;
    struct child *by_name, *by_address;
    struct child *by_age; /* not heard of for longest first: shortest leases end in this order */
    int64_t spared_ns;    /* until then nobody is taken for dead: this node itself was held up */
    bool dismissed;       /* this node stops */
    struct refusals refusals;
};

/* ---- core/hierarchy/children.c ---- */

/* The owner is told why, and the struct freed. */
void children_lose(struct children *c, struct child *child, const char *why);
/* A sign of life. */
void children_heard(struct children *c, struct child *child);
/* Asks the child for a sign of life: when it is dead, that cannot be delivered. */
void children_probe(struct children *c, const struct child *child);
/* Out of all tables; it is still there. */
void child_unlink(struct children *c, struct child *child);
void child_destroy(struct child *child);

/* ---- core/hierarchy/children_hello.c ---- */

void children_on_hello(struct children *c, const struct envelope *envelope, const struct hello *hello);
/* It says whom it would rather be below: where that one is, comes with a welcome. */
void children_on_seeks(struct children *c, struct child *child, const struct report *report);

#endif
