/* SPDX-License-Identifier: Apache-2.0 */
#include "core/redistribution/redistribution.h"
#include "config.h"
#include "core/redistribution/block_cyclic.h"
#include "core/redistribution/edge_colouring.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

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

/* Options for the steps of one dimension: like redistribution_schedule, without processes that are both
 * sender and receiver. */
struct line_options {
    enum redistribution_schedule schedule; /* CLASSES (where pattern_has_classes()), STEPWISE or GREEDY */
    int64_t extra;                         /* cost of a step beyond the fewest, in elements */
};

struct pattern {
    int64_t n, p, q, r, s; /* P, Q, and r and s divided by their common divisor */
    int64_t unit;          /* the common divisor: an element of the pattern stands for this many elements */
    int64_t s1, r1, g0, g; /* s' = gcd(s, P), r' = gcd(r, Q), g0 = gcd(P / s', Q / r'), g = r' s' g0 */
    int64_t a, b;          /* copies of a sender and of a receiver */
    int64_t period;        /* L, elements after which the pattern repeats; 0: more than n */
    int64_t period_tail;   /* elements of n after the last whole period; n without one */
};

struct redistribution_plan {
    struct redistribution_summary summary;
    struct redistribution_message *messages; /* messages within a process first, then step by step */
    size_t n, kept;
    size_t *first;      /* [step]: its first message, [steps]: their end */
    int64_t *step_cost; /* [step] */
};

/* The redistribution for which a plan is computed. */
struct search {
    const struct redistribution *what;
    struct redistribution_costs costs;
    int64_t extra; /* step_s in elements */
    struct colour_bounds bounds;
    bool has_bounds;
};

static bool pattern_has_classes(const struct pattern *pattern);

__extension__ typedef __int128 wide;

/* a modulo m, 1 <= m; a may be negative. */
static int64_t residue(int64_t a, int64_t m)
{
    int64_t rest = a % m;
    return rest < 0 ? rest + m : rest;
}

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t multiply_modulo(int64_t a, int64_t b, int64_t m)
{
    return (int64_t)((wide)a * b % m);
}

/* Returns b with a b = 1 modulo m, for gcd(a, m) = 1; 0 for m = 1. */
static int64_t inverse_modulo(int64_t a, int64_t m)
{
    int64_t r0 = m, r1 = residue(a, m), t0 = 0, t1 = 1;
    while (r1) {
        int64_t quotient = r0 / r1, rest = r0 - quotient * r1, t = t0 - quotient * t1;
        r0 = r1;
        r1 = rest;
        t0 = t1;
        t1 = t;
    }
    return residue(t0, m);
}

/* Computes the pattern of two valid layouts of the same n, 2^40 at most, so that P r and Q s fit 64 bits. */
static void pattern_open(const struct block_cyclic *from, const struct block_cyclic *to,
                         struct pattern *pattern)
{
    /* A block larger than n is replaced by n. */
    int64_t n = from->n,
            r = from->block < n ? from->block
                : n > 0         ? n
                                : 1,
            s = to->block < n ? to->block
                : n > 0       ? n
                              : 1;
    int64_t unit = greatest_common_divisor(r, s), p = from->ranks, q = to->ranks;
    *pattern = (struct pattern){.n = n, .p = p, .q = q, .r = r / unit, .s = s / unit, .unit = unit};
    pattern->s1 = greatest_common_divisor(pattern->s, p);
    pattern->r1 = greatest_common_divisor(pattern->r, q);
    pattern->g0 = greatest_common_divisor(p / pattern->s1, q / pattern->r1);
    pattern->g = pattern->r1 * pattern->s1 * pattern->g0;
    pattern->a = p / pattern->s1 / pattern->g0;
    pattern->b = q / pattern->r1 / pattern->g0;
    /* L = P r Q s / g, times the unit */
    int64_t period = pattern->a * (q / pattern->r1);
    if (__builtin_mul_overflow(period, pattern->r, &period) ||
        __builtin_mul_overflow(period, pattern->s, &period) ||
        __builtin_mul_overflow(period, unit, &period) || period > n)
        period = 0;
    pattern->period = period;
    pattern->period_tail = period ? n % period : n;
}

/* Whether scheduling class by class is optimal (proposition 7). */
static bool pattern_has_classes(const struct pattern *pattern)
{
    return pattern->period && pattern->s1 == 1 && pattern->r1 == 1;
}

/* Counts the points of [from, from + length) modulo m that lie in [0, to), lengths at most m. */
static int64_t meeting(int64_t from, int64_t length, int64_t to, int64_t m)
{
    int64_t end = from + length, count = 0;
    if (from < to)
        count += (end < to ? end : to) - from;
    if (end > m)
        count += end - m < to ? end - m : to;
    return count;
}

/* Returns the elements, in units, that a pair of class k exchanges in a period (proposition 5, with the
 * sum over z written as the intersection of two intervals on the circle of g points). The pairs 0 <= x <
 * r, 0 <= y < s with y - x = k modulo g: x and y go round the circle a whole number of times, and then a
 * remainder. */
static int64_t pattern_class_length(const struct pattern *pattern, int64_t k)
{
    int64_t g = pattern->g, rounds_x = pattern->r / g, rest_x = pattern->r % g, rounds_y = pattern->s / g,
            rest_y = pattern->s % g;
    return rounds_x * rounds_y * g + rounds_x * rest_y + rounds_y * rest_x + meeting(k, rest_x, rest_y, g);
}

/* Counts the z = k modulo g with -r < z < s; the first is *first, the distance g. */
static int64_t pattern_offsets(const struct pattern *pattern, int64_t k, int64_t *first)
{
    int64_t least = 1 - pattern->r, z = least + residue(k - least, pattern->g);
    *first = z;
    return z >= pattern->s ? 0 : (pattern->s - 1 - z) / pattern->g + 1;
}

/* Returns the class of sender position p and receiver position q. */
static int64_t pattern_class(const struct pattern *pattern, int64_t p, int64_t q)
{
    int64_t g = pattern->g;
    return residue(multiply_modulo(p, pattern->r, g) - multiply_modulo(q, pattern->s, g), g);
}

/* Computes where in the period (in units) the run with offset z of positions p and q begins (equation
 * E.3). Its length in units is min(r, s - z) - max(0, -z). *start is INT64_MAX when it is beyond n. i = (P
 * l + p) r + x = (Q m + q) s + y with z = y - x gives P r l = q s - p r + z modulo Q s; all is divisible
 * by g, which leaves l modulo Q s / g. */
static int64_t pattern_run(const struct pattern *pattern, int64_t p, int64_t q, int64_t z, int64_t *start)
{
    int64_t r = pattern->r, s = pattern->s, skipped = z < 0 ? -z : 0, end = s - z < r ? s - z : r;
    int64_t modulus = pattern->q * s / pattern->g, step = pattern->p * r / pattern->g % modulus;
    int64_t offset = residue((q * s - p * r + z) / pattern->g, modulus);
    wide found = multiply_modulo(offset, inverse_modulo(step, modulus), modulus);
    found = (found * pattern->p + p) * r + skipped;
    *start = found * pattern->unit < pattern->n ? (int64_t)found : INT64_MAX;
    return end - skipped;
}

/* Returns how many orders are worth trying for that many edges. */
static uint32_t attempts_for(size_t edges)
{
    const size_t insertions = 50000;
    size_t attempts = insertions / (edges + 1);
    return attempts > 40 ? 40 : attempts < 2 ? 2 : (uint32_t)attempts;
}

static void line_free(struct line *line)
{
    free(line->messages);
    line->messages = NULL;
}

static enum esp_status allocate(struct line *line, int64_t messages, struct esp_error *error)
{
    if (messages > REDISTRIBUTION_MOST_MESSAGES)
        return error_set(error, ESP_LIMIT,
                         "expected a redistribution of at most %d messages, found %" PRId64
                         ": take fewer ranks or blocks that divide each other",
                         REDISTRIBUTION_MOST_MESSAGES, messages);
    line->messages = malloc(((size_t)messages + 1) * sizeof *line->messages);
    return line->messages ? ESP_OK : error_no_memory(error, "the messages of a redistribution");
}

/* ---- block by block: less than a period, and the remainder after whole periods ---- */

static int compare_pair(const void *a, const void *b)
{
    const struct line_message *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

/* Counts the elements that pairs exchange: in a table if all pairs fit, else in a list that is merged
 * later. */
struct tally {
    const struct block_cyclic *from, *to;
    int64_t *table;
    struct line *line;
};

static void tally_add(struct tally *tally, int64_t source, int64_t target, int64_t elements)
{
    if (elements == 0)
        return;
    if (tally->table)
        tally->table[source * tally->to->ranks + target] += elements;
    else
        tally->line->messages[tally->line->n++] =
            (struct line_message){(int32_t)source, (int32_t)target, 0, elements};
}

/* Counts the elements of [0, end) on a rank. */
static int64_t count_below(const struct block_cyclic *layout, int64_t rank, int64_t end)
{
    struct block_cyclic head = *layout;
    head.n = end;
    return block_cyclic_count(&head, rank);
}

static void tally_pair(struct tally *tally, bool coarse_sends, int64_t coarse, int64_t fine, int64_t elements)
{
    tally_add(tally, coarse_sends ? coarse : fine, coarse_sends ? fine : coarse, elements);
}

/* Distributes one block of the layout with larger blocks among the ranks of the other layout: by its
 * blocks, or by its ranks if these are fewer. */
static void tally_block(struct tally *tally, bool coarse_sends, int64_t begin, int64_t end)
{
    const struct block_cyclic *fine = coarse_sends ? tally->to : tally->from;
    int64_t owner = block_cyclic_owner(coarse_sends ? tally->from : tally->to, begin);
    if ((end - begin) / fine->block < fine->ranks) {
        for (int64_t i = begin, next; i < end; i = next) {
            next = i + fine->block - i % fine->block;
            next = next < end ? next : end;
            tally_pair(tally, coarse_sends, owner, block_cyclic_owner(fine, i), next - i);
        }
        return;
    }
    for (int64_t rank = 0; rank < fine->ranks; rank++)
        tally_pair(tally, coarse_sends, owner, rank,
                   count_below(fine, rank, end) - count_below(fine, rank, begin));
}

static void merge_pairs(struct line *line)
{
    size_t kept = 0;
    if (line->n)
        qsort(line->messages, line->n, sizeof *line->messages, compare_pair);
    for (size_t i = 0; i < line->n; i++)
        if (kept && compare_pair(&line->messages[kept - 1], &line->messages[i]) == 0)
            line->messages[kept - 1].elements += line->messages[i].elements;
        else
            line->messages[kept++] = line->messages[i];
    line->n = kept;
}

static void read_table(struct tally *tally)
{
    int64_t *table = tally->table;
    tally->table = NULL;
    for (int64_t source = 0; source < tally->from->ranks; source++)
        for (int64_t target = 0; target < tally->to->ranks; target++)
            tally_add(tally, source, target, table[source * tally->to->ranks + target]);
    free(table);
}

/* Computes the messages of a line, sorted by sender and receiver, block by block. */
static enum esp_status count_blocks(const struct block_cyclic *from, const struct block_cyclic *to,
                                    struct line *line, struct esp_error *error)
{
    const int64_t most_work = (int64_t)1 << 28;
    bool coarse_sends = from->block >= to->block;
    const struct block_cyclic *coarse = coarse_sends ? from : to, *fine = coarse_sends ? to : from;
    int64_t blocks = from->n / coarse->block + 1, parts = coarse->block / fine->block + 2;
    parts = parts < fine->ranks ? parts : fine->ranks + 1;
    int64_t pairs = from->ranks * to->ranks, work = blocks > most_work / parts ? INT64_MAX : blocks * parts;
    bool in_table = pairs <= REDISTRIBUTION_MOST_MESSAGES && pairs < work;
    if (in_table && work > most_work)
        return error_set(error, ESP_LIMIT,
                         "expected a redistribution whose blocks meet at most 2^28 times, found %" PRId64
                         " elements in blocks of %" PRId64 " and %" PRId64 ": take larger blocks",
                         from->n, from->block, to->block);
    struct tally tally = {from, to, in_table ? calloc((size_t)pairs, sizeof *tally.table) : NULL, line};
    if (in_table && !tally.table)
        return error_no_memory(error, "the messages of a redistribution");
    enum esp_status status = allocate(line, in_table ? pairs : work, error);
    if (status != ESP_OK) {
        free(tally.table);
        return status;
    }
    for (int64_t i = 0, next; i < from->n; i = next) {
        next = from->n - i > coarse->block ? i + coarse->block : from->n;
        tally_block(&tally, coarse_sends, i, next);
    }
    if (in_table)
        read_table(&tally);
    else
        merge_pairs(line);
    return ESP_OK;
}

/* ---- at least one period: by classes, and rotated ---- */

/* An edge of the small graph: sender i (< s') and receiver orbit j (< r'), with the rotation that brings
 * the orbit's first to the receiver, for one class. */
struct small_edge {
    int64_t i, receiver; /* the receiver modulo r' g0 */
    int64_t length;
};

/* Counts the classes that occur in a period: a class does not when r + s - 1 < g and it lies outside ]-r,
 * s[. */
static int64_t n_classes(const struct pattern *pattern)
{
    int64_t used = pattern->r + pattern->s - 1;
    return used < pattern->g ? used : pattern->g;
}

/* Finds the receivers of class k for sender i: they solve q s = i r - k modulo g, so s' must divide i r -
 * k. */
static void small_edges(const struct pattern *pattern, struct small_edge *edges)
{
    int64_t g = pattern->g, receivers = g / pattern->s1, n = n_classes(pattern), at = 0;
    int64_t turn = inverse_modulo(pattern->s / pattern->s1, receivers);
    for (int64_t i = 0; i < pattern->s1; i++) {
        int64_t ir = multiply_modulo(i, pattern->r, g);
        /* n classes from 1 - r on; the first for which s' divides the difference to i r */
        int64_t least = 1 - pattern->r, z = least + residue(ir - least, pattern->s1);
        for (; z < least + n; z += pattern->s1) {
            int64_t k = residue(z, g), quotient = residue(ir - k, g) / pattern->s1;
            edges[at++] = (struct small_edge){i, multiply_modulo(quotient, turn, receivers),
                                              pattern_class_length(pattern, k) * pattern->unit};
        }
    }
}

/* The complete graph K(a, b) between the copies of a sender and of a receiver splits into max(a, b)
 * matchings. */
static int32_t copy_step(const struct pattern *pattern, int64_t y, int64_t z)
{
    int64_t most = pattern->a > pattern->b ? pattern->a : pattern->b;
    return (int32_t)residue(y - z, most);
}

static int32_t most_copies(const struct pattern *pattern)
{
    return (int32_t)(pattern->a > pattern->b ? pattern->a : pattern->b);
}

/* Colours the small graph, whose edges are the small edges times the copies, [edge][y][z]. */
static enum esp_status colour_small(const struct pattern *pattern, const struct line_options *options,
                                    const struct small_edge *small, struct colour_edge *edges, size_t n,
                                    int32_t *steps, struct esp_error *error)
{
    struct colour_graph graph = {edges, n, (int32_t)(pattern->s1 * pattern->a),
                                 (int32_t)(pattern->r1 * pattern->b)};
    size_t at = 0;
    for (int64_t e = 0; e < n_classes(pattern); e++)
        for (int64_t y = 0; y < pattern->a; y++)
            for (int64_t z = 0; z < pattern->b; z++)
                edges[at++] = (struct colour_edge){
                    .left = (int32_t)(small[e].i * pattern->a + y),
                    .right = (int32_t)(small[e].receiver % pattern->r1 * pattern->b + z),
                    .colour = (int32_t)e * most_copies(pattern) + copy_step(pattern, y, z),
                    .weight = small[e].length};
    *steps = (int32_t)n_classes(pattern) * most_copies(pattern);
    if (options->schedule == REDISTRIBUTION_CLASSES)
        return ESP_OK;
    struct colour_options how = {.fewest = options->schedule == REDISTRIBUTION_STEPWISE,
                                 .extra = options->extra,
                                 .attempts = attempts_for(n)};
    struct colour_result result;
    enum esp_status status = edge_colouring(&graph, &how, &result, error);
    *steps = result.colours;
    return status;
}

/* Returns the elements that a pair sends after the whole periods. */
static int64_t tail_elements(const struct line *tail, const struct line_message *pair)
{
    const struct line_message *found =
        tail->n ? bsearch(pair, tail->messages, tail->n, sizeof *pair, compare_pair) : NULL;
    return found ? found->elements : 0;
}

/* Generates all messages of a small edge between two copies by rotating it g0 times. */
static void turn(const struct pattern *pattern, const struct block_cyclic *from,
                 const struct block_cyclic *to, const struct small_edge *small,
                 const struct colour_edge *edge, const struct line *tail, struct line *line)
{
    int64_t senders = pattern->s1 * pattern->g0, receivers = pattern->r1 * pattern->g0;
    int64_t y = edge->left % pattern->a, z = edge->right % pattern->b;
    int64_t p = small->i, q = small->receiver, by_p = pattern->s % senders, by_q = pattern->r % receivers;
    for (int64_t x = 0; x < pattern->g0; x++) {
        struct line_message *message = &line->messages[line->n++];
        *message = (struct line_message){(int32_t)block_cyclic_rank_at(from, p + senders * y),
                                         (int32_t)block_cyclic_rank_at(to, q + receivers * z), edge->colour,
                                         pattern->n / pattern->period * edge->weight};
        message->elements += tail_elements(tail, message);
        p = (p + by_p) % senders;
        q = (q + by_q) % receivers;
    }
}

static enum esp_status open_periodic(const struct block_cyclic *from, const struct block_cyclic *to,
                                     const struct pattern *pattern, const struct line_options *options,
                                     struct line *line, struct esp_error *error)
{
    int64_t classes = n_classes(pattern), copies = pattern->a * pattern->b;
    struct small_edge *small = malloc(((size_t)classes + 1) * sizeof *small);
    struct colour_edge *edges = NULL;
    struct line tail = {0};
    struct block_cyclic tail_from = *from, tail_to = *to;
    tail_from.n = tail_to.n = pattern->period_tail;
    /* classes <= g = r' s' g0, so that the product is at most P Q <= 2^40 */
    enum esp_status status = allocate(line, classes * copies * pattern->g0, error);
    if (status == ESP_OK && pattern->period_tail)
        status = count_blocks(&tail_from, &tail_to, &tail, error);
    if (status == ESP_OK)
        edges = malloc((size_t)(classes * copies + 1) * sizeof *edges);
    if (status == ESP_OK && (!edges || !small))
        status = error_no_memory(error, "the classes of a redistribution");
    if (status == ESP_OK) {
        small_edges(pattern, small);
        status =
            colour_small(pattern, options, small, edges, (size_t)(classes * copies), &line->steps, error);
    }
    for (int64_t e = 0; status == ESP_OK && e < classes * copies; e++)
        turn(pattern, from, to, &small[e / copies], &edges[e], &tail, line);
    line_free(&tail);
    free(small);
    free(edges);
    return status;
}

/* ---- less than a period ---- */

static enum esp_status colour_line(const struct block_cyclic *from, const struct block_cyclic *to,
                                   const struct line_options *options, struct line *line,
                                   struct esp_error *error)
{
    struct colour_edge *edges = malloc((line->n + 1) * sizeof *edges);
    struct colour_graph graph = {edges, line->n, (int32_t)from->ranks, (int32_t)to->ranks};
    struct colour_options how = {.fewest = options->schedule != REDISTRIBUTION_GREEDY,
                                 .extra = options->extra,
                                 .attempts = attempts_for(line->n)};
    struct colour_result result;
    if (!edges)
        return error_no_memory(error, "the messages of a redistribution");
    for (size_t i = 0; i < line->n; i++)
        edges[i] = (struct colour_edge){.left = line->messages[i].source,
                                        .right = line->messages[i].target,
                                        .weight = line->messages[i].elements};
    enum esp_status status = edge_colouring(&graph, &how, &result, error);
    for (size_t i = 0; status == ESP_OK && i < line->n; i++)
        line->messages[i].step = edges[i].colour;
    line->steps = result.colours;
    free(edges);
    return status;
}

static enum esp_status open_short(const struct block_cyclic *from, const struct block_cyclic *to,
                                  const struct line_options *options, struct line *line,
                                  struct esp_error *error)
{
    enum esp_status status = count_blocks(from, to, line, error);
    if (status != ESP_OK)
        return status;
    return colour_line(from, to, options, line, error);
}

/* Computes the messages of a line with their steps; line_free() in any case. ESP_LIMIT, ESP_NO_MEMORY. */
static enum esp_status line_open(const struct block_cyclic *from, const struct block_cyclic *to,
                                 const struct line_options *options, struct line *line,
                                 struct esp_error *error)
{
    struct pattern pattern;
    pattern_open(from, to, &pattern);
    *line = (struct line){.by_classes = pattern_has_classes(&pattern)};
    return pattern.period ? open_periodic(from, to, &pattern, options, line, error)
                          : open_short(from, to, options, line, error);
}

/* A plan: its messages, and its steps in order. */

void redistribution_plan_destroy(struct redistribution_plan *plan)
{
    if (!plan)
        return;
    free(plan->messages);
    free(plan->first);
    free(plan->step_cost);
    free(plan);
}

static bool is_kept(const struct redistribution *what, int64_t source, int64_t target)
{
    return what->from_ids && what->from_ids[source] == what->to_ids[target];
}

/* Computes the product of the lines: each message of one with each of the other. ESP_LIMIT, ESP_NO_MEMORY. */
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

/* Numbers the steps from most to least costly and drops empty ones (the caterpillar keeps its own). */
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

/* Sorts messages by step (a counting sort), those within a process first. */
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

/* Builds a graph with the sent messages as edges between ranks. */
static enum esp_status plan_graph(const struct search *search, const struct redistribution_plan *plan,
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

/* The bounds depend on the messages only, not on the schedule. */
static enum esp_status find_bounds(struct search *search, const struct redistribution_plan *plan,
                                   struct esp_error *error)
{
    struct colour_graph graph;
    if (search->has_bounds)
        return ESP_OK;
    enum esp_status status = plan_graph(search, plan, &graph, error);
    if (status == ESP_OK)
        status = edge_colouring_bounds(&graph, &search->bounds, error);
    search->has_bounds = status == ESP_OK;
    free(graph.edges);
    return status;
}

/* Orders the plan's steps and fills the summary. Takes over the plan, also when it fails. */
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

/* Checks the input of a redistribution. */

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

/* ESP_INVALID, ESP_LIMIT: it cannot be computed. */
static enum esp_status redistribution_check(const struct redistribution *what,
                                            enum redistribution_schedule schedule, struct esp_error *error)
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

/* Whether a schedule by classes is possible in both dimensions. */
static bool redistribution_has_classes(const struct redistribution *what)
{
    return check_classes(&what->from.rows, &what->to.rows, "", NULL) == ESP_OK &&
           check_classes(&what->from.cols, &what->to.cols, "", NULL) == ESP_OK;
}

enum {
    SMALL_PLAN =
        1 << 15 /* most messages of a plan whose steps are also computed without the tensor product */
};

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

/* Schedules all messages together: finds plans that the product of two lines cannot represent, and
 * considers data that stay within a process. */
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

/* Returns the cost of one more step of a dimension in its elements: each is as many steps of the plan as
 * the other dimension has. */
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

/* `fewest`: lines computed before, which determine the cost of a step; NULL: a step costs nothing. */
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

/* Tries each dimension with few steps and with low cost, and all messages together. */
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

/* ---- all runs of a pair ---- */

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

struct runs {
    struct redistribution_run *list;
    size_t n, room;
};

static bool add(struct runs *runs, int64_t first, int64_t length)
{
    if (runs->n == runs->room) {
        size_t room = runs->room ? 2 * runs->room : 16;
        struct redistribution_run *list = realloc(runs->list, room * sizeof *list);
        if (!list)
            return false;
        runs->list = list;
        runs->room = room;
    }
    runs->list[runs->n++] = (struct redistribution_run){.first = first, .length = length};
    return true;
}

static int compare_first(const void *a, const void *b)
{
    const struct redistribution_run *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Adds the runs of the first period by their offsets z, and repeats them in each later period. */
static bool add_by_offsets(struct runs *runs, const struct pattern *pattern, int64_t p, int64_t q)
{
    int64_t z, left = pattern_offsets(pattern, pattern_class(pattern, p, q), &z), n = pattern->n;
    for (; left > 0; left--, z += pattern->g) {
        int64_t start, length = pattern_run(pattern, p, q, z, &start) * pattern->unit;
        if (start == INT64_MAX)
            continue;
        for (int64_t at = start * pattern->unit; at < n; at += pattern->period) {
            if (!add(runs, at, length < n - at ? length : n - at))
                return false;
            if (!pattern->period || pattern->period > n - at)
                break;
        }
    }
    return true;
}

/* Adds the sender's blocks one by one, when there are fewer of them than offsets. */
static bool add_by_blocks(struct runs *runs, const struct block_cyclic *from, const struct block_cyclic *to,
                          int64_t source, int64_t target)
{
    int64_t count = block_cyclic_count(from, source);
    for (int64_t local = 0; local < count;) {
        int64_t first = block_cyclic_global(from, source, local);
        int64_t in_from = from->block - first % from->block, in_to = to->block - first % to->block;
        int64_t length = in_from < in_to ? in_from : in_to;
        length = length < from->n - first ? length : from->n - first;
        if (block_cyclic_owner(to, first) == target && !add(runs, first, length))
            return false;
        local += length;
    }
    return true;
}

enum esp_status redistribution_runs(const struct block_cyclic *from, const struct block_cyclic *to,
                                    int64_t source, int64_t target, struct redistribution_run **runs,
                                    size_t *n, struct esp_error *error)
{
    struct runs found = {0};
    struct pattern pattern;
    pattern_open(from, to, &pattern);
    int64_t p = block_cyclic_position(from, source), q = block_cyclic_position(to, target);
    int64_t blocks =
        block_cyclic_count(from, source) / from->block + block_cyclic_count(from, source) / to->block;
    bool done = blocks < (pattern.r + pattern.s) / pattern.g && !pattern.period
                    ? add_by_blocks(&found, from, to, source, target)
                    : add_by_offsets(&found, &pattern, p, q);
    if (!done) {
        free(found.list);
        return error_no_memory(error, "the runs of a message");
    }
    if (found.n)
        qsort(found.list, found.n, sizeof *found.list, compare_first);
    for (size_t i = 0; i < found.n; i++) {
        found.list[i].from = block_cyclic_local(from, found.list[i].first);
        found.list[i].to = block_cyclic_local(to, found.list[i].first);
    }
    *runs = found.list;
    *n = found.n;
    return ESP_OK;
}
