/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks locks in a child made by fork(). */
#ifndef UTIL_FORK_LOCK_H
#define UTIL_FORK_LOCK_H

#include <pthread.h>
#include <stdbool.h>

/* Whether no other thread of the parent held the lock at the fork, so that the guarded data are
 * consistent. */
static inline bool fork_lock_was_free(pthread_mutex_t *lock)
{
    if (pthread_mutex_trylock(lock) != 0)
        return false;
    pthread_mutex_unlock(lock);
    return true;
}

#endif
