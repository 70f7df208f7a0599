/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of this machine's memory a server may promise to its calls.
 */
#ifndef SED_MACHINE_MEMORY_H
#define SED_MACHINE_MEMORY_H

#include "sed/memory_share.h"

/* Bytes that this process can have at most: the machine's memory, or the limit of a control group that is
 * less. */
uint64_t machine_memory(void);

/* The environment variable in which `espalier up` says how many servers share this machine. */
#define MACHINE_MEMORY_SERVERS "ESPALIER_SERVERS_HERE"

/* Takes `wanted` bytes, or (0) three quarters of what is free and no other server of this machine, or of the
 * control group that limits its memory, has promised, says so to the others and returns it. Of several
 * servers of one `espalier up`, each takes an equal part of that. What is wrong is logged, and never less
 * than a sixteenth of machine_memory() (or `wanted`) comes back. The caller ends it with
 * memory_share_give(*share), which may be NULL. */
uint64_t machine_memory_take(uint64_t wanted, struct memory_share **share);

#endif
