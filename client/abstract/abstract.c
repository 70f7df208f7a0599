/* SPDX-License-Identifier: Apache-2.0
 *
 * Which rule, and its steps one after the other.
 */
#include "client/abstract/abstract.h"
#include "client/abstract/abstract_steps.h"
#include "client/describe.h"
#include "client/session/engine.h"
#include "util/clock.h"

#include "util/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a rule ---- */

static void append(char *text, size_t size, const char *separator, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? separator : "", more);
}

/* Whether a step takes nothing but states that are there. */
static bool only_ends_states(const struct abstract_run *run, const struct step *step,
                             const struct esp_problem *problem)
{
    uint32_t n = 0;
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &problem->arguments[i];
        const struct pair *pair = abstract_renamed(step, formal->name);
        if (formal->type != ESP_TYPE_STATE ||
            !abstract_find_state(run, pair && pair->outer ? pair->outer : formal->name))
            return false;
        n++;
    }
    return n > 0;
}

/* A rule that has failed does not leave its states behind: the steps that end them are made. */
static void end_states(struct abstract_run *run, const struct rule *rule, uint32_t from,
                       const struct given *first)
{
    for (uint32_t i = from; i < rule->n_steps; i++) {
        char name[PROBLEM_MAX_NAME + 1];
        struct esp_problem *problem = NULL;
        struct esp_error unimportant;
        abstract_step_name(&rule->steps[i], first, name, sizeof name);
        if (problem_describe_soon(name, &problem) == ESP_OK &&
            only_ends_states(run, &rule->steps[i], problem))
            abstract_do_step(run, rule, &rule->steps[i], name, "", &unimportant);
        esp_problem_free(problem);
    }
}

static enum esp_status do_rule(struct abstract_run *run, const struct rule *rule, const struct given *first,
                               struct esp_error *error)
{
    const uint32_t number = (uint32_t)(rule - run->problem->abstract->rules);
    *run->taken = *run->at = 0;
    abstract_forget_infos(run);
    abstract_rule_text(run->problem, number, run->rule, sizeof run->rule);
    const char *wanted = abstract_plan_rule(run, number, first);
    for (uint32_t i = 0; i < rule->n_steps; i++) {
        char name[PROBLEM_MAX_NAME + 1];
        abstract_step_name(&rule->steps[i], first, name, sizeof name);
        append(run->taken, sizeof run->taken, ", ", name);
        enum esp_status status =
            abstract_do_step(run, rule, &rule->steps[i], name, i == 0 ? wanted : "", error);
        if (status != ESP_OK) {
            struct esp_error why = *error;
            end_states(run, rule, i + 1, first);
            *error = why;
            return strncmp(why.text, name, strlen(name)) == 0 ? status : error_prefix(error, "%s", name);
        }
    }
    return ESP_OK;
}

/* After a failure the next rule has its turn: when the rule says so and it was the computation that failed;
 * when nobody has the problem, or can take it now; or when what this one needs is too large (its arrays here,
 * or its memory there: another may do with less); and when its solution is wrong. */
static bool goes_on(const struct rule *rule, enum esp_status status)
{
    return (rule->may_fail && status == ESP_FAILED) || abstract_is_missing(status) ||
           status == ESP_NO_MEMORY || status == ESP_LIMIT || status == ESP_INACCURATE;
}

/* The newest failure is the error itself, so what was before it ends in front of it. */
static void cut_history(struct abstract_run *run, const struct esp_error *newest)
{
    size_t length = strlen(run->passed_over), own = strlen(newest->text);
    if (length >= own && strcmp(run->passed_over + length - own, newest->text) == 0)
        run->passed_over[length > own + 1 ? length - own - 2 : 0] = 0;
}

static void add_history(const struct abstract_run *run, struct esp_error *error)
{
    size_t used = strlen(error->text);
    if (*run->passed_over)
        snprintf(error->text + used, sizeof error->text - used, "; before: %s", run->passed_over);
}

/* The rivals one after the other, the one first that is expected to end first. ESP_PENDING: all of them have
 * given way. */
static enum esp_status do_rivals(struct abstract_run *run, uint32_t *rivals, uint32_t n,
                                 const struct given *first, struct esp_error *error)
{
    const struct rule *rules = run->problem->abstract->rules;
    if (n > 1)
        abstract_order(run, rivals, n, first);
    for (uint32_t i = 0; i < n; i++) {
        struct esp_error why = {0};
        enum esp_status status = abstract_check_room(run, rivals[i], first, &why);
        if (status == ESP_OK)
            status = do_rule(run, &rules[rivals[i]], first, &why);
        if (status == ESP_OK)
            status = abstract_check_solution(run, &why);
        if (status == ESP_OK)
            return ESP_OK;
        *error = why;
        if (!goes_on(&rules[rivals[i]], status))
            return status;
        if (!*run->passed_over)
            run->passed_status = status;
        run->lacked_memory |= status == ESP_NO_MEMORY;
        append(run->passed_over, sizeof run->passed_over, "; ", why.text);
        abstract_forget_after(run, run->n_given);
    }
    return ESP_PENDING;
}

static void write_number(struct text *text, const struct matrix *matrix, const char *name, int64_t row,
                         int64_t col)
{
    double re, im;
    matrix_element(matrix, row, col, &re, &im);
    text_printf(text, "%s(%lld,%lld) = %.6g", name, (long long)row + 1, (long long)col + 1, re);
    if (matrix->is_complex)
        text_printf(text, "%+.6gi", im);
}

/* "; A(2,1) = 3, but A(1,2) = 4: 1 apart, rounding would be 2.8e-14" */
static void write_asymmetry(struct text *text, const struct matrix *matrix, const char *name, double epsilon,
                            int64_t row, int64_t col)
{
    double re, im, other_re, other_im;
    matrix_element(matrix, row, col, &re, &im);
    matrix_element(matrix, col, row, &other_re, &other_im);
    text_put(text, "; ");
    write_number(text, matrix, name, row, col);
    text_put(text, ", but ");
    write_number(text, matrix, name, col, row);
    text_printf(text, ": %.2g apart%s, rounding would be %.2g", hypot(re - other_re, im + other_im),
                matrix->is_complex ? " when one is conjugated" : "",
                matrix_asymmetry_bound(matrix, epsilon, row, col));
}

/* Where a matrix is not what the last rule asks for. */
static void tell_asymmetry(const struct abstract_run *run, const struct given *given, struct esp_error *error)
{
    const struct abstract *abstract = run->problem->abstract;
    const struct rule *rule = &abstract->rules[abstract->n_rules - 1];
    size_t used = strlen(error->text);
    struct text text;
    text_open(&text, error->text + used, sizeof error->text - used);
    for (uint32_t i = 0; i < rule->n_wishes; i++) {
        const struct wish *wish = &rule->wishes[i];
        const struct given *input = &given[wish->input];
        uint32_t wanted = PROPERTY_HERMITIAN | (input->type < TYPE_COMPLEX ? PROPERTY_SYMMETRIC : 0);
        const char *name = run->problem->arguments[wish->input].name;
        const struct matrix *matrix = abstract_find(run, name);
        double epsilon = abstract_epsilon(input->type);
        int64_t row, col;
        if ((wish->properties & ~input->properties & wanted) && matrix && matrix->rows == matrix->cols &&
            !matrix_is_symmetric(matrix, epsilon, &row, &col))
            write_asymmetry(&text, matrix, name, epsilon, row, col);
    }
}

static enum esp_status execute(struct abstract_run *run, struct esp_error *error)
{
    struct given given[PROBLEM_MAX_ARGUMENTS];
    uint32_t rivals[ABSTRACT_MAX_RULES], first;
    struct esp_error last = {0}; /* of a rule that has given way */
    enum esp_status status = abstract_look(run, given, &first, error);
    for (uint32_t i = 0; status == ESP_OK;) {
        last = *run->passed_over ? *error : last;
        status = abstract_resolve(run->problem, given, &i, error);
        if (status != ESP_OK && last.status != ESP_OK) { /* nobody is left to give way to */
            *error = last;
            status = last.status;
            cut_history(run, &last);
            break;
        }
        if (status != ESP_OK) {
            tell_asymmetry(run, given, error);
            break;
        }
        uint32_t n = abstract_rivals(run->problem, given, &i, rivals);
        status = do_rivals(run, rivals, n, &given[first], error);
        if (status == ESP_OK)
            return ESP_OK;
        if (status == ESP_PENDING)
            status = ESP_OK;
    }
    add_history(run, error);
    return status;
}

/* What is asked for before, between and behind the calls ends with them. */
enum esp_status abstract_execute(struct abstract_run *run, struct esp_error *error)
{
    const bool ends = abstract_time_left(run->options->deadline_s, &run->until_ns) > 0;
    const int64_t before_ns = deadline_begin(ends ? run->until_ns : CLOCK_NEVER);
    const enum esp_status status = execute(run, error);
    deadline_end(before_ns);
    return status;
}

/* ---- as a job ---- */

/* The job's results go by the names of its own problem. */
static enum esp_status submit_step(struct abstract_run *run, const struct step *step, const char *name,
                                   bool listed, struct esp_job **job, struct esp_error *error)
{
    struct esp_problem *problem = NULL;
    struct values values = {0};
    grpc_function_handle_t handle;
    enum esp_status status = abstract_prepare_step(run, NULL, step, name, &problem, &values, error);
    if (status == ESP_OK)
        status = abstract_make_handle(run, name, &handle, error);
    if (status == ESP_OK) {
        status = esp_job_submit(&handle, values.arguments, problem->n_arguments, run->options, listed, job);
        if (status != ESP_OK)
            abstract_last_error(error);
        grpc_function_handle_destruct(&handle);
    }
    values_clear(&values);
    esp_problem_free(problem);
    return status;
}

static enum esp_status submit_rule(struct abstract_run *run, uint32_t index, const struct given *first,
                                   bool listed, struct esp_job **job, struct esp_error *error)
{
    const struct step *step = &run->problem->abstract->rules[index].steps[0];
    char name[PROBLEM_MAX_NAME + 1];
    abstract_step_name(step, first, name, sizeof name);
    snprintf(run->taken, sizeof run->taken, "%s", name);
    enum esp_status status = abstract_check_room(run, index, first, error);
    return status != ESP_OK ? status : submit_step(run, step, name, listed, job, error);
}

static enum esp_status only_chains(const struct abstract_run *run, uint32_t chain, struct esp_error *error)
{
    char text[300];
    abstract_rule_text(run->problem, chain, text, sizeof text);
    return error_set(error, ESP_INVALID,
                     "%s cannot be submitted: '%s' is several steps, between which the results pass through "
                     "the client; call it, or submit the problems that do it",
                     run->problem->name, text);
}

#define NO_RULE UINT32_MAX

/* The first rule that fits, is one step and need not be followed by another; a trial when there is no such.
 */
enum esp_status abstract_submit(struct abstract_run *run, bool listed, struct esp_job **job,
                                struct esp_error *error)
{
    struct given given[PROBLEM_MAX_ARGUMENTS];
    const struct rule *rules = run->problem->abstract->rules;
    uint32_t first, trial = NO_RULE, chain = NO_RULE;
    struct esp_error missing = {0};
    enum esp_status status = abstract_look(run, given, &first, error);
    *job = NULL;
    for (uint32_t i = 0; status == ESP_OK; i++) {
        status = abstract_resolve(run->problem, given, &i, error);
        if (status != ESP_OK)
            break;
        if (rules[i].n_steps > 1) {
            chain = chain == NO_RULE ? i : chain;
        } else if (rules[i].may_fail) {
            trial = trial == NO_RULE ? i : trial;
        } else {
            status = submit_rule(run, i, &given[first], listed, job, error);
            if (!abstract_is_missing(status))
                return status;
            missing = *error;
            status = ESP_OK;
        }
    }
    if (status == ESP_INVALID && trial != NO_RULE)
        return submit_rule(run, trial, &given[first], listed, job, error);
    if (status == ESP_INVALID && chain != NO_RULE)
        return only_chains(run, chain, error);
    if (status == ESP_INVALID && missing.status != ESP_OK)
        *error = missing;
    return status == ESP_INVALID ? error->status : status;
}
