/* SPDX-License-Identifier: Apache-2.0
 *
 * The measurements, in the order of their bytes, are cut at some of a few places; the best cuts are found by
 * dynamic programming over all runs between two places, each fitted with every family of powers. A family or
 * a piece more has to pay by a clearly smaller error on what was held out.
 */
#include "services/fast/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOLDS          3
#define MOST_ROWS      4096
#define PLACES         9 /* where the curve may be cut, the ends not counted */
#define LEAST_RUN      9 /* measurements of a piece, when there are several */
#define N_FAMILIES     7
#define PLAIN_FAMILIES 5    /* the others are for problems with COST_LESSER */
#define PAYS_FAMILY    0.93 /* a larger family must leave this part of the squared error, */
#define PAYS_SIGNS     0.60 /* coefficients of both signs this, */
#define PAYS_PIECE     0.80 /* and a piece more this */
#define MOST_ERROR     0.5  /* one wild measurement counts as so far off at most */
#define GRAIN          1e-4 /* nothing is told better than to this: it keeps rounding from choosing */
/* The memory of a routine is told to within the pages and pools around it. */
#define MEMORY_GRAIN (1 << 20)
/* A call from afar costs so much besides: what is small against it need not be told well, and its noise shall
 * not decide about powers and pieces for what takes long. */
#define TIME_GRAIN 100e-6

struct sample {
    const struct cost_measurement *m;
    double bytes, value, weight;
};

struct form { /* how a run is fitted */
    int family;
    bool any_sign;
    double squares; /* sum over its held-out measurements; HUGE_VAL: cannot be */
};

struct fitting {
    const struct cost_model *model;
    struct sample *samples;
    int n;
    uint8_t powers[N_FAMILIES][COST_MOST_TERMS][COST_MOST_VARIABLES];
    int n_terms[N_FAMILIES];
    int places[PLACES + 2], n_places; /* indexes of first samples; the last one is n */
    double *A, *b, *weights;
};

/* ---- families of terms ---- */

static int variable_of(const struct cost_model *model, int32_t argument)
{
    for (uint32_t i = 0; i < model->n_variables; i++)
        if (model->variables[i].argument == argument)
            return (int)i;
    return -1;
}

static void add_power(struct fitting *fitting, int family, int variable)
{
    if (variable >= 0 && fitting->n_terms[family] < COST_MOST_TERMS)
        fitting->powers[family][fitting->n_terms[family]++][variable] = 1;
}

/* All products of the sizes up to that degree. */
static void add_products(struct fitting *fitting, int family, int degree)
{
    uint8_t powers[COST_MOST_VARIABLES] = {0};
    const struct cost_model *model = fitting->model;
    for (;;) {
        int sum = 0;
        for (uint32_t i = 0; i < model->n_variables; i++)
            sum += powers[i];
        if (sum <= degree && fitting->n_terms[family] < COST_MOST_TERMS)
            memcpy(fitting->powers[family][fitting->n_terms[family]++], powers, sizeof powers);
        uint32_t at = 0;
        while (at < model->n_variables &&
               (model->variables[at].argument < 0 || powers[at] == (uint8_t)degree))
            powers[at++] = 0;
        if (at == model->n_variables)
            return;
        powers[at]++;
    }
}

static void add_term(struct fitting *fitting, int family, int first, int first_power, int second,
                     int second_power, int third)
{
    if (fitting->n_terms[family] == COST_MOST_TERMS)
        return;
    uint8_t *powers = fitting->powers[family][fitting->n_terms[family]++];
    powers[first] += (uint8_t)first_power;
    powers[second] += (uint8_t)second_power;
    if (third >= 0)
        powers[third]++;
}

/* Of a rectangular matrix: what it has of elements and of squares along its lesser side, alone and times a
 * size (the lesser side, or those of other matrices). */
static void add_rectangular(struct fitting *fitting, int family, int lesser)
{
    for (int along = -1; along <= lesser; along++) {
        if (along == 0 || along == 1) /* the sides themselves: the greater one's square costs nothing */
            continue;
        add_term(fitting, family, 0, 1, 1, 1, along);
        add_term(fitting, family, lesser, 2, lesser, 0, along);
    }
}

static void make_families(struct fitting *fitting)
{
    const int work = variable_of(fitting->model, COST_WORK), bytes = variable_of(fitting->model, COST_BYTES);
    const int lesser = variable_of(fitting->model, COST_LESSER);
    for (int family = 0; family < N_FAMILIES; family++) {
        const bool rectangular = family >= PLAIN_FAMILIES;
        if (rectangular && lesser < 0)
            break;
        add_products(fitting, family, rectangular ? family - PLAIN_FAMILIES : family < 2 ? 0 : family - 1);
        if (rectangular)
            add_rectangular(fitting, family, lesser);
        add_power(fitting, family, work);
        if (family == 1 || family == 2 || family == N_FAMILIES - 1 || work < 0)
            add_power(fitting, family, bytes);
    }
}

/* ---- one run ---- */

static double term_value(const uint8_t *powers, uint32_t n, const double *x)
{
    double value = 1;
    for (uint32_t i = 0; i < n; i++)
        for (uint8_t p = 0; p < powers[i]; p++)
            value *= x[i];
    return value;
}

static double predicted(const struct fitting *fitting, int family, const double *c, const double *x)
{
    double sum = 0;
    for (int j = 0; j < fitting->n_terms[family]; j++)
        if (c[j] != 0)
            sum += c[j] * term_value(fitting->powers[family][j], fitting->model->n_variables, x);
    return sum;
}

static double off_by(const struct fitting *fitting, int family, const double *c, const struct sample *sample)
{
    double off = fabs(predicted(fitting, family, c, sample->m->x) - sample->value) * sample->weight;
    return off < MOST_ERROR ? off : MOST_ERROR;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Fits samples first..last-1 without those of the fold (-1: with all). Twice: the second time what lies far
 * off the others' line counts less. */
static bool fit_run(const struct fitting *fitting, int first, int last, int fold, int family, bool any_sign,
                    double *c)
{
    uint32_t n_variables = fitting->model->n_variables;
    int columns = fitting->n_terms[family], rows = 0;
    double far[MOST_ROWS], bound = 0;
    for (int i = first; i < last; i++)
        rows += i % FOLDS != fold;
    if (rows < (any_sign ? columns + 2 : 2) || rows > MOST_ROWS)
        return false;
    for (int round = 0; round < 2; round++) {
        int row = 0;
        for (int i = first; i < last; i++) {
            if (i % FOLDS == fold)
                continue;
            const struct sample *sample = &fitting->samples[i];
            for (int j = 0; j < columns; j++)
                fitting->A[j * rows + row] =
                    term_value(fitting->powers[family][j], n_variables, sample->m->x);
            fitting->b[row] = sample->value;
            double off = round ? off_by(fitting, family, c, sample) : 0;
            fitting->weights[row++] = sample->weight * (round && off > bound ? sqrt(bound / off) : 1);
        }
        if (!fit_least_squares(fitting->A, fitting->b, fitting->weights, rows, columns, any_sign, c))
            return false;
        if (round)
            break;
        int n = 0;
        for (int i = first; i < last; i++)
            if (i % FOLDS != fold)
                far[n++] = off_by(fitting, family, c, &fitting->samples[i]);
        qsort(far, (size_t)n, sizeof *far, by_value);
        bound = 4 * fmax(far[n / 2], 1e-4);
    }
    return true;
}

/* The squared errors of all folds, each predicted by the others. */
static double held_out(const struct fitting *fitting, int first, int last, int family, bool any_sign)
{
    double squares = (last - first) * GRAIN * GRAIN, c[COST_MOST_TERMS];
    for (int fold = 0; fold < FOLDS; fold++) {
        if (!fit_run(fitting, first, last, fold, family, any_sign, c))
            return HUGE_VAL;
        for (int i = first; i < last; i++) {
            double off = i % FOLDS == fold ? off_by(fitting, family, c, &fitting->samples[i]) : 0;
            squares += off * off;
        }
    }
    return squares;
}

static struct form best_form(const struct fitting *fitting, int first, int last)
{
    struct form best = {.squares = HUGE_VAL};
    for (int sign = 0; sign < 2; sign++)
        for (int family = 0; family < N_FAMILIES && fitting->n_terms[family] > 0; family++) {
            double squares = held_out(fitting, first, last, family, sign);
            double pays = best.squares == HUGE_VAL ? 1 : sign && !best.any_sign ? PAYS_SIGNS : PAYS_FAMILY;
            if (squares < pays * best.squares)
                best = (struct form){family, sign, squares};
        }
    return best;
}

/* ---- pieces ---- */

static void choose_places(struct fitting *fitting)
{
    fitting->n_places = 0;
    fitting->places[fitting->n_places++] = 0;
    for (int i = 1; i <= PLACES; i++) {
        int at = i * fitting->n / (PLACES + 1);
        int before = fitting->places[fitting->n_places - 1];
        /* A cut lies between two different numbers of bytes. */
        while (at > 0 && at < fitting->n && fitting->samples[at].bytes <= fitting->samples[at - 1].bytes)
            at++;
        if (at - before >= 3 && fitting->n - at >= 3)
            fitting->places[fitting->n_places++] = at;
    }
    fitting->places[fitting->n_places++] = fitting->n;
}

struct plan {
    struct form forms[PLACES + 2][PLACES + 2];
    double squares[COST_MOST_PIECES + 1][PLACES + 2]; /* of the first so many pieces, up to a place */
    int from[COST_MOST_PIECES + 1][PLACES + 2];
};

static int choose_pieces(const struct fitting *fitting, struct plan *plan)
{
    int last = fitting->n_places - 1;
    for (int i = 0; i < last; i++)
        for (int j = i + 1; j <= last; j++) {
            bool is_all = i == 0 && j == last;
            plan->forms[i][j].squares = HUGE_VAL;
            if (is_all || fitting->places[j] - fitting->places[i] >= LEAST_RUN)
                plan->forms[i][j] = best_form(fitting, fitting->places[i], fitting->places[j]);
        }
    for (int j = 0; j <= last; j++)
        plan->squares[1][j] = j ? plan->forms[0][j].squares : HUGE_VAL;
    int best = 1;
    for (int k = 2; k <= COST_MOST_PIECES; k++) {
        for (int j = 0; j <= last; j++) {
            plan->squares[k][j] = HUGE_VAL;
            for (int i = 1; i < j; i++) {
                double squares = plan->squares[k - 1][i] + plan->forms[i][j].squares;
                if (squares < plan->squares[k][j]) {
                    plan->squares[k][j] = squares;
                    plan->from[k][j] = i;
                }
            }
        }
        if (plan->squares[k][last] < pow(PAYS_PIECE, k - best) * plan->squares[best][last])
            best = k;
    }
    return plan->squares[best][last] < HUGE_VAL ? best : 0;
}

static bool make_piece(const struct fitting *fitting, const struct plan *plan, int i, int j,
                       struct arena *arena, struct cost_piece *piece)
{
    double c[COST_MOST_TERMS];
    const struct form *form = &plan->forms[i][j];
    int first = fitting->places[i], last = fitting->places[j], columns = fitting->n_terms[form->family];
    if (!fit_run(fitting, first, last, -1, form->family, form->any_sign, c))
        return false;
    piece->until = HUGE_VAL;
    if (last < fitting->n)
        piece->until =
            sqrt(fmax(fitting->samples[last - 1].bytes, 1) * fmax(fitting->samples[last].bytes, 1));
    piece->terms = arena_alloc(arena, (size_t)columns * sizeof *piece->terms);
    if (!piece->terms)
        return false;
    for (int t = 0; t < columns; t++) {
        if (c[t] == 0)
            continue;
        struct cost_term *term = &piece->terms[piece->n_terms++];
        term->coefficient = c[t];
        memcpy(term->powers, fitting->powers[form->family][t], sizeof term->powers);
    }
    if (piece->n_terms == 0) /* nothing but zeroes: a term of 0 says so */
        piece->n_terms = 1;
    return true;
}

static bool fit_curve(struct fitting *fitting, struct arena *arena, struct cost_curve *curve)
{
    struct plan *plan = calloc(1, sizeof *plan);
    choose_places(fitting);
    int n = plan ? choose_pieces(fitting, plan) : 0, place = fitting->n_places - 1;
    *curve = (struct cost_curve){0};
    bool made = n > 0 && (curve->pieces = arena_alloc(arena, (size_t)n * sizeof *curve->pieces));
    if (made)
        curve->error = sqrt(plan->squares[n][place] / fitting->n);
    for (int k = n; made && k > 0; k--) {
        int from = k > 1 ? plan->from[k][place] : 0;
        made = make_piece(fitting, plan, from, place, arena, &curve->pieces[k - 1]);
        place = from;
    }
    if (made)
        curve->n_pieces = (uint32_t)n;
    free(plan);
    return made;
}

/* ---- the model ---- */

static int by_bytes(const void *a, const void *b)
{
    const struct sample *p = a, *q = b;
    double x = p->bytes == q->bytes ? p->m->seconds : p->bytes;
    double y = p->bytes == q->bytes ? q->m->seconds : q->bytes;
    return (x > y) - (x < y);
}

static bool is_good(const struct cost_model *model, const struct cost_measurement *m)
{
    for (uint32_t i = 0; i < model->n_variables; i++)
        if (!(m->x[i] >= 0 && m->x[i] < 1e300))
            return false;
    return m->seconds > 0 && m->seconds < COST_MOST_S && m->bytes >= 0 && m->bytes < 1e18;
}

static void set_ranges(struct cost_model *model, const struct fitting *fitting)
{
    model->floor_s_per_flop = HUGE_VAL;
    int work = variable_of(model, COST_WORK);
    for (int i = 0; i < fitting->n; i++) {
        const struct cost_measurement *m = fitting->samples[i].m;
        for (uint32_t v = 0; v < model->n_variables; v++) {
            struct cost_variable *variable = &model->variables[v];
            variable->least = i ? fmin(variable->least, m->x[v]) : m->x[v];
            variable->most = i ? fmax(variable->most, m->x[v]) : m->x[v];
        }
        if (work >= 0 && m->x[work] > 0)
            model->floor_s_per_flop = fmin(model->floor_s_per_flop, 0.5 * m->seconds / m->x[work]);
    }
    if (!isfinite(model->floor_s_per_flop))
        model->floor_s_per_flop = 0;
    model->factor = 1;
}

static void set_values(struct fitting *fitting, bool times)
{
    for (int i = 0; i < fitting->n; i++) {
        struct sample *sample = &fitting->samples[i];
        sample->value = times ? sample->m->seconds : sample->m->bytes;
        sample->weight = 1 / (sample->value + (times ? TIME_GRAIN : MEMORY_GRAIN));
    }
}

static void set_extent(const struct fitting *fitting, struct cost_curve *curve)
{
    for (int i = 0; i < fitting->n; i++) {
        double value = fitting->samples[i].value;
        curve->least = i ? fmin(curve->least, value) : value;
        curve->most = i ? fmax(curve->most, value) : value;
    }
}

static enum esp_status fit_curves(struct cost_model *model, struct fitting *fitting, struct arena *arena,
                                  struct esp_error *error)
{
    set_values(fitting, true);
    if (!fit_curve(fitting, arena, &model->time))
        return error_set(error, ESP_INVALID, "%s: no curve fits its %d measurements", model->problem,
                         fitting->n);
    set_extent(fitting, &model->time);
    set_values(fitting, false);
    double most = 0;
    for (int i = 0; i < fitting->n; i++)
        most = fmax(most, fitting->samples[i].value);
    model->memory = (struct cost_curve){0};
    if (most > MEMORY_GRAIN && fit_curve(fitting, arena, &model->memory))
        set_extent(fitting, &model->memory);
    return ESP_OK;
}

enum esp_status fit_model(struct cost_model *model, struct arena *arena, struct esp_error *error)
{
    uint32_t rows = model->n_measurements;
    struct fitting *fitting = calloc(1, sizeof *fitting);
    enum esp_status status = ESP_OK;
    if (fitting) {
        fitting->samples = calloc(rows + 1, sizeof *fitting->samples);
        fitting->A = calloc((size_t)(rows + 1) * COST_MOST_TERMS, sizeof *fitting->A);
        fitting->b = calloc(rows + 1, sizeof *fitting->b);
        fitting->weights = calloc(rows + 1, sizeof *fitting->weights);
    }
    if (!fitting || !fitting->samples || !fitting->A || !fitting->b || !fitting->weights)
        status = error_no_memory(error, "a fit");
    for (uint32_t i = 0; status == ESP_OK && i < rows; i++)
        if (is_good(model, &model->measurements[i]))
            fitting->samples[fitting->n++] = (struct sample){
                .m = &model->measurements[i], .bytes = model->measurements[i].x[model->n_variables - 1]};
    if (status == ESP_OK && fitting->n < FIT_LEAST_MEASUREMENTS)
        status = error_set(error, ESP_INVALID, "%s: expected at least %d good measurements, found %d",
                           model->problem, FIT_LEAST_MEASUREMENTS, fitting->n);
    if (status == ESP_OK) {
        fitting->model = model;
        qsort(fitting->samples, (size_t)fitting->n, sizeof *fitting->samples, by_bytes);
        make_families(fitting);
        set_ranges(model, fitting);
        status = fit_curves(model, fitting, arena, error);
    }
    if (fitting) {
        free(fitting->samples);
        free(fitting->A);
        free(fitting->b);
        free(fitting->weights);
    }
    free(fitting);
    return status;
}
