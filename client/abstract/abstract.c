/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses among several rules that fit: the one that is expected to end first, by the forecasts for the
 * problems of its steps. Also forecasts the chosen rule.
 */
#include "client/abstract/abstract.h"
#include "client/abstract/abstract_steps.h"
#include "client/abstract/call_forecast.h"
#include "client/abstract/foresight.h"
#include "client/arguments/describe.h"
#include "client/arguments/hooks.h"
#include "core/values/signature.h"
#include "core/values/values_storage.h"
#include "client/data/binding.h"
#include "client/jobs/job.h"
#include "client/session/library.h"
#include "core/data/datum_section.h"
#include "util/clock.h"
#include "util/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool abstract_is_wanted(const struct abstract_run *run, const struct rule *rule,
                               const struct step *step, const char *name);
static enum esp_status abstract_arrange(const struct abstract_run *run, const struct rule *rule,
                                        const struct step *step, struct values *values,
                                        struct esp_error *error);
static enum esp_status abstract_check_kept(struct abstract_run *run, const struct rule *rule,
                                           const struct step *step, const struct values *values, bool *again,
                                           struct esp_error *error);
static void abstract_say_kept(const struct abstract_run *run, const struct rule *rule,
                              const struct step *step, struct invocation *invocation);
static bool abstract_note_kept(struct abstract_run *run, const struct rule *rule, const struct step *step,
                               struct values *values, size_t index);

/* If times differ by less than this, the order in the description decides: forecasts are not more
 * accurate, and that order considers more than time. */
#define CLEARLY_LESS 0.95

/* For smaller problems, asking for forecasts takes longer than the computation, so the order in the
 * description decides.
 */
#define WORTH_ASKING 10000

/* A chain is named after all its steps, because rivals may begin alike. */
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

/* The first step of a chain goes to the server on which all steps together would end first. Without memory
 * the agents choose. */
static void plan_rival(struct abstract_run *run, uint32_t rule, const struct foresight *foresight)
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

/* With fewer elements, the arguments of a step are made faster than a forecast arrives. */
#define WORTH_CHECKING 1000000

static bool lacks_memory(struct abstract_run *run, uint32_t rule, const struct given *first, bool of_all,
                         uint64_t *bytes, struct esp_error *error)
{
    struct foresight *foresight = NULL;
    struct esp_error unimportant;
    bool lacks = false;
    if (foresight_of_run(run, first, &foresight, &unimportant) != ESP_OK)
        return false;
    if (of_all)
        foresight_ask_all(foresight);
    run->is_weighing = true;
    lacks = foresight_rule(foresight, rule, NULL) && foresight_lacks_memory(foresight, bytes, error);
    run->is_weighing = false;
    foresight_destroy(foresight);
    return lacks;
}

/* Checks that a server has the memory for the first step of the rule, by the extents of the inputs. Does
 * not ask for small matrices. Returns ESP_NO_SERVER if no server of any master agent has it; the text says
 * how much is lacking, *bytes how much the step takes. Called before a step's arguments are made, because
 * these may take more memory than the inputs. */
static enum esp_status abstract_check_room(struct abstract_run *run, uint32_t rule, const struct given *first,
                                           uint64_t *bytes, struct esp_error *error)
{
    const bool is_large = (double)first->rows * (double)first->cols >= WORTH_CHECKING;
    const bool lacks = is_large && lacks_memory(run, rule, first, false, bytes, error) &&
                       lacks_memory(run, rule, first, true, bytes, error);
    *bytes = lacks ? *bytes : 0;
    return lacks ? ESP_NO_SERVER : ESP_OK;
}

static const char *abstract_plan_rule(struct abstract_run *run, uint32_t rule, const struct given *first)
{
    struct foresight *foresight = NULL;
    struct esp_error unimportant; /* then the agents choose */
    const bool is_open = run->problem->abstract->rules[rule].n_steps > 1 && !run->server &&
                         !run->options->server && is_worth_asking(first);
    if (is_open && !run->planned[rule] && foresight_of_run(run, first, &foresight, &unimportant) == ESP_OK) {
        run->is_weighing = true;
        if (foresight_rule(foresight, rule, NULL))
            plan_rival(run, rule, foresight);
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
        plan_rival(run, rivals[i], foresight);
        note(run, &run->problem->abstract->rules[rivals[i]], first, seconds[i]);
        /* A later rule passes earlier ones if it is clearly quicker. */
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

/* Sorts rivals (abstract_rivals()) by their expected times, and notes these in run->weighed. Rivals
 * without a forecast keep their order behind the others. */
static void abstract_order(struct abstract_run *run, uint32_t *rivals, uint32_t n, const struct given *first)
{
    struct foresight *foresight = NULL;
    struct esp_error unimportant; /* then the order in the description decides */
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

/* One step of a rule: gathers the arguments of its problem, calls it, and takes its results. */

int64_t abstract_wanted_rows(const struct abstract_run *run, const struct problem *problem,
                             const struct argument *argument)
{
    struct number numbers[PROBLEM_MAX_ARGUMENTS] = {0};
    struct scope scope = {numbers, problem->n_arguments};
    struct esp_error unused;
    int64_t extent;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct matrix *known =
            problem->arguments[i].n_dims == 0 ? abstract_find(run, problem->arguments[i].name) : NULL;
        if (known && problem->arguments[i].type <= TYPE_INT64)
            numbers[i] = (struct number){.kind = NUMBER_INTEGER, .integer = (int64_t)known->values[0]};
    }
    return expr_eval_size(argument->dims[0], &scope, &extent, &unused) == ESP_OK ? extent : -1;
}

/* LAPACK's least squares need room for the solution below the right-hand sides: rows of zeros. */
static enum esp_status give_padded(struct values *values, const char *name, const struct matrix *matrix,
                                   int64_t rows, struct esp_error *error)
{
    struct matrix tall;
    enum esp_status status = matrix_init(&tall, rows, matrix->cols, matrix->is_complex, 0, error);
    if (status != ESP_OK)
        return status;
    size_t element = matrix->is_complex ? 2 : 1;
    for (int64_t j = 0; j < matrix->cols; j++)
        memcpy(tall.values + (size_t)(j * rows) * element,
               matrix->values + (size_t)(j * matrix->rows) * element,
               (size_t)matrix->rows * element * sizeof(double));
    status = values_assign_matrix(values, name, &tall, error);
    matrix_clear(&tall);
    return status;
}

static enum esp_status give_matrix(const struct abstract_run *run, struct values *values, size_t index,
                                   const struct matrix *matrix, struct esp_error *error)
{
    const struct argument *formal = values_argument(values, index);
    const char *name = values->problem->arguments[index].name;
    struct matrix dense;
    if (matrix_is_sparse(matrix) && formal->storage == STORAGE_FULL) {
        enum esp_status status = matrix_to_dense(matrix, 0, &dense, error);
        if (status != ESP_OK)
            return status;
        status = give_matrix(run, values, index, &dense, error);
        matrix_clear(&dense);
        return status;
    }
    int64_t rows = formal->mode == MODE_INOUT && formal->n_dims && formal->storage == STORAGE_FULL
                       ? abstract_wanted_rows(run, values->described->problems[0], formal)
                       : -1;
    return rows > matrix->rows ? give_padded(values, name, matrix, rows, error)
                               : values_assign_matrix(values, name, matrix, error);
}

/* Gives a number or letter from the rule. */
static enum esp_status give_value(struct values *values, const char *name, double value,
                                  struct esp_error *error)
{
    struct matrix matrix;
    enum esp_status status = matrix_init(&matrix, 1, 1, false, 0, error);
    if (status != ESP_OK)
        return status;
    matrix.values[0] = value;
    status = values_assign_matrix(values, name, &matrix, error);
    matrix_clear(&matrix);
    return status;
}

/* Gives a state that an earlier step has left. */
static enum esp_status give_state(const struct abstract_run *run, struct values *values, const char *name,
                                  const char *outer, struct esp_error *error)
{
    char word[PROBLEM_MAX_NAME + 300];
    const char *state = abstract_find_state(run, outer);
    if (!state && run->is_weighing)
        state = "to come"; /* the sizes do not depend on it */
    if (!state)
        return error_set(error, ESP_INVALID, "%s: no state goes by the name %s", values->problem->name,
                         outer);
    snprintf(word, sizeof word, "%s=%s", name, state);
    return values_assign(values, word, error);
}

/* Finds the name in the rule for an argument of the step's problem. */
const struct pair *abstract_renamed(const struct step *step, const char *inner)
{
    for (uint32_t i = 0; i < step->n_renamed; i++)
        if (strcmp(step->renamed[i].inner, inner) == 0)
            return &step->renamed[i];
    return NULL;
}

static enum esp_status give_inputs(const struct abstract_run *run, const struct step *step,
                                   struct values *values, struct esp_error *error)
{
    const struct esp_problem *problem = values->problem;
    for (uint32_t i = 0; i < step->n_renamed; i++)
        if (signature_find(problem, step->renamed[i].inner) < 0)
            return error_set(error, ESP_INVALID, "%s has no argument '%s'", problem->name,
                             step->renamed[i].inner);
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &problem->arguments[i];
        const struct pair *pair = abstract_renamed(step, formal->name);
        if (!argument_in(formal) || values->slots[i].given)
            continue;
        const char *outer = pair && pair->outer ? pair->outer : formal->name;
        const struct matrix *matrix = abstract_find(run, outer);
        const struct datum_variable *datum = abstract_find_datum(run, outer);
        enum esp_status status = ESP_OK;
        if (formal->type == ESP_TYPE_STATE)
            status = give_state(run, values, formal->name, outer, error);
        else if (datum)
            status = values_give_datum(values, i, datum->reference, (enum esp_type)(datum->type + 1),
                                       datum->rows, datum->cols, error);
        else if (pair && !pair->outer)
            status = give_value(values, formal->name, pair->value, error);
        else if (matrix)
            status = give_matrix(run, values, i, matrix, error);
        else if (pair)
            status =
                error_set(error, ESP_INVALID, "%s: nothing goes by the name %s", problem->name, pair->outer);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

/* An array stored by columns or rows stays sparse. */
static enum esp_status take_output(const struct values *values, size_t index, struct matrix *matrix,
                                   struct esp_error *error)
{
    return values_argument(values, index)->storage >= STORAGE_CSC
               ? values_sparse(values, index, matrix, error)
               : values_matrix(values, index, matrix, error);
}

/* Lists the names of an output of the step's problem from now on. */
static uint32_t abstract_names(const struct step *step, const char *inner,
                               const char *names[ABSTRACT_MAX_PAIRS + 1])
{
    const struct pair *pair = abstract_renamed(step, inner);
    uint32_t n = 0;
    for (uint32_t k = 0; k < step->n_results; k++)
        if (strcmp(step->results[k].inner, inner) == 0)
            names[n++] = step->results[k].outer;
    if (n == 0)
        names[n++] = pair && pair->outer ? pair->outer : inner;
    return n;
}

/* Takes one output, under each of its names. */
static enum esp_status take_named(struct abstract_run *run, const struct rule *rule, const struct step *step,
                                  const struct values *values, size_t index, struct esp_error *error)
{
    const char *names[ABSTRACT_MAX_PAIRS + 1];
    const uint32_t n = abstract_names(step, values->problem->arguments[index].name, names);
    for (uint32_t k = 0; k < n; k++) {
        struct matrix matrix;
        if (!abstract_is_wanted(run, rule, step, names[k]))
            continue;
        enum esp_status status = take_output(values, index, &matrix, error);
        if (status == ESP_OK)
            status = abstract_set(run, names[k], &matrix, error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

/* Takes the outputs of the step, under their names. */
static enum esp_status take_outputs(struct abstract_run *run, const struct rule *rule,
                                    const struct step *step, struct values *values, struct esp_error *error)
{
    const struct esp_problem *problem = values->problem;
    for (uint32_t i = 0; i < step->n_results; i++)
        if (signature_find(problem, step->results[i].inner) < 0)
            return error_set(error, ESP_INVALID, "%s has no argument '%s'", problem->name,
                             step->results[i].inner);
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &problem->arguments[i];
        const struct pair *pair = abstract_renamed(step, formal->name);
        enum esp_status status = ESP_OK;
        if (!argument_out(formal) || abstract_note_kept(run, rule, step, values, i))
            continue;
        if (formal->type == ESP_TYPE_STATE && values->slots[i].text)
            status = abstract_set_state(run, pair && pair->outer ? pair->outer : formal->name,
                                        values->slots[i].text, error);
        else if (formal->type < ESP_TYPE_STRING && values->slots[i].memory)
            status = take_named(run, rule, step, values, i, error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

/* Opens the handle at the server of the previous step, if it has this problem, too; else the agents
 * choose. */
static enum esp_status abstract_open_handle(const struct abstract_run *run, struct library *library,
                                            const char *problem, struct handle **handle,
                                            struct esp_error *error)
{
    const char *server = run->server ? run->server : *run->at ? run->at : NULL;
    enum esp_status status = handle_open(library->engine, server, problem, handle, error);
    return status == ESP_OK || !server || run->server
               ? status
               : handle_open(library->engine, NULL, problem, handle, error);
}

/* The rest of `seconds`, which begin with the first call (*until_ns 0). Returns 0 if there is no limit. */
static double abstract_time_left(double seconds, int64_t *until_ns)
{
    const int64_t now_ns = clock_now_ns(&clock_system);
    if (seconds <= 0)
        return 0;
    if (*until_ns == 0)
        *until_ns = now_ns + (int64_t)(fmin(seconds, 1e9) * NS_PER_S);
    return fmax((double)(*until_ns - now_ns) / NS_PER_S, 1e-3);
}

/* Whether the step takes the value as it lies in the program. */
static bool lies_so(const struct value *value, const struct argument *argument, const struct value *from)
{
    return value->form == VALUE_MEMORY && argument->storage == STORAGE_FULL &&
           !(argument->properties & PROPERTY_ROW_MAJOR) && from->in && value->bytes == from->bytes;
}

/* Whether the step takes the program's array unchanged: its argument is a copy of that array. */
static bool takes_array(const struct value *value, const struct argument *argument, const struct value *from)
{
    return lies_so(value, argument, from) && value->in && memcmp(value->in, from->in, from->bytes) == 0;
}

/* Takes the places of the datum from where it was found. A step with a unique datum goes to its server. */
static enum esp_status take_places(struct invocation *invocation, struct value *value,
                                   const struct value *from, struct esp_error *error)
{
    char *datum = strdup(from->datum);
    if (!datum)
        return error_no_memory(error, "the identity of a datum");
    free(value->datum);
    value->datum = datum;
    memcpy(value->holder, from->holder, sizeof value->holder);
    value->is_unique = from->is_unique;
    if (from->is_unique) {
        memcpy(invocation->home, from->holder, sizeof invocation->home);
        invocation->home_by_datum = true;
    }
    return ESP_OK;
}

/* Uses the program's own values as arguments of the step: data at the servers where they were found, and
 * arrays that are to stay on servers are put on the step's server, unless they are there. Later users of
 * the array find it there. */
static enum esp_status take_from_program(const struct abstract_run *run, const struct step *step,
                                         struct invocation *invocation, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; i < invocation->n_values && status == ESP_OK; i++) {
        struct value *value = &invocation->values[i];
        const struct argument *argument = &problem->arguments[value->index];
        const struct pair *pair = abstract_renamed(step, argument->name);
        const bool is_constant = pair && !pair->outer;
        const struct value *from =
            is_constant ? NULL : abstract_find_from(run, pair ? pair->outer : argument->name);
        const bool is_datum = from && value->datum && from->datum;
        if (is_datum)
            status = take_places(invocation, value, from, error);
        if (is_datum && lies_so(value, argument, from))
            value->in = from->in; /* sent if the datum is lost */
        if (status == ESP_OK && from && from->held && (is_datum || takes_array(value, argument, from)))
            status = hold_array(value, from->held, from->shape, error);
    }
    return status;
}

/* A step at the server of the previous one, or at a named server, has no candidates from which its session
 * would know the forecast, so it is asked for here. Without a forecast the step goes all the same. */
static void foretell(const struct abstract_run *run, const struct handle *handle, const struct values *values,
                     struct fast_server **servers, size_t *n)
{
    struct esp_error unimportant;
    *servers = NULL;
    *n = 0;
    if (run->foretells && handle->address)
        forecast_of_arguments(values->problem->name, values->arguments, values->problem->n_arguments, NULL,
                              run->server ? FORECAST_ALL : FORECAST_NEAR, servers, n, &unimportant);
}

static enum esp_status call_inside(struct abstract_run *run, const struct rule *rule, const struct step *step,
                                   struct library *library, struct handle *handle,
                                   const struct values *values, const char *wanted, struct esp_error *error)
{
    struct invocation invocation;
    struct session *session = NULL;
    struct esp_error why = {0}, unimportant;
    struct esp_call_options options = *run->options;
    options.deadline_s = abstract_time_left(options.deadline_s, &run->until_ns);
    options.finish_s = abstract_time_left(options.finish_s, &run->finish_ns);
    if (handle->address && !run->server) { /* the previous step's server was chosen by the constraints */
        options.server = NULL;
        options.n_properties = 0;
        options.finish_s = 0;
        options.memory_bytes = 0;
    } else if (*wanted) {
        options.server = wanted;
    }
    enum esp_status status = invocation_from_vector(&invocation, handle->function, NULL, values->arguments,
                                                    values->problem->n_arguments, &why);
    if (status == ESP_OK) {
        abstract_say_kept(run, rule, step, &invocation);
        status = take_from_program(run, step, &invocation, &why);
        if (status != ESP_OK)
            invocation_release(&invocation);
    }
    struct fast_server *servers;
    size_t n_servers;
    foretell(run, handle, values, &servers, &n_servers);
    if (status == ESP_OK)
        status = start_blocking(library, handle, &invocation, &options, run->whole, &session, &why);
    struct esp_session_info *info = NULL;
    if (session) {
        past_tell_session(session, &info, &unimportant);
        library_keep(session);
    }
    if (info && servers)
        forecast_tell(servers, n_servers, info, &unimportant);
    fast_forecast_free(servers);
    abstract_add_info(run, info);
    if (status != ESP_OK)
        *error = why;
    return status;
}

/* Whether the wanted server has declined the step: nothing was computed, so another server may take it. */
static bool was_declined(enum esp_status status)
{
    return status == ESP_NO_SERVER || status == ESP_UNREACHABLE || status == ESP_REFUSED ||
           status == ESP_LIMIT || status == ESP_NO_MEMORY || status == ESP_UNKNOWN_PROBLEM;
}

static enum esp_status call_step(struct abstract_run *run, const struct rule *rule, const struct step *step,
                                 const struct values *values, const char *wanted, struct esp_error *error)
{
    struct esp_error why = {0};
    struct handle *handle;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = abstract_open_handle(run, library, values->problem->name, &handle, &why);
    if (status == ESP_OK) {
        status = call_inside(run, rule, step, library, handle, values, wanted, &why);
        snprintf(run->at, sizeof run->at, "%s", run->info ? run->info->server : "");
        handle_release(handle);
    }
    library_leave(status == ESP_OK);
    if (status != ESP_OK)
        *error = why;
    return status;
}

/* esp_problem_describe() without waiting for nodes that may know the problem and cannot be reached,
 * because the step is only one of several ways to a result. */
static enum esp_status describe_soon(const char *name, struct esp_problem **problem, struct esp_error *error)
{
    struct function *function;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = functions_get_soon(library->engine->functions, name, &function, error);
    if (status == ESP_OK)
        status = describe_function(function, problem, error);
    library_leave(status == ESP_OK);
    return status;
}

/* The step's problem and all its arguments; the caller frees *problem and *values also if this fails. */
enum esp_status abstract_prepare_step(const struct abstract_run *run, const struct rule *rule,
                                      const struct step *step, const char *name, struct esp_problem **problem,
                                      struct values *values, struct esp_error *error)
{
    if (describe_soon(name, problem, error) != ESP_OK)
        return error->status;
    enum esp_status status = values_init(values, *problem, call_hooks->values, error);
    if (status == ESP_OK && values->described->problems[0]->abstract)
        status = error_set(error, ESP_INVALID, "%s is an abstract problem itself", name);
    if (status == ESP_OK)
        status = give_inputs(run, step, values, error);
    if (status == ESP_OK && rule)
        status = abstract_arrange(run, rule, step, values, error);
    if (status == ESP_OK)
        status = values_prepare(values, error);
    return status;
}

/* Does the same, and checks that results that stay are whole results. */
static enum esp_status prepare_whole(struct abstract_run *run, const struct rule *rule,
                                     const struct step *step, const char *name, struct esp_problem **problem,
                                     struct values *values, struct esp_error *error)
{
    bool again = false;
    enum esp_status status = abstract_prepare_step(run, rule, step, name, problem, values, error);
    if (status == ESP_OK && rule)
        status = abstract_check_kept(run, rule, step, values, &again, error);
    if (status != ESP_OK || !again)
        return status;
    values_clear(values);
    esp_problem_free(*problem);
    *problem = NULL;
    return abstract_prepare_step(run, rule, step, name, problem, values, error);
}

enum esp_status abstract_do_step(struct abstract_run *run, const struct rule *rule, const struct step *step,
                                 const char *name, const char *wanted, struct esp_error *error)
{
    struct esp_problem *problem = NULL;
    struct values values = {0};
    enum esp_status status = prepare_whole(run, rule, step, name, &problem, &values, error);
    if (status == ESP_OK)
        status = call_step(run, rule, step, &values, wanted, error);
    if (*wanted && was_declined(status)) {
        abstract_forget_infos(run); /* the first step: they describe a declined one */
        *run->at = 0;
        status = call_step(run, rule, step, &values, "", error);
    }
    if (status == ESP_OK)
        status = values_cut(&values, error);
    if (status == ESP_OK)
        status = take_outputs(run, rule, step, &values, error);
    values_clear(&values);
    esp_problem_free(problem);
    return status;
}

/* The results of an abstract problem's steps come here, stay on the server as data, or are left there if
 * they are not wanted. */

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
    const struct abstract_fate fate = {.word = "data:", /* the caller makes the copy that a mode requires */
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

/* The step that a result comes from: the last one that names it, else the last step. */
static const struct step *source_of(const struct rule *rule, const char *name)
{
    for (uint32_t i = rule->n_steps; i-- > 0;)
        if (gives(&rule->steps[i], name))
            return &rule->steps[i];
    return &rule->steps[rule->n_steps - 1];
}

/* Returns how the step's result of that name stays on its server; else NULL. */
static struct abstract_fate *kept_here(const struct abstract_run *run, const struct rule *rule,
                                       const struct step *step, const char *name)
{
    struct abstract_fate *fate = rule ? find_fate(run, name) : NULL;
    return fate && *fate->word && source_of(rule, name) == step ? fate : NULL;
}

/* Does the same for an output of the step's problem, by any of its names. */
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

/* Whether a later step or the caller uses the step's result of that name. */
static bool abstract_is_wanted(const struct abstract_run *run, const struct rule *rule,
                               const struct step *step, const char *name)
{
    if (kept_here(run, rule, step, name))
        return false;
    if (!rule || step != &rule->steps[rule->n_steps - 1])
        return true; /* steps may take inputs by names that only their problems know */
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

/* A sparse result consists of several arrays, which have names of the step's problem only. */
static bool gives_sparse(const struct values *values)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++)
        if (argument_out(&values->problem->arguments[i]) &&
            values_argument(values, i)->storage >= STORAGE_CSC)
            return true;
    return false;
}

/* Called before the step's values are completed: decides which of its outputs stay, and which are not
 * wanted. */
static enum esp_status abstract_arrange(const struct abstract_run *run, const struct rule *rule,
                                        const struct step *step, struct values *values,
                                        struct esp_error *error)
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

/* Called after that: checks that each output that stays is the whole result. *again: one is not, and will
 * come to the program instead, so the step's values must be made anew. */
static enum esp_status abstract_check_kept(struct abstract_run *run, const struct rule *rule,
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

/* Writes into the step's call which data it leaves. */
static void abstract_say_kept(const struct abstract_run *run, const struct rule *rule,
                              const struct step *step, struct invocation *invocation)
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

static bool abstract_note_kept(struct abstract_run *run, const struct rule *rule, const struct step *step,
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

/* Chooses the rule, and calls its steps one after the other. */

/* ---- a rule ---- */

static void append(char *text, size_t size, const char *separator, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? separator : "", more);
}

/* Whether all inputs of a step are states that exist. */
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

/* A failed rule must not leave its states behind: makes the steps that end them. */
static void end_states(struct abstract_run *run, const struct rule *rule, uint32_t from,
                       const struct given *first)
{
    for (uint32_t i = from; i < rule->n_steps; i++) {
        char name[PROBLEM_MAX_NAME + 1];
        struct esp_problem *problem = NULL;
        struct esp_error unimportant;
        abstract_step_name(&rule->steps[i], first, name, sizeof name);
        if (describe_soon(name, &problem, &unimportant) == ESP_OK &&
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

/* Whether the next rule is tried after a failure: if the rule says so and the computation failed; if no
 * server has the problem, or takes it now; if the step's arrays here or its memory there are too large,
 * because another rule may need less; or if the solution is wrong. */
static bool goes_on(const struct rule *rule, enum esp_status status)
{
    return (rule->may_fail && status == ESP_FAILED) || abstract_is_missing(status) ||
           status == ESP_NO_MEMORY || status == ESP_LIMIT || status == ESP_INACCURATE;
}

static void add_history(const struct abstract_run *run, struct esp_error *error)
{
    size_t used = strlen(error->text);
    if (*run->passed_over)
        snprintf(error->text + used, sizeof error->text - used, "; before: %s", run->passed_over);
}

/* The next rule is tried. `bytes`: memory that the rule needs and no server has; 0: not known. */
static void note_failure(struct abstract_run *run, const struct rule *rule, const struct given *first,
                         uint64_t bytes, struct esp_error *why)
{
    const struct rule_failure failure = rule_failure_of(rule, first, run->options, bytes, why);
    rule_failures_add(&run->failures, &failure);
    if (!*run->passed_over)
        run->passed_status = why->status;
    run->lacked_memory |= why->status == ESP_NO_MEMORY;
    append(run->passed_over, sizeof run->passed_over, "; ", why->text);
}

/* Tries the rivals, beginning with the one that is expected to end first. ESP_PENDING: all have failed. */
static enum esp_status do_rivals(struct abstract_run *run, uint32_t *rivals, uint32_t n,
                                 const struct given *first, struct esp_error *error)
{
    const struct rule *rules = run->problem->abstract->rules;
    if (n > 1)
        abstract_order(run, rivals, n, first);
    for (uint32_t i = 0; i < n; i++) {
        struct esp_error why = {0};
        uint64_t bytes;
        enum esp_status status = abstract_check_room(run, rivals[i], first, &bytes, &why);
        if (status == ESP_OK)
            status = do_rule(run, &rules[rivals[i]], first, &why);
        if (status == ESP_OK)
            status = abstract_check_solution(run, &why);
        if (status == ESP_OK)
            return ESP_OK;
        *error = why;
        if (!goes_on(&rules[rivals[i]], status))
            return status;
        note_failure(run, &rules[rivals[i]], first, bytes, &why);
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
    if (row == col) {
        text_put(text, ", but the diagonal of a Hermitian matrix is real");
        return;
    }
    text_put(text, ", but ");
    write_number(text, matrix, name, col, row);
    text_printf(text, ": %.2g apart%s, rounding would be %.2g", hypot(re - other_re, im + other_im),
                matrix->is_complex ? " when one is conjugated" : "",
                matrix_asymmetry_bound(matrix, epsilon, row, col));
}

/* Says where a matrix lacks the symmetry that the last rule requires. */
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
    enum esp_status status = abstract_look(run, given, &first, error);
    for (uint32_t i = 0; status == ESP_OK;) {
        status = abstract_resolve(run->problem, given, &i, error);
        if (status != ESP_OK && rule_failures_tell(&run->failures, error)) /* no rule is left */
            return error->status;
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

/* Requests before, between and after the calls have the same deadline as the calls. */
enum esp_status abstract_execute(struct abstract_run *run, struct esp_error *error)
{
    const bool ends = abstract_time_left(run->options->deadline_s, &run->until_ns) > 0;
    const int64_t before_ns = deadline_begin(ends ? run->until_ns : CLOCK_NEVER);
    const enum esp_status status = execute(run, error);
    deadline_end(before_ns);
    return status;
}

/* ---- as a job ---- */

/* Lists the outputs whose names here differ from those of the job's own problem. */
static void name_outputs(const struct abstract_run *run, const struct step *step, bool listed,
                         struct esp_job *job)
{
    struct other_name others[ABSTRACT_MAX_PAIRS];
    uint32_t n = 0;
    for (size_t i = 0; i < job->problem->n_arguments; i++) {
        const char *inner = job->problem->arguments[i].name, *names[ABSTRACT_MAX_PAIRS + 1];
        const uint32_t n_names =
            argument_out(&job->problem->arguments[i]) ? abstract_names(step, inner, names) : 0;
        for (uint32_t k = 0; k < n_names && n < ABSTRACT_MAX_PAIRS; k++) {
            const struct argument *output = abstract_find_output(run->problem, names[k]);
            if (!output || strcmp(names[k], inner) == 0)
                continue;
            struct other_name *other = &others[n++];
            snprintf(other->name, sizeof other->name, "%s", names[k]);
            snprintf(other->of, sizeof other->of, "%s", inner);
            other->rows = output->n_dims > 0 ? abstract_wanted_rows(run, run->problem, output) : -1;
        }
    }
    if (n > 0)
        job_name_outputs(job, others, n, listed);
}

static enum esp_status submit_inside(struct abstract_run *run, struct library *library, const char *name,
                                     const struct values *values, bool listed, struct esp_job **job,
                                     struct esp_error *error)
{
    struct handle *handle;
    struct invocation invocation;
    enum esp_status status = abstract_open_handle(run, library, name, &handle, error);
    if (status != ESP_OK)
        return status;
    status = job_gather(library, handle, values->arguments, values->problem->n_arguments, run->options,
                        &invocation, error);
    if (status == ESP_OK)
        status = job_submit(library, handle, &invocation, run->options, listed, job, error);
    handle_release(handle);
    return status;
}

/* The job's results have the names of its own problem, and those of the abstract one. */
static enum esp_status submit_step(struct abstract_run *run, const struct step *step, const char *name,
                                   bool listed, struct esp_job **job, struct esp_error *error)
{
    struct esp_problem *problem = NULL;
    struct values values = {0};
    enum esp_status status = abstract_prepare_step(run, NULL, step, name, &problem, &values, error);
    struct library *library = status == ESP_OK ? library_enter(error) : NULL;
    if (library) {
        status = submit_inside(run, library, name, &values, listed, job, error);
        library_leave(status == ESP_OK);
    } else if (status == ESP_OK) {
        status = error->status;
    }
    if (status == ESP_OK)
        name_outputs(run, step, listed, *job);
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
    uint64_t bytes;
    enum esp_status status = abstract_check_room(run, index, first, &bytes, error);
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

/* Submits the first rule that fits, is a single step, and need not be followed by another; if there is
 * none, a trial.
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
