/* SPDX-License-Identifier: Apache-2.0
 *
 * What happened in a run of a flow graph, simulated or real: computations and transfers with their times.
 */
#ifndef CORE_FLOW_RECORD_H
#define CORE_FLOW_RECORD_H

#include "core/flow/flow.h"

/* A computation or a transfer, as it happened. */
struct flow_event {
    double begin_s, end_s;
    double seconds;     /* of a computation: as the operation said */
    uint64_t bytes;     /* of a transfer */
    const char *what;   /* of a computation */
    unsigned operation; /* of a transfer: the receiver */
    unsigned set, thread, node;
    unsigned from; /* of a transfer: the sending node */
    bool is_transfer;
};

struct flow_record {
    struct flow_event *events; /* in the order of their ends */
    size_t n_events, capacity;
    bool out_of_memory;
    int64_t begin_ns; /* of the run, on its clock: times count from here */
};

/* An observer that adds to the record, which is empty: all zero but for `begin_ns`. */
struct flow_observer flow_record_observer(struct flow_record *record);
void flow_record_clear(struct flow_record *record);

#endif
