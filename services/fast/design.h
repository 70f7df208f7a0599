/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses where a problem is measured: which of its arguments are sizes, which are options, and which
 * sizes to try next, all from its description. Sizes follow a low-discrepancy walk over the wanted times,
 * with all kinds of shapes: square, rectangular, thin, and with one right-hand side. */
#ifndef SERVICES_FAST_DESIGN_H
#define SERVICES_FAST_DESIGN_H

#include "core/forecast/cost_model.h"
#include "util/random.h"

#define DESIGN_MOST_CLASSES 4

/* Values of the options with equal cost according to the description: measured together. */
struct design_class {
    uint32_t n_choices;
    int16_t choices[COST_MOST_CHOICES * COST_MOST_OPTIONS];
};

struct design {
    const struct problem *problem;
    uint32_t n_sizes, n_options, n_classes;
    uint32_t sizes[COST_MOST_VARIABLES], options[COST_MOST_OPTIONS];
    struct design_class classes[DESIGN_MOST_CLASSES];
    bool is_beside[COST_MOST_VARIABLES]; /* it is in fewer arrays than other sizes: right-hand sides, bands */
    bool has_lesser;                     /* its work depends on the lesser of its first two sizes */
    bool has_work;
    bool is_sparse;                      /* it has compressed matrices: */
    uint8_t counts[COST_MOST_VARIABLES]; /* 1 + the size along which the elements lie that this size counts */
    bool is_extent[COST_MOST_VARIABLES]; /* of a compressed matrix */
};

/* ESP_INVALID with the reason if the problem cannot be measured: abstract, callbacks, commands that must
 * not be repeated, texts and files, no sizes or too many, compressed matrices whose extents are no sizes. */
enum esp_status design_begin(const struct problem *problem, struct design *design, struct esp_error *error);

/* One call to measure. */
struct design_point {
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    double x[COST_MOST_VARIABLES]; /* values of the model's variables */
};

struct design_limits {
    double least_s, most_s; /* range of times of the calls to measure */
    double bytes;           /* most bytes of one call */
    double speed_flops;     /* speed of earlier calls of its kind */
    double call_s;          /* time of the smallest call */
};

/* Computes point number `index` (0, 1, 2, ...) of a class: the expected time of its sizes lies within the
 * limits. False when the preconditions allow none. */
bool design_next(const struct design *design, uint32_t class_index, uint32_t index,
                 const struct design_limits *limits, struct random *random, struct design_point *point);

/* Computes scope, shapes and variables of a call with those sizes. False: preconditions forbid it. */
bool design_at(const struct design *design, uint32_t class_index, const int64_t *sizes,
               struct design_point *point);
/* Like design_at(), without generating and analysing the patterns of compressed matrices: their fill is
 * estimated. For searches, which try sizes that would take too much time or memory. */
bool design_roughly_at(const struct design *design, uint32_t class_index, const int64_t *sizes,
                       struct design_point *point);

/* Makes the head of a model: names, digest, variables, options and choices. Its pointers lead into
 * `arena`. ESP_NO_MEMORY. */
enum esp_status design_model(const struct design *design, uint32_t class_index,
                             const struct implementation *implementation, const char *machine,
                             uint32_t threads, struct arena *arena, struct cost_model *model,
                             struct esp_error *error);

/* Fills the input argument `index` at `data` (shape.bytes): random numbers, square matrices with dominant
 * diagonals; positions and interchanges in ascending order; defaults if there are any. Compressed
 * matrices: services/fast/design_sparse.h. */
void design_fill(const struct design_point *point, const struct problem *problem, uint32_t index,
                 struct random *random, void *data);

#endif
