/* SPDX-License-Identifier: Apache-2.0
 *
 * Which numbers are worth a try: those that mostly do, and those at which a condition changes its mind.
 */
#include "core/problem/expr_tree.h"
#include "core/problem/problem_trial.h"

#include <math.h>
#include <string.h>

#define MOST_STEPS  8  /* towards a place where both sides of a comparison are equal */
#define MOST_PLACES 12 /* of one scalar */
#define LONGEST_RUN 16
#define LARGEST     1e9

/* In the order of preference: most options of BLAS and LAPACK are among the letters. */
static const char letters[] = "NULVASRICEOFBT1DPMQGHWXY";
static const double integers[] = {2, 1, 3, 0, 4, 5};
static const double reals[] = {2, 0.5, 1, 0};

struct candidates {
    enum base_type type;
    struct number *values;
    unsigned n;
};

/* What is there already is not tried again. */
static void add(struct candidates *list, double value)
{
    bool integer = list->type < TYPE_FLOAT;
    if (!(fabs(value) <= LARGEST) || list->n == TRIAL_MOST_CANDIDATES)
        return;
    for (unsigned i = 0; i < list->n; i++)
        if ((integer ? (double)list->values[i].integer : list->values[i].real) == value)
            return;
    list->values[list->n++] = integer ? (struct number){.kind = NUMBER_INTEGER, .integer = (int64_t)value}
                                      : (struct number){.kind = NUMBER_REAL, .real = value};
}

/* ---- places ---- */

/* Looks for values of scalar `index` at which something becomes 0. */
struct search {
    const struct problem *problem;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    uint32_t index;
    double places[MOST_PLACES];
    unsigned n;
};

static void add_place(struct search *search, double place)
{
    if (isfinite(place) && search->n < MOST_PLACES)
        search->places[search->n++] = place;
}

/* left - right at x; NaN: it has no value there. */
static double difference(struct search *search, const struct expr *left, const struct expr *right, double x)
{
    const struct scope scope = {search->scope, search->problem->n_arguments};
    bool whole =
        search->problem->arguments[search->index].type < TYPE_FLOAT && x == floor(x) && fabs(x) <= LARGEST;
    double a, b = 0;
    search->scope[search->index] = whole ? (struct number){.kind = NUMBER_INTEGER, .integer = (int64_t)x}
                                         : (struct number){.kind = NUMBER_REAL, .real = x};
    if (expr_eval_real(left, &scope, &a, NULL) != ESP_OK ||
        (right && expr_eval_real(right, &scope, &b, NULL) != ESP_OK))
        return NAN;
    return a - b;
}

/* By secants: at once where the difference is linear. */
static void find_zero(struct search *search, const struct expr *left, const struct expr *right)
{
    double x0 = 1, x1 = 2, f0 = difference(search, left, right, x0), f1 = difference(search, left, right, x1);
    for (int step = 0; step < MOST_STEPS && f1 != f0 && isfinite(f0) && isfinite(f1); step++) {
        double x = x1 - f1 * (x1 - x0) / (f1 - f0);
        x0 = x1, f0 = f1;
        x1 = x, f1 = difference(search, left, right, x);
        if (fabs(x1 - x0) <= 1e-12 * fabs(x1) || fabs(f1) < 1e-12)
            break;
    }
    if (isfinite(f1))
        add_place(search, x1);
}

/* Every comparison, and every constant, of a condition. */
static void visit(struct search *search, const struct expr *expr)
{
    bool compares =
        expr->kind == EXPR_OPERATOR && expr->code >= OPERATOR_EQUAL && expr->code <= OPERATOR_GREATER_EQUAL;
    if (expr->kind == EXPR_INTEGER || expr->kind == EXPR_REAL)
        add_place(search, expr->value.kind == NUMBER_REAL ? expr->value.real : (double)expr->value.integer);
    if (compares)
        find_zero(search, expr->operands[0], expr->operands[1]);
    for (unsigned i = 0; i < expr->n_operands; i++)
        visit(search, expr->operands[i]);
}

/* Of preconditions, those of others too when `all` is set; and of extents, which must not be below 0, and
 * sections, which lie within. */
static void find_places(struct search *search, bool all)
{
    const struct problem *problem = search->problem;
    for (uint32_t i = 0; i < problem->n_preconditions; i++)
        if (all || expr_uses(problem->preconditions[i].condition, search->index))
            visit(search, problem->preconditions[i].condition);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        for (uint32_t d = 0; d < problem->arguments[i].n_dims; d++) {
            const struct argument *argument = &problem->arguments[i];
            if (!expr_is_name(argument->dims[d], NULL) && expr_uses(argument->dims[d], search->index))
                find_zero(search, argument->dims[d], NULL);
            if (argument->section[d][1] && (expr_uses(argument->section[d][1], search->index) ||
                                            expr_uses(argument->dims[d], search->index)))
                find_zero(search, argument->dims[d], argument->section[d][1]);
        }
}

/* ---- candidates ---- */

static void add_letters(struct candidates *list, const struct expr *expr)
{
    if (expr->kind == EXPR_CHARACTER)
        add(list, (double)expr->value.integer);
    for (unsigned i = 0; i < expr->n_operands; i++)
        add_letters(list, expr->operands[i]);
}

static void add_integers(struct candidates *list, const struct search *search, bool runs)
{
    for (unsigned k = 0; k < search->n; k++) {
        double below = floor(search->places[k]);
        add(list, ceil(search->places[k]));
        add(list, below + 1);
        add(list, below);
        add(list, below - 1);
    }
    for (unsigned k = 0; runs && k < search->n; k++)
        for (int more = 2; more <= LONGEST_RUN; more++)
            add(list, floor(search->places[k]) + more);
}

/* At the places, between each two of them, and on both sides of all. */
static void add_reals(struct candidates *list, const struct search *search)
{
    for (unsigned k = 0; k < search->n; k++) {
        double place = search->places[k];
        add(list, place + 1);
        add(list, place - 1);
        add(list, place);
        for (unsigned other = 0; other < k; other++)
            add(list, (place + search->places[other]) / 2);
    }
    for (unsigned k = 0; k < search->n; k++) {
        add(list, 2 * search->places[k]);
        add(list, search->places[k] / 2);
    }
}

static void add_suggested(struct candidates *list, const struct trial *trial, uint32_t index)
{
    struct search search = {.problem = trial->problem, .index = index};
    memcpy(search.scope, trial->scope, trial->problem->n_arguments * sizeof *search.scope);
    if (list->type != TYPE_CHAR)
        find_places(&search, trial->effort->runs);
    if (list->type >= TYPE_FLOAT)
        add_reals(list, &search);
    else if (list->type != TYPE_CHAR)
        add_integers(list, &search, trial->effort->runs);
    for (uint32_t i = 0; i < trial->problem->n_preconditions && list->type == TYPE_CHAR; i++)
        if (expr_uses(trial->problem->preconditions[i].condition, index))
            add_letters(list, trial->problem->preconditions[i].condition);
}

unsigned trial_candidates(const struct trial *trial, uint32_t index, struct number *values)
{
    struct candidates list = {.type = trial->problem->arguments[index].type, .values = values};
    if (list.type == TYPE_CHAR)
        for (unsigned i = 0; letters[i]; i++)
            add(&list, letters[i]);
    else if (list.type < TYPE_FLOAT)
        for (unsigned i = 0; i < sizeof integers / sizeof *integers; i++)
            add(&list, integers[i]);
    else
        for (unsigned i = 0; i < sizeof reals / sizeof *reals; i++)
            add(&list, reals[i]);
    if (trial->effort->from_conditions && list.type < TYPE_COMPLEX)
        add_suggested(&list, trial, index);
    return list.n;
}
