/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/sequence_places.h"

#include "util/segment.h"

#include <errno.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utlist.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sequence_entry *all;
static _Atomic unsigned n_all; /* who finds none need not wait for the lock */

void sequence_place_add(struct sequence_entry *entry)
{
    pthread_mutex_lock(&lock);
    DL_APPEND2(all, entry, all_prev, all_next);
    n_all++;
    pthread_mutex_unlock(&lock);
}

void sequence_place_remove(struct sequence_entry *entry)
{
    pthread_mutex_lock(&lock);
    DL_DELETE2(all, entry, all_prev, all_next);
    n_all--;
    pthread_mutex_unlock(&lock);
}

bool sequence_overlaps(const struct sequence_entry *entry, const void *memory, uint64_t bytes)
{
    const uintptr_t a = (uintptr_t)entry->memory, b = (uintptr_t)memory;
    return bytes > 0 && a < b + bytes && b < a + entry->bytes;
}

bool sequence_place_is_due(const void *memory, uint64_t bytes, const struct sequence *own)
{
    const struct sequence_entry *entry = NULL;
    if (n_all == 0)
        return false;
    pthread_mutex_lock(&lock);
    DL_FOREACH2(all, entry, all_next)
    if (entry->owner != own && entry->stale && !entry->gone && sequence_overlaps(entry, memory, bytes))
        break;
    pthread_mutex_unlock(&lock);
    return entry != NULL;
}

/* One byte of each page, many at a time. Where this cannot be asked, it counts as being there. */
bool sequence_place_is_there(const struct sequence_entry *entry)
{
    enum { MOST = 512 };
    char bytes[MOST];
    struct iovec pages[MOST];
    uintptr_t at = (uintptr_t)entry->memory;
    const uintptr_t end = at + entry->bytes;
    while (at < end) {
        unsigned long n = 0;
        for (; n < MOST && at < end; n++, at = (at / SEGMENT_PAGE + 1) * SEGMENT_PAGE)
            pages[n] = (struct iovec){(void *)at, 1};
        const struct iovec here = {bytes, n};
        const ssize_t read = process_vm_readv(getpid(), &here, 1, pages, n, 0);
        if (read < 0 ? errno == EFAULT : read < (ssize_t)n)
            return false;
    }
    return true;
}

void sequence_place_gone(const void *memory, uint64_t bytes)
{
    struct sequence_entry *entry;
    if (n_all == 0)
        return;
    pthread_mutex_lock(&lock);
    DL_FOREACH2(all, entry, all_next)
    if (sequence_overlaps(entry, memory, bytes))
        entry->gone = true;
    pthread_mutex_unlock(&lock);
}
