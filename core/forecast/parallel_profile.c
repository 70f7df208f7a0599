/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/parallel_profile.h"

#include <math.h>
#include <string.h>

/* Where kernels were not measured: those of level 1 and 2 are that much slower than products, as they wait
 * for memory, which ranks share. */
#define SLOWNESS 6
#define KERNEL_S 1e-6

static bool kernels_are_known(const struct parallel_speed *speed)
{
    return speed->kernels.of[PARALLEL_GEMM][0] > 0;
}

static void set_broadcast(const struct parallel_speed *speed, struct parallel_machine *machine)
{
    machine->broadcast = parallel_broadcast_find("tree");
    if (speed->broadcast == 0 || speed->broadcast > PARALLEL_BROADCASTS)
        return;
    machine->broadcast = parallel_broadcast_at(speed->broadcast - 1);
    machine->broadcast_latency_s = speed->broadcast_latency_s;
    machine->broadcast_element_s = 8 * speed->broadcast_byte_s;
}

struct parallel_machine parallel_profile_machine(const struct parallel_profile *profile)
{
    const struct parallel_speed *speed = &profile->speed;
    double flops = speed->flops > 0 ? speed->flops : 1e9;
    struct parallel_machine machine = {.polynomials =
                                           parallel_polynomials_from_rates(flops, flops / SLOWNESS, KERNEL_S),
                                       .latency_s = speed->latency_s,
                                       .element_s = 8 * speed->byte_s,
                                       .column_s = speed->column_s,
                                       .panel = speed->panel,
                                       .sharers = speed->sharers,
                                       .processors = speed->processors};
    machine.polynomials.of[PARALLEL_GEMM][4] = speed->update_s;
    if (kernels_are_known(speed))
        machine.polynomials = speed->kernels;
    set_broadcast(speed, &machine);
    return machine;
}

double parallel_speed_fill_s(const struct parallel_speed *speed, double bytes, double ranks)
{
    return speed->fill_byte_s > 0 ? bytes * speed->fill_byte_s / ranks : bytes * speed->byte_s;
}

/* ---- measured ---- */

static void join(double *known, double fresh)
{
    *known = *known > 0 && fresh > 0 ? sqrt(*known * fresh) : fresh > 0 ? fresh : *known;
}

static bool kernel_is_known(const double *c)
{
    bool known = false;
    for (int i = 0; i < PARALLEL_TERMS; i++)
        known |= c[i] > 0;
    return known;
}

static void join_kernels(struct parallel_polynomials *known, const struct parallel_polynomials *fresh)
{
    for (int kernel = 0; kernel < PARALLEL_KERNELS; kernel++) {
        double *c = known->of[kernel];
        const double part = kernel_is_known(c) ? 0.5 : 1;
        for (int i = 0; i < PARALLEL_TERMS && kernel_is_known(fresh->of[kernel]); i++)
            c[i] += part * (fresh->of[kernel][i] - c[i]);
    }
}

static void join_broadcast(struct parallel_speed *known, const struct parallel_speed *fresh)
{
    if (fresh->broadcast == 0)
        return;
    if (fresh->broadcast != known->broadcast)
        known->broadcast_latency_s = known->broadcast_byte_s = 0;
    known->broadcast = fresh->broadcast;
    join(&known->broadcast_latency_s, fresh->broadcast_latency_s);
    join(&known->broadcast_byte_s, fresh->broadcast_byte_s);
}

void parallel_profile_measured(struct parallel_profile *profile, const struct parallel_speed *fresh)
{
    struct parallel_speed *known = &profile->speed;
    if (!experience_is_empty(&profile->experience))
        return;
    join_kernels(&known->kernels, &fresh->kernels);
    join_broadcast(known, fresh);
    join(&known->flops, fresh->flops);
    join(&known->update_s, fresh->update_s);
    join(&known->latency_s, fresh->latency_s);
    join(&known->byte_s, fresh->byte_s);
    join(&known->fill_byte_s, fresh->fill_byte_s);
    join(&known->column_s, fresh->column_s);
    known->gain = fresh->gain > 0 ? fresh->gain : known->gain; /* speeds change with the owners' other work */
    known->panel = fresh->panel > 0 ? fresh->panel : known->panel;
    if (fresh->processors > 0) {
        known->processors = fresh->processors;
        known->sharers = fresh->sharers;
    }
}

/* ---- from others ---- */

static bool is_about(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b); /* a text has nine digits */
}

static bool is_alike(const struct parallel_speed *a, const struct parallel_speed *b)
{
    bool alike = is_about(a->flops, b->flops) && is_about(a->update_s, b->update_s) &&
                 is_about(a->latency_s, b->latency_s) && is_about(a->byte_s, b->byte_s) &&
                 is_about(a->fill_byte_s, b->fill_byte_s) && is_about(a->column_s, b->column_s) &&
                 is_about(a->panel, b->panel) && is_about(a->processors, b->processors) &&
                 is_about(a->sharers, b->sharers) && a->broadcast == b->broadcast &&
                 is_about(a->broadcast_latency_s, b->broadcast_latency_s) &&
                 is_about(a->broadcast_byte_s, b->broadcast_byte_s);
    for (int kernel = 0; kernel < PARALLEL_KERNELS; kernel++)
        for (int i = 0; i < PARALLEL_TERMS; i++)
            alike &= is_about(a->kernels.of[kernel][i], b->kernels.of[kernel][i]);
    return alike;
}

static uint32_t count_samples(const struct parallel_experience *experience)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < experience->n; i++)
        n += experience->grids[i].n;
    return n;
}

uint32_t parallel_profile_adopt(struct parallel_profile *profile, const struct parallel_profile *other)
{
    if (is_alike(&profile->speed, &other->speed))
        return experience_adopt(&profile->experience, &other->experience);
    if (count_samples(&other->experience) <= count_samples(&profile->experience))
        return 0;
    *profile = *other;
    return other->experience.n;
}
