/* SPDX-License-Identifier: Apache-2.0
 *
 * One-way messages on their way out of an endpoint.
 *
 * Messages posted to an address while a post to it is being sent are combined into one later `post`. At
 * most one thread sends to an address at a time, so messages arrive in order. The thread that posted sends
 * by itself when the connection is known to work; connecting, and large posts, are left to the pool.
 *
 * A one-way invocation does not report that the other side has died: data written to a broken connection
 * are lost without an error. Therefore the first post to an address, and an empty one shortly after each
 * burst, are sent as invocations with a reply, so that a loss is known within CONFIRM_NS and the time of a
 * round trip. */
#ifndef ORB_OUTBOX_H
#define ORB_OUTBOX_H

#include "orb/corba.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

struct Endpoint;
struct Target;

class Outbox
{
  public:
    explicit Outbox(Endpoint &of) : endpoint(of)
    {
    }

    /* Call it with the endpoint's lock held. */
    enum esp_status post(const char *address, uint64_t to_incarnation, const struct message *message,
                         struct esp_error *error);
    /* With the endpoint's lock held: while on, receivers of posts may be gone, so posts have a reply. */
    void doubt(bool on)
    {
        doubtful = on;
    }
    /* With the endpoint's lock held: returns the targets with posts since the last call. */
    std::vector<std::shared_ptr<Target>> take_dirty();
    /* Without the lock. */
    void send(const std::vector<std::shared_ptr<Target>> &targets);
    /* Waits until everything is sent, at most until that time. Without the lock. */
    void drain(int64_t until_ns);

  private:
    std::shared_ptr<Target> find(const char *address);
    void purge();
    void send_queue(const std::shared_ptr<Target> &target, bool inline_sender);
    void hand_to_pool(const std::shared_ptr<Target> &target);
    void sent(const std::shared_ptr<Target> &target, bool confirmed);
    void failed(const std::shared_ptr<Target> &target, const struct esp_error &why);
    void confirm_later(const std::shared_ptr<Target> &target);
    void confirm(const std::shared_ptr<Target> &target);
    enum esp_status transmit(Target &target, const struct batch &batch, bool oneway, struct esp_error *why);

    Endpoint &endpoint;
    std::unordered_map<std::string, std::shared_ptr<Target>> targets;
    std::vector<std::shared_ptr<Target>> dirty;
    bool doubtful = false;
    size_t purge_at = 4096;
};

#endif
