/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/outbox.h"
#include "orb/failure.h"
#include "orb/refusal.h"
#include "orb/transport.h"

#include <chrono>

/* Most bytes waiting for one address; beyond, all of them are dropped. */
static const size_t MOST_QUEUED = 2 * (size_t)MESSAGE_BYTES;
/* Longer posts are sent by the pool, because they may fill the socket's buffer and block. */
static const size_t MOST_INLINE = 64 * 1024;
/* A thread that posted sends at most this many posts of other threads before the pool continues. */
static const int MOST_IN_A_ROW = 4;
static const int64_t SEND_NS = 2 * NS_PER_S;
static const int64_t SEND_INLINE_NS = NS_PER_S / 2;
static const int64_t CONFIRM_NS = NS_PER_S / 10;
/* A confirmation waits while its receiver is working. */
static const int64_t CONFIRM_PATIENCE_NS = 5 * NS_PER_S;
/* The idle scans of both sides keep a connection for longer than this. */
static const int64_t WARM_NS = 45 * NS_PER_S;

/* A waiting post. */
struct Waiting {
    struct batch batch;

    Waiting() : batch()
    {
    }
    ~Waiting()
    {
        batch_release(&batch);
    }
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;
};

/* The queue for one address. */
struct Target {
    explicit Target(const char *at) : address(at)
    {
    }

    const std::string address;
    bool dirty = false; /* under the endpoint's lock */

    std::mutex mutex; /* guards the following members; locked inside the endpoint's lock */
    std::deque<std::unique_ptr<Waiting>> queue;
    size_t bytes = 0; /* queued */
    bool overflow = false;
    bool sending = false; /* a thread, or a task of the pool, is sending the queue */
    std::condition_variable idle;
    int64_t last_sent_ns = INT64_MIN; /* INT64_MIN: not known to work */
    bool confirm_planned = false;
    bool unconfirmed = false;
    uint64_t to_incarnation = 0; /* of the last post */

    bool warm() const
    {
        return last_sent_ns != INT64_MIN && clock_now_ns(&clock_system) - last_sent_ns < WARM_NS;
    }
};

namespace
{

class Posting : public Invocation
{
  public:
    Posting(const struct batch &what, bool oneway, int64_t deadline_ns)
        : Invocation("post", oneway, deadline_ns), batch(what)
    {
    }
    void marshalArguments(cdrStream &stream) override
    {
        stream.put_octet_array(batch.memory.data, (int)batch.memory.size, omni::ALIGN_8);
    }

  private:
    const struct batch &batch;
};

} // namespace

/* ---- filling, under the endpoint's lock ---- */

/* Removes idle addresses: nodes come and go, and an address can be added again. */
void Outbox::purge()
{
    for (auto it = targets.begin(); it != targets.end();) {
        Target &target = *it->second;
        std::unique_lock<std::mutex> lock(target.mutex);
        bool keep = target.dirty || target.sending || target.confirm_planned || !target.queue.empty() ||
                    target.warm();
        lock.unlock();
        it = keep ? std::next(it) : targets.erase(it);
    }
    purge_at = 2 * targets.size() + 4096;
}

std::shared_ptr<Target> Outbox::find(const char *address)
{
    auto known = targets.find(address);
    if (known != targets.end())
        return known->second;
    if (targets.size() >= purge_at)
        purge();
    return targets.emplace(address, std::make_shared<Target>(address)).first->second;
}

static enum esp_status append(Endpoint &endpoint, Target &target, uint64_t to_incarnation,
                              const struct message *message, struct esp_error *error)
{
    if (!target.queue.empty() && target.queue.back()->batch.to_incarnation == to_incarnation) {
        struct batch &last = target.queue.back()->batch;
        size_t before = last.memory.size;
        enum esp_status status = batch_add(&last, message, error);
        target.bytes += last.memory.size - before;
        if (status != ESP_LIMIT)
            return status;
    }
    auto fresh = std::make_unique<Waiting>();
    struct envelope envelope = {endpoint.name.c_str(), endpoint.incarnation, to_incarnation, "", ""};
    enum esp_status status = batch_begin(&fresh->batch, &envelope, endpoint.transport.message_bytes, error);
    if (status == ESP_OK)
        status = batch_add(&fresh->batch, message, error);
    if (status != ESP_OK)
        return status;
    target.bytes += fresh->batch.memory.size;
    target.to_incarnation = to_incarnation;
    target.queue.push_back(std::move(fresh));
    return ESP_OK;
}

enum esp_status Outbox::post(const char *address, uint64_t to_incarnation, const struct message *message,
                             struct esp_error *error)
{
    try {
        std::shared_ptr<Target> target = find(address);
        std::lock_guard<std::mutex> lock(target->mutex);
        if (doubtful)
            target->last_sent_ns = INT64_MIN;
        enum esp_status status = append(endpoint, *target, to_incarnation, message, error);
        if (target->bytes > MOST_QUEUED) {
            target->queue.clear();
            target->bytes = 0;
            target->overflow = true;
        }
        if (!target->dirty) {
            dirty.push_back(target);
            target->dirty = true;
        }
        return status;
    } catch (...) {
        return orb_failure("post", address, error);
    }
}

std::vector<std::shared_ptr<Target>> Outbox::take_dirty()
{
    for (const std::shared_ptr<Target> &target : dirty)
        target->dirty = false;
    std::vector<std::shared_ptr<Target>> taken;
    taken.swap(dirty);
    return taken;
}

/* ---- sending, without it ---- */

enum esp_status Outbox::transmit(Target &target, const struct batch &batch, bool oneway,
                                 struct esp_error *why)
{
    Peers &peers = *endpoint.transport.posts;
    std::shared_ptr<Peer> peer;
    std::string unknown;
    try {
        int64_t patience = oneway ? SEND_INLINE_NS : batch.count ? SEND_NS : CONFIRM_PATIENCE_NS;
        Posting posting(batch, oneway, clock_now_ns(&clock_system) + patience);
        peer = peers.find(target.address.c_str(), posting.deadline(), &unknown);
        if (!peer) {
            refusal_log(target.address.c_str(), unknown.c_str());
            return error_set(why, ESP_UNREACHABLE, "%s: post: %s", target.address.c_str(), unknown.c_str());
        }
        posting.perform(peers, *peer);
        return ESP_OK;
    } catch (...) {
        enum esp_status status = orb_failure(nullptr, nullptr, why);
        if (peer) {
            peers.forget(peer);
            status = refusal_explain(target.address.c_str(), "post", status, why);
        }
        return status;
    }
}

void Outbox::sent(const std::shared_ptr<Target> &target, bool confirmed)
{
    std::unique_lock<std::mutex> lock(target->mutex);
    target->last_sent_ns = clock_now_ns(&clock_system);
    target->unconfirmed = !confirmed;
    bool plan = target->unconfirmed && !target->confirm_planned;
    target->confirm_planned |= plan;
    lock.unlock();
    if (plan)
        confirm_later(target);
}

/* Drops everything that waits: without the failed post, later ones would arrive out of order. */
void Outbox::failed(const std::shared_ptr<Target> &target, const struct esp_error &why)
{
    {
        std::lock_guard<std::mutex> lock(target->mutex);
        target->queue.clear();
        target->bytes = 0;
        target->last_sent_ns = INT64_MIN;
        target->unconfirmed = false;
        target->sending = false;
        target->idle.notify_all();
    }
    endpoint.undelivered(target->address, why);
}

/* Sends a queue that has been marked as `sending` until it is empty. */
void Outbox::send_queue(const std::shared_ptr<Target> &target, bool inline_sender)
{
    for (int n = 0;; n++) {
        std::unique_lock<std::mutex> lock(target->mutex);
        if (target->queue.empty()) {
            target->sending = false;
            target->idle.notify_all();
            return;
        }
        bool oneway = target->warm();
        bool small = target->queue.front()->batch.memory.size <= MOST_INLINE;
        if (inline_sender && (!oneway || !small || n == MOST_IN_A_ROW)) {
            lock.unlock();
            hand_to_pool(target);
            return;
        }
        std::unique_ptr<Waiting> next = std::move(target->queue.front());
        target->queue.pop_front();
        target->bytes -= next->batch.memory.size;
        lock.unlock();
        oneway = oneway && small; /* large posts get the longer patience, too */
        struct esp_error why;
        if (transmit(*target, next->batch, oneway, &why) != ESP_OK) {
            failed(target, why);
            return;
        }
        sent(target, !oneway);
    }
}

void Outbox::hand_to_pool(const std::shared_ptr<Target> &target)
{
    try {
        std::shared_ptr<Endpoint> home = endpoint.shared_from_this();
        endpoint.transport.senders.submit([home, target] { home->outbox.send_queue(target, false); });
    } catch (...) {
        struct esp_error why;
        orb_failure(nullptr, nullptr, &why);
        failed(target, why);
    }
}

void Outbox::send(const std::vector<std::shared_ptr<Target>> &marked)
{
    for (const std::shared_ptr<Target> &target : marked) {
        std::unique_lock<std::mutex> lock(target->mutex);
        bool overflow = target->overflow;
        target->overflow = false;
        bool mine = !target->sending && !target->queue.empty();
        target->sending |= mine;
        lock.unlock();
        if (mine)
            send_queue(target, true);
        if (overflow) {
            struct esp_error why;
            error_set(&why, ESP_LIMIT, "more than %zu bytes wait for it", MOST_QUEUED);
            endpoint.undelivered(target->address, why);
        }
    }
}

void Outbox::confirm_later(const std::shared_ptr<Target> &target)
{
    try {
        std::shared_ptr<Endpoint> home = endpoint.shared_from_this();
        endpoint.transport.senders.submit_at(clock_now_ns(&clock_system) + CONFIRM_NS,
                                             [home, target] { home->outbox.confirm(target); });
    } catch (...) {
        std::lock_guard<std::mutex> lock(target->mutex);
        target->confirm_planned = false; /* the next post plans another */
    }
}

void Outbox::confirm(const std::shared_ptr<Target> &target)
{
    uint64_t to_incarnation;
    {
        std::unique_lock<std::mutex> lock(target->mutex);
        target->confirm_planned = false;
        if (!target->unconfirmed)
            return;
        if (target->sending) { /* busy: confirm later, when it is quiet */
            target->confirm_planned = true;
            lock.unlock();
            confirm_later(target);
            return;
        }
        target->sending = true;
        to_incarnation = target->to_incarnation;
    }
    struct batch empty;
    struct envelope envelope = {endpoint.name.c_str(), endpoint.incarnation, to_incarnation, "", ""};
    struct esp_error why;
    enum esp_status status = batch_begin(&empty, &envelope, MESSAGE_BYTES, &why);
    if (status == ESP_OK)
        status = transmit(*target, empty, false, &why);
    batch_release(&empty);
    if (status != ESP_OK) {
        failed(target, why);
        return;
    }
    sent(target, true);
    send_queue(target, false);
}

void Outbox::drain(int64_t until_ns)
{
    std::vector<std::shared_ptr<Target>> all;
    {
        std::lock_guard<std::mutex> lock(endpoint.mutex);
        for (auto &entry : targets)
            all.push_back(entry.second);
    }
    std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(until_ns)};
    for (const std::shared_ptr<Target> &target : all) {
        std::unique_lock<std::mutex> lock(target->mutex);
        target->idle.wait_until(lock, until, [&] { return !target->sending && target->queue.empty(); });
    }
}
