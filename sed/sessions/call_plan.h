/* SPDX-License-Identifier: Apache-2.0
 *
 * A call, checked against the problem's description: values of its scalars, bytes of every argument, and the
 * place of each. Nothing is reserved yet, so a wrong call leaves no trace.
 */
#ifndef SED_CALL_PLAN_H
#define SED_CALL_PLAN_H

#include "core/data/datum.h"
#include "core/message/message.h"
#include "core/problem/problem.h"
#include <stdbool.h>
#include <stdint.h>

struct planned_argument {
    uint32_t kind;   /* enum argument_kind, as the call has it (KIND_ABSENT when it is not mentioned) */
    bool in_segment; /* lies in the session's segment; else in its block, if it needs memory at all */
    bool in_store;   /* lies in the store: a datum that is read, or becomes one (in_segment is set too) */
    bool cut;        /* KIND_DATUM: of the datum, a section is the argument: it is copied into the segment */
    bool blank;      /* an inout array whose value did not come, as the call does not read it: it is 0 */
    bool kept;       /* the output becomes a datum, */
    bool kept_late;  /* the same when it has come, and its length is known: strings; both: */
    uint32_t keep_mode, keep_flags; /* of that mode */
    uint32_t head, tail;            /* bytes at its ends that come with the answer all the same */
    uint64_t bytes;                 /* of its memory */
    uint64_t offset;                /* in the segment or in the block's data */
    const uint8_t *data;            /* KIND_INLINE: borrowed from the call */
    const uint8_t *datum; /* KIND_DATUM: its identity, which a section and addresses may follow; borrowed */
    uint32_t datum_length;
    struct datum_shape shape; /* KIND_DATUM, kept: what the description makes of it */
    uint8_t initial[16];      /* the default value of a scalar that was not given */
    bool has_initial;
};

struct call_plan {
    const struct problem *problem;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct planned_argument arguments[PROBLEM_MAX_ARGUMENTS];
    uint64_t block_bytes;   /* data outside the segment */
    uint64_t segment_bytes; /* 0: none is needed */
    uint64_t inline_bytes;  /* that came with the call */
    uint64_t beyond_bytes;  /* that the description asks for beyond the arguments */
    uint64_t reserve_bytes; /* memory in all, with what the description asks for beyond the arguments */
    double work_flop;
    bool bulk; /* some inputs travel as chunks */
    bool data; /* some arguments are data */
};

/* Values that fit beside each other into WORKERS_INLINE_BYTES travel to the worker that way; when a call has
 * more, all its arrays above this many bytes go to the segment. */
#define PLAN_SMALL_ARRAY 1024

/* ESP_INVALID names the problem and the argument, what was expected and what was found: count, kind, bytes,
 * preconditions. The plan borrows from the problem and from the call. */
enum esp_status call_plan_make(const struct problem *problem, const struct call_request *call,
                               struct call_plan *plan, struct esp_error *error);

#endif
