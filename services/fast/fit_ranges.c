/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the lesser side decides: LAPACK's orthogonal factorisations go by single columns up to 128 of them
 * (ilaenv(3)) and by blocks beyond. A column at a time waits for memory once the matrix has outgrown the
 * caches, which square matrices of that order do not, while thin ones do: no bend by bytes tells both.
 * Measurements, in the order of their lesser sides, are cut there, or where single runs on both sides leave
 * the least error; each part has shapes and bends of its own. It has to pay, with all of them, by a clearly
 * smaller error on what was held out.
 */
#include "services/fast/fitting.h"

#include <math.h>

#define PLACES     9    /* the ends not counted */
#define KNOWN      129  /* the least that goes by blocks */
#define PAYS_RANGE 0.80 /* the part of the squared error that two ranges must leave, */
#define PAYS_KNOWN 0.92 /* and where LAPACK is known to part */

static int by_lesser(const void *a, const void *b)
{
    const struct sample *p = a, *q = b;
    return p->lesser == q->lesser ? fit_by_bytes(a, b) : (p->lesser > q->lesser) - (p->lesser < q->lesser);
}

/* The first sample of that lesser side or more. */
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
    double squares; /* with the bends of both sides, over what it must leave */
};

static double bound_at(const struct fitting *fitting, int at)
{
    const double below = fitting->samples[at - 1].lesser, above = fitting->samples[at].lesser;
    return below < KNOWN && above >= KNOWN ? KNOWN : sqrt(below * above);
}

/* Where two single runs tell the most; 0: nowhere. */
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

/* Bends alone, which cost little, decide between two places. */
static void weigh(struct fitting *fitting, int at, double pays, struct cut *best)
{
    struct bends below, above;
    if (at < FIT_LEAST_RUN || fitting->n - at < FIT_LEAST_RUN)
        return;
    struct cut cut = {.at = at, .bound = bound_at(fitting, at), .pays = pays};
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

void fit_choose_ranges(struct fitting *fitting, struct ranges *ranges)
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
    /* In the order that the cuts of the bends are of. */
    for (int r = 0; r < ranges->n; r++)
        fit_order_shapes(fitting, ranges->cuts[r], ranges->cuts[r + 1], &ranges->shapes[r]);
}
