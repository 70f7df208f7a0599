/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a run of a flow graph: messages under way, instances of operations, threads with their
 * queues.
 *
 * flow_run.c moves messages and runs threads; flow_instance.c makes, finds and ends instances; flow_call.c is
 * what operations call; flow_play.c does what they have recorded; flow_outcome.c tells how a run went.
 */
#ifndef CORE_FLOW_RUN_H
#define CORE_FLOW_RUN_H

#include "core/flow/flow_graph.h"
#include "util/arena.h"
#include "util/hash.h"

#define INLINE_ACTIONS 4

enum action_kind {
    ACTION_COMPUTE,
    ACTION_POST,
    ACTION_FETCH,
    ACTION_RESULT,
    ACTION_KILL,
    ACTION_TAKE,
    ACTION_MOVE
};

/* One thing that an instance does, in the order of recording. */
struct action {
    enum action_kind kind;
    unsigned target;  /* POST: edge; FETCH, KILL, TAKE, MOVE: set */
    unsigned n;       /* FETCH, MOVE: thread; KILL, TAKE: threads */
    unsigned node;    /* MOVE */
    const char *what; /* COMPUTE */
    double seconds;   /* COMPUTE */
    uint64_t job;     /* COMPUTE */
    struct flow_message message;
};

/* The keys that a merge has received: open addressing, a power of two of places. */
struct key_set {
    int64_t *keys;
    bool *taken;
    size_t n, places;
};

/* What meets in one merge or stream, of the messages of one split. */
struct collection {
    struct collection *next;
    unsigned operation;
    uint64_t posted;           /* messages so far that will meet there */
    struct instance *instance; /* NULL: none has arrived yet, or it has ended */
    bool over;
};

struct instance {
    struct instance *previous, *next; /* of those that something refers to */
    unsigned operation;
    struct worker *worker;
    uint64_t number;
    unsigned
        references; /* itself until it ends, messages that it posted, instances that it is the origin of */
    struct instance *origin; /* the split or stream that the input came from, NULL: none; of a merge or
                                stream, the one around the split whose messages it receives */
    struct instance
        *source; /* of a merge or stream that is not single: the split or stream it receives from */
    struct action *actions;
    unsigned n_actions, capacity, position;
    struct action own[INLINE_ACTIONS];
    uint64_t received, expected; /* UINT64_MAX: not known yet */
    uint64_t circulating;        /* messages that no merge or stream has received yet */
    uint64_t fetching;           /* replies to come */
    struct collection *collections;
    struct key_set keys;
    uint64_t memory_bytes;
    void *data;
    int64_t begun_ns; /* the step under way */
    bool suspended;   /* waits for its window */
    bool finished;    /* ends when what it has recorded is done */
    bool ended;
    bool resumed;                           /* in its thread's list */
    unsigned posts;                         /* outputs so far, for the check of leaves, merges and splits */
    struct parcel *pending, **last_pending; /* messages that came while it was suspended */
    struct instance *next_resumed;
    UT_hash_handle hh; /* of a group */
    struct {
        unsigned operation, unused;
        int64_t group;
    } key;
};

/* A message of the run, in transit or in a queue. */
struct parcel {
    struct parcel *next;
    struct flow_message message;
    unsigned operation;        /* the receiver; FLOW_NONE: a request to fetch, or the state of a thread */
    struct worker *worker;     /* the receiving thread */
    struct instance *origin;   /* the split or stream instance that it comes from, or NULL */
    struct instance *receiver; /* set for replies */
    struct worker *fetched;    /* set for requests: the thread asked */
    unsigned from, to;
    uint64_t number;
    int64_t begun_ns;
    bool is_state;
};

/* A thread of the graph. */
struct worker {
    unsigned set, thread, node;
    struct parcel *queue, **last;
    struct instance *resumed, **last_resumed; /* go on before messages are taken */
    struct instance *running;
    uint64_t n_instances; /* that have not ended */
    uint64_t arriving;    /* parcels in transit to it */
    void *data;
    bool ready;  /* in the run's list */
    bool held;   /* waits for memory of its node */
    bool moving; /* its state is in transit */
    bool retired, released;
    struct worker *next_ready, *next_held;
};

struct run_set {
    struct worker **workers;
    unsigned n, active, capacity;
};

struct run_node {
    uint64_t memory_bytes, used_bytes, peak_bytes;
    uint64_t n_workers; /* not released */
    struct worker *held, **last_held;
};

struct flow_run {
    struct flow_graph *graph;
    struct flow_run_spec spec;
    struct arena memory; /* parcels and instances; both are used again */
    struct run_set *sets;
    struct run_node *nodes;
    struct instance *instances, *free_instances;
    struct parcel *free_parcels;
    struct worker *ready, **last_ready;
    uint64_t *begun; /* instances of each operation */
    struct flow_counts counts;
    uint64_t under_way; /* tickets that the executor has */
    bool pumping, failed, has_result;
    struct flow_message result;
    struct esp_error error;
    struct instance **single; /* of each operation; NULL: none yet, or it has ended */
    bool *single_ended;
    struct instance *groups; /* by operation and group */
};

struct flow_call {
    struct flow_run *run;
    struct instance *instance;
};

/* Fails the run, if it has not failed yet. */
void run_fail(struct flow_run *run, enum esp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int64_t run_now(const struct flow_run *run);

/* Has ready threads go on until nothing is left to do at this time. */
void run_pump(struct flow_run *run);
void run_make_ready(struct flow_run *run, struct worker *worker);
/* The parcel goes from `from` to its worker. Takes it over. */
void run_send(struct flow_run *run, struct parcel *parcel, unsigned from);
struct parcel *run_parcel(struct flow_run *run, const struct flow_message *message);
void run_drop_parcel(struct flow_run *run, struct parcel *parcel);
/* Whether the operation on this thread gets its memory now. False: the thread waits, or the run has failed.
 */
bool run_reserve(struct flow_run *run, struct worker *worker, unsigned operation, uint64_t bytes);
void run_give_back(struct flow_run *run, unsigned node, uint64_t bytes);
/* Releases a removed thread that has nothing to do any more. */
void run_rest(struct flow_run *run, struct worker *worker);
void run_kill(struct flow_run *run, unsigned set, unsigned n);
void run_take(struct flow_run *run, unsigned set, unsigned n);
void run_move(struct flow_run *run, unsigned set, unsigned thread, unsigned node);

/* The instance that a message is for, made when it is the first one. NULL: the run has failed, or the thread
 * waits for memory (worker->held). */
struct instance *instance_for(struct flow_run *run, struct worker *worker, const struct parcel *parcel);
/* The thread that a message to an operation goes to. NULL: the run has failed. */
struct worker *run_route(struct flow_run *run, unsigned operation, const struct flow_message *message);
/* Counts a message of `origin` that one merge or stream will receive. */
bool instance_count_posted(struct flow_run *run, struct instance *origin, const struct flow_edge *edge);
/* The instance has received a message of `origin`, which may go on when it waited for that. */
void instance_collected(struct flow_run *run, struct instance *origin);
/* False when the key is there already, or without memory (the run has failed). */
bool instance_add_key(struct flow_run *run, struct instance *instance, int64_t key);
/* The instance goes on, or looks whether it is complete, when its thread is free. */
void instance_resume(struct flow_run *run, struct instance *instance);
void instance_end(struct flow_run *run, struct instance *instance);
void instance_hold(struct instance *instance);
void instance_release(struct flow_run *run, struct instance *instance);
/* Ends the merge or stream if all that it expects has come and its thread is free. */
void instance_check_complete(struct flow_run *run, struct instance *instance);
/* Frees what belongs to the instance, not the instance. */
void instance_clear(struct instance *instance);

/* The thread gives a message to the instance. */
void play_receive(struct flow_run *run, struct instance *instance, struct parcel *parcel);
/* The instance goes on with what it has recorded, until it computes, waits or has done all. */
void play(struct flow_run *run, struct instance *instance);

#endif
