/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/host_names.h"

#include "orb/refusal.h"

extern "C" {
#include "util/clock.h"
}

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <string>
#include <sys/socket.h>

/* Who has waited that long for a name server would wait as long again. */
static const int64_t QUICK_NS = 2 * NS_PER_S;

static std::string host_of(const char *address)
{
    std::string host(address, strrchr(address, ':') - address);
    return host.size() > 2 && host[0] == '[' ? host.substr(1, host.size() - 2) : host;
}

enum esp_status host_name_explain(const char *address, const char *what, enum esp_status status,
                                  int64_t since_ns, struct esp_error *error)
{
    if (status != ESP_UNREACHABLE || clock_now_ns(&clock_system) - since_ns > QUICK_NS ||
        !strrchr(address, ':'))
        return status;
    const std::string host = host_of(address);
    struct addrinfo hints = {}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    const int failure = getaddrinfo(host.c_str(), nullptr, &hints, &found);
    if (failure == 0) {
        freeaddrinfo(found);
        return status;
    }
    char text[300];
    snprintf(
        text, sizeof text,
        "the host name \"%.150s\" cannot be resolved (%s): is it spelt right, and known to this machine?",
        host.c_str(), gai_strerror(failure));
    refusal_log(address, text);
    return error_set(error, status, "%s: %s: %s", address, what, text);
}
