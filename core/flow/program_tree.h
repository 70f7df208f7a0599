/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a flow text, for the files that read it and plan by it.
 */
#ifndef CORE_FLOW_PROGRAM_TREE_H
#define CORE_FLOW_PROGRAM_TREE_H

#include "core/flow/program.h"
#include "core/problem/problem.h"
#include "util/arena.h"

#define PROGRAM_NONE UINT32_MAX

struct place {
    unsigned line, column;
};

/* A number that expressions may name. */
struct program_value {
    const char *name;
    struct expr *initial; /* of a parameter or constant */
    bool is_parameter;
    uint32_t operation; /* that it belongs to, as argument or input; PROGRAM_NONE: to all */
    bool open;          /* may be named where the parser is */
    bool is_set;        /* by flow_program_set() */
    struct number set;
};

struct program_threads {
    const char *name;
    struct expr *n, *node, *state; /* node and state may be NULL */
    struct place place;
};

struct program_operation {
    const char *name;
    unsigned n_inputs, n_outputs, n_scalars;
    const char *inputs[PROGRAM_MAX_INPUTS], *outputs[PROGRAM_MAX_OUTPUTS];
    uint32_t input_values[PROGRAM_MAX_INPUTS];  /* the value that has the bytes of an input */
    uint32_t scalars[PROGRAM_MAX_SCALARS];      /* values */
    struct expr *defaults[PROGRAM_MAX_SCALARS]; /* NULL: must be given */
    struct expr *bytes[PROGRAM_MAX_OUTPUTS];    /* NULL: 0 */
    struct expr *time, *work, *memory;          /* NULL: not given */
    struct place place;
    /* Of a problem: its arguments that the inputs, outputs and scalars are. */
    const struct problem *problem;
    uint32_t input_arguments[PROGRAM_MAX_INPUTS], output_arguments[PROGRAM_MAX_OUTPUTS];
    uint32_t scalar_arguments[PROGRAM_MAX_SCALARS];
};

struct subscript {
    struct expr *from, *to; /* `to` NULL: one; both NULL: all */
};

/* A name of data, with subscripts. */
struct reference {
    uint32_t name;
    bool collects;
    unsigned n_subscripts;
    struct subscript subscripts[PROGRAM_MAX_SUBSCRIPTS];
    struct place place;
};

enum statement_kind {
    STATEMENT_CALL,
    STATEMENT_INPUT,
    STATEMENT_RESULT,
    STATEMENT_EACH,
    STATEMENT_FOR,
    STATEMENT_IF,
    STATEMENT_LET,
    STATEMENT_KILL,
    STATEMENT_TAKE
};

struct statement {
    enum statement_kind kind;
    struct place place;
    struct statement *next;
    /* CALL; INPUT has one target; RESULT one input */
    uint32_t operation;
    unsigned n_inputs, n_targets;
    struct reference *inputs, *targets;
    struct expr *scalars[PROGRAM_MAX_SCALARS];
    uint32_t threads; /* PROGRAM_NONE: where the first input is; KILL, TAKE */
    struct expr *thread;
    /* EACH, FOR: first and last, window; LET, IF, KILL, TAKE: value; INPUT: bytes */
    struct expr *value, *last, *window;
    uint32_t variable; /* EACH, FOR, LET */
    struct statement *body, *otherwise;
};

struct flow_program {
    struct arena arena;
    struct flow_problems problems;
    const char *file, *name, *title;
    struct program_value values[PROGRAM_MAX_VALUES];
    uint32_t n_values, nodes, thread; /* the values `nodes` and `thread` */
    struct program_threads threads[PROGRAM_MAX_NAMES];
    uint32_t n_threads;
    struct program_operation *operations[PROGRAM_MAX_NAMES];
    uint32_t n_operations;
    const char *names[PROGRAM_MAX_NAMES]; /* of data */
    uint32_t n_names;
    struct statement *statements;
    unsigned n_statements;
};

#endif
