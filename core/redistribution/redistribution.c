/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/redistribution/redistribution_plan.h"

#include <math.h>
#include <stdlib.h>

enum { SMALL_PLAN = 1 << 15 /* messages of a plan whose steps are also sought without the tensor product */ };

static const char *const schedule_names[] = {"best", "classes", "stepwise", "greedy", "caterpillar"};

const char *redistribution_schedule_name(enum redistribution_schedule schedule)
{
    return (unsigned)schedule < sizeof schedule_names / sizeof *schedule_names ? schedule_names[schedule]
                                                                               : "unknown";
}

/* ---- schedules ---- */

static enum esp_status tensor(struct search *search, const struct line *rows, const struct line *cols,
                              enum redistribution_schedule schedule, struct redistribution_plan **made,
                              struct esp_error *error)
{
    struct redistribution_plan *plan;
    enum esp_status status = plan_open(search->what, rows, cols, &plan, error);
    return status == ESP_OK ? plan_close(search, plan, schedule, made, error) : status;
}

/* All messages at once: sees what the product of two lines cannot, and processes that keep their part. */
static enum esp_status direct(struct search *search, const struct line *rows, const struct line *cols,
                              enum redistribution_schedule schedule, struct redistribution_plan **made,
                              struct esp_error *error)
{
    struct redistribution_plan *plan;
    struct colour_graph graph = {0};
    struct colour_result result;
    enum esp_status status = plan_open(search->what, rows, cols, &plan, error);
    if (status != ESP_OK)
        return status;
    status = plan_graph(search, plan, &graph, error);
    struct colour_options how = {schedule == REDISTRIBUTION_STEPWISE, search->extra,
                                 attempts_for(graph.n_edges)};
    if (status == ESP_OK)
        status = edge_colouring(&graph, &how, &result, error);
    if (status != ESP_OK) {
        redistribution_plan_destroy(plan);
        free(graph.edges);
        return status;
    }
    for (size_t i = 0, edge = 0; i < plan->n; i++)
        if (plan->messages[i].step >= 0)
            plan->messages[i].step = graph.edges[edge++].colour;
    plan->summary.steps = result.colours;
    free(graph.edges);
    return plan_close(search, plan, schedule, made, error);
}

/* Keeps the better of two plans: by steps and then cost, by cost and then steps, or by the model. */
static void keep_better(enum redistribution_schedule by, struct redistribution_plan **best,
                        struct redistribution_plan *other)
{
    const struct redistribution_summary *x = *best ? &(*best)->summary : NULL, *y = &other->summary;
    bool better = !x;
    if (x && by == REDISTRIBUTION_STEPWISE)
        better = y->steps < x->steps || (y->steps == x->steps && y->cost < x->cost);
    else if (x && by == REDISTRIBUTION_GREEDY)
        better = y->cost < x->cost || (y->cost == x->cost && y->steps < x->steps);
    else if (x)
        better =
            y->seconds < x->seconds || (y->seconds <= x->seconds &&
                                        (y->steps < x->steps || (y->steps == x->steps && y->cost < x->cost)));
    redistribution_plan_destroy(better ? *best : other);
    if (better)
        *best = other;
}

static bool meets_bounds(const struct redistribution_plan *plan)
{
    const struct redistribution_summary *summary = &plan->summary;
    return summary->steps == summary->least_steps && summary->cost == summary->least_cost;
}

/* What one more step of a dimension costs in its elements: each is as many steps of the plan as the other
 * has. */
static int64_t line_extra(int64_t extra, const struct line *other)
{
    int64_t cost = 0;
    int64_t *longest = calloc((size_t)other->steps + 1, sizeof *longest);
    for (size_t i = 0; longest && i < other->n; i++)
        if (other->messages[i].elements > longest[other->messages[i].step])
            longest[other->messages[i].step] = other->messages[i].elements;
    for (int32_t i = 0; longest && i < other->steps; i++)
        cost += longest[i];
    free(longest);
    return cost ? (int64_t)fmin((double)extra * other->steps / (double)cost, 0x1p40) : extra;
}

struct lines {
    struct line rows, cols;
};

static void lines_free(struct lines *lines)
{
    line_free(&lines->rows);
    line_free(&lines->cols);
}

/* `fewest`: the lines that are open already, for what a step is worth; NULL: for nothing. */
static enum esp_status lines_open(const struct search *search, enum redistribution_schedule schedule,
                                  const struct lines *fewest, struct lines *lines, struct esp_error *error)
{
    const struct redistribution *what = search->what;
    struct line_options options = {schedule, fewest ? line_extra(search->extra, &fewest->cols) : 0};
    *lines = (struct lines){0};
    enum esp_status status = line_open(&what->from.rows, &what->to.rows, &options, &lines->rows, error);
    options.extra = fewest ? line_extra(search->extra, &fewest->rows) : 0;
    if (status == ESP_OK)
        status = line_open(&what->from.cols, &what->to.cols, &options, &lines->cols, error);
    return status;
}

static enum esp_status consider(enum esp_status status, enum redistribution_schedule by,
                                struct redistribution_plan **best, struct redistribution_plan *other)
{
    if (status == ESP_OK)
        keep_better(by, best, other);
    return status;
}

static enum esp_status by_classes(struct search *search, struct redistribution_plan **best,
                                  struct esp_error *error)
{
    struct lines lines;
    struct redistribution_plan *plan = NULL;
    enum esp_status status = lines_open(search, REDISTRIBUTION_CLASSES, NULL, &lines, error);
    if (status == ESP_OK)
        status = tensor(search, &lines.rows, &lines.cols, REDISTRIBUTION_CLASSES, &plan, error);
    lines_free(&lines);
    return consider(status, REDISTRIBUTION_BEST, best, plan);
}

static enum esp_status stepwise(struct search *search, const struct lines *lines,
                                struct redistribution_plan **best, struct esp_error *error)
{
    struct redistribution_plan *plan = NULL, *other;
    enum esp_status status =
        tensor(search, &lines->rows, &lines->cols, REDISTRIBUTION_STEPWISE, &plan, error);
    if (status != ESP_OK)
        return status;
    bool small = plan->summary.messages <= SMALL_PLAN;
    if (plan->summary.steps > plan->summary.least_steps || (small && !meets_bounds(plan))) {
        status = direct(search, &lines->rows, &lines->cols, REDISTRIBUTION_STEPWISE, &other, error);
        consider(status, REDISTRIBUTION_STEPWISE, &plan, other);
    }
    if (status == ESP_OK)
        keep_better(REDISTRIBUTION_BEST, best, plan);
    else
        redistribution_plan_destroy(plan);
    return status;
}

/* Each dimension with few steps or with low cost, and all messages at once. */
static enum esp_status greedy(struct search *search, const struct lines *fewest, const struct lines *cheap,
                              enum redistribution_schedule by, struct redistribution_plan **best,
                              struct esp_error *error)
{
    struct redistribution_plan *plan = NULL, *other;
    enum esp_status status = ESP_OK;
    for (int choice = 0; choice < 4 && status == ESP_OK; choice++) {
        const struct line *rows = choice & 1 ? &cheap->rows : &fewest->rows,
                          *cols = choice & 2 ? &cheap->cols : &fewest->cols;
        status = tensor(search, rows, cols, REDISTRIBUTION_GREEDY, &other, error);
        status = consider(status, by, &plan, other);
        if (status == ESP_OK && meets_bounds(plan))
            break;
    }
    if (status == ESP_OK && !meets_bounds(plan) && plan->summary.messages <= SMALL_PLAN) {
        status = direct(search, &fewest->rows, &fewest->cols, REDISTRIBUTION_GREEDY, &other, error);
        status = consider(status, by, &plan, other);
    }
    if (status == ESP_OK)
        keep_better(REDISTRIBUTION_BEST, best, plan);
    else
        redistribution_plan_destroy(plan);
    return status;
}

static enum esp_status caterpillar(struct search *search, const struct lines *lines,
                                   struct redistribution_plan **made, struct esp_error *error)
{
    int64_t senders = block_cyclic_matrix_ranks(&search->what->from),
            receivers = block_cyclic_matrix_ranks(&search->what->to);
    struct redistribution_plan *plan;
    enum esp_status status = plan_open(search->what, &lines->rows, &lines->cols, &plan, error);
    if (status != ESP_OK)
        return status;
    plan->summary.steps = (int32_t)(senders > receivers ? senders : receivers);
    for (size_t i = 0; i < plan->n; i++) {
        struct redistribution_message *message = &plan->messages[i];
        if (message->step >= 0)
            message->step = (int32_t)residue(message->source - message->target, plan->summary.steps);
    }
    return plan_close(search, plan, REDISTRIBUTION_CATERPILLAR, made, error);
}

static enum esp_status by_search(struct search *search, enum redistribution_schedule schedule,
                                 struct redistribution_plan **best, struct esp_error *error)
{
    struct lines fewest = {0}, cheap = {0};
    enum redistribution_schedule by = schedule == REDISTRIBUTION_GREEDY ? schedule : REDISTRIBUTION_BEST;
    enum esp_status status = lines_open(search, REDISTRIBUTION_STEPWISE, NULL, &fewest, error);
    if (status == ESP_OK && schedule == REDISTRIBUTION_CATERPILLAR)
        status = caterpillar(search, &fewest, best, error);
    if (status == ESP_OK && (schedule == REDISTRIBUTION_STEPWISE || schedule == REDISTRIBUTION_BEST))
        status = stepwise(search, &fewest, best, error);
    bool cheaper = schedule == REDISTRIBUTION_GREEDY ||
                   (schedule == REDISTRIBUTION_BEST && status == ESP_OK && !meets_bounds(*best));
    if (status == ESP_OK && cheaper) {
        status = lines_open(search, REDISTRIBUTION_GREEDY, &fewest, &cheap, error);
        if (status == ESP_OK)
            status = greedy(search, &fewest, &cheap, by, best, error);
    }
    lines_free(&fewest);
    lines_free(&cheap);
    return status;
}

/* ---- all together ---- */

enum esp_status redistribution_plan_create(const struct redistribution *what,
                                           enum redistribution_schedule schedule,
                                           const struct redistribution_costs *costs,
                                           struct redistribution_plan **plan, struct esp_error *error)
{
    struct search search = {.what = what, .costs = *costs};
    struct redistribution_plan *best = NULL;
    enum esp_status status = redistribution_check(what, schedule, error);
    if (status != ESP_OK)
        return status;
    if (costs->step_s > 0)
        search.extra = (int64_t)fmin(costs->step_s / fmax(costs->element_s, costs->step_s * 0x1p-40), 0x1p40);
    if (schedule == REDISTRIBUTION_GREEDY)
        search.extra = 0;
    bool classes = schedule == REDISTRIBUTION_CLASSES ||
                   (schedule == REDISTRIBUTION_BEST && redistribution_has_classes(what));
    if (classes)
        status = by_classes(&search, &best, error);
    if (status == ESP_OK && schedule != REDISTRIBUTION_CLASSES && (!best || !meets_bounds(best)))
        status = by_search(&search, schedule, &best, error);
    if (status == ESP_OK)
        *plan = best;
    else
        redistribution_plan_destroy(best);
    return status;
}
