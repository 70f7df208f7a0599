/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/address_fault.h"
#include "orb/host_names.h"
#include "util/clock.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 300

static int try_socket(const struct addrinfo *at)
{
    int fault = 0;
    socklen_t size = sizeof fault;
    const int s = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0)
        return errno;
    if (connect(s, at->ai_addr, at->ai_addrlen) != 0)
        fault = errno;
    if (fault == EINPROGRESS) {
        struct pollfd wait = {s, POLLOUT, 0};
        if (poll(&wait, 1, PATIENCE_MS) != 1)
            fault = ETIMEDOUT;
        else if (getsockopt(s, SOL_SOCKET, SO_ERROR, &fault, &size) != 0)
            fault = errno;
    }
    close(s);
    return fault;
}

/* `place`: "number:port". */
static int try_place(const std::string &place)
{
    const size_t colon = place.rfind(':');
    std::string host = place.substr(0, colon);
    if (host.size() > 2 && host[0] == '[')
        host = host.substr(1, host.size() - 2);
    struct addrinfo hints = {}, *at = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    if (getaddrinfo(host.c_str(), place.c_str() + colon + 1, &hints, &at) != 0)
        return -1;
    const int fault = try_socket(at);
    freeaddrinfo(at);
    return fault;
}

int address_fault(const char *address)
{
    std::string unknown;
    int fault = -1;
    const int64_t until_ns = clock_now_ns(&clock_system) + PATIENCE_MS * NS_PER_MS;
    for (const std::string &place : host_addresses(address, until_ns, &unknown)) {
        fault = try_place(place);
        if (fault != ECONNREFUSED)
            break;
    }
    return fault;
}
