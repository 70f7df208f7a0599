/* SPDX-License-Identifier: Apache-2.0
 *
 * The report of a worker when it crashes. Otherwise the daemon would learn of the death only after the
 * kernel has freed the worker's memory, tens of milliseconds with large arguments, and without the
 * faulting address. */
#include "sed/crd/crd.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_STEP 65536 /* largest distance of one function's frame below the stack pointer */

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};

static struct {
    struct ring *ring;
    const struct areas *areas;
    int bell;
    pid_t pid; /* a routine's forked child has the handlers too, and must not report for the worker */
    volatile sig_atomic_t in_call;
    int illegal;
    char routine[32];
} here;

/* Other threads of the process continue for a moment while it is ending. */
static bool is_alone(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

/* Between two bays lies one guard: each half belongs to its neighbour. */
static void locate_bay(uintptr_t address, struct ring_answer *answer)
{
    const struct ring_job *job = &here.ring->job;
    for (uint32_t i = 0; i < BAYS; i++) {
        uintptr_t begin = (uintptr_t)here.ring->arena + ring_bay_there(i), end = begin + bay_bytes(i);
        if ((job->bays >> i & 1) == 0 || address < begin - RING_GUARD_BYTES / 2 ||
            address >= end + RING_GUARD_BYTES / 2)
            continue;
        answer->argument = job->bay_arguments[i];
        answer->place = address < begin ? FAULT_BEFORE : address >= end ? FAULT_BEHIND : FAULT_INSIDE;
    }
}

static void locate(uintptr_t address, struct ring_answer *answer)
{
    answer->address = address;
    answer->place = FAULT_ELSEWHERE;
    uintptr_t arena_end = (uintptr_t)here.ring->bays;
    if (address >= arena_end && address < arena_end + RING_GUARD_BYTES)
        answer->place = FAULT_ARENA;
    locate_bay(address, answer);
    for (uint32_t i = 0; i < here.areas->n; i++) {
        const struct area *area = &here.areas->items[i];
        uintptr_t begin = (uintptr_t)area->pages, end = begin + area->page_bytes;
        if (address < begin - RING_GUARD_BYTES || address >= end + RING_GUARD_BYTES)
            continue;
        answer->argument = area->argument;
        answer->place = address < begin ? FAULT_BEFORE : address >= end ? FAULT_BEHIND : FAULT_INSIDE;
    }
}

/* The processor says whether it was a read or a write. */
static uint32_t access_of(int signal_number, const void *context)
{
#if defined __x86_64__ && defined REG_ERR
    if (signal_number == SIGSEGV)
        return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? 2 : 1;
#endif
    (void)signal_number;
    (void)context;
    return 0;
}

/* Whether the address is directly below the stack pointer, where a stack at its limit ends. */
static bool is_below_stack(uintptr_t address, const void *context)
{
#if defined __x86_64__ && defined REG_RSP
    uintptr_t top = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
    return address + STACK_STEP > top && address < top + STACK_STEP;
#else
    (void)address;
    (void)context;
    return false;
#endif
}

/* BLAS kernels load whole vectors, and the elements of a row in advance, and ignore what lies after the
 * array: OpenBLAS's zgemv_n reads three columns beyond. That is harmless as long as the memory is
 * readable, so the page is made readable, and stays write-protected. False: the fault had another cause. */
static bool pardon_reading_ahead(int signal_number, uintptr_t address, const void *context)
{
    if (signal_number != SIGSEGV || access_of(signal_number, context) != 1)
        return false;
    struct ring_answer answer;
    locate(address, &answer);
    if (answer.place != FAULT_BEHIND && answer.place != FAULT_BEFORE && answer.place != FAULT_ARENA)
        return false;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return mprotect((void *)(address & ~(page - 1)), page, PROT_READ) == 0;
}

static void on_crash(int signal_number, siginfo_t *info, void *context)
{
    if (here.in_call && info->si_code > 0 &&
        pardon_reading_ahead(signal_number, (uintptr_t)info->si_addr, context))
        return;
    if (here.in_call && getpid() == here.pid) {
        struct ring_answer *answer = &here.ring->answer;
        here.in_call = 0;
        answer->code = signal_number;
        answer->access = access_of(signal_number, context);
        locate(info->si_code > 0 ? (uintptr_t)info->si_addr : 0, answer);
        if (signal_number == SIGSEGV && answer->place == FAULT_ELSEWHERE &&
            is_below_stack(answer->address, context))
            answer->place = FAULT_STACK;
        answer->alone = is_alone();
        answer->kind = ANSWER_SIGNALLED;
        worker_reply(here.ring, here.bell);
    }
    _exit(128 + signal_number);
}

static void on_leaving(int code, void *unused)
{
    (void)unused;
    if (getpid() != here.pid)
        return;
    if (here.in_call) {
        here.in_call = 0;
        here.ring->answer.code = code;
        here.ring->answer.alone = is_alone();
        here.ring->answer.kind = ANSWER_EXITED;
        worker_reply(here.ring, here.bell);
    }
    _exit(code);
}

static void take_signals(void)
{
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof crash_signals / sizeof *crash_signals; i++)
        sigaction(crash_signals[i], &action, NULL);
}

void faults_renew(void)
{
    /* A routine that replaces one handler replaces this one; and without handlers the spawner still
     * reports the signal. */
    struct sigaction now;
    if (sigaction(SIGSEGV, NULL, &now) != 0 || now.sa_sigaction != on_crash)
        take_signals();
}

void faults_install(struct ring *ring, const struct areas *areas, int bell)
{
    here.ring = ring;
    here.areas = areas;
    here.bell = bell;
    here.pid = getpid();
    /* A separate stack, because the routine may have used up its own. */
    static unsigned char stack[64 * 1024];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    take_signals();
    on_exit(on_leaving, NULL);
}

void faults_enter_call(void)
{
    here.illegal = 0;
    here.in_call = 1;
}

void faults_leave_call(void)
{
    here.in_call = 0;
}

int faults_illegal(const char **routine)
{
    *routine = here.routine;
    return here.illegal;
}

static void faults_note_illegal(const char *routine, size_t length, int number)
{
    /* The first error is the cause; later ones may be consequences. */
    if (here.illegal != 0 || number == 0)
        return;
    size_t n = length < sizeof here.routine ? length : sizeof here.routine - 1;
    memcpy(here.routine, routine, n);
    here.routine[n] = 0;
    here.illegal = number;
}

/* The functions that BLAS and LAPACK call for an illegal argument. The reference versions print and stop
 * the program. These, which the dynamic linker finds before a library's own, record it for the answer and
 * return, and so does the routine. */

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void xerbla_(const char *routine, const int32_t *number, size_t length);
EXPORTED void xerbla_array_(const char *routine, const int32_t *length, const int32_t *number);
EXPORTED void cblas_xerbla(int number, const char *routine, const char *format, ...);
EXPORTED void LAPACKE_xerbla(const char *routine, int32_t number);

EXPORTED void xerbla_(const char *routine, const int32_t *number, size_t length)
{
    faults_note_illegal(routine, strnlen(routine, length < 32 ? length : 32), abs(*number));
}

EXPORTED void xerbla_array_(const char *routine, const int32_t *length, const int32_t *number)
{
    xerbla_(routine, number, *length < 0 ? 0 : (size_t)*length);
}

EXPORTED void cblas_xerbla(int number, const char *routine, const char *format, ...)
{
    (void)format;
    faults_note_illegal(routine, strnlen(routine, 32), abs(number));
}

EXPORTED void LAPACKE_xerbla(const char *routine, int32_t number)
{
    faults_note_illegal(routine, strnlen(routine, 32), abs(number));
}
