/* SPDX-License-Identifier: Apache-2.0
 *
 * One measured call: arguments laid out as in the server, inputs generated again before each repetition. */
#ifndef SED_CALIBRATE_CALL_H
#define SED_CALIBRATE_CALL_H

#include "sed/calibrate/calibrate.h"
#include "sed/sessions/call_plan.h"
#include "services/fast/design.h"

#include <pthread.h>

struct calibration {
    struct calibrate_options options;
    struct workers *workers;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t awaited; /* the running job; 0: it has ended */
    struct job_end end;
    uint64_t last_job;
    int32_t pid; /* of the worker; 0: not known */
    struct random random;
};

struct measured_call {
    const struct problem *problem;
    const struct design_point *point;
    struct call_plan plan;
    struct job job;
    struct job_argument arguments[PROBLEM_MAX_ARGUMENTS];
    unsigned char *block, *segment, *inputs;
    int fd;
    uint64_t kept; /* the job whose state it uses; 0: none */
    double beside; /* bytes that the last call of a command used in its own processes; 0: none */
    bool keeps;    /* a state that it leaves is for others, and stays */
};

/* On success the caller closes the call. */
enum esp_status measured_open(const struct problem *problem, const struct design_point *point,
                              struct random *random, struct measured_call *call, struct esp_error *error);
void measured_close(struct measured_call *call);

/* Runs it once. ESP_FAILED, ESP_CRASHED and the like: the job's status. *peak_bytes (may be NULL): largest
 * growth of the worker's memory, including the arguments; 0: not known. */
enum esp_status measured_run(struct calibration *calibration, struct measured_call *call, double *seconds,
                             double *cpu_s, double *peak_bytes, struct esp_error *error);

#endif
