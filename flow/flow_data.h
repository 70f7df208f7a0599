/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a flow that runs: each output of each task, and where it is. A value never changes; if all its
 * copies are lost, its task can make it again.
 */
#ifndef FLOW_FLOW_DATA_H
#define FLOW_FLOW_DATA_H

#include "core/flow/program_plan.h"
#include "flow/inputs.h"

struct activity;

struct waiting {
    struct waiting *next;
    struct activity *activity;
};

struct flow_datum {
    char *id;         /* on servers, or NULL */
    void *memory;     /* at the client: a scalar, a small input, a result; or NULL */
    uint32_t *copies; /* the servers that have it, or are about to */
    uint32_t n_copies;
    uint32_t uses;     /* inputs of tasks that have not ended */
    uint32_t holds;    /* activities that need it now */
    uint64_t bytes;    /* of the datum on servers */
    uint32_t attempts; /* to put it on a server, that failed */
    bool is_external;  /* the user has given the datum: it stays */
    bool is_result;    /* its memory is a result of the flow */
    bool is_making;
    struct waiting *waiting;
};

struct flow_data {
    const struct flow_plan *plan;
    uint64_t *first; /* of each task */
    struct flow_datum *data;
};

enum esp_status flow_data_create(struct flow_data *data, const struct flow_plan *plan,
                                 struct esp_error *error);
void flow_data_clear(struct flow_data *data);

struct flow_datum *flow_data_output(const struct flow_data *data, uint32_t task, uint8_t output);
/* What input `input` of all inputs of the plan stands for; NULL: only the order matters. */
struct flow_datum *flow_data_input(const struct flow_data *data, uint32_t input);

/* Notes a copy. False without memory: the copy is not known then. */
bool datum_add_copy(struct flow_datum *datum, uint32_t server);
bool datum_has_copy(const struct flow_datum *datum, uint32_t server);
void datum_remove_copy(struct flow_datum *datum, uint32_t server);

/* What kind of array, or scalar, an output is; of an input of the flow, what its first reader takes. */
enum esp_status flow_data_array(const struct flow_data *data, uint32_t task, uint8_t output,
                                struct flow_array *array, struct esp_error *error);

/* ---- tasks ---- */

static inline bool task_is(const struct task *task, enum statement_kind kind)
{
    return task->call && task->call->statement->kind == kind && task->change.kind == STATEMENT_LET;
}
static inline const struct program_operation *task_operation(const struct flow_plan *plan,
                                                             const struct task *task)
{
    return plan->program->operations[task->call->statement->operation];
}
/* "file:line:column: operation 'dgesv' (x[1])" */
void task_place(const struct flow_plan *plan, const struct task *task, char *text, size_t size);

#endif
