/* SPDX-License-Identifier: Apache-2.0
 *
 * What runs in the handler uses async-signal-safe functions only, and the system call of futexes.
 */
#include "client/data/guard_fault.h"

#include <errno.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct guard_place guard_places[GUARD_MOST];

static _Atomic uint32_t changes;       /* of any place */
static _Atomic unsigned n_lost;        /* places: where there are none nobody looks at all of them */
static sem_t requests;                 /* posted for each wait that begins */
static _Atomic pid_t owner;            /* the process; 0: no handler yet */
static _Atomic pid_t server;           /* the thread that brings contents */
static struct sigaction first, before; /* the handlers before the first time, and before the last time */

/* In the library's own block of each thread: made when the thread is, not when a handler asks for it. */
#define IN_HANDLER static _Thread_local __attribute__((tls_model("initial-exec")))

static pid_t this_thread(void)
{
    return (pid_t)syscall(SYS_gettid);
}

bool guard_fault_is_child(void)
{
    return owner != 0 && owner != getpid();
}

/* ---- places ---- */

static bool covers(const struct guard_place *place, uintptr_t at)
{
    return at >= place->from && at < place->to;
}

void guard_place_take(struct guard_place *place, uintptr_t from, uintptr_t to, const char *what)
{
    snprintf(place->what, sizeof place->what, "%s", what);
    place->lost = false;
    place->wanted = false;
    place->from = from; /* in this order nobody sees more than what it has */
    place->to = to;
    changes++;
}

static void wake(struct guard_place *place)
{
    place->generation++;
    changes++;
    syscall(SYS_futex, &place->generation, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void guard_place_clear(struct guard_place *place)
{
    place->to = 0;
    place->from = 0;
    if (atomic_exchange(&place->lost, false))
        n_lost--;
    wake(place);
}

void guard_place_lose(struct guard_place *place)
{
    if (!atomic_exchange(&place->lost, true))
        n_lost++;
    wake(place);
}

bool guard_place_is_wanted(struct guard_place *place)
{
    return atomic_exchange(&place->wanted, false);
}

static struct guard_place *find(uintptr_t at, bool lost)
{
    for (unsigned i = 0; i < GUARD_MOST; i++)
        if (guard_places[i].lost == lost && covers(&guard_places[i], at))
            return &guard_places[i];
    return NULL;
}

const struct guard_place *guard_place_at(uintptr_t at)
{
    return find(at, false);
}

static bool meets(const struct guard_place *place, uintptr_t from, uintptr_t to)
{
    return place->lost && place->from < to && from < place->to;
}

bool guard_places_lost(const void *memory, uint64_t bytes)
{
    for (unsigned i = 0; n_lost > 0 && i < GUARD_MOST; i++)
        if (meets(&guard_places[i], (uintptr_t)memory, (uintptr_t)memory + bytes))
            return true;
    return false;
}

bool guard_places_cut(uintptr_t from, uintptr_t to)
{
    bool any = false;
    for (unsigned i = 0; n_lost > 0 && i < GUARD_MOST; i++) {
        struct guard_place *place = &guard_places[i];
        if (!meets(place, from, to))
            continue;
        any = true;
        if (place->from < from)
            place->to = from;
        else if (place->to > to)
            place->from = to;
        else
            guard_place_clear(place);
    }
    return any;
}

/* ---- the handler ---- */

static void say(const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        const ssize_t said = write(STDERR_FILENO, text, left);
        if (said <= 0)
            return;
        text += said;
        left -= (size_t)said;
    }
}

/* The instruction cannot go on with what belongs there, and must not with anything else. */
static void refuse(const struct guard_place *place, const char *why)
{
    say("espalier: the program has looked at ");
    say(place->what);
    say(why);
    abort();
}

static void wait_for(struct guard_place *place, uint32_t generation)
{
    place->wanted = true;
    sem_post(&requests);
    while (place->generation == generation)
        syscall(SYS_futex, &place->generation, FUTEX_WAIT_PRIVATE, generation, NULL, NULL, 0);
}

/* Whether the instruction is to be tried again. */
static bool is_ours(uintptr_t at)
{
    IN_HANDLER uintptr_t last_at;
    IN_HANDLER uint32_t last_changes;
    const uint32_t now = changes;
    struct guard_place *place = find(at, false);
    const uint32_t generation = place ? place->generation : 0;
    if (place && covers(place, at)) {
        if (getpid() != owner)
            refuse(place, ", which is on a server, in a process that was forked after its call: look at it "
                          "before, or fork before grpc_initialize()\n");
        if (server == this_thread())
            refuse(place, " while it is brought: this is a fault of the library\n");
        wait_for(place, generation);
        return true;
    }
    if ((place = find(at, true)))
        refuse(place, ", which was on a server when grpc_finalize() was called: look at it before\n");
    /* The pages may have been opened just now: it is another's when that was not it. */
    const bool again = last_at != at || last_changes != now;
    last_at = at;
    last_changes = now;
    return again;
}

static void on_fault(int number, siginfo_t *info, void *context);

static void call(const struct sigaction *handler, int number, siginfo_t *info, void *context)
{
    if (handler->sa_flags & SA_SIGINFO) {
        handler->sa_sigaction(number, info, context);
        return;
    }
    if (handler->sa_handler == SIG_IGN && info->si_code <= 0)
        return;
    if (handler->sa_handler != SIG_DFL && handler->sa_handler != SIG_IGN) {
        handler->sa_handler(number);
        return;
    }
    signal(number, SIG_DFL); /* as nobody handles it: the instruction is tried again, and ends the process */
    if (info->si_code <= 0)
        raise(number);
}

/* A handler that was set after this one may have this one called in turn; then it is for the first one. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    IN_HANDLER const siginfo_t *passed;
    IN_HANDLER const void *passed_by;
    const void *here = __builtin_frame_address(0);
    if (passed == info && passed_by != here) {
        call(&first, number, info, context);
        return;
    }
    passed = info;
    passed_by = here;
    call(&before, number, info, context);
    passed = NULL;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    const int kept = errno;
    if (info->si_code <= 0 || !is_ours((uintptr_t)info->si_addr))
        pass_on(number, info, context);
    errno = kept;
}

/* ---- whose it is ---- */

static bool is_own(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

bool guard_fault_enter(void)
{
    struct sigaction now, own = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if (owner == 0) {
        if (sem_init(&requests, 0, 0) != 0 || sigaction(SIGSEGV, NULL, &first) != 0)
            return false;
        owner = getpid();
    }
    if (sigaction(SIGSEGV, NULL, &now) != 0)
        return false;
    if (is_own(&now))
        return true;
    before = now;
    sigemptyset(&own.sa_mask);
    return sigaction(SIGSEGV, &own, NULL) == 0;
}

void guard_fault_leave(void)
{
    struct sigaction now;
    for (unsigned i = 0; i < GUARD_MOST; i++)
        if (guard_places[i].from != guard_places[i].to)
            return;
    if (owner != 0 && sigaction(SIGSEGV, NULL, &now) == 0 && is_own(&now))
        sigaction(SIGSEGV, &before, NULL);
}

void guard_fault_await(void)
{
    server = this_thread();
    while (sem_wait(&requests) != 0 && errno == EINTR)
        ;
}

void guard_fault_wake(void)
{
    sem_post(&requests);
}
