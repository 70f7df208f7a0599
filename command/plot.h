/* SPDX-License-Identifier: Apache-2.0
 *
 * A plot of a cost model against the measurements that it was fitted to, as SVG.
 */
#ifndef COMMAND_PLOT_H
#define COMMAND_PLOT_H

#include "core/forecast/cost_model.h"
#include <stdio.h>

/* Above, axes logarithmic: forecast over measured time, one point a measurement, with the line where they are
 * equal and the band of the expected error; below, how far the model is off. What could not be written shows
 * in ferror(). */
void plot_model(FILE *file, const struct cost_model *model);

#endif
