/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/flow_record.h"

#include <stdlib.h>

static double seconds_of(const struct flow_record *record, int64_t at_ns)
{
    return (double)(at_ns - record->begin_ns) / 1e9;
}

static void add(struct flow_record *record, const struct flow_event *event)
{
    if (record->n_events == record->capacity) {
        size_t wanted = record->capacity ? 2 * record->capacity : 64;
        void *moved = realloc(record->events, wanted * sizeof *record->events);
        if (!moved) {
            record->out_of_memory = true;
            return;
        }
        record->events = moved;
        record->capacity = wanted;
    }
    record->events[record->n_events++] = *event;
}

static void add_step(void *self, const struct flow_step *step, int64_t begin_ns, int64_t end_ns)
{
    add(self, &(struct flow_event){.begin_s = seconds_of(self, begin_ns),
                                   .end_s = seconds_of(self, end_ns),
                                   .seconds = step->seconds,
                                   .what = step->what,
                                   .operation = step->operation,
                                   .set = step->set,
                                   .thread = step->thread,
                                   .node = step->node,
                                   .from = step->node});
}

static void add_transfer(void *self, const struct flow_transfer *transfer, int64_t begin_ns, int64_t end_ns)
{
    add(self, &(struct flow_event){.begin_s = seconds_of(self, begin_ns),
                                   .end_s = seconds_of(self, end_ns),
                                   .bytes = transfer->bytes,
                                   .operation = transfer->operation,
                                   .set = transfer->set,
                                   .thread = transfer->thread,
                                   .node = transfer->to,
                                   .from = transfer->from,
                                   .is_transfer = true});
}

struct flow_observer flow_record_observer(struct flow_record *record)
{
    return (struct flow_observer){.self = record, .step = add_step, .transfer = add_transfer};
}

void flow_record_clear(struct flow_record *record)
{
    free(record->events);
    *record = (struct flow_record){0};
}
