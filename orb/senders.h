/* SPDX-License-Identifier: Apache-2.0
 *
 * A small pool of threads for sending that may take long (connecting to a host that is down), and for
 * delayed tasks. Threads are started on demand. */
#ifndef ORB_SENDERS_H
#define ORB_SENDERS_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

class Senders
{
  public:
    ~Senders();

    /* Runs the task on one of the threads, as soon as one is free. Throws when it cannot be queued. */
    void submit(std::function<void()> task);
    /* Like submit(), not before `time_ns` (CLOCK_MONOTONIC). */
    void submit_at(int64_t time_ns, std::function<void()> task);
    /* Drops tasks that have not begun and waits for the others. */
    void stop();

  private:
    static const unsigned MOST = 16;

    void run();
    void need_thread();
    bool take(std::unique_lock<std::mutex> &lock, std::function<void()> &task);

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> ready;
    std::multimap<int64_t, std::function<void()>> later;
    std::vector<std::thread> threads;
    unsigned idle = 0;
    bool stopping = false;
};

#endif
