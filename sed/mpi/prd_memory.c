/* SPDX-License-Identifier: Apache-2.0
 *
 * Applies worker_memory and worker_keeps to a rank. Memory is limited in routines only, because the rest
 * is MPI's, and its parts of matrices. */
#include "sed/mpi/prd.h"

#include <stdio.h>
#include <stdlib.h>

#define LOOK_EVERY 64 /* calls without large allocations can keep only little each */

static uint64_t may_keep; /* 0: unlimited */

void rank_memory_begin(void)
{
    unsigned long long memory = 0, keep = 0;
    const char *told = getenv(RANK_MEMORY_VARIABLE);
    if (!told || sscanf(told, "%llu,%llu", &memory, &keep) != 2 || !memory_bound_routines(memory))
        return;
    may_keep = keep;
}

uint64_t rank_keeps(uint64_t own)
{
    static unsigned not_looked_at;
    if (may_keep == 0 || (!memory_was_large() && ++not_looked_at < LOOK_EVERY))
        return 0;
    not_looked_at = 0;
    const uint64_t kept = memory_kept(may_keep + own);
    return kept > may_keep + own ? kept - own : 0;
}
