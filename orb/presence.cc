/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread sleeps until a watched connection is closed. The ORB's thread for the connection notices that
 * at the same time and would close its descriptor, and thereby lose the event, so each watched connection
 * is held until the event is reported. A connection that the ORB has dropped without shutting it down is
 * found by occasionally checking all of them. */
#include "orb/presence.h"
#include "orb/call.h"

extern "C" {
#include "util/clock.h"
#include "util/log.h"
}

/* The ORB's own headers depend on each other in this order. */
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/internal/giopStream.h>

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <unordered_set>

/* Most sessions of one connection, the newest ones. */
static const size_t MOST_SESSIONS = 8;
static const int LOOK_MS = 1000;
/* After this many new connections, the next check comes at once, because a client can abandon connections. */
static const size_t LOOK_AFTER = 32;

namespace
{
struct Company {
    omni::giopStrand *strand = nullptr; /* of the connection; valid as long as that is held */
    std::weak_ptr<Endpoint> endpoint;   /* the endpoint of its port */
    std::vector<session_id> movers;
    bool has_asker = false;
    session_id asker = {}; /* the client, with sequence 0 */
    std::string speaker;   /* name of the posting node; "": none has posted */
    uint64_t incarnation = 0;
};

using Connections = std::unordered_map<omni::giopConnection *, Company>;

/* The ORB's lock on connections is taken before `mutex`. */
struct State {
    std::mutex mutex; /* guards everything */
    Connections connections;
    size_t look_at = LOOK_AFTER; /* connections */
    std::thread thread;
    int epoll = -1, bell = -1;
    bool failed = false, stop = false;
};
} // namespace

/* Never freed, because the process may exit while its thread runs. */
static State &state = *new State;

/* ---- reporting ---- */

/* The node may send the peer a message to check whether it is alive. That must fail at once, and not use a
 * connection that is also broken but accepts data. */
static void tell_node(Endpoint &endpoint, const Company &gone)
{
    const struct envelope from = {gone.speaker.c_str(), gone.incarnation, 0, "", ""};
    for (const struct session_id &session : gone.movers)
        endpoint.ops.parted(endpoint.self, &session);
    if (gone.has_asker)
        endpoint.ops.parted(endpoint.self, &gone.asker);
    if (gone.speaker.empty())
        return;
    endpoint.outbox.doubt(true);
    endpoint.ops.hung_up(endpoint.self, &from);
    endpoint.outbox.doubt(false);
}

static void tell(const Company &gone)
{
    const std::shared_ptr<Endpoint> endpoint = gone.endpoint.lock();
    if (!endpoint || !endpoint->come_in())
        return;
    {
        std::lock_guard<std::mutex> lock(endpoint->mutex);
        if (!endpoint->closing) {
            tell_node(*endpoint, gone);
            endpoint->after_operation();
        }
    }
    endpoint->flush();
    endpoint->go_out();
}

/* ---- watching ---- */

/* Call it with both locks. The strand is freed with the last reference to its connection. */
static void let_go(Connections::iterator at, std::vector<Company> &gone)
{
    omni::giopConnection *const connection = at->first;
    omni::giopStrand *const strand = at->second.strand;
    epoll_ctl(state.epoll, EPOLL_CTL_DEL, connection_descriptor(connection), nullptr);
    at->second.has_asker = at->second.has_asker && connection_left_by_peer(connection);
    gone.push_back(std::move(at->second));
    state.connections.erase(at);
    if (strand->deletePending()) /* the ORB has dropped it */
        strand->deleteStrandAndConnection();
    else
        connection->decrRefCount();
}

/* With both locks: finds connections that the ORB no longer serves, and those whose machine is
 * disconnected. */
static void look(std::vector<Company> &gone)
{
    std::unordered_set<const omni::giopConnection *> served;
    for (omni::StrandList *p = omni::giopStrand::passive.next; p != &omni::giopStrand::passive; p = p->next)
        served.insert(static_cast<omni::giopStrand *>(p)->connection);
    for (auto at = state.connections.begin(); at != state.connections.end();) {
        const auto next = std::next(at);
        if (!served.count(at->first) || (at->second.has_asker && connection_is_gone(at->first)))
            let_go(at, gone);
        at = next;
    }
    state.look_at = state.connections.size() + LOOK_AFTER;
}

static std::vector<Company> take_gone(const struct epoll_event *events, int n)
{
    std::vector<Company> gone;
    omni_tracedmutex_lock transport(*omni::omniTransportLock);
    std::lock_guard<std::mutex> lock(state.mutex);
    for (int i = 0; i < n; i++) {
        auto at = state.connections.find(static_cast<omni::giopConnection *>(events[i].data.ptr));
        if (at != state.connections.end())
            let_go(at, gone);
    }
    if (n == 0)
        look(gone);
    return gone;
}

static void watch()
{
    struct epoll_event events[16];
    std::unique_lock<std::mutex> lock(state.mutex);
    while (!state.stop) {
        const int patience_ms = state.connections.empty() ? -1 : LOOK_MS;
        lock.unlock();
        const int n = epoll_wait(state.epoll, events, 16, patience_ms);
        if (n >= 0)
            for (const Company &gone : take_gone(events, n))
                tell(gone);
        uint64_t rung;
        if (read(state.bell, &rung, sizeof rung) < 0 && errno != EAGAIN)
            log_error("the bell of presence: %s", strerror(errno));
        lock.lock();
    }
}

static bool add(int fd, uint32_t events, void *what)
{
    struct epoll_event event = {};
    event.events = events;
    event.data.ptr = what;
    return epoll_ctl(state.epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void ring()
{
    static const uint64_t one = 1;
    if (write(state.bell, &one, sizeof one) < 0)
        log_error("the bell of presence: %s", strerror(errno));
}

/* With the mutex. If the thread cannot start, heartbeats and leases detect losses later. */
static bool begin()
{
    if (state.stop || state.failed || state.thread.joinable())
        return !state.stop && !state.failed;
    state.epoll = epoll_create1(EPOLL_CLOEXEC);
    state.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    state.failed = state.epoll < 0 || state.bell < 0 || !add(state.bell, EPOLLIN, nullptr);
    if (state.failed)
        log_warning("that a connection closes is not noticed: %s", strerror(errno));
    else
        state.thread = std::thread(watch);
    return !state.failed;
}

/* With the ORB's lock. NULL: the ORB no longer serves it. */
static omni::giopStrand *strand_of(const omni::giopConnection *connection)
{
    for (omni::StrandList *p = omni::giopStrand::passive.next; p != &omni::giopStrand::passive; p = p->next) {
        auto *strand = static_cast<omni::giopStrand *>(p);
        if (strand->connection == connection)
            return strand;
    }
    return nullptr;
}

/* With both locks. */
static bool hold(Endpoint &endpoint, omni::giopConnection *connection, std::vector<Company> &gone)
{
    omni::giopStrand *const strand = strand_of(connection);
    if (!strand || !begin())
        return false;
    if (state.connections.size() >= state.look_at)
        look(gone);
    if (!add(connection_descriptor(connection), EPOLLRDHUP | EPOLLET, connection))
        return false;
    connection->incrRefCount();
    if (state.connections.empty())
        ring(); /* starts the occasional checks */
    Company &company = state.connections[connection];
    company.strand = strand;
    company.endpoint = endpoint.weak_from_this();
    return true;
}

/* Changes what is recorded about a connection. */
template <typename Change>
static void note(Endpoint &endpoint, omni::giopConnection *connection, Change change)
{
    std::vector<Company> gone;
    {
        std::lock_guard<std::mutex> lock(state.mutex);
        auto at = state.connections.find(connection);
        if (at != state.connections.end()) {
            change(at->second);
            return;
        }
    }
    {
        omni_tracedmutex_lock transport(*omni::omniTransportLock);
        std::lock_guard<std::mutex> lock(state.mutex);
        if (hold(endpoint, connection, gone))
            change(state.connections[connection]);
    }
    for (const Company &company : gone)
        tell(company);
}

void presence_note_mover(Endpoint &endpoint, omni::giopConnection *connection,
                         const struct session_id &session)
{
    if (!connection || !endpoint.ops.parted)
        return;
    note(endpoint, connection, [&session](Company &company) {
        std::vector<session_id> &movers = company.movers;
        for (const struct session_id &known : movers)
            if (known.client_high == session.client_high && known.client_low == session.client_low &&
                known.sequence == session.sequence)
                return;
        if (movers.size() == MOST_SESSIONS)
            movers.erase(movers.begin());
        movers.push_back(session);
    });
}

void presence_note_asker(Endpoint &endpoint, omni::giopConnection *connection,
                         const struct session_id &session)
{
    if (!connection || !endpoint.ops.parted)
        return;
    note(endpoint, connection, [&session](Company &company) {
        company.has_asker = true;
        company.asker.client_high = session.client_high;
        company.asker.client_low = session.client_low;
    });
}

void presence_note_speaker(Endpoint &endpoint, omni::giopConnection *connection, const struct envelope &from)
{
    if (!connection || !endpoint.ops.hung_up)
        return;
    note(endpoint, connection, [&from](Company &company) {
        if (company.incarnation == from.from_incarnation && company.speaker == from.from)
            return;
        company.speaker = from.from;
        company.incarnation = from.from_incarnation;
    });
}

void presence_stop()
{
    std::vector<Company> gone;
    std::thread thread;
    {
        std::lock_guard<std::mutex> lock(state.mutex);
        state.stop = true;
        if (state.thread.joinable())
            ring();
        thread.swap(state.thread);
    }
    if (thread.joinable())
        thread.join();
    omni_tracedmutex_lock transport(*omni::omniTransportLock);
    std::lock_guard<std::mutex> lock(state.mutex);
    while (!state.connections.empty())
        let_go(state.connections.begin(), gone);
    if (state.epoll >= 0)
        close(state.epoll);
    if (state.bell >= 0)
        close(state.bell);
    state.epoll = state.bell = -1;
    state.failed = state.stop = false;
    state.look_at = LOOK_AFTER;
}
