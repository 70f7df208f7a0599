/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a plan, for the files that make it and run it.
 */
#ifndef CORE_FLOW_PROGRAM_PLAN_H
#define CORE_FLOW_PROGRAM_PLAN_H

#include "core/flow/program_tree.h"
#include "util/hash.h"

#define PLAN_CONTROL_BYTES 64        /* of a message without data */
#define PLAN_CONTROL       UINT8_MAX /* in place of an output: only the order matters */
#define PLAN_MOST_ANYWHERE 65536     /* threads of operations that the flow places nowhere */

/* What one task reads of another one. */
struct task_input {
    uint32_t producer;
    uint8_t output; /* or PLAN_CONTROL */
};

/* Where one output, or the end, of a task is wanted. */
struct task_reader {
    uint32_t task, position; /* of its inputs */
    uint8_t output;
};

struct change {
    enum statement_kind kind; /* STATEMENT_KILL, STATEMENT_TAKE; STATEMENT_LET: none */
    uint32_t threads, n;
};

/* What a task needs beside numbers to be computed for real, with plan_spec.calls. */
struct task_call {
    const struct statement *statement;        /* NULL: the start, a change of threads */
    const char *targets[PROGRAM_MAX_OUTPUTS]; /* "x[1]": the names of the outputs; NULL: nothing reads it */
    char scalars[PROGRAM_MAX_SCALARS][16];    /* raw elements, of those that the statement gives */
    /* The inputs of the task up to there are those of the statement's first inputs. */
    uint32_t input_ends[PROGRAM_MAX_INPUTS];
};

/* An operation at one place. Task 0 is the client's start. */
struct task {
    uint32_t operation; /* of the graph */
    uint32_t threads, thread;
    uint32_t first_input, n_inputs, first_reader, n_readers;
    uint64_t bytes[PROGRAM_MAX_OUTPUTS];
    uint8_t n_outputs;
    bool is_result;
    double seconds;
    uint64_t memory_bytes;
    struct change change;
    uint32_t received;
    struct task_call *call; /* NULL without plan_spec.calls */
};

/* An operation of the graph: a statement for given values of the variables of `for`. */
struct planned {
    UT_hash_handle hh;
    struct {
        const struct statement *statement;
        uint32_t threads, unused;
        int64_t variables[PROGRAM_MAX_NESTING];
    } key;
    uint32_t operation;
    unsigned n_variables;
    uint64_t tasks;
};

struct planned_threads {
    uint64_t state_bytes;     /* of each */
    uint32_t n, active, most; /* at first, where the plan is, ever */
    unsigned *nodes;          /* of `most` threads */
    uint32_t take;            /* the task that added the last ones; PROGRAM_NONE: none */
    uint32_t from;            /* threads from this one on were added by it */
    uint32_t wanted;          /* operations that asked for a thread, of those that are placed nowhere */
};

struct flow_plan {
    struct flow_program *program;
    struct flow_plan_spec spec;
    struct arena arena;
    struct flow_graph *graph;
    uint32_t client;   /* the set of the client's thread, in the graph; set i of the program is i */
    uint32_t anywhere; /* the set of threads for operations that the flow places nowhere; behind `client` */
    struct number values[PROGRAM_MAX_VALUES];
    struct planned_threads threads[PROGRAM_MAX_NAMES + 2];
    struct task *tasks;
    uint32_t n_tasks, task_capacity;
    struct task_input *inputs;
    uint32_t n_inputs, input_capacity;
    struct task_reader *readers;
    struct planned **planned; /* by operation of the graph */
    struct planned *by_key;
    uint32_t n_planned;
    struct flow_plan_counts counts;
};

/* Follows the program's statements and fills in tasks, inputs, threads, planned (program_unfold.c). */
enum esp_status plan_unfold(struct flow_plan *plan, struct esp_error *error);
/* Makes the graph of all that (program_plan.c). */
enum esp_status plan_build(struct flow_plan *plan, struct esp_error *error);

/* The indices of messages between tasks: the task that it is for; its place among the readers, from which the
 * task hands it on to others of its thread (-1: to none). */
enum { PLAN_INDEX_TASK, PLAN_INDEX_READER };

#endif
