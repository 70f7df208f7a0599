/* SPDX-License-Identifier: Apache-2.0
 *
 * shifted_clock: a library to preload, by which a program sees the time of day so many seconds later as
 * $SHIFTED_CLOCK says (earlier, if that is negative), or as the file $SHIFTED_CLOCK_FILE says now: the
 * clock jumps when another number is written there. Clocks that do not show the time of day go on as they
 * are. Waits of conditions until a time of day end when the program sees it, because they would end at once,
 * over and over, in a program whose clock is behind.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t shift(void)
{
    const char *seconds = getenv("SHIFTED_CLOCK"), *path = getenv("SHIFTED_CLOCK_FILE");
    char text[32] = "";
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) > 0)
            seconds = text;
        close(fd);
    }
    return seconds ? (time_t)strtoll(seconds, NULL, 10) : 0;
}

static int real_clock(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    return real(clock, now);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int code = real_clock(clock, now);
    if (code == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += shift();
    return code;
}

time_t time(time_t *where)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where)
        *where = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    *now = (struct timeval){.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
    return 0;
}

/* No clock that starts with the machine gets so far. */
#define LEAST_TIME_OF_DAY 1000000000

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    typedef int wait_function(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    static wait_function *real;
    struct timespec then = *until;
    if (!real) /* not the one that programs of 2002 find */
        *(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    if (then.tv_sec >= LEAST_TIME_OF_DAY)
        then.tv_sec -= shift();
    return real(condition, mutex, &then);
}
