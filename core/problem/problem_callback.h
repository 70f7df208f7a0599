/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks: functions that a caller passes to a problem, and that its routine calls while it runs. A
 * callback's own signature is a problem without implementations (argument->callback), so that its sizes
 * are computed like those of any call. Sizes may use scalars of the problem around it: these are further
 * inputs of the callback (problem.n_outer), which both sides know from the call and which do not travel.
 *
 * The question has the values of the inputs, the answer those of the outputs, each at a multiple of
 * CALLBACK_ALIGNMENT, in three groups, each in the order of the declaration: scalars and the lengths of
 * strings (64 bits), from which all other positions follow; arrays; strings, each followed by a 0 that its
 * length does not count. */
#ifndef CORE_PROBLEM_CALLBACK_H
#define CORE_PROBLEM_CALLBACK_H

#include "core/problem/problem.h"

#define CALLBACK_ALIGNMENT      16
#define CALLBACK_MAX_PARAMETERS 16
#define CALLBACK_MAX_OUTER      16          /* scalars of the problem around it that its sizes use */
#define CALLBACK_MOST_BYTES     (64 * 1024) /* most bytes of one question, or of one answer */
#define CALLBACK_ABSENT         UINT32_MAX

/* Positions of the values in a question or an answer. */
struct callback_side {
    uint32_t at[PROBLEM_MAX_ARGUMENTS];     /* offsets; for a string: of its length; CALLBACK_ABSENT: none */
    uint32_t text[PROBLEM_MAX_ARGUMENTS];   /* for a string: the offset of its bytes; else CALLBACK_ABSENT */
    uint64_t length[PROBLEM_MAX_ARGUMENTS]; /* for a string: bytes without the final 0 */
    uint32_t bytes;
};

/* Positions of the values of one call of a callback. */
struct callback_layout {
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    struct callback_side question, answer;
};

/* Computes the layout of a call whose scalar inputs, including those of the problem around it, are
 * values[i]. The caller sets question.length of input strings first. Output strings are laid out as empty
 * ones. ESP_INVALID: impossible sizes; ESP_LIMIT: more than CALLBACK_MOST_BYTES. */
enum esp_status callback_lay_out(const struct problem *callback, const void *const *values,
                                 struct callback_layout *layout, struct esp_error *error);

/* Computes the layout from a received question; outer[k] is the raw element of scalar k of the problem
 * around it (NULL: there is none). ESP_PROTOCOL when the question or a string in it has a wrong length. */
enum esp_status callback_lay_out_question(const struct problem *callback, const uint64_t *outer,
                                          const void *question, uint32_t length,
                                          struct callback_layout *layout, struct esp_error *error);

/* Computes the answer's layout again, for strings whose answer.length is set now. ESP_LIMIT. */
enum esp_status callback_lay_out_answer(const struct problem *callback, struct callback_layout *layout,
                                        struct esp_error *error);

/* Computes the answer's layout from a received answer. ESP_PROTOCOL as callback_lay_out_question(). */
enum esp_status callback_take_answer(const struct problem *callback, const void *answer, uint32_t length,
                                     struct callback_layout *layout, struct esp_error *error);

/* Gets the raw elements of the problem's scalars that its callback uses, CALLBACK_MAX_OUTER at most, from
 * the problem's scope. ESP_INVALID. */
enum esp_status callback_outer_values(const struct problem *callback, const struct number *scope,
                                      uint64_t *outer, struct esp_error *error);

/* Whether a problem has callbacks. */
bool problem_has_callbacks(const struct problem *problem);

#endif
