/* SPDX-License-Identifier: Apache-2.0
 *
 * Abstract problems: a name for a task (solve, chol, svd) with a signature like any problem's, and rules
 * that choose a concrete problem for it by the types and properties of the inputs. They travel as problems
 * do; clients apply the rules (client/abstract/abstract.h).
 *
 * Immutable once parsed; they live in the memory of their problem set. */
#ifndef CORE_ABSTRACT_H
#define CORE_ABSTRACT_H

#include "core/problem/problem.h"
#include "util/text.h"

#define ABSTRACT_MAX_RULES  64
#define ABSTRACT_MAX_STEPS  8 /* of one rule */
#define ABSTRACT_MAX_PAIRS  16
#define ABSTRACT_MAX_WISHES 16

/* Conditions of a rule on an input, besides enum argument_property. */
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

/* A caller's input. Only the traits that do not follow from type and extents are set in `traits`. */
struct given {
    enum base_type type;
    int64_t rows, cols;
    uint32_t properties; /* enum argument_property: the properties known to hold */
    bool is_sparse;
    bool is_banded;
};

/* inner = outer: the problem's argument `inner` gets the abstract problem's argument `outer`, or a value. */
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
    struct pair *results; /* `giving` outer = inner: names of the outputs after the step */
    uint32_t n_results;
    unsigned line, column; /* position of the name */
};

/* Conditions on one input. */
struct wish {
    uint32_t input; /* its index among the arguments */
    uint32_t properties, traits;
};

struct rule {
    bool rivals;   /* `or`: this rule competes with the one before; the forecast decides */
    bool may_fail; /* `try`: if the computation fails, the next matching rule is tried */
    struct step *steps;
    uint32_t n_steps; /* if more than one, each uses outputs of the ones before it, by name */
    struct wish *wishes;
    uint32_t n_wishes;
    unsigned line;
};

struct abstract {
    struct rule *rules;
    uint32_t n_rules;
};

/* Finds the first rule from number *rule on that fits the inputs (`given` has one entry for each argument;
 * outputs are ignored), and sets *rule to its number. ESP_INVALID lists the inputs when no rule fits. */
enum esp_status abstract_resolve(const struct problem *problem, const struct given *given, uint32_t *rule,
                                 struct esp_error *error);

/* Stores the numbers of competing rules into `rivals` (ABSTRACT_MAX_RULES): rule *rule, which fits, and
 * the later ones of its group that fit, in order. Sets *rule to the number after the group. Returns how
 * many. */
uint32_t abstract_rivals(const struct problem *problem, const struct given *given, uint32_t *rule,
                         uint32_t *rivals);

/* Calls `wrong` for each step in the set that names an abstract problem of the set or of `known` (possibly
 * itself), or an argument that the named problem does not have. Calls `unknown` for each step whose
 * problem is in neither set: other servers may have it. `known` may be NULL: then `unknown` is not called. */
void abstract_check(const struct problem_set *set, const struct problem_set *known,
                    void (*wrong)(void *arg, const struct esp_error *error),
                    void (*unknown)(void *arg, const char *text), void *arg);

/* Writes a rule as a line of the canonical form. */
void abstract_write_rule(const struct problem *problem, const struct rule *rule, struct text *text);
/* Writes a rule as abstract_write_rule() does into a buffer, cut to fit. */
void abstract_rule_text(const struct problem *problem, uint32_t rule, char *text, size_t size);

/* Writes the name of a step's problem with '?' replaced; cut to fit. */
void abstract_step_name(const struct step *step, const struct given *first, char *name, size_t size);

/* Whether a step yields the output of an abstract problem itself. If not, the client makes the output from
 * the step's result (a triangle, a mirrored half). */
bool abstract_gives_whole(const struct argument *argument);

/* Returns the word for the trait with that bit number; NULL after the last. */
const char *trait_name(unsigned bit);

#endif
