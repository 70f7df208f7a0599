/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits one run of samples with a family of terms, and chooses the best family. */
#include "services/fast/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIT_FAMILIES 8

#define FIT_LEAST_RUN 9 /* measurements of a piece, when there are several */

struct sample {
    const struct cost_measurement *m;
    double shape;  /* the first size over the second */
    double lesser; /* of both */
    double bytes, value, weight;
};

struct form { /* the form of a run's fit */
    int family;
    bool any_sign;
    double squares; /* sum over its held-out measurements; HUGE_VAL: no fit */
};

struct fitting {
    const struct cost_model *model;
    struct sample *samples;
    int n;
    bool has_ranges; /* its curve may be split by the lesser side */
    uint8_t powers[FIT_FAMILIES][COST_MOST_TERMS][COST_MOST_VARIABLES];
    int n_terms[FIT_FAMILIES]; /* 0: neither this family nor later ones exist */
    double *A, *b, *weights;   /* room for a run */
};

/* Runs of samples that are ascending in bytes: run k is cuts[k]..cuts[k + 1]-1. */
struct bends {
    int n, cuts[COST_MOST_BENDS + 1];
    struct form forms[COST_MOST_BENDS];
    double squares; /* of all runs together; HUGE_VAL: they cannot be fitted, and n is 0 */
};

struct shapes {
    int n;
    double bounds[COST_MOST_SHAPES]; /* the last one is 0: no bound */
    struct bends bends[COST_MOST_SHAPES];
    double squares;
};

typedef int fit_order(const void *, const void *);

static fit_order fit_by_bytes;

struct ranges {
    int n, cuts[COST_MOST_RANGES + 1];
    double bounds[COST_MOST_RANGES]; /* the last one is 0: no bound */
    struct shapes shapes[COST_MOST_RANGES];
    double squares;
};

#define FOLDS       3
#define MOST_ROWS   4096
#define PAYS_FAMILY 0.93 /* a larger family must reduce the squared error to this fraction, */
#define PAYS_SIGNS  0.60 /* coefficients of both signs to this */
#define MOST_ERROR  0.5  /* cap for the error of a single outlier */
#define GRAIN       1e-4 /* smaller errors are ignored, so that rounding does not decide */
#define FAR         2    /* times the median deviation from the line (Huber's estimator) */

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

/* Returns the weight of a sample's error, relative to the fitted value once there is one: relative to the
 * sample's own value, too fast samples would count more than too slow ones, and an outlier would determine
 * its own weight. */
static double weight_by(const struct sample *sample, double expected)
{
    const double bounded = fmin(fmax(expected, sample->value / 2), 2 * sample->value);
    return 1 / (1 / sample->weight + bounded - sample->value);
}

/* Reduces the weight of samples far from the line. */
static double weight_of(const struct sample *sample, double expected, double bound)
{
    const double weight = weight_by(sample, expected), off = fabs(expected - sample->value) * weight;
    return weight * (off > bound ? sqrt(bound / off) : 1);
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

/* Fits samples first..last-1 without those of the fold (-1: with all). Fits twice: the second time errors
 * are relative to the first fit, and outliers count less. */
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
            fitting->weights[row++] =
                round ? weight_of(sample, predicted(fitting, family, c, sample->m->x), bound)
                      : sample->weight;
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
        bound = FAR * fmax(far[n / 2], 1e-4);
    }
    return true;
}

/* Returns the squared errors of all folds, each predicted by the others. */
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

/* Returns the best form for samples first..last-1. */
static struct form fit_best_form(const struct fitting *fitting, int first, int last)
{
    struct form best = {.squares = HUGE_VAL};
    for (int sign = 0; sign < 2; sign++)
        for (int family = 0; family < FIT_FAMILIES && fitting->n_terms[family] > 0; family++) {
            double squares = held_out(fitting, first, last, family, sign);
            double pays = best.squares == HUGE_VAL ? 1 : sign && !best.any_sign ? PAYS_SIGNS : PAYS_FAMILY;
            if (squares < pays * best.squares)
                best = (struct form){family, sign, squares};
        }
    return best;
}

/* Computes the coefficients of that form from all samples. */
static bool fit_coefficients(const struct fitting *fitting, int first, int last, const struct form *form,
                             double *c)
{
    return fit_run(fitting, first, last, -1, form->family, form->any_sign, c);
}

/* Bends by cache or memory: measurements, sorted by bytes, are cut at some of a few places. The best cuts
 * are found by dynamic programming over all runs between two places. A further piece must clearly reduce
 * the error on held-out measurements. */

#define PLACES     9    /* places where the curve may be cut, without the ends */
#define PAYS_PIECE 0.80 /* a further piece must reduce the squared error to this fraction */

struct bend_plan {
    int places[PLACES + 2], n_places; /* indexes of first samples; the last one is the end */
    struct form forms[PLACES + 2][PLACES + 2];
    double squares[COST_MOST_BENDS + 1][PLACES + 2]; /* of the first pieces, up to a place */
    int from[COST_MOST_BENDS + 1][PLACES + 2];
};

static void choose_bend_places(const struct fitting *fitting, int first, int last,
                               struct bend_plan *bend_plan)
{
    bend_plan->places[bend_plan->n_places++] = first;
    for (int i = 1; i <= PLACES; i++) {
        int at = first + i * (last - first) / (PLACES + 1);
        int before = bend_plan->places[bend_plan->n_places - 1];
        /* A cut lies between two different numbers of bytes. */
        while (at > first && at < last && fitting->samples[at].bytes <= fitting->samples[at - 1].bytes)
            at++;
        if (at - before >= 3 && last - at >= 3)
            bend_plan->places[bend_plan->n_places++] = at;
    }
    bend_plan->places[bend_plan->n_places++] = last;
}

static void fit_runs(const struct fitting *fitting, struct bend_plan *bend_plan)
{
    const int last = bend_plan->n_places - 1;
    for (int i = 0; i < last; i++)
        for (int j = i + 1; j <= last; j++) {
            bool is_all = i == 0 && j == last;
            bend_plan->forms[i][j].squares = HUGE_VAL;
            if (is_all || bend_plan->places[j] - bend_plan->places[i] >= FIT_LEAST_RUN)
                bend_plan->forms[i][j] = fit_best_form(fitting, bend_plan->places[i], bend_plan->places[j]);
        }
}

/* Returns the number of pieces; 0: no fit. */
static int choose_number(struct bend_plan *bend_plan)
{
    const int last = bend_plan->n_places - 1;
    int best = 1;
    for (int j = 0; j <= last; j++)
        bend_plan->squares[1][j] = j ? bend_plan->forms[0][j].squares : HUGE_VAL;
    for (int k = 2; k <= COST_MOST_BENDS; k++) {
        for (int j = 0; j <= last; j++) {
            bend_plan->squares[k][j] = HUGE_VAL;
            for (int i = 1; i < j; i++) {
                double squares = bend_plan->squares[k - 1][i] + bend_plan->forms[i][j].squares;
                if (squares < bend_plan->squares[k][j]) {
                    bend_plan->squares[k][j] = squares;
                    bend_plan->from[k][j] = i;
                }
            }
        }
        if (bend_plan->squares[k][last] < pow(PAYS_PIECE, k - best) * bend_plan->squares[best][last])
            best = k;
    }
    return bend_plan->squares[best][last] < HUGE_VAL ? best : 0;
}

static void fit_choose_bends(const struct fitting *fitting, int first, int last, struct bends *bends)
{
    struct bend_plan bend_plan = {.n_places = 0};
    choose_bend_places(fitting, first, last, &bend_plan);
    fit_runs(fitting, &bend_plan);
    const int n = choose_number(&bend_plan);
    int place = bend_plan.n_places - 1;
    *bends = (struct bends){.n = n, .squares = n ? bend_plan.squares[n][place] : HUGE_VAL};
    bends->cuts[n] = last;
    for (int k = n; k > 0; k--) {
        const int from = k > 1 ? bend_plan.from[k][place] : 0;
        bends->forms[k - 1] = bend_plan.forms[from][place];
        bends->cuts[k - 1] = bend_plan.places[from];
        place = from;
    }
}

static bool make_piece(const struct fitting *fitting, int first, int last, const struct form *form,
                       struct arena *arena, struct cost_piece *piece)
{
    double c[COST_MOST_TERMS];
    const int columns = fitting->n_terms[form->family];
    if (!fit_coefficients(fitting, first, last, form, c) ||
        !(piece->terms = arena_alloc(arena, (size_t)columns * sizeof *piece->terms)))
        return false;
    for (int t = 0; t < columns; t++) {
        if (c[t] == 0)
            continue;
        struct cost_term *term = &piece->terms[piece->n_terms++];
        term->coefficient = c[t];
        memcpy(term->powers, fitting->powers[form->family][t], sizeof term->powers);
    }
    if (piece->n_terms == 0) /* all coefficients are zero: represented by a term of 0 */
        piece->n_terms = 1;
    return true;
}

/* Makes the pieces of these runs, for calls within the bounds. False: no fit. */
static bool fit_make_pieces(const struct fitting *fitting, const struct bends *bends,
                            const struct cost_piece *bounds, struct arena *arena, struct cost_piece *pieces)
{
    bool made = bends->n > 0;
    for (int k = 0; k < bends->n && made; k++) {
        const int first = bends->cuts[k], last = bends->cuts[k + 1];
        pieces[k] = (struct cost_piece){.lesser = bounds->lesser, .shape = bounds->shape, .until = HUGE_VAL};
        if (k + 1 < bends->n)
            pieces[k].until =
                sqrt(fmax(fitting->samples[last - 1].bytes, 1) * fmax(fitting->samples[last].bytes, 1));
        made = make_piece(fitting, first, last, &bends->forms[k], arena, &pieces[k]);
    }
    return made;
}

/* Families of terms, from few to many: a larger one must reduce the error (services/fast/fit.c). */

#define BENDING_FAMILY (FIT_FAMILIES - 1)
#define PLAIN_FAMILIES 5 /* the others are for problems with COST_LESSER */

/* Returns the index of that variable of the model; -1: it has none. */
static int fit_variable(const struct cost_model *model, int32_t argument)
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

/* Adds all products of the sizes up to that degree. */
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

/* Adds terms of a rectangular matrix: its elements and its squares along the lesser side, alone and times
 * a size (the lesser side, or those of other matrices). */
static void add_rectangular(struct fitting *fitting, int family, int lesser)
{
    for (int along = -1; along <= lesser; along++) {
        if (along == 0 || along == 1) /* the sides themselves: no term for the square of the greater one */
            continue;
        add_term(fitting, family, 0, 1, 1, 1, along);
        add_term(fitting, family, lesser, 2, lesser, 0, along);
    }
}

/* Adds terms for work along the lesser side that slows down gradually as caches overflow. */
static void add_bending(struct fitting *fitting, int family, int lesser)
{
    add_term(fitting, family, 0, 1, 1, 1, lesser);
    fitting->powers[family][fitting->n_terms[family] - 1][lesser]++;
    add_term(fitting, family, lesser, 4, lesser, 0, -1);
}

static void fit_make_families(struct fitting *fitting)
{
    const int work = fit_variable(fitting->model, COST_WORK),
              bytes = fit_variable(fitting->model, COST_BYTES);
    const int lesser = fit_variable(fitting->model, COST_LESSER);
    for (int family = 0; family < FIT_FAMILIES; family++) {
        const bool rectangular = family >= PLAIN_FAMILIES;
        if (rectangular && lesser < 0)
            break;
        const bool bends = family == BENDING_FAMILY;
        add_products(fitting, family,
                     bends         ? 0
                     : rectangular ? family - PLAIN_FAMILIES
                     : family < 2  ? 0
                                   : family - 1);
        if (rectangular)
            add_rectangular(fitting, family, lesser);
        if (bends)
            add_bending(fitting, family, lesser);
        add_power(fitting, family, work);
        if (family == 1 || family == 2 || family == PLAIN_FAMILIES + 1 || work < 0)
            add_power(fitting, family, bytes);
    }
}

/* Different methods by shape: routines for rectangular matrices use another method if one side is several
 * times the other (LAPACK's ilaenv(6)), and work along rows costs differently from work along columns.
 * Measurements, sorted by shape, are cut at LAPACK's known crossover points, or at the places with the
 * least error on held-out measurements. These are found by dynamic programming over single runs between
 * some places, and then moved by one measurement at a time. A further shape must clearly reduce the error,
 * with all its bends. */

#define PAYS_SHAPE 0.80 /* a further shape must reduce the squared error to this fraction, */
#define PAYS_KNOWN 0.92 /* or to this at a known crossover of LAPACK */

/* Between two measurements on different sides the cut may lie anywhere: it is put at a known crossover of
 * LAPACK, if one is between them. Rows and columns; ilaenv(6) of ?gesvd and ?gelss; ?gesdd. */
static const double crossovers[] = {6.0 / 11, 1 / 1.6, 1, 1.6, 11.0 / 6};
static const struct {
    int n; /* cuts */
    double at[3];
} known[] = {{1, {1}}, {2, {1 / 1.6, 1.6}}, {3, {1 / 1.6, 1, 1.6}}, {3, {6.0 / 11, 1, 11.0 / 6}}};

static int fit_by_bytes(const void *a, const void *b)
{
    const struct sample *p = a, *q = b;
    double x = p->bytes == q->bytes ? p->m->seconds : p->bytes;
    double y = p->bytes == q->bytes ? q->m->seconds : q->bytes;
    return (x > y) - (x < y);
}

static int by_shape(const void *a, const void *b)
{
    const struct sample *p = a, *q = b;
    return p->shape == q->shape ? fit_by_bytes(a, b) : (p->shape > q->shape) - (p->shape < q->shape);
}

static void fit_put_in_order(struct fitting *fitting, int first, int last, fit_order *order)
{
    qsort(fitting->samples + first, (size_t)(last - first), sizeof *fitting->samples, order);
}

/* Returns the first place at or after this one between two different shapes, where a cut is possible. */
static int next_cut(const struct fitting *fitting, int at)
{
    while (at > 0 && at < fitting->n && fitting->samples[at].shape <= fitting->samples[at - 1].shape)
        at++;
    return at;
}

static double bound_at(const struct fitting *fitting, int at)
{
    const double below = fitting->samples[at - 1].shape, above = fitting->samples[at].shape;
    for (size_t i = 0; i < sizeof crossovers / sizeof *crossovers; i++)
        if (below < crossovers[i] && crossovers[i] <= above)
            return crossovers[i];
    return sqrt(below * above);
}

/* Returns the error of sorted samples as a single run; does not change their order. */
static double fit_squares_between(struct fitting *fitting, int first, int last, fit_order *order)
{
    if (last - first < FIT_LEAST_RUN)
        return HUGE_VAL;
    fit_put_in_order(fitting, first, last, fit_by_bytes);
    const double squares = fit_best_form(fitting, first, last).squares;
    fit_put_in_order(fitting, first, last, order);
    return squares;
}

static double squares_between(struct fitting *fitting, int first, int last)
{
    return fit_squares_between(fitting, first, last, by_shape);
}

struct plan {
    int places[PLACES + 2], n_places;
    double squares[COST_MOST_SHAPES + 1][PLACES + 2];
    int from[COST_MOST_SHAPES + 1][PLACES + 2];
};

static void choose_places(const struct fitting *fitting, struct plan *plan)
{
    plan->places[plan->n_places++] = 0;
    for (int i = 1; i <= PLACES; i++) {
        const int at = next_cut(fitting, i * fitting->n / (PLACES + 1));
        if (at > plan->places[plan->n_places - 1] && at < fitting->n)
            plan->places[plan->n_places++] = at;
    }
    plan->places[plan->n_places++] = fitting->n;
}

static void make_plan(struct fitting *fitting, struct plan *plan)
{
    double runs[PLACES + 2][PLACES + 2];
    *plan = (struct plan){.n_places = 0};
    choose_places(fitting, plan);
    for (int i = 0; i + 1 < plan->n_places; i++)
        for (int j = i + 1; j < plan->n_places; j++)
            runs[i][j] = squares_between(fitting, plan->places[i], plan->places[j]);
    for (int j = 0; j < plan->n_places; j++)
        plan->squares[1][j] = j ? runs[0][j] : HUGE_VAL;
    for (int k = 2; k <= COST_MOST_SHAPES; k++)
        for (int j = 0; j < plan->n_places; j++) {
            plan->squares[k][j] = HUGE_VAL;
            for (int i = 1; i < j; i++) {
                const double squares = plan->squares[k - 1][i] + runs[i][j];
                if (squares < plan->squares[k][j]) {
                    plan->squares[k][j] = squares;
                    plan->from[k][j] = i;
                }
            }
        }
}

/* Moves the cut between two others to the place with the least error on both sides. */
static int move_cut(struct fitting *fitting, int before, int cut, int after)
{
    const int reach = fitting->n / (PLACES + 1);
    double least = squares_between(fitting, before, cut) + squares_between(fitting, cut, after);
    int best = cut;
    for (int at = next_cut(fitting, cut - reach > before ? cut - reach : before + 1);
         at <= cut + reach && at < after; at = next_cut(fitting, at + 1)) {
        if (at == cut)
            continue;
        const double squares = squares_between(fitting, before, at) + squares_between(fitting, at, after);
        if (squares < least) {
            least = squares;
            best = at;
        }
    }
    return best;
}

/* Makes the shapes between these cuts. The samples are sorted by shape before and afterwards. */
static void part(struct fitting *fitting, const int *cuts, int n, struct shapes *shapes)
{
    *shapes = (struct shapes){.n = n};
    for (int k = 0; k < n; k++)
        shapes->bounds[k] = k + 1 < n ? bound_at(fitting, cuts[k + 1]) : 0;
    for (int k = 0; k < n; k++) {
        fit_put_in_order(fitting, cuts[k], cuts[k + 1], fit_by_bytes);
        fit_choose_bends(fitting, cuts[k], cuts[k + 1], &shapes->bends[k]);
        shapes->squares += shapes->bends[k].squares;
    }
    fit_put_in_order(fitting, cuts[0], cuts[n], by_shape);
}

static void keep_better(const struct shapes *other, double pays, struct shapes *best)
{
    if (other->squares < pow(pays, other->n - best->n) * best->squares)
        *best = *other;
}

static void try_known(struct fitting *fitting, int first, int last, struct shapes *best)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int cuts[COST_MOST_SHAPES + 1] = {first}, at = first;
        bool enough = true;
        for (int k = 0; k < known[i].n; k++) {
            while (at < last && fitting->samples[at].shape < known[i].at[k])
                at++;
            cuts[k + 1] = at;
        }
        cuts[known[i].n + 1] = last;
        for (int k = 0; k <= known[i].n; k++)
            enough &= cuts[k + 1] - cuts[k] >= FIT_LEAST_RUN;
        struct shapes shapes;
        if (!enough)
            continue;
        part(fitting, cuts, known[i].n + 1, &shapes);
        keep_better(&shapes, PAYS_KNOWN, best);
    }
}

static void try_found(struct fitting *fitting, struct shapes *best)
{
    struct plan plan;
    make_plan(fitting, &plan);
    for (int n = 2; n <= COST_MOST_SHAPES; n++) {
        int cuts[COST_MOST_SHAPES + 1] = {0}, place = plan.n_places - 1;
        struct shapes shapes;
        if (plan.squares[n][place] == HUGE_VAL)
            continue;
        cuts[n] = fitting->n;
        for (int k = n; k > 1; k--) {
            place = plan.from[k][place];
            cuts[k - 1] = plan.places[place];
        }
        for (int k = 1; k < n; k++)
            cuts[k] = move_cut(fitting, cuts[k - 1], cuts[k], cuts[k + 1]);
        part(fitting, cuts, n, &shapes);
        keep_better(&shapes, PAYS_SHAPE, best);
    }
}

/* Sorts these samples in the order of the chosen shapes. */
static void fit_order_shapes(struct fitting *fitting, int first, int last, const struct shapes *shapes)
{
    fit_put_in_order(fitting, first, last, by_shape);
    for (int k = 0; k < shapes->n; k++)
        fit_put_in_order(fitting, shapes->bends[k].cuts[0], shapes->bends[k].cuts[shapes->bends[k].n],
                         fit_by_bytes);
}

/* Finds the best cuts of samples first..last-1, and sorts them. With few samples, only at LAPACK's known
 * crossovers. */
static void fit_choose_shapes(struct fitting *fitting, int first, int last, struct shapes *shapes)
{
    *shapes = (struct shapes){.n = 1};
    fit_put_in_order(fitting, first, last, fit_by_bytes);
    fit_choose_bends(fitting, first, last, &shapes->bends[0]);
    shapes->squares = shapes->bends[0].squares;
    if (fit_variable(fitting->model, COST_LESSER) < 0)
        return;
    fit_put_in_order(fitting, first, last, by_shape);
    try_known(fitting, first, last, shapes);
    if (first == 0 && last == fitting->n)
        try_found(fitting, shapes);
}

/* Different methods by the lesser side: LAPACK's orthogonal factorisations use single columns up to 128 of
 * them (ilaenv(3)) and blocks beyond. Single columns wait for memory once the matrix exceeds the caches,
 * which happens with thin matrices and not with square ones of that order, so bends by bytes cannot
 * express it. Measurements, sorted by the lesser side, are cut there, or where single runs on both sides
 * have the least error. Each part has its own shapes and bends. The cut must clearly reduce the error on
 * held-out measurements. */

#define KNOWN      129  /* the least lesser side with blocks */
#define PAYS_RANGE 0.80 /* two ranges must reduce the squared error to this fraction, */

static int by_lesser(const void *a, const void *b)
{
    const struct sample *p = a, *q = b;
    return p->lesser == q->lesser ? fit_by_bytes(a, b) : (p->lesser > q->lesser) - (p->lesser < q->lesser);
}

/* Returns the first sample with at least that lesser side. */
static int first_of(const struct fitting *fitting, double lesser)
{
    int at = 0;
    while (at < fitting->n && fitting->samples[at].lesser < lesser)
        at++;
    return at;
}

struct cut {
    int at;
    double bound, pays;
    double squares; /* with the bends of both sides, relative to the required value */
};

static double range_bound_at(const struct fitting *fitting, int at)
{
    const double below = fitting->samples[at - 1].lesser, above = fitting->samples[at].lesser;
    return below < KNOWN && above >= KNOWN ? KNOWN : sqrt(below * above);
}

/* Returns where two single runs have the least error; 0: nowhere. */
static int find_cut(struct fitting *fitting)
{
    double least = HUGE_VAL;
    int best = 0;
    for (int i = 1; i <= PLACES; i++) {
        const int at = first_of(fitting, fitting->samples[i * fitting->n / (PLACES + 1)].lesser);
        const double squares = fit_squares_between(fitting, 0, at, by_lesser) +
                               fit_squares_between(fitting, at, fitting->n, by_lesser);
        if (squares < least) {
            least = squares;
            best = at;
        }
    }
    return best;
}

/* Compares a place with the best so far, using bends only, which are cheap to compute. */
static void weigh(struct fitting *fitting, int at, double pays, struct cut *best)
{
    struct bends below, above;
    if (at < FIT_LEAST_RUN || fitting->n - at < FIT_LEAST_RUN)
        return;
    struct cut cut = {.at = at, .bound = range_bound_at(fitting, at), .pays = pays};
    fit_put_in_order(fitting, 0, at, fit_by_bytes);
    fit_put_in_order(fitting, at, fitting->n, fit_by_bytes);
    fit_choose_bends(fitting, 0, at, &below);
    fit_choose_bends(fitting, at, fitting->n, &above);
    fit_put_in_order(fitting, 0, fitting->n, by_lesser);
    cut.squares = (below.squares + above.squares) / pays;
    if (cut.squares < best->squares)
        *best = cut;
}

static void try_cut(struct fitting *fitting, const struct cut *cut, struct ranges *best)
{
    struct ranges ranges = {.n = 2, .cuts = {0, cut->at, fitting->n}, .bounds = {cut->bound, 0}};
    for (int r = 0; r < ranges.n; r++) {
        fit_choose_shapes(fitting, ranges.cuts[r], ranges.cuts[r + 1], &ranges.shapes[r]);
        ranges.squares += ranges.shapes[r].squares;
    }
    if (ranges.squares < cut->pays * best->squares)
        *best = ranges;
}

/* Sorts the samples in the order of the chosen ranges. */
static void fit_choose_ranges(struct fitting *fitting, struct ranges *ranges)
{
    *ranges = (struct ranges){.n = 1, .cuts = {0, fitting->n}};
    fit_choose_shapes(fitting, 0, fitting->n, &ranges->shapes[0]);
    ranges->squares = ranges->shapes[0].squares;
    if (fitting->has_ranges) {
        struct cut cut = {.squares = HUGE_VAL};
        fit_put_in_order(fitting, 0, fitting->n, by_lesser);
        weigh(fitting, first_of(fitting, KNOWN), PAYS_KNOWN, &cut);
        weigh(fitting, find_cut(fitting), PAYS_RANGE, &cut);
        if (cut.squares < HUGE_VAL)
            try_cut(fitting, &cut, ranges);
        fit_put_in_order(fitting, 0, fitting->n, by_lesser);
    }
    /* Sorts within each range in the order of its shapes. */
    for (int r = 0; r < ranges->n; r++)
        fit_order_shapes(fitting, ranges->cuts[r], ranges->cuts[r + 1], &ranges->shapes[r]);
}

/* Errors in memory below this are ignored: pages and pools cause them. */
#define MEMORY_GRAIN (1 << 20)

/* A call from a client costs this much besides, so smaller errors are irrelevant, and noise of short calls
 * must not decide about powers and pieces for long ones. */
#define TIME_GRAIN 100e-6

static int count_pieces(const struct shapes *shapes)
{
    int n = 0;
    for (int k = 0; k < shapes->n; k++)
        n += shapes->bends[k].n;
    return n;
}

static bool make_range(const struct fitting *fitting, const struct shapes *shapes, double lesser,
                       struct arena *arena, struct cost_piece *pieces)
{
    for (int k = 0; k < shapes->n; k++) {
        const struct cost_piece bounds = {.lesser = lesser, .shape = shapes->bounds[k]};
        if (!fit_make_pieces(fitting, &shapes->bends[k], &bounds, arena, pieces))
            return false;
        pieces += shapes->bends[k].n;
    }
    return true;
}

static bool fit_curve(struct fitting *fitting, struct arena *arena, struct cost_curve *curve)
{
    struct ranges ranges;
    int n = 0, done = 0;
    fit_choose_ranges(fitting, &ranges);
    for (int r = 0; r < ranges.n; r++)
        n += count_pieces(&ranges.shapes[r]);
    *curve = (struct cost_curve){.error = sqrt(ranges.squares / fitting->n)};
    bool made =
        ranges.squares < HUGE_VAL && (curve->pieces = arena_alloc(arena, (size_t)n * sizeof *curve->pieces));
    for (int r = 0; r < ranges.n && made; r++) {
        made = make_range(fitting, &ranges.shapes[r], ranges.bounds[r], arena, curve->pieces + done);
        done += count_pieces(&ranges.shapes[r]);
    }
    if (made)
        curve->n_pieces = (uint32_t)n;
    return made;
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
    int work = fit_variable(model, COST_WORK);
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
    const int lesser = fit_variable(fitting->model, COST_LESSER);
    fitting->has_ranges = times && lesser >= 0; /* buffers do not depend on blocks */
    for (int i = 0; i < fitting->n; i++) {
        struct sample *sample = &fitting->samples[i];
        sample->value = times ? sample->m->seconds : sample->m->bytes;
        sample->lesser = lesser >= 0 ? sample->m->x[lesser] : 0;
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
            fitting->samples[fitting->n++] =
                (struct sample){.m = &model->measurements[i],
                                .shape = cost_shape(model, model->measurements[i].x),
                                .bytes = model->measurements[i].x[model->n_variables - 1]};
    if (status == ESP_OK && fitting->n < FIT_LEAST_MEASUREMENTS)
        status = error_set(error, ESP_INVALID, "%s: expected at least %d good measurements, found %d",
                           model->problem, FIT_LEAST_MEASUREMENTS, fitting->n);
    if (status == ESP_OK) {
        fitting->model = model;
        fit_make_families(fitting);
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

/* Repeated measurements at some sizes. On a core shared with another hyperthread or guest, a routine has
 * several speeds that last for seconds. A measurement far from the fitted curve, above or below, was taken
 * at such a time; the median of three visits is typical. */

#define MOST_AGAIN 12
#define VISITS     3

/* A size is visited again if it deviates from the forecast by this, and by this many of the model's
 * errors; visits that are closer agree. */
#define CLEARLY          0.05
#define ERRORS           1.5
#define MOST_DISTURBANCE 0.5 /* cap for the deviation of one disturbed visit */

struct look {
    struct cost_measurement *m, visits[VISITS];
    unsigned n;
    double first_s, expected_s;
};

static int by_distance(const void *a, const void *b)
{
    const struct look *x = a, *y = b;
    const double off_x = fabs(log(x->m->seconds / x->expected_s));
    const double off_y = fabs(log(y->m->seconds / y->expected_s));
    return (off_x < off_y) - (off_x > off_y);
}

static int by_time(const void *a, const void *b)
{
    const struct cost_measurement *x = a, *y = b;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* Finds the sizes with the largest deviations, by a factor, the largest first. */
static unsigned find_all(struct cost_model *model, struct look *looks)
{
    const double clearly = fmax(CLEARLY, ERRORS * model->time.error);
    unsigned n = 0;
    for (uint32_t i = 0; i < model->n_measurements; i++) {
        struct cost_measurement *m = &model->measurements[i];
        const double expected_s = cost_curve_value(model, &model->time, m->x, NULL);
        if (expected_s > 0 && m->seconds > 0 && fabs(log(m->seconds / expected_s)) > log1p(clearly))
            looks[n++] = (struct look){
                .m = m, .visits = {*m}, .n = 1, .first_s = m->seconds, .expected_s = expected_s};
    }
    qsort(looks, n, sizeof *looks, by_distance);
    return n < MOST_AGAIN ? n : MOST_AGAIN;
}

static bool agrees(const struct look *look)
{
    const double a = look->visits[0].seconds, b = look->visits[1].seconds;
    return fabs(a - b) <= CLEARLY * fmin(a, b);
}

/* Returns the median of three visits; of two, if there was no time for a third, the one nearer to the
 * expectation. */
static const struct cost_measurement *typical(struct look *look)
{
    if (look->n == 1 || agrees(look))
        return look->m;
    qsort(look->visits, look->n, sizeof *look->visits, by_time);
    if (look->n == VISITS)
        return &look->visits[VISITS / 2];
    const double middle = sqrt(look->visits[0].seconds * look->visits[1].seconds);
    return &look->visits[look->expected_s > middle];
}

static enum esp_status visit_all(struct look *looks, unsigned n, fit_visit *visit, void *arg,
                                 struct esp_error *error)
{
    for (unsigned round = 1; round < VISITS; round++)
        for (unsigned i = 0; i < n; i++) {
            struct look *look = &looks[i];
            if (round > 1 && agrees(look))
                continue;
            enum esp_status status = visit(arg, look->m, &look->visits[look->n], error);
            if (status == ESP_LIMIT)
                return ESP_OK;
            if (status != ESP_OK)
                return status;
            look->n++;
        }
    return ESP_OK;
}

/* Returns the spread of visits around the typical value. It is no error of the curve, but of a call's
 * expectation: the mean square over all sizes at their first visit. */
static double spread_of(const struct look *looks, unsigned n, uint32_t n_measurements)
{
    double squares = 0;
    for (unsigned i = 0; i < n; i++) {
        const double off = fmin(fabs(looks[i].first_s / looks[i].m->seconds - 1), MOST_DISTURBANCE);
        squares += off * off;
    }
    return squares / n_measurements;
}

enum esp_status fit_again(struct cost_model *model, fit_visit *visit, void *arg, struct arena *arena,
                          struct esp_error *error)
{
    bool changed = false;
    struct look *looks = calloc(model->n_measurements + 1, sizeof *looks);
    if (!looks)
        return error_no_memory(error, "a second look");
    const unsigned n = find_all(model, looks);
    enum esp_status status = visit_all(looks, n, visit, arg, error);
    for (unsigned i = 0; i < n && status == ESP_OK; i++) {
        struct cost_measurement *m = looks[i].m;
        const struct cost_measurement counts = *typical(&looks[i]);
        changed = changed || counts.seconds != m->seconds;
        *m = counts;
    }
    const double spread = spread_of(looks, n, model->n_measurements);
    free(looks);
    if (status != ESP_OK || !changed)
        return status;
    status = fit_model(model, arena, error);
    if (status == ESP_OK)
        model->time.error = sqrt(model->time.error * model->time.error + spread);
    return status;
}
