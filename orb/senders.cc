/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/senders.h"

extern "C" {
#include "util/clock.h"
}

#include <system_error>

Senders::~Senders()
{
    stop();
}

/* Call it with the mutex held. If no new thread can start, the present ones do the work; the very first
 * must start. */
void Senders::need_thread()
{
    if (idle >= ready.size() + (later.empty() ? 0 : 1) || threads.size() == MOST)
        return;
    try {
        threads.emplace_back([this] { run(); });
    } catch (const std::system_error &) {
        if (threads.empty())
            throw;
    }
}

void Senders::submit(std::function<void()> task)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (stopping)
        return;
    ready.push_back(std::move(task));
    need_thread();
    changed.notify_one();
}

void Senders::submit_at(int64_t time_ns, std::function<void()> task)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (stopping)
        return;
    bool first = later.empty() || time_ns < later.begin()->first;
    later.emplace(time_ns, std::move(task));
    if (threads.empty())
        need_thread();
    if (first)
        changed.notify_one();
}

/* Waits for a task; false when it is time to stop. */
bool Senders::take(std::unique_lock<std::mutex> &lock, std::function<void()> &task)
{
    for (;;) {
        if (stopping)
            return false;
        if (!later.empty() && later.begin()->first <= clock_now_ns(&clock_system)) {
            task = std::move(later.begin()->second);
            later.erase(later.begin());
            return true;
        }
        if (!ready.empty()) {
            task = std::move(ready.front());
            ready.pop_front();
            return true;
        }
        idle++;
        if (later.empty()) {
            changed.wait(lock);
        } else {
            std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(later.begin()->first)};
            changed.wait_until(lock, until);
        }
        idle--;
    }
}

void Senders::run()
{
    std::unique_lock<std::mutex> lock(mutex);
    std::function<void()> task;
    while (take(lock, task)) {
        if (!later.empty())
            changed.notify_one(); /* another one waits for the clock meanwhile */
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
    }
}

void Senders::stop()
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        stopping = true;
        ready.clear();
        later.clear();
        changed.notify_all();
    }
    for (std::thread &thread : threads)
        thread.join();
    threads.clear();
}
