/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of the environment that are meant for another program and would harm a daemon, or what it starts.
 */
#ifndef SERVICES_ENVIRONMENT_H
#define SERVICES_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a daemon drops the variable `entry` ("NAME=value"). `in_mpirun`: the daemon itself was started by
 * mpirun. Dropped are: places of OpenMP's threads (all workers would compute on the same cores), what mpirun
 * and resource managers tell their own processes (ranks that the daemon starts would take it as meant for
 * them). */
bool environment_is_harmful(const char *entry, bool in_mpirun);

/* Drops them, and those that `also` (may be NULL) is true for, from the environment of this process. `names`
 * gets the names of those that were there, with ", " between them, cut to `size` bytes. To be called while
 * there is one thread. Returns how many there were. */
size_t environment_clean(bool (*also)(const char *entry), char *names, size_t size);

#endif
