/* SPDX-License-Identifier: Apache-2.0
 *
 * The structs behind core/transport.h's handles, and their owners.
 *
 *   OrbTransport   the ORB; one per process at a time
 *     Peers        references to other nodes, for calls and posts
 *     Senders      threads for sending that may take long
 *     Endpoint     one per served address: the node's operations under one mutex
 *       Outbox     posted messages, per address
 *       OrbCall    requests that wait for their answer, each with the thread that received it */
#ifndef ORB_TRANSPORT_H
#define ORB_TRANSPORT_H

#include "orb/outbox.h"
#include "orb/peer.h"
#include "orb/senders.h"

#include <atomic>
#include <set>
#include <thread>

namespace omni
{
class giopServer;
class giopConnection;
} // namespace omni

struct Endpoint;

/* A request that the node has. It lies on the stack of the thread that received it. */
struct OrbCall : ::call {
    OrbCall();
    ~OrbCall();

    struct message request;
    struct envelope envelope;

    std::mutex mutex; /* guards the following members; locked inside the endpoint's */
    std::condition_variable changed;
    std::atomic<bool> answered{false};
    struct message *reply = nullptr;
    bool (*help)(void *arg, int64_t until_ns) = nullptr;
    void *help_arg = nullptr;

    void answer(struct message *with);
};

struct OrbTransport : ::transport {
    CORBA::ORB_var orb;
    size_t message_bytes = 0;
    bool tls = false, local = false, insecure = false, client_only = false;
    int references = 0; /* to the ORB when this transport started it; 0: the ORB is the program's */
    Watchdog watchdog;
    std::unique_ptr<Peers> peers; /* for asking */
    std::unique_ptr<Peers> posts; /* on their own connections, so that no call overtakes a post */
    Senders senders;

    std::mutex mutex;
    std::unordered_map<unsigned, std::shared_ptr<Endpoint>> endpoints; /* by port */
    bool entry_active = false;

    std::shared_ptr<Endpoint> find(unsigned port);
};

/* One served address. `mutex` is the endpoint's lock of core/transport.h. */
struct Endpoint : std::enable_shared_from_this<Endpoint> {
    Endpoint(OrbTransport &transport, const struct endpoint_options &options, const struct endpoint_ops &ops,
             void *self);

    /* The C handle: a pointer to a standard-layout struct that leads back here. */
    struct Handle : ::endpoint {
        Endpoint *home;
    } handle;

    OrbTransport &transport;
    const struct endpoint_ops &ops;
    void *const self;
    const std::string name;
    const uint64_t incarnation;
    std::string address;
    unsigned port = 0;
    omni::giopServer *server = nullptr;
    std::string local_path; /* of its Unix socket; "": none */

    std::mutex mutex;
    bool closing = false;
    std::set<OrbCall *> calls;
    Outbox outbox;
    unsigned dispatches = 0; /* number of come_in() without go_out() */
    std::condition_variable idle;

    /* Without the lock: the endpoint does not close until go_out(). False: it is closing already. */
    bool come_in();
    void go_out();
    /* With the lock held, after every operation: asks when the next tick is due. */
    void after_operation();
    /* Without the lock: sends posted messages. */
    void flush();
    /* Without the lock: reports to the node. */
    void undelivered(const std::string &address, const struct esp_error &why);

    void start_timer();
    void close();

  private:
    void run_timer();
    void answer_all();

    std::thread timer;
    std::condition_variable timer_changed;
    int64_t next_due = CLOCK_NEVER;  /* the node's last answer */
    int64_t timer_wakes = INT64_MIN; /* when the timer's thread wakes up; INT64_MIN: it is awake */
};

static inline Endpoint &endpoint_of(struct endpoint *endpoint)
{
    return *static_cast<Endpoint::Handle *>(endpoint)->home;
}

#endif
