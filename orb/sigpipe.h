/* SPDX-License-Identifier: Apache-2.0
 *
 * Protects the program from SIGPIPE when the library writes to a broken connection. */
#ifndef ORB_SIGPIPE_H
#define ORB_SIGPIPE_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

/* If the program has not ignored SIGPIPE, a write to a broken connection would kill it. The signal goes to
 * the writing thread: it is blocked there while this object exists, and a pending one is removed. */
class SigpipeGuard
{
  public:
    explicit SigpipeGuard(bool on) : active(on)
    {
        if (!active)
            return;
        sigemptyset(&sigpipe);
        sigaddset(&sigpipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &sigpipe, &before);
        if (!sigismember(&before, SIGPIPE))
            return;
        /* The program blocks the signal itself: one that is already pending is the program's. */
        sigset_t pending;
        sigpending(&pending);
        active = !sigismember(&pending, SIGPIPE);
    }
    ~SigpipeGuard()
    {
        if (!active)
            return;
        const struct timespec at_once = {0, 0};
        while (broken && sigtimedwait(&sigpipe, nullptr, &at_once) == -1 && errno == EINTR)
            ;
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    bool broken = true; /* a write may have failed */

  private:
    bool active;
    sigset_t sigpipe, before;
};

#endif
