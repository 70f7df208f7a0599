/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides which servers should keep a copy of a datum that they fetched for one session: those that ask
 * repeatedly.
 *
 * The holder of a datum counts the requests for it; a request counts half after each half-life. Once there
 * are enough, the servers that ask most keep their copy as a replica, up to a number of copies
 * for each datum and of bytes in all. A deleted copy makes room for another. A datum requested once by
 * each of many servers is not replicated on all of them, because none asks repeatedly. A copy without a
 * request for 60 half-lives counts as gone.
 *
 * Pure logic; one thread at a time; bounded memory: data and servers with the oldest requests are
 * forgotten first. */
#ifndef SERVICES_DATA_REPLICATION_H
#define SERVICES_DATA_REPLICATION_H

#include "core/data/datum.h"
#include "util/clock.h"

#define REPLICATION_ASKERS 16 /* most askers of one datum that are counted separately */

struct replication;

struct replication_options {
    double asks;          /* decayed number of requests that make a datum worth copying; 0: 3 */
    int64_t half_life_ns; /* 0: a minute */
    uint32_t most_copies; /* of one datum, besides the original; 0: 4; at most REPLICATION_ASKERS */
    uint64_t most_bytes;  /* of all copies together; 0: no limit */
    uint32_t most_data;   /* data that are watched; 0: 4096 */
    const struct clock *clock;
};

enum esp_status replication_create(const struct replication_options *options,
                                   struct replication **replication, struct esp_error *error);
/* NULL is ignored. */
void replication_destroy(struct replication *replication);

/* Notes that server `who` is sent the datum for a session. True: it should keep its copy, which counts
 * from now on. Without memory: false. */
bool replication_asked(struct replication *replication, struct datum_key key, uint64_t bytes,
                       const char *who);
/* Notes that a copy is gone (deleted there, or the server is gone). Unknown ones are ignored. */
void replication_dropped(struct replication *replication, struct datum_key key, const char *who);
/* Notes that all copies on that server are gone. */
void replication_server_gone(struct replication *replication, const char *who);
/* Forgets a datum that is no longer here. */
void replication_forget(struct replication *replication, struct datum_key key);

struct replication_counts {
    uint32_t data;   /* watched */
    uint32_t copies; /* copies that this module has requested and that are not known to be gone */
    uint64_t copied_bytes;
};
void replication_count(const struct replication *replication, struct replication_counts *counts);

#endif
