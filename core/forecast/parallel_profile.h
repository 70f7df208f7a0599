/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the ranks of a server: what they measured of themselves, and how much longer than forecast
 * calls took, routine by routine. Kept as a text, so that a server that is started again goes on where it
 * was, and that forecasts for grids can be shown without it:
 *
 *     espalier-ranks 1
 *     ranks 4
 *     flops 1.62e+10                 of a product of matrices, each rank while all compute
 *     update_s 1.1e-09               of each element of the result besides, in each product
 *     latency_s 3.1e-06              of a message between two
 *     byte_s 3.2e-10                 and of each byte of a long one
 *     took pdgemm_ 1.08 12           times as long as forecast, over so many calls
 *     end 89abcdef                   CRC32C of all above
 *
 * Plain values; no function has another effect than on its arguments.
 */
#ifndef CORE_PARALLEL_PROFILE_H
#define CORE_PARALLEL_PROFILE_H

#include "core/forecast/parallel_model.h"

#define PROFILE_MOST_ROUTINES 64
#define PROFILE_NAME          64
#define PROFILE_MOST_TEXT     16384

struct profile_routine {
    char name[PROFILE_NAME]; /* the symbol */
    double factor;           /* what forecasts are multiplied by */
    uint32_t calls;
};

struct parallel_profile {
    uint32_t ranks;
    double flops, update_s, latency_s, byte_s; /* 0: not known */
    uint32_t n_routines;
    struct profile_routine routines[PROFILE_MOST_ROUTINES];
};

/* As equations want it: products as measured (short ones, as those of small blocks, are slower by what the
 * result takes), level 1 and 2 kernels as much slower as they are on machines whose processors share their
 * memory. */
struct parallel_machine parallel_profile_machine(const struct parallel_profile *profile);

/* A job of MPI has measured: what is known counts as much as the new, or nothing where nothing is known. */
void parallel_profile_measured(struct parallel_profile *profile, double flops, double update_s,
                               double latency_s, double byte_s);

/* What to multiply the routine's forecasts by: 1 as long as nobody knows better. */
double parallel_profile_factor(const struct parallel_profile *profile, const char *routine);
/* A call that was forecast, with that factor, to take `forecast_s` took `taken_s`. Calls of less than a
 * millisecond tell nothing of longer ones and are not heeded; one call changes the factor 4 times at most,
 * and the more have been heeded the less. Of routines beyond the first PROFILE_MOST_ROUTINES nothing is kept.
 */
void parallel_profile_learn(struct parallel_profile *profile, const char *routine, double forecast_s,
                            double taken_s);

/* Into `text` of PROFILE_MOST_TEXT bytes; returns its length. */
size_t parallel_profile_write(const struct parallel_profile *profile, char *text);
/* ESP_INVALID names the line: damaged, of another version, or numbers that cannot be. */
enum esp_status parallel_profile_read(const char *text, size_t length, struct parallel_profile *profile,
                                      struct esp_error *error);
/* From a file. ESP_NOT_FOUND, ESP_SYSTEM, ESP_INVALID, with its name. */
enum esp_status parallel_profile_load(const char *path, struct parallel_profile *profile,
                                      struct esp_error *error);

#endif
