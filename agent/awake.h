/* SPDX-License-Identifier: Apache-2.0
 *
 * Which master agents are awake: a peer tells at once that it has what was passed on to it (EXTENSION_TAKEN),
 * however long the answer takes. One that does not is stopped, cut off or overloaded, and is not asked until
 * it is heard of, or some time is over. A plain value.
 */
#ifndef AGENT_AWAKE_H
#define AGENT_AWAKE_H

#include "core/hierarchy/refuges.h"

#define AWAKE_MS 1000 /* in which a peer tells that it has a request */
#define SILENT_MS                                                                                            \
    10000 /* after which one is asked again that has not been heard of: what it got may be lost */

struct awake {
    struct awake_peer {
        char address[CAP_ADDRESS + 1];
        bool is_older; /* it does not tell */
        int64_t silent_until_ns;
    } peers[MOST_REFUGES];
    size_t n, next; /* `next` is forgotten for one that is not known yet */
};

/* It told that it has a request, or answered one: `tells` whether it does so. */
void awake_heard(struct awake *awake, const char *address, bool tells);
/* It did not tell in time. Whether that is news. */
bool awake_silent(struct awake *awake, const char *address, int64_t now_ns);
/* Its address refuses messages: who comes back there is another one. */
void awake_forget(struct awake *awake, const char *address);
bool awake_is_silent(const struct awake *awake, const char *address, int64_t now_ns);
/* Whether it tells, as all do but those of earlier versions. */
bool awake_tells(const struct awake *awake, const char *address);

#endif
