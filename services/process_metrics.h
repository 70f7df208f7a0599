/* SPDX-License-Identifier: Apache-2.0
 *
 * What the system knows of this process, under the names that all programs with metrics use.
 */
#ifndef SERVICES_PROCESS_METRICS_H
#define SERVICES_PROCESS_METRICS_H

#include "util/metrics.h"

/* Processor time, memory, descriptors, threads, start. Any thread. */
void process_metrics(struct metrics *metrics);

#endif
