/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of samples, fitted with one family; and which one is the best for it.
 */
#include "services/fast/fitting.h"

#include <math.h>
#include <stdlib.h>

#define FOLDS       3
#define MOST_ROWS   4096
#define PAYS_FAMILY 0.93 /* a larger family must leave this part of the squared error, */
#define PAYS_SIGNS  0.60 /* coefficients of both signs this */
#define MOST_ERROR  0.5  /* one wild measurement counts as so far off at most */
#define GRAIN       1e-4 /* nothing is told better than to this: it keeps rounding from choosing */
#define FAR         2    /* times the median error, off the others' line (Huber's estimator) */

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

/* What an error at the sample is measured against, once there is a fit: by the sample's own value those that
 * came out too quick would count for more than those too slow, and the fit for less than their mean. A value
 * that is wild does not say how much it counts. */
static double weight_by(const struct sample *sample, double expected)
{
    const double bounded = fmin(fmax(expected, sample->value / 2), 2 * sample->value);
    return 1 / (1 / sample->weight + bounded - sample->value);
}

/* Less for what lies far off the others' line. */
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

/* Fits samples first..last-1 without those of the fold (-1: with all). Twice: the second time errors are
 * relative to what the first one expects, and what lies far off the others' line counts less. */
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

struct form fit_best_form(const struct fitting *fitting, int first, int last)
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

bool fit_coefficients(const struct fitting *fitting, int first, int last, const struct form *form, double *c)
{
    return fit_run(fitting, first, last, -1, form->family, form->any_sign, c);
}
