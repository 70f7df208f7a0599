/* SPDX-License-Identifier: Apache-2.0
 *
 * One step of a rule: its problem gets what there is for it, is called, and its results are taken.
 */
#include "client/abstract/abstract_steps.h"
#include "client/arguments/invocation_hold.h"
#include "client/arguments/signature.h"
#include "client/session/session.h"
#include "client/library.h"
#include "client/arguments/values_storage.h"
#include "client/describe.h"
#include "client/forecast.h"
#include "util/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* LAPACK's least squares want room for the solution below the right-hand sides: rows of zeros. */
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

/* A number or letter that the rule says. */
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

/* A state that a step before has left. */
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

/* What the argument of the step's problem goes by here. */
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

/* What is stored by columns or rows stays sparse. */
static enum esp_status take_output(const struct values *values, size_t index, struct matrix *matrix,
                                   struct esp_error *error)
{
    return values_argument(values, index)->storage >= STORAGE_CSC
               ? values_sparse(values, index, matrix, error)
               : values_matrix(values, index, matrix, error);
}

uint32_t abstract_names(const struct step *step, const char *inner, const char *names[ABSTRACT_MAX_PAIRS + 1])
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

/* One output, by each name that it has from now on. */
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

/* The outputs of the step, by the names that they have from now on. */
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

enum esp_status abstract_last_error(struct esp_error *error)
{
    *error = *esp_last_error();
    return error->status;
}

enum esp_status abstract_make_handle(const struct abstract_run *run, const char *problem,
                                     grpc_function_handle_t *handle, struct esp_error *error)
{
    const char *server = run->server ? run->server : *run->at ? run->at : NULL;
    if (server && grpc_function_handle_init(handle, (char *)server, (char *)problem) == GRPC_NO_ERROR)
        return ESP_OK;
    if (server && run->server)
        return abstract_last_error(error);
    return grpc_function_handle_default(handle, (char *)problem) == GRPC_NO_ERROR
               ? ESP_OK
               : abstract_last_error(error);
}

double abstract_time_left(double seconds, int64_t *until_ns)
{
    const int64_t now_ns = clock_now_ns(&clock_system);
    if (seconds <= 0)
        return 0;
    if (*until_ns == 0)
        *until_ns = now_ns + (int64_t)(fmin(seconds, 1e9) * NS_PER_S);
    return fmax((double)(*until_ns - now_ns) / NS_PER_S, 1e-3);
}

/* Whether the step takes it as it lies in the program. */
static bool lies_so(const struct value *value, const struct argument *argument, const struct value *from)
{
    return value->form == VALUE_MEMORY && argument->storage == STORAGE_FULL &&
           !(argument->properties & PROPERTY_ROW_MAJOR) && from->in && value->bytes == from->bytes;
}

/* Whether the step takes the program's array as it is: what it takes is a copy of it here. */
static bool takes_array(const struct value *value, const struct argument *argument, const struct value *from)
{
    return lies_so(value, argument, from) && value->in && memcmp(value->in, from->in, from->bytes) == 0;
}

/* The datum is where it was found; that of unique data is where the step goes. */
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

/* What the step takes of the program's: data are where they were found, and arrays that are to be on servers
 * as well are put where the step goes, if they are not there yet. What takes them next finds them there. */
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
            value->in = from->in; /* is sent, should the datum be lost */
        if (status == ESP_OK && from && from->held && (is_datum || takes_array(value, argument, from)))
            status = hold_array(value, from->held, from->shape, error);
    }
    return status;
}

/* A step at the server of the one before, or at one that was named, has no candidates of which its session
 * would know the forecast. Without one the step goes all the same. */
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
    if (handle->address && !run->server) { /* at the server of the step before, which was chosen by them */
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

/* The server that was wanted has not taken it, so that nothing was computed: another one may. */
static bool was_declined(enum esp_status status)
{
    return status == ESP_NO_SERVER || status == ESP_UNREACHABLE || status == ESP_REFUSED ||
           status == ESP_LIMIT || status == ESP_NO_MEMORY || status == ESP_UNKNOWN_PROBLEM;
}

static enum esp_status call_step(struct abstract_run *run, const struct rule *rule, const struct step *step,
                                 const struct values *values, const char *wanted, struct esp_error *error)
{
    grpc_function_handle_t handle;
    enum esp_status status = abstract_make_handle(run, values->problem->name, &handle, error);
    if (status != ESP_OK)
        return status;
    struct esp_error why = {0};
    struct library *library = library_enter(&why);
    struct handle *used = library ? handles_use(library->handles, &handle) : NULL;
    status = used      ? call_inside(run, rule, step, library, used, values, wanted, &why)
             : library ? error_set(&why, ESP_INVALID, "the function handle was destructed")
                       : why.status;
    handle_release(used);
    if (library)
        library_leave(status == ESP_OK);
    if (status != ESP_OK)
        *error = why;
    snprintf(run->at, sizeof run->at, "%s", run->info ? run->info->server : "");
    grpc_function_handle_destruct(&handle);
    return status;
}

/* A step's problem and all that it is given; *problem and *values are to be freed also when this fails. */
enum esp_status abstract_prepare_step(const struct abstract_run *run, const struct rule *rule,
                                      const struct step *step, const char *name, struct esp_problem **problem,
                                      struct values *values, struct esp_error *error)
{
    if (problem_describe_soon(name, problem) != ESP_OK)
        return abstract_last_error(error);
    enum esp_status status = values_init(values, *problem, error);
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

/* The same, and what stays of it is a whole result. */
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
        abstract_forget_infos(run); /* it is the first step: they are of what was declined */
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
