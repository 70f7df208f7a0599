/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread populates the pages of large arrays while the routine computes, ahead of it: in batches, which
 * is cheaper than page faults of the routine (util/pages.h), and without delaying it. When the routine
 * ends first, the thread is stopped, and untouched pages cost nothing. */
#include "sed/crd/crd.h"

#include "util/pages.h"

#include <limits.h>
#include <signal.h>

/* Below this size a thread costs more than it saves. */
#define WORTH_A_THREAD (UINT64_C(8) << 20)
/* The end of a call waits for one slice at most. */
#define SLICE       (UINT64_C(1) << 20)
#define STACK_BYTES (64u << 10)

static bool goes_ahead(const struct area *area)
{
    return !area->lazy && area->page_bytes >= WORTH_A_THREAD;
}

static void *go_ahead(void *context)
{
    struct areas *areas = context;
    for (uint32_t i = 0; i < areas->ahead.n; i++) {
        const struct area *area = &areas->items[i];
        for (uint64_t at = 0; goes_ahead(area) && at < area->page_bytes; at += SLICE) {
            uint64_t left = area->page_bytes - at;
            if (atomic_load_explicit(&areas->ahead.stop, memory_order_relaxed))
                return NULL;
            pages_touch(area->pages + at, left < SLICE ? left : SLICE, area->writable);
        }
    }
    return NULL;
}

/* Signals are for the routine. */
static bool start_thread(struct areas *areas)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES < PTHREAD_STACK_MIN ? PTHREAD_STACK_MIN : STACK_BYTES);
    bool runs = pthread_create(&areas->ahead.thread, &attributes, go_ahead, areas) == 0;
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return runs;
}

void ahead_begin(struct areas *areas)
{
    bool large = false;
    for (uint32_t i = 0; i < areas->n; i++) {
        const struct area *area = &areas->items[i];
        if (goes_ahead(area))
            large = true;
        else if (!area->lazy)
            pages_touch(area->pages, area->page_bytes, area->writable);
    }
    areas->ahead.n = areas->n;
    atomic_store_explicit(&areas->ahead.stop, false, memory_order_relaxed);
    areas->ahead.runs =
        large && start_thread(areas); /* without the thread, pages fault when the routine uses them */
}

void ahead_end(struct areas *areas)
{
    if (!areas->ahead.runs)
        return;
    atomic_store_explicit(&areas->ahead.stop, true, memory_order_relaxed);
    pthread_join(areas->ahead.thread, NULL);
    areas->ahead.runs = false;
}
