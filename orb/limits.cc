/* SPDX-License-Identifier: Apache-2.0
 *
 * The ORB has no limit on connections, but it asks before it serves a new one. A peer that stalls in the
 * middle of a request is cut by the ORB: within the first 8 kB it counts as idle (IDLE_INCOMING_S), behind
 * them the request has STALLED_S.
 */
#include "orb/limits.h"
#include "orb/call.h"

#include <SocketCollection.h>
#include <omniORB4/giopEndpoint.h>
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/omniInterceptors.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

static unsigned most, most_per_peer;

/* The host's part of "giop:tcp:host:port". */
static size_t host_length(const char *address)
{
    const char *colon = strrchr(address, ':');
    return colon ? (size_t)(colon - address) : strlen(address);
}

static bool same_host(const char *a, const char *b)
{
    size_t length = host_length(a);
    return length == host_length(b) && !strncmp(a, b, length);
}

namespace
{
/* Where the ORB keeps the descriptor of a connection, for TCP and TLS alike. */
struct Holder : omni::SocketHolder {
    static int descriptor(omni::giopConnection *connection)
    {
        auto *holder = dynamic_cast<omni::SocketHolder *>(connection);
        return holder ? holder->*(&Holder::pd_socket) : -1;
    }
};
} // namespace

/* The kernel gives up a connection whose peer does not take what is sent: with that, small replies need no
 * deadline of their own, which would cost three system calls each. */
static void limit_sending(omni::giopConnection *connection)
{
    const unsigned int patience_ms = STALLED_S * 1000;
    setsockopt(Holder::descriptor(connection), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms,
               sizeof patience_ms);
}

static CORBA::Boolean accept_connection(omni::omniInterceptors::serverAcceptConnection_T::info_T &info)
{
    omni_tracedmutex_lock lock(*omni::omniTransportLock);
    const char *peer = info.strand.connection->peeraddress();
    unsigned all = 1, of_peer = 1;
    /* Only those that came earlier count, so that of several at once the last ones are refused. */
    for (omni::StrandList *p = omni::giopStrand::passive.next; p != &omni::giopStrand::passive; p = p->next) {
        auto *strand = static_cast<omni::giopStrand *>(p);
        if (strand == &info.strand)
            break;
        if (strand->state() == omni::giopStrand::DYING || !strand->connection)
            continue;
        all++;
        of_peer += same_host(strand->connection->peeraddress(), peer);
    }
    if (all > most || of_peer > most_per_peer) {
        info.reject = true;
        info.why = "too many connections";
        return false;
    }
    limit_sending(info.strand.connection);
    return true;
}

void limits_start(unsigned connections, unsigned connections_per_peer)
{
    most = connections;
    most_per_peer = connections_per_peer;
    omniORB::getInterceptors()->serverAcceptConnection.add(accept_connection);
}

void limits_stop()
{
    omniORB::getInterceptors()->serverAcceptConnection.remove(accept_connection);
}

bool connection_is_gone(omni::giopConnection *connection)
{
    struct pollfd poll_for = {Holder::descriptor(connection), POLLRDHUP, 0};
    return poll_for.fd >= 0 && poll(&poll_for, 1, 0) == 1 &&
           (poll_for.revents & (POLLRDHUP | POLLHUP | POLLERR));
}
