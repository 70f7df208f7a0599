/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files that run abstract problems: names, inputs, steps, and forecasts of rivals.
 */
#ifndef CLIENT_ABSTRACT_STEPS_H
#define CLIENT_ABSTRACT_STEPS_H

#include "client/abstract/abstract.h"
#include "core/values/values.h"

/* The present matrix of that name. NULL: none, a state, or on servers only. */
const struct matrix *abstract_find(const struct abstract_run *run, const char *name);
/* The present datum of that name. NULL: none, or something else. */
const struct datum_variable *abstract_find_datum(const struct abstract_run *run, const char *name);
/* The present program argument of that name. NULL: none, or something else. */
const struct value *abstract_find_from(const struct abstract_run *run, const char *name);
/* Finds the name in the rule for an argument of the step's problem. NULL: its own name. */
const struct pair *abstract_renamed(const struct step *step, const char *inner);
/* Returns the step's problem with all its arguments; the caller frees both, also if this fails. With
 * `rule`, outputs that this rule does not use are marked as unwanted, see abstract_arrange(). */
enum esp_status abstract_prepare_step(const struct abstract_run *run, const struct rule *rule,
                                      const struct step *step, const char *name, struct esp_problem **problem,
                                      struct values *values, struct esp_error *error);

/* Drops the planned servers for the first steps of the rules. */
void abstract_forget_plans(struct abstract_run *run);

/* ---- client/abstract/abstract_matrix.c ---- */

/* Drops all variables behind the first n. */
void abstract_forget_after(struct abstract_run *run, uint32_t n);
/* Adds the information of the newest step, or NULL; the run takes it over. */
void abstract_add_info(struct abstract_run *run, struct esp_session_info *info);
/* A rule begins: drops the information of another rule's steps. */
void abstract_forget_infos(struct abstract_run *run);
/* Returns the output of that name; NULL: none. */
const struct argument *abstract_find_output(const struct problem *problem, const char *name);
/* Takes over the matrix, also if this fails. */
enum esp_status abstract_set(struct abstract_run *run, const char *name, struct matrix *matrix,
                             struct esp_error *error);
/* Returns the state of that name; NULL: none. */
const char *abstract_find_state(const struct abstract_run *run, const char *name);
enum esp_status abstract_set_state(struct abstract_run *run, const char *name, const char *text,
                                   struct esp_error *error);

/* Converts a program's array; matrix_clear() frees the result. Returns ESP_LIMIT, ESP_NO_MEMORY or
 * ESP_INVALID on failure. */
enum esp_status abstract_matrix_of(enum base_type type, int64_t rows, int64_t cols, const void *memory,
                                   struct matrix *matrix, struct esp_error *error);

/* The distance from 1 to the next number of that type (complex: of its parts); 0 for integers. */
double abstract_epsilon(enum base_type type);

/* How many diagonals below and above the main one reach to the outermost nonzero element. Returns the number
 * of nonzero elements. */
int64_t abstract_reach(const struct matrix *matrix, int64_t *below, int64_t *above);

/* Finds the properties and traits of a matrix that is here. */
void abstract_look_at(const struct matrix *matrix, const struct argument *argument, struct given *given);

/* Examines all inputs, and data at their places: given[] has one entry for each argument, *first is that
 * of the first array. Blocks. */
enum esp_status abstract_look(struct abstract_run *run, struct given *given, uint32_t *first,
                              struct esp_error *error);

/* ---- client/abstract/abstract.c ---- */

/* Called after the step: notes under which identity the output stays. Returns false if it does not stay. */
void abstract_fates_destroy(struct abstract_run *run);
/* abstract_keep() by a datum's mode and flags, for an output that satisfies abstract_gives_whole(). If a
 * step gives more than the output, the output comes to the program. */
enum esp_status abstract_keep_or_bring(struct abstract_run *run, uint32_t index, enum datum_mode mode,
                                       uint32_t flags, int64_t rows, int64_t cols, struct esp_error *error);

/* ---- client/abstract/abstract_matrix.c ---- */

/* Called after a rule of a problem that solves a system: returns ESP_INACCURATE if the result does not
 * solve it, for example because least squares got a square matrix. Values that are on servers only are not
 * checked. */
enum esp_status abstract_check_solution(struct abstract_run *run, struct esp_error *error);

/* ---- client/abstract/abstract.c ---- */

/* The rows that the step's problem requires of the array, as far as named scalars determine them; else -1. */
int64_t abstract_wanted_rows(const struct abstract_run *run, const struct problem *problem,
                             const struct argument *argument);

/* Whether no reachable node knows the problem. */
static inline bool abstract_is_missing(enum esp_status status)
{
    return status == ESP_UNKNOWN_PROBLEM || status == ESP_NO_SERVER;
}

/* Calls the problem `name` of that step, and takes its results: all of them, or, for the last step of
 * `rule` (NULL: none), those that are outputs of the abstract problem. `wanted`: the server for the step,
 * if it takes it; "": the agents choose, or the previous step's server. */
enum esp_status abstract_do_step(struct abstract_run *run, const struct rule *rule, const struct step *step,
                                 const char *name, const char *wanted, struct esp_error *error);

#endif
