/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/redistribution/edge_colouring.h"
#include "core/redistribution/redistribution_line.h"

#include <inttypes.h>
#include <stdlib.h>

uint32_t attempts_for(size_t edges)
{
    const size_t insertions = 50000;
    size_t attempts = insertions / (edges + 1);
    return attempts > 40 ? 40 : attempts < 2 ? 2 : (uint32_t)attempts;
}

void line_free(struct line *line)
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

/* ---- block by block: less than a period, and the rest behind whole ones ---- */

static int compare_pair(const void *a, const void *b)
{
    const struct line_message *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

/* Collects what pairs exchange: in a table where all pairs fit one, else in a list that is merged later. */
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

/* Elements of [0, end) with a rank. */
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

/* One block of the layout with larger blocks, dealt out among the ranks of the other: by its blocks, or by
 * its ranks where they are fewer. */
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

/* The messages of a line, sorted by sender and receiver, block by block. */
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

/* ---- with at least one period: by classes, and turned ---- */

/* An edge of the small graph: sender i (< s') against receiver orbit j (< r') with the turn that brings the
 * orbit's first to the receiver, for one class. */
struct small_edge {
    int64_t i, receiver; /* the receiver modulo r' g0 */
    int64_t length;
};

/* A class takes part in a period unless r + s - 1 < g and it lies outside ]-r, s[. */
static int64_t n_classes(const struct pattern *pattern)
{
    int64_t used = pattern->r + pattern->s - 1;
    return used < pattern->g ? used : pattern->g;
}

/* The receivers of class k for sender i solve q s = i r - k modulo g, which s' must divide. */
static void small_edges(const struct pattern *pattern, struct small_edge *edges)
{
    int64_t g = pattern->g, receivers = g / pattern->s1, n = n_classes(pattern), at = 0;
    int64_t turn = inverse_modulo(pattern->s / pattern->s1, receivers);
    for (int64_t i = 0; i < pattern->s1; i++) {
        int64_t ir = multiply_modulo(i, pattern->r, g);
        /* n classes from 1 - r on; the first whose difference to i r s' divides */
        int64_t least = 1 - pattern->r, z = least + residue(ir - least, pattern->s1);
        for (; z < least + n; z += pattern->s1) {
            int64_t k = residue(z, g), quotient = residue(ir - k, g) / pattern->s1;
            edges[at++] = (struct small_edge){i, multiply_modulo(quotient, turn, receivers),
                                              pattern_class_length(pattern, k) * pattern->unit};
        }
    }
}

/* K(a, b) between the copies of a sender and of a receiver falls into max(a, b) matchings. */
static int32_t copy_step(const struct pattern *pattern, int64_t y, int64_t z)
{
    int64_t most = pattern->a > pattern->b ? pattern->a : pattern->b;
    return (int32_t)residue(y - z, most);
}

static int32_t most_copies(const struct pattern *pattern)
{
    return (int32_t)(pattern->a > pattern->b ? pattern->a : pattern->b);
}

/* Steps of the small graph, whose edges are the small edges times the copies, [edge][y][z]. */
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

/* What a pair sends behind the whole periods. */
static int64_t tail_elements(const struct line *tail, const struct line_message *pair)
{
    const struct line_message *found =
        tail->n ? bsearch(pair, tail->messages, tail->n, sizeof *pair, compare_pair) : NULL;
    return found ? found->elements : 0;
}

/* All messages of a small edge between two copies: it turned g0 times. */
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

enum esp_status line_open(const struct block_cyclic *from, const struct block_cyclic *to,
                          const struct line_options *options, struct line *line, struct esp_error *error)
{
    struct pattern pattern;
    pattern_open(from, to, &pattern);
    *line = (struct line){.by_classes = pattern_has_classes(&pattern)};
    return pattern.period ? open_periodic(from, to, &pattern, options, line, error)
                          : open_short(from, to, options, line, error);
}
