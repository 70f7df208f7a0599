/* SPDX-License-Identifier: Apache-2.0
 *
 * Where shapes part: routines for rectangular matrices take another way where one side is so many times the
 * other (LAPACK's ilaenv(6)), and what they do along rows costs otherwise than what they do along columns.
 * Measurements, in the order of their shapes, are cut where LAPACK is known to part, or at the places that
 * leave the least error on what was held out, found by dynamic programming over single runs between some
 * places and then moved, one measurement at a time. More shapes have to pay, with all their bends, by a
 * clearly smaller error.
 */
#include "services/fast/fitting.h"

#include <math.h>
#include <stdlib.h>

#define PLACES     9    /* the ends not counted */
#define PAYS_SHAPE 0.80 /* the part of the squared error that a shape more must leave, */
#define PAYS_KNOWN 0.92 /* and where LAPACK is known to part */

/* Between two measurements on different sides the cut may lie anywhere: it is put where LAPACK is known to
 * part, if that is between them. Rows and columns; ilaenv(6) of ?gesvd and ?gelss; ?gesdd. */
static const double crossovers[] = {6.0 / 11, 1 / 1.6, 1, 1.6, 11.0 / 6};
static const struct {
    int n; /* cuts */
    double at[3];
} known[] = {{1, {1}}, {2, {1 / 1.6, 1.6}}, {3, {1 / 1.6, 1, 1.6}}, {3, {6.0 / 11, 1, 11.0 / 6}}};

int fit_by_bytes(const void *a, const void *b)
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

void fit_put_in_order(struct fitting *fitting, int first, int last, fit_order *order)
{
    qsort(fitting->samples + first, (size_t)(last - first), sizeof *fitting->samples, order);
}

/* A cut lies between two different shapes: the first such place at or behind this one. */
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

double fit_squares_between(struct fitting *fitting, int first, int last, fit_order *order)
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

/* Moves the cut between two others to where both sides are told best. */
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

/* The shapes between these cuts. The samples are in the order of their shapes before and afterwards. */
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

void fit_order_shapes(struct fitting *fitting, int first, int last, const struct shapes *shapes)
{
    fit_put_in_order(fitting, first, last, by_shape);
    for (int k = 0; k < shapes->n; k++)
        fit_put_in_order(fitting, shapes->bends[k].cuts[0], shapes->bends[k].cuts[shapes->bends[k].n],
                         fit_by_bytes);
}

void fit_choose_shapes(struct fitting *fitting, int first, int last, struct shapes *shapes)
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
