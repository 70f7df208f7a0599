/* SPDX-License-Identifier: Apache-2.0
 *
 * Flow graphs written as a text, and the plan that a text becomes for given parameters and nodes. doc/flow.md
 * explains the language and has its grammar.
 *
 * A text is read once. A plan follows it statement by statement, as if it were a sequential program, and
 * notes which operations there are, what they read and where they run; operations without a dependency are
 * free to run at the same time. So a plan never has a cycle: a name is defined before it is used.
 *
 * All functions of one program and of its plans are called by one thread at a time.
 */
#ifndef CORE_FLOW_PROGRAM_H
#define CORE_FLOW_PROGRAM_H

#include "core/flow/flow.h"

#define PROGRAM_MAX_BYTES      (1 << 20)
#define PROGRAM_MAX_STATEMENTS 10000
#define PROGRAM_MAX_VALUES     500 /* parameters, constants, loop variables, arguments of operations */
#define PROGRAM_MAX_NAMES      500 /* of data, of threads, of operations */
#define PROGRAM_MAX_NESTING    16
#define PROGRAM_MAX_INPUTS     16 /* of one operation as written; collect may stand for many */
#define PROGRAM_MAX_OUTPUTS    8
#define PROGRAM_MAX_SCALARS    16
#define PROGRAM_MAX_SUBSCRIPTS 4
#define PLAN_MAX_TASKS         2000000
#define PLAN_MAX_STEPS         50000000
#define PLAN_MAX_INPUTS        20000000 /* of all tasks */

struct flow_program;

struct problem;
struct problem_set;

/* Where the problems are found that operations may be. */
struct flow_problems {
    void *self;
    /* NULL: there is none of that name; if an error kept the search from an answer, *error has it and its
     * status is not ESP_OK. Problems outlive the programs that use them. */
    const struct problem *(*find)(void *self, const char *name, struct esp_error *error);
};
/* Those of a set, which may be NULL: none. */
struct flow_problems flow_problems_of_set(const struct problem_set *set);

/* Reads a text. ESP_SYNTAX with "file:line:column: expected ..., found ...". `text` may be freed. Operations
 * that the text does not declare are problems. */
enum esp_status flow_program_parse(const char *text, size_t length, const char *file,
                                   struct flow_problems problems, struct flow_program **program,
                                   struct esp_error *error);
/* The same of a file. ESP_NOT_FOUND, ESP_SYSTEM. */
enum esp_status flow_program_load(const char *path, struct flow_problems problems,
                                  struct flow_program **program, struct esp_error *error);
void flow_program_destroy(struct flow_program *program);

const char *flow_program_name(const struct flow_program *program);
const char *flow_program_title(const struct flow_program *program); /* "" when there is none */
unsigned flow_program_n_parameters(const struct flow_program *program);
const char *flow_program_parameter(const struct flow_program *program, unsigned index);

/* Gives a parameter another value than its default: "r=108". The value is an expression of numbers; behind
 * '*', the default, or what was set before, is multiplied by it.
 * ESP_INVALID for an unknown name, with the nearest known one. */
enum esp_status flow_program_set(struct flow_program *program, const char *assignment,
                                 struct esp_error *error);

/* One operation at one place, with all that it takes known. */
struct flow_plan;

struct flow_plan_spec {
    unsigned n_nodes;
    double flop_rate; /* of a processor of speed 1, for operations that give `work`; 0: not known */
    bool durations;   /* refuse operations that give neither time nor work */
    bool calls;       /* note what calls of the operations' problems need; refuse operations that are none */
    uint64_t most_steps; /* statements and iterations to follow before it is too much; 0: PLAN_MAX_STEPS */
};

/* ESP_INVALID and ESP_LIMIT with "file:line:column: ...". The program must outlive the plan. */
enum esp_status flow_plan_create(struct flow_program *program, const struct flow_plan_spec *spec,
                                 struct flow_plan **plan, struct esp_error *error);
void flow_plan_destroy(struct flow_plan *plan);

/* The graph is checked for its entry. A plan serves one run. */
struct flow_graph *flow_plan_graph(struct flow_plan *plan);
unsigned flow_plan_entry(const struct flow_plan *plan);

struct flow_plan_counts {
    uint64_t tasks;             /* operations that will run, inputs and results included */
    uint64_t edges;             /* data that they read, counted for each reader */
    uint64_t by_kind[4];        /* tasks by what they are: enum flow_kind */
    uint64_t bytes;             /* of all data made */
    double seconds;             /* of all operations at speed 1 */
    double critical_s;          /* of the longest chain of operations */
    uint64_t most_memory_bytes; /* of one operation */
};
void flow_plan_counts(const struct flow_plan *plan, struct flow_plan_counts *counts);

#endif
