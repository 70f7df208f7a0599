/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures problems on this machine, as the server's workers run them, and makes cost models of them.
 *
 * Each point is called several times. The result is the mean of the middle half of the times, so that
 * outliers do not decide. With one thread these are processor times, which a competitor on the core hardly
 * changes; with several, wall times. Each point is recorded in a journal beside the models as soon as it
 * is measured: if the calibration is interrupted, the next one continues from it. */
#ifndef SED_CALIBRATE_H
#define SED_CALIBRATE_H

#include "core/forecast/cost_model.h"
#include "sed/pool/workers.h"

#include <stdatomic.h>

struct calibrate_options {
    const char *folder;  /* of models; created if missing */
    const char *machine; /* recorded in the models */
    uint32_t threads;    /* of BLAS in the workers */
    double budget_s;     /* approximate time for each problem */
    double longest_s;    /* calls that are expected to take longer are not made */
    double bytes;        /* most memory of one call */
    bool again;          /* also measure what has a model already */
    /* Called after each point, and before the first: the problem's progress (0 to 1). May be NULL. */
    void (*progress)(void *arg, const char *problem, double fraction, unsigned points);
    void *arg;
    /* Returns the process that has the job (processes_pid()), to measure its memory; NULL: not measured. */
    int32_t (*pid)(struct workers *workers, uint64_t job_id);
    /* Contains problems that make the states which others take; NULL: problems with a state are not
     * measured. */
    const struct problem_set *problems;
    const _Atomic bool *stop; /* set by a signal: ends soon, with ESP_CANCELLED; may be NULL */
};

struct calibration;

/* Uses the pool: sets its `ended`; the caller destroys the pool, first. One slot is enough. */
enum esp_status calibration_create(const struct calibrate_options *options, struct workers *workers,
                                   struct calibration **calibration, struct esp_error *error);
void calibration_destroy(struct calibration *calibration);

struct calibrate_result {
    unsigned models, points;       /* made, measured now */
    bool was_there;                /* all models existed already */
    double error;                  /* expected relative error of its worst model */
    unsigned left_out;             /* sizes whose calls fail: in no model */
    struct esp_error why_left_out; /* of the first: "n=700: ..." */
};

/* Measures one problem and writes its models. ESP_INVALID with the reason: it cannot be measured.
 * ESP_CANCELLED: stopped; measurements are kept. ESP_FAILED, ESP_CRASHED and the like: its routine ends in
 * this way with the generated inputs, for most sizes. ESP_SYSTEM: files. */
enum esp_status calibrate_problem(struct calibration *calibration, const struct problem *problem,
                                  struct calibrate_result *result, struct esp_error *error);

/* Times one call of an implementation with fresh inputs, after one that does not count: for benchmarks.
 * *seconds: wall time inside the routine; *cpu_s: processor time. */
struct design_point;
enum esp_status calibration_call(struct calibration *calibration, const struct problem *problem,
                                 const struct design_point *point, unsigned times, double *seconds,
                                 double *cpu_s, struct esp_error *error);

#endif
