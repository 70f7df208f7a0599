/* SPDX-License-Identifier: Apache-2.0
 *
 * The sensor of the processor, after the Network Weather Service: which fraction of a processor a process
 * would get that starts now (availableCpu) and one that runs already gets (currentCpu).
 *
 * A reading compares the kernel's counters with those of the reading before, for the processors that this
 * process may use, without its own processes, because a server's own sessions are no competitors. Passive
 * readings cannot distinguish a greedy competitor from several, nor see priorities; a short active test
 * corrects them (Wolski, Spring, Hayes, The Network Weather Service, 1999).
 *
 * One thread at a time. */
#ifndef SERVICES_NWS_PROCESSOR_H
#define SERVICES_NWS_PROCESSOR_H

#include "util/error.h"

#include <stdbool.h>
#include <stdint.h>

struct processor_sensor;

struct processor_options {
    const char *proc;  /* NULL: "/proc"; tests use their own folder */
    int64_t pid;       /* the root of the own processes; 0: this one */
    uint64_t mask[16]; /* counted processors; all zero: those that this process may use */
    /* How many processors the control groups allow to our processes, which may exceed the existing ones;
     * called at each reading. NULL: all. */
    double (*quota)(void);
};

struct processor_reading {
    double available_cpu; /* 0 to 1 */
    double current_cpu;   /* 0 to 1 */
    double alone_cpu;     /* 0 to 1: availableCpu if none of our processes ran */
    double competing;     /* processors that other processes used since the reading before */
    double waiting;       /* other processes that wanted to run at the end of that time */
    double own;           /* processors that our processes used */
    uint64_t below_bytes; /* unshared memory of the descendants of the root of our processes */
};

/* ESP_SYSTEM: the kernel's counters cannot be read. */
enum esp_status processor_sensor_create(const struct processor_options *options,
                                        struct processor_sensor **sensor, struct esp_error *error);
void processor_sensor_destroy(struct processor_sensor *sensor); /* NULL is ignored */

/* Takes a reading. False: not possible yet, or this time: counters went back, or too little time has
 * passed. */
bool processor_sensor_read(struct processor_sensor *sensor, struct processor_reading *reading);

/* Notes what a process really received when it wanted all of a processor (processor time over wall time)
 * for that many seconds: an active test, or a session. This corrects later readings, by a factor between
 * 1/4 and 4: received over expected time, over all evidence, older evidence counting less and the readings
 * themselves as a tenth of a second. So one short test at a busy moment changes little, and the correction
 * fades within some minutes. `got` outside (0, 1] is ignored. */
void processor_sensor_learn(struct processor_sensor *sensor, double got, double seconds);

/* Uses all of a processor for that long, in this thread. Returns the fraction that it received. */
double processor_active_test(int64_t duration_ns);

#endif
