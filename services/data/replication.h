/* SPDX-License-Identifier: Apache-2.0
 *
 * Which server should keep a copy of a datum that it was sent for one session: the one of many that keep
 * asking.
 *
 * Who holds a datum sees who asks for it. Each ask counts, and counts half as much after each half-life. Once
 * there are enough, those that ask most are told to keep their copy as a replica, up to a number of copies
 * for each datum and of bytes in all. A copy that is dropped makes room for another. A datum that is asked
 * for once by each of many servers is not copied to them all: none of them keeps asking. A copy of which
 * nothing is heard for 60 half-lives is taken for gone.
 *
 * Pure logic; one thread at a time; bounded memory: data and servers that asked longest ago are forgotten
 * first.
 */
#ifndef SERVICES_DATA_REPLICATION_H
#define SERVICES_DATA_REPLICATION_H

#include "core/data/datum.h"
#include "util/clock.h"

#define REPLICATION_ASKERS 16 /* of one datum that are told apart */

struct replication;

struct replication_options {
    double asks;          /* so many, decayed, make a datum worth copying; 0: 3 */
    int64_t half_life_ns; /* 0: a minute */
    uint32_t most_copies; /* of one datum, besides the one here; 0: 4; at most REPLICATION_ASKERS */
    uint64_t most_bytes;  /* of all copies together; 0: no limit */
    uint32_t most_data;   /* that are watched; 0: 4096 */
    const struct clock *clock;
};

enum esp_status replication_create(const struct replication_options *options,
                                   struct replication **replication, struct esp_error *error);
/* NULL is nothing to do. */
void replication_destroy(struct replication *replication);

/* Server `who` is sent the datum because a session there needs it. True: it should keep its copy; it counts
 * as one from now on. Without memory: false. */
bool replication_asked(struct replication *replication, struct datum_key key, uint64_t bytes,
                       const char *who);
/* That copy is gone (dropped there, or the server is). Unknown ones are no error. */
void replication_dropped(struct replication *replication, struct datum_key key, const char *who);
/* All copies on that server are gone. */
void replication_server_gone(struct replication *replication, const char *who);
/* The datum itself is gone from here: nothing of it is watched any more. */
void replication_forget(struct replication *replication, struct datum_key key);

struct replication_counts {
    uint32_t data;   /* watched */
    uint32_t copies; /* that it has caused and that are not known to be gone */
    uint64_t copied_bytes;
};
void replication_count(const struct replication *replication, struct replication_counts *counts);

#endif
