/* SPDX-License-Identifier: Apache-2.0
 *
 * Which rule, and its steps.
 */
#include "client/abstract.h"
#include "client/abstract_steps.h"
#include "client/signature.h"
#include "client/start.h"
#include "client/values_storage.h"
#include "util/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum esp_status abstract_open(struct abstract_run *run, const struct problem *problem,
                              struct esp_error *error)
{
    *run = (struct abstract_run){.problem = problem,
                                 .variables = calloc(ABSTRACT_MAX_VARIABLES, sizeof *run->variables)};
    return run->variables ? ESP_OK : error_no_memory(error, "an abstract problem");
}

static void forget_after(struct abstract_run *run, uint32_t n)
{
    while (run->n_variables > n) {
        struct variable *variable = &run->variables[--run->n_variables];
        matrix_clear(&variable->matrix);
        free(variable->text);
        variable->text = NULL;
    }
}

void abstract_close(struct abstract_run *run)
{
    forget_after(run, 0);
    free(run->variables);
    esp_session_info_free(run->info);
    *run = (struct abstract_run){0};
}

static enum esp_status set(struct abstract_run *run, const char *name, struct matrix *matrix,
                           struct esp_error *error)
{
    if (run->n_variables == ABSTRACT_MAX_VARIABLES) {
        matrix_clear(matrix);
        return error_set(error, ESP_LIMIT, "%s: the steps of a rule give at most %d results",
                         run->problem->name, ABSTRACT_MAX_VARIABLES);
    }
    struct variable *variable = &run->variables[run->n_variables++];
    snprintf(variable->name, sizeof variable->name, "%s", name);
    variable->matrix = *matrix;
    *matrix = (struct matrix){0};
    return ESP_OK;
}

static const struct variable *find_variable(const struct abstract_run *run, const char *name)
{
    for (uint32_t i = run->n_variables; i-- > 0;)
        if (strcmp(run->variables[i].name, name) == 0)
            return &run->variables[i];
    return NULL;
}

const struct matrix *abstract_find(const struct abstract_run *run, const char *name)
{
    const struct variable *variable = find_variable(run, name);
    return variable && !variable->text ? &variable->matrix : NULL;
}

static const char *find_state(const struct abstract_run *run, const char *name)
{
    const struct variable *variable = find_variable(run, name);
    return variable && variable->text && *variable->text ? variable->text : NULL;
}

static enum esp_status set_state(struct abstract_run *run, const char *name, const char *text,
                                 struct esp_error *error)
{
    struct matrix none = {0};
    char *copy = strdup(text);
    if (!copy)
        return error_no_memory(error, "a state");
    enum esp_status status = set(run, name, &none, error);
    if (status == ESP_OK)
        run->variables[run->n_variables - 1].text = copy;
    else
        free(copy);
    return status;
}

enum esp_status abstract_give(struct abstract_run *run, const char *name, struct matrix *matrix,
                              struct esp_error *error)
{
    enum esp_status status = set(run, name, matrix, error);
    run->n_given = run->n_variables;
    return status;
}

/* ---- what is given ---- */

/* Diagonals with elements that are not zero, below and above the main one. */
static void measure(const struct matrix *matrix, int64_t *below, int64_t *above, bool *unit)
{
    *below = *above = 0;
    *unit = true;
    for (int64_t j = 0; j < matrix->cols; j++) {
        bool sparse = matrix_is_sparse(matrix);
        int64_t from = sparse ? matrix->starts[j] : j * matrix->rows;
        int64_t to = sparse ? matrix->starts[j + 1] : from + matrix->rows;
        for (int64_t k = from; k < to; k++) {
            int64_t i = sparse ? matrix->indices[k] : k - from;
            const double *value = &matrix->values[matrix->is_complex ? 2 * k : k];
            bool is_zero = value[0] == 0 && (!matrix->is_complex || value[1] == 0);
            if (is_zero)
                continue;
            *below = i - j > *below ? i - j : *below;
            *above = j - i > *above ? j - i : *above;
        }
    }
    for (int64_t i = 0; *unit && i < matrix->cols && i < matrix->rows; i++) {
        double re, im;
        matrix_element(matrix, i, i, &re, &im);
        *unit = re == 1 && im == 0;
    }
}

static void look_at(const struct matrix *matrix, const struct argument *argument, struct given *given)
{
    int64_t below, above;
    bool unit;
    *given = (struct given){.type = argument->type, .rows = matrix->rows, .cols = matrix->cols};
    measure(matrix, &below, &above, &unit);
    bool is_square = matrix->rows == matrix->cols;
    given->properties |= below == 0 ? PROPERTY_UPPER : 0;
    given->properties |= above == 0 ? PROPERTY_LOWER : 0;
    given->properties |= unit && is_square ? PROPERTY_UNIT_DIAGONAL : 0;
    if (matrix_is_symmetric(matrix, NULL, NULL)) {
        given->properties |= PROPERTY_HERMITIAN | (matrix->is_complex ? 0 : PROPERTY_SYMMETRIC);
        /* Presumed: only the factorization tells, and `try` goes on when it fails. */
        given->properties |= matrix_has_positive_diagonal(matrix) ? PROPERTY_POSITIVE_DEFINITE : 0;
    }
    given->is_banded = is_square && 4 * (2 * below + above + 1) <= matrix->rows;
    given->is_sparse = matrix_is_sparse(matrix) &&
                       8.0 * (double)matrix_stored(matrix) <= (double)matrix->rows * (double)matrix->cols;
}

static enum esp_status look(const struct abstract_run *run, struct given *given, uint32_t *first,
                            struct esp_error *error)
{
    *first = 0;
    bool found = false;
    for (uint32_t i = 0; i < run->problem->n_arguments; i++) {
        const struct argument *argument = &run->problem->arguments[i];
        const struct matrix *matrix = abstract_find(run, argument->name);
        given[i] = (struct given){.type = argument->type, .rows = 1, .cols = 1};
        if (argument->mode != MODE_IN || argument->n_dims == 0)
            continue;
        if (!matrix)
            return error_set(error, ESP_INVALID, "%s: the input %s is missing", run->problem->name,
                             argument->name);
        look_at(matrix, argument, &given[i]);
        *first = found ? *first : i;
        found = true;
    }
    return ESP_OK;
}

/* ---- one step ---- */

/* The rows that an array of the step's problem has, as far as the scalars known by name tell; else -1. */
static int64_t wanted_extent(const struct abstract_run *run, const struct values *values,
                             const struct argument *formal, unsigned dimension)
{
    const struct problem *problem = values->described->problems[0];
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
    return expr_eval_size(formal->dims[dimension], &scope, &extent, &unused) == ESP_OK ? extent : -1;
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

static bool is_stored_in_lines(enum storage storage)
{
    return storage == STORAGE_CSC || storage == STORAGE_CSR;
}

static enum esp_status give_matrix(const struct abstract_run *run, struct values *values, size_t index,
                                   const struct matrix *matrix, struct esp_error *error)
{
    const struct argument *formal = values_argument(values, index);
    const char *name = values->problem->arguments[index].name;
    struct matrix dense;
    if (matrix_is_sparse(matrix) && !is_stored_in_lines(formal->storage)) {
        enum esp_status status = matrix_to_dense(matrix, 0, &dense, error);
        if (status != ESP_OK)
            return status;
        status = give_matrix(run, values, index, &dense, error);
        matrix_clear(&dense);
        return status;
    }
    int64_t rows = formal->mode == MODE_INOUT && formal->n_dims && formal->storage == STORAGE_FULL
                       ? wanted_extent(run, values, formal, 0)
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
    const char *state = find_state(run, outer);
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
        const struct matrix *matrix = abstract_find(run, pair && pair->outer ? pair->outer : formal->name);
        enum esp_status status = ESP_OK;
        if (formal->type == ESP_TYPE_STATE)
            status = give_state(run, values, formal->name, pair && pair->outer ? pair->outer : formal->name,
                                error);
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

/* The outputs of the step, by the names that they have from now on. */
static enum esp_status take_outputs(struct abstract_run *run, const struct step *step,
                                    const struct values *values, struct esp_error *error)
{
    const struct esp_problem *problem = values->problem;
    for (uint32_t i = 0; i < step->n_results; i++)
        if (signature_find(problem, step->results[i].inner) < 0)
            return error_set(error, ESP_INVALID, "%s has no argument '%s'", problem->name,
                             step->results[i].inner);
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &problem->arguments[i];
        const struct pair *pair = abstract_renamed(step, formal->name);
        struct matrix matrix;
        uint32_t names = 0;
        enum esp_status status = ESP_OK;
        if (argument_out(formal) && formal->type == ESP_TYPE_STATE && values->slots[i].text) {
            status = set_state(run, pair && pair->outer ? pair->outer : formal->name, values->slots[i].text,
                               error);
            if (status != ESP_OK)
                return status;
        }
        if (!argument_out(formal) || !values->slots[i].memory || formal->type >= ESP_TYPE_STRING)
            continue;
        for (uint32_t k = 0; k < step->n_results && status == ESP_OK; k++) {
            if (strcmp(step->results[k].inner, formal->name) != 0)
                continue;
            names++;
            status = values_matrix(values, i, &matrix, error);
            if (status == ESP_OK)
                status = set(run, step->results[k].outer, &matrix, error);
        }
        if (names == 0 && status == ESP_OK) {
            status = values_matrix(values, i, &matrix, error);
            if (status == ESP_OK)
                status = set(run, pair && pair->outer ? pair->outer : formal->name, &matrix, error);
        }
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

static enum esp_status last_error(struct esp_error *error)
{
    *error = *esp_last_error();
    return error->status;
}

/* At the server of the step before, if it has this problem too; else where the agents say. */
static enum esp_status make_handle(const struct abstract_run *run, const char *problem,
                                   grpc_function_handle_t *handle, struct esp_error *error)
{
    const char *server = run->server ? run->server : *run->at ? run->at : NULL;
    if (server && grpc_function_handle_init(handle, (char *)server, (char *)problem) == GRPC_NO_ERROR)
        return ESP_OK;
    if (server && run->server)
        return last_error(error);
    return grpc_function_handle_default(handle, (char *)problem) == GRPC_NO_ERROR ? ESP_OK
                                                                                  : last_error(error);
}

/* What is left of a time for all steps, which begins with the first; 0: there is no such time. */
static double time_left_s(double seconds, int64_t *until_ns, const struct engine *engine)
{
    int64_t now_ns = clock_now_ns(engine->clock);
    if (seconds <= 0)
        return 0;
    if (*until_ns == 0)
        *until_ns = now_ns + (int64_t)(fmin(seconds, 1e9) * NS_PER_S);
    return fmax((double)(*until_ns - now_ns) / NS_PER_S, 1e-3);
}

static enum esp_status call_inside(struct abstract_run *run, struct library *library, struct handle *handle,
                                   const struct values *values, struct esp_error *error)
{
    struct invocation invocation;
    struct session *session = NULL;
    struct esp_error why = {0}, unimportant;
    struct esp_call_options options = *run->options;
    options.deadline_s = time_left_s(options.deadline_s, &run->until_ns, library->engine);
    options.finish_s = time_left_s(options.finish_s, &run->finish_ns, library->engine);
    if (handle->address && !run->server) { /* at the server of the step before, which was chosen by them */
        options.server = NULL;
        options.n_properties = 0;
        options.finish_s = 0;
        options.memory_bytes = 0;
    }
    enum esp_status status = invocation_from_vector(&invocation, handle->function, values->arguments,
                                                    values->problem->n_arguments, &why);
    if (status == ESP_OK)
        status = start_blocking(library, handle, &invocation, &options, run->whole, &session, &why);
    esp_session_info_free(run->info);
    run->info = NULL;
    if (session) {
        past_tell_session(session, &run->info, &unimportant);
        library_keep(session);
    }
    if (status != ESP_OK)
        *error = why;
    return status;
}

static enum esp_status call_step(struct abstract_run *run, const struct values *values,
                                 struct esp_error *error)
{
    grpc_function_handle_t handle;
    enum esp_status status = make_handle(run, values->problem->name, &handle, error);
    if (status != ESP_OK)
        return status;
    struct esp_error why = {0};
    struct library *library = library_enter(&why);
    struct handle *used = library ? handles_use(library->handles, &handle) : NULL;
    status = used      ? call_inside(run, library, used, values, &why)
             : library ? error_set(&why, ESP_INVALID, "the function handle was destructed")
                       : why.status;
    handle_release(used);
    if (library)
        library_leave();
    if (status != ESP_OK)
        *error = why;
    snprintf(run->at, sizeof run->at, "%s", run->info ? run->info->server : "");
    grpc_function_handle_destruct(&handle);
    return status;
}

/* A step's problem and all that it is given; *problem and *values are to be freed also when this fails. */
enum esp_status abstract_prepare_step(const struct abstract_run *run, const struct step *step,
                                      const char *name, struct esp_problem **problem, struct values *values,
                                      struct esp_error *error)
{
    if (esp_problem_describe(name, problem) != ESP_OK)
        return last_error(error);
    enum esp_status status = values_init(values, *problem, error);
    if (status == ESP_OK && values->described->problems[0]->abstract)
        status = error_set(error, ESP_INVALID, "%s is an abstract problem itself", name);
    if (status == ESP_OK)
        status = give_inputs(run, step, values, error);
    return status == ESP_OK ? values_prepare(values, error) : status;
}

static enum esp_status do_step(struct abstract_run *run, const struct step *step, const char *name,
                               struct esp_error *error)
{
    struct esp_problem *problem = NULL;
    struct values values = {0};
    enum esp_status status = abstract_prepare_step(run, step, name, &problem, &values, error);
    if (status == ESP_OK)
        status = call_step(run, &values, error);
    if (status == ESP_OK)
        status = values_cut(&values, error);
    if (status == ESP_OK)
        status = take_outputs(run, step, &values, error);
    values_clear(&values);
    esp_problem_free(problem);
    return status;
}

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
            !find_state(run, pair && pair->outer ? pair->outer : formal->name))
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
        if (esp_problem_describe(name, &problem) == ESP_OK && only_ends_states(run, &rule->steps[i], problem))
            do_step(run, &rule->steps[i], name, &unimportant);
        esp_problem_free(problem);
    }
}

static enum esp_status do_rule(struct abstract_run *run, const struct rule *rule, const struct given *first,
                               struct esp_error *error)
{
    *run->taken = *run->at = 0;
    for (uint32_t i = 0; i < rule->n_steps; i++) {
        char name[PROBLEM_MAX_NAME + 1];
        abstract_step_name(&rule->steps[i], first, name, sizeof name);
        append(run->taken, sizeof run->taken, ", ", name);
        enum esp_status status = do_step(run, &rule->steps[i], name, error);
        if (status != ESP_OK) {
            struct esp_error why = *error;
            end_states(run, rule, i + 1, first);
            *error = why;
            return strncmp(why.text, name, strlen(name)) == 0 ? status : error_prefix(error, "%s", name);
        }
    }
    return ESP_OK;
}

/* After a failure the next rule has its turn: when the rule says so and it was the computation that failed,
 * or when nobody has the problem. */
static bool goes_on(const struct rule *rule, enum esp_status status)
{
    return (rule->may_fail && status == ESP_FAILED) || status == ESP_UNKNOWN_PROBLEM;
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
        enum esp_status status = do_rule(run, &rules[rivals[i]], first, &why);
        if (status == ESP_OK)
            return ESP_OK;
        if (!goes_on(&rules[rivals[i]], status)) {
            *error = why;
            return status;
        }
        append(run->passed_over, sizeof run->passed_over, "; ", why.text);
        forget_after(run, run->n_given);
    }
    return ESP_PENDING;
}

enum esp_status abstract_execute(struct abstract_run *run, struct esp_error *error)
{
    struct given given[PROBLEM_MAX_ARGUMENTS];
    uint32_t rivals[ABSTRACT_MAX_RULES], first;
    enum esp_status status = look(run, given, &first, error);
    for (uint32_t i = 0; status == ESP_OK;) {
        status = abstract_resolve(run->problem, given, &i, error);
        if (status != ESP_OK)
            break;
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

/* ---- as a job ---- */

/* The job's results go by the names of its own problem. */
static enum esp_status submit_step(struct abstract_run *run, const struct step *step, const char *name,
                                   bool listed, struct esp_job **job, struct esp_error *error)
{
    struct esp_problem *problem = NULL;
    struct values values = {0};
    grpc_function_handle_t handle;
    enum esp_status status = abstract_prepare_step(run, step, name, &problem, &values, error);
    if (status == ESP_OK)
        status = make_handle(run, name, &handle, error);
    if (status == ESP_OK) {
        status = esp_job_submit(&handle, values.arguments, problem->n_arguments, run->options, listed, job);
        if (status != ESP_OK)
            last_error(error);
        grpc_function_handle_destruct(&handle);
    }
    values_clear(&values);
    esp_problem_free(problem);
    return status;
}

/* Why a rule cannot be a job. */
static const char *only_followed(const struct rule *rule)
{
    return rule->n_steps > 1 ? "several steps, between which the results pass through the client"
           : rule->may_fail  ? "a trial, after whose failure the client would go on"
                             : NULL;
}

enum esp_status abstract_submit(struct abstract_run *run, bool listed, struct esp_job **job,
                                struct esp_error *error)
{
    struct given given[PROBLEM_MAX_ARGUMENTS];
    const struct abstract *abstract = run->problem->abstract;
    const struct rule *passed = NULL;
    uint32_t first;
    enum esp_status status = look(run, given, &first, error);
    *job = NULL;
    for (uint32_t i = 0; status == ESP_OK; i++) {
        status = abstract_resolve(run->problem, given, &i, error);
        if (status != ESP_OK)
            break;
        const struct rule *rule = &abstract->rules[i];
        if (only_followed(rule)) {
            passed = passed ? passed : rule;
            if (rule->may_fail)
                continue;
            status = ESP_INVALID;
            break;
        }
        char name[PROBLEM_MAX_NAME + 1];
        abstract_step_name(&rule->steps[0], &given[first], name, sizeof name);
        snprintf(run->taken, sizeof run->taken, "%s", name);
        status = submit_step(run, &rule->steps[0], name, listed, job, error);
        if (status != ESP_UNKNOWN_PROBLEM)
            return status;
        status = ESP_OK;
    }
    if (!passed || status != ESP_INVALID)
        return status;
    char text[300];
    abstract_rule_text(run->problem, (uint32_t)(passed - abstract->rules), text, sizeof text);
    return error_set(error, ESP_INVALID,
                     "%s cannot be submitted: '%s' is %s; call it, or submit the problems that do it",
                     run->problem->name, text, only_followed(passed));
}

/* ---- results ---- */

static void copy_element(const struct matrix *from, int64_t i, int64_t j, bool conjugate, struct matrix *to,
                         int64_t row, int64_t col)
{
    double re, im;
    matrix_element(from, i, j, &re, &im);
    size_t at = (size_t)(col * to->rows + row);
    to->values[to->is_complex ? 2 * at : at] = re;
    if (to->is_complex)
        to->values[2 * at + 1] = conjugate ? -im : im;
}

static void shape_result(const struct matrix *from, uint32_t properties, struct matrix *result)
{
    bool mirrored = (properties & (PROPERTY_SYMMETRIC | PROPERTY_HERMITIAN)) != 0;
    for (int64_t j = 0; j < result->cols; j++)
        for (int64_t i = 0; i < result->rows; i++) {
            if ((i > j && (properties & PROPERTY_UPPER)) || (i < j && (properties & PROPERTY_LOWER)))
                continue;
            if (i > j && mirrored)
                copy_element(from, j, i, (properties & PROPERTY_HERMITIAN) != 0, result, i, j);
            else
                copy_element(from, i, j, false, result, i, j);
        }
    for (int64_t i = 0; (properties & PROPERTY_UNIT_DIAGONAL) && i < result->cols && i < result->rows; i++) {
        size_t at = (size_t)(i * result->rows + i);
        result->values[result->is_complex ? 2 * at : at] = 1;
        if (result->is_complex)
            result->values[2 * at + 1] = 0;
    }
}

enum esp_status abstract_result(const struct abstract_run *run, const struct argument *argument, int64_t rows,
                                int64_t cols, struct matrix *result, struct esp_error *error)
{
    const struct matrix *from = abstract_find(run, argument->name);
    if (!from)
        return error_set(error, ESP_INVALID, "%s: its rule for %s does not give %s", run->problem->name,
                         run->taken, argument->name);
    if (from->rows < rows || from->cols < cols)
        return error_set(error, ESP_INVALID, "%s: expected %s of %lld x %lld, %s gave %lld x %lld",
                         run->problem->name, argument->name, (long long)rows, (long long)cols, run->taken,
                         (long long)from->rows, (long long)from->cols);
    bool is_complex = argument->type == TYPE_COMPLEX || argument->type == TYPE_DOUBLE_COMPLEX;
    enum esp_status status = matrix_init(result, rows, cols, is_complex, 0, error);
    if (status == ESP_OK)
        shape_result(from, argument->properties, result);
    return status;
}
