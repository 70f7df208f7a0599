/* SPDX-License-Identifier: Apache-2.0
 *
 * Removes environment variables meant for another program that would harm a daemon, or programs that it
 * starts. */
#ifndef SERVICES_ENVIRONMENT_H
#define SERVICES_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a daemon drops the variable `entry` ("NAME=value"). `in_mpirun`: the daemon itself was started
 * by mpirun. Dropped are: places of OpenMP's threads (all workers would compute on the same cores), and
 * variables that mpirun and resource managers set for their own processes (ranks that the daemon starts
 * would misinterpret them). */
bool environment_is_harmful(const char *entry, bool in_mpirun);

/* Drops these variables, and those for which `also` (may be NULL) is true, from the environment of this
 * process. `names` gets the names of the dropped ones, separated by ", ", cut to `size` bytes. Call it
 * while there is one thread. Returns how many there were. */
size_t environment_clean(bool (*also)(const char *entry), char *names, size_t size);

#endif
