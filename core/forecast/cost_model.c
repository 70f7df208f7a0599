/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/cost_model.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double cost_ranks_bound(const struct cost_set *set);

/* Relative error added for each doubling of a size beyond the measured ones. */
#define ERROR_PER_DOUBLING 0.10

/* Relative error when only other options were measured: as large as that of a forecast by work over speed. */
#define ERROR_OTHER_OPTIONS 0.25

/* A fit with coefficients of both signs may have a dip: a forecast is at least this fraction of the least
 * measured time. */
#define LEAST_PART 0.25

/* Dense algebra grows with the cube of its sizes. Faster growth comes from exceeding a cache, which
 * happens once, so beyond the measured sizes such a term is not extrapolated alone. */
#define MOST_GROWTH 8

/* Least share of a term in the value to count as leading beyond the measured sizes. */
#define LEAST_SHARE 0.02

static bool scalar_of(const struct cost_call *call, int32_t argument, double *value)
{
    for (uint32_t i = 0; i < call->n_scalars; i++)
        if (call->scalars[i].index == (uint32_t)argument) {
            *value = call->scalars[i].is_real ? call->scalars[i].real : (double)call->scalars[i].integer;
            return true;
        }
    return false;
}

/* Gets the model's variables from the call. False when the call lacks one of them. */
static bool cost_values(const struct cost_model *model, const struct cost_call *call, double *x)
{
    for (uint32_t i = 0; i < model->n_variables; i++) {
        int32_t argument = model->variables[i].argument;
        if (argument == COST_WORK)
            x[i] = call->work_flop;
        else if (argument == COST_BYTES)
            x[i] = call->bytes;
        else if (argument == COST_LESSER && i >= 2)
            x[i] = fmin(x[0], x[1]);
        else if (!scalar_of(call, argument, &x[i]))
            return false;
        if (!(x[i] > 0)) /* NaN too */
            x[i] = 0;
    }
    return true;
}

static double term_value(const struct cost_term *term, uint32_t n_variables, const double *x)
{
    double value = term->coefficient;
    for (uint32_t i = 0; i < n_variables; i++)
        for (uint8_t p = 0; p < term->powers[i]; p++)
            value *= x[i];
    return value;
}

static bool has_second(const struct cost_model *model)
{
    return model->n_variables >= 2 && model->variables[1].argument >= 0;
}

double cost_shape(const struct cost_model *model, const double *x)
{
    return has_second(model) && x[1] > 0 ? x[0] / x[1] : 1;
}

/* The values that select a piece of a curve. */
struct aspect {
    double lesser, shape, bytes;
};

/* Range and shape are those of the call even if one of its sides is beyond what was measured. */
static struct aspect aspect_of(const struct cost_model *model, const double *x, const double *inside)
{
    return (struct aspect){.lesser = has_second(model) ? fmin(x[0], x[1]) : x[0],
                           .shape = cost_shape(model, x),
                           .bytes = inside[model->n_variables - 1]};
}

static bool is_within(const struct cost_piece *piece, const struct aspect *aspect)
{
    return (piece->lesser == 0 || aspect->lesser < piece->lesser) &&
           (piece->shape == 0 || aspect->shape < piece->shape) && aspect->bytes <= piece->until;
}

static const struct cost_piece *piece_of(const struct cost_curve *curve, const struct aspect *aspect)
{
    uint32_t i = 0;
    while (i + 1 < curve->n_pieces && !is_within(&curve->pieces[i], aspect))
        i++;
    return &curve->pieces[i];
}

bool cost_piece_follows(const struct cost_piece *before, const struct cost_piece *piece)
{
    if (isfinite(before->until))
        return piece->lesser == before->lesser && piece->shape == before->shape &&
               piece->until > before->until;
    if (before->shape > 0)
        return piece->lesser == before->lesser && (piece->shape == 0 || piece->shape > before->shape);
    return before->lesser > 0 && (piece->lesser == 0 || piece->lesser > before->lesser);
}

bool cost_piece_is_last(const struct cost_piece *piece)
{
    return piece->lesser == 0 && piece->shape == 0 && !isfinite(piece->until);
}

static bool curve_has_shapes(const struct cost_curve *curve)
{
    for (uint32_t i = 0; i < curve->n_pieces; i++)
        if (curve->pieces[i].shape > 0)
            return true;
    return false;
}

static bool curve_has_ranges(const struct cost_curve *curve)
{
    return curve->n_pieces > 0 &&
           curve->pieces[0].lesser > 0; /* the first piece belongs to the first range */
}

bool cost_has_shapes(const struct cost_model *model)
{
    return curve_has_shapes(&model->time) || curve_has_shapes(&model->memory);
}

uint8_t cost_version(const struct cost_model *model)
{
    if (curve_has_ranges(&model->time) || curve_has_ranges(&model->memory))
        return 3;
    return cost_has_shapes(model) ? 2 : 1;
}

static double plain_value(const struct cost_model *model, const struct cost_piece *piece, const double *x)
{
    double sum = 0;
    for (uint32_t i = 0; i < piece->n_terms; i++)
        sum += term_value(&piece->terms[i], model->n_variables, x);
    return sum;
}

/* Returns the factor by which a term grows when all sizes are doubled; work and bytes grow as their names
 * say. */
static double growth_of(const struct cost_model *model, const struct cost_term *term)
{
    double growth = 1;
    for (uint32_t i = 0; i < model->n_variables; i++) {
        const int32_t argument = model->variables[i].argument;
        for (uint8_t p = 0; p < term->powers[i]; p++)
            growth *= argument == COST_WORK ? 8 : argument == COST_BYTES ? 4 : 2;
    }
    return growth;
}

/* Returns the ratio of the leading terms at x to those at the nearest measured sizes. The leading terms
 * are all that grow the fastest: if work and the cube of the lesser side share the time, either may be
 * beyond. Terms with a small share are noise, and negative ones would give meaningless ratios. */
static double leading_ratio(const struct cost_model *model, const struct cost_piece *piece,
                            const double *inside, const double *x)
{
    const double least = LEAST_SHARE * plain_value(model, piece, inside);
    double fastest = 0, from = 0, to = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < piece->n_terms; i++) {
            const struct cost_term *term = &piece->terms[i];
            const double here = term_value(term, model->n_variables, inside), growth = growth_of(model, term);
            if (!(here > 0) || here < least)
                continue;
            if (pass == 0) {
                fastest = fmin(fmax(fastest, growth), MOST_GROWTH);
            } else if (growth >= fastest) {
                from += here;
                to += term_value(term, model->n_variables, x);
            }
        }
    return from > 0 && to > from ? to / from : 1;
}

static double bounded(double value, double most)
{
    if (!(value > 0))
        return 0;
    return value < most ? value : most;
}

double cost_curve_value(const struct cost_model *model, const struct cost_curve *curve, const double *x,
                        bool *extrapolated)
{
    double inside[COST_MOST_VARIABLES];
    bool above = false, outside = false;
    if (extrapolated)
        *extrapolated = false;
    if (curve->n_pieces == 0 || model->n_variables == 0)
        return 0;
    for (uint32_t i = 0; i < model->n_variables; i++) {
        const struct cost_variable *variable = &model->variables[i];
        inside[i] = x[i] > variable->most ? variable->most : x[i];
        above |= x[i] > variable->most * 1.0001;
        outside |= above || x[i] < variable->least * 0.9999;
    }
    if (extrapolated)
        *extrapolated = outside;
    const struct aspect aspect = aspect_of(model, x, inside);
    const struct cost_piece *piece = piece_of(curve, &aspect);
    double least = curve->least * LEAST_PART, value = plain_value(model, piece, inside);
    if (value < least && !outside)
        value = least;
    if (above)
        value *= leading_ratio(model, piece, inside, x);
    return bounded(value, 1e300);
}

/* Returns by how many doublings the call exceeds what was measured, in the variable where that is most. */
static double doublings_beyond(const struct cost_model *model, const double *x)
{
    double most = 0;
    for (uint32_t i = 0; i < model->n_variables; i++) {
        const struct cost_variable *variable = &model->variables[i];
        if (variable->argument < 0 && variable->argument != COST_LESSER)
            continue; /* follows from the sizes */
        if (x[i] > variable->most && variable->most > 0)
            most = fmax(most, log2(x[i] / variable->most));
        else if (x[i] < variable->least)
            most = fmax(most, log2(variable->least / fmax(x[i], 1)));
    }
    return most;
}

bool cost_evaluate(const struct cost_model *model, const struct cost_call *call,
                   struct cost_forecast *forecast)
{
    double x[COST_MOST_VARIABLES];
    bool extrapolated;
    if (model->time.n_pieces == 0 || !cost_values(model, call, x))
        return false;
    double seconds = cost_curve_value(model, &model->time, x, &extrapolated);
    double floor_s = call->work_flop > 0 ? model->floor_s_per_flop * call->work_flop : 0;
    seconds = bounded(fmax(seconds, floor_s) * model->factor, COST_MOST_S);
    double error = model->time.error;
    if (extrapolated)
        error += ERROR_PER_DOUBLING * doublings_beyond(model, x);
    *forecast = (struct cost_forecast){
        .seconds = seconds,
        .error_s = fmin(error * seconds, COST_MOST_S),
        .memory_bytes = bounded(cost_curve_value(model, &model->memory, x, NULL), 1e18),
        .ground = extrapolated ? COST_EXTRAPOLATED : COST_MEASURED,
    };
    return true;
}

/* ---- sets ---- */

void cost_set_clear(struct cost_set *set)
{
    arena_clear(&set->arena);
    free(set->models);
    *set = (struct cost_set){.fastest_s_per_flop = HUGE_VAL};
}

static bool copy_curve(struct arena *arena, const struct cost_curve *from, struct cost_curve *to)
{
    *to = *from;
    if (from->n_pieces == 0)
        return true;
    to->pieces = arena_memdup(arena, from->pieces, from->n_pieces * sizeof *from->pieces);
    for (uint32_t i = 0; to->pieces && i < from->n_pieces; i++) {
        struct cost_piece *piece = &to->pieces[i];
        if (piece->n_terms &&
            !(piece->terms = arena_memdup(arena, piece->terms, piece->n_terms * sizeof *piece->terms)))
            return false;
    }
    return to->pieces != NULL;
}

static bool same_choices(const struct cost_model *a, const struct cost_model *b)
{
    if (a->digest != b->digest || strcmp(a->problem, b->problem) != 0 || a->n_options != b->n_options ||
        a->n_choices != b->n_choices)
        return false;
    for (uint32_t i = 0; i < a->n_options; i++)
        if (a->options[i].argument != b->options[i].argument)
            return false;
    size_t bytes = (size_t)a->n_options * a->n_choices * sizeof *a->choices;
    return bytes == 0 || memcmp(a->choices, b->choices, bytes) == 0;
}

/* Finds the position of a new model: after those with the same digest. */
static struct cost_model *make_room(struct cost_set *set, const struct cost_model *model)
{
    uint32_t at = 0;
    while (at < set->n && set->models[at].digest <= model->digest) {
        if (same_choices(&set->models[at], model))
            return &set->models[at];
        at++;
    }
    if (set->n == set->capacity) {
        uint32_t capacity = set->capacity ? 2 * set->capacity : 4;
        struct cost_model *models = realloc(set->models, capacity * sizeof *models);
        if (!models)
            return NULL;
        set->models = models;
        set->capacity = capacity;
    }
    memmove(set->models + at + 1, set->models + at, (set->n - at) * sizeof *set->models);
    set->n++;
    return &set->models[at];
}

void cost_set_bound(struct cost_set *set)
{
    set->fastest_s_per_flop = cost_ranks_bound(set);
    for (uint32_t i = 0; i < set->n; i++) {
        double floor = set->models[i].floor_s_per_flop * set->models[i].factor;
        if (floor > 0) /* otherwise its problem declares no work, and 0 is the bound */
            set->fastest_s_per_flop = fmin(set->fastest_s_per_flop, floor);
    }
}

enum esp_status cost_set_add(struct cost_set *set, const struct cost_model *model, bool whole,
                             struct esp_error *error)
{
    struct cost_model copy = *model;
    size_t choices = (size_t)model->n_options * model->n_choices * sizeof *model->choices;
    if (!whole) {
        copy.measurements = NULL;
        copy.n_measurements = 0;
    }
    if (!copy_curve(&set->arena, &model->time, &copy.time) ||
        !copy_curve(&set->arena, &model->memory, &copy.memory) ||
        (choices && !(copy.choices = arena_memdup(&set->arena, model->choices, choices))) ||
        (copy.n_measurements &&
         !(copy.measurements = arena_memdup(&set->arena, model->measurements,
                                            model->n_measurements * sizeof *model->measurements))))
        return error_no_memory(error, "a cost model");
    struct cost_model *place = make_room(set, &copy);
    if (!place)
        return error_no_memory(error, "a cost model");
    *place = copy;
    cost_set_bound(set);
    return ESP_OK;
}

static bool holds_for(const struct cost_model *model, const struct cost_call *call)
{
    double values[COST_MOST_OPTIONS];
    if (model->n_options == 0)
        return true;
    for (uint32_t i = 0; i < model->n_options; i++) {
        if (!scalar_of(call, model->options[i].argument, &values[i]))
            return false;
        if (values[i] >= 'a' && values[i] <= 'z') /* flags are letters in either case */
            values[i] -= 'a' - 'A';
    }
    for (uint32_t c = 0; c < model->n_choices; c++) {
        uint32_t i = 0;
        while (i < model->n_options && values[i] == model->choices[c * model->n_options + i])
            i++;
        if (i == model->n_options)
            return true;
    }
    return false;
}

struct cost_model *cost_set_find(const struct cost_set *set, uint64_t digest, const struct cost_call *call,
                                 bool *other)
{
    uint32_t low = 0, high = set->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->models[middle].digest < digest)
            low = middle + 1;
        else
            high = middle;
    }
    *other = false;
    for (uint32_t i = low; i < set->n && set->models[i].digest == digest; i++)
        if (holds_for(&set->models[i], call))
            return &set->models[i];
    *other = true;
    return low < set->n && set->models[low].digest == digest ? &set->models[low] : NULL;
}

bool cost_set_evaluate(const struct cost_set *set, uint64_t digest, const struct cost_call *call,
                       struct cost_forecast *forecast)
{
    bool other;
    const struct cost_model *model = set->n ? cost_set_find(set, digest, call, &other) : NULL;
    if (!model || !cost_evaluate(model, call, forecast))
        return false;
    if (other) {
        forecast->error_s += ERROR_OTHER_OPTIONS * forecast->seconds;
        forecast->ground = COST_OTHER_OPTIONS;
    }
    return true;
}

/* ---- correction ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cost_correct(struct cost_correction *correction, double seconds, double forecast_s)
{
    double values[COST_WINDOW + COST_CALIBRATION_VOTES];
    if (seconds >= COST_LEAST_S && seconds < COST_MOST_S && forecast_s > 0 && isfinite(forecast_s)) {
        double ratio = seconds / forecast_s;
        correction->ratios[correction->next] = fmin(fmax(ratio, 1 / COST_MOST_FACTOR), COST_MOST_FACTOR);
        correction->next = (correction->next + 1) % COST_WINDOW;
        if (correction->n < COST_WINDOW)
            correction->n++;
    }
    uint32_t n = correction->n;
    memcpy(values, correction->ratios, n * sizeof *values);
    for (uint32_t i = 0; i < COST_CALIBRATION_VOTES; i++)
        values[n++] = 1;
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static int by_digest(const void *a, const void *b)
{
    const struct cost_ranks *x = a, *y = b;
    return (x->digest > y->digest) - (x->digest < y->digest);
}

enum esp_status cost_set_ranks(struct cost_set *set, struct cost_ranks *ranks, uint32_t n,
                               struct esp_error *error)
{
    if (n > 1)
        qsort(ranks, n, sizeof *ranks, by_digest);
    if (n > set->n_ranks) {
        struct cost_ranks *copy = arena_alloc(&set->arena, n * sizeof *copy);
        if (!copy)
            return error_no_memory(error, "the forecasts for ranks");
        set->ranks = copy;
    }
    if (n)
        memcpy(set->ranks, ranks, n * sizeof *ranks);
    set->n_ranks = n;
    cost_set_bound(set);
    return ESP_OK;
}

static double interpolate(const struct cost_ranks *of, double work_flop)
{
    uint32_t i = 1;
    while (i < of->n && of->work_flop[i] < work_flop)
        i++;
    if (i == of->n)
        return (double)of->seconds[i - 1] * work_flop / (double)of->work_flop[i - 1];
    const double low = log((double)of->work_flop[i - 1]), high = log((double)of->work_flop[i]);
    const double at = (log(work_flop) - low) / (high - low), from = log((double)of->seconds[i - 1]);
    return exp(from + at * (log((double)of->seconds[i]) - from));
}

struct cost_ranks *cost_ranks_find(const struct cost_set *set, uint64_t digest)
{
    const struct cost_ranks key = {.digest = digest};
    return set->n_ranks ? bsearch(&key, set->ranks, set->n_ranks, sizeof key, by_digest) : NULL;
}

struct process_grid cost_ranks_grid(const struct cost_ranks *ranks, double work_flop)
{
    uint32_t i = 0; /* points are spaced evenly in logarithms */
    while (i + 1 < ranks->n &&
           (double)ranks->work_flop[i] * (double)ranks->work_flop[i + 1] < work_flop * work_flop)
        i++;
    return ranks->n > 0 ? ranks->grids[i] : (struct process_grid){0};
}

double cost_ranks_s(const struct cost_set *set, uint64_t digest, double work_flop)
{
    const struct cost_ranks *of = cost_ranks_find(set, digest);
    if (!of || of->n == 0 || !(work_flop > 0))
        return HUGE_VAL;
    if (work_flop <= (double)of->work_flop[0])
        return (double)of->seconds[0]; /* for less work, the time is that of waking the ranks */
    return interpolate(of, work_flop);
}

/* Returns the least seconds that a flop takes; HUGE_VAL: not known. */
static double cost_ranks_bound(const struct cost_set *set)
{
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < set->n_ranks; i++)
        for (uint32_t k = 0; k < set->ranks[i].n; k++)
            least = fmin(least, (double)set->ranks[i].seconds[k] / (double)set->ranks[i].work_flop[k]);
    return least;
}

/* The process grids on which the ranks of a server compute, as the value of an extension: little-endian,
 * starting with a version; then for each problem its digest, whether only ranks compute it, the number of
 * points, and the grid of each. */

#define VERSION    1
#define HEAD_BYTES 10 /* digest, only, n */
#define GRID_BYTES 8  /* rows, cols, block */

static void put_grid(const struct process_grid *grid, uint8_t *to)
{
    const uint16_t rows = htole16((uint16_t)grid->rows), cols = htole16((uint16_t)grid->cols);
    const uint32_t block = htole32(grid->block);
    memcpy(to, &rows, sizeof rows);
    memcpy(to + 2, &cols, sizeof cols);
    memcpy(to + 4, &block, sizeof block);
}

static struct process_grid get_grid(const uint8_t *from)
{
    uint16_t rows, cols;
    uint32_t block;
    memcpy(&rows, from, sizeof rows);
    memcpy(&cols, from + 2, sizeof cols);
    memcpy(&block, from + 4, sizeof block);
    const struct process_grid grid = {le16toh(rows), le16toh(cols), le32toh(block)};
    return grid.rows > 0 && grid.cols > 0 && grid.block > 0 ? grid : (struct process_grid){0};
}

static size_t put_ranks(const struct cost_ranks *ranks, uint8_t *to)
{
    const uint64_t digest = htole64(ranks->digest);
    memcpy(to, &digest, sizeof digest);
    to[8] = ranks->only;
    to[9] = (uint8_t)ranks->n;
    for (uint32_t i = 0; i < ranks->n; i++)
        put_grid(&ranks->grids[i], to + HEAD_BYTES + i * GRID_BYTES);
    return HEAD_BYTES + ranks->n * GRID_BYTES;
}

uint8_t *cost_grids_encode(const struct cost_set *set, struct arena *arena, uint32_t *length)
{
    size_t bytes = 1;
    *length = 0;
    for (uint32_t i = 0; i < set->n_ranks; i++)
        bytes += HEAD_BYTES + set->ranks[i].n * GRID_BYTES;
    if (set->n_ranks == 0 || bytes > CAP_COST_BYTES)
        return NULL;
    uint8_t *data = arena_alloc(arena, bytes), *to = data;
    if (!data)
        return NULL;
    *to++ = VERSION;
    for (uint32_t i = 0; i < set->n_ranks; i++)
        to += put_ranks(&set->ranks[i], to);
    *length = (uint32_t)bytes;
    return data;
}

void cost_grids_decode(const uint8_t *data, uint32_t length, struct cost_set *set)
{
    const uint8_t *at = data + 1, *end = data + length;
    if (length == 0 || data[0] != VERSION)
        return;
    while (end - at >= HEAD_BYTES && end - at >= HEAD_BYTES + at[9] * GRID_BYTES) {
        uint64_t digest;
        memcpy(&digest, at, sizeof digest);
        struct cost_ranks *ranks = cost_ranks_find(set, le64toh(digest));
        const uint8_t *grids = at + HEAD_BYTES, n = at[9];
        if (ranks && ranks->n == n) {
            ranks->only = at[8] == 1;
            for (uint32_t i = 0; i < n; i++)
                ranks->grids[i] = get_grid(grids + i * GRID_BYTES);
        }
        at = grids + n * GRID_BYTES;
    }
}
