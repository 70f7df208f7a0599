/* SPDX-License-Identifier: Apache-2.0
 *
 * Abstract problems: a name for what is to be done (solve, chol, svd) with a signature like any problem's,
 * and rules that pick the problems that do it by the types and properties of what is given. They travel as
 * problems do; clients apply the rules (client/abstract/abstract.h).
 *
 * Immutable once parsed; they live in the memory of their problem set.
 */
#ifndef CORE_ABSTRACT_H
#define CORE_ABSTRACT_H

#include "core/problem/problem.h"
#include "util/text.h"

#define ABSTRACT_MAX_RULES  64
#define ABSTRACT_MAX_STEPS  8 /* of one rule */
#define ABSTRACT_MAX_PAIRS  16
#define ABSTRACT_MAX_WISHES 16

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
    TRAIT_SPARSE = 1 << 8,
    TRAIT_BANDED = 1 << 9, /* few diagonals */
    TRAIT_LARGE = 1 << 10  /* more than 100 columns */
};

/* An input as a caller has it; `traits` other than these are worked out from type and extents. */
struct given {
    enum base_type type;
    int64_t rows, cols;
    uint32_t properties; /* enum argument_property that are known to hold */
    bool is_sparse;
    bool is_banded;
};

/* inner = outer: an argument of a step goes by another name in the abstract problem, or has a value. */
struct pair {
    const char *inner, *outer; /* outer NULL: `value` */
    double value;              /* of a character: its code */
    bool is_character;
    unsigned line, column; /* of `inner` */
};

struct step {
    const char *problem; /* may hold '?': the letter of the first input's type, s, d, c or z */
    struct pair *renamed;
    uint32_t n_renamed;
    struct pair *results; /* `giving` outer = inner: what outputs of the problem are called behind the step */
    uint32_t n_results;
    unsigned line, column; /* of the name */
};

/* What must hold of one input. */
struct wish {
    uint32_t input; /* its index among the arguments */
    uint32_t properties, traits;
};

struct rule {
    bool rivals;   /* `or`: it competes with the one before, the forecast decides */
    bool may_fail; /* `try`: when the computation fails, the next rule that fits is taken */
    struct step *steps;
    uint32_t n_steps; /* more than one: each takes what the ones before it gave, by name */
    struct wish *wishes;
    uint32_t n_wishes;
    unsigned line;
};

struct abstract {
    struct rule *rules;
    uint32_t n_rules;
};

/* The first rule from number *rule on that fits what is given (one for each argument; those of outputs are
 * not looked at); *rule becomes its number. ESP_INVALID tells what was given and that no rule fits. */
enum esp_status abstract_resolve(const struct problem *problem, const struct given *given, uint32_t *rule,
                                 struct esp_error *error);

/* Rules that compete: the one with number *rule, which fits, and those of its group behind it that fit, in
 * their order, into `rivals` (ABSTRACT_MAX_RULES). *rule becomes the number behind the group. Returns how
 * many.
 */
uint32_t abstract_rivals(const struct problem *problem, const struct given *given, uint32_t *rule,
                         uint32_t *rivals);

/* Tells `wrong` of each step in the set that names a problem of the set or of `known` which is abstract (so
 * the problem itself), or an argument which that problem does not have; and `unknown` of each whose problem
 * is in neither: other servers may have it. `known` may be NULL: then nothing is unknown. */
void abstract_check(const struct problem_set *set, const struct problem_set *known,
                    void (*wrong)(void *arg, const struct esp_error *error),
                    void (*unknown)(void *arg, const char *text), void *arg);

/* A rule as a line of the canonical form. */
void abstract_write_rule(const struct problem *problem, const struct rule *rule, struct text *text);
/* The same in memory of the caller's, cut to fit. */
void abstract_rule_text(const struct problem *problem, uint32_t rule, char *text, size_t size);

/* The name of the problem of a step, '?' replaced; cut to fit. */
void abstract_step_name(const struct step *step, const struct given *first, char *name, size_t size);

/* Whether an output of an abstract problem is what a step gives, and not made from it by the client (a
 * triangle, a mirrored half). */
bool abstract_gives_whole(const struct argument *argument);

/* The words that a condition may hold beyond properties; NULL behind the last. */
const char *trait_name(unsigned bit);

#endif
