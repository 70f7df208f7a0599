/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/presence.h"
#include "orb/call.h"

/* The ORB's own headers lean on each other in this order. */
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/internal/giopStream.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

/* Of one connection, the newest ones. */
static const size_t MOST_SESSIONS = 8;
static const std::chrono::seconds PERIOD(1);
/* A flag of a connection, in the bits that are an application's (limits.cc has others): one that came later
 * at the same place in memory does not have it. */
static const CORBA::ULong MOVES = 1U << 27;

namespace
{
struct Mover {
    std::weak_ptr<Endpoint> endpoint;
    std::vector<session_id> sessions;
};

/* The ORB's lock on connections comes before `mutex`. */
struct State {
    std::mutex mutex; /* guards all of it */
    std::unordered_map<const omni::giopStrand *, Mover> movers;
    std::thread thread;
    std::condition_variable wake;
    bool stop = false;
};
} // namespace

/* For ever: a process may exit while its thread runs. */
static State &state = *new State;

static bool is_there(const omni::giopStrand &strand)
{
    return (strand.flags & MOVES) && strand.state() != omni::giopStrand::DYING && strand.connection &&
           !connection_is_gone(strand.connection);
}

/* Takes out those whose connections are closed. */
static std::vector<Mover> take_parted()
{
    std::vector<Mover> parted;
    std::unordered_map<const omni::giopStrand *, Mover> still;
    omni_tracedmutex_lock transport(*omni::omniTransportLock);
    std::lock_guard<std::mutex> lock(state.mutex);
    for (omni::StrandList *p = omni::giopStrand::passive.next; p != &omni::giopStrand::passive; p = p->next) {
        auto *strand = static_cast<omni::giopStrand *>(p);
        auto mover = state.movers.find(strand);
        if (mover == state.movers.end() || !is_there(*strand))
            continue;
        still.insert(std::move(*mover));
        state.movers.erase(mover);
    }
    state.movers.swap(still);
    for (auto &entry : still)
        parted.push_back(std::move(entry.second));
    return parted;
}

static void tell(const Mover &mover)
{
    const std::shared_ptr<Endpoint> endpoint = mover.endpoint.lock();
    if (!endpoint)
        return;
    {
        std::lock_guard<std::mutex> lock(endpoint->mutex);
        if (endpoint->closing)
            return;
        for (const struct session_id &session : mover.sessions)
            endpoint->ops.parted(endpoint->self, &session);
        endpoint->after_operation();
    }
    endpoint->flush();
}

static void watch()
{
    std::unique_lock<std::mutex> lock(state.mutex);
    while (!state.stop) {
        state.wake.wait(lock, [] { return state.stop || !state.movers.empty(); });
        state.wake.wait_for(lock, PERIOD, [] { return state.stop; });
        lock.unlock();
        for (const Mover &mover : take_parted())
            tell(mover);
        lock.lock();
    }
}

void presence_note(Endpoint &endpoint, cdrStream &stream, const struct session_id &session)
{
    omni::giopStream *giop = omni::giopStream::downcast(&stream);
    if (!giop || !endpoint.ops.parted)
        return;
    omni::giopStrand &strand = giop->strand();
    if (!(strand.flags & MOVES)) {
        omni_tracedmutex_lock transport(*omni::omniTransportLock);
        strand.flags |= MOVES;
    }
    std::lock_guard<std::mutex> lock(state.mutex);
    if (state.stop)
        return;
    Mover &mover = state.movers[&strand];
    if (mover.sessions.empty())
        mover.endpoint = endpoint.shared_from_this();
    for (const struct session_id &known : mover.sessions)
        if (known.client_high == session.client_high && known.client_low == session.client_low &&
            known.sequence == session.sequence)
            return;
    if (mover.sessions.size() == MOST_SESSIONS)
        mover.sessions.erase(mover.sessions.begin());
    mover.sessions.push_back(session);
    if (!state.thread.joinable())
        state.thread = std::thread(watch);
    state.wake.notify_one();
}

void presence_stop()
{
    std::unique_lock<std::mutex> lock(state.mutex);
    state.stop = true;
    state.wake.notify_one();
    std::thread thread;
    thread.swap(state.thread);
    lock.unlock();
    if (thread.joinable())
        thread.join();
    lock.lock();
    state.movers.clear();
    state.stop = false;
}
