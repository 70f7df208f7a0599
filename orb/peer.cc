/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/peer.h"
#include "orb/call.h"
#include "orb/host_names.h"
#include "orb/local.h"
#include "orb/refusal.h"
#include "orb/sigpipe.h"

#include <algorithm>
#include <chrono>
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/internal/giopStream.h>

#include <omniORB4/internal/giopRope.h>

#include <omniORB4/internal/GIOP_C.h>
#include <omniORB4/omniInterceptors.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* A reference takes a few hundred bytes: a process that has used more addresses than this forgets them. */
static const size_t MOST_PEERS = 16384;

/* How long an address of a host that failed is tried after the others. */
static const int64_t FAILED_NS = 60 * NS_PER_S;

bool address_is_loopback(const char *address)
{
    return !strncmp(address, "127.", 4) || !strncmp(address, "localhost:", 10) ||
           !strncmp(address, "[::1]:", 6);
}

/* The kernel drops a connection when nothing sent on it has been acknowledged for this time, as on a path
 * that loses large packets. It is longer than the time for which a machine may be disconnected without its
 * calls noticing (half a minute). */
static const unsigned UNACKNOWLEDGED_MS = 60000;

/* The ORB shares connections between equal lists of addresses: listing the addresses twice makes a
 * different list. */
Peer::Peer(CORBA::ORB_ptr orb, const std::string &at, const std::vector<std::string> &places, bool tls,
           bool local, bool own_connection)
    : address(at), place(places.front()), alternatives((unsigned)places.size())
{
    std::string all;
    for (const std::string &one : places)
        all += (all.empty() ? "" : ",") + std::string(tls ? "ssliop:" : "iiop:") + "1.2@" + one;
    const std::string path = local ? local_asking_path(at) : "";
    near = !path.empty();
    if (near)
        all = "omniunix:" + path + ":," + all;
    std::string uri = "corbaloc:" + all + (own_connection ? "," + all : "") + "/" ENTRY_KEY;
    object = orb->string_to_object(uri.c_str());
}

bool Peer::enter(int64_t deadline_ns)
{
    std::unique_lock<std::mutex> lock(mutex);
    std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline_ns)};
    waiting++;
    bool got = free.wait_until(lock, until, [this] { return busy < CONNECTIONS_PER_SERVER; });
    waiting--;
    if (got)
        busy++;
    return got;
}

void Peer::leave()
{
    std::lock_guard<std::mutex> lock(mutex);
    busy--;
    if (waiting)
        free.notify_one();
}

Peers::Peers(CORBA::ORB_ptr from, Watchdog *dog, int64_t connect, bool with_tls, bool locally, bool own,
             bool guard)
    : watchdog(dog), connect_ns(connect), tls(with_tls), local(locally), own_connections(own),
      guard_sigpipe(guard), orb(from)
{
}

std::shared_ptr<Peer> Peers::find(const char *address, int64_t deadline_ns, std::string *why)
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        auto known = peers.find(address);
        if (known != peers.end())
            return known->second;
    }
    std::vector<std::string> places = host_addresses(address, deadline_ns, why);
    if (places.empty())
        return nullptr;
    std::lock_guard<std::mutex> lock(mutex);
    auto known = peers.find(address);
    if (known != peers.end())
        return known->second;
    const int64_t now_ns = clock_now_ns(&clock_system);
    std::stable_partition(places.begin(), places.end(), [&](const std::string &place) {
        auto at = failed.find(place);
        return at == failed.end() || now_ns - at->second > FAILED_NS;
    });
    if (peers.size() >= MOST_PEERS)
        peers.clear();
    auto peer = std::make_shared<Peer>(orb, address, places, tls, local, own_connections);
    peers.emplace(address, peer);
    return peer;
}

void Peers::forget(const std::shared_ptr<Peer> &peer)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (peer->alternatives > 1) {
        if (failed.size() >= MOST_PEERS)
            failed.clear();
        failed[peer->place] = clock_now_ns(&clock_system);
    }
    auto known = peers.find(peer->address);
    if (known != peers.end() && known->second == peer)
        peers.erase(known);
}

void Peers::clear()
{
    std::lock_guard<std::mutex> lock(mutex);
    peers.clear();
}

namespace
{

class Turn
{
  public:
    explicit Turn(Peer &of) : peer(of)
    {
    }
    ~Turn()
    {
        peer.leave();
    }

  private:
    Peer &peer;
};

/* The invocation of this thread, while the ORB may open a connection for it. */
thread_local Invocation *connecting;

class Connecting
{
  public:
    explicit Connecting(Invocation *invocation)
    {
        connecting = invocation;
    }
    ~Connecting()
    {
        connecting = nullptr;
    }
};

} // namespace

Invocation::Invocation(const char *operation, bool oneway, int64_t deadline, int64_t silence)
    : omniCallDescriptor(nullptr, operation, strlen(operation) + 1, oneway, nullptr, 0, false),
      deadline_ns(deadline), silence_ns(silence)
{
}

Invocation::~Invocation()
{
    if (watched)
        watchdog->remove(watch);
}

/* Uses the ORB's own time-out, because the watchdog cannot shut down a connection that is not open yet. */
void Invocation::limit(omni::giopStream &giop, int64_t most_ns)
{
    const int64_t left =
        std::max(std::min(deadline_ns - clock_now_ns(&clock_system), most_ns), (int64_t)1000);
    omni_time_t relative((unsigned long)(left / NS_PER_S), (unsigned long)(left % NS_PER_S)), absolute;
    omni_thread::get_time(absolute, relative);
    giop.setDeadline(absolute);
}

void Invocation::note_life()
{
    if (watched && silence_ns > 0)
        watchdog->note_life(watch);
}

void Invocation::connected(omni::giopStream &giop)
{
    if (deadline_ns - clock_now_ns(&clock_system) < 1000 || !watchdog) {
        limit(giop, INT64_MAX);
        return;
    }
    giop.clearDeadline();
    watch.strand = &giop.strand();
    watch.connection = giop.strand().connection;
    watch.deadline_ns = deadline_ns;
    watch.silence_ns = silence_ns;
    watchdog->add(watch);
    watched = true;
}

/* The ORB has time-outs per object, thread or process; here one invocation's own can be set. (The
 * process's time-out for connecting would become that of the whole invocation, if it is longer.) */
void Invocation::initialiseCall(cdrStream &stream)
{
    omni::giopStream *giop = omni::giopStream::downcast(&stream);
    attempts++;
    if (watched)
        watchdog->remove(watch);
    watched = false;
    /* The ORB takes a connection shut down by the watchdog for a broken one, and would try again. */
    if (watch.fired)
        throw CORBA::TIMEOUT(0, CORBA::COMPLETED_MAYBE);
    if (!giop)
        return;
    if (giop->strand().connection) {
        connected(*giop);
        return;
    }
    /* Each address of the host gets a part of the time. */
    const int64_t left = deadline_ns - clock_now_ns(&clock_system);
    const unsigned untried = attempts <= alternatives ? alternatives - attempts + 1 : 1;
    limit(*giop, std::min(connect_ns, left / untried));
}

static CORBA::Boolean open_connection(omni::omniInterceptors::clientOpenConnection_T::info_T &info)
{
    setsockopt(connection_descriptor(info.giop_c.strand().connection), IPPROTO_TCP, TCP_USER_TIMEOUT,
               &UNACKNOWLEDGED_MS, sizeof UNACKNOWLEDGED_MS);
    if (connecting)
        connecting->connected(info.giop_c);
    return true;
}

void peers_start()
{
    omniORB::getInterceptors()->clientOpenConnection.add(open_connection);
}

void peers_stop()
{
    omniORB::getInterceptors()->clientOpenConnection.remove(open_connection);
}

/* Called in a catch block. Not used if the peer is absent or too slow. */
static void ask_why(const Peers &peers, const Peer &peer)
{
    try {
        throw;
    } catch (const CORBA::COMM_FAILURE &) {
        refusal_ask(peers, peer);
    } catch (const CORBA::TRANSIENT &) {
        if (peers.tls) /* with it, the ORB no longer distinguishes a broken connection from none */
            refusal_ask(peers, peer);
    } catch (...) {
    }
}

void Invocation::perform(const Peers &peers, Peer &peer)
{
    if (!peer.enter(deadline_ns))
        throw CORBA::TIMEOUT(0, CORBA::COMPLETED_NO);
    Turn turn(peer);
    SigpipeGuard guard(peers.guard_sigpipe);
    watchdog = peers.watchdog;
    connect_ns = peers.connect_ns;
    alternatives = peer.alternatives;
    refusal_forget();
    try {
        Connecting here(this);
        peer.reference()->_invoke(*this, 0);
    } catch (...) {
        if (watched)
            watchdog->remove(watch);
        watched = false;
        if (watch.fired)
            throw CORBA::TIMEOUT(0, CORBA::COMPLETED_MAYBE);
        ask_why(peers, peer);
        throw;
    }
    if (!is_oneway() && !peer.answered.load(std::memory_order_relaxed))
        peer.answered = true;
    /* The ORB tries another connection when it finds one broken. */
    guard.broken = attempts > 1;
}
