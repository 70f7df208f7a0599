/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a node may go whose parent is lost: a parent tells each child, with its welcome, the addresses of its
 * own parent, or, when it is the root, of the other master agents that its redirector knows, and of its
 * redirectors: these refuse whoever is no master agent, and name those that there are now, which are tried
 * then. They are tried behind the child's configured parents, and left again when the preferred one is back.
 * A child that is not below the parent it prefers tells that one's name (EXTENSION_SEEKS): where it is now,
 * if the parent knows, comes first among the refuges. A plain value.
 */
#ifndef CORE_REFUGES_H
#define CORE_REFUGES_H

#include "core/message/message.h"

/* Tags in a welcome: addresses, and names in the same order ("": not known), each followed by a zero. */
#define EXTENSION_REFUGES      70
#define EXTENSION_REFUGE_NAMES 74
#define MOST_REFUGES           8
#define REFUGES_BYTES          (MOST_REFUGES * (CAP_ADDRESS + 1 + CAP_NAME + 1))

/* Tag in a report: the name of the agent that the child would rather be below, answered by a welcome. */
#define EXTENSION_SEEKS 75

struct refuges {
    char addresses[MOST_REFUGES][CAP_ADDRESS + 1], names[MOST_REFUGES][CAP_NAME + 1];
    size_t n;
};

/* Known ones, and those beyond MOST_REFUGES, are left out. `name`: "" when it is not known. */
void refuges_add(struct refuges *refuges, const char *address, const char *name);
bool refuges_equal(const struct refuges *a, const struct refuges *b);
/* The address of the first one of that name; NULL: none is known to have it. */
const char *refuges_find(const struct refuges *refuges, const char *name);

/* Into REFUGES_BYTES bytes; the values of two extensions. */
void refuges_put(const struct refuges *refuges, uint8_t *bytes, struct extension extensions[2]);
/* What a welcome carries: none when it has none, or what makes no sense. */
void refuges_get(const struct extensions *extensions, struct refuges *refuges);

#endif
