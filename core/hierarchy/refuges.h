/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a node may go whose parent is lost: a parent tells each child, with its welcome, the addresses of its
 * own parent, or, when it is the root, of the other master agents that its redirector knows. They are tried
 * behind the child's configured parents, and left again when the preferred one is back. A plain value.
 */
#ifndef CORE_REFUGES_H
#define CORE_REFUGES_H

#include "core/message/message.h"

/* Tag in a welcome: addresses, each followed by a zero. */
#define EXTENSION_REFUGES 70
#define MOST_REFUGES      8
#define REFUGES_BYTES     (MOST_REFUGES * (CAP_ADDRESS + 1))

struct refuges {
    char addresses[MOST_REFUGES][CAP_ADDRESS + 1];
    size_t n;
};

/* Known ones, and those beyond MOST_REFUGES, are left out. */
void refuges_add(struct refuges *refuges, const char *address);
bool refuges_equal(const struct refuges *a, const struct refuges *b);

/* Into REFUGES_BYTES bytes; the extension's value. */
struct extension refuges_put(const struct refuges *refuges, uint8_t *bytes);
/* What a welcome carries: none when it has none, or what makes no sense. */
void refuges_get(const struct extensions *extensions, struct refuges *refuges);

#endif
