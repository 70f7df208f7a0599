/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the solution that a rule gave solves the system that was given.
 */
#include "client/abstract/abstract_steps.h"
#include "core/problem/problem_solves.h"

#include <string.h>

/* The matrix that the caller gave by that name; steps may have left others. */
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

/* ESP_INVALID: the solution is not here, as it stays on its server. */
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
