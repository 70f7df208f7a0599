/* SPDX-License-Identifier: Apache-2.0
 *
 * An endpoint: calls the node's operations one at a time, and has the thread for ticks. */
#include "orb/transport.h"

#include <chrono>

/* How long a closing endpoint waits until posts are sent. */
static const int64_t DRAIN_NS = 2 * NS_PER_S;

Endpoint::Endpoint(OrbTransport &of, const struct endpoint_options &options, const struct endpoint_ops &with,
                   void *node)
    : transport(of), ops(with), self(node), name(options.name), incarnation(options.incarnation),
      outbox(*this)
{
    handle.transport = &of;
    handle.home = this;
}

bool Endpoint::come_in()
{
    std::lock_guard<std::mutex> lock(mutex);
    if (!closing)
        dispatches++;
    return !closing;
}

void Endpoint::go_out()
{
    std::lock_guard<std::mutex> lock(mutex);
    if (--dispatches == 0 && closing)
        idle.notify_all();
}

void Endpoint::after_operation()
{
    next_due = ops.due && !closing ? ops.due(self) : CLOCK_NEVER;
    if (next_due < timer_wakes)
        timer_changed.notify_one();
}

void Endpoint::flush()
{
    std::vector<std::shared_ptr<Target>> targets;
    {
        std::lock_guard<std::mutex> lock(mutex);
        targets = outbox.take_dirty();
    }
    if (!targets.empty())
        outbox.send(targets);
}

void Endpoint::undelivered(const std::string &address_of_target, const struct esp_error &why)
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        if (closing || !ops.undelivered)
            return;
        ops.undelivered(self, address_of_target.c_str(), &why);
        after_operation();
    }
    flush();
}

void Endpoint::start_timer()
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        after_operation();
    }
    timer = std::thread([this] { run_timer(); });
}

void Endpoint::run_timer()
{
    std::unique_lock<std::mutex> lock(mutex);
    while (!closing) {
        if (next_due == CLOCK_NEVER || next_due > clock_now_ns(transport.clock)) {
            timer_wakes = next_due;
            if (next_due == CLOCK_NEVER)
                timer_changed.wait(lock);
            else
                timer_changed.wait_until(
                    lock, std::chrono::steady_clock::time_point{std::chrono::nanoseconds(next_due)});
            timer_wakes = INT64_MIN;
            continue;
        }
        if (ops.tick)
            ops.tick(self);
        after_operation();
        lock.unlock();
        flush();
        lock.lock();
    }
}

/* Call it with the lock held: the node forgets all calls, and the callers learn that no node serves here
 * any more. */
void Endpoint::answer_all()
{
    while (!calls.empty()) {
        OrbCall *call = *calls.begin();
        calls.erase(calls.begin());
        if (ops.abandoned)
            ops.abandoned(self, call);
        call->answer(message_failure(message_reply_kind(call->request.kind), ESP_UNREACHABLE,
                                     "%s stops serving", name.c_str()));
    }
}

void Endpoint::close()
{
    {
        std::unique_lock<std::mutex> lock(mutex);
        answer_all();
        closing = true; /* from now on no request is accepted */
        timer_changed.notify_all();
        idle.wait(lock, [this] { return dispatches == 0; });
    }
    if (timer.joinable())
        timer.join();
    flush();
    outbox.drain(clock_now_ns(&clock_system) + DRAIN_NS);
}
