/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread sleeps until one of the connections is closed. The thread of the ORB that serves the connection
 * hears of it at the same time and would close its descriptor, and with that take the news away: so each
 * connection that is watched is held until it has been told. What the ORB has done with without shutting it
 * down is found by a look at all of them, now and then.
 */
#include "orb/presence.h"
#include "orb/call.h"

extern "C" {
#include "util/clock.h"
#include "util/log.h"
}

/* The ORB's own headers lean on each other in this order. */
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/internal/giopStream.h>

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <unordered_set>

/* Of one connection, the newest ones. */
static const size_t MOST_SESSIONS = 8;
static const int LOOK_MS = 1000;
/* So many more connections, and the next look comes at once: a stranger can leave some behind. */
static const size_t LOOK_AFTER = 32;

namespace
{
struct Company {
    omni::giopStrand *strand = nullptr; /* the connection's; there as long as that is held */
    std::weak_ptr<Endpoint> endpoint;   /* the port that it came to */
    std::vector<session_id> movers;
    bool has_asker = false;
    session_id asker = {}; /* the client, with sequence 0 */
    std::string speaker;   /* "": nobody has posted */
    uint64_t incarnation = 0;
};

using Connections = std::unordered_map<omni::giopConnection *, Company>;

/* The ORB's lock on connections comes before `mutex`. */
struct State {
    std::mutex mutex; /* guards all of it */
    Connections connections;
    size_t look_at = LOOK_AFTER; /* connections */
    std::thread thread;
    int epoll = -1, bell = -1;
    bool failed = false, stop = false;
};
} // namespace

/* For ever: a process may exit while its thread runs. */
static State &state = *new State;

/* ---- telling ---- */

/* Its node may ask whether the speaker is still there: to be told at once, and not by a connection to it that
 * is broken too, and takes what is written to it. */
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

/* With both locks. The strand goes with whoever lets go of its connection last. */
static void let_go(Connections::iterator at, std::vector<Company> &gone)
{
    omni::giopConnection *const connection = at->first;
    omni::giopStrand *const strand = at->second.strand;
    epoll_ctl(state.epoll, EPOLL_CTL_DEL, connection_descriptor(connection), nullptr);
    at->second.has_asker = at->second.has_asker && connection_left_by_peer(connection);
    gone.push_back(std::move(at->second));
    state.connections.erase(at);
    if (strand->deletePending()) /* the ORB has let go of it */
        strand->deleteStrandAndConnection();
    else
        connection->decrRefCount();
}

/* With both locks: those that the ORB serves no more, and those whose machine is cut off. */
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

/* With the mutex. Without it heartbeats and leases tell, later. */
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

/* With the ORB's lock. NULL: the ORB serves it no more. */
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
        ring(); /* there is something to look at, now and then */
    Company &company = state.connections[connection];
    company.strand = strand;
    company.endpoint = endpoint.weak_from_this();
    return true;
}

/* Changes what is known of who is there. */
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
