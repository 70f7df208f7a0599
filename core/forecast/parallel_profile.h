/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the ranks of a server: what they measured of themselves, and what calls took against what
 * the models said (core/forecast/parallel_experience.h). Kept as a text, so that a server that is started
 * again goes on where it was, and that forecasts for grids can be shown without it:
 *
 *     espalier-ranks 1
 *     ranks 4
 *     flops 1.62e+10                 of a product of matrices, each rank while all compute
 *     update_s 1.1e-09               of each element of the result besides, in each product
 *     latency_s 3.1e-06              of a message between two
 *     byte_s 3.2e-10                 and of each byte of a long one
 *     took pdgemm_ 1 2 64 -2.31:0.12 -1.04:0.08
 *                                    routine, rows, columns and block of its grid; logarithms of what the
 * model said in seconds, and of what the call took over that end 89abcdef                   CRC32C of all
 * above
 *
 * Plain values; no function has another effect than on its arguments.
 */
#ifndef CORE_PARALLEL_PROFILE_H
#define CORE_PARALLEL_PROFILE_H

#include "core/forecast/parallel_experience.h"

#define PROFILE_MOST_TEXT (128 << 10)

struct parallel_profile {
    uint32_t ranks;
    double flops, update_s, latency_s, byte_s; /* 0: not known */
    struct parallel_experience experience;
};

/* As equations want it: products as measured (short ones, as those of small blocks, are slower by what the
 * result takes), level 1 and 2 kernels as much slower as they are on machines whose processors share their
 * memory. */
struct parallel_machine parallel_profile_machine(const struct parallel_profile *profile);

/* A job of MPI has measured: what is known counts as much as the new, or nothing where nothing is known.
 * Where calls have told how far off the models are nothing changes: what they told is of the models as they
 * were. */
void parallel_profile_measured(struct parallel_profile *profile, double flops, double update_s,
                               double latency_s, double byte_s);

/* Takes over what `other` knows besides, or all of it where its models have other coefficients and it knows
 * of more calls. Returns of how many grids. */
uint32_t parallel_profile_adopt(struct parallel_profile *profile, const struct parallel_profile *other);

/* The text, less than PROFILE_MOST_TEXT bytes, for free(); NULL without memory. */
char *parallel_profile_write(const struct parallel_profile *profile, size_t *length);
/* ESP_INVALID names the line: damaged, of another version, or numbers that cannot be. ESP_NO_MEMORY. */
enum esp_status parallel_profile_read(const char *text, size_t length, struct parallel_profile *profile,
                                      struct esp_error *error);
/* From a file. ESP_NOT_FOUND, ESP_SYSTEM, ESP_INVALID, with its name. */
enum esp_status parallel_profile_load(const char *path, struct parallel_profile *profile,
                                      struct esp_error *error);

#endif
