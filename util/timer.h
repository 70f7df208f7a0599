/* SPDX-License-Identifier: Apache-2.0
 *
 * Timers for event-driven code: a heap that knows what is due next. The module neither waits nor reads a
 * clock.
 *
 * One thread at a time. A timer lies in the struct of its owner, who may set it again, also from within
 * its callback, and must cancel it before that struct is freed. */
#ifndef UTIL_TIMER_H
#define UTIL_TIMER_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timer {
    void (*fire)(struct timer *timer, int64_t now_ns, void *context);
    void *context;
    int64_t due_ns;
    uint64_t order; /* among timers due at the same time, the one set first */
    size_t place;   /* in the heap, from 1; 0: not set */
};

/* An all-zero heap is empty. */
struct timers {
    struct timer **heap;
    size_t n, capacity;
    uint64_t n_set; /* ever */
};

/* Sets the timer for `due_ns`, or moves it there. The timer must be zeroed before its first use. Fails
 * (ESP_NO_MEMORY) only when the heap must grow and cannot; the timer is unchanged then. */
enum esp_status timers_set(struct timers *timers, struct timer *timer, int64_t due_ns,
                           struct esp_error *error);

/* Cancels a timer; one that is not set is ignored. */
void timers_cancel(struct timers *timers, struct timer *timer);

static inline bool timer_is_set(const struct timer *timer)
{
    return timer->place != 0;
}

/* Returns when the next one is due, CLOCK_NEVER when none is set. */
int64_t timers_next_ns(const struct timers *timers);

/* Calls the timers due by `now_ns` in the order of their due times. It stops at the first timer that was
 * set only during this call: otherwise a timer that sets itself again for now would keep the caller here
 * forever. The rest is still due, and timers_next_ns() says so. A timer is no longer set when it is
 * called. Returns how many were called. */
size_t timers_run(struct timers *timers, int64_t now_ns);

/* Cancels all timers and frees the heap. */
void timers_clear(struct timers *timers);

#endif
