/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/calibrate/calibrate_state.h"

#include <stdio.h>
#include <string.h>

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

bool state_is_taken(const struct problem *problem)
{
    const int index = problem_state_index(problem);
    return index >= 0 && argument_is_input(&problem->arguments[index]);
}

/* The first problem that is named in the text and leaves a state. */
static const struct problem *find_named(const struct problem_set *problems, const char *text)
{
    char word[PROBLEM_MAX_NAME + 1];
    while (*(text += strcspn(text, NAME_CHARACTERS))) {
        const size_t length = strspn(text, NAME_CHARACTERS);
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        const struct problem *found = length < sizeof word ? problem_find(problems, word) : NULL;
        const int index = found ? problem_state_index(found) : -1;
        if (index >= 0 && found->arguments[index].mode == MODE_OUT)
            return found;
        text += length;
    }
    return NULL;
}

static const struct problem *find_opener(const struct calibration *calibration, const struct problem *problem)
{
    const struct problem_set *problems = calibration->options.problems;
    const struct problem *found = NULL;
    if (!problems)
        return NULL;
    found = find_named(problems, problem->arguments[problem_state_index(problem)].text);
    if (!found)
        found = find_named(problems, problem->title);
    return found ? found : find_named(problems, problem->text);
}

/* The sizes of the opener, as a call of the problem has them by the same names. False: one has no such name.
 */
static bool take_sizes(const struct design *design, const struct problem *problem,
                       const struct design_point *point, int64_t *sizes)
{
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        const int index = problem_argument_index(problem, design->problem->arguments[design->sizes[i]].name);
        if (index < 0 || problem->arguments[index].n_dims > 0)
            return false;
        sizes[i] = point ? point->scope[index].integer : 0;
    }
    return true;
}

enum esp_status state_check(const struct calibration *calibration, const struct problem *problem,
                            struct esp_error *error)
{
    const struct problem *opener = find_opener(calibration, problem);
    int64_t sizes[COST_MOST_VARIABLES];
    struct design design;
    if (!opener)
        return error_set(error, ESP_INVALID,
                         "%s is not measured: its description names no problem here that leaves such a state",
                         problem->name);
    if (design_begin(opener, &design, error) != ESP_OK)
        return error_prefix(error, "%s is not measured", problem->name);
    return take_sizes(&design, problem, NULL, sizes)
               ? ESP_OK
               : error_set(error, ESP_INVALID,
                           "%s is not measured: it has not all sizes of %s, whose state it takes",
                           problem->name, opener->name);
}

enum esp_status state_make(struct calibration *calibration, const struct problem *problem,
                           const struct design_point *point, uint64_t *kept, struct esp_error *error)
{
    const struct problem *opener = find_opener(calibration, problem);
    int64_t sizes[COST_MOST_VARIABLES];
    struct design_point opened = {.x = {0}};
    struct measured_call call;
    struct design design;
    double seconds, cpu_s;
    *kept = 0;
    if (!opener)
        return state_check(calibration, problem, error);
    enum esp_status status = design_begin(opener, &design, error);
    if (status == ESP_OK &&
        (!take_sizes(&design, problem, point, sizes) || !design_at(&design, 0, sizes, &opened)))
        status = error_set(error, ESP_INVALID, "%s takes no such sizes", opener->name);
    if (status == ESP_OK)
        status = measured_open(opener, &opened, &calibration->random, &call, error);
    if (status != ESP_OK)
        return status;
    call.keeps = true;
    status = measured_run(calibration, &call, &seconds, &cpu_s, NULL, error);
    if (status == ESP_OK && !calibration->end.keeps_state)
        status = error_set(error, ESP_FAILED, "%s has left no state", opener->name);
    if (status == ESP_OK)
        *kept = call.job.id;
    measured_close(&call);
    return status;
}

void state_drop(struct calibration *calibration, uint64_t kept)
{
    const struct workers_ops *ops = calibration->workers->ops;
    if (kept && ops->drop)
        ops->drop(calibration->workers, kept);
}
