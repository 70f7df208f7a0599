/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs and results of steps, by name.
 */
#include "client/abstract/abstract_steps.h"
#include "core/values/values_storage.h"
#include "core/problem/problem_solves.h"
#include "client/session/library.h"
#include "util/package.h"

#include <float.h>
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

void abstract_forget_after(struct abstract_run *run, uint32_t n)
{
    while (run->n_variables > n) {
        struct variable *variable = &run->variables[--run->n_variables];
        matrix_clear(&variable->matrix);
        free(variable->text);
        variable->text = NULL;
        if (variable->datum)
            free(variable->datum->reference);
        free(variable->datum);
        variable->datum = NULL;
        variable->from = NULL;
    }
}

void abstract_forget_infos(struct abstract_run *run)
{
    while (run->n_before > 0)
        package_destroy(run->before[--run->n_before]);
    package_destroy(run->info);
    run->info = NULL;
}

void abstract_add_info(struct abstract_run *run, struct esp_session_info *info)
{
    if (run->info && run->n_before < ABSTRACT_MAX_STEPS)
        run->before[run->n_before++] = run->info;
    else
        package_destroy(run->info);
    run->info = info;
}

uint32_t abstract_infos(const struct abstract_run *run,
                        const struct esp_session_info *infos[ABSTRACT_MAX_STEPS])
{
    uint32_t n = 0;
    for (; n < run->n_before; n++)
        infos[n] = run->before[n];
    if (run->info && n < ABSTRACT_MAX_STEPS)
        infos[n++] = run->info;
    return n;
}

void abstract_begin_again(struct abstract_run *run)
{
    abstract_forget_after(run, 0);
    run->n_given = 0;
    abstract_fates_destroy(run);
    abstract_forget_infos(run);
    *run->passed_over = *run->weighed = *run->at = 0;
    abstract_forget_plans(run);
    run->passed_status = ESP_OK;
    rule_failures_clear(&run->failures);
    run->lacked_memory = false;
}

void abstract_close(struct abstract_run *run)
{
    abstract_forget_plans(run);
    abstract_begin_again(run);
    free(run->variables);
    *run = (struct abstract_run){0};
}

enum esp_status abstract_set(struct abstract_run *run, const char *name, struct matrix *matrix,
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

static struct variable *find_variable(const struct abstract_run *run, const char *name)
{
    for (uint32_t i = run->n_variables; i-- > 0;)
        if (strcmp(run->variables[i].name, name) == 0)
            return &run->variables[i];
    return NULL;
}

const struct matrix *abstract_find(const struct abstract_run *run, const char *name)
{
    const struct variable *variable = find_variable(run, name);
    return variable && !variable->text && variable->matrix.values ? &variable->matrix : NULL;
}

const struct datum_variable *abstract_find_datum(const struct abstract_run *run, const char *name)
{
    const struct variable *variable = find_variable(run, name);
    return variable ? variable->datum : NULL;
}

const struct value *abstract_find_from(const struct abstract_run *run, const char *name)
{
    const struct variable *variable = find_variable(run, name);
    return variable ? variable->from : NULL;
}

const char *abstract_find_state(const struct abstract_run *run, const char *name)
{
    const struct variable *variable = find_variable(run, name);
    return variable && variable->text && *variable->text ? variable->text : NULL;
}

enum esp_status abstract_set_state(struct abstract_run *run, const char *name, const char *text,
                                   struct esp_error *error)
{
    struct matrix none = {0};
    char *copy = strdup(text);
    if (!copy)
        return error_no_memory(error, "a state");
    enum esp_status status = abstract_set(run, name, &none, error);
    if (status == ESP_OK)
        run->variables[run->n_variables - 1].text = copy;
    else
        free(copy);
    return status;
}

enum esp_status abstract_give(struct abstract_run *run, const char *name, struct matrix *matrix,
                              struct esp_error *error)
{
    enum esp_status status = abstract_set(run, name, matrix, error);
    run->n_given = run->n_variables;
    return status;
}

enum esp_status abstract_give_datum(struct abstract_run *run, const char *name, const char *reference,
                                    enum base_type type, int64_t rows, int64_t cols, struct esp_error *error)
{
    struct matrix none = {0};
    enum esp_status status = abstract_give(run, name, &none, error);
    return status == ESP_OK ? abstract_also_datum(run, reference, type, rows, cols, error) : status;
}

enum esp_status abstract_also_datum(struct abstract_run *run, const char *reference, enum base_type type,
                                    int64_t rows, int64_t cols, struct esp_error *error)
{
    struct datum_variable *datum = calloc(1, sizeof *datum);
    char *copy = strdup(reference);
    if (!datum || !copy) {
        free(datum);
        free(copy);
        return error_no_memory(error, "the identity of a datum");
    }
    *datum = (struct datum_variable){copy, type, rows, cols};
    run->variables[run->n_variables - 1].datum = datum;
    return ESP_OK;
}

/* Adds a matrix, which the run takes over, to the datum of that name: its contents are here, too. */
static void abstract_bring(struct abstract_run *run, const char *name, struct matrix *matrix)
{
    struct variable *variable = find_variable(run, name);
    matrix_clear(&variable->matrix);
    variable->matrix = *matrix;
    *matrix = (struct matrix){0};
}

void abstract_is_from(struct abstract_run *run, const struct value *value)
{
    run->variables[run->n_variables - 1].from = value;
}

/* Examines the properties of inputs, and shapes outputs. */

enum esp_status abstract_matrix_of(enum base_type type, int64_t rows, int64_t cols, const void *memory,
                                   struct matrix *matrix, struct esp_error *error)
{
    const bool is_complex = type == TYPE_COMPLEX || type == TYPE_DOUBLE_COMPLEX;
    enum esp_status status = matrix_init(matrix, rows, cols, is_complex, 0, error);
    if (status != ESP_OK)
        return status;
    for (size_t k = 0; k < (size_t)(rows * cols) && status == ESP_OK; k++)
        status = value_load_element((enum esp_type)(type + 1), memory, k, matrix, k, error);
    if (status != ESP_OK)
        matrix_clear(matrix);
    return status;
}

int64_t abstract_reach(const struct matrix *matrix, int64_t *below, int64_t *above)
{
    int64_t nonzeros = 0;
    *below = *above = 0;
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
            nonzeros++;
            *below = i - j > *below ? i - j : *below;
            *above = j - i > *above ? j - i : *above;
        }
    }
    return nonzeros;
}

static bool has_unit_diagonal(const struct matrix *matrix)
{
    bool unit = true;
    for (int64_t i = 0; unit && i < matrix->cols && i < matrix->rows; i++) {
        double re, im;
        matrix_element(matrix, i, i, &re, &im);
        unit = re == 1 && im == 0;
    }
    return unit;
}

double abstract_epsilon(enum base_type type)
{
    return type < TYPE_FLOAT ? 0 : type == TYPE_FLOAT || type == TYPE_COMPLEX ? FLT_EPSILON : DBL_EPSILON;
}

/* The band array of a dense matrix is smaller than the matrix if the band is narrow. The band array of a
 * sparse matrix holds all zeros within the band, so at least half of the band must be nonzero. */
static bool is_band(const struct matrix *matrix, int64_t below, int64_t above, int64_t nonzeros)
{
    const double n = (double)matrix->rows,
                 corners = (double)below * (double)(below + 1) / 2 + (double)above * (double)(above + 1) / 2;
    const double places = (double)(below + above + 1) * n - corners;
    return matrix->rows == matrix->cols && 4 * (2 * below + above + 1) <= matrix->rows &&
           (!matrix_is_sparse(matrix) || 2 * (double)nonzeros >= places);
}

void abstract_look_at(const struct matrix *matrix, const struct argument *argument, struct given *given)
{
    int64_t below, above;
    *given = (struct given){.type = argument->type, .rows = matrix->rows, .cols = matrix->cols};
    const int64_t nonzeros = abstract_reach(matrix, &below, &above);
    bool is_square = matrix->rows == matrix->cols;
    given->properties |= below == 0 ? PROPERTY_UPPER : 0;
    given->properties |= above == 0 ? PROPERTY_LOWER : 0;
    given->properties |= is_square && has_unit_diagonal(matrix) ? PROPERTY_UNIT_DIAGONAL : 0;
    double epsilon = abstract_epsilon(argument->type);
    if (matrix_is_symmetric(matrix, epsilon, NULL, NULL)) {
        given->properties |= PROPERTY_HERMITIAN | (matrix->is_complex ? 0 : PROPERTY_SYMMETRIC);
        /* Presumed: only the factorization shows it, and if it fails, `try` continues with the next rule. */
        bool is_positive = matrix_has_positive_diagonal(matrix, epsilon);
        given->properties |= is_positive ? PROPERTY_POSITIVE_DEFINITE : 0;
    }
    given->is_banded = is_band(matrix, below, above, nonzeros);
    given->is_sparse = matrix_is_sparse(matrix) &&
                       8.0 * (double)matrix_stored(matrix) <= (double)matrix->rows * (double)matrix->cols;
}

/* Whether a rule requires more of the input than its type and extents. */
static bool matters(const struct problem *problem, uint32_t input)
{
    const struct abstract *abstract = problem->abstract;
    for (uint32_t r = 0; r < abstract->n_rules; r++)
        for (uint32_t i = 0; i < abstract->rules[r].n_wishes; i++)
            if (abstract->rules[r].wishes[i].input == input && abstract->rules[r].wishes[i].properties)
                return true;
    return false;
}

/* Examines the datum by ?gestructure on its server, to which the steps go, too. */
static enum esp_status look_at_datum(struct abstract_run *run, const char *name,
                                     const struct datum_variable *datum, struct given *given,
                                     struct esp_error *error)
{
    static const char *const told[] = {"below", "above", "hermitian", "positive", "unit"};
    struct pair renamed = {.inner = "A", .outer = name};
    const struct step step = {.problem = "?gestructure", .renamed = &renamed, .n_renamed = 1};
    int64_t values[5] = {0};
    const uint32_t n = run->n_variables;
    char problem[PROBLEM_MAX_NAME + 1];
    *given = (struct given){.type = datum->type, .rows = datum->rows, .cols = datum->cols};
    abstract_step_name(&step, given, problem, sizeof problem);
    enum esp_status status = abstract_do_step(run, NULL, &step, problem, "", error);
    for (int i = 0; i < 5 && status == ESP_OK; i++) {
        const struct matrix *value = abstract_find(run, told[i]);
        values[i] = value ? (int64_t)value->values[0] : 0;
    }
    abstract_forget_after(run, n);
    bool is_complex = datum->type >= TYPE_COMPLEX;
    given->properties |= values[0] == 0 ? PROPERTY_UPPER : 0;
    given->properties |= values[1] == 0 ? PROPERTY_LOWER : 0;
    given->properties |= values[2] ? PROPERTY_HERMITIAN | (is_complex ? 0 : PROPERTY_SYMMETRIC) : 0;
    given->properties |= values[2] && values[3] ? PROPERTY_POSITIVE_DEFINITE : 0;
    given->properties |= values[4] ? PROPERTY_UNIT_DIAGONAL : 0;
    return status;
}

/* Fetches the datum, because no server can examine it at its place. */
static enum esp_status bring_datum(struct abstract_run *run, const char *name,
                                   const struct datum_variable *datum, struct esp_error *error)
{
    struct matrix matrix;
    const uint64_t bytes = (uint64_t)(datum->rows * datum->cols) * base_type_size(datum->type);
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        return error_no_memory(error, "a matrix");
    enum esp_status status =
        esp_data_get(datum->reference, memory, bytes, NULL, NULL) == ESP_OK
            ? abstract_matrix_of(datum->type, datum->rows, datum->cols, memory, &matrix, error)
            : error_set(error, library_error()->status, "%s", library_error()->text);
    if (status == ESP_OK)
        abstract_bring(run, name, &matrix);
    free(memory);
    return status;
}

static enum esp_status look_there_or_here(struct abstract_run *run, const struct argument *argument,
                                          const struct datum_variable *datum, struct given *given,
                                          struct esp_error *error)
{
    enum esp_status status = look_at_datum(run, argument->name, datum, given, error);
    if (!abstract_is_missing(status) || strchr(datum->reference, '['))
        return status;
    status = bring_datum(run, argument->name, datum, error);
    if (status == ESP_OK)
        abstract_look_at(abstract_find(run, argument->name), argument, given);
    return status;
}

enum esp_status abstract_look(struct abstract_run *run, struct given *given, uint32_t *first,
                              struct esp_error *error)
{
    *first = 0;
    bool found = false;
    for (uint32_t i = 0; i < run->problem->n_arguments; i++) {
        const struct argument *argument = &run->problem->arguments[i];
        const struct matrix *matrix = abstract_find(run, argument->name);
        given[i] = (struct given){.type = argument->type, .rows = 1, .cols = 1};
        const struct datum_variable *datum = abstract_find_datum(run, argument->name);
        if (argument->mode != MODE_IN || argument->n_dims == 0)
            continue;
        if (!matrix && !datum)
            return error_set(error, ESP_INVALID, "%s: the input %s is missing", run->problem->name,
                             argument->name);
        enum esp_status status = ESP_OK;
        if (matrix)
            abstract_look_at(matrix, argument, &given[i]);
        else if (!matters(run->problem, i))
            given[i] = (struct given){.type = datum->type, .rows = datum->rows, .cols = datum->cols};
        else
            status = look_there_or_here(run, argument, datum, &given[i], error);
        if (status != ESP_OK)
            return error_prefix(error, "%s", argument->name);
        *first = found ? *first : i;
        found = true;
    }
    return ESP_OK;
}

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
    for (int64_t j = 0; j < result->cols && j < from->cols; j++)
        for (int64_t i = 0; i < result->rows && i < from->rows; i++) {
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

const struct argument *abstract_find_output(const struct problem *problem, const char *name)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (argument_is_output(&problem->arguments[i]) && strcmp(problem->arguments[i].name, name) == 0)
            return &problem->arguments[i];
    return NULL;
}

enum esp_status abstract_result(const struct abstract_run *run, const struct argument *argument, int64_t rows,
                                int64_t cols, struct matrix *result, struct esp_error *error)
{
    const struct matrix *from = abstract_find(run, argument->name);
    if (!from)
        return error_set(error, ESP_INVALID, "%s: its rule for %s does not give %s", run->problem->name,
                         run->taken, argument->name);
    /* An output with a count has been cut to it in its last dimension; zeros replace the rest. */
    bool few_rows = from->rows < rows && !(argument->count && argument->n_dims == 1);
    bool few_cols = from->cols < cols && !(argument->count && argument->n_dims == 2);
    if (few_rows || few_cols)
        return error_set(error, ESP_INVALID, "%s: expected %s of %lld x %lld, %s gave %lld x %lld",
                         run->problem->name, argument->name, (long long)rows, (long long)cols, run->taken,
                         (long long)from->rows, (long long)from->cols);
    bool is_complex = argument->type == TYPE_COMPLEX || argument->type == TYPE_DOUBLE_COMPLEX;
    if (matrix_is_sparse(from) && from->rows == rows && from->cols == cols && !argument->properties)
        return matrix_to_sparse(from, result, error);
    enum esp_status status = matrix_init(result, rows, cols, is_complex, 0, error);
    if (status == ESP_OK)
        shape_result(from, argument->properties, result);
    return status;
}

/* Checks whether a rule's solution solves the given system. */

/* Returns the matrix that the caller gave under that name; steps may have replaced it. */
static const struct matrix *given_matrix(const struct abstract_run *run, uint32_t index)
{
    for (uint32_t i = run->n_given; i-- > 0;) {
        const struct variable *variable = &run->variables[i];
        if (strcmp(variable->name, run->problem->arguments[index].name) == 0)
            return variable->datum || variable->text ? NULL : &variable->matrix;
    }
    return NULL;
}

/* The values of scalar inputs; the others stay unknown. */
static void gather_scope(const struct abstract_run *run, struct number *scope)
{
    const struct problem *problem = run->problem;
    memset(scope, 0, PROBLEM_MAX_ARGUMENTS * sizeof *scope);
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        const struct matrix *matrix =
            argument->mode == MODE_IN && argument->n_dims == 0 ? given_matrix(run, i) : NULL;
        if (!matrix || !matrix->values)
            continue;
        if (argument->type <= TYPE_INT64)
            scope[i] = (struct number){.kind = NUMBER_INTEGER, .integer = (int64_t)matrix->values[0]};
        else
            scope[i] = (struct number){.kind = NUMBER_REAL, .real = matrix->values[0]};
    }
}

/* Returns ESP_INVALID if the solution is not here because it stays on its server. */
static enum esp_status find_error(struct abstract_run *run, const struct matrix *a, const struct matrix *b,
                                  struct esp_error *error)
{
    const struct argument *argument = &run->problem->arguments[run->problem->solves->solution];
    struct matrix x;
    if (!abstract_find(run, argument->name))
        return ESP_INVALID;
    enum esp_status status = abstract_result(run, argument, a->cols, b->cols, &x, error);
    if (status == ESP_OK)
        status = matrix_make_dense(&x, 0, error);
    if (status == ESP_OK)
        status = matrix_backward_error(a, &x, b, &run->backward_error, error);
    matrix_clear(&x);
    return status;
}

enum esp_status abstract_check_solution(struct abstract_run *run, struct esp_error *error)
{
    const struct problem *problem = run->problem;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct system_shape shape;
    struct esp_error unimportant;
    run->is_checked = false;
    gather_scope(run, scope);
    if (!problem->solves || problem->solves->fits || !solves_shape(problem, scope, &shape))
        return ESP_OK;
    const struct matrix *a = given_matrix(run, problem->solves->matrix);
    const struct matrix *b = given_matrix(run, problem->solves->rhs);
    if (!a || !b || !a->values || !b->values || matrix_is_sparse(b) || !matrix_is_finite(a, NULL, NULL) ||
        !matrix_is_finite(b, NULL, NULL) || find_error(run, a, b, &unimportant) != ESP_OK)
        return ESP_OK;
    run->is_checked = true;
    if (run->backward_error <= shape.tolerance)
        return ESP_OK;
    return error_set(error, ESP_INACCURATE,
                     "%s: X does not solve the system: its backward error is %.2g, expected at most %.2g",
                     run->taken, run->backward_error, shape.tolerance);
}
