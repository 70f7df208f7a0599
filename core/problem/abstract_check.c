/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the steps of abstract problems fit the problems that they name, as far as a set knows those.
 */
#include "core/problem/abstract.h"

#include "util/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where mistakes go, and what they are of. */
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

/* A '?' that no family replaced stands for each letter; one of them is enough to look at. */
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

/* The name that was probably meant, of either set; NULL: none is near. */
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
