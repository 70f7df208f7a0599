/* SPDX-License-Identifier: Apache-2.0
 *
 * Flow graphs: serial operations joined by the messages that pass between them.
 *
 * The model is the one of Dynamic Parallel Schedules (Schaeli, Gerlach, Hersch: A simulator for adaptive
 * parallel applications, section 2). A graph has threads, which keep state and are placed on nodes,
 * and operations of four kinds, which run on threads. A run executes a graph. The run asks an executor to
 * compute and to transfer, and the executor tells the run what has ended. The same run code serves servers
 * and the simulator.
 *
 * All functions of one graph and of its runs are called by one thread at a time.
 */
#ifndef CORE_FLOW_H
#define CORE_FLOW_H

#include "util/clock.h"
#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_MAX_OPERATIONS 100000
#define FLOW_MAX_THREADS    1000000 /* of all sets of a graph */
#define FLOW_MAX_NODES      1000000
#define FLOW_MAX_NAME       63
#define FLOW_MAX_MESSAGES   100000000 /* of one run */
#define FLOW_INDICES        4
#define FLOW_FETCH_BYTES    64 /* of the request that flow_fetch() sends */

struct flow_graph;
struct flow_run;
struct flow_call; /* one callback of an operation under way; it ends when the callback returns */

enum flow_kind {
    FLOW_LEAF,  /* one message in, one out */
    FLOW_SPLIT, /* one message in, one or several out */
    FLOW_MERGE, /* the messages of one split or stream in, one out when the last one has come */
    FLOW_STREAM /* any number in and out; flow_finish() ends an instance */
};

/* A plain value; the receiver of a message gets a copy. */
struct flow_message {
    int64_t key;                 /* a merge refuses two messages of one split with the same key */
    uint64_t bytes;              /* as transferred */
    int32_t index[FLOW_INDICES]; /* the application's own */
    void *data;                  /* the application's own; NULL in simulations without allocation */
};

/* ---- graphs ---- */

/* An empty graph. `application` is passed to all callbacks. */
enum esp_status flow_graph_create(const char *name, void *application, struct flow_graph **graph,
                                  struct esp_error *error);
/* NULL is allowed. Runs of the graph must be destroyed before. */
void flow_graph_destroy(struct flow_graph *graph);

struct flow_threads_spec {
    const char *name;
    unsigned n;
    /* The node of a thread, less than n_nodes. NULL: thread i is on node i % n_nodes. */
    unsigned (*place)(void *application, unsigned thread, unsigned n_nodes);
    const unsigned
        *nodes; /* in place of place(): the node of each of the n threads; outlives the graph's runs */
    uint64_t state_bytes; /* of one thread; the bytes that moving it transfers, and memory on its node */
    unsigned reserve;     /* of the n threads, the last ones, which flow_take() adds later */
};
/* Adds a set of threads; *set is its number. ESP_INVALID for a name that is empty, too long or taken. */
enum esp_status flow_add_threads(struct flow_graph *graph, const struct flow_threads_spec *spec,
                                 unsigned *set, struct esp_error *error);

struct flow_operation_spec {
    const char *name;
    enum flow_kind kind;
    unsigned threads; /* the set of threads that its instances run on */
    /* The thread for a message: the result modulo the number of active threads. NULL: thread 0. */
    unsigned (*route)(void *application, const struct flow_message *message);
    /* Called for each message. Records what the instance does, by flow_compute(), flow_post() and the like.
     * NULL only for a merge. */
    void (*receive)(struct flow_call *call, const struct flow_message *message);
    /* Of a merge, called when all messages have been received; posts the one output. */
    void (*complete)(struct flow_call *call);
    /* Memory that an instance takes on its node while it exists, known from the first message; NULL: 0. */
    uint64_t (*memory)(void *application, const struct flow_message *message);
    unsigned window; /* split, stream: at most so many of its messages in circulation; 0: any number */
    bool single;     /* merge, stream: all messages of the run go to one instance, which the operation or
                        flow_expect() ends; otherwise there is one instance for each instance of the split */
    bool fixed;      /* route() gives the number of a thread itself, of an active one or not */
    /* Of a stream: messages with the same group, of whatever splits, go to one instance. NULL: see `single`.
     */
    int64_t (*group)(void *application, const struct flow_message *message);
};
enum esp_status flow_add_operation(struct flow_graph *graph, const struct flow_operation_spec *spec,
                                   unsigned *operation, struct esp_error *error);
/* Messages may pass from one operation to the other. ESP_INVALID for an edge that exists. */
enum esp_status flow_add_edge(struct flow_graph *graph, unsigned from, unsigned to, struct esp_error *error);
/* As flow_add_edge() for messages to instances that other operations come before although the operation
 * itself comes earlier, or is the same: the edge is no part of the order that flow_graph_check() wants. */
enum esp_status flow_add_return_edge(struct flow_graph *graph, unsigned from, unsigned to,
                                     struct esp_error *error);
/* Replaces an operation by a part of the graph between two others, `first` and `last`: what led to the
 * operation leads to `first`, what it led to follows `last`. The operation stays without edges and never
 * runs. Callbacks that post to a replaced operation reach `first`. */
enum esp_status flow_replace(struct flow_graph *graph, unsigned operation, unsigned first, unsigned last,
                             struct esp_error *error);

/* Whether the graph can run: no cycle (the error names its operations), all operations reachable from
 * `entry`, each split's messages meet in one merge per edge, leaves lead somewhere. */
enum esp_status flow_graph_check(struct flow_graph *graph, unsigned entry, struct esp_error *error);

unsigned flow_n_operations(const struct flow_graph *graph);
const char *flow_operation_name(const struct flow_graph *graph, unsigned operation);
enum flow_kind flow_operation_kind(const struct flow_graph *graph, unsigned operation);
unsigned flow_n_thread_sets(const struct flow_graph *graph);
const char *flow_threads_name(const struct flow_graph *graph, unsigned set);
const char *flow_kind_name(enum flow_kind kind);

/* ---- in callbacks ---- */

void *flow_application(const struct flow_call *call);
/* The number of this thread in its set, and how many of a set are active. */
unsigned flow_thread(const struct flow_call *call);
unsigned flow_active(const struct flow_call *call, unsigned set);
/* A pointer of the application that belongs to this instance, NULL at first, and one that belongs to the
 * thread. */
void **flow_instance_data(struct flow_call *call);
void **flow_thread_data(struct flow_call *call);

/* The instance computes for so many seconds of one processor of speed 1. `what` is a text that outlives the
 * run, for traces; NULL: the operation's name. */
void flow_compute(struct flow_call *call, const char *what, double seconds);
/* As flow_compute(), also when `seconds` is 0. The executor gets `job` with the step. */
void flow_work(struct flow_call *call, const char *what, double seconds, uint64_t job);
/* The instance sends a message when the computing before has ended. A leaf's and a merge's output keeps the
 * input's key unless the operation changes it. */
void flow_post(struct flow_call *call, unsigned to, const struct flow_message *message);
/* The instance asks for a part of the state of a thread: a request goes there, and `message` comes back
 * to the instance's receive(). Streams only. */
void flow_fetch(struct flow_call *call, unsigned set, unsigned thread, const struct flow_message *message);
/* A stream ends when what it has recorded is done; a message that comes later is an error. */
void flow_finish(struct flow_call *call);
/* A single merge or stream ends when it has received so many messages: a merge completes. */
void flow_expect(struct flow_call *call, uint64_t messages);
/* The result of the run. */
void flow_result(struct flow_call *call, const struct flow_message *message);
/* Removes the last n active threads of a set, when the computing before has ended: no message is routed to
 * them any more. At least one thread stays. A node without threads is released. */
void flow_kill(struct flow_call *call, unsigned set, unsigned n);
/* Adds n threads to a set: removed ones first, then new ones, placed by place(). */
void flow_take(struct flow_call *call, unsigned set, unsigned n);
/* Moves a thread with its state to another node. The thread begins nothing until its state has arrived. */
void flow_move(struct flow_call *call, unsigned set, unsigned thread, unsigned node);
/* Ends the run with an error. */
void flow_fail(struct flow_call *call, enum esp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- runs ---- */

struct flow_step {
    unsigned operation, set, thread, node;
    uint64_t instance; /* its number, in the order of their beginnings */
    const char *what;
    double seconds;
    uint64_t job; /* of flow_work(); 0 of flow_compute() */
};

struct flow_transfer {
    unsigned from, to;    /* nodes; executors see only transfers between two different ones */
    unsigned set, thread; /* of the receiver */
    unsigned operation;   /* of the receiver, FLOW_NO_OPERATION for requests and states */
    uint64_t bytes;
    uint64_t number; /* of the message, in the order of their departures */
    struct flow_message message;
};
#define FLOW_NO_OPERATION ((unsigned)-1)

/* What a run needs of the world. Neither function calls back before it returns. */
struct flow_executor {
    void *self;
    /* Computes; flow_step_ended(run, ticket) tells the end. */
    void (*compute)(void *self, void *ticket, const struct flow_step *step);
    /* Carries a message; flow_transfer_ended(run, ticket) tells its arrival. */
    void (*transfer)(void *self, void *ticket, const struct flow_transfer *transfer);
    /* The node has got its first thread, or lost its last one; may be NULL. */
    void (*node_used)(void *self, unsigned node, bool used);
};

/* What a run tells as it happens; members may be NULL. Times are those of the run's clock. */
struct flow_observer {
    void *self;
    void (*step)(void *self, const struct flow_step *step, int64_t begin_ns, int64_t end_ns);
    void (*transfer)(void *self, const struct flow_transfer *transfer, int64_t begin_ns, int64_t end_ns);
};

struct flow_run_spec {
    struct flow_graph *graph; /* checked by flow_graph_check() */
    unsigned n_nodes;
    const uint64_t *memory_bytes; /* of each node; NULL: not limited */
    const struct clock *clock;
    struct flow_executor executor;
    struct flow_observer observer;
};

enum esp_status flow_run_create(const struct flow_run_spec *spec, struct flow_run **run,
                                struct esp_error *error);
void flow_run_destroy(struct flow_run *run);

/* Sends the first message, from the node of the entry's thread. */
enum esp_status flow_run_start(struct flow_run *run, unsigned entry, const struct flow_message *message,
                               struct esp_error *error);
void flow_step_ended(struct flow_run *run, void *ticket);
void flow_transfer_ended(struct flow_run *run, void *ticket);

/* Fails the run, if it has not failed yet: an executor could not do what it was asked for. Nothing begins any
 * more. */
void flow_run_abort(struct flow_run *run, const struct esp_error *error);

/* Whether the executor has nothing of the run under way. */
bool flow_run_idle(const struct flow_run *run);
/* Of an idle run: ESP_OK when all instances have ended, otherwise what failed, or what waits for what:
 * a merge with missing keys, an operation that never gets its memory. */
enum esp_status flow_run_outcome(const struct flow_run *run, struct esp_error *error);
/* The message of flow_result(); false when there was none. */
bool flow_run_result(const struct flow_run *run, struct flow_message *message);

struct flow_counts {
    uint64_t messages, bytes;               /* all, the first one and local ones included */
    uint64_t remote_messages, remote_bytes; /* between two nodes */
    uint64_t instances;                     /* operations begun */
    uint64_t steps;                         /* times that an operation computed */
    uint64_t moves;                         /* threads moved to another node; not among the messages */
};
void flow_run_counts(const struct flow_run *run, struct flow_counts *counts);
/* How many instances of an operation have begun. */
uint64_t flow_run_instances(const struct flow_run *run, unsigned operation);
/* The most memory in use at a time on a node. */
uint64_t flow_run_peak_bytes(const struct flow_run *run, unsigned node);

#endif
