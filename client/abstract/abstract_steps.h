/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the files that do abstract problems: names, what is given, steps, and what rivals would take.
 */
#ifndef CLIENT_ABSTRACT_STEPS_H
#define CLIENT_ABSTRACT_STEPS_H

#include "client/abstract/abstract.h"
#include "core/values/values.h"

/* The matrix that goes by a name now; NULL: nothing, a state, or what is on servers only. */
const struct matrix *abstract_find(const struct abstract_run *run, const char *name);
/* The datum that goes by a name now; NULL: nothing, or something else. */
const struct datum_variable *abstract_find_datum(const struct abstract_run *run, const char *name);
/* The argument of the program that goes by a name now; NULL: nothing, or something else. */
const struct value *abstract_find_from(const struct abstract_run *run, const char *name);
/* What an argument of the step's problem goes by here; NULL: by its own name. */
const struct pair *abstract_renamed(const struct step *step, const char *inner);
/* The step's problem with all that there is for it; both are the caller's, also when this fails. `rule`,
 * unless NULL: the results that somebody wants are those of this rule, see abstract_arrange(). */
enum esp_status abstract_prepare_step(const struct abstract_run *run, const struct rule *rule,
                                      const struct step *step, const char *name, struct esp_problem **problem,
                                      struct values *values, struct esp_error *error);

/* Before the rule is done: where its first step is to go; "": where the agents say. The run's. */
void abstract_forget_plans(struct abstract_run *run);

/* ---- client/abstract/abstract_matrix.c ---- */

/* What came behind the first n is forgotten. */
void abstract_forget_after(struct abstract_run *run, uint32_t n);
/* What a step took, or NULL, is the newest; the run's from now on. */
void abstract_add_info(struct abstract_run *run, struct esp_session_info *info);
/* A rule begins: what the steps of another one took is forgotten. */
void abstract_forget_infos(struct abstract_run *run);
/* The output of that name; NULL: there is none. */
const struct argument *abstract_find_output(const struct problem *problem, const char *name);
/* Takes the matrix over, also when it fails. */
enum esp_status abstract_set(struct abstract_run *run, const char *name, struct matrix *matrix,
                             struct esp_error *error);
/* The state that goes by that name; NULL: none does. */
const char *abstract_find_state(const struct abstract_run *run, const char *name);
enum esp_status abstract_set_state(struct abstract_run *run, const char *name, const char *text,
                                   struct esp_error *error);

/* An array as programs have it; matrix_clear() frees. ESP_LIMIT, ESP_NO_MEMORY, ESP_INVALID. */
enum esp_status abstract_matrix_of(enum base_type type, int64_t rows, int64_t cols, const void *memory,
                                   struct matrix *matrix, struct esp_error *error);

/* The distance from 1 to the next number of that type (complex: of its parts); 0 for integers. */
double abstract_epsilon(enum base_type type);

/* How many diagonals below and above the main one reach to the outermost nonzero element. Returns the number
 * of nonzero elements. */
int64_t abstract_reach(const struct matrix *matrix, int64_t *below, int64_t *above);

/* The properties and traits of a matrix that is here. */
void abstract_look_at(const struct matrix *matrix, const struct argument *argument, struct given *given);

/* Looks at all inputs, at data where they live: given[] has one for each argument, *first is that of the
 * first array. Blocks. */
enum esp_status abstract_look(struct abstract_run *run, struct given *given, uint32_t *first,
                              struct esp_error *error);

/* ---- client/abstract/abstract.c ---- */

/* After the call: notes under which identity the output stays. False: it does not. */
void abstract_fates_destroy(struct abstract_run *run);
/* abstract_keep() by a mode and flags of a datum, of an output that abstract_gives_whole(). Where a step
 * gives more than the output, the output comes to the program. */
enum esp_status abstract_keep_or_bring(struct abstract_run *run, uint32_t index, enum datum_mode mode,
                                       uint32_t flags, int64_t rows, int64_t cols, struct esp_error *error);

/* ---- client/abstract/abstract_matrix.c ---- */

/* After a rule of a problem that solves a system: ESP_INACCURATE when what it gave does not solve it, as
 * least squares may have had a square matrix. What lives on servers only is not looked at here. */
enum esp_status abstract_check_solution(struct abstract_run *run, struct esp_error *error);

/* ---- client/abstract/abstract.c ---- */

/* The rows that the step's problem wants of the array, as far as the scalars known by name tell; else -1. */
int64_t abstract_wanted_rows(const struct abstract_run *run, const struct problem *problem,
                             const struct argument *argument);

/* Nobody has the problem, as far as those that are there know. */
static inline bool abstract_is_missing(enum esp_status status)
{
    return status == ESP_UNKNOWN_PROBLEM || status == ESP_NO_SERVER;
}

/* Calls the problem `name` of that step, and takes over what it gives: all of it, unless the step is the last
 * of `rule` (NULL: of none), whose outputs are those of the abstract problem. `wanted`: where it is to go, if
 * that takes it; "": where the agents say, or where the step before went. */
enum esp_status abstract_do_step(struct abstract_run *run, const struct rule *rule, const struct step *step,
                                 const char *name, const char *wanted, struct esp_error *error);

#endif
