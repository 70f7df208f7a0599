/* SPDX-License-Identifier: Apache-2.0
 *
 * Deadlines of invocations on open connections. The ORB's own deadlines add a poll() to each send and
 * receive and switch its sockets to non-blocking mode and back, a third of the time of a small call. Here
 * the call blocks, and one thread shuts down the connection of a call whose time is over. */
#ifndef ORB_WATCHDOG_H
#define ORB_WATCHDOG_H

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace omni
{
class giopStrand;
class giopConnection;
} // namespace omni

/* One invocation's deadline; its owner keeps it until it is removed. Times are of CLOCK_MONOTONIC. */
struct Watch {
    omni::giopStrand *strand = nullptr;
    omni::giopConnection *connection = nullptr;
    int64_t deadline_ns = 0; /* of the whole invocation */
    int64_t silence_ns = 0;  /* longest time without progress on its connection; 0: no limit */
    bool fired = false;      /* read it after remove() */

    /* Internal to the watchdog. */
    int64_t due_ns = 0, alive_ns = 0; /* when to check next; when something moved last */
    uint64_t taken = 0;               /* bytes acknowledged by the other side */
    Watch *previous = nullptr, *next = nullptr;
};

/* Any thread. */
class Watchdog
{
  public:
    Watchdog() = default;
    ~Watchdog();
    Watchdog(const Watchdog &) = delete;
    Watchdog &operator=(const Watchdog &) = delete;

    /* Starts watching: the connection is shut down at the deadline, or after silence: when the other side
     * has acknowledged nothing for that long (known for TCP only), and note_life() was not called. The
     * thread starts with the first watch; throws std::system_error when it cannot. */
    void add(Watch &watch);
    /* Bytes have arrived for a watch that was added. */
    void note_life(Watch &watch);
    /* Stops watching; ignored if it was not added. */
    void remove(Watch &watch);
    /* Shuts down the connections of all invocations in progress. */
    void cut();
    /* Call it before the ORB ends. */
    void stop();

  private:
    void start();
    void run();
    int64_t bark(int64_t now_ns);
    static bool is_due(Watch &watch, int64_t now_ns);

    std::mutex mutex;
    std::condition_variable changed;
    std::thread thread;
    bool stopping = false;
    Watch *watches = nullptr;
    int64_t wakes_ns = INT64_MIN; /* when the thread wakes up; INT64_MIN: it is awake */
};

#endif
