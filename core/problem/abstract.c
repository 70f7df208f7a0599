/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/abstract.h"
#include "util/c_numbers.h"
#include "util/names.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t traits_of(const struct given *given)
{
    bool is_complex = given->type == TYPE_COMPLEX || given->type == TYPE_DOUBLE_COMPLEX;
    bool is_single = given->type == TYPE_FLOAT || given->type == TYPE_COMPLEX;
    uint32_t traits = is_complex ? TRAIT_COMPLEX : TRAIT_REAL;
    traits |= is_single ? TRAIT_SINGLE : TRAIT_DOUBLE;
    traits |= given->rows == given->cols ? TRAIT_SQUARE : given->rows > given->cols ? TRAIT_TALL : TRAIT_WIDE;
    traits |= given->cols == 1 ? TRAIT_VECTOR : 0;
    traits |= given->cols > 100 ? TRAIT_LARGE : 0;
    traits |= given->is_banded ? TRAIT_BANDED : 0;
    return traits | (given->is_sparse ? TRAIT_SPARSE : 0);
}

static bool fits(const struct rule *rule, const struct given *given)
{
    for (uint32_t i = 0; i < rule->n_wishes; i++) {
        const struct wish *wish = &rule->wishes[i];
        const struct given *input = &given[wish->input];
        if ((wish->properties & ~input->properties) || (wish->traits & ~traits_of(input)))
            return false;
    }
    return true;
}

static void describe(const struct problem *problem, const struct given *given, struct text *text)
{
    const char *separator = "";
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        if (problem->arguments[i].mode != MODE_IN || problem->arguments[i].n_dims == 0)
            continue;
        text_printf(text, "%s%s: %s %" PRId64 " x %" PRId64, separator, problem->arguments[i].name,
                    base_type_name(given[i].type), given[i].rows, given[i].cols);
        for (unsigned bit = 0; property_name(bit); bit++)
            if (given[i].properties & (1U << bit))
                text_printf(text, " %s", property_name(bit));
        text_put(text, given[i].is_banded ? " banded" : "");
        text_put(text, given[i].is_sparse ? " sparse" : "");
        separator = ", ";
    }
}

static void write_words(struct text *text, uint32_t set, const char *(*name)(unsigned bit));

/* Writes the first unmet condition, like " A hermitian, B square". */
static void describe_unmet(const struct problem *problem, const struct rule *rule, const struct given *given,
                           struct text *text)
{
    for (uint32_t i = 0, n = 0; i < rule->n_wishes; i++) {
        const struct wish *wish = &rule->wishes[i];
        uint32_t properties = wish->properties & ~given[wish->input].properties;
        uint32_t traits = wish->traits & ~traits_of(&given[wish->input]);
        if (!properties && !traits)
            continue;
        text_printf(text, "%s %s", n++ ? "," : "", problem->arguments[wish->input].name);
        write_words(text, properties, property_name);
        write_words(text, traits, trait_name);
    }
}

enum esp_status abstract_resolve(const struct problem *problem, const struct given *given, uint32_t *rule,
                                 struct esp_error *error)
{
    const struct abstract *abstract = problem->abstract;
    for (; *rule < abstract->n_rules; ++*rule)
        if (fits(&abstract->rules[*rule], given))
            return ESP_OK;
    char shown[300];
    struct text text;
    text_open(&text, shown, sizeof shown);
    describe(problem, given, &text);
    char wanted[200];
    struct text unmet;
    text_open(&unmet, wanted, sizeof wanted);
    if (abstract->n_rules > 0) /* the last one is the most general */
        describe_unmet(problem, &abstract->rules[abstract->n_rules - 1], given, &unmet);
    return error_set(error, ESP_INVALID, "%s: there is no problem for what is given (%s)%s%s", problem->name,
                     shown, wanted[0] ? ": expected" : "", wanted);
}

uint32_t abstract_rivals(const struct problem *problem, const struct given *given, uint32_t *rule,
                         uint32_t *rivals)
{
    const struct abstract *abstract = problem->abstract;
    uint32_t n = 0;
    do {
        if (fits(&abstract->rules[*rule], given))
            rivals[n++] = *rule;
        ++*rule;
    } while (*rule < abstract->n_rules && abstract->rules[*rule].rivals);
    return n;
}

void abstract_step_name(const struct step *step, const struct given *first, char *name, size_t size)
{
    uint32_t traits = traits_of(first);
    const char *letter = traits & TRAIT_COMPLEX  ? (traits & TRAIT_SINGLE ? "c" : "z")
                         : traits & TRAIT_SINGLE ? "s"
                                                 : "d";
    struct text text;
    text_open(&text, name, size);
    for (const char *at = step->problem; *at; at++)
        text_put_bytes(&text, *at == '?' ? letter : at, 1);
}

const char *trait_name(unsigned bit)
{
    static const char *const words[] = {"real", "complex", "single", "double", "square", "tall",
                                        "wide", "vector",  "sparse", "banded", "large"};
    return bit < sizeof words / sizeof *words ? words[bit] : NULL;
}

static void write_number(struct text *text, double value)
{
    const locale_t before = c_numbers_begin();
    text_printf(text, "%.17g", value);
    c_numbers_end(before);
}

static void write_pairs(struct text *text, const struct pair *pairs, uint32_t n, bool inner_first)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *first = inner_first ? pairs[i].inner : pairs[i].outer;
        const char *second = inner_first ? pairs[i].outer : pairs[i].inner;
        text_printf(text, "%s%s = ", i ? ", " : "", first);
        if (second)
            text_put(text, second);
        else if (pairs[i].is_character)
            text_printf(text, "'%c'", (char)pairs[i].value);
        else
            write_number(text, pairs[i].value);
    }
}

static void write_step(struct text *text, const struct step *step)
{
    text_put(text, step->problem);
    if (step->n_renamed) {
        text_put(text, "(");
        write_pairs(text, step->renamed, step->n_renamed, true);
        text_put(text, ")");
    }
    if (step->n_results) {
        text_put(text, " giving ");
        write_pairs(text, step->results, step->n_results, false);
    }
}

static void write_words(struct text *text, uint32_t set, const char *(*name)(unsigned bit))
{
    for (unsigned bit = 0; name(bit); bit++)
        if (set & (1U << bit))
            text_printf(text, " %s", name(bit));
}

void abstract_write_rule(const struct problem *problem, const struct rule *rule, struct text *text)
{
    text_put(text, rule->rivals ? "or " : "");
    text_put(text, rule->may_fail ? "try " : "take ");
    for (uint32_t i = 0; i < rule->n_steps; i++) {
        text_put(text, i ? " then " : "");
        write_step(text, &rule->steps[i]);
    }
    for (uint32_t i = 0; i < rule->n_wishes; i++) {
        text_printf(text, "%s%s", i ? ", " : " when ", problem->arguments[rule->wishes[i].input].name);
        write_words(text, rule->wishes[i].properties, property_name);
        write_words(text, rule->wishes[i].traits, trait_name);
    }
}

void abstract_rule_text(const struct problem *problem, uint32_t rule, char *text, size_t size)
{
    struct text writer;
    text_open(&writer, text, size);
    abstract_write_rule(problem, &problem->abstract->rules[rule], &writer);
}

/* Checks that the steps of abstract problems fit the problems that they name, if a set has these. */

/* Context of the check: receivers of errors, and the present problem. */
struct check {
    const struct problem *problem;
    void (*wrong)(void *arg, const struct esp_error *error);
    void *arg;
};

static const struct argument *find_argument(const struct problem *problem, const char *name)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].mode != MODE_WORK && strcmp(problem->arguments[i].name, name) == 0)
            return &problem->arguments[i];
    return NULL;
}

static void tell(const struct check *check, unsigned line, unsigned column, const char *text)
{
    struct esp_error error;
    error_set(&error, ESP_SYNTAX, "%s:%u:%u: %s: %s", check->problem->file, line, column,
              check->problem->name, text);
    check->wrong(check->arg, &error);
}

static void check_renamed(const struct check *check, const struct step *step, const struct problem *named)
{
    char text[400];
    for (uint32_t i = 0; i < step->n_renamed; i++) {
        const struct pair *pair = &step->renamed[i];
        if (find_argument(named, pair->inner))
            continue;
        snprintf(text, sizeof text, "expected an argument of %s (%s:%u), found '%s'", named->name,
                 named->file, named->line, pair->inner);
        tell(check, pair->line, pair->column, text);
    }
}

static void check_results(const struct check *check, const struct step *step, const struct problem *named)
{
    char text[400];
    for (uint32_t i = 0; i < step->n_results; i++) {
        const struct pair *pair = &step->results[i];
        if (find_argument(named, pair->inner))
            continue;
        snprintf(text, sizeof text, "expected an output of %s (%s:%u), found '%s'", named->name, named->file,
                 named->line, pair->inner);
        tell(check, pair->line, pair->column, text);
    }
}

static void check_named(const struct check *check, const struct step *step, const struct problem *named)
{
    char text[400];
    if (named->abstract) {
        snprintf(text, sizeof text,
                 named == check->problem
                     ? "expected a problem that does a part of it, found %s itself"
                     : "expected a problem that a server computes, found %s, which is abstract",
                 named->name);
        tell(check, step->line, step->column, text);
        return;
    }
    check_renamed(check, step, named);
    check_results(check, step, named);
}

/* A '?' outside a family stands for each letter; checking one letter is enough. */
static const struct problem *find_named(const struct problem_set *set, const char *name)
{
    const char *letter = "dszc";
    char spelt[PROBLEM_MAX_NAME + 1];
    const struct problem *found = NULL;
    for (; *letter && !found; letter++) {
        snprintf(spelt, sizeof spelt, "%s", name);
        for (char *at = spelt; *at; at++)
            *at = *at == '?' ? *letter : *at;
        found = problem_find(set, spelt);
    }
    return found;
}

/* Returns the most similar name in either set; NULL: none is similar. */
static const char *nearest(const struct problem_set *set, const struct problem_set *known, const char *name)
{
    char spelt[PROBLEM_MAX_NAME + 1];
    size_t n = set->n_problems + known->n_problems;
    const char **names = malloc(n * sizeof *names), *found;
    if (!names)
        return NULL;
    for (size_t i = 0; i < n; i++)
        names[i] = i < set->n_problems ? set->problems[i]->name : known->problems[i - set->n_problems]->name;
    snprintf(spelt, sizeof spelt, "%s", name);
    for (char *at = spelt; *at; at++)
        *at = *at == '?' ? 'd' : *at;
    found = names_closest(spelt, names, n);
    free(names);
    return found;
}

static void tell_unknown(const struct step *step, const struct problem *of, const char *near,
                         void (*unknown)(void *arg, const char *text), void *arg)
{
    char text[sizeof(struct esp_error)];
    snprintf(text, sizeof text,
             "%s:%u:%u: %s: there is no problem '%s', neither here nor among those that are installed%s%s%s",
             of->file, step->line, step->column, of->name, step->problem, near ? ": did you mean '" : "",
             near ? near : "", near ? "'?" : "");
    unknown(arg, text);
}

void abstract_check(const struct problem_set *set, const struct problem_set *known,
                    void (*wrong)(void *arg, const struct esp_error *error),
                    void (*unknown)(void *arg, const char *text), void *arg)
{
    for (size_t p = 0; p < set->n_problems; p++) {
        struct check check = {set->problems[p], wrong, arg};
        const struct abstract *abstract = check.problem->abstract;
        for (uint32_t r = 0; abstract && r < abstract->n_rules; r++)
            for (uint32_t s = 0; s < abstract->rules[r].n_steps; s++) {
                const struct step *step = &abstract->rules[r].steps[s];
                const struct problem *named = find_named(set, step->problem);
                if (!named && known)
                    named = find_named(known, step->problem);
                if (named)
                    check_named(&check, step, named);
                else if (known)
                    tell_unknown(step, check.problem, nearest(set, known, step->problem), unknown, arg);
            }
    }
}

bool abstract_gives_whole(const struct argument *argument)
{
    const uint32_t cut =
        PROPERTY_UPPER | PROPERTY_LOWER | PROPERTY_SYMMETRIC | PROPERTY_HERMITIAN | PROPERTY_UNIT_DIAGONAL;
    return argument->n_dims > 0 && !(argument->properties & cut);
}
