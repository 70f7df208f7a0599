/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/acquainted.h"
#include "core/message/message_basic.h"
#include "util/fork_lock.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char known[ACQUAINTED_MOST][CAP_ADDRESS + 1]; /* "": free place */
static unsigned oldest;

/* Called with the lock held. */
static bool has(const char *address)
{
    for (unsigned i = 0; i < ACQUAINTED_MOST; i++)
        if (strcmp(known[i], address) == 0)
            return true;
    return false;
}

void acquainted_note(const char *address)
{
    const size_t length = strlen(address);
    if (length == 0 || length > CAP_ADDRESS)
        return;
    pthread_mutex_lock(&lock);
    if (!has(address)) {
        memcpy(known[oldest], address, length + 1);
        oldest = (oldest + 1) % ACQUAINTED_MOST;
    }
    pthread_mutex_unlock(&lock);
}

bool acquainted_has(const char *address)
{
    pthread_mutex_lock(&lock);
    const bool known_one = *address && has(address);
    pthread_mutex_unlock(&lock);
    return known_one;
}

bool acquainted_after_fork(void)
{
    return fork_lock_was_free(&lock);
}
