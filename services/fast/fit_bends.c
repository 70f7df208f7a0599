/* SPDX-License-Identifier: Apache-2.0
 *
 * Where cache or memory bends the curve: measurements, in the order of their bytes, are cut at some of a few
 * places; the best cuts are found by dynamic programming over all runs between two places. A piece more has
 * to pay by a clearly smaller error on what was held out.
 */
#include "services/fast/fitting.h"

#include <math.h>
#include <string.h>

#define PLACES     9    /* where the curve may be cut, the ends not counted */
#define PAYS_PIECE 0.80 /* the part of the squared error that a piece more must leave */

struct plan {
    int places[PLACES + 2], n_places; /* indexes of first samples; the last one is the end */
    struct form forms[PLACES + 2][PLACES + 2];
    double squares[COST_MOST_BENDS + 1][PLACES + 2]; /* of the first so many pieces, up to a place */
    int from[COST_MOST_BENDS + 1][PLACES + 2];
};

static void choose_places(const struct fitting *fitting, int first, int last, struct plan *plan)
{
    plan->places[plan->n_places++] = first;
    for (int i = 1; i <= PLACES; i++) {
        int at = first + i * (last - first) / (PLACES + 1);
        int before = plan->places[plan->n_places - 1];
        /* A cut lies between two different numbers of bytes. */
        while (at > first && at < last && fitting->samples[at].bytes <= fitting->samples[at - 1].bytes)
            at++;
        if (at - before >= 3 && last - at >= 3)
            plan->places[plan->n_places++] = at;
    }
    plan->places[plan->n_places++] = last;
}

static void fit_runs(const struct fitting *fitting, struct plan *plan)
{
    const int last = plan->n_places - 1;
    for (int i = 0; i < last; i++)
        for (int j = i + 1; j <= last; j++) {
            bool is_all = i == 0 && j == last;
            plan->forms[i][j].squares = HUGE_VAL;
            if (is_all || plan->places[j] - plan->places[i] >= FIT_LEAST_RUN)
                plan->forms[i][j] = fit_best_form(fitting, plan->places[i], plan->places[j]);
        }
}

/* The number of pieces; 0: there is none. */
static int choose_number(struct plan *plan)
{
    const int last = plan->n_places - 1;
    int best = 1;
    for (int j = 0; j <= last; j++)
        plan->squares[1][j] = j ? plan->forms[0][j].squares : HUGE_VAL;
    for (int k = 2; k <= COST_MOST_BENDS; k++) {
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

void fit_choose_bends(const struct fitting *fitting, int first, int last, struct bends *bends)
{
    struct plan plan = {.n_places = 0};
    choose_places(fitting, first, last, &plan);
    fit_runs(fitting, &plan);
    const int n = choose_number(&plan);
    int place = plan.n_places - 1;
    *bends = (struct bends){.n = n, .squares = n ? plan.squares[n][place] : HUGE_VAL};
    bends->cuts[n] = last;
    for (int k = n; k > 0; k--) {
        const int from = k > 1 ? plan.from[k][place] : 0;
        bends->forms[k - 1] = plan.forms[from][place];
        bends->cuts[k - 1] = plan.places[from];
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
    if (piece->n_terms == 0) /* nothing but zeroes: a term of 0 says so */
        piece->n_terms = 1;
    return true;
}

bool fit_make_pieces(const struct fitting *fitting, const struct bends *bends,
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
