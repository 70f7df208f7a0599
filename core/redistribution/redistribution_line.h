/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of one dimension of a redistribution, and their steps.
 */
#ifndef CORE_REDISTRIBUTION_LINE_H
#define CORE_REDISTRIBUTION_LINE_H

#include "core/redistribution/redistribution.h"
#include "core/redistribution/redistribution_pattern.h"

struct line_message {
    int32_t source, target; /* ranks */
    int32_t step;
    int64_t elements;
};

struct line {
    struct line_message *messages;
    size_t n;
    int32_t steps;
    bool by_classes;
};

/* How the steps of a line are made: as redistribution_schedule says, in one dimension, without processes that
 * are both sender and receiver. */
struct line_options {
    enum redistribution_schedule schedule; /* CLASSES (where pattern_has_classes()), STEPWISE or GREEDY */
    int64_t extra;                         /* of a step beyond the fewest, elements */
};

/* The messages of a line with their steps; line_free() in any case. ESP_LIMIT, ESP_NO_MEMORY. */
enum esp_status line_open(const struct block_cyclic *from, const struct block_cyclic *to,
                          const struct line_options *options, struct line *line, struct esp_error *error);
void line_free(struct line *line);

/* How many orders of so many edges are worth trying. */
uint32_t attempts_for(size_t edges);

#endif
