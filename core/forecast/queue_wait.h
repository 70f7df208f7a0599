/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts how long a job will wait in the queue of a batch system, from how long earlier jobs waited.
 *
 * The forecast is the median of the recent waiting times of jobs that asked for about as much; its error
 * is the mean error of such forecasts. The bound is that of Brevik, Nurmi and Wolski, "Predicting bounds
 * on queuing delay for batch-queued time shared facilities" (2006): the smallest waiting time of the
 * history that is, with a confidence of 95 %, at least the 95 % quantile, by the binomial distribution of
 * the number of shorter ones. As in that paper, a run of waiting times beyond the bound that chance does
 * not explain means that the queue has changed, and the history is cut. The paper cuts it to its newest 59
 * waiting times; this module to its newest 8, so that the median follows.
 *
 * Pure data; one thread at a time. About 40 KiB. */
#ifndef CORE_QUEUE_WAIT_H
#define CORE_QUEUE_WAIT_H

#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue_wait;

/* The demands of a job. Jobs are similar when both figures are within a factor of two of each other, by
 * powers of two. */
struct queue_request {
    double cores;  /* >= 1; less counts as 1 */
    double time_s; /* time limit; 0: not known */
};

struct queue_forecast {
    double wait_s;  /* expected waiting time */
    double error_s; /* expected absolute error of wait_s */
    double bound_s; /* only one job in twenty waits longer; never below wait_s */
    uint32_t n;     /* number of waiting times used */
    bool alike;     /* from similar jobs; else from all jobs of the queue */
};

enum esp_status queue_wait_create(struct queue_wait **history, struct esp_error *error);
void queue_wait_destroy(struct queue_wait *history); /* NULL is ignored */

/* Notes that a job has started after waiting `wait_s`. False: a value is negative or not finite, and is
 * ignored. */
bool queue_wait_add(struct queue_wait *history, const struct queue_request *request, double wait_s);

/* Forecasts the remaining wait of a job that has waited `waited_s` already (0: not submitted yet): only
 * jobs in the history that waited longer count. If there are none, it is expected to wait as long again,
 * with an error of the same size. False: the history is empty. */
bool queue_wait_forecast(const struct queue_wait *history, const struct queue_request *request,
                         double waited_s, struct queue_forecast *forecast);

/* Combines the history with the batch system's own forecast, a start in `expected_s` from now: the mean of
 * both, weighted by the inverse squares of their mean errors so far. `system_error_s`: the mean error of
 * the system's forecasts; 0: not known, then assumed as large as the history's. */
void queue_wait_combine(struct queue_forecast *forecast, double expected_s, double system_error_s);

/* The smallest number k for which, of n waiting times in ascending order, the k-th (from 1) is at least the
 * quantile q with confidence c; 0: n is too small for that. For tests and tables. */
uint32_t queue_wait_bound_rank(uint32_t n, double q, double c);

/* Returns the history as a text, one "cores time wait" a line, oldest first, for free(); NULL without
 * memory. */
char *queue_wait_write(const struct queue_wait *history);
/* Adds the text of queue_wait_write() to the history. Skips malformed lines; returns the number of waiting
 * times added. */
size_t queue_wait_read(struct queue_wait *history, const char *text, size_t length);

#endif
