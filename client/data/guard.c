/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/guard.h"
#include "client/data/guard_fault.h"
#include "client/data/guard_pages.h"
#include "util/fork_lock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What only this file looks at, of the place with the same number in guard_places[]; under the lock. */
struct guard {
    char *memory;
    uint64_t bytes;
    const struct guard_ops *ops; /* NULL: there is none, or it is lost */
    void *arg;
    bool bringing; /* a thread fetches its contents: who else wants them waits */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t brought = PTHREAD_COND_INITIALIZER;
static struct guard guards[GUARD_MOST];
static _Atomic unsigned n_guards; /* who finds none need not wait for the lock */

static pthread_t thread; /* that serves the handler */
static bool serving, stopping;

/* ---- one guard ---- */

static struct guard_place *place_of(const struct guard *guard)
{
    return &guard_places[guard - guards];
}

static bool is_set(const struct guard *guard)
{
    return guard->ops != NULL;
}

static bool overlaps(const struct guard *guard, const void *memory, uint64_t bytes)
{
    const struct guard_place *place = place_of(guard);
    const uintptr_t begin = (uintptr_t)memory;
    return is_set(guard) && bytes > 0 && place->from < begin + bytes && begin < place->to;
}

static bool lies_within(const struct guard *guard, const void *memory, uint64_t bytes)
{
    const uintptr_t begin = (uintptr_t)memory, own = (uintptr_t)guard->memory;
    return own >= begin && own + guard->bytes <= begin + bytes;
}

struct ending {
    const struct guard_ops *ops;
    void *arg;
};

/* With the lock held: it is a guard no more, and whoever waits for its contents looks again. */
static struct ending take_off(struct guard *guard)
{
    const struct ending ending = {guard->ops, guard->arg};
    guard_place_clear(place_of(guard));
    *guard = (struct guard){0};
    n_guards--;
    pthread_cond_broadcast(&brought);
    return ending;
}

static void tell(struct ending ending, enum guard_end end)
{
    ending.ops->ended(ending.arg, end);
}

/* With the lock held, which it lets go of meanwhile. Whether there is something to bring, by the caller. */
static bool claim(struct guard *guard, const void *arg)
{
    while (is_set(guard) && guard->arg == arg && guard->bringing)
        pthread_cond_wait(&brought, &lock);
    const bool claimed = is_set(guard) && guard->arg == arg;
    if (claimed)
        guard->bringing = true;
    return claimed;
}

/* The memory is the system's, as that of large blocks of malloc() is. */
static char *fetch(const struct guard *guard, struct esp_error *error)
{
    char *contents = mmap(NULL, guard->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (contents == MAP_FAILED) {
        error_no_memory(error, "the result of a call");
        return NULL;
    }
    if (guard->ops->fetch(guard->arg, contents, error) == ESP_OK)
        return contents;
    munmap(contents, guard->bytes);
    return NULL;
}

/* The caller has claimed it. Who set it is told before the pages are open: whoever sees the contents finds
 * that it knows. */
static enum esp_status bring_claimed(struct guard *guard, struct esp_error *error)
{
    const struct guard_place *place = place_of(guard);
    const struct guard one = *guard; /* nobody else changes it now */
    char *contents = NULL;
    enum guard_pages there = guard_pages_closed(place->from, place->to);
    if (there != GUARD_PAGES_NONE && !(contents = fetch(&one, error))) {
        pthread_mutex_lock(&lock);
        guard->bringing = false;
        pthread_cond_broadcast(&brought);
        pthread_mutex_unlock(&lock);
        return error->status;
    }
    if (contents)
        there = guard_pages_closed(place->from, place->to);
    tell((struct ending){one.ops, one.arg}, there == GUARD_PAGES_ALL ? GUARD_CAME : GUARD_DROPPED);
    guard_pages_open(place->from, place->to,
                     contents ? contents + (place->from - (uintptr_t)one.memory) : NULL);
    pthread_mutex_lock(&lock);
    take_off(guard);
    pthread_mutex_unlock(&lock);
    if (contents)
        munmap(contents, one.bytes);
    return ESP_OK;
}

/* With the lock held, which it lets go of meanwhile. */
static enum esp_status bring(struct guard *guard, struct esp_error *error)
{
    if (!is_set(guard) || !claim(guard, guard->arg))
        return ESP_OK;
    pthread_mutex_unlock(&lock);
    const enum esp_status status = bring_claimed(guard, error);
    pthread_mutex_lock(&lock);
    return status;
}

/* With the lock held, which it lets go of meanwhile: opens it without its contents. */
static void drop(struct guard *guard)
{
    const struct guard_place *place = place_of(guard);
    if (!claim(guard, guard->arg))
        return;
    guard_pages_open(place->from, place->to, NULL);
    const struct ending ending = take_off(guard);
    pthread_mutex_unlock(&lock);
    tell(ending, GUARD_DROPPED);
    pthread_mutex_lock(&lock);
}

/* ---- for who looks ---- */

/* Nobody could be told otherwise: the instruction cannot go on with what belongs there. */
static void give_up(const char *what, const struct esp_error *error)
{
    fprintf(stderr,
            "espalier: the program has looked at %s, which is on a server and cannot be brought: %s\n", what,
            error->text);
    abort();
}

static void serve_wanted(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < GUARD_MOST; i++) {
        struct esp_error error = {0};
        char what[GUARD_WHAT];
        if (!guard_place_is_wanted(&guard_places[i]) || !is_set(&guards[i]))
            continue;
        memcpy(what, guard_places[i].what, sizeof what);
        if (bring(&guards[i], &error) != ESP_OK)
            give_up(what, &error);
    }
    pthread_mutex_unlock(&lock);
}

static void *serve(void *nothing)
{
    bool on = true;
    while (on) {
        guard_fault_await();
        serve_wanted();
        pthread_mutex_lock(&lock);
        on = !stopping;
        pthread_mutex_unlock(&lock);
    }
    return nothing;
}

/* With the lock held. */
static bool begin_to_serve(void)
{
    sigset_t all, before;
    if (serving)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    stopping = false;
    serving = pthread_create(&thread, NULL, serve, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return serving;
}

void guard_stop(void)
{
    if (guard_fault_is_child())
        return;
    pthread_mutex_lock(&lock);
    const bool served = serving;
    stopping = true;
    pthread_mutex_unlock(&lock);
    if (served) {
        guard_fault_wake();
        pthread_join(thread, NULL);
    }
    pthread_mutex_lock(&lock);
    serving = false;
    for (unsigned i = 0; i < GUARD_MOST; i++) {
        struct guard *guard = &guards[i];
        if (!is_set(guard) || !claim(guard, guard->arg))
            continue;
        const struct ending ending = {guard->ops, guard->arg};
        *guard = (struct guard){0}; /* its place stays taken */
        guard_place_lose(&guard_places[i]);
        n_guards--;
        pthread_mutex_unlock(&lock);
        tell(ending, GUARD_LOST);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    guard_fault_leave();
}

/* ---- for the library ---- */

static bool is_closed(uintptr_t from, uintptr_t to)
{
    for (uintptr_t at = from; at < to;) {
        const struct guard_place *place = guard_place_at(at);
        if (!place)
            return false;
        at = place->to;
    }
    return true;
}

bool guard_can(const void *memory, uint64_t bytes)
{
    return !guard_fault_is_child() && guard_pages_can(memory, bytes, is_closed);
}

void guard_edges(const void *memory, uint64_t bytes, uint64_t *head, uint64_t *tail)
{
    uintptr_t from, to;
    guard_pages_within(memory, bytes, &from, &to);
    *head = from == to ? bytes : from - (uintptr_t)memory;
    *tail = from == to ? 0 : (uintptr_t)memory + bytes - to;
}

/* With the lock held: what the program has given back without a word (it is not worth a hook in its
 * allocator) is found by its first page. */
static void sweep(void)
{
    for (unsigned i = 0; i < GUARD_MOST; i++)
        if (is_set(&guards[i]) && !guards[i].bringing &&
            guard_pages_closed(guard_places[i].from, guard_places[i].from + 1) == GUARD_PAGES_NONE)
            drop(&guards[i]);
}

/* With the lock held. */
static struct guard *find_room(void)
{
    for (unsigned i = 0; i < GUARD_MOST; i++)
        if (!is_set(&guards[i]) && guard_places[i].from == guard_places[i].to)
            return &guards[i];
    return NULL;
}

static bool is_within(const struct guard *guard, const void *memory, uint64_t bytes)
{
    return overlaps(guard, memory, bytes) && lies_within(guard, memory, bytes);
}

/* With the lock held: nobody else brings or drops what lies there from now on. */
static void claim_within(const void *memory, uint64_t bytes)
{
    for (unsigned i = 0; i < GUARD_MOST; i++)
        if (is_within(&guards[i], memory, bytes))
            claim(&guards[i], guards[i].arg);
}

/* With the lock held, which it lets go of meanwhile: the places of claimed ones have been taken by `by`. */
static void replace_within(const void *memory, uint64_t bytes, const struct guard *by)
{
    for (unsigned i = 0; i < GUARD_MOST; i++) {
        if (&guards[i] == by || !is_within(&guards[i], memory, bytes))
            continue;
        const struct ending ending = take_off(&guards[i]);
        pthread_mutex_unlock(&lock);
        tell(ending, GUARD_DROPPED);
        pthread_mutex_lock(&lock);
    }
}

/* At no time can anybody read what is not the one result or the other. */
bool guard_set(void *memory, uint64_t bytes, const struct guard_ops *ops, void *arg, const char *what)
{
    uintptr_t from, to;
    guard_pages_within(memory, bytes, &from, &to);
    pthread_mutex_lock(&lock);
    sweep();
    claim_within(memory, bytes);
    struct guard *guard = from < to && guard_fault_enter() && begin_to_serve() ? find_room() : NULL;
    if (guard) {
        *guard = (struct guard){.memory = memory, .bytes = bytes, .ops = ops, .arg = arg};
        n_guards++;
        guard_place_take(place_of(guard), from, to, what);
    }
    const bool closed = guard && guard_pages_close(from, to);
    if (!closed)
        guard_pages_open(from, to, NULL);
    guard_places_cut(from, to);
    replace_within(memory, bytes, guard);
    if (guard && !closed)
        take_off(guard);
    pthread_mutex_unlock(&lock);
    return closed;
}

bool guard_is_set(const void *arg)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < GUARD_MOST && !found; i++)
        found = is_set(&guards[i]) && guards[i].arg == arg && !guards[i].bringing &&
                guard_pages_closed(guard_places[i].from, guard_places[i].to) == GUARD_PAGES_ALL;
    pthread_mutex_unlock(&lock);
    return found;
}

static enum esp_status bring_those(const void *memory, uint64_t bytes, bool around, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    struct esp_error why;
    if (guard_fault_is_child() || (n_guards == 0 && !guard_places_lost(memory, bytes)))
        return ESP_OK;
    pthread_mutex_lock(&lock);
    if (guard_places_lost(memory, bytes))
        status =
            error_set(error, ESP_NOT_FOUND,
                      "in the memory at %p belongs a result that was on a server when grpc_finalize() was "
                      "called, which nobody can bring any more",
                      memory);
    for (unsigned i = 0; i < GUARD_MOST; i++) {
        if (!overlaps(&guards[i], memory, bytes) || (around && lies_within(&guards[i], memory, bytes)))
            continue;
        char what[GUARD_WHAT];
        memcpy(what, guard_places[i].what, sizeof what);
        if (bring(&guards[i], &why) != ESP_OK && status == ESP_OK)
            status = error_set(error, why.status, "%s: %s", what, why.text);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

enum esp_status guard_bring(const void *memory, uint64_t bytes, struct esp_error *error)
{
    return bring_those(memory, bytes, false, error);
}

enum esp_status guard_bring_around(const void *memory, uint64_t bytes, struct esp_error *error)
{
    return bring_those(memory, bytes, true, error);
}

void guard_forget(const void *memory, uint64_t bytes)
{
    if (guard_fault_is_child())
        return;
    uintptr_t from, to;
    guard_pages_within(memory, bytes, &from, &to);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < GUARD_MOST; i++)
        if (is_within(&guards[i], memory, bytes))
            drop(&guards[i]);
    if (guard_places_cut(from, to))
        guard_pages_open(from, to, NULL);
    pthread_mutex_unlock(&lock);
}

bool guard_after_fork(void)
{
    brought = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    serving = stopping = false;
    return fork_lock_was_free(&lock);
}
