/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of several rules that all fit is expected to end first, by the forecasts of the problems they name;
 * and what the rule that would be taken would take.
 */
#include "client/abstract/abstract_steps.h"
#include "client/abstract/foresight.h"
#include "util/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Within this the order of the description decides: forecasts are no better, and it knows more than times. */
#define CLEARLY_LESS 0.95
/* Asking for forecasts takes longer than small problems themselves: then the order of the description
 * decides.
 */
#define WORTH_ASKING 10000

/* A chain goes by the names of all its steps: rivals may begin alike. */
static void note(struct abstract_run *run, const struct rule *rule, const struct given *first, double seconds)
{
    char name[PROBLEM_MAX_NAME + 1], number[32] = "not known";
    struct text text;
    const size_t used = strlen(run->weighed);
    text_open(&text, run->weighed + used, sizeof run->weighed - used);
    for (uint32_t i = 0; i < rule->n_steps; i++) {
        abstract_step_name(&rule->steps[i], first, name, sizeof name);
        text_printf(&text, "%s%s", i ? " + " : used ? ", " : "", name);
    }
    if (isfinite(seconds))
        snprintf(number, sizeof number, "%.3g s", seconds);
    text_printf(&text, " %s", number);
}

/* A chain's first step goes where all of its steps would be over first. Without memory it goes where the
 * agents say. */
static void plan(struct abstract_run *run, uint32_t rule, const struct foresight *foresight)
{
    free(run->planned[rule]);
    run->planned[rule] = strdup(foresight_first_at(foresight));
}

void abstract_forget_plans(struct abstract_run *run)
{
    for (uint32_t i = 0; i < ABSTRACT_MAX_RULES; i++) {
        free(run->planned[i]);
        run->planned[i] = NULL;
    }
}

static bool is_worth_asking(const struct given *first)
{
    return first->rows * first->cols >= WORTH_ASKING;
}

/* Below this number of elements the arguments of a step are made sooner than a forecast comes. */
#define WORTH_CHECKING 1000000

static bool lacks_memory(struct abstract_run *run, uint32_t rule, const struct given *first, bool of_all,
                         struct esp_error *error)
{
    struct foresight *foresight = NULL;
    struct esp_error unimportant;
    bool lacks = false;
    if (foresight_of_run(run, first, &foresight, &unimportant) != ESP_OK)
        return false;
    if (of_all)
        foresight_ask_all(foresight);
    run->is_weighing = true;
    lacks = foresight_rule(foresight, rule, NULL) && foresight_lacks_memory(foresight, error);
    run->is_weighing = false;
    foresight_destroy(foresight);
    return lacks;
}

enum esp_status abstract_check_room(struct abstract_run *run, uint32_t rule, const struct given *first,
                                    struct esp_error *error)
{
    const bool is_large = (double)first->rows * (double)first->cols >= WORTH_CHECKING;
    return is_large && lacks_memory(run, rule, first, false, error) &&
                   lacks_memory(run, rule, first, true, error)
               ? ESP_NO_SERVER
               : ESP_OK;
}

const char *abstract_plan_rule(struct abstract_run *run, uint32_t rule, const struct given *first)
{
    struct foresight *foresight = NULL;
    struct esp_error unimportant; /* then the agents say */
    const bool is_open = run->problem->abstract->rules[rule].n_steps > 1 && !run->server &&
                         !run->options->server && is_worth_asking(first);
    if (is_open && !run->planned[rule] && foresight_of_run(run, first, &foresight, &unimportant) == ESP_OK) {
        run->is_weighing = true;
        if (foresight_rule(foresight, rule, NULL))
            plan(run, rule, foresight);
        run->is_weighing = false;
        foresight_destroy(foresight);
    }
    return is_open && run->planned[rule] ? run->planned[rule] : "";
}

static void order_by(struct abstract_run *run, struct foresight *foresight, uint32_t *rivals, uint32_t n,
                     const struct given *first)
{
    double seconds[ABSTRACT_MAX_RULES];
    for (uint32_t i = 0; i < n; i++) {
        foresight_rule(foresight, rivals[i], &seconds[i]);
        plan(run, rivals[i], foresight);
        note(run, &run->problem->abstract->rules[rivals[i]], first, seconds[i]);
        /* A later one passes those before it when it is clearly quicker. */
        for (uint32_t k = i; k > 0 && seconds[k] < CLEARLY_LESS * seconds[k - 1]; k--) {
            const double other_s = seconds[k];
            const uint32_t other = rivals[k];
            seconds[k] = seconds[k - 1];
            rivals[k] = rivals[k - 1];
            seconds[k - 1] = other_s;
            rivals[k - 1] = other;
        }
    }
}

void abstract_order(struct abstract_run *run, uint32_t *rivals, uint32_t n, const struct given *first)
{
    struct foresight *foresight = NULL;
    struct esp_error unimportant; /* then the order of the description decides */
    *run->weighed = 0;
    if (!is_worth_asking(first) || foresight_of_run(run, first, &foresight, &unimportant) != ESP_OK)
        return;
    run->is_weighing = true;
    order_by(run, foresight, rivals, n, first);
    run->is_weighing = false;
    foresight_destroy(foresight);
}

enum esp_status abstract_foresee(struct abstract_run *run, struct fast_step **steps, size_t *n,
                                 struct esp_error *error)
{
    struct given given[PROBLEM_MAX_ARGUMENTS];
    struct foresight *foresight = NULL;
    uint32_t rivals[ABSTRACT_MAX_RULES], first, rule = 0, n_rivals = 0;
    bool whole = true;
    enum esp_status status = abstract_look(run, given, &first, error);
    if (status == ESP_OK)
        status = abstract_resolve(run->problem, given, &rule, error);
    if (status == ESP_OK) {
        n_rivals = abstract_rivals(run->problem, given, &rule, rivals);
        if (n_rivals > 1)
            abstract_order(run, rivals, n_rivals, &given[first]);
        status = foresight_of_run(run, &given[first], &foresight, error);
    }
    if (status != ESP_OK)
        return status;
    run->is_weighing = true;
    for (uint32_t i = 0; i < n_rivals && whole; i++)
        whole = foresight_rule(foresight, rivals[i], NULL);
    run->is_weighing = false;
    if (!whole) {
        foresight_destroy(foresight);
        return error_no_memory(error, "the forecasts");
    }
    *steps = foresight_end(foresight, n);
    return ESP_OK;
}
