/* SPDX-License-Identifier: Apache-2.0
 *
 * The servers with one catalogue of problems, ordered so that the best few for a request are found without
 * examining all: a treap by speed in which every subtree stores the best value of each criterion. The
 * search proceeds best first by the bounds that these give, so it is exact, and visits about k log n
 * entries. */
#ifndef CORE_SERVER_INDEX_H
#define CORE_SERVER_INDEX_H

#include "core/choice/aggregate.h"
#include "core/choice/scheduler.h"
#include "core/forecast/path.h"
#include "util/random.h"

struct index_bounds {
    double slowness; /* lower bound of seconds per flop: 1 / speed, or less if a cost model may give less */
    int64_t free_ns; /* when its first slot is free */
    int64_t drained_ns; /* when its last slot is free */
    double line;        /* sessions per slot */
    double latency_s;
    double inverse_bandwidth; /* seconds per byte, to the server */
    double inverse_back;      /* and from it */
    int64_t link_free_ns;     /* when the bytes sent there before have arrived */
    double price;             /* of an hour of a slot */
    uint64_t turn;
    uint64_t memory;      /* most bytes that a call may use; in a subtree: the largest */
    uint64_t memory_free; /* free now; in a subtree: the largest */
};

/* Lies in the server's own struct. The caller sets `self`, `owner` and `id` (unique in the index), inserts
 * it, and calls index_update() after every change of `self`. */
struct index_entry {
    struct index_bounds self;
    void *owner;
    uint64_t id;
    /* the index's own */
    struct index_bounds best; /* over the subtree: the least of each, the largest memory */
    uint64_t least_memory;
    uint32_t priority, count;
    struct index_entry *left, *right;
    double key;
    struct server_index *in; /* NULL: in none */
};

/* All-zero is empty. */
struct server_index {
    struct index_entry *root;
};

void index_insert(struct server_index *index, struct index_entry *entry);
/* Removes the entry; ignored when it is in no index. */
void index_remove(struct index_entry *entry);
/* Call it after a change of entry->self (ignored when it is in no index). */
void index_update(struct index_entry *entry);
uint32_t index_count(const struct server_index *index);

/* A server to which the client's own path is known. */
struct index_own {
    struct index_entry *entry;
    struct path way;
    struct path_opening opening; /* of a call there (core/forecast/told_links.h) */
};

struct index_query {
    const struct esp_scheduler *scheduler;
    double work_flop;
    double call_s;              /* of every call, whatever its work */
    struct request_bytes bytes; /* that travel between the client and the server */
    unsigned trips;             /* round trips that start a call on all paths except the client's own */
    /* The client's path to the starting point of the entries' paths: seconds, and seconds per byte. */
    double access_s, access_inverse;
    /* Servers to which the client has a path of its own instead (the caller's array; each once). */
    const struct index_own *own;
    size_t n_own;
    double finish_s; /* servers that finish later are skipped; HUGE_VAL: none is */
    int64_t now_ns;
    uint64_t memory_bytes; /* servers with less memory are skipped */
    /* Whether a server is wanted; NULL: all are. */
    bool (*wanted)(const struct index_entry *entry, void *arg);
    void *arg;
    /* Computes the exact cost of the request on that server: at least call_s + work_flop * its slowness;
     * also its memory. NULL: that bound, and memory_bytes. `arg` is the one above. */
    void (*cost)(const struct index_entry *entry, void *arg, double *compute_s, uint64_t *memory_bytes);
    struct random *random; /* for schedulers that draw */
};

/* Kept between searches so that a search allocates no memory. All-zero is ready. */
struct index_search {
    struct search_item *heap;
    size_t n, capacity;
};
void index_search_release(struct index_search *search);

/* Finds the best `most` servers of all the indexes for the query, best first, into `found`. Returns how
 * many: fewer only when there are no more (or, without memory for the search, those found until then). */
size_t index_select(struct index_search *search, struct server_index *const *indexes, size_t n_indexes,
                    const struct index_query *query, struct index_entry **found, size_t most);

/* Counts the servers with at least that memory. */
uint32_t index_capable(const struct server_index *index, uint64_t memory_bytes);
/* Returns the largest memory in the index. */
uint64_t index_most_memory(const struct server_index *index);

/* Returns the view of one server for the query. */
struct esp_server_view index_view(const struct index_entry *entry, const struct index_query *query);

#endif
