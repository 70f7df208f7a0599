/* SPDX-License-Identifier: Apache-2.0
 *
 * The ORB has no limit on connections, but it calls a function before it serves a new one. The ORB cuts
 * off a peer that stalls in the middle of a request: within the first 8 kB the connection counts as idle
 * (IDLE_INCOMING_S, or here for its first request); after that the request has `stalled_ms`.
 *
 * The kernel knows how long a connection has been silent, so a call only costs one flag. */
#include "orb/limits.h"
#include "orb/call.h"

extern "C" {
#include "util/clock.h"
#include "util/log.h"
}

/* The ORB's own headers depend on each other in this order. */
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/internal/giopStream.h>

#include <omniORB4/internal/GIOP_S.h>
#include <omniORB4/internal/SocketCollection.h>
#include <omniORB4/internal/giopStrandFlags.h>
#include <omniORB4/internal/giopStreamImpl.h>
#include <omniORB4/giopEndpoint.h>
#include <omniORB4/omniInterceptors.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unordered_map>

/* Flags of a connection, in the bits reserved for applications. */
enum flag : CORBA::ULong {
    ACCEPTED = 1U << 24, /* it has passed accept_connection() */
    SPOKE = 1U << 25,    /* a request has arrived on it */
    CLOSED = 1U << 26    /* its descriptor has been shut down, which its thread will notice */
};

/* A disconnected machine answers nothing. The kernel probes a silent peer every fifth of this time, and a
 * peer without any acknowledgement for all of it counts as gone. A stopped process is not gone, because
 * its kernel answers. */
static const int64_t LEAST_SILENCE_MS = 3000, MOST_SILENCE_MS = 25000;

/* Time after which a reply that the peer does not read is given up. */
static const int64_t STUCK_MS = 2000;

namespace
{
/* Guarded by the ORB's lock on connections; `wake` has its own mutex. */
struct State {
    struct limits limits;
    std::unordered_map<const omni::giopStrand *, int64_t>
        newcomers; /* accepted connections without a request, and since when */
    struct log_quota lines;
    std::thread watch;
    std::mutex mutex;
    std::condition_variable wake;
    bool any, stop; /* any: there are newcomers; stop: the thread must end */
};

/* Where the ORB stores the descriptor of a connection, for TCP and TLS. */
struct Holder : omni::SocketHolder {
    static int descriptor(omni::giopConnection *connection)
    {
        auto *holder = dynamic_cast<omni::SocketHolder *>(connection);
        return holder ? holder->*(&Holder::pd_socket) : -1;
    }
};
} // namespace

/* Never freed, because the process may exit while its thread runs. */
static State &state = *new State;

/* Returns the host in "giop:tcp:host:port". A Unix socket counts as the port that it belongs to. */
static std::string host_of(const omni::giopStrand &strand)
{
    const char *address = strand.connection->peeraddress(), *colon = strrchr(address, ':');
    if (!strncmp(address, "giop:unix:", 10))
        return "giop:tcp:127.0.0.1";
    return std::string(address, colon ? (size_t)(colon - address) : strlen(address));
}

/* "host:port", of "giop:tcp:host:port" and "giop:tcp:host". */
static const char *plain(const char *address)
{
    for (int i = 0; i < 2; i++)
        if (const char *colon = strchr(address, ':'))
            address = colon + 1;
    return address;
}

static bool may_log()
{
    return log_quota_take(&state.lines, clock_now_ns(&clock_system));
}

/* The kernel drops a connection whose peer does not read. So small replies need no separate deadline,
 * which would cost three system calls each. */
static void limit_sending(int fd)
{
    const unsigned int patience_ms = (unsigned)state.limits.stalled_ms;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof patience_ms);
}

static unsigned silence_of_the_gone_ms()
{
    return (unsigned)std::max(LEAST_SILENCE_MS, std::min<int64_t>(state.limits.stalled_ms, MOST_SILENCE_MS));
}

static void keep_asking(int fd)
{
    const int yes = 1, fifth_s = std::max(1, (int)silence_of_the_gone_ms() / 5000);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &fifth_s, sizeof fifth_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &fifth_s, sizeof fifth_s);
}

/* ---- the least active connection ---- */

static bool counts(const omni::giopStrand &strand)
{
    return strand.state() != omni::giopStrand::DYING && strand.connection && !(strand.flags & CLOSED);
}

/* Activity of its thread. (Written without a lock by that thread, so it is only approximate.) */
enum phase { LISTENING, READING, SERVING, ANSWERING };

static phase phase_of(const omni::giopStrand &strand)
{
    phase found = LISTENING;
    for (auto *at = strand.servers.next; at != &strand.servers; at = at->next) {
        switch (static_cast<omni::GIOP_S *>(at)->state()) {
        case omni::IOP_S::WaitingForReply:
            return SERVING;
        case omni::IOP_S::ReplyIsBeingComposed:
        case omni::IOP_S::ReplyCompleted:
            found = ANSWERING;
            break;
        case omni::IOP_S::RequestHeaderIsBeingProcessed:
        case omni::IOP_S::RequestIsBeingProcessed:
            found = READING;
            break;
        default:
            break;
        }
    }
    return found;
}

/* Returns how long nothing has moved; -1 while a request is being served. */
static int64_t silence_ms(const omni::giopStrand &strand)
{
    struct tcp_info info = {};
    socklen_t length = sizeof info;
    phase now = phase_of(strand);
    if (now == SERVING ||
        getsockopt(Holder::descriptor(strand.connection), IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return -1;
    if (now != ANSWERING)
        return info.tcpi_last_data_recv;
    int64_t ms = std::min(info.tcpi_last_data_recv, info.tcpi_last_data_sent);
    return ms < STUCK_MS ? -1 : ms;
}

/* Compares how well connections deserve their place. Those without any request are worst, in the order of
 * their arrival, because a peer that only sends a byte now and then is never silent and yet useless. */
struct Worth {
    omni::giopStrand *strand = nullptr;
    bool spoke = true;
    int64_t silent_ms = -1;

    bool less(bool other_spoke, int64_t other_ms) const
    {
        if (spoke != other_spoke)
            return other_spoke;
        return !spoke || silent_ms >= other_ms;
    }
};

/* Visits the connections accepted before `newcomer`: of several new ones the last gives way. */
template <typename Visit>
static void for_earlier(const omni::giopStrand &newcomer, Visit visit)
{
    for (omni::StrandList *p = omni::giopStrand::passive.next; p != &omni::giopStrand::passive; p = p->next) {
        auto *strand = static_cast<omni::giopStrand *>(p);
        if (strand == &newcomer)
            return;
        if (counts(*strand))
            visit(*strand);
    }
}

static Worth least_of(const omni::giopStrand &newcomer, const std::string &host)
{
    Worth least;
    for_earlier(newcomer, [&](omni::giopStrand &strand) {
        if (host_of(strand) != host)
            return;
        bool spoke = strand.flags & SPOKE;
        int64_t silent_ms = silence_ms(strand);
        if (silent_ms >= 0 && !(least.strand && least.less(spoke, silent_ms)))
            least.strand = &strand, least.spoke = spoke, least.silent_ms = silent_ms;
    });
    return least;
}

/* ---- closing ---- */

/* Sends GIOP's CloseConnection if its thread cannot be writing: the peer then reconnects without doubt
 * about what was executed. (Not with TLS, because only that thread can encrypt.) */
static void close_strand(omni::giopStrand &strand)
{
    const int fd = Holder::descriptor(strand.connection);
    if (phase_of(strand) == LISTENING && strand.giopImpl &&
        strncmp(strand.connection->peeraddress(), "giop:ssl:", 9)) {
        const GIOP::Version version = strand.giopImpl->version();
        const unsigned char message[12] = {'G', 'I', 'O', 'P', version.major, version.minor, 1, 5};
        send(fd, message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    strand.flags |= CLOSED;
    shutdown(fd, SHUT_RDWR);
}

static void tell_closed(const Worth &worth, unsigned n, const char *whose)
{
    if (!may_log())
        return;
    log_warning("%u connections %s: that of %s is closed for a newcomer, it has been silent for %.3g s%s", n,
                whose, plain(worth.strand->connection->peeraddress()), (double)worth.silent_ms / 1e3,
                worth.spoke ? "" : " and has sent no request yet");
}

/* Closes a connection of that host to make room. */
static bool make_room(const omni::giopStrand &newcomer, const std::string &host, unsigned n,
                      const char *whose)
{
    Worth least = least_of(newcomer, host);
    if (!least.strand)
        return false;
    tell_closed(least, n, whose);
    close_strand(*least.strand);
    return true;
}

/* ---- called by the ORB ---- */

static bool refuse(omni::omniInterceptors::serverAcceptConnection_T::info_T &info, unsigned n,
                   const char *whose)
{
    if (may_log())
        log_warning("%u connections %s, and all are being served: one of %s is refused", n, whose,
                    plain(info.strand.connection->peeraddress()));
    info.reject = true;
    info.why = "too many connections";
    return false;
}

static void watch_newcomer(omni::giopStrand &strand);

static CORBA::Boolean accept_connection(omni::omniInterceptors::serverAcceptConnection_T::info_T &info)
{
    omni_tracedmutex_lock lock(*omni::omniTransportLock);
    const std::string host = host_of(info.strand);
    std::unordered_map<std::string, unsigned> hosts;
    unsigned all = 0;
    for_earlier(info.strand, [&](omni::giopStrand &strand) {
        all++;
        hosts[host_of(strand)]++;
    });
    const unsigned of_host = hosts[host];
    const std::string *heaviest = &host;
    for (const auto &entry : hosts)
        if (entry.second > hosts[*heaviest])
            heaviest = &entry.first;
    if (of_host >= state.limits.per_peer) {
        if (!make_room(info.strand, host, of_host, "from one host"))
            return refuse(info, of_host, "from one host");
    } else if (all >= state.limits.connections) {
        if (!make_room(info.strand, *heaviest, all, "in all"))
            return refuse(info, all, "in all");
    }
    info.strand.flags |= ACCEPTED;
    limit_sending(Holder::descriptor(info.strand.connection));
    keep_asking(Holder::descriptor(info.strand.connection));
    watch_newcomer(info.strand);
    return true;
}

static CORBA::Boolean receive_request(omni::omniInterceptors::serverReceiveRequest_T::info_T &info)
{
    info.giop_s.strand().flags |= SPOKE;
    return true;
}

/* ---- first messages ---- */

static void close_late(int64_t now_ns)
{
    std::unordered_map<const omni::giopStrand *, int64_t> still;
    for (omni::StrandList *p = omni::giopStrand::passive.next; p != &omni::giopStrand::passive; p = p->next) {
        auto *strand = static_cast<omni::giopStrand *>(p);
        auto newcomer = state.newcomers.find(strand);
        if (!counts(*strand) || !(strand->flags & ACCEPTED) || (strand->flags & SPOKE) ||
            newcomer == state.newcomers.end())
            continue;
        if (now_ns - newcomer->second < state.limits.first_message_ms * NS_PER_MS) {
            still.insert(*newcomer);
            continue;
        }
        if (may_log())
            log_warning("connection of %s closed: no complete message came within %.3g s",
                        plain(strand->connection->peeraddress()),
                        (double)state.limits.first_message_ms / 1e3);
        close_strand(*strand);
    }
    state.newcomers.swap(still);
}

static void watch_first_messages()
{
    const auto period = std::chrono::milliseconds(std::max<int64_t>(state.limits.first_message_ms / 4, 1));
    std::unique_lock<std::mutex> lock(state.mutex);
    while (!state.stop) {
        state.wake.wait(lock, [] { return state.any || state.stop; });
        state.wake.wait_for(lock, period, [] { return state.stop; });
        state.any = false;
        lock.unlock();
        bool any;
        {
            omni_tracedmutex_lock transport(*omni::omniTransportLock);
            close_late(clock_now_ns(&clock_system));
            any = !state.newcomers.empty();
        }
        lock.lock();
        state.any |= any; /* others may have come since */
    }
}

/* Call it with the ORB's lock. The thread exists only if connections are accepted, so not in a client. */
static void watch_newcomer(omni::giopStrand &strand)
{
    state.newcomers[&strand] = clock_now_ns(&clock_system);
    std::lock_guard<std::mutex> lock(state.mutex);
    state.any = true;
    if (!state.watch.joinable())
        state.watch = std::thread(watch_first_messages);
    state.wake.notify_one();
}

/* ---- start and end ---- */

unsigned limits_places(unsigned connections)
{
    const rlim_t most_reserve = 200; /* descriptors for everything except incoming connections */
    const rlim_t wanted = connections + most_reserve;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return connections;
    const struct rlimit before = limit;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        limit = before;
    const unsigned places =
        std::min<rlim_t>(connections, limit.rlim_cur - std::min(limit.rlim_cur / 2, most_reserve));
    if (places < connections)
        log_warning("%u connections at most, and not %u: this process may have only %lu descriptors (raise "
                    "\"ulimit -n\", in a unit of systemd LimitNOFILE)",
                    places, connections, (unsigned long)limit.rlim_cur);
    return places > 0 ? places : 1;
}

void limits_start(const struct limits &limits)
{
    state.limits = limits;
    state.lines = log_quota();
    state.lines.most = 5;
    state.lines.what = "connections closed or refused";
    state.any = state.stop = false;
    omniORB::getInterceptors()->serverAcceptConnection.add(accept_connection);
    omniORB::getInterceptors()->serverReceiveRequest.add(receive_request);
}

void limits_stop()
{
    omniORB::getInterceptors()->serverAcceptConnection.remove(accept_connection);
    omniORB::getInterceptors()->serverReceiveRequest.remove(receive_request);
    {
        std::lock_guard<std::mutex> lock(state.mutex);
        state.stop = true;
        state.wake.notify_one();
    }
    if (state.watch.joinable())
        state.watch.join();
    state.watch = std::thread();
    state.newcomers.clear();
}

static bool tcp_state(int fd, struct tcp_info &info)
{
    socklen_t length = sizeof info;
    info = {};
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0;
}

/* Whether the machine at the other end is disconnected, before the connection itself has noticed. */
static bool is_cut_off(int fd)
{
    struct tcp_info info;
    const unsigned silence_ms = silence_of_the_gone_ms();
    return tcp_state(fd, info) && info.tcpi_last_ack_recv >= silence_ms &&
           info.tcpi_last_data_recv >= silence_ms;
}

bool connection_is_gone(omni::giopConnection *connection)
{
    struct pollfd poll_for = {Holder::descriptor(connection), POLLRDHUP, 0};
    if (poll_for.fd < 0)
        return false;
    if (poll(&poll_for, 1, 0) == 1 && (poll_for.revents & (POLLRDHUP | POLLHUP | POLLERR)))
        return true;
    return is_cut_off(poll_for.fd);
}

bool connection_left_by_peer(omni::giopConnection *connection)
{
    struct tcp_info info;
    return tcp_state(Holder::descriptor(connection), info) && info.tcpi_state != TCP_FIN_WAIT1 &&
           info.tcpi_state != TCP_FIN_WAIT2 && info.tcpi_state != TCP_CLOSING &&
           info.tcpi_state != TCP_TIME_WAIT;
}

int connection_descriptor(omni::giopConnection *connection)
{
    return Holder::descriptor(connection);
}
