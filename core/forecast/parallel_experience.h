/* SPDX-License-Identifier: Apache-2.0
 *
 * What calls of parallel routines took, against what the models said: for each routine, grid and block size
 * the latest few, spread over the sizes of calls. A forecast is corrected by what is known near its size on
 * its own grid, by a line that is fitted there (locally weighted regression; Cleveland, 1979), and where
 * nothing is known there, in part by what the routine takes on others.
 *
 * A call that took much longer than was expected may have been held up: it counts when the next one there
 * says the same. What speaks against a grid keeps calls from it, which could tell that it is so no more: it
 * fades while calls are made elsewhere.
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
    float level; /* the median of the ratios of its size: it is what counts */
};

/* A routine on one grid with one block size. */
struct experience_grid {
    char routine[EXPERIENCE_NAME]; /* the symbol */
    struct parallel_grid grid;
    int64_t block;
    uint32_t n;
    struct experience_sample samples[EXPERIENCE_SAMPLES]; /* the oldest first */
    bool doubted;
    struct experience_sample doubt; /* the last call took so long, or what has faded was so */
    uint32_t passed;                /* calls of the routine that came since one was made here */
    uint32_t fadings;               /* in a row */
};

struct parallel_experience {
    uint32_t n;
    struct experience_grid grids[EXPERIENCE_MOST_GRIDS];
};

/* What to multiply the model's seconds by: 1 as long as nothing is known of the routine. Beyond the sizes
 * that are known the nearest of these counts. Where nothing is known of that grid and block, but of n calls
 * on others, that counts by (n - 1) / (n + 1) of the logarithm: one call moves nothing but its own. */
double experience_factor(const struct parallel_experience *experience, const char *routine,
                         struct parallel_grid grid, int64_t block, double model_s);

/* A call took `taken_s` where the model said `model_s`. Calls below EXPERIENCE_LEAST_S, and numbers that
 * cannot be, are not heeded. What is more than 1.5 times what was expected waits for the next call on that
 * grid and block: where that is so too, both count as the lesser of them, and as 4 times at most; where it is
 * not, the first was an accident. What is quicker counts at once, as a quarter at least. Of more than
 * EXPERIENCE_MOST_GRIDS that of which least is known is forgotten. Returns by what the factor of such a call
 * has been multiplied; 1 where it does not count (yet). */
double experience_learn(struct parallel_experience *experience, const char *routine,
                        struct parallel_grid grid, int64_t block, double model_s, double taken_s);

/* A call of the routine has come, and will be made somewhere. Where 10 such calls for each that is known of a
 * grid and block went elsewhere, what is known to take more than 1.5 times the model's time there is halved,
 * in the logarithm, so that it is tried again some time; after twice as many once more, and so on. A call
 * that is as slow as before restores it at once. Returns whether anything has changed. */
bool experience_pass(struct parallel_experience *experience, const char *routine);

/* After its samples have been put there one by one: their levels. */
void experience_settle(struct experience_grid *of);

/* Whether no call counts yet. */
bool experience_is_empty(const struct parallel_experience *experience);

/* How many calls of about that size are known there. */
uint32_t experience_count(const struct parallel_experience *experience, const char *routine,
                          struct parallel_grid grid, int64_t block, double model_s);

/* Takes over what `other` knows of grids of which it knows more. Returns of how many. */
uint32_t experience_adopt(struct parallel_experience *experience, const struct parallel_experience *other);

#endif
