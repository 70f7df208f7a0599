/* SPDX-License-Identifier: Apache-2.0
 *
 * Metrics of this process from the system, under the usual names of Prometheus. */
#ifndef SERVICES_PROCESS_METRICS_H
#define SERVICES_PROCESS_METRICS_H

#include "util/metrics.h"

/* Writes processor time, memory, descriptors, threads, start. Any thread. */
void process_metrics(struct metrics *metrics);

#endif
