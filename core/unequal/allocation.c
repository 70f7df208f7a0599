/* SPDX-License-Identifier: Apache-2.0
 *
 * Equal chunks for processors of different speed.
 */
#include "core/unequal/allocation.h"

#include <math.h>

enum esp_status allocation_check(const double *cycle_times, uint32_t processors, struct esp_error *error)
{
    if (processors < 1 || processors > ALLOCATION_MOST_PROCESSORS)
        return error_set(error, ESP_INVALID, "allocation: expected 1 to %d processors, found %u",
                         ALLOCATION_MOST_PROCESSORS, processors);
    for (uint32_t i = 0; i < processors; i++)
        if (!(cycle_times[i] > 0) || !isfinite(cycle_times[i]))
            return error_set(error, ESP_INVALID,
                             "allocation: expected a positive cycle time, found %g for processor %u",
                             cycle_times[i], i);
    return ESP_OK;
}

double allocation_limit(const double *cycle_times, uint32_t processors)
{
    double speed = 0;
    for (uint32_t i = 0; i < processors; i++)
        speed += 1 / cycle_times[i];
    return 1 / speed;
}

/* The processor that would end first with one more chunk. */
static uint32_t next_owner(const double *cycle_times, uint32_t processors, const int64_t *shares)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < processors; i++)
        if (cycle_times[i] * (double)(shares[i] + 1) < cycle_times[best] * (double)(shares[best] + 1))
            best = i;
    return best;
}

void allocation_shares(const double *cycle_times, uint32_t processors, int64_t chunks, int64_t *shares)
{
    const double limit = allocation_limit(cycle_times, processors);
    int64_t given = 0;
    for (uint32_t i = 0; i < processors; i++) {
        /* Rounding must not give a processor more than its exact share: proposition 1 needs this. */
        const double exact = limit / cycle_times[i] * (double)chunks;
        shares[i] = (int64_t)floor(exact * (1 - 1e-12));
        given += shares[i];
    }
    for (; given < chunks; given++)
        shares[next_owner(cycle_times, processors, shares)]++;
}

static double longest(const double *cycle_times, uint32_t processors, const int64_t *shares)
{
    double most = 0;
    for (uint32_t i = 0; i < processors; i++)
        most = fmax(most, cycle_times[i] * (double)shares[i]);
    return most;
}

double allocation_cost(const double *cycle_times, uint32_t processors, const int64_t *shares)
{
    int64_t chunks = 0;
    for (uint32_t i = 0; i < processors; i++)
        chunks += shares[i];
    return chunks > 0 ? longest(cycle_times, processors, shares) / (double)chunks : 0;
}

void allocation_deal(const double *cycle_times, uint32_t processors, const int64_t *start, uint32_t chunks,
                     uint32_t *owners, double *costs)
{
    int64_t shares[ALLOCATION_MOST_PROCESSORS] = {0};
    for (uint32_t i = 0; i < processors && start; i++)
        shares[i] = start[i];
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        owners[chunk] = next_owner(cycle_times, processors, shares);
        shares[owners[chunk]]++;
        if (costs)
            costs[chunk] = allocation_cost(cycle_times, processors, shares);
    }
}

static void reverse(uint32_t *owners, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        const uint32_t other = owners[n - 1 - i];
        owners[n - 1 - i] = owners[i];
        owners[i] = other;
    }
}

void allocation_columns(const double *cycle_times, uint32_t processors, uint32_t blocks, uint32_t slice,
                        uint32_t *owners)
{
    for (uint32_t begin = 0; begin < blocks; begin += slice) {
        const uint32_t n = blocks - begin < slice ? blocks - begin : slice;
        allocation_deal(cycle_times, processors, NULL, n, owners + begin, NULL);
        reverse(owners + begin, n);
    }
}

double allocation_gain(const double *cycle_times, uint32_t processors)
{
    double slowest = 0;
    for (uint32_t i = 0; i < processors; i++)
        slowest = fmax(slowest, cycle_times[i]);
    return slowest / (processors * allocation_limit(cycle_times, processors));
}

double allocation_remaining(const double *cycle_times, uint32_t processors, const uint32_t *owners,
                            uint32_t first, uint32_t blocks)
{
    int64_t shares[ALLOCATION_MOST_PROCESSORS] = {0};
    double sum = 0;
    for (uint32_t pivot = blocks; pivot > first; pivot--) {
        /* shares[] counts the blocks to the right of the pivot, which is block pivot - 1 */
        sum += longest(cycle_times, processors, shares) * (double)(blocks - pivot);
        shares[owners[pivot - 1]]++;
    }
    return sum;
}
