/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the steps of abstract problems fit the problems that they name, as far as a set knows those.
 */
#include "core/abstract.h"

#include <stdio.h>
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

void abstract_check(const struct problem_set *set, void (*wrong)(void *arg, const struct esp_error *error),
                    void *arg)
{
    for (size_t p = 0; p < set->n_problems; p++) {
        struct check check = {set->problems[p], wrong, arg};
        const struct abstract *abstract = check.problem->abstract;
        for (uint32_t r = 0; abstract && r < abstract->n_rules; r++)
            for (uint32_t s = 0; s < abstract->rules[r].n_steps; s++) {
                const struct step *step = &abstract->rules[r].steps[s];
                const struct problem *named = find_named(set, step->problem);
                if (named)
                    check_named(&check, step, named);
            }
    }
}
