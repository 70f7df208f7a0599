/* SPDX-License-Identifier: Apache-2.0
 *
 * What calls of parallel routines took, against what the models said: for each routine, grid and block size
 * the latest few, spread over the sizes of calls. A forecast is corrected by what is known near its size on
 * its own grid, by a line that is fitted there (locally weighted regression; Cleveland, 1979), and where
 * little is known there by what the routine takes on others.
 *
 * Plain values; no function has another effect than on its arguments.
 */
#ifndef CORE_PARALLEL_EXPERIENCE_H
#define CORE_PARALLEL_EXPERIENCE_H

#include "core/forecast/parallel_model.h"

#define EXPERIENCE_MOST_GRIDS 256
#define EXPERIENCE_SAMPLES    24
#define EXPERIENCE_NAME       64
/* Calls that take less tell nothing of longer ones. */
#define EXPERIENCE_LEAST_S  3e-4
#define EXPERIENCE_MOST_LOG 4.0 /* of a correction: a factor of 55 */

/* Natural logarithms: of the seconds that the model said, and of what the call took over them. */
struct experience_sample {
    float size, ratio;
};

/* A routine on one grid with one block size. */
struct experience_grid {
    char routine[EXPERIENCE_NAME]; /* the symbol */
    struct parallel_grid grid;
    int64_t block;
    uint32_t n;
    struct experience_sample samples[EXPERIENCE_SAMPLES]; /* the oldest first */
};

struct parallel_experience {
    uint32_t n;
    struct experience_grid grids[EXPERIENCE_MOST_GRIDS];
};

/* What to multiply the model's seconds by: 1 as long as nothing is known of the routine. Beyond the sizes
 * that are known the nearest of these counts. */
double experience_factor(const struct parallel_experience *experience, const char *routine,
                         struct parallel_grid grid, int64_t block, double model_s);

/* A call took `taken_s` where the model said `model_s`. Calls below EXPERIENCE_LEAST_S, and numbers that
 * cannot be, are not heeded; what is more than 4 times off what was expected counts as 4 times. Of more
 * than EXPERIENCE_MOST_GRIDS that of which least is known is forgotten. Returns by what the factor of such a
 * call has been multiplied; 1 where it was not heeded. */
double experience_learn(struct parallel_experience *experience, const char *routine,
                        struct parallel_grid grid, int64_t block, double model_s, double taken_s);

/* How many calls of about that size are known there. */
uint32_t experience_count(const struct parallel_experience *experience, const char *routine,
                          struct parallel_grid grid, int64_t block, double model_s);

/* Takes over what `other` knows of grids of which it knows more. Returns of how many. */
uint32_t experience_adopt(struct parallel_experience *experience, const struct parallel_experience *other);

#endif
