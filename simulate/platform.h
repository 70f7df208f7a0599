/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of a simulated platform: a configuration file with the keys of platform_schema.
 */
#ifndef SIMULATE_PLATFORM_H
#define SIMULATE_PLATFORM_H

#include "simulate/star.h"
#include "util/arena.h"
#include "util/config.h"

#define PLATFORM_MOST_NODES 100000

struct platform {
    struct star_spec star;
    double flops;           /* per second, of a processor of speed 1; 0: not given */
    uint64_t *memory_bytes; /* of each node; NULL: not limited */
    double *speeds;
    struct arena arena;
};

extern const struct config_schema platform_schema;

/* Reads a file. `settings` are n texts "key=value" that replace what the file says, so that a sweep can vary
 * a platform; "key=*F" multiplies by F what the file and the settings without '*' say. ESP_NOT_FOUND,
 * ESP_CONFIG with "file:line: ...", ESP_INVALID for a wrong setting. */
enum esp_status platform_load(const char *path, const char *const *settings, size_t n,
                              struct platform *platform, struct esp_error *error);
/* Whether a name is a key of platforms. */
bool platform_has_key(const char *name);
void platform_clear(struct platform *platform);

#endif
