/* SPDX-License-Identifier: Apache-2.0
 *
 * Which sizes are measured, and in which order: a walk over times and shapes that can be stopped anywhere.
 */
#include "services/fast/design.h"

#include <math.h>

#define MOST_TRIES 60
/* What bounds sizes is the memory of a call. One that takes no more memory and work when it grows is bounded
 * by this: nothing tells how long it would take. */
#define MOST_SIZE   1e9
#define MOST_UNSEEN 30000
/* Beyond the caches a routine that computes little moves about so many bytes in a second. */
#define MEMORY_BPS 4e9

static double work_of(const struct design *design, const struct design_point *point)
{
    return design->has_work ? point->x[design->n_sizes + design->has_lesser] : 0;
}

static double bytes_of(const struct design *design, const struct design_point *point)
{
    return point->x[design->n_sizes + design->has_lesser + design->has_work];
}

/* About how long it takes; HUGE_VAL: more memory than there is. */
static double expected_s(const struct design *design, const struct design_point *point,
                         const struct design_limits *limits)
{
    const double work = work_of(design, point), bytes = bytes_of(design, point);
    if (bytes > limits->bytes)
        return HUGE_VAL;
    return limits->call_s + fmax(work, bytes / MEMORY_BPS * limits->speed_flops) / limits->speed_flops;
}

/* How the sizes of a point follow from one number: shares of it, or powers below it (thin shapes). */
struct direction {
    double factor[COST_MOST_VARIABLES], power[COST_MOST_VARIABLES];
    double density; /* elements of a compressed matrix, in a column */
};

/* In a row of a discretised equation there are a few elements; and right-hand sides are few, beside it. */
#define LEAST_DENSITY 3
#define MOST_DENSITY  30
#define MOST_BESIDE   0.6
#define DENSER        1.4
#define LEAST_THIN    0.15 /* of thin matrices: the lesser side is that power of the other one, */
#define MOST_THIN     0.75 /* at most this */
#define MOST_ASPECT   2.3  /* doublings: about 5 times as many rows as columns, and the other way round */

static void draw_sparse(const struct design *design, struct random *random, struct direction *direction)
{
    const double range = (double)MOST_DENSITY / LEAST_DENSITY;
    direction->density = LEAST_DENSITY * pow(range, random_real(random));
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        if (design->is_extent[i])
            continue;
        direction->factor[i] = 1;
        direction->power[i] = random_below(random, 2) ? 0 : MOST_BESIDE * random_real(random);
    }
}

/* In a round all kinds come at all times: the next one begins with another kind, and so does the next one
 * with the longest calls. These take as long as all others together: every other round is without them, and
 * without the shortest. */
enum { ROUND = 12 };
#define SHORTER 4
#define LONGER  10
enum kind { SQUARE, RECTANGULAR, SINGLE, THIN, KINDS };

/* Where shapes decide on the way a routine takes, there are more rectangular ones than others; of those that
 * take long more are thin, which outgrow caches as no others do. */
static enum kind kind_of(const struct design *design, uint32_t index)
{
    const uint32_t place = index % ROUND, round = index / ROUND;
    const enum kind kind = (enum kind)((place + round + round / 2) % KINDS);
    const bool is_odd = (place / KINDS + round / (2 * KINDS)) % 2;
    if (!design->has_lesser)
        return kind;
    if ((kind == SQUARE && is_odd) || (kind == THIN && place < KINDS && !is_odd))
        return RECTANGULAR;
    return kind == RECTANGULAR && place >= 2 * KINDS && is_odd ? THIN : kind;
}

/* The aspect of rectangular matrices, whose routines take other ways by it, is spread over all of them, more
 * densely towards square ones, so that there are some between any two. */
static void spread_aspect(uint32_t index, struct direction *direction)
{
    /* From one point to the next, and from one pair of rounds to the next at the same time. */
    const double step = index * 0.7548776662466927 + index / (2 * ROUND) * 0.6180339887498949;
    const double place = 2 * fmod(0.5 + step, 1) - 1;
    const double aspect = copysign(MOST_ASPECT * pow(fabs(place), DENSER), place);
    direction->factor[0] = exp2(aspect / 2);
    direction->factor[1] = exp2(-aspect / 2);
}

/* Tall ones and wide ones, whose lesser side is of all sizes at all times, more densely where it is still
 * below what routines take for a block. */
static void spread_thin(uint32_t index, struct direction *direction)
{
    const uint32_t lesser = index % 2;
    const double place = pow(fmod(0.5 + index * 0.5698402909980532, 1), DENSER);
    direction->power[lesser] = LEAST_THIN + (MOST_THIN - LEAST_THIN) * place;
    direction->power[!lesser] = direction->factor[0] = direction->factor[1] = 1;
}

static struct direction draw(const struct design *design, enum kind kind, uint32_t index,
                             struct random *random)
{
    struct direction direction = {.density = 0};
    uint32_t thin = 0;
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        const bool is_single = kind == SINGLE && design->is_beside[i];
        const bool is_thin = kind == THIN && thin + 1 < design->n_sizes && random_below(random, 2);
        const bool is_square = kind == SQUARE || design->n_sizes == 1;
        direction.power[i] = is_single ? 0 : is_thin ? random_real(random) * 0.85 : 1;
        direction.factor[i] = is_square || is_thin || is_single ? 1 : exp2(2 * random_real(random) - 1);
        thin += is_thin;
    }
    if (design->has_lesser && kind == THIN)
        spread_thin(index, &direction);
    else if (design->has_lesser && kind != SQUARE)
        spread_aspect(index, &direction);
    if (design->is_sparse)
        draw_sparse(design, random, &direction);
    return direction;
}

static void sizes_of(const struct design *design, const struct direction *direction, double scale,
                     int64_t *sizes)
{
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        double size = direction->factor[i] * pow(scale, direction->power[i]);
        sizes[i] = (int64_t)fmin(fmax(floor(size), 1), MOST_SIZE);
    }
    for (uint32_t i = 0; i < design->n_sizes; i++)
        if (design->counts[i]) {
            const double along = (double)sizes[design->counts[i] - 1];
            sizes[i] = (int64_t)fmin(along * fmin(direction->density, along), MOST_SIZE);
        }
}

/* The effort of a call at that scale; below 0: there is none. */
static double effort_at(const struct design *design, uint32_t class_index, const struct direction *direction,
                        double scale)
{
    int64_t sizes[COST_MOST_VARIABLES];
    struct design_point point;
    sizes_of(design, direction, scale, sizes);
    if (!design_roughly_at(design, class_index, sizes, &point))
        return -1;
    return work_of(design, &point) + bytes_of(design, &point);
}

static double most_scale(const struct design *design, uint32_t class_index, const struct direction *direction)
{
    const double effort = effort_at(design, class_index, direction, MOST_UNSEEN);
    const bool unseen = effort >= 0 && effort == effort_at(design, class_index, direction, 2 * MOST_UNSEEN);
    return unseen ? MOST_UNSEEN : MOST_SIZE;
}

/* The largest scale whose call is not expected to take longer. */
static bool scale_for(const struct design *design, uint32_t class_index, const struct direction *direction,
                      double seconds, const struct design_limits *limits, struct design_point *point)
{
    int64_t sizes[COST_MOST_VARIABLES];
    double low = 1, high = most_scale(design, class_index, direction);
    for (int i = 0; i < 40; i++) {
        double middle = sqrt(low * high);
        sizes_of(design, direction, middle, sizes);
        if (design_roughly_at(design, class_index, sizes, point) &&
            expected_s(design, point, limits) <= seconds)
            low = middle;
        else
            high = middle;
    }
    sizes_of(design, direction, low, sizes);
    return design_at(design, class_index, sizes, point) && expected_s(design, point, limits) < HUGE_VAL;
}

/* Rounds of a few ascending times, each round between those of the ones before. */
static double seconds_of(uint32_t index, const struct design_limits *limits)
{
    const double offset = fmod(0.5 + index / ROUND * 0.6180339887498949, 1);
    const double share = (index % ROUND + offset) / ROUND;
    const bool is_between = index / ROUND % 2 && limits->most_s > LONGER * SHORTER * limits->least_s;
    const double least_s = is_between ? LONGER * limits->least_s : limits->least_s;
    const double most_s = is_between ? limits->most_s / SHORTER : limits->most_s;
    return least_s * pow(most_s / least_s, share);
}

bool design_next(const struct design *design, uint32_t class_index, uint32_t index,
                 const struct design_limits *limits, struct random *random, struct design_point *point)
{
    const double seconds = fmax(seconds_of(index, limits), 1.5 * limits->call_s);
    for (uint32_t i = 0; i < MOST_TRIES; i++) {
        const enum kind kind = i < MOST_TRIES / 2 ? kind_of(design, index) : SQUARE;
        const struct direction direction = draw(design, kind, index + i, random);
        if (scale_for(design, class_index, &direction, seconds, limits, point))
            return true;
    }
    return false;
}
