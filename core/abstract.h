/* SPDX-License-Identifier: Apache-2.0
 *
 * Abstract problems: a name for what is to be done (solve, chol, svd), and rules that pick the problems that
 * do it by the types and properties of what is given.
 *
 * Immutable once parsed; they live in the memory of their problem set.
 */
#ifndef CORE_ABSTRACT_H
#define CORE_ABSTRACT_H

#include "core/problem.h"

#define ABSTRACT_MAX_NAMES 16 /* inputs; outputs */
#define ABSTRACT_MAX_RULES 64
#define ABSTRACT_MAX_STEPS 8 /* of one rule */
#define ABSTRACT_MAX_PAIRS 16

/* What a rule may want of an input beyond enum argument_property. */
enum given_trait {
    TRAIT_REAL = 1 << 0,
    TRAIT_COMPLEX = 1 << 1,
    TRAIT_SINGLE = 1 << 2, /* float, complex */
    TRAIT_DOUBLE = 1 << 3,
    TRAIT_SQUARE = 1 << 4,
    TRAIT_TALL = 1 << 5, /* more rows than columns */
    TRAIT_WIDE = 1 << 6,
    TRAIT_VECTOR = 1 << 7, /* one column */
    TRAIT_SPARSE = 1 << 8
};

/* An input as a caller has it; `traits` other than these are worked out from type and extents. */
struct given {
    enum base_type type;
    int64_t rows, cols;
    uint32_t properties; /* enum argument_property that are known to hold */
    bool is_sparse;
};

/* inner = outer: an argument of a step goes by another name in the abstract problem. */
struct pair {
    const char *inner, *outer;
};

struct step {
    const char *problem; /* may hold '?': the letter of the first input's type, s, d, c or z */
    struct pair *renamed;
    uint32_t n_renamed;
};

/* What must hold of one input. */
struct wish {
    uint32_t input;
    uint32_t properties, traits;
};

struct rule {
    bool may_fail; /* `try`: when the computation fails, the next rule that fits is taken */
    struct step *steps;
    uint32_t n_steps; /* more than one: each takes what the ones before it gave, by name */
    struct pair
        *results; /* outer = inner: an output of the abstract problem, and whose it is in the last step */
    uint32_t n_results;
    struct wish *wishes;
    uint32_t n_wishes;
    unsigned line;
};

struct abstract {
    const char *name, *title, *text, *gams;
    const char *inputs[ABSTRACT_MAX_NAMES], *outputs[ABSTRACT_MAX_NAMES];
    uint32_t n_inputs, n_outputs;
    struct rule *rules;
    uint32_t n_rules;
    const char *file;
    unsigned line;
};

/* The first rule from number *rule on that fits what is given (one for each input); *rule becomes its number.
 * ESP_NOT_FOUND tells what was given and that no rule fits. */
enum esp_status abstract_resolve(const struct abstract *abstract, const struct given *given, uint32_t *rule,
                                 struct esp_error *error);

/* The name of the problem of a step, '?' replaced; cut to fit. */
void abstract_step_name(const struct step *step, const struct given *first, char *name, size_t size);

const struct abstract *abstract_find(const struct problem_set *problem_set, const char *name);

#endif
