/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that runs in the handler uses only async-signal-safe functions, and the futex system call.
 */
#include "client/data/guard.h"
#include "client/session/buffer.h"
#include "util/fork_lock.h"
#include "util/random.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GUARD_MOST 1024 /* arrays at the same time; further ones are not guarded */

struct guard_place {
    _Atomic uintptr_t from, to;  /* whole pages; from == to: none */
    _Atomic uint32_t generation; /* changes when the pages are opened, so that waiting threads look again */
    _Atomic bool wanted;         /* a thread waits */
    _Atomic bool lost;           /* its contents cannot be fetched any more */
    char what[GUARD_WHAT];
};

extern struct guard_place guard_places[GUARD_MOST];

/* Bytes at both ends of an array that are never closed, because allocators write there after free(). */
#define GUARD_EDGE 64u

/* Which pages are still closed: the others have been opened, or replaced by other memory. */
enum guard_pages { GUARD_PAGES_NONE, GUARD_PAGES_SOME, GUARD_PAGES_ALL };

struct guard_place guard_places[GUARD_MOST];

static _Atomic uint32_t changes; /* of any place */
static _Atomic unsigned n_lost;  /* number of places; if 0, they are not searched */
static sem_t requests;           /* posted for each wait that begins */
static _Atomic pid_t owner;      /* the process; 0: no handler yet */
static _Atomic pid_t server;     /* the thread that fetches contents */
static struct sigaction first_handlers,
    previous_handlers; /* previous handlers: at the first installation, and at the last */

/* In the library's static block of each thread, which is allocated with the thread, not at first use in a
 * handler. */
#define IN_HANDLER static _Thread_local __attribute__((tls_model("initial-exec")))

static pid_t this_thread(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* Whether this process was forked from the one that called guard_fault_enter(). */
static bool guard_fault_is_child(void)
{
    return owner != 0 && owner != getpid();
}

/* ---- places ---- */

static bool covers(const struct guard_place *place, uintptr_t at)
{
    return at >= place->from && at < place->to;
}

/* Called before its pages are closed. */
static void guard_place_take(struct guard_place *place, uintptr_t from, uintptr_t to, const char *what)
{
    snprintf(place->what, sizeof place->what, "%s", what);
    place->lost = false;
    place->wanted = false;
    place->from = from; /* in this order a handler never sees too large a range */
    place->to = to;
    changes++;
}

static void wake(struct guard_place *place)
{
    place->generation++;
    changes++;
    syscall(SYS_futex, &place->generation, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Called after its pages were opened: wakes the waiting threads. */
static void guard_place_clear(struct guard_place *place)
{
    place->to = 0;
    place->from = 0;
    if (atomic_exchange(&place->lost, false))
        n_lost--;
    wake(place);
}

/* The place stays, but accessing it ends the process. */
static void guard_place_lose(struct guard_place *place)
{
    if (!atomic_exchange(&place->lost, true))
        n_lost++;
    wake(place);
}

/* Whether a thread has begun to wait since the last call. */
static bool guard_place_is_wanted(struct guard_place *place)
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

/* Returns the place with that page that is not lost; NULL: none. */
static const struct guard_place *guard_place_at(uintptr_t at)
{
    return find(at, false);
}

static bool meets(const struct guard_place *place, uintptr_t from, uintptr_t to)
{
    return place->lost && place->from < to && from < place->to;
}

/* Whether a lost place has any of that memory. */
static bool guard_places_lost(const void *memory, uint64_t bytes)
{
    for (unsigned i = 0; n_lost > 0 && i < GUARD_MOST; i++)
        if (meets(&guard_places[i], (uintptr_t)memory, (uintptr_t)memory + bytes))
            return true;
    return false;
}

/* Removes that memory from lost places. Returns whether one had it. */
static bool guard_places_cut(uintptr_t from, uintptr_t to)
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

/* The instruction cannot continue with the right contents, and must not with others. */
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
    /* The pages may have been opened just now. If the same fault repeats without that, it belongs to
     * another handler. */
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
    signal(number, SIG_DFL); /* as without a handler: the instruction is tried again, and ends the process */
    if (info->si_code <= 0)
        raise(number);
}

/* A handler that was installed later may call this one; then the first previous handler is called. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    IN_HANDLER const siginfo_t *passed;
    IN_HANDLER const void *passed_by;
    const void *here = __builtin_frame_address(0);
    if (passed == info && passed_by != here) {
        call(&first_handlers, number, info, context);
        return;
    }
    passed = info;
    passed_by = here;
    call(&previous_handlers, number, info, context);
    passed = NULL;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    const int kept = errno;
    if (info->si_code <= 0 || !is_ours((uintptr_t)info->si_addr))
        pass_on(number, info, context);
    errno = kept;
}

/* ---- ownership of the signal ---- */

static bool is_own(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

/* Installs the handler, if it is not the present one. Returns false if that fails. */
static bool guard_fault_enter(void)
{
    struct sigaction now, own = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if (owner == 0) {
        if (sem_init(&requests, 0, 0) != 0 || sigaction(SIGSEGV, NULL, &first_handlers) != 0)
            return false;
        owner = getpid();
    }
    if (sigaction(SIGSEGV, NULL, &now) != 0)
        return false;
    if (is_own(&now))
        return true;
    previous_handlers = now;
    sigemptyset(&own.sa_mask);
    return sigaction(SIGSEGV, &own, NULL) == 0;
}

/* If no place is left, and the handler is still installed, restores the previous one. */
static void guard_fault_leave(void)
{
    struct sigaction now;
    for (unsigned i = 0; i < GUARD_MOST; i++)
        if (guard_places[i].from != guard_places[i].to)
            return;
    if (owner != 0 && sigaction(SIGSEGV, NULL, &now) == 0 && is_own(&now))
        sigaction(SIGSEGV, &previous_handlers, NULL);
}

/* Waits until a thread waits for a place, or for guard_fault_wake(). */
static void guard_fault_await(void)
{
    server = this_thread();
    while (sem_wait(&requests) != 0 && errno == EINTR)
        ;
}

static void guard_fault_wake(void)
{
    sem_post(&requests);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int own_memory = -1; /* /proc/self/mem */
static uintptr_t page_bytes;
static uint64_t mark[2]; /* random for each process, so that no program has it in its memory */

struct stamp {
    uint64_t mark[2];
    uintptr_t page;
};

static void set_up(void)
{
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (random_bytes(mark, sizeof mark, NULL) == ESP_OK)
        own_memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

static uintptr_t page_size(void)
{
    pthread_once(&once, set_up);
    return page_bytes;
}

/* The pages of an array that can be closed: those wholly inside it, without its ends. *from == *to: none. */
static void guard_pages_within(const void *memory, uint64_t bytes, uintptr_t *from, uintptr_t *to)
{
    const uintptr_t page = page_size(), begin = (uintptr_t)memory;
    *from = *to = 0;
    if (bytes < 2 * GUARD_EDGE)
        return;
    const uintptr_t first = (begin + GUARD_EDGE + page - 1) / page * page,
                    last = (begin + bytes - GUARD_EDGE) / page * page;
    if (first < last) {
        *from = first;
        *to = last;
    }
}

/* ---- access past the protection ---- */

/* Shared memory cannot be written through /proc/self/mem; its file can. */
static bool put(uintptr_t at, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t put = pwrite(own_memory, (const char *)bytes + done, n - done, (off_t)(at + done));
        if (put <= 0)
            return done == 0 && buffer_put((void *)at, bytes, n);
        done += (size_t)put;
    }
    return true;
}

enum page { PAGE_CLOSED, PAGE_EMPTIED, PAGE_OTHER };

static enum page look_at(uintptr_t page)
{
    const struct stamp expected = {{mark[0], mark[1]}, page}, nothing = {{0, 0}, 0};
    struct stamp found;
    if (pread(own_memory, &found, sizeof found, (off_t)page) != (ssize_t)sizeof found)
        return PAGE_OTHER;
    if (memcmp(&found, &expected, sizeof found) == 0)
        return PAGE_CLOSED;
    return memcmp(&found, &nothing, sizeof found) == 0 ? PAGE_EMPTIED : PAGE_OTHER;
}

/* Closes the pages, which may be closed already; their contents are lost. Returns false if they cannot be
 * closed; then they are open. */
static bool guard_pages_close(uintptr_t from, uintptr_t to)
{
    const uintptr_t page = page_size();
    bool closed = own_memory >= 0;
    for (uintptr_t at = from; closed && at < to; at += page) {
        const struct stamp stamp = {{mark[0], mark[1]}, at};
        closed = put(at, &stamp, sizeof stamp);
    }
    closed = closed && mprotect((void *)from, to - from, PROT_NONE) == 0;
    if (!closed)
        mprotect((void *)from, to - from, PROT_READ | PROT_WRITE);
    return closed;
}

static enum guard_pages guard_pages_closed(uintptr_t from, uintptr_t to)
{
    const uintptr_t page = page_size();
    bool some = false, others = false;
    for (uintptr_t at = from; at < to; at += page)
        if (look_at(at) == PAGE_CLOSED)
            some = true;
        else
            others = true;
    return !some ? GUARD_PAGES_NONE : others ? GUARD_PAGES_SOME : GUARD_PAGES_ALL;
}

/* Opens closed pages with `contents` (NULL: no particular ones). If an allocator had the system drop the
 * contents, the pages are zero, as it expects. */
static void guard_pages_open(uintptr_t from, uintptr_t to, const char *contents)
{
    const uintptr_t page = page_size();
    for (uintptr_t at = from, next; at < to; at = next) {
        const enum page kind = look_at(at);
        for (next = at + page; next < to && look_at(next) == kind; next += page)
            ;
        if (kind == PAGE_OTHER)
            continue;
        if (kind == PAGE_CLOSED && contents)
            put(at, contents + (at - from), next - at);
        mprotect((void *)at, next - at, PROT_READ | PROT_WRITE);
    }
}

/* ---- suitable memory ---- */

/* glibc's malloc places the blocks of all threads except the first one in regions of this size and
 * alignment. Each begins with a pointer to its arena, a pointer to the previous region, and its bytes in
 * use. */
#define HEAP_BYTES ((uintptr_t)64 << 20)

static bool is_in_heap_of_thread(uintptr_t at)
{
    struct {
        uintptr_t arena, before;
        size_t used, writable;
    } head;
    const uintptr_t begin = at & ~(HEAP_BYTES - 1);
    if (pread(own_memory, &head, sizeof head, (off_t)begin) != (ssize_t)sizeof head)
        return false;
    return head.arena != 0 && head.arena % HEAP_BYTES <= 256 && head.before % HEAP_BYTES == 0 &&
           head.used <= head.writable && head.writable <= HEAP_BYTES && head.used % page_bytes == 0 &&
           at < begin + head.used;
}

struct mapping {
    uintptr_t from, to;
    const char *access, *name;
};

static bool next_mapping(FILE *maps, char **line, size_t *size, struct mapping *mapping)
{
    char *at;
    if (getline(line, size, maps) <= 0)
        return false;
    mapping->from = strtoull(*line, &at, 16);
    if (*at != '-')
        return false;
    mapping->to = strtoull(at + 1, &at, 16);
    if (*at != ' ')
        return false;
    mapping->access = at + 1;
    mapping->name = strchr(at, '[') ? strchr(at, '[') : "";
    return true;
}

struct wish {
    const void *memory;
    uint64_t bytes;
    uintptr_t stack; /* an address on the thread's stack */
    bool (*is_closed)(uintptr_t from, uintptr_t to);
};

static bool suits(const struct mapping *mapping, const struct wish *wish)
{
    const uintptr_t begin = (uintptr_t)wish->memory, end = begin + wish->bytes;
    const bool is_stack = strncmp(mapping->name, "[stack", 6) == 0 ||
                          (wish->stack >= mapping->from && wish->stack < mapping->to);
    if (is_stack || strncmp(mapping->name, "[heap", 5) == 0)
        return false;
    if (mapping->access[3] != 'p' && !buffer_holds(wish->memory, wish->bytes))
        return false;
    if (mapping->access[0] == 'r' && mapping->access[1] == 'w')
        return true;
    return wish->is_closed(mapping->from > begin ? mapping->from : begin,
                           mapping->to < end ? mapping->to : end);
}

static bool all_suit(const struct wish *wish)
{
    struct mapping mapping;
    char *line = NULL;
    size_t size = 0;
    uintptr_t at = (uintptr_t)wish->memory;
    const uintptr_t end = at + wish->bytes;
    FILE *maps = fopen("/proc/self/maps", "re");
    bool good = maps != NULL;
    while (good && at < end && (good = next_mapping(maps, &line, &size, &mapping))) {
        if (mapping.to <= at)
            continue;
        good = mapping.from <= at && suits(&mapping, wish);
        at = mapping.to;
    }
    free(line);
    if (maps)
        fclose(maps);
    return good;
}

/* Whether that memory may have closed pages, in the view of the calling thread, which is the program's.
 * Not suitable: stacks (a signal handler needs them); memory from which the C library cuts blocks (it
 * writes between them under a lock, and fetching contents needs memory, too); shared memory except that of
 * esp_alloc(); and memory that is not readable and writable. With `is_closed`, the pages are closed
 * already. */
static bool guard_pages_can(const void *memory, uint64_t bytes,
                            bool (*is_closed)(uintptr_t from, uintptr_t to))
{
    uintptr_t from, to;
    char here = 0;
    guard_pages_within(memory, bytes, &from, &to);
    const struct wish wish = {memory, bytes, (uintptr_t)&here, is_closed};
    return from < to && own_memory >= 0 && !is_in_heap_of_thread((uintptr_t)memory) && all_suit(&wish);
}

/* The part of a place that only this file uses, with the number of the place in guard_places[]; under the
 * lock. */
struct guard {
    char *memory;
    uint64_t bytes;
    const struct guard_ops *ops; /* NULL: there is none, or it is lost */
    void *arg;
    bool bringing; /* a thread fetches its contents: other threads wait */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t brought = PTHREAD_COND_INITIALIZER;
static struct guard guards[GUARD_MOST];
static _Atomic unsigned n_guards; /* if 0, a caller need not wait for the lock */

static pthread_t thread; /* serves the handler */
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

/* Called with the lock held: ends the guard, and wakes threads that wait for its contents. */
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

/* Called with the lock held, which is released meanwhile. Returns whether the caller has to fetch the
 * contents. */
static bool claim(struct guard *guard, const void *arg)
{
    while (is_set(guard) && guard->arg == arg && guard->bringing)
        pthread_cond_wait(&brought, &lock);
    const bool claimed = is_set(guard) && guard->arg == arg;
    if (claimed)
        guard->bringing = true;
    return claimed;
}

/* The buffer comes from the system, like large blocks of malloc(). */
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

/* The caller has claimed the guard. Its owner is informed before the pages are opened, so that a thread
 * that sees the contents also sees that the owner has them. */
static enum esp_status bring_claimed(struct guard *guard, struct esp_error *error)
{
    const struct guard_place *place = place_of(guard);
    const struct guard one = *guard; /* no other thread changes it now */
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

/* Called with the lock held, which is released meanwhile. */
static enum esp_status bring(struct guard *guard, struct esp_error *error)
{
    if (!is_set(guard) || !claim(guard, guard->arg))
        return ESP_OK;
    pthread_mutex_unlock(&lock);
    const enum esp_status status = bring_claimed(guard, error);
    pthread_mutex_lock(&lock);
    return status;
}

/* Called with the lock held, which is released meanwhile: opens the memory without its contents. */
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

/* ---- for the program's accesses ---- */

/* There is no other way to report the error: the instruction cannot continue with the right contents. */
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

/* Called with the lock held. */
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

/* Called with the lock held: finds arrays that the program has freed, by their first page. This is cheaper
 * than a hook in its allocator. */
static void sweep(void)
{
    for (unsigned i = 0; i < GUARD_MOST; i++)
        if (is_set(&guards[i]) && !guards[i].bringing &&
            guard_pages_closed(guard_places[i].from, guard_places[i].from + 1) == GUARD_PAGES_NONE)
            drop(&guards[i]);
}

/* Called with the lock held. */
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

/* Called with the lock held: from now on no other thread fetches or drops the contents there. */
static void claim_within(const void *memory, uint64_t bytes)
{
    for (unsigned i = 0; i < GUARD_MOST; i++)
        if (is_within(&guards[i], memory, bytes))
            claim(&guards[i], guards[i].arg);
}

/* Called with the lock held, which is released meanwhile: `by` replaces the claimed guards. */
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

/* At no time can a thread read anything but the old or the new result. */
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
