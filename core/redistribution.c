/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/edge_colouring.h"
#include "core/redistribution.h"
#include "core/redistribution_line.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_PLAN = 1 << 15 /* messages of a plan whose steps are also sought without the tensor product */ };

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

static const char *const schedule_names[] = {"best", "classes", "stepwise", "greedy", "caterpillar"};

const char *redistribution_schedule_name(enum redistribution_schedule schedule)
{
    return (unsigned)schedule < sizeof schedule_names / sizeof *schedule_names ? schedule_names[schedule]
                                                                               : "unknown";
}

void redistribution_plan_destroy(struct redistribution_plan *plan)
{
    if (!plan)
        return;
    free(plan->messages);
    free(plan->first);
    free(plan->step_cost);
    free(plan);
}

/* ---- messages: the tensor product of the lines ---- */

static bool is_kept(const struct redistribution *what, int64_t source, int64_t target)
{
    return what->from_ids && what->from_ids[source] == what->to_ids[target];
}

static enum esp_status plan_open(const struct redistribution *what, const struct line *rows,
                                 const struct line *cols, struct redistribution_plan **made,
                                 struct esp_error *error)
{
    if (rows->n && cols->n > REDISTRIBUTION_MOST_MESSAGES / rows->n)
        return error_set(error, ESP_LIMIT,
                         "expected a redistribution of at most %d messages, found %zu x %zu",
                         REDISTRIBUTION_MOST_MESSAGES, rows->n, cols->n);
    struct redistribution_plan *plan = calloc(1, sizeof *plan);
    if (plan)
        plan->messages = malloc((rows->n * cols->n + 1) * sizeof *plan->messages);
    if (!plan || !plan->messages) {
        redistribution_plan_destroy(plan);
        return error_no_memory(error, "the messages of a redistribution");
    }
    for (size_t i = 0; i < rows->n; i++)
        for (size_t j = 0; j < cols->n; j++) {
            const struct line_message *row = &rows->messages[i], *col = &cols->messages[j];
            int64_t source = block_cyclic_matrix_rank(&what->from, row->source, col->source);
            int64_t target = block_cyclic_matrix_rank(&what->to, row->target, col->target);
            int32_t step = is_kept(what, source, target) ? -1 : row->step * cols->steps + col->step;
            plan->messages[plan->n++] = (struct redistribution_message){(int32_t)source, (int32_t)target,
                                                                        step, row->elements * col->elements};
        }
    plan->summary.steps = rows->steps * cols->steps;
    *made = plan;
    return ESP_OK;
}

/* ---- steps in order ---- */

struct step_order {
    int64_t cost;
    int32_t step;
};

static int compare_dearer(const void *a, const void *b)
{
    const struct step_order *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? 1 : -1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* Numbers the steps from dear to cheap and drops empty ones (the caterpillar keeps its own). */
static enum esp_status number_steps(struct redistribution_plan *plan, bool as_they_are)
{
    size_t steps = (size_t)plan->summary.steps;
    struct step_order *order = calloc(steps + 1, sizeof *order);
    int32_t *number = malloc((steps + 1) * sizeof *number);
    plan->step_cost = calloc(steps + 1, sizeof *plan->step_cost);
    enum esp_status status = order && number && plan->step_cost ? ESP_OK : ESP_NO_MEMORY;
    for (size_t i = 0; status == ESP_OK && i < plan->n; i++) {
        const struct redistribution_message *message = &plan->messages[i];
        if (message->step >= 0 && message->elements > order[message->step].cost)
            order[message->step].cost = message->elements;
    }
    for (size_t i = 0; status == ESP_OK && i < steps; i++)
        order[i].step = (int32_t)i;
    if (status == ESP_OK && !as_they_are)
        qsort(order, steps, sizeof *order, compare_dearer);
    int32_t used = 0;
    for (size_t i = 0; status == ESP_OK && i < steps; i++) {
        number[order[i].step] = (int32_t)i;
        plan->step_cost[i] = order[i].cost;
        plan->summary.cost += order[i].cost;
        used += order[i].cost > 0;
    }
    for (size_t i = 0; status == ESP_OK && i < plan->n; i++)
        if (plan->messages[i].step >= 0)
            plan->messages[i].step = number[plan->messages[i].step];
    if (!as_they_are)
        plan->summary.steps = used;
    free(order);
    free(number);
    return status;
}

/* Messages step by step (a counting sort), those that are kept first. */
static enum esp_status sort_messages(struct redistribution_plan *plan)
{
    size_t steps = (size_t)plan->summary.steps;
    size_t *next = calloc(steps + 2, sizeof *next);
    struct redistribution_message *sorted = malloc((plan->n + 1) * sizeof *sorted);
    plan->first = calloc(steps + 2, sizeof *plan->first);
    bool done = next && sorted && plan->first;
    if (done) {
        for (size_t i = 0; i < plan->n; i++)
            next[plan->messages[i].step + 1]++;
        plan->kept = next[0];
        for (size_t step = 0, at = 0; step <= steps; step++) {
            size_t n = next[step];
            next[step] = at;
            at += n;
            plan->first[step] = at;
        }
        for (size_t i = 0; i < plan->n; i++)
            sorted[next[plan->messages[i].step + 1]++] = plan->messages[i];
        free(plan->messages);
        plan->messages = sorted;
        sorted = NULL;
    }
    free(sorted);
    free(next);
    return done ? ESP_OK : ESP_NO_MEMORY;
}

static int32_t used_steps(const struct redistribution_plan *plan)
{
    int32_t used = 0;
    for (int32_t step = 0; step < plan->summary.steps; step++)
        used += plan->step_cost[step] > 0;
    return used;
}

static void summarize(struct redistribution_plan *plan, const struct search *search,
                      enum redistribution_schedule schedule)
{
    struct redistribution_summary *summary = &plan->summary;
    summary->schedule = schedule;
    for (size_t i = 0; i < plan->n; i++)
        *(i < plan->kept ? &summary->kept : &summary->sent) += plan->messages[i].elements;
    summary->messages = plan->n - plan->kept;
    summary->least_steps = search->bounds.degree;
    summary->least_cost = search->bounds.cost;
    summary->seconds =
        search->costs.step_s * used_steps(plan) + search->costs.element_s * (double)summary->cost;
    summary->least_seconds =
        search->costs.step_s * summary->least_steps + search->costs.element_s * (double)summary->least_cost;
}

/* The messages that are sent, as edges between ranks. */
static enum esp_status open_graph(const struct search *search, const struct redistribution_plan *plan,
                                  struct colour_graph *graph, struct esp_error *error)
{
    *graph = (struct colour_graph){malloc((plan->n + 1) * sizeof *graph->edges), 0,
                                   (int32_t)block_cyclic_matrix_ranks(&search->what->from),
                                   (int32_t)block_cyclic_matrix_ranks(&search->what->to)};
    if (!graph->edges)
        return error_no_memory(error, "the messages of a redistribution");
    for (size_t i = 0; i < plan->n; i++) {
        const struct redistribution_message *message = &plan->messages[i];
        if (message->step >= 0)
            graph->edges[graph->n_edges++] = (struct colour_edge){
                .left = message->source, .right = message->target, .weight = message->elements};
    }
    return ESP_OK;
}

/* The bounds are those of the messages, whatever the schedule. */
static enum esp_status find_bounds(struct search *search, const struct redistribution_plan *plan,
                                   struct esp_error *error)
{
    struct colour_graph graph;
    if (search->has_bounds)
        return ESP_OK;
    enum esp_status status = open_graph(search, plan, &graph, error);
    if (status == ESP_OK)
        status = edge_colouring_bounds(&graph, &search->bounds, error);
    search->has_bounds = status == ESP_OK;
    free(graph.edges);
    return status;
}

/* Takes over the plan, also when it fails. */
static enum esp_status plan_close(struct search *search, struct redistribution_plan *plan,
                                  enum redistribution_schedule schedule, struct redistribution_plan **made,
                                  struct esp_error *error)
{
    enum esp_status status = find_bounds(search, plan, error);
    if (status == ESP_OK && (number_steps(plan, schedule == REDISTRIBUTION_CATERPILLAR) != ESP_OK ||
                             sort_messages(plan) != ESP_OK))
        status = error_no_memory(error, "the steps of a redistribution");
    if (status != ESP_OK) {
        redistribution_plan_destroy(plan);
        return status;
    }
    summarize(plan, search, schedule);
    *made = plan;
    return ESP_OK;
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
    status = open_graph(search, plan, &graph, error);
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

/* ---- what may be asked ---- */

static enum esp_status check_dimension(const struct block_cyclic *from, const struct block_cyclic *to,
                                       const char *name, struct esp_error *error)
{
    if (from->n != to->n)
        return error_set(error, ESP_INVALID,
                         "redistribution: expected as many %s before as after, found %" PRId64
                         " and %" PRId64,
                         name, from->n, to->n);
    if (from->n > REDISTRIBUTION_MOST_SIZE)
        return error_set(error, ESP_LIMIT, "redistribution: expected at most 2^40 %s, found %" PRId64, name,
                         from->n);
    return ESP_OK;
}

static enum esp_status check_classes(const struct block_cyclic *from, const struct block_cyclic *to,
                                     const char *name, struct esp_error *error)
{
    struct pattern pattern;
    pattern_open(from, to, &pattern);
    if (pattern_has_classes(&pattern) || from->n == 0)
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "redistribution: a schedule by classes needs a whole period of %s, gcd(r, Q) = 1 and "
                     "gcd(s, P) = 1; found %" PRId64 " %s, r = %" PRId64 ", P = %" PRId64 ", s = %" PRId64
                     ", Q = %" PRId64 ": take the stepwise one",
                     name, from->n, name, pattern.r, pattern.p, pattern.s, pattern.q);
}

static enum esp_status check(const struct redistribution *what, enum redistribution_schedule schedule,
                             struct esp_error *error)
{
    enum esp_status status = block_cyclic_matrix_check(&what->from, "redistribution: before", error);
    if (status == ESP_OK)
        status = block_cyclic_matrix_check(&what->to, "redistribution: after", error);
    if (status == ESP_OK)
        status = check_dimension(&what->from.rows, &what->to.rows, "rows", error);
    if (status == ESP_OK)
        status = check_dimension(&what->from.cols, &what->to.cols, "columns", error);
    if (status == ESP_OK && !what->from_ids != !what->to_ids)
        status = error_set(error, ESP_INVALID,
                           "redistribution: expected ids of both grids or of none, found "
                           "those of one");
    if (status == ESP_OK && schedule == REDISTRIBUTION_CLASSES)
        status = check_classes(&what->from.rows, &what->to.rows, "rows", error);
    if (status == ESP_OK && schedule == REDISTRIBUTION_CLASSES)
        status = check_classes(&what->from.cols, &what->to.cols, "columns", error);
    return status;
}

static bool has_classes(const struct redistribution *what)
{
    return check_classes(&what->from.rows, &what->to.rows, "", NULL) == ESP_OK &&
           check_classes(&what->from.cols, &what->to.cols, "", NULL) == ESP_OK;
}

enum esp_status redistribution_plan_create(const struct redistribution *what,
                                           enum redistribution_schedule schedule,
                                           const struct redistribution_costs *costs,
                                           struct redistribution_plan **plan, struct esp_error *error)
{
    struct search search = {.what = what, .costs = *costs};
    struct redistribution_plan *best = NULL;
    enum esp_status status = check(what, schedule, error);
    if (status != ESP_OK)
        return status;
    if (costs->step_s > 0)
        search.extra = (int64_t)fmin(costs->step_s / fmax(costs->element_s, costs->step_s * 0x1p-40), 0x1p40);
    if (schedule == REDISTRIBUTION_GREEDY)
        search.extra = 0;
    bool classes =
        schedule == REDISTRIBUTION_CLASSES || (schedule == REDISTRIBUTION_BEST && has_classes(what));
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

const struct redistribution_summary *redistribution_plan_summary(const struct redistribution_plan *plan)
{
    return &plan->summary;
}

const struct redistribution_message *redistribution_plan_step(const struct redistribution_plan *plan,
                                                              int32_t step, size_t *n)
{
    size_t begin = step < 0 ? 0 : plan->first[step], end = step < 0 ? plan->kept : plan->first[step + 1];
    *n = end - begin;
    return plan->messages + begin;
}

int64_t redistribution_plan_step_cost(const struct redistribution_plan *plan, int32_t step)
{
    return plan->step_cost[step];
}
