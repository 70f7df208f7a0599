/* SPDX-License-Identifier: Apache-2.0
 *
 * The sensor of the processor, after the Network Weather Service: which share of a processor a process would
 * get that starts now (availableCpu) and one that runs already gets (currentCpu), as fractions.
 *
 * A reading compares the kernel's counters with those of the reading before, for the processors that this
 * process may use, less what its own processes took: a server's own sessions are no competitors. Passive
 * readings cannot tell a greedy competitor from several, nor one with another priority; a short active test
 * corrects them (Wolski, Spring, Hayes, The Network Weather Service, 1999).
 *
 * One thread at a time.
 */
#ifndef SERVICES_NWS_PROCESSOR_H
#define SERVICES_NWS_PROCESSOR_H

#include "util/error.h"

#include <stdbool.h>
#include <stdint.h>

struct processor_sensor;

struct processor_options {
    const char *proc;  /* NULL: "/proc"; a test has a folder of its own */
    int64_t pid;       /* the root of the own processes; 0: this one */
    uint64_t mask[16]; /* processors that count; all zero: those that this process may use */
    /* How many processors control groups leave the own processes, as a number that may be beyond those there
     * are; asked at each reading. NULL: all. */
    double (*quota)(void);
};

struct processor_reading {
    double available_cpu; /* 0 to 1 */
    double current_cpu;   /* 0 to 1 */
    double alone_cpu;     /* 0 to 1: availableCpu if none of the own processes ran */
    double competing;     /* processors that others took, in the time since the reading before */
    double waiting;       /* processes of others that wanted to run at the end of it */
    double own;           /* processors that the own processes took */
    uint64_t below_bytes; /* memory that those below the root of the own processes have to themselves */
};

/* ESP_SYSTEM: the kernel's counters cannot be read. */
enum esp_status processor_sensor_create(const struct processor_options *options,
                                        struct processor_sensor **sensor, struct esp_error *error);
void processor_sensor_destroy(struct processor_sensor *sensor); /* NULL is nothing to do */

/* Reads. False: nothing can be said yet, or this time: counters went back, or too little time has passed. */
bool processor_sensor_read(struct processor_sensor *sensor, struct processor_reading *reading);

/* What a process really got when it wanted all of a processor (processor time over wall time) for so many
 * seconds: of an active test, or of a session. It corrects the readings from now on, by a factor between 1/4
 * and 4: what was got by what readings had expected, of all that was learnt, older evidence counting less and
 * the readings themselves as much as a tenth of a second of it. So one short test that met a busy moment
 * moves little, and the correction fades within some minutes. `got` beyond (0, 1] is passed over. */
void processor_sensor_learn(struct processor_sensor *sensor, double got, double seconds);

/* Wants all of a processor for so long, in this thread. Returns what it got. */
double processor_active_test(int64_t duration_ns);

#endif
