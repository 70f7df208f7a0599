/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs abstract problems (core/problem/abstract.h): examines the inputs, chooses the rule that fits, and
 * calls its problems one after the other. Results of a step pass through this process to the next step.
 * The steps of a chain go to the server of the first step, if it takes them; that server is chosen by the
 * forecasts for all steps.
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

/* A matrix that is on servers only. */
struct datum_variable {
    char *reference; /* owned: "ID" or "ID[section]" */
    enum base_type type;
    int64_t rows, cols;
};

/* The value of a name: an input, or the result of a step. Scalars are matrices of one element. */
struct variable {
    char name[PROBLEM_MAX_NAME + 1];
    struct matrix matrix;
    char *text;                   /* owned: a state that a step left, instead of a matrix */
    struct datum_variable *datum; /* owned: it lives on servers, and steps take it from there; rules examine
                                     the matrix if there is one, too */
    const struct value *from;     /* not owned: the argument of the program; NULL: none */
};

/* How an output of the abstract problem is delivered. */
struct abstract_fate {
    bool unwanted;      /* the caller does not want it */
    char word[64];      /* it stays on the server: "data:sticky", as for -o; "": it comes here */
    bool may_come;      /* it comes here if a step gives more than the output; else that step fails */
    uint32_t mode;      /* then: mode of the datum, in addition to the word */
    uint32_t flags;     /* of enum datum_flag */
    int64_t rows, cols; /* its extents */
    char *identity;     /* owned: identity of the datum, after the run; NULL: it has not stayed */
};

struct abstract_run {
    const struct problem *problem; /* the abstract one; not owned */
    const char *server;            /* all steps are bound to it; NULL: the agents choose the first */
    const struct esp_call_options *options;
    struct session *whole;       /* the session of which the steps are steps; NULL: the caller waits */
    int64_t finish_ns;           /* time by which all results are wanted, counted likewise */
    int64_t until_ns;            /* deadline of the run, set when it begins; 0: not yet known */
    struct abstract_fate *fates; /* owned: for each argument; NULL: all outputs come here */
    struct variable *variables;  /* if a name occurs twice, the last one counts */
    uint32_t n_variables, n_given;
    char taken[300];               /* the problems of the chosen rule: "dgetrf, dgetri" */
    char rule[300];                /* the description of that rule */
    bool foretells;                /* steps that are bound to a server are forecast, too */
    bool is_weighing;              /* steps are only forecast, so states need not exist */
    char weighed[600];             /* expected times of rival rules, or "" */
    char passed_over[700];         /* rules that were tried before, and why they failed, or "" */
    enum esp_status passed_status; /* of the first of them */
    struct rule_failures failures; /* their failures, for the case that all fail */
    bool is_checked;               /* the solution of its system was checked */
    double backward_error;
    bool lacked_memory;    /* one of them needs more memory than there is */
    char at[CAP_NAME + 1]; /* the server of the newest step */
    /* Owned: the server for the first step of each rule, if it is clearly better for all steps together;
     * "": the agents choose. NULL: not examined. */
    char *planned[ABSTRACT_MAX_RULES];
    struct esp_session_info *info; /* of the newest step, or NULL */
    /* Owned: of the earlier steps of the same rule. */
    struct esp_session_info *before[ABSTRACT_MAX_STEPS];
    uint32_t n_before;
};

enum esp_status abstract_open(struct abstract_run *run, const struct problem *problem,
                              struct esp_error *error);
void abstract_close(struct abstract_run *run);
/* Resets the run to its state after opening: drops inputs, failures and results. */
void abstract_begin_again(struct abstract_run *run);

/* Gives an input. The run takes over its memory (also if this fails). */
enum esp_status abstract_give(struct abstract_run *run, const char *name, struct matrix *matrix,
                              struct esp_error *error);

/* Gives an input that lives on servers, "ID" or "ID[section]", of these extents. Rules examine it there
 * (?gestructure), and steps take it from there. */
enum esp_status abstract_give_datum(struct abstract_run *run, const char *name, const char *reference,
                                    enum base_type type, int64_t rows, int64_t cols, struct esp_error *error);
/* Says that the last given matrix is also on servers: steps take it from there, rules examine it here. */
enum esp_status abstract_also_datum(struct abstract_run *run, const char *reference, enum base_type type,
                                    int64_t rows, int64_t cols, struct esp_error *error);
/* Says that the last given input is that argument of the program, which outlives the run. A step that
 * takes it unchanged finds its datum there, and puts an array that is to stay on servers. */
void abstract_is_from(struct abstract_run *run, const struct value *value);

/* The output stays on the server that computes it, in the mode of the word ("data:sticky"), if a step
 * gives it whole. Otherwise this call or that step returns ESP_INVALID. run->fates has its identity
 * afterwards. */
enum esp_status abstract_keep(struct abstract_run *run, uint32_t index, const char *word, int64_t rows,
                              int64_t cols, struct esp_error *error);
/* The output is not wanted: it is not fetched, if possible. */
enum esp_status abstract_leave(struct abstract_run *run, uint32_t index, struct esp_error *error);

/* Tries the rules. Returns ESP_INVALID if none fits; else how the chosen rule failed. The text names rules
 * that were tried before. Blocks; called between initialize and finalize. */
enum esp_status abstract_execute(struct abstract_run *run, struct esp_error *error);

/* Forecasts the rule that would be chosen for the inputs, and its rivals, in the order in which they would
 * be tried. All steps of a rule are forecast on the server where all together would end first. Calls no
 * problem, except for examining data on their servers. *steps is for fast_rules_free(). Returns
 * ESP_INVALID if no rule fits. */
enum esp_status abstract_foresee(struct abstract_run *run, struct fast_step **steps, size_t *n,
                                 struct esp_error *error);

/* Returns an output as the last step gave it, cut to rows x cols and to its properties (upper, lower,
 * unit-diagonal; symmetric and hermitian are mirrored from the upper triangle), with zeros behind its
 * count. It is sparse if the step gave it so and nothing is cut. matrix_clear() frees it. Returns
 * ESP_INVALID if the rule has not given it, or if it is smaller. */
enum esp_status abstract_result(const struct abstract_run *run, const struct argument *argument, int64_t rows,
                                int64_t cols, struct matrix *result, struct esp_error *error);

/* grpc_call() and esp_call() of an abstract problem as a whole. Input data stay at their places. Results
 * that are to stay do so on the server of their step; results that are assembled here are put there. Other
 * results come to the caller's memory. `info`, unless NULL, describes the last step. */
enum esp_status abstract_call(struct engine *engine, const struct handle *handle,
                              struct invocation *invocation, const struct esp_call_options *options,
                              struct esp_session_info **info, struct esp_error *error);

/* Makes an earlier call again, on any server. */
enum esp_status abstract_call_again(struct engine *engine, struct invocation *invocation,
                                    struct esp_error *error);

/* Turns a session that has not begun into one that runs the abstract problem in a thread of the library.
 * The session owns the invocation, and servers see only its steps. */
enum esp_status abstract_plan(struct session *session, const struct handle *handle,
                              const struct esp_call_options *options, struct esp_error *error);

/* Returns what the steps of the chosen rule took, in their order, at most ABSTRACT_MAX_STEPS; the run owns
 * them. */
uint32_t abstract_infos(const struct abstract_run *run,
                        const struct esp_session_info *infos[ABSTRACT_MAX_STEPS]);

/* ---- jobs ---- A job runs on one server without a client: it is the first rule that fits, is a single
 * step, and need not be followed by another (`take`), else the first trial. The job is one of that step's
 * problem. Returns ESP_INVALID if there is no such rule; the text says what would do. */
enum esp_status abstract_submit(struct abstract_run *run, bool listed, struct esp_job **job,
                                struct esp_error *error);
enum esp_status abstract_submit_invocation(struct engine *engine, const struct handle *handle,
                                           struct invocation *invocation,
                                           const struct esp_call_options *options, bool listed,
                                           struct esp_job **job, struct esp_error *error);

#endif
