/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks: functions that a caller passes to a problem, and that its routine calls while it runs. A
 * callback's own signature is a problem without implementations (argument->callback), so that its sizes are
 * worked out as those of any call.
 *
 * Question and answer travel as the values of what goes in and of what comes back, each at a multiple of
 * CALLBACK_ALIGNMENT: first the scalars (so that the sizes of the arrays can be told), then the arrays, both
 * in the order of the declaration.
 */
#ifndef CORE_PROBLEM_CALLBACK_H
#define CORE_PROBLEM_CALLBACK_H

#include "core/problem/problem.h"

#define CALLBACK_ALIGNMENT      16
#define CALLBACK_MAX_PARAMETERS 16
#define CALLBACK_MOST_BYTES     (64 * 1024) /* of one question, and of one answer */
#define CALLBACK_ABSENT         UINT32_MAX

/* Where the values of one call of a callback lie. */
struct callback_layout {
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    uint32_t question[PROBLEM_MAX_ARGUMENTS]; /* offsets; CALLBACK_ABSENT: it is not there */
    uint32_t answer[PROBLEM_MAX_ARGUMENTS];
    uint32_t question_bytes, answer_bytes;
};

/* Of a call whose scalar inputs are values[i]. ESP_INVALID: sizes that cannot be; ESP_LIMIT: more than
 * CALLBACK_MOST_BYTES. */
enum esp_status callback_lay_out(const struct problem *callback, const void *const *values,
                                 struct callback_layout *layout, struct esp_error *error);

/* The same from a question that came in. ESP_PROTOCOL when it has another length than it should. */
enum esp_status callback_lay_out_question(const struct problem *callback, const void *question,
                                          uint32_t length, struct callback_layout *layout,
                                          struct esp_error *error);

/* Whether a problem has callbacks. */
bool problem_has_callbacks(const struct problem *problem);

#endif
