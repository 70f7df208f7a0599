/* SPDX-License-Identifier: Apache-2.0
 *
 * The client side: references to entry objects by address, and invocations on them. */
#ifndef ORB_PEER_H
#define ORB_PEER_H

#include "orb/corba.h"
#include "orb/watchdog.h"
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace omni
{
class giopStream;
} // namespace omni

/* Most invocations to one address at a time, which is also the number of connections that the ORB may open
 * to it: further ones would wait inside the ORB without a deadline. */
constexpr unsigned CONNECTIONS_PER_SERVER = 64;

/* One address and the reference to its entry object. */
class Peer
{
  public:
    /* `places`: the resolved addresses (host_addresses()). */
    Peer(CORBA::ORB_ptr orb, const std::string &address, const std::vector<std::string> &places, bool tls,
         bool local, bool own_connection);

    const std::string address;
    const std::string place;           /* the first one, numeric */
    const unsigned alternatives;       /* how many the ORB may try one after the other */
    std::atomic<bool> answered{false}; /* it has answered once, so it speaks the same protocol */
    std::atomic<bool> near{false};     /* it may be able to access this process's memory (orb/reach.h) */
    omniObjRef *reference() const
    {
        return object->_PR_getobj();
    }
    /* Waits until one of the connections is free; false when the deadline passes before. */
    bool enter(int64_t deadline_ns);
    void leave();

  private:
    CORBA::Object_var object;
    std::mutex mutex;
    std::condition_variable free;
    unsigned busy = 0, waiting = 0;
};

/* The peers of a process. Any thread. */
class Peers
{
  public:
    /* `local`: by Unix sockets if there are any (orb/local.h). `own_connections`: share no connections
     * with other Peers. */
    Peers(CORBA::ORB_ptr orb, Watchdog *watchdog, int64_t connect_ns, bool tls, bool local,
          bool own_connections, bool guard_sigpipe);

    /* Resolves the host's name when the peer is new. NULL: its address is not known by `deadline_ns`, and
     * *why says so. */
    std::shared_ptr<Peer> find(const char *address, int64_t deadline_ns, std::string *why);
    /* Forgets a peer that failed: the next find() resolves its name again, and puts the host's other
     * addresses first. */
    void forget(const std::shared_ptr<Peer> &peer);
    void clear();

    Watchdog *const watchdog; /* borrowed */
    const int64_t connect_ns; /* most of an invocation's time for opening a connection */
    const bool tls;
    const bool local;
    const bool own_connections;
    const bool guard_sigpipe; /* this process has not ignored SIGPIPE, so our writes must not kill it */

  private:
    CORBA::ORB_ptr orb; /* borrowed */
    std::mutex mutex;
    std::unordered_map<std::string, std::shared_ptr<Peer>> peers;
    std::unordered_map<std::string, int64_t> failed; /* failed places, and when they failed */
};

/* An operation in progress: derived classes encode the arguments and decode the results. */
class Invocation : public omniCallDescriptor
{
  public:
    /* `silence_ns`: also the longest time without progress: no sent byte is acknowledged, and note_life()
     * is not called for received ones; 0: no limit. */
    Invocation(const char *operation, bool oneway, int64_t deadline_ns, int64_t silence_ns = 0);
    ~Invocation() override;

    /* Throws the ORB's exceptions; CORBA::TIMEOUT also when no connection became free. */
    void perform(const Peers &peers, Peer &peer);
    int64_t deadline() const
    {
        return deadline_ns;
    }

    void initialiseCall(cdrStream &stream) override;
    /* The connection that it waited for is open. */
    void connected(omni::giopStream &giop);
    /* Bytes have arrived. Called on the invocation's own thread. */
    void note_life();

  private:
    void limit(omni::giopStream &giop, int64_t most_ns);
    const int64_t deadline_ns; /* CLOCK_MONOTONIC */
    const int64_t silence_ns;
    Watchdog *watchdog = nullptr;
    int64_t connect_ns = 0;
    unsigned alternatives = 1;
    Watch watch;
    bool watched = false; /* the watchdog has been given it */
    unsigned attempts = 0;
};

/* Call it while the ORB runs: invocations are informed of the connections that the ORB opens for them. */
void peers_start();
void peers_stop();

/* Whether the address is on this host, by its text. */
bool address_is_loopback(const char *address);

/* transport_ops of the client side. */
enum esp_status orb_call(struct transport *transport, const char *address, const struct message *request,
                         int64_t timeout_ms, struct message *reply, struct esp_error *error);
enum esp_status orb_put(struct transport *transport, const char *address, const struct message *header,
                        const void *data, int64_t timeout_ms, int64_t silence_ms, struct esp_error *error);
enum esp_status orb_get(struct transport *transport, const char *address, struct message *header, void *data,
                        uint64_t *moved, int64_t timeout_ms, int64_t silence_ms, struct esp_error *error);

#endif
