/* SPDX-License-Identifier: Apache-2.0
 *
 * Doing what an abstract problem says (core/problem/abstract.h): looking at what is given, picking the rule
 * that fits, and calling its problems one after the other. What a step gives the next one passes through this
 * process; the steps of a chain go to the server of the first one, if it still takes them, which is chosen by
 * what all of them are forecast to take.
 */
#ifndef CLIENT_ABSTRACT_H
#define CLIENT_ABSTRACT_H

#include "client/session/handle.h"
#include "client/abstract/rule_failures.h"
#include "client/arguments/invocation.h"
#include "core/problem/abstract.h"
#include "core/matrix/matrix.h"
#include "espalier.h"
#include "fast.h"

struct engine;

struct library;

#define ABSTRACT_MAX_VARIABLES 256

/* A matrix that nobody has here. */
struct datum_variable {
    char *reference; /* owned: "ID" or "ID[section]" */
    enum base_type type;
    int64_t rows, cols;
};

/* What goes by a name: given, or left by a step. Scalars are matrices of one element. */
struct variable {
    char name[PROBLEM_MAX_NAME + 1];
    struct matrix matrix;
    char *text;                   /* owned: of a state that a step left, in place of a matrix */
    struct datum_variable *datum; /* owned: it lives on servers, from where steps take it; rules look at the
                                   * matrix, if there is one too */
    const struct value *from;     /* not owned: the program's argument that it is; NULL: it is none */
};

/* What is to become of an output of the abstract problem. */
struct abstract_fate {
    bool unwanted;      /* nobody asks for it */
    char word[64];      /* it stays on the server: "data:sticky", as -o says it; "": it comes here */
    bool may_come;      /* also where a step gives more than it: else that step fails */
    uint32_t mode;      /* then: what is said of the datum, beyond the word */
    uint32_t flags;     /* of enum datum_flag */
    int64_t rows, cols; /* that it has */
    char *identity;     /* owned: of what has stayed, after the run; NULL: nothing has */
};

struct abstract_run {
    const struct problem *problem; /* the abstract one; not owned */
    const char *server;            /* every step is bound to it; NULL: the agents choose the first */
    const struct esp_call_options *options;
    struct session *whole;       /* of which the steps are steps; NULL: the caller waits */
    int64_t finish_ns;           /* when the results of all are wanted, in the same way */
    int64_t until_ns;            /* the deadline of all, from when it is executed; 0: not yet known */
    struct abstract_fate *fates; /* owned: of each argument; NULL: all outputs come here */
    struct variable *variables;  /* of one name the last one counts */
    uint32_t n_variables, n_given;
    char taken[300];               /* the problems of the rule that was taken: "dgetrf, dgetri" */
    char rule[300];                /* that rule, as the description has it: what it is for */
    bool foretells;                /* steps that are bound to a server are forecast, too, before they go */
    bool is_weighing;              /* steps are looked at, not done: states need not be there */
    char weighed[600];             /* what rivals among the rules were expected to take; or "" */
    char passed_over[700];         /* rules that were tried before it and why they did not do; or "" */
    enum esp_status passed_status; /* of the first of them */
    struct rule_failures failures; /* the same, for when none of them does */
    bool is_checked;               /* the solution of its system was looked at: */
    double backward_error;
    bool lacked_memory;    /* one of them would have needed more memory than there is */
    char at[CAP_NAME + 1]; /* the server of the newest step */
    /* Owned: the server where the first step of each rule is to go, as that is clearly better for all of its
     * steps; "": where the agents say. NULL: nobody has looked. */
    char *planned[ABSTRACT_MAX_RULES];
    struct esp_session_info *info; /* of the newest step, or NULL */
    /* Owned: of the steps before it, of the same rule. */
    struct esp_session_info *before[ABSTRACT_MAX_STEPS];
    uint32_t n_before;
};

enum esp_status abstract_open(struct abstract_run *run, const struct problem *problem,
                              struct esp_error *error);
void abstract_close(struct abstract_run *run);
/* As it was opened: what was given, tried and left is forgotten. */
void abstract_begin_again(struct abstract_run *run);

/* Gives an input; its memory is the run's from now on (also when this fails). */
enum esp_status abstract_give(struct abstract_run *run, const char *name, struct matrix *matrix,
                              struct esp_error *error);

/* Gives an input that lives on servers, "ID" or "ID[section]", of these extents. Rules look at it there
 * (?gestructure), and steps take it from there. */
enum esp_status abstract_give_datum(struct abstract_run *run, const char *name, const char *reference,
                                    enum base_type type, int64_t rows, int64_t cols, struct esp_error *error);
/* The same of what was given last, as a matrix: steps take it from servers, rules look at it here. */
enum esp_status abstract_also_datum(struct abstract_run *run, const char *reference, enum base_type type,
                                    int64_t rows, int64_t cols, struct esp_error *error);
/* What was given last is that argument of the program, which outlives the run: the step that takes it as it
 * is finds the datum where that says, and has an array that is to be on servers as well put there. */
void abstract_is_from(struct abstract_run *run, const struct value *value);

/* The output stays on the server that computes it, in the mode that the word says ("data:sticky"), when a
 * step gives it whole: ESP_INVALID from here or from the step that does not. run->fates has its identity
 * then. */
enum esp_status abstract_keep(struct abstract_run *run, uint32_t index, const char *word, int64_t rows,
                              int64_t cols, struct esp_error *error);
/* Nobody asks for the output: it is not fetched, where that is possible. */
enum esp_status abstract_leave(struct abstract_run *run, uint32_t index, struct esp_error *error);

/* Goes through the rules. ESP_INVALID: none fits; else how the rule that was taken failed. The text tells
 * what was tried before. Blocks; between initialize and finalize. */
enum esp_status abstract_execute(struct abstract_run *run, struct esp_error *error);

/* The rule that would be taken for what is given, and those that compete with it, the one first that would go
 * first: all steps on the server where all would be over first. Nothing is
 * called, but for looking at data where they live. *steps is for fast_rules_free(). ESP_INVALID: no rule
 * fits. */
enum esp_status abstract_foresee(struct abstract_run *run, struct fast_step **steps, size_t *n,
                                 struct esp_error *error);

/* An output as the last step gave it, cut to rows x cols and to what its properties leave (upper, lower,
 * unit-diagonal; symmetric and hermitian are mirrored from the upper triangle), zeros behind what its count
 * has left; sparse when the step gave it
 * so and nothing is cut; matrix_clear() frees. ESP_INVALID: the rule has not given it, or it is smaller. */
enum esp_status abstract_result(const struct abstract_run *run, const struct argument *argument, int64_t rows,
                                int64_t cols, struct matrix *result, struct esp_error *error);

/* grpc_call() and esp_call() of an abstract problem: the whole of it. Data that go in stay where they are,
 * results that are to stay do so on the server of their step; those that are made here, of what a step gives,
 * are put there. Others come to the caller's memory. `info`, unless NULL, is of the last step. */
enum esp_status abstract_call(struct engine *engine, const struct handle *handle,
                              struct invocation *invocation, const struct esp_call_options *options,
                              struct esp_session_info **info, struct esp_error *error);

/* Makes a call again that was made before, on any server. */
enum esp_status abstract_call_again(struct engine *engine, struct invocation *invocation,
                                    struct esp_error *error);

/* Makes a session, which has not begun, one that does the whole in a thread of the library: it has the
 * invocation, and no server hears of it but of its steps. */
enum esp_status abstract_plan(struct session *session, const struct handle *handle,
                              const struct esp_call_options *options, struct esp_error *error);

/* What the steps of the rule that was taken took, in their order: at most ABSTRACT_MAX_STEPS. They are the
 * run's. */
uint32_t abstract_infos(const struct abstract_run *run,
                        const struct esp_session_info *infos[ABSTRACT_MAX_STEPS]);

/* ---- jobs ----
 * A job is what one server does, without a client: the first rule that fits, is one step and need not be
 * followed by another (`take`), else the first trial. The job is of that step's problem. ESP_INVALID: there
 * is no such rule; the text tells what would do it. */
enum esp_status abstract_submit(struct abstract_run *run, bool listed, struct esp_job **job,
                                struct esp_error *error);
enum esp_status abstract_submit_invocation(struct engine *engine, const struct handle *handle,
                                           struct invocation *invocation,
                                           const struct esp_call_options *options, bool listed,
                                           struct esp_job **job, struct esp_error *error);

#endif
