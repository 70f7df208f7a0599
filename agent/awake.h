/* SPDX-License-Identifier: Apache-2.0
 *
 * Remembers which peers (other master agents) respond. A peer confirms at once that it has received a
 * request (EXTENSION_TAKEN), however long its answer takes. A peer that does not confirm is stopped, cut
 * off or overloaded. It gets no requests until it sends a message or until a pause is over. The structure
 * is a plain value.
 */
#ifndef AGENT_AWAKE_H
#define AGENT_AWAKE_H

#include "core/hierarchy/refuges.h"

#define AWAKE_MS  1000  /* time in which a peer confirms a request */
#define SILENT_MS 10000 /* pause after which a silent peer is tried again, as its messages may be lost */

struct awake {
    struct awake_peer {
        char address[CAP_ADDRESS + 1];
        bool is_older; /* it never confirms requests */
        int64_t silent_until_ns;
    } peers[MOST_REFUGES];
    size_t n, next; /* `next`: the entry that a new peer overwrites */
};

/* The peer has confirmed a request, or answered one; `tells`: it does confirm requests. */
void awake_heard(struct awake *awake, const char *address, bool tells);
/* The peer has not confirmed in time. Returns whether it was believed to respond until now. */
bool awake_silent(struct awake *awake, const char *address, int64_t now_ns);
/* The peer's address refuses connections; the next peer at that address is another process. */
void awake_forget(struct awake *awake, const char *address);
bool awake_is_silent(const struct awake *awake, const char *address, int64_t now_ns);
/* Whether the peer confirms requests. */
bool awake_tells(const struct awake *awake, const char *address);

#endif
