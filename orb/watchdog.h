/* SPDX-License-Identifier: Apache-2.0
 *
 * Deadlines of invocations on connections that stand. The ORB's own make each of its sends and receives wait
 * in a poll() first and take its sockets into and out of non-blocking mode, which costs a small call a third
 * of its time. Here the call blocks, and one thread shuts down the connection of a call whose time is over.
 */
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
    int64_t deadline_ns = 0; /* of all of it */
    int64_t silence_ns = 0;  /* that nothing may move on its connection for; 0: that does not matter */
    bool fired = false;      /* read it after remove() */

    /* The watchdog's own. */
    int64_t due_ns = 0, alive_ns = 0; /* when to look next; when something moved last */
    uint64_t taken = 0;               /* bytes that the other side has acknowledged */
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

    /* From now on the connection is shut down at the deadline, or after silence: when the other side has
     * acknowledged nothing more for so long (TCP alone tells), and note_life() was not called. The thread
     * starts with the first; throws std::system_error when it cannot. */
    void add(Watch &watch);
    /* Something has come, for one that has been added. */
    void note_life(Watch &watch);
    /* Afterwards it is not looked at any more. One that was not added is left alone. */
    void remove(Watch &watch);
    /* Shuts down the connections of all invocations that are under way. */
    void cut();
    /* Before the ORB goes. */
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
    int64_t wakes_ns = INT64_MIN; /* when the thread looks by itself; INT64_MIN: it is awake */
};

#endif
