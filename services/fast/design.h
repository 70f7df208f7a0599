/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a problem is measured: which of its arguments are sizes, which are options, and which sizes to try
 * next, all from its description. Sizes follow a low-discrepancy walk over the wanted times, with shapes of
 * all kinds: square, rectangular, thin, and with one of what is often one (right-hand sides).
 */
#ifndef SERVICES_FAST_DESIGN_H
#define SERVICES_FAST_DESIGN_H

#include "core/forecast/cost_model.h"
#include "util/random.h"

#define DESIGN_MOST_CLASSES 4

/* Values of the options that cost the same as far as the description tells: measured together. */
struct design_class {
    uint32_t n_choices;
    int16_t choices[COST_MOST_CHOICES * COST_MOST_OPTIONS];
};

struct design {
    const struct problem *problem;
    uint32_t n_sizes, n_options, n_classes;
    uint32_t sizes[COST_MOST_VARIABLES], options[COST_MOST_OPTIONS];
    struct design_class classes[DESIGN_MOST_CLASSES];
    bool is_beside[COST_MOST_VARIABLES]; /* it is in fewer arrays than others are: right-hand sides, bands */
    bool has_lesser;                     /* its work depends on the lesser of its first two sizes */
    bool has_work;
    bool is_sparse;                      /* it takes compressed matrices: */
    uint8_t counts[COST_MOST_VARIABLES]; /* 1 + the size along which the elements lie that this one counts */
    bool is_extent[COST_MOST_VARIABLES]; /* of one of them */
};

/* ESP_INVALID with the reason for problems that are not measured: abstract ones, callbacks, commands
 * that are not to be run twice,
 * texts and files, no sizes or too many, compressed matrices whose extents are none of them. */
enum esp_status design_begin(const struct problem *problem, struct design *design, struct esp_error *error);

/* One call to measure. */
struct design_point {
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    double x[COST_MOST_VARIABLES]; /* the model's variables */
};

struct design_limits {
    double least_s, most_s; /* times of the calls measured */
    double bytes;           /* of one call, at most */
    double speed_flops;     /* what calls like it have reached */
    double call_s;          /* what the smallest took */
};

/* The point number `index` (0, 1, 2, ...) of a class: its sizes are expected to take a time between those of
 * the limits. False when the preconditions leave none. */
bool design_next(const struct design *design, uint32_t class_index, uint32_t index,
                 const struct design_limits *limits, struct random *random, struct design_point *point);

/* The scope, shapes and variables of a call with those sizes. False: preconditions forbid it. */
bool design_at(const struct design *design, uint32_t class_index, const int64_t *sizes,
               struct design_point *point);
/* As design_at(), without making and analysing the patterns of compressed matrices: their fill is that of a
 * law. For searches, which try sizes that nobody has the time or the memory for. */
bool design_roughly_at(const struct design *design, uint32_t class_index, const int64_t *sizes,
                       struct design_point *point);

/* The head of a model: names, digest, variables, options and choices, into which measurements and curves
 * go. What it points to lies in `arena`. ESP_NO_MEMORY. */
enum esp_status design_model(const struct design *design, uint32_t class_index,
                             const struct implementation *implementation, const char *machine,
                             uint32_t threads, struct arena *arena, struct cost_model *model,
                             struct esp_error *error);

/* Fills the input argument `index` at `data` (shape.bytes of it): random numbers, the diagonals of square
 * matrices dominant; positions and interchanges in ascending order; defaults where there are. Compressed
 * matrices: services/fast/design_sparse.h. */
void design_fill(const struct design_point *point, const struct problem *problem, uint32_t index,
                 struct random *random, void *data);

#endif
