/* SPDX-License-Identifier: Apache-2.0
 *
 * The profile of a server's ranks: what they measured about themselves, and the times of calls relative to
 * the models (core/forecast/parallel_experience.h). It is saved as a text, so that a restarted server
 * continues with it, and forecasts for grids can be shown without the server:
 *
 *     espalier-ranks 3
 *     ranks 4
 *     flops 1.62e+10                 of a product of matrices, each rank while all compute
 *     update_s 1.1e-09               added for each element of the result, in each product
 *     latency_s 3.1e-06              of a message between two ranks
 *     byte_s 3.2e-10                 of each byte of a long message
 *     fill_byte_s 4.1e-10            of each byte of an argument that a rank copies into its own memory
 *     column_s 2.2e-05               see struct parallel_machine
 *     panel 32                       see struct parallel_machine
 *     gain 1.78                      of shares proportional to the ranks' speeds (core/unequal/allocation.h)
 *     processors 2 4                 processors of one host, and ranks that share them
 *     broadcast tree 2.9e-06 1.5e-10 the form that fits best, with its latency and time for a byte
 *     kernel gemm 1.2e-10 0 ...      the polynomial of each kernel (struct parallel_polynomials), in seconds
 *     took pdgemm_ 1 2 64 -2.31:0.12 -1.04:0.08
 *     end 89abcdef
 *
 * `took`: routine, rows, columns and block of its grid; logarithms of the model's seconds, and of the
 * ratio of the call's time to it. `end`: CRC32C of all above. Quantities that were not measured have no
 * line.
 *
 * Plain values; functions only change their arguments. */
#ifndef CORE_PARALLEL_PROFILE_H
#define CORE_PARALLEL_PROFILE_H

#include "core/forecast/parallel_experience.h"

#define PROFILE_MOST_TEXT (128 << 10)

/* Measurements of ranks, all at the same time; 0: not known. Of several ranks, the slowest counts. */
struct parallel_speed {
    double flops, update_s, latency_s, byte_s, fill_byte_s, column_s, panel, gain; /* as above */
    double processors, sharers; /* of the host where the most ranks share one processor */
    uint32_t broadcast;         /* 1 + the number of its form (parallel_broadcast_at) */
    double broadcast_latency_s, broadcast_byte_s;
    struct parallel_polynomials kernels;
};

struct parallel_profile {
    uint32_t ranks;
    struct parallel_speed speed;
    struct parallel_experience experience;
};

/* Returns the machine for the models: kernels and broadcasts as measured. Otherwise: products by flops and
 * update_s (which makes products of small blocks slower), level 1 and 2 kernels slower by the factor of
 * machines whose processors share their memory, and a tree of messages. */
struct parallel_machine parallel_profile_machine(const struct parallel_profile *profile);
/* Returns the time to copy arguments of that many bytes in all to the parts of `ranks` ranks, and back. */
double parallel_speed_fill_s(const struct parallel_speed *speed, double bytes, double ranks);

/* Takes new measurements of a job of MPI: the mean of old and new ones, or the new ones if there are no
 * old ones. Once there are times of calls nothing changes, because these times are relative to the present
 * models. */
void parallel_profile_measured(struct parallel_profile *profile, const struct parallel_speed *fresh);

/* Takes over what `other` knows additionally, or all of it if its models have other coefficients and it
 * has more calls. Returns the number of grids taken over. */
uint32_t parallel_profile_adopt(struct parallel_profile *profile, const struct parallel_profile *other);

/* Returns the text, shorter than PROFILE_MOST_TEXT bytes, for free(); NULL without memory. */
char *parallel_profile_write(const struct parallel_profile *profile, size_t *length);
/* Parses a text. ESP_INVALID names the line: damaged, of another version, or impossible numbers.
 * ESP_NO_MEMORY. */
enum esp_status parallel_profile_read(const char *text, size_t length, struct parallel_profile *profile,
                                      struct esp_error *error);
/* Loads a file. ESP_NOT_FOUND, ESP_SYSTEM, ESP_INVALID, with its name. */
enum esp_status parallel_profile_load(const char *path, struct parallel_profile *profile,
                                      struct esp_error *error);

#endif
