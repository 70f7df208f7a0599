/* SPDX-License-Identifier: Apache-2.0 */
#include "services/nws/host_rate.h"

#include "util/clock.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BYTES  ((size_t)8 << 20) /* larger than the caches of one core */
#define ROUNDS 3

static void *fresh_memory(void)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Returns the processor time of this thread. With wall time, a server started on a busy machine would take
 * its memory for slow from then on. */
static double used_s(void)
{
    struct timespec used = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static double copy_once(const void *from)
{
    void *to = fresh_memory(); /* fresh memory, because a datum's pages are fresh too */
    if (!to)
        return 0;
    const double begun_s = used_s();
    memcpy(to, from, BYTES);
    const double seconds = used_s() - begun_s;
    munmap(to, BYTES);
    return seconds > 0 ? (double)BYTES / seconds : 0;
}

double host_rate_measure(void)
{
    double best_bps = 0;
    void *from = fresh_memory();
    if (!from)
        return 0;
    memset(from, 1, BYTES);
    for (int i = 0; i < ROUNDS; i++)
        best_bps = fmax(best_bps, copy_once(from));
    munmap(from, BYTES);
    return best_bps;
}

/* ---- messages ---- */

#define MESSAGES    48
#define PATIENCE_US 100000 /* for one message */

/* Makes both ends of a connection over loopback. */
static bool connect_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const struct timeval patience = {.tv_usec = PATIENCE_US};
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[1] = -1;
    if (listener >= 0 && ends[0] >= 0 &&
        setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0 &&
        getsockname(listener, (struct sockaddr *)&address, &length) == 0 &&
        connect(ends[0], (struct sockaddr *)&address, sizeof address) == 0)
        ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (listener >= 0)
        close(listener);
    for (int i = 0; i < 2 && ends[i] >= 0; i++) {
        setsockopt(ends[i], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    return ends[1] >= 0;
}

/* Sends received bytes back, until the other end is closed or has been silent for long. */
static void *echo(void *end)
{
    char byte;
    while (recv(*(int *)end, &byte, 1, 0) == 1 && send(*(int *)end, &byte, 1, MSG_NOSIGNAL) == 1)
        ;
    return NULL;
}

static double least_trip_s(int end)
{
    int64_t least_ns = INT64_MAX;
    char byte = 0;
    for (int i = 0; i < MESSAGES; i++) {
        const int64_t begun_ns = clock_now_ns(&clock_system);
        if (send(end, &byte, 1, MSG_NOSIGNAL) != 1 || recv(end, &byte, 1, 0) != 1)
            break;
        const int64_t taken_ns = clock_now_ns(&clock_system) - begun_ns;
        least_ns = taken_ns < least_ns ? taken_ns : least_ns;
    }
    return least_ns == INT64_MAX ? 0 : (double)least_ns / 1e9;
}

double host_latency_measure(void)
{
    int ends[2];
    double seconds = 0;
    pthread_t thread;
    sigset_t all, before;
    const bool connected = connect_pair(ends);
    sigfillset(&all); /* signals are for the caller's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool echoes = connected && pthread_create(&thread, NULL, echo, &ends[1]) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (echoes) {
        seconds = least_trip_s(ends[0]) / 2;
        shutdown(ends[0], SHUT_RDWR);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return seconds;
}
