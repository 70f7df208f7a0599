/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of the results of an abstract problem's steps: they come here, stay on the server as data, or
 * are left there as nobody asks for them.
 */
#include "client/abstract/abstract_steps.h"
#include "client/arguments/signature.h"
#include "client/arguments/values_storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct abstract_fate *find_fate(const struct abstract_run *run, const char *name)
{
    const int index = run->fates ? problem_argument_index(run->problem, name) : -1;
    return index < 0 ? NULL : &run->fates[index];
}

static enum esp_status set_fate(struct abstract_run *run, uint32_t index, const struct abstract_fate *fate,
                                struct esp_error *error)
{
    if (!run->fates)
        run->fates = calloc(run->problem->n_arguments, sizeof *run->fates);
    if (!run->fates)
        return error_no_memory(error, "what becomes of the results");
    run->fates[index] = *fate;
    return ESP_OK;
}

bool abstract_gives_whole(const struct argument *argument)
{
    const uint32_t cut =
        PROPERTY_UPPER | PROPERTY_LOWER | PROPERTY_SYMMETRIC | PROPERTY_HERMITIAN | PROPERTY_UNIT_DIAGONAL;
    return argument->n_dims > 0 && !(argument->properties & cut);
}

enum esp_status abstract_keep(struct abstract_run *run, uint32_t index, const char *word, int64_t rows,
                              int64_t cols, struct esp_error *error)
{
    const struct argument *argument = &run->problem->arguments[index];
    struct abstract_fate fate = {.rows = rows, .cols = cols};
    if (!abstract_gives_whole(argument))
        return error_set(
            error, ESP_INVALID,
            "-o %s=%s: %s makes it out of what the routine leaves, so it comes here: name a file, "
            "and 'espalier data put' it",
            argument->name, word, run->problem->name);
    if (snprintf(fate.word, sizeof fate.word, "%s", word) >= (int)sizeof fate.word)
        return error_set(error, ESP_INVALID, "-o %s: the mode of the datum is too long", argument->name);
    return set_fate(run, index, &fate, error);
}

enum esp_status abstract_keep_or_bring(struct abstract_run *run, uint32_t index, enum datum_mode mode,
                                       uint32_t flags, int64_t rows, int64_t cols, struct esp_error *error)
{
    const struct abstract_fate fate = {.word =
                                           "data:", /* the copy that a mode wants is the caller's matter */
                                       .may_come = true,
                                       .mode = mode,
                                       .flags = flags,
                                       .rows = rows,
                                       .cols = cols};
    return set_fate(run, index, &fate, error);
}

enum esp_status abstract_leave(struct abstract_run *run, uint32_t index, struct esp_error *error)
{
    return set_fate(run, index, &(struct abstract_fate){.unwanted = true}, error);
}

void abstract_fates_destroy(struct abstract_run *run)
{
    for (uint32_t i = 0; run->fates && i < run->problem->n_arguments; i++)
        free(run->fates[i].identity);
    free(run->fates);
    run->fates = NULL;
}

static bool gives(const struct step *step, const char *name)
{
    for (uint32_t i = 0; i < step->n_results; i++)
        if (strcmp(step->results[i].outer, name) == 0)
            return true;
    return false;
}

/* The step that a result is of: the last one that says so, else the last one. */
static const struct step *source_of(const struct rule *rule, const char *name)
{
    for (uint32_t i = rule->n_steps; i-- > 0;)
        if (gives(&rule->steps[i], name))
            return &rule->steps[i];
    return &rule->steps[rule->n_steps - 1];
}

/* Where what the step gives by that name stays on its server; else NULL. */
static struct abstract_fate *kept_here(const struct abstract_run *run, const struct rule *rule,
                                       const struct step *step, const char *name)
{
    struct abstract_fate *fate = rule ? find_fate(run, name) : NULL;
    return fate && *fate->word && source_of(rule, name) == step ? fate : NULL;
}

/* The same of an output of the step's problem, by any of its names. */
static struct abstract_fate *kept_output(const struct abstract_run *run, const struct rule *rule,
                                         const struct step *step, const char *inner)
{
    const char *names[ABSTRACT_MAX_PAIRS + 1];
    const uint32_t n = abstract_names(step, inner, names);
    struct abstract_fate *fate = NULL;
    for (uint32_t k = 0; k < n && !fate; k++)
        fate = kept_here(run, rule, step, names[k]);
    return fate;
}

bool abstract_is_wanted(const struct abstract_run *run, const struct rule *rule, const struct step *step,
                        const char *name)
{
    if (kept_here(run, rule, step, name))
        return false;
    if (!rule || step != &rule->steps[rule->n_steps - 1])
        return true; /* steps take inputs by names that only their problems tell */
    const int index = problem_argument_index(run->problem, name);
    const struct abstract_fate *fate = find_fate(run, name);
    return index >= 0 && run->problem->arguments[index].mode == MODE_OUT && !(fate && fate->unwanted);
}

static bool is_wanted_output(const struct abstract_run *run, const struct rule *rule, const struct step *step,
                             const char *inner)
{
    const char *names[ABSTRACT_MAX_PAIRS + 1];
    const uint32_t n = abstract_names(step, inner, names);
    for (uint32_t k = 0; k < n; k++)
        if (abstract_is_wanted(run, rule, step, names[k]))
            return true;
    return false;
}

static enum esp_status keep_output(struct values *values, size_t index, const char *word,
                                   struct esp_error *error)
{
    char text[PROBLEM_MAX_NAME + sizeof((struct abstract_fate *)0)->word + 2];
    snprintf(text, sizeof text, "%s=%s", values->problem->arguments[index].name, word);
    enum esp_status status = values_save_to(values, text, error);
    values->some_saved = false; /* the others are asked for one by one */
    return status;
}

/* A sparse result is several arrays, which go by names of the step's problem only. */
static bool gives_sparse(const struct values *values)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++)
        if (argument_out(&values->problem->arguments[i]) &&
            values_argument(values, i)->storage >= STORAGE_CSC)
            return true;
    return false;
}

enum esp_status abstract_arrange(const struct abstract_run *run, const struct rule *rule,
                                 const struct step *step, struct values *values, struct esp_error *error)
{
    const bool sparse = gives_sparse(values);
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < values->problem->n_arguments && status == ESP_OK; i++) {
        const struct esp_problem_argument *formal = &values->problem->arguments[i];
        if (!argument_out(formal) || formal->n_dims == 0 || formal->type >= ESP_TYPE_STRING)
            continue;
        const struct abstract_fate *fate = kept_output(run, rule, step, formal->name);
        if (fate)
            status = keep_output(values, i, fate->word, error);
        else
            values->slots[i].is_unwanted = !sparse && !is_wanted_output(run, rule, step, formal->name);
    }
    return status;
}

enum esp_status abstract_check_kept(struct abstract_run *run, const struct rule *rule,
                                    const struct step *step, const struct values *values, bool *again,
                                    struct esp_error *error)
{
    *again = false;
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct esp_argument *argument = &values->arguments[i];
        const char *inner = values->problem->arguments[i].name;
        struct abstract_fate *fate = values->slots[i].is_kept ? kept_output(run, rule, step, inner) : NULL;
        const int64_t cols = argument->n_dims > 1 ? argument->dims[1] : 1;
        const bool part = fate && (argument->dims[0] != fate->rows || cols != fate->cols);
        if (part && fate->may_come) {
            *fate->word = 0;
            *again = true;
        } else if (part)
            return error_set(
                error, ESP_INVALID,
                "%s gives %lld x %lld as %s, of which the result is a part, %lld x %lld: it cannot stay "
                "there; name a file, and 'espalier data put' it",
                values->problem->name, (long long)argument->dims[0], (long long)cols, inner,
                (long long)fate->rows, (long long)fate->cols);
    }
    return ESP_OK;
}

void abstract_say_kept(const struct abstract_run *run, const struct rule *rule, const struct step *step,
                       struct invocation *invocation)
{
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const char *inner = invocation->function->problem->arguments[value->index].name;
        const struct abstract_fate *fate = value->is_kept ? kept_output(run, rule, step, inner) : NULL;
        if (!fate || !fate->may_come)
            continue;
        value->kept_mode = fate->mode;
        value->kept_flags |= fate->flags;
    }
}

bool abstract_note_kept(struct abstract_run *run, const struct rule *rule, const struct step *step,
                        struct values *values, size_t index)
{
    if (!values->slots[index].is_kept)
        return false;
    struct abstract_fate *fate = kept_output(run, rule, step, values->problem->arguments[index].name);
    if (fate) {
        free(fate->identity);
        fate->identity = values->slots[index].kept;
        values->slots[index].kept = NULL;
    }
    return true;
}
