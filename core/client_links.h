/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client knows of its own links to servers, from transfers that it made: an extension of its requests.
 * For what the client sends and gets, such a link counts in place of the way through the agents, which is
 * another one.
 */
#ifndef CORE_CLIENT_LINKS_H
#define CORE_CLIENT_LINKS_H

#include "core/message.h"

/* Tag in a request: for each server its address with a NUL, then latency in seconds and bytes per second, as
 * doubles of 8 bytes, little-endian. */
#define EXTENSION_CLIENT_LINKS 33
#define CAP_CLIENT_LINKS       64 /* in one request; more are left out */

struct client_link {
    const char *address; /* of the server */
    struct path path;
};

/* Appends the extension; false without memory. None is nothing to do. */
bool client_links_add(struct extensions *extensions, const struct client_link *links, size_t n,
                      struct arena *arena);
/* The link to the server at that address; false when the client does not know it, or tells nonsense. */
bool client_links_find(const struct extensions *extensions, const char *address, struct path *path);

#endif
