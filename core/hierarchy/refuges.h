/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a node goes when its parent is lost. With its welcome, a parent sends each child the addresses of
 * its own parent. A root sends those of its redirectors, and of the other master agents that its
 * redirector knows. A redirector refuses nodes that are no master agents, and answers with the present
 * master agents, which the node tries next. Refuges are tried after the child's configured parents, and
 * left again when the preferred parent is back. A child that is not below its preferred parent sends that
 * parent's name (EXTENSION_SEEKS); if the present parent knows its address, that comes first among the
 * refuges. A plain value. */
#ifndef CORE_REFUGES_H
#define CORE_REFUGES_H

#include "core/message/message.h"

/* Tags in a welcome: addresses, and their names in the same order ("": not known), each followed by a
 * zero. */
#define EXTENSION_REFUGES      70
#define EXTENSION_REFUGE_NAMES 74
#define MOST_REFUGES           8
#define REFUGES_BYTES          (MOST_REFUGES * (CAP_ADDRESS + 1 + CAP_NAME + 1))

/* Tag in a report: the name of the agent that the child would rather be below. The parent answers with a
 * welcome. */
#define EXTENSION_SEEKS 75

struct refuges {
    char addresses[MOST_REFUGES][CAP_ADDRESS + 1], names[MOST_REFUGES][CAP_NAME + 1];
    size_t n;
};

/* Adds an address, unless it is known or MOST_REFUGES are reached. `name`: "" when not known. */
void refuges_add(struct refuges *refuges, const char *address, const char *name);
bool refuges_equal(const struct refuges *a, const struct refuges *b);
/* Returns the first address with that name; NULL: none. */
const char *refuges_find(const struct refuges *refuges, const char *name);

/* Packs the refuges into `bytes` (REFUGES_BYTES), as the values of two extensions. */
void refuges_put(const struct refuges *refuges, uint8_t *bytes, struct extension extensions[2]);
/* Reads the refuges of a welcome; empty when it has none or they are malformed. */
void refuges_get(const struct extensions *extensions, struct refuges *refuges);

#endif
