/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/cost_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values beyond the measured ones cost this much more error for each doubling of a size. */
#define ERROR_PER_DOUBLING 0.10
/* Other options than the measured ones: as far off as a forecast by work over speed. */
#define ERROR_OTHER_OPTIONS 0.25
/* A fit with coefficients of both signs may dip: no lower than this part of the least time measured. */
#define LEAST_PART 0.25
/* Dense algebra grows with the cube of its sizes. What grows faster tells of caches that give out, which they
 * do once: beyond the measured sizes it does not lead alone. */
#define MOST_GROWTH 8
/* Of a value, what a term must have of it to lead beyond the measured sizes. */
#define LEAST_SHARE 0.02

const char *cost_ground_name(enum cost_ground ground)
{
    static const char *const names[] = {"not measured", "measured", "extrapolated", "other options",
                                        "called"};
    return (size_t)ground < sizeof names / sizeof *names ? names[ground] : "unknown";
}

static bool scalar_of(const struct cost_call *call, int32_t argument, double *value)
{
    for (uint32_t i = 0; i < call->n_scalars; i++)
        if (call->scalars[i].index == (uint32_t)argument) {
            *value = call->scalars[i].is_real ? call->scalars[i].real : (double)call->scalars[i].integer;
            return true;
        }
    return false;
}

bool cost_values(const struct cost_model *model, const struct cost_call *call, double *x)
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

/* What tells by which piece a call is forecast. */
struct aspect {
    double lesser, shape, bytes;
};

/* Its range and its shape are the call's own also where one of its sides is beyond what was measured. */
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
    return curve->n_pieces > 0 && curve->pieces[0].lesser > 0; /* the first is of the first range */
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

/* How often a term grows when all sizes are doubled: work and bytes as their names say. */
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

/* By how much the leading terms are greater at x than at the nearest measured sizes. Leading are those that
 * grow the fastest, all of them: where work and the cube of the lesser side share a time, either may be the
 * one that is beyond. Terms of no weight yet are noise, and negative ones would lead to nonsense. */
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

/* How many doublings the call is beyond what was measured, in the variable where that is most. */
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

/* The place of the model in the order: behind those of its digest that are there. */
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
        if (floor > 0) /* else its problem declares no work, and is bounded by 0 in any case */
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
        if (values[i] >= 'a' && values[i] <= 'z') /* flags are letters of either case */
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
