/* SPDX-License-Identifier: Apache-2.0
 *
 * What the command line gives to an abstract problem.
 */
#ifndef COMMAND_ABSTRACT_ARGUMENTS_H
#define COMMAND_ABSTRACT_ARGUMENTS_H

#include "command/overflow.h"
#include "command/values.h"
#include "fast.h"

struct abstract_arguments {
    struct values values;                   /* scalars, and the outputs */
    bool foretells;                         /* steps are forecast, too, as that is shown */
    struct esp_run *run;                    /* owned: of the problem; with the matrices, */
    struct matrix given[ESP_MAX_ARGUMENTS]; /* which are here, by argument; without values: none is */
    bool has_data;                          /* a matrix that lives on servers was given */
    char overflow[OVERFLOW_TEXT];           /* or "" */
    struct esp_job *job;                    /* owned: as which it was submitted; NULL: it was not */
    struct fast_step *steps;                /* owned: what it would take; NULL: it was not asked */
    size_t n_steps;
};

/* Operands and -o into values and run, which are there. *too_real: a complex matrix is given, and the problem
 * is real; then they are not complete. Errors as values_assign() has them. */
enum esp_status abstract_arguments_read(const struct command_line *command,
                                        struct abstract_arguments *arguments, bool *too_real,
                                        struct esp_error *error);
/* What esp_run_result() gave, as a matrix. */
static inline struct matrix abstract_take(const struct esp_matrix *result)
{
    return (struct matrix){.rows = result->rows,
                           .cols = result->cols,
                           .is_complex = result->is_complex,
                           .values = result->values,
                           .starts = result->starts,
                           .indices = result->indices};
}
/* The matrix in the same memory, for esp_run_give(). Integers beyond a double are rounded. */
struct esp_matrix abstract_matrix(const struct matrix *matrix);
void abstract_arguments_clear(struct abstract_arguments *arguments);

#endif
