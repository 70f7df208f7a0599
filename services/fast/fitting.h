/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the fit share. Samples are cut by the lesser side, where routines begin to work by
 * blocks, and by their shapes, where they take another way for rectangular matrices; those of a shape by
 * their bytes, where cache or memory bends the curve; and each run between two cuts is fitted with the family
 * of powers that is the best on what was held out.
 */
#ifndef SERVICES_FAST_FITTING_H
#define SERVICES_FAST_FITTING_H

#include "services/fast/fit.h"

#define FIT_FAMILIES  8
#define FIT_LEAST_RUN 9 /* measurements of a piece, when there are several */

struct sample {
    const struct cost_measurement *m;
    double shape;  /* the first size over the second */
    double lesser; /* of both */
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
    bool has_ranges; /* its curve may be cut by the lesser side */
    uint8_t powers[FIT_FAMILIES][COST_MOST_TERMS][COST_MOST_VARIABLES];
    int n_terms[FIT_FAMILIES]; /* 0: there is no such family, nor one behind it */
    double *A, *b, *weights;   /* room for a run */
};

/* The index of that variable of the model; -1: it has none. */
int fit_variable(const struct cost_model *model, int32_t argument);

/* ---- services/fast/fit_families.c ---- */

void fit_make_families(struct fitting *fitting);

/* ---- services/fast/fit_run.c ---- */

/* The best way to fit samples first..last-1. */
struct form fit_best_form(const struct fitting *fitting, int first, int last);
/* The coefficients of all of them, in that form. */
bool fit_coefficients(const struct fitting *fitting, int first, int last, const struct form *form, double *c);

/* ---- services/fast/fit_bends.c ---- */

/* Runs of samples that are ascending in bytes: run k is cuts[k]..cuts[k + 1]-1. */
struct bends {
    int n, cuts[COST_MOST_BENDS + 1];
    struct form forms[COST_MOST_BENDS];
    double squares; /* of all together; HUGE_VAL: they cannot be fitted, and n is 0 */
};

void fit_choose_bends(const struct fitting *fitting, int first, int last, struct bends *bends);
/* The pieces of these runs, for calls within the bounds of that one. False: they cannot be made. */
bool fit_make_pieces(const struct fitting *fitting, const struct bends *bends,
                     const struct cost_piece *bounds, struct arena *arena, struct cost_piece *pieces);

/* ---- services/fast/fit_shapes.c ---- */

struct shapes {
    int n;
    double bounds[COST_MOST_SHAPES]; /* the last one is 0: none */
    struct bends bends[COST_MOST_SHAPES];
    double squares;
};

typedef int fit_order(const void *, const void *);
fit_order fit_by_bytes;
void fit_put_in_order(struct fitting *fitting, int first, int last, fit_order *order);
/* The error of samples that are in some order, as a single run; the order stays. */
double fit_squares_between(struct fitting *fitting, int first, int last, fit_order *order);

/* The best cuts of samples first..last-1, which are put in some order. Of some of them only at the places
 * that LAPACK is known to have. */
void fit_choose_shapes(struct fitting *fitting, int first, int last, struct shapes *shapes);
/* Puts these samples in the order of what was chosen. */
void fit_order_shapes(struct fitting *fitting, int first, int last, const struct shapes *shapes);

/* ---- services/fast/fit_ranges.c ---- */

struct ranges {
    int n, cuts[COST_MOST_RANGES + 1];
    double bounds[COST_MOST_RANGES]; /* the last one is 0: none */
    struct shapes shapes[COST_MOST_RANGES];
    double squares;
};

/* Puts the samples in the order of what was chosen. */
void fit_choose_ranges(struct fitting *fitting, struct ranges *ranges);

#endif
