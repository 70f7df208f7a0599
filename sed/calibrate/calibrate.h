/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring problems on this machine, as the server's workers would run them, and making cost models of it.
 *
 * Each point is called several times; what counts is the mean of the middle half of the times, so that
 * neither a storm nor a lucky call decides. With one thread these are times of the processor, which a
 * competitor on the core hardly changes; with several, times of the clock. Each point is noted in a journal
 * beside the models as soon as it is there: whatever ends the calibration, the next one goes on from it.
 */
#ifndef SED_CALIBRATE_H
#define SED_CALIBRATE_H

#include "core/forecast/cost_model.h"
#include "sed/pool/workers.h"

#include <stdatomic.h>

struct calibrate_options {
    const char *folder;  /* of models; made when it is not there */
    const char *machine; /* noted in the models */
    uint32_t threads;    /* of BLAS in the workers */
    double budget_s;     /* for each problem, about */
    double longest_s;    /* calls that are expected to take longer are not made */
    double bytes;        /* memory of one call, at most */
    bool again;          /* measure what has a model already, too */
    /* After each point, and before the first: how far the problem is (0 to 1). May be NULL. */
    void (*progress)(void *arg, const char *problem, double fraction, unsigned points);
    void *arg;
    /* The process that has the job (processes_pid()), to see its memory; NULL: it is not measured. */
    int32_t (*pid)(struct workers *workers, uint64_t job_id);
    /* Among which are those that make the states that others take; NULL: what takes a state is not measured.
     */
    const struct problem_set *problems;
    const _Atomic bool *stop; /* set by a signal: ends soon, with ESP_CANCELLED; may be NULL */
};

struct calibration;

/* Takes the pool: sets its `ended`; the pool stays the caller's to destroy, first. One slot is enough. */
enum esp_status calibration_create(const struct calibrate_options *options, struct workers *workers,
                                   struct calibration **calibration, struct esp_error *error);
void calibration_destroy(struct calibration *calibration);

struct calibrate_result {
    unsigned models, points;       /* made, measured now */
    bool was_there;                /* all models were there already */
    double error;                  /* expected, relative: the worst of its models */
    unsigned left_out;             /* sizes whose calls fail: no model has them */
    struct esp_error why_left_out; /* of the first: "n=700: ..." */
};

/* Measures one problem and writes its models. ESP_INVALID with the reason: it cannot be measured.
 * ESP_CANCELLED: told to stop; what was measured is kept. ESP_FAILED, ESP_CRASHED and the like: so its
 * routine ends with the inputs made for it, for most sizes. ESP_SYSTEM: files. */
enum esp_status calibrate_problem(struct calibration *calibration, const struct problem *problem,
                                  struct calibrate_result *result, struct esp_error *error);

/* One timed call of an implementation with fresh inputs, after one that does not count: for benchmarks.
 * *seconds: of the clock, inside the routine; *cpu_s: of the processor. */
struct design_point;
enum esp_status calibration_call(struct calibration *calibration, const struct problem *problem,
                                 const struct design_point *point, unsigned times, double *seconds,
                                 double *cpu_s, struct esp_error *error);

#endif
