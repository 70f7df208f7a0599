/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/parallel_experience.h"

#include <math.h>
#include <string.h>

/* The distance (of logarithms of seconds) at which a sample's weight is one half: a factor of 3. */
#define WIDTH 1.1
/* Ridge term: a slope counts in full only if the sizes are spread by more than this. */
#define RIDGE 0.05
/* Total weight of all samples of the same grid with other blocks, and of other grids. */
#define OTHER_BLOCKS 0.3
#define OTHER_GRIDS  0.05
/* Without a sample for a grid and block, one call on other grids changes nothing, and n calls change the
 * logarithm by (n - 1) / (n - 1 + OTHER_CALLS). */
#define OTHER_CALLS 2.0
#define MOST_CHANGE 1.3862943611198906 /* ln 4 */
/* A call that takes longer than expected by more than this factor waits for a confirming call; an entry
 * whose factor is above this fades. */
#define SURPRISE 0.4054651081081644 /* ln 1.5 */
/* An entry fades after this many calls of the routine elsewhere for each call recorded there; doubled
 * after each fading, at most MOST_DOUBLED times. */
#define FADE_CALLS   10
#define MOST_DOUBLED 6
/* A sample with this many later ones has half the weight, because recent samples describe the machine
 * best. */
#define AGING 16.0
/* Samples closer than NEAR count as one size; ENOUGH of one size are kept. */
#define NEAR   0.2
#define ENOUGH 3
/* A sample this many times as far from the line as the average has half the weight. */
#define STRANGE 2.0
/* A line is fitted, samples are weighted by their distance from it, and it is fitted again. */
#define PASSES 3

/* Weighted sums of samples; sizes are relative to that of the call. */
struct sums {
    double w, x, y, xx, xy;
    double off; /* weighted distances from the line fitted before */
};

/* The line fitted before, at x = 0; used to give outliers less weight. */
struct line {
    double value, slope, deviation; /* mean distance of samples from it; 0: no line yet */
};

static double weight(const struct line *line, double x, double y)
{
    const double far = x / WIDTH;
    const double off =
        line->deviation > 0 ? (y - line->value - line->slope * x) / (STRANGE * line->deviation) : 0;
    return 1 / (1 + far * far * far * far) / (1 + off * off);
}

static void add_grid(struct sums *sums, const struct experience_grid *of, double size,
                     const struct line *line)
{
    for (uint32_t i = 0; i < of->n; i++) {
        const double x = of->samples[i].size - size, y = of->samples[i].level,
                     w = weight(line, x, y) / (1 + (double)(of->n - 1 - i) / AGING);
        sums->w += w;
        sums->x += w * x;
        sums->y += w * y;
        sums->xx += w * x * x;
        sums->xy += w * x * y;
        sums->off += w * fabs(y - line->value - line->slope * x);
    }
}

static void add_sums(struct sums *to, const struct sums *more, double most)
{
    const double part = more->w > most ? most / more->w : 1;
    to->w += part * more->w;
    to->x += part * more->x;
    to->y += part * more->y;
    to->xx += part * more->xx;
    to->xy += part * more->xy;
    to->off += part * more->off;
}

/* Fits the line at the size of the call. */
static void fit(const struct sums *sums, struct line *line)
{
    const double x = sums->x / sums->w, y = sums->y / sums->w;
    line->slope = (sums->xy / sums->w - x * y) / (sums->xx / sums->w - x * x + RIDGE);
    line->value = y - line->slope * x;
}

static double between(double least, double x, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* Returns the nearest known size. */
static double known_size(const struct parallel_experience *experience, const char *routine, double size)
{
    double least = INFINITY, most = -INFINITY;
    for (uint32_t i = 0; i < experience->n; i++)
        for (uint32_t k = 0; k < experience->grids[i].n; k++)
            if (strcmp(experience->grids[i].routine, routine) == 0) {
                least = fmin(least, experience->grids[i].samples[k].size);
                most = fmax(most, experience->grids[i].samples[k].size);
            }
    return between(least, size, most);
}

static bool is_grid(const struct experience_grid *of, struct parallel_grid grid)
{
    return of->grid.p == grid.p && of->grid.q == grid.q;
}

/* *part: how much the entry is trusted. */
static struct sums add_all(const struct parallel_experience *experience, const char *routine,
                           struct parallel_grid grid, int64_t block, double size, const struct line *line,
                           double *part)
{
    struct sums own = {0}, blocks = {0}, grids = {0};
    uint32_t others = 0;
    for (uint32_t i = 0; i < experience->n; i++) {
        const struct experience_grid *of = &experience->grids[i];
        if (strcmp(of->routine, routine) != 0)
            continue;
        add_grid(!is_grid(of, grid) ? &grids : of->block == block ? &own : &blocks, of, size, line);
        others += of->n;
    }
    *part = own.w > 0 ? 1 : others > 1 ? (others - 1) / (others - 1 + OTHER_CALLS) : 0;
    add_sums(&own, &blocks, OTHER_BLOCKS);
    add_sums(&own, &grids, OTHER_GRIDS);
    return own;
}

double experience_factor(const struct parallel_experience *experience, const char *routine,
                         struct parallel_grid grid, int64_t block, double model_s)
{
    struct line line = {0};
    double part = 0;
    if (!(model_s > 0) || !isfinite(model_s))
        return 1;
    const double size = known_size(experience, routine, log(model_s));
    for (int pass = 0; pass < PASSES; pass++) {
        const struct sums sums = add_all(experience, routine, grid, block, size, &line, &part);
        if (sums.w <= 0)
            return 1;
        line.deviation = pass > 0 ? sums.off / sums.w : 0;
        if (pass != 1)
            fit(&sums, &line);
    }
    return exp(between(-EXPERIENCE_MOST_LOG, part * line.value, EXPERIENCE_MOST_LOG));
}

/* ---- learning ---- */

static const struct experience_grid *find(const struct parallel_experience *experience, const char *routine,
                                          struct parallel_grid grid, int64_t block)
{
    for (uint32_t i = 0; i < experience->n; i++)
        if (is_grid(&experience->grids[i], grid) && experience->grids[i].block == block &&
            strcmp(experience->grids[i].routine, routine) == 0)
            return &experience->grids[i];
    return NULL;
}

static struct experience_grid *least_known(struct parallel_experience *experience)
{
    struct experience_grid *least = &experience->grids[0];
    for (uint32_t i = 1; i < experience->n; i++)
        if (experience->grids[i].n < least->n)
            least = &experience->grids[i];
    return least;
}

static struct experience_grid *find_or_make(struct parallel_experience *experience, const char *routine,
                                            struct parallel_grid grid, int64_t block)
{
    struct experience_grid *known =
        (struct experience_grid *)(uintptr_t)find(experience, routine, grid, block);
    if (known)
        return known;
    known =
        experience->n < EXPERIENCE_MOST_GRIDS ? &experience->grids[experience->n++] : least_known(experience);
    *known = (struct experience_grid){.grid = grid, .block = block};
    memcpy(known->routine, routine, strlen(routine) + 1);
    return known;
}

static uint32_t count_near(const struct experience_grid *of, double size, uint32_t *oldest)
{
    uint32_t near = 0;
    *oldest = 0;
    for (uint32_t i = of->n; i-- > 0;)
        if (fabs(of->samples[i].size - size) < NEAR) {
            near++;
            *oldest = i;
        }
    return near;
}

static void forget(struct experience_grid *of, uint32_t index)
{
    of->n--;
    memmove(of->samples + index, of->samples + index + 1, (of->n - index) * sizeof *of->samples);
}

/* Returns the oldest sample where they are most dense. */
static uint32_t most_crowded(const struct experience_grid *of)
{
    uint32_t most = 0, found = 0;
    for (uint32_t i = 0; i < of->n; i++) {
        uint32_t oldest;
        const uint32_t near = count_near(of, (double)of->samples[i].size, &oldest);
        if (near > most) {
            most = near;
            found = oldest;
        }
    }
    return found;
}

/* Returns the median of the samples of about that size. */
static float middle(const struct experience_grid *of, double size)
{
    float near[EXPERIENCE_SAMPLES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < of->n; i++) {
        if (fabs(of->samples[i].size - size) >= NEAR)
            continue;
        uint32_t at = n++;
        for (; at > 0 && near[at - 1] > of->samples[i].ratio; at--)
            near[at] = near[at - 1];
        near[at] = of->samples[i].ratio;
    }
    return n > 0 ? (near[(n - 1) / 2] + near[n / 2]) / 2 : 0;
}

void experience_settle(struct experience_grid *of)
{
    for (uint32_t i = 0; i < of->n; i++)
        of->samples[i].level = middle(of, (double)of->samples[i].size);
}

/* Keeps a sample; many calls of one size must not displace samples of other sizes. */
static void keep(struct experience_grid *of, double size, double ratio)
{
    uint32_t oldest;
    if (count_near(of, size, &oldest) >= ENOUGH)
        forget(of, oldest);
    else if (of->n == EXPERIENCE_SAMPLES)
        forget(of, most_crowded(of));
    ratio = between(-EXPERIENCE_MOST_LOG, ratio, EXPERIENCE_MOST_LOG);
    of->samples[of->n++] = (struct experience_sample){.size = (float)size, .ratio = (float)ratio};
    experience_settle(of);
}

static bool is_heeded(const char *routine, double model_s, double taken_s)
{
    return model_s > 0 && isfinite(model_s) && taken_s >= EXPERIENCE_LEAST_S && isfinite(taken_s) &&
           strlen(routine) < EXPERIENCE_NAME && !strpbrk(routine, " \t\n");
}

static double expected_at(const struct parallel_experience *experience, const struct experience_grid *of,
                          double size)
{
    return log(experience_factor(experience, of->routine, of->grid, of->block, exp(size)));
}

/* One slow call may have been held up by something else. Two in a row count, by the lesser of their
 * deviations. */
static void doubt(const struct parallel_experience *experience, struct experience_grid *of, double size,
                  double expected, double more)
{
    const struct experience_sample before = of->doubt;
    const double before_expected = of->doubted ? expected_at(experience, of, (double)before.size) : 0,
                 before_more = of->doubted ? (double)before.ratio - before_expected : 0;
    of->doubted = before_more <= SURPRISE;
    if (of->doubted) {
        of->doubt = (struct experience_sample){.size = (float)size, .ratio = (float)(expected + more)};
        return;
    }
    const double both = fmin(fmin(before_more, more), MOST_CHANGE);
    keep(of, (double)before.size, before_expected + both);
    keep(of, size, expected + both);
}

double experience_learn(struct parallel_experience *experience, const char *routine,
                        struct parallel_grid grid, int64_t block, double model_s, double taken_s)
{
    if (!is_heeded(routine, model_s, taken_s))
        return 1;
    const double size = log(model_s),
                 expected = log(experience_factor(experience, routine, grid, block, model_s)),
                 more = log(taken_s / model_s) - expected;
    struct experience_grid *of = find_or_make(experience, routine, grid, block);
    of->passed = 0;
    if (more > SURPRISE) {
        doubt(experience, of, size, expected, more);
    } else {
        of->doubted = false;
        of->fadings = 0;
        keep(of, size, expected + fmax(more, -MOST_CHANGE));
    }
    return experience_factor(experience, routine, grid, block, model_s) / exp(expected);
}

/* The faded value is kept, so that one call that confirms it restores it. */
static bool fade(struct experience_grid *of)
{
    const bool is_first = !of->doubted || of->fadings == 0;
    bool faded = false;
    for (uint32_t i = 0; i < of->n; i++) {
        struct experience_sample *sample = &of->samples[i];
        if (sample->ratio <= (float)SURPRISE)
            continue;
        if (is_first)
            of->doubt = *sample;
        of->doubted = faded = true;
        sample->ratio /= 2;
    }
    of->fadings += faded && of->fadings < MOST_DOUBLED;
    experience_settle(of);
    return faded;
}

bool experience_pass(struct parallel_experience *experience, const char *routine)
{
    bool faded = false;
    for (uint32_t i = 0; i < experience->n; i++) {
        struct experience_grid *of = &experience->grids[i];
        if (strcmp(of->routine, routine) != 0 || ++of->passed <= (FADE_CALLS * of->n) << of->fadings)
            continue;
        of->passed = 0;
        faded |= fade(of);
    }
    return faded;
}

bool experience_is_empty(const struct parallel_experience *experience)
{
    uint32_t i = 0;
    while (i < experience->n && experience->grids[i].n == 0)
        i++;
    return i == experience->n;
}

uint32_t experience_count(const struct parallel_experience *experience, const char *routine,
                          struct parallel_grid grid, int64_t block, double model_s)
{
    uint32_t oldest;
    const struct experience_grid *of = find(experience, routine, grid, block);
    return of && model_s > 0 ? count_near(of, log(model_s), &oldest) : 0;
}

uint32_t experience_adopt(struct parallel_experience *experience, const struct parallel_experience *other)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < other->n; i++) {
        const struct experience_grid *from = &other->grids[i];
        if (from->n == 0)
            continue;
        struct experience_grid *to = find_or_make(experience, from->routine, from->grid, from->block);
        if (to->n >= from->n)
            continue;
        *to = *from;
        taken++;
    }
    return taken;
}
