/* SPDX-License-Identifier: Apache-2.0
 *
 * A rank's last message. mpirun ends all ranks when one ends, and does not report which and why, so each
 * rank reports its end to the daemon, if the system permits. A rank killed by SIGKILL reports nothing. */
#include "sed/mpi/prd.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM};
#define FATAL (sizeof fatal / sizeof *fatal)

static int link_socket = -1;
static bool to_envoy;
static pid_t started_by, own;
static atomic_flag said = ATOMIC_FLAG_INIT;
static struct sigaction before[FATAL];

/* Reports the end to the daemon; safe in a signal handler. A process forked by a routine reports nothing. */
static void say(enum rank_end how, int code)
{
    uint64_t most;
    const struct rank_message last = {
        .kind = RANK_LAST_WORD, .end = how, .code = code, .refused_bytes = memory_refused(&most)};
    if (link_socket < 0 || getpid() != own || atomic_flag_test_and_set(&said))
        return;
    if (to_envoy)
        far_say_end(link_socket, &last);
    else
        rank_link_send(link_socket, &last, NULL, 0, MSG_DONTWAIT);
}

/* Then the process ends as usual: OpenMPI prints a backtrace. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    const bool by_mpirun = info->si_code <= 0 && info->si_pid == started_by;
    say(by_mpirun ? RANK_ENDED_BY_MPIRUN : RANK_KILLED, number);
    for (size_t i = 0; i < FATAL; i++)
        if (fatal[i] == number)
            sigaction(number, &before[i], NULL);
    raise(number); /* blocked until the handler returns */
}

static void on_exit_code(int code, void *arg)
{
    (void)arg;
    say(RANK_EXITED, code);
}

/* Replace the C library's and MPI's functions, also for the libraries of routines, and so must not be
 * hidden. */
#define SHOWN __attribute__((visibility("default")))

SHOWN void _exit(int code)
{
    say(RANK_EXITED, code);
    for (;;)
        syscall(SYS_exit_group, code);
}

SHOWN void _Exit(int code)
{
    _exit(code);
}

SHOWN int MPI_Abort(MPI_Comm communicator, int code)
{
    say(RANK_ABORTED, code);
    return PMPI_Abort(communicator, code);
}

/* A separate stack for handlers, because an exhausted stack leaves no room to report that. */
static void stand_apart(void)
{
    static char stack[64 << 10];
    const stack_t apart = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&apart, NULL);
}

void rank_tells_its_end(int socket, bool far)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    link_socket = socket;
    to_envoy = far;
    stand_apart();
    started_by = getppid();
    own = getpid();
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < FATAL; i++)
        sigaction(fatal[i], &action, &before[i]);
    on_exit(on_exit_code, NULL);
}

void rank_end_as_told(void)
{
    say(RANK_ENDED_AS_TOLD, 0);
    _exit(0);
}
