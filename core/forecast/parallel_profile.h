/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the ranks of a server: what they measured of themselves, and what calls took against what
 * the models said (core/forecast/parallel_experience.h). Kept as a text, so that a server that is started
 * again goes on where it was, and that forecasts for grids can be shown without it:
 *
 *     espalier-ranks 3
 *     ranks 4
 *     flops 1.62e+10                 of a product of matrices, each rank while all compute
 *     update_s 1.1e-09               of each element of the result besides, in each product
 *     latency_s 3.1e-06              of a message between two
 *     byte_s 3.2e-10                 and of each byte of a long one
 *     fill_byte_s 4.1e-10            of each byte of an argument that a rank copies into memory of its own
 *     column_s 2.2e-05               struct parallel_machine
 *     panel 32                       and this
 *     gain 1.78                      of shares proportional to the ranks' speeds (core/unequal/allocation.h)
 *     processors 2 4                 ranks of one host have so many processors, and are so many
 *     broadcast tree 2.9e-06 1.5e-10 the form that fits best, with its latency and a byte of it
 *     kernel gemm 1.2e-10 0 ...      the polynomial of each kernel (struct parallel_polynomials), in seconds
 *     took pdgemm_ 1 2 64 -2.31:0.12 -1.04:0.08
 *     end 89abcdef
 *
 * `took`: routine, rows, columns and block of its grid; logarithms of what the model said in seconds, and of
 * what the call took over that. `end`: CRC32C of all above. What was not measured has no line.
 *
 * Plain values; no function has another effect than on its arguments.
 */
#ifndef CORE_PARALLEL_PROFILE_H
#define CORE_PARALLEL_PROFILE_H

#include "core/forecast/parallel_experience.h"

#define PROFILE_MOST_TEXT (128 << 10)

/* What ranks have measured of themselves, all at the same time; 0: not known. Of several ranks the slowest.
 */
struct parallel_speed {
    double flops, update_s, latency_s, byte_s, fill_byte_s, column_s, panel, gain; /* as above */
    double processors, sharers; /* of the host on which the most ranks share one */
    uint32_t broadcast;         /* 1 + its number (parallel_broadcast_at) */
    double broadcast_latency_s, broadcast_byte_s;
    struct parallel_polynomials kernels;
};

struct parallel_profile {
    uint32_t ranks;
    struct parallel_speed speed;
    struct parallel_experience experience;
};

/* As equations want it: kernels and broadcasts as measured. Where they were not: products by flops and
 * update_s (short ones, as those of small blocks, are slower by what the result takes), level 1 and 2 kernels
 * as much slower as they are on machines whose processors share their memory, and a tree of messages. */
struct parallel_machine parallel_profile_machine(const struct parallel_profile *profile);
/* What it takes to copy arguments of so many bytes in all to the parts that `ranks` ranks have of them, and
 * back. */
double parallel_speed_fill_s(const struct parallel_speed *speed, double bytes, double ranks);

/* A job of MPI has measured: what is known counts as much as the new, or nothing where nothing is known.
 * Where calls have told how far off the models are nothing changes: what they told is of the models as they
 * were. */
void parallel_profile_measured(struct parallel_profile *profile, const struct parallel_speed *fresh);

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
