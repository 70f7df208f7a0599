/* SPDX-License-Identifier: Apache-2.0
 *
 * How good forecasts were: a line for each session that has ended, in a file of bounded length. When it is
 * full it becomes FILE.old, and a new one begins.
 *
 * A line: seconds since 1970, the problem, the forecast and the actual time of the computation in seconds,
 * separated by tabs; of what ranks computed also which ("ranks 0 to 3 as 2 x 2, blocks of 64"). What cannot
 * be written is left out: no session fails for it.
 *
 * Short computations come by the ten thousand: ACCURACY_TOGETHER of a problem have a line together (fewer
 * when the file is closed), with the means of both times, and behind them how many they are, and of the last
 * ACCURACY_KEPT of them the figures that accuracy_tell() has.
 */
#ifndef SED_ACCURACY_H
#define SED_ACCURACY_H

#include "core/forecast/accuracy_line.h"
#include "core/message/session_ranks.h"
#include "util/arena.h"

struct accuracy;

#define ACCURACY_BYTES    (4 << 20)
#define ACCURACY_LEAST_S  0.001 /* shorter computations are noted together */
#define ACCURACY_TOGETHER 1024

/* Of so many sessions of a problem, the last ones, it can tell how good they were, and of so many problems.
 */
#define ACCURACY_KEPT     256
#define ACCURACY_PROBLEMS 512

/* NULL: it cannot be written (logged). What a former life has written counts in what is told; what is damaged
 * in it, or cannot be, is passed over, which is logged. */
struct accuracy *accuracy_open(const char *path);
void accuracy_close(struct accuracy *accuracy); /* NULL is nothing to do */
/* A line for each problem, in `arena`, separated by tabs: its name, how many sessions are told of, and of the
 * error (actual - forecast) / actual the mean and the median of its size, the size that 9 of 10 do not
 * exceed, and the mean (a bias). Short ones have a line of their own, which ends in "short": those since the
 * server was started. NULL without memory. */
const char *accuracy_tell(const struct accuracy *accuracy, struct arena *arena);
/* `ranks`: that computed it; rows 0, or NULL: a worker did. A short one costs some 30 ns, and 300 ns where
 * calls of a hundred problems take turns. */
void accuracy_note(struct accuracy *accuracy, const char *problem, double forecast_s, double actual_s,
                   const struct session_ranks *ranks);

#endif
