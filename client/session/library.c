/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/library.h"
#include "client/arguments/callback.h"
#include "util/fork_lock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static atomic_int state;  /* enum library_state */
static atomic_uint users; /* number of threads inside */
static struct library library;
static pthread_mutex_t gate =
    PTHREAD_MUTEX_INITIALIZER; /* for `left`, which is signalled when `users` falls to 0 */
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;

/* ---- threads ---- */

/* The library's memory of a thread. It is allocated, because a program that loads the library late
 * (interpreters do so by dlopen()) has about 1 KB left for the thread-local variables of all its
 * libraries. */
struct thread_memory {
    struct esp_error last;
    struct esp_error before; /* status ESP_OK: there was none */
    struct past *kept;
};
static _Thread_local struct thread_memory *memory;
static struct thread_memory without_memory; /* shared by all threads without memory of their own */
static _Thread_local unsigned depth;        /* nested functions of the interface in this thread */
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Locks may be held by threads that the child does not have, and connections are shared with the parent. */
static void in_child(void)
{
    if (atomic_load(&state) != LIBRARY_DOWN)
        atomic_store(&state, LIBRARY_FORKED);
}

static void forget_thread(void *arg)
{
    struct thread_memory *of = arg;
    memory = NULL;
    free(of->kept);
    free(of);
}

static void set_up(void)
{
    pthread_key_create(&at_thread_end, forget_thread);
    pthread_atfork(NULL, NULL, in_child);
}

static struct thread_memory *of_thread(void)
{
    if (memory)
        return memory;
    pthread_once(&once, set_up);
    struct thread_memory *made = calloc(1, sizeof *made);
    if (!made)
        return &without_memory;
    pthread_setspecific(at_thread_end, made);
    return memory = made;
}

struct esp_error *library_error(void)
{
    return &of_thread()->last;
}

void library_keep(struct session *session)
{
    struct thread_memory *of = of_thread();
    if (of != &without_memory) {
        free(of->kept);
        of->kept = past_keep(session);
    }
    session_discard(session);
}

const struct past *library_kept(void)
{
    return of_thread()->kept;
}

/* ---- inside or outside ---- */

static enum esp_status outside(int found, struct esp_error *error)
{
    if (found == LIBRARY_FORKED)
        return error_set(error, ESP_REFUSED,
                         "this process was forked after grpc_initialize(): call grpc_initialize() again, "
                         "which begins anew without the handles and sessions of the parent");
    return error_set(error, ESP_INVALID, "grpc_initialize() has not been called, or grpc_finalize() has");
}

struct library *library_enter(struct esp_error *error)
{
    if (callback_is_running()) {
        error_set(error, ESP_REFUSED,
                  "a function that a routine calls back cannot use the library: its session waits for it");
        return NULL;
    }
    if (depth++ == 0) {
        struct thread_memory *of = of_thread();
        of->before.status = of->last.status;
        if (of->last.status != ESP_OK)
            of->before = of->last;
    }
    atomic_fetch_add(&users, 1);
    int found = atomic_load(&state);
    if (found == LIBRARY_UP)
        return &library;
    library_leave(false);
    outside(found, error);
    return NULL;
}

void library_leave(bool succeeded)
{
    struct thread_memory *of = of_thread();
    if (--depth == 0 && succeeded && of->before.status == ESP_OK) {
        of->last.status = ESP_OK;
        of->last.text[0] = 0;
    } else if (depth == 0 && succeeded) {
        of->last = of->before;
    }
    if (atomic_fetch_sub(&users, 1) != 1 || atomic_load(&state) != LIBRARY_CHANGING)
        return;
    pthread_mutex_lock(&gate);
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&gate);
}

/* ---- creation and destruction ---- */

struct library *library_begin(bool *forked, bool *again, struct esp_error *error)
{
    int expected = LIBRARY_DOWN;
    pthread_once(&once, set_up);
    if (atomic_load(&state) == LIBRARY_FORKED && depth == 0)
        expected = LIBRARY_FORKED;
    *forked = expected == LIBRARY_FORKED;
    *again = false;
    if (atomic_compare_exchange_strong(&state, &expected, LIBRARY_CHANGING))
        return &library;
    if (expected == LIBRARY_FORKED) {
        outside(expected, error);
        return NULL;
    }
    *again = true;
    error_set(error, ESP_INVALID, "the library is initialized already");
    return NULL;
}

struct library *library_end(struct esp_error *error)
{
    int expected = LIBRARY_UP;
    if (atomic_compare_exchange_strong(&state, &expected, LIBRARY_CHANGING))
        return &library;
    outside(expected, error);
    return NULL;
}

void library_settle(enum library_state next)
{
    atomic_store(&state, next);
}

bool library_after_fork(void)
{
    left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    if (!fork_lock_was_free(&gate))
        return false;
    memset(&library, 0, sizeof library);
    atomic_store(&users, 0);
    return true;
}

bool library_is_left(const struct timespec *until)
{
    int waited = 0;
    pthread_mutex_lock(&gate);
    while (atomic_load(&users) > 0 && waited == 0)
        waited = pthread_cond_timedwait(&left, &gate, until);
    pthread_mutex_unlock(&gate);
    return atomic_load(&users) == 0;
}
