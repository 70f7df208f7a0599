/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses which problems are measured first. */
#ifndef SED_CALIBRATE_ORDER_H
#define SED_CALIBRATE_ORDER_H

#include "core/problem/problem.h"

/* Lists all problems of the set: first those whose sessions have taken the most time here, according to
 * the file of forecasts and actual times in the server's state_dir (sed/forecast/accuracy.h; NULL: there is
 * none), then the others in their order. For free(); NULL without memory. */
struct problem **calibrate_order(const struct problem_set *set, const char *state_dir);

#endif
