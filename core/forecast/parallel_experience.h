/* SPDX-License-Identifier: Apache-2.0
 *
 * Records the times of parallel calls relative to their models: for each routine, grid and block size the
 * latest few calls, spread over the sizes. A forecast is corrected by the samples near its size on its own
 * grid, with a locally fitted line (locally weighted regression; Cleveland, 1979). Without samples there,
 * it is corrected in part by the routine's samples on other grids.
 *
 * A call that took much longer than expected may have been held up: it counts only when the next call on
 * that grid confirms it. A bad record keeps calls away from a grid, so it could never be disproved.
 * Therefore it fades while calls are made elsewhere.
 *
 * Plain values; functions only change their arguments. */
#ifndef CORE_PARALLEL_EXPERIENCE_H
#define CORE_PARALLEL_EXPERIENCE_H

#include "core/forecast/parallel_model.h"

#define EXPERIENCE_MOST_GRIDS 256
#define EXPERIENCE_SAMPLES    24
#define EXPERIENCE_NAME       64
/* Shorter calls say nothing about longer ones. */
#define EXPERIENCE_LEAST_S  3e-4
#define EXPERIENCE_MOST_LOG 4.0 /* of a correction: a factor of 55 */

/* Natural logarithms: of the model's seconds, and of the ratio of the call's time to it. */
struct experience_sample {
    float size, ratio;
    float level; /* the median of the ratios of its size, which is used for forecasts */
};

/* A routine on one grid with one block size. */
struct experience_grid {
    char routine[EXPERIENCE_NAME]; /* the symbol */
    struct parallel_grid grid;
    int64_t block;
    uint32_t n;
    struct experience_sample samples[EXPERIENCE_SAMPLES]; /* the oldest first */
    bool doubted;
    struct experience_sample doubt; /* a slow call waiting for confirmation, or the faded value */
    uint32_t passed;                /* calls of the routine elsewhere since the last one here */
    uint32_t fadings;               /* fadings in a row */
};

struct parallel_experience {
    uint32_t n;
    struct experience_grid grids[EXPERIENCE_MOST_GRIDS];
};

/* Returns the factor for the model's seconds: 1 if nothing is known about the routine. Beyond the known
 * sizes, the nearest one counts. Without samples for that grid and block, n calls on others count by (n -
 * 1) / (n + 1) of the logarithm, so one call affects only its own grid. */
double experience_factor(const struct parallel_experience *experience, const char *routine,
                         struct parallel_grid grid, int64_t block, double model_s);

/* Notes that a call took `taken_s` where the model said `model_s`. Calls shorter than EXPERIENCE_LEAST_S,
 * and impossible numbers, are ignored. A time above 1.5 times the expected one waits for the next call on
 * that grid and block: if that one is slow too, both count with the lesser of the ratios, at most 4;
 * otherwise the first is dropped. A faster call counts at once, with a ratio of at least 1/4. Beyond
 * EXPERIENCE_MOST_GRIDS, the grid with the fewest samples is dropped. Returns the change of the factor for
 * such a call; 1 when the call does not count (yet). */
double experience_learn(struct parallel_experience *experience, const char *routine,
                        struct parallel_grid grid, int64_t block, double model_s, double taken_s);

/* Notes that a call of the routine was placed somewhere. If 10 calls for each sample of a grid and block
 * went elsewhere, and its factor is above 1.5, the factor is halved in the logarithm, so that the grid is
 * tried again; after twice as many calls once more, and so on. A call that is as slow as before restores
 * it at once. Returns whether anything changed. */
bool experience_pass(struct parallel_experience *experience, const char *routine);

/* Computes the levels after samples were added one by one. */
void experience_settle(struct experience_grid *of);

/* Whether there are no samples. */
bool experience_is_empty(const struct parallel_experience *experience);

/* Returns the number of samples of about that size for that grid and block. */
uint32_t experience_count(const struct parallel_experience *experience, const char *routine,
                          struct parallel_grid grid, int64_t block, double model_s);

/* Takes over entries of `other` with more samples. Returns how many. */
uint32_t experience_adopt(struct parallel_experience *experience, const struct parallel_experience *other);

#endif
