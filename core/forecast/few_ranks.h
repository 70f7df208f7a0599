/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicts how long a parallel code takes on many ranks, from runs on few.
 *
 * few_ranks_*: codes whose work is proportional to the memory of a rank (multigrid and similar), after
 * multigrid-prediction ("predicting the performance of parallel numerical software", section IV, equations
 * 1 to 4): T = T_comp + T_comm, T_comm = alpha(p) + gamma * work, alpha(p) = c + d log2 p, gamma constant.
 * All runs have the message lengths of the target. Blocking and non-blocking messages differ in c and d
 * only.
 *
 * dense_ranks_*: dense routines, whose work is not proportional to memory: terms in the operations of a
 * rank, log2 p and n^2 / sqrt(p).
 *
 * Plain values; any thread. */
#ifndef CORE_FEW_RANKS_H
#define CORE_FEW_RANKS_H

#include "util/error.h"

/* ---- work as memory ---- */

/* A run on `ranks` ranks with `work` (bytes, or any unit) on each of them. alone_s: the time of one rank
 * alone for the same work (T_comp). */
struct few_ranks_run {
    double ranks, work, alone_s, seconds;
};

struct few_ranks_model {
    double c, d, gamma;
    double error; /* the largest relative error of the fitted runs */
};

#define FEW_RANKS_MOST_RUNS 64

/* Steps 3 and 4: fits a line to the overheads of each number of ranks, then a line to their alpha. gamma
 * is that of the most ranks. An overhead that shrinks with more ranks (noise of non-blocking messages)
 * counts as constant. Needs runs with two or more numbers of ranks, and two or more amounts of work for
 * each. ESP_INVALID: too few or too many runs, or impossible numbers. */
enum esp_status few_ranks_fit(const struct few_ranks_run *runs, size_t n, struct few_ranks_model *model,
                              struct esp_error *error);

/* Equation 1: T on that many ranks with `work` on each, if one rank alone needs alone_s. */
double few_ranks_seconds(const struct few_ranks_model *model, double ranks, double work, double alone_s);

/* Equation 5: a job over two clusters ends when the slower one does. */
double few_ranks_both(double seconds_a, double seconds_b);

/* ---- dense routines ---- */

struct dense_ranks_run {
    double ranks, n, flop, seconds; /* flop: of all ranks */
};

/* T = t[0] + t[1] flop / p + t[2] n^2 / p + t[3] n log2 p + t[4] n^2 / sqrt(p); the last term is 0 on one
 * rank. The terms are: start-up; level 3 and level 2 operations of a rank; a message for each column;
 * volume. */
#define DENSE_RANKS_TERMS 5
struct dense_ranks_model {
    double t[DENSE_RANKS_TERMS]; /* none below 0 */
    double error;                /* root mean square of the relative errors of the fitted runs */
};

/* Fits the terms with the least relative error. ESP_INVALID: fewer than DENSE_RANKS_TERMS runs, only one
 * number of ranks, or impossible numbers. */
enum esp_status dense_ranks_fit(const struct dense_ranks_run *runs, size_t n, struct dense_ranks_model *model,
                                struct esp_error *error);
double dense_ranks_seconds(const struct dense_ranks_model *model, double ranks, double n, double flop);

#endif
