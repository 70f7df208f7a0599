/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/watchdog.h"
#include "orb/call.h"
#include "orb/corba.h"

extern "C" {
#include "util/clock.h"
}

#include <algorithm>
#include <chrono>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <omniORB4/giopEndpoint.h>
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/internal/giopStream.h>

#include <omniORB4/internal/giopRope.h>

#include <omniORB4/internal/GIOP_C.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

static const int LOOKS = 4; /* checks of the progress within the allowed silence */

Watchdog::~Watchdog()
{
    stop();
}

/* A client library's thread takes no signals of the program. With the mutex held. */
void Watchdog::start()
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread = std::thread([this] { run(); });
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/* Returns the bytes acknowledged by the other end's kernel; 0: not TCP, or not known. */
static uint64_t acknowledged(omni::giopConnection *connection)
{
    struct tcp_info info = {};
    socklen_t length = sizeof info;
    if (getsockopt(connection_descriptor(connection), IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return 0;
    return info.tcpi_bytes_acked;
}

/* Returns when to check it next, if nothing moves until then: often enough to notice soon that it has
 * stopped. */
static int64_t next_look_ns(const Watch &watch, int64_t now_ns)
{
    if (watch.silence_ns <= 0)
        return watch.deadline_ns;
    const int64_t look_ns = now_ns + watch.silence_ns / LOOKS, silent_ns = watch.alive_ns + watch.silence_ns;
    return std::min(watch.deadline_ns, std::min(look_ns, silent_ns));
}

void Watchdog::add(Watch &watch)
{
    if (watch.silence_ns > 0) {
        watch.alive_ns = clock_now_ns(&clock_system);
        watch.taken = acknowledged(watch.connection);
    }
    watch.due_ns = next_look_ns(watch, watch.alive_ns);
    std::lock_guard<std::mutex> lock(mutex);
    if (!thread.joinable())
        start();
    watch.previous = nullptr;
    watch.next = watches;
    if (watches)
        watches->previous = &watch;
    watches = &watch;
    if (watch.due_ns < wakes_ns)
        changed.notify_one();
}

void Watchdog::note_life(Watch &watch)
{
    std::lock_guard<std::mutex> lock(mutex);
    watch.alive_ns = clock_now_ns(&clock_system);
}

void Watchdog::remove(Watch &watch)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (watch.previous)
        watch.previous->next = watch.next;
    else if (watches == &watch)
        watches = watch.next;
    else
        return;
    if (watch.next)
        watch.next->previous = watch.previous;
    watch.previous = watch.next = nullptr;
}

/* The ORB may have ended the connection already, and its memory may be reused: only one that is still
 * listed is accessed. */
template <typename Act>
static void with_connection(const Watch &watch, Act act)
{
    omni_tracedmutex_lock lock(*omni::omniTransportLock);
    for (omni::StrandList *p = omni::giopStrand::active.next; p != &omni::giopStrand::active; p = p->next)
        if (p == watch.strand && watch.strand->connection == watch.connection) {
            act(watch.connection);
            return;
        }
}

static void shut_down(const Watch &watch)
{
    with_connection(watch, [](omni::giopConnection *connection) { connection->Shutdown(); });
}

/* False: there is time until due_ns. */
bool Watchdog::is_due(Watch &watch, int64_t now_ns)
{
    if (watch.due_ns > now_ns)
        return false;
    if (watch.silence_ns <= 0 || watch.deadline_ns <= now_ns)
        return true;
    uint64_t taken = watch.taken;
    with_connection(watch, [&taken](omni::giopConnection *connection) { taken = acknowledged(connection); });
    if (taken != watch.taken)
        watch.alive_ns = now_ns;
    watch.taken = taken;
    watch.due_ns = next_look_ns(watch, now_ns);
    return watch.due_ns <= now_ns;
}

/* Shuts down what is due; returns when to check again. With the mutex held, so that no invocation ends
 * meanwhile and leaves its connection to another. */
int64_t Watchdog::bark(int64_t now_ns)
{
    int64_t next_ns = CLOCK_NEVER;
    for (Watch *watch = watches; watch; watch = watch->next) {
        if (!watch->fired && is_due(*watch, now_ns)) {
            watch->fired = true;
            shut_down(*watch);
        } else if (!watch->fired && watch->due_ns < next_ns) {
            next_ns = watch->due_ns;
        }
    }
    return next_ns;
}

/* Shuts down connections being opened, too: they are not watched, but are listed once they are open. */
static void shut_down_busy()
{
    omni_tracedmutex_lock lock(*omni::omniTransportLock);
    for (omni::StrandList *p = omni::giopStrand::active.next; p != &omni::giopStrand::active; p = p->next) {
        auto *strand = static_cast<omni::giopStrand *>(p);
        bool busy = false;
        for (auto *at = strand->clients.next; at != &strand->clients; at = at->next)
            busy |= static_cast<omni::GIOP_C *>(at)->state() != omni::IOP_C::UnUsed;
        if (busy && strand->connection)
            strand->connection->Shutdown();
    }
}

void Watchdog::cut()
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        for (Watch *watch = watches; watch; watch = watch->next) {
            if (!watch->fired)
                shut_down(*watch);
            watch->fired = true;
        }
    }
    shut_down_busy();
}

/* Calls that end in time do not wake it: at most it checks once more than needed. */
void Watchdog::run()
{
    std::unique_lock<std::mutex> lock(mutex);
    while (!stopping) {
        wakes_ns = bark(clock_now_ns(&clock_system));
        if (wakes_ns == CLOCK_NEVER)
            changed.wait(lock);
        else
            changed.wait_until(lock,
                               std::chrono::steady_clock::time_point{std::chrono::nanoseconds(wakes_ns)});
        wakes_ns = INT64_MIN;
    }
}

void Watchdog::stop()
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        stopping = true;
        changed.notify_all();
    }
    if (thread.joinable())
        thread.join();
}
