/* SPDX-License-Identifier: Apache-2.0
 *
 * Timers of event-driven logic: a heap that says what is due next. Nothing here waits or reads a clock.
 *
 * One thread at a time. A timer lies in the struct of its owner, who may set it again, also from within
 * its own call, and must cancel it before that struct goes.
 */
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
    uint64_t order; /* among timers due at the same time: the one that was set first */
    size_t place;   /* in the heap, from 1; 0: not set */
};

/* An all-zero heap is empty and ready. */
struct timers {
    struct timer **heap;
    size_t n, capacity;
    uint64_t n_set; /* ever */
};

/* Sets the timer for `due_ns`, or moves it there. The timer must be zeroed before its first use. Fails
 * (ESP_NO_MEMORY) only when the heap must grow and cannot; the timer is then as it was. */
enum esp_status timers_set(struct timers *timers, struct timer *timer, int64_t due_ns,
                           struct esp_error *error);

/* A timer that is not set may be cancelled too. */
void timers_cancel(struct timers *timers, struct timer *timer);

static inline bool timer_is_set(const struct timer *timer)
{
    return timer->place != 0;
}

/* When the next one is due, CLOCK_NEVER when none is set. */
int64_t timers_next_ns(const struct timers *timers);

/* Calls the timers due by `now_ns` in the order of their due times, until the first one that was set only
 * during this call (a timer that sets itself again for now cannot keep its caller here forever; the rest
 * is still due, and timers_next_ns() says so). A timer is not set any more when it is
 * called. Returns how many were called. */
size_t timers_run(struct timers *timers, int64_t now_ns);

/* Cancels all and frees the heap. */
void timers_clear(struct timers *timers);

#endif
