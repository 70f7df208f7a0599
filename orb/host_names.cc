/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/host_names.h"

extern "C" {
#include "core/host_name.h"
#include "util/clock.h"
}

#include <algorithm>
#include <memory>
#include <mutex>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unordered_map>

/* Age above which a result that no caller waited for is not used. */
static const int64_t OLD_NS = 30 * NS_PER_S;

namespace
{

/* One look-up. The C library writes into it while it is in progress. */
struct Lookup {
    explicit Lookup(const std::string &name) : host(name), begun_ns(clock_now_ns(&clock_system))
    {
        hints.ai_socktype = SOCK_STREAM;
        request.ar_name = host.c_str();
        request.ar_request = &hints;
    }
    ~Lookup()
    {
        if (request.ar_result)
            freeaddrinfo(request.ar_result);
    }
    Lookup(const Lookup &) = delete;
    Lookup &operator=(const Lookup &) = delete;

    bool is_over() const
    {
        return gai_error(const_cast<struct gaicb *>(&request)) != EAI_INPROGRESS;
    }

    const std::string host;
    const int64_t begun_ns;
    struct addrinfo hints = {};
    struct gaicb request = {};
};

/* The look-ups in progress, by host. */
struct State {
    std::mutex mutex;
    std::unordered_map<std::string, std::shared_ptr<Lookup>> lookups;
};

} // namespace

/* Never freed, because look-ups may outlive the ORB. */
static State &state = *new State();

static std::string host_of(const std::string &address, size_t colon)
{
    const std::string host = address.substr(0, colon);
    return host.size() > 2 && host[0] == '[' ? host.substr(1, host.size() - 2) : host;
}

static bool is_number(const std::string &host)
{
    struct addrinfo hints = {}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST;
    if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0)
        return false;
    freeaddrinfo(found);
    return true;
}

/* Starts a look-up, or joins the one in progress. NULL: the system cannot start one; *failure says why. */
static std::shared_ptr<Lookup> join(const std::string &host, int *failure)
{
    std::lock_guard<std::mutex> lock(state.mutex);
    auto known = state.lookups.find(host);
    if (known != state.lookups.end() &&
        !(known->second->is_over() && clock_now_ns(&clock_system) - known->second->begun_ns > OLD_NS))
        return known->second;
    auto lookup = std::make_shared<Lookup>(host);
    struct gaicb *list[] = {&lookup->request};
    *failure = getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr);
    if (*failure != 0)
        return nullptr;
    state.lookups[host] = lookup;
    return lookup;
}

/* Removes a finished look-up from the list: the next caller starts a new one. */
static void end(const std::shared_ptr<Lookup> &lookup)
{
    std::lock_guard<std::mutex> lock(state.mutex);
    auto known = state.lookups.find(lookup->host);
    if (known != state.lookups.end() && known->second == lookup)
        state.lookups.erase(known);
}

/* False: the look-up is still in progress at the deadline. */
static bool wait_for(const Lookup &lookup, int64_t deadline_ns)
{
    const struct gaicb *const list[] = {&lookup.request};
    while (!lookup.is_over()) {
        const int64_t left_ns = deadline_ns - clock_now_ns(&clock_system);
        if (left_ns <= 0)
            return false;
        const struct timespec left = {(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
        gai_suspend(list, 1, &left);
    }
    return true;
}

/* Returns "number:port"; "": an address that the ORB does not accept, such as a link-local one. */
static std::string place_of(const struct addrinfo &at, const std::string &port)
{
    char number[64];
    if (getnameinfo(at.ai_addr, at.ai_addrlen, number, sizeof number, nullptr, 0, NI_NUMERICHOST) != 0 ||
        strchr(number, '%'))
        return "";
    return (at.ai_family == AF_INET6 ? "[" + std::string(number) + "]" : number) + port;
}

static std::vector<std::string> places_of(const struct addrinfo *first, const std::string &port)
{
    std::vector<std::string> places;
    for (const struct addrinfo *at = first; at && places.size() < HOST_ADDRESSES; at = at->ai_next) {
        const std::string place = place_of(*at, port);
        if (!place.empty() && std::find(places.begin(), places.end(), place) == places.end())
            places.push_back(place);
    }
    return places;
}

static std::string unknown(const std::string &host, int failure)
{
    char text[300];
    snprintf(
        text, sizeof text,
        "the host name \"%.150s\" cannot be resolved (%s): is it spelt right, and known to this machine?",
        host.c_str(), gai_strerror(failure));
    return text;
}

static std::string late(const std::string &host, int64_t begun_ns)
{
    char text[300];
    snprintf(text, sizeof text,
             HOST_NAME_LATE " the address of host \"%.150s\" within %.3g s (does the one in /etc/resolv.conf "
                            "answer?)",
             host.c_str(), (double)(clock_now_ns(&clock_system) - begun_ns) / NS_PER_S);
    return text;
}

std::vector<std::string> host_addresses(const std::string &address, int64_t deadline_ns, std::string *why)
{
    const size_t colon = address.rfind(':');
    if (colon == std::string::npos || is_number(host_of(address, colon)))
        return {address};
    const std::string host = host_of(address, colon);
    int failure = 0;
    const std::shared_ptr<Lookup> lookup = join(host, &failure);
    if (!lookup) {
        *why = unknown(host, failure);
        return {};
    }
    if (!wait_for(*lookup, deadline_ns)) {
        *why = late(host, lookup->begun_ns);
        return {};
    }
    end(lookup);
    failure = gai_error(&lookup->request);
    std::vector<std::string> places = places_of(lookup->request.ar_result, address.substr(colon));
    if (places.empty())
        *why = unknown(host, failure ? failure : EAI_NONAME);
    return places;
}
