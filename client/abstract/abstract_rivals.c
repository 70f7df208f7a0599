/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of several rules that all fit is expected to end first, by the forecasts of the problems they name.
 */
#include "client/abstract/abstract_steps.h"
#include "fast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Within this the order of the description decides: forecasts are no better, and it knows more than times. */
#define CLEARLY_LESS 0.95
/* Asking for forecasts takes longer than small problems themselves: then the order of the description
 * decides.
 */
#define WORTH_ASKING 10000

struct sizes {
    struct fast_value values[PROBLEM_MAX_ARGUMENTS];
    size_t n;
};

static bool is_number(const struct esp_problem_argument *formal)
{
    return formal->mode != ESP_MODE_OUT && formal->n_dims == 0 && formal->type >= ESP_TYPE_CHAR &&
           formal->type <= ESP_TYPE_DOUBLE;
}

/* Scalars as the prepared values have them. */
static void sizes_of_values(const struct values *values, struct sizes *sizes)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &values->problem->arguments[i];
        const struct esp_argument *argument = &values->arguments[i];
        struct number number = {0};
        if (!is_number(formal))
            continue;
        if (argument->data)
            number = number_load((enum base_type)(formal->type - 1), argument->data);
        double value = number.kind == NUMBER_REAL ? number.real : (double)number.integer;
        if (!argument->data && argument->completed)
            value = formal->type >= ESP_TYPE_FLOAT ? argument->value.real : (double)argument->value.integer;
        if (argument->data || argument->completed)
            sizes->values[sizes->n++] = (struct fast_value){formal->name, value};
    }
}

/* Of a step whose matrices are not there yet: what goes by the names of its scalars. */
static void sizes_by_name(const struct abstract_run *run, const struct step *step,
                          const struct esp_problem *problem, struct sizes *sizes)
{
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &problem->arguments[i];
        const struct pair *pair = abstract_renamed(step, formal->name);
        if (!is_number(formal))
            continue;
        const struct matrix *known = abstract_find(run, pair && pair->outer ? pair->outer : formal->name);
        if (pair && !pair->outer)
            sizes->values[sizes->n++] = (struct fast_value){formal->name, pair->value};
        else if (known && known->rows == 1 && known->cols == 1)
            sizes->values[sizes->n++] = (struct fast_value){formal->name, known->values[0]};
    }
}

/* Seconds on the server where the step would be over first. False: nobody can say, or nobody takes it. */
static bool forecast_step(const struct abstract_run *run, const struct step *step, const char *name,
                          double *seconds)
{
    struct esp_problem *problem = NULL;
    struct values values = {0};
    struct sizes sizes = {.n = 0};
    struct fast_server *servers = NULL;
    struct esp_error why;
    size_t n = 0;
    const bool prepared = abstract_prepare_step(run, NULL, step, name, &problem, &values, &why) == ESP_OK;
    if (prepared)
        sizes_of_values(&values, &sizes);
    else if (problem)
        sizes_by_name(run, step, problem, &sizes);
    const struct fast_call call = {name, sizes.values, sizes.n};
    bool known = problem && fast_forecast(&call, &servers, &n) == ESP_OK;
    size_t i = 0;
    while (known && i < n && run->server && strcmp(servers[i].server, run->server) != 0)
        i++;
    known = known && i < n && !servers[i].excluded;
    if (known)
        *seconds = servers[i].total_s;
    fast_forecast_free(servers);
    values_clear(&values);
    esp_problem_free(problem);
    return known;
}

/* All steps of the rule; HUGE_VAL: not known. Steps that let go of a state have no sizes and cost nothing. */
static double forecast_rule(const struct abstract_run *run, const struct rule *rule,
                            const struct given *first)
{
    double sum = 0;
    for (uint32_t i = 0; i < rule->n_steps; i++) {
        char name[PROBLEM_MAX_NAME + 1];
        double seconds = 0;
        abstract_step_name(&rule->steps[i], first, name, sizeof name);
        if (!forecast_step(run, &rule->steps[i], name, &seconds))
            return HUGE_VAL;
        sum += seconds;
    }
    return sum;
}

static void note(struct abstract_run *run, const struct rule *rule, const struct given *first, double seconds)
{
    char name[PROBLEM_MAX_NAME + 1];
    size_t used = strlen(run->weighed);
    abstract_step_name(&rule->steps[0], first, name, sizeof name);
    if (isfinite(seconds))
        snprintf(run->weighed + used, sizeof run->weighed - used, "%s%s %.3g s", used ? ", " : "", name,
                 seconds);
    else
        snprintf(run->weighed + used, sizeof run->weighed - used, "%s%s not known", used ? ", " : "", name);
}

void abstract_order(struct abstract_run *run, uint32_t *rivals, uint32_t n, const struct given *first)
{
    double seconds[ABSTRACT_MAX_RULES];
    const struct rule *rules = run->problem->abstract->rules;
    *run->weighed = 0;
    if (first->rows * first->cols < WORTH_ASKING)
        return;
    run->is_weighing = true;
    for (uint32_t i = 0; i < n; i++) {
        seconds[i] = forecast_rule(run, &rules[rivals[i]], first);
        note(run, &rules[rivals[i]], first, seconds[i]);
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
    run->is_weighing = false;
}
