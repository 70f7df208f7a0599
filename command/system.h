/* SPDX-License-Identifier: Apache-2.0
 *
 * A system of linear equations from files, as `espalier solve` solves it.
 */
#ifndef COMMAND_SYSTEM_H
#define COMMAND_SYSTEM_H

#include "core/values/values.h"
#include "command/command.h"
#include "core/matrix/matrix.h"
#include "espalier.h"

#include <stdio.h>

struct system {
    struct matrix_file file; /* A; sparse when the file is */
    struct matrix b, x;
    enum rhs_origin { RHS_ONES, RHS_OWN, RHS_FILE } rhs;
    char note[700];              /* for people: why this problem, when another was tried first */
    char instead[64];            /* the problem that was tried first, or "" */
    enum esp_status instead_why; /* it did not do */
    FILE *people;                /* where the report goes: standard error when X takes standard output */
    char problem[300];           /* that solved it: "dcholmod", or several in their order */
    char title[256];
    struct esp_session_info *info; /* owned: of the call of one that is not abstract, or NULL */
    struct esp_problem *solver;    /* the problem that was asked to solve it, abstract or not */
    struct values values;          /* its arguments */
    struct esp_run *run;           /* owned: of an abstract one, or NULL */
    uint64_t max_input;
    double backward_error, tolerance; /* of the solution; the largest that counts as right */
    bool fits;                        /* the problem finds least squares solutions */
    bool is_fit; /* no X solves the system: this one makes the residual smallest, with that error */
    double read_s, solve_s, check_s; /* what the user waited for */
};

/* Reads A, and B or what stands for it; both become complex when one is. ESP_SYNTAX for files that are wrong
 * or too large, ESP_INVALID for shapes that do not fit. */
enum esp_status system_load(const struct command_line *command, struct system *system,
                            struct esp_error *error);

/* Gives A and B imaginary parts of 0 where they are real, for a solver of complex systems. */
enum esp_status system_make_complex(struct system *system, struct esp_error *error);

/* X by the problem that the command line names, else by what the platform's `solve` picks; where no server
 * has that, by ?gesv. Blocks; between initialize and finalize. ESP_INVALID: the named problem solves no
 * system, or none with this matrix. */
enum esp_status system_solve(const struct command_line *command, struct system *system,
                             struct esp_error *error);

void system_clear(struct system *system);

#endif
