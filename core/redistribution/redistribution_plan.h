/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside redistribution: a plan while it is made. core/redistribution/redistribution_plan.c puts its messages
 * and steps in order, core/redistribution/redistribution.c seeks the steps,
 * core/redistribution/redistribution_check.c says what may be asked.
 */
#ifndef CORE_REDISTRIBUTION_PLAN_H
#define CORE_REDISTRIBUTION_PLAN_H

#include "core/redistribution/edge_colouring.h"
#include "core/redistribution/redistribution.h"
#include "core/redistribution/redistribution_line.h"

struct redistribution_plan {
    struct redistribution_summary summary;
    struct redistribution_message *messages; /* kept ones first, then step by step */
    size_t n, kept;
    size_t *first;      /* [step]: its first message, [steps]: their end */
    int64_t *step_cost; /* [step] */
};

/* What a plan is sought for. */
struct search {
    const struct redistribution *what;
    struct redistribution_costs costs;
    int64_t extra; /* step_s in elements */
    struct colour_bounds bounds;
    bool has_bounds;
};

/* ---- core/redistribution/redistribution_plan.c ---- */

/* The product of the lines: each message of one with each of the other. ESP_LIMIT, ESP_NO_MEMORY. */
enum esp_status plan_open(const struct redistribution *what, const struct line *rows, const struct line *cols,
                          struct redistribution_plan **made, struct esp_error *error);
/* The messages that are sent, as edges between ranks. */
enum esp_status plan_graph(const struct search *search, const struct redistribution_plan *plan,
                           struct colour_graph *graph, struct esp_error *error);
/* Puts its steps in order and fills the summary. Takes over the plan, also when it fails. */
enum esp_status plan_close(struct search *search, struct redistribution_plan *plan,
                           enum redistribution_schedule schedule, struct redistribution_plan **made,
                           struct esp_error *error);

/* ---- core/redistribution/redistribution_check.c ---- */

/* ESP_INVALID, ESP_LIMIT: what cannot be redistributed. */
enum esp_status redistribution_check(const struct redistribution *what, enum redistribution_schedule schedule,
                                     struct esp_error *error);
/* Whether a schedule by classes is possible in both dimensions. */
bool redistribution_has_classes(const struct redistribution *what);

#endif
