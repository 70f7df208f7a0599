/* SPDX-License-Identifier: Apache-2.0 */
#include "util/timer.h"
#include "util/clock.h"

#include <stdlib.h>

/* heap[0] is the root; place is index + 1, so that zeroed memory is a timer that is not set. */

static bool before(const struct timer *a, const struct timer *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void put(struct timers *timers, size_t index, struct timer *timer)
{
    timers->heap[index] = timer;
    timer->place = index + 1;
}

static void sift_up(struct timers *timers, size_t index, struct timer *timer)
{
    while (index > 0 && before(timer, timers->heap[(index - 1) / 2])) {
        put(timers, index, timers->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(timers, index, timer);
}

static void sift_down(struct timers *timers, size_t index, struct timer *timer)
{
    for (size_t child; (child = 2 * index + 1) < timers->n; index = child) {
        if (child + 1 < timers->n && before(timers->heap[child + 1], timers->heap[child]))
            child++;
        if (!before(timers->heap[child], timer))
            break;
        put(timers, index, timers->heap[child]);
    }
    put(timers, index, timer);
}

static enum esp_status make_room(struct timers *timers, struct esp_error *error)
{
    if (timers->n < timers->capacity)
        return ESP_OK;
    size_t capacity = timers->capacity ? 2 * timers->capacity : 16;
    struct timer **heap = realloc(timers->heap, capacity * sizeof *heap);
    if (!heap)
        return error_no_memory(error, "timers");
    timers->heap = heap;
    timers->capacity = capacity;
    return ESP_OK;
}

enum esp_status timers_set(struct timers *timers, struct timer *timer, int64_t due_ns,
                           struct esp_error *error)
{
    enum esp_status status = make_room(timers, error);
    if (status != ESP_OK)
        return status;
    timers_cancel(timers, timer);
    timer->due_ns = due_ns;
    timer->order = timers->n_set++;
    sift_up(timers, timers->n++, timer);
    return ESP_OK;
}

void timers_cancel(struct timers *timers, struct timer *timer)
{
    if (timer->place == 0)
        return;
    size_t index = timer->place - 1;
    struct timer *last = timers->heap[--timers->n];
    timer->place = 0;
    if (last == timer)
        return;
    if (index > 0 && before(last, timers->heap[(index - 1) / 2]))
        sift_up(timers, index, last);
    else
        sift_down(timers, index, last);
}

int64_t timers_next_ns(const struct timers *timers)
{
    return timers->n > 0 ? timers->heap[0]->due_ns : CLOCK_NEVER;
}

size_t timers_run(struct timers *timers, int64_t now_ns)
{
    uint64_t newest = timers->n_set;
    size_t n_called = 0;
    while (timers->n > 0) {
        struct timer *timer = timers->heap[0];
        if (timer->due_ns > now_ns || timer->order >= newest)
            break;
        timers_cancel(timers, timer);
        timer->fire(timer, now_ns, timer->context);
        n_called++;
    }
    return n_called;
}

void timers_clear(struct timers *timers)
{
    for (size_t i = 0; i < timers->n; i++)
        timers->heap[i]->place = 0;
    free(timers->heap);
    *timers = (struct timers){0};
}
