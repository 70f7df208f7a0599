/* SPDX-License-Identifier: Apache-2.0 */
#include "util/listen_at.h"

#include "util/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons(port);
}

static socklen_t length_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static void add(struct listen_at *at, const struct addrinfo *found, uint16_t port)
{
    struct sockaddr_storage address = {0};
    if ((found->ai_family != AF_INET && found->ai_family != AF_INET6) || at->n == LISTEN_MOST)
        return;
    memcpy(&address, found->ai_addr, found->ai_addrlen);
    set_port(&address, port);
    for (uint32_t i = 0; i < at->n; i++)
        if (memcmp(&at->items[i], &address, sizeof address) == 0)
            return;
    at->items[at->n++] = address;
}

/* [::] first: its socket accepts both families, if the machine has both. */
static void add_any(struct listen_at *at, uint16_t port)
{
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    at->any = true;
    memcpy(&at->items[at->n++], &six, sizeof six);
    memcpy(&at->items[at->n++], &four, sizeof four);
}

enum esp_status listen_at_find(const char *host, uint16_t port, struct listen_at *at, struct esp_error *error)
{
    char plain[256];
    const size_t length = strlen(host);
    const bool bracketed = length > 2 && host[0] == '[' && host[length - 1] == ']';
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    memset(at, 0, sizeof *at);
    snprintf(plain, sizeof plain, "%.*s", (int)(length - 2 * bracketed), host + bracketed);
    /* The C library would resolve "*" to loopback. */
    if (!*plain || strcmp(plain, "*") == 0 || strcmp(plain, "::") == 0) {
        add_any(at, port);
        return ESP_OK;
    }
    const int failure = getaddrinfo(plain, NULL, &hints, &found);
    if (failure != 0)
        return error_set(error, ESP_SYSTEM, "the host \"%.100s\" cannot be resolved: %s", plain,
                         gai_strerror(failure));
    for (const struct addrinfo *each = found; each; each = each->ai_next)
        add(at, each, port);
    freeaddrinfo(found);
    return at->n > 0
               ? ESP_OK
               : error_set(error, ESP_SYSTEM, "the host \"%.100s\" has no address of IPv4 or IPv6", plain);
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6) {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
    }
    return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

bool listen_at_is_loopback(const struct listen_at *at)
{
    for (uint32_t i = 0; i < at->n; i++)
        if (!is_loopback(&at->items[i]))
            return false;
    return at->n > 0;
}

static bool is_same_host(const struct sockaddr_storage *a, const struct sockaddr *b)
{
    if (a->ss_family != b->sa_family)
        return false;
    if (a->ss_family == AF_INET6)
        return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                      &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
    return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
           ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

bool listen_at_is_here(const struct listen_at *at)
{
    struct ifaddrs *all = NULL;
    bool here = at->any || getifaddrs(&all) != 0;
    for (const struct ifaddrs *one = all; one && !here; one = one->ifa_next)
        for (uint32_t i = 0; i < at->n && one->ifa_addr && !here; i++)
            here = is_same_host(&at->items[i], one->ifa_addr);
    if (all)
        freeifaddrs(all);
    return here;
}

const char *listen_at_text(const struct sockaddr_storage *address, char text[LISTEN_TEXT])
{
    char host[NI_MAXHOST] = "";
    getnameinfo((const struct sockaddr *)address, length_of(address), host, sizeof host, NULL, 0,
                NI_NUMERICHOST);
    snprintf(text, LISTEN_TEXT, address->ss_family == AF_INET6 ? "[%.70s]" : "%.70s", host);
    return text;
}

void listen_at_beside(const char *listen, unsigned offset, char *address, size_t size)
{
    char host[256];
    uint16_t port = 0;
    *address = 0;
    if (config_read_address(listen, "0", host, sizeof host, &port, NULL) != ESP_OK)
        return;
    const unsigned beside = port > 0 && port + offset <= 65535 ? port + offset : 0;
    snprintf(address, size, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, beside);
}

static int open_one(const struct sockaddr_storage *address, bool both_families, int backlog)
{
    const int yes = 1, no = 0;
    const int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (both_families && address->ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(fd, (const struct sockaddr *)address, length_of(address)) == 0 && listen(fd, backlog) == 0)
        return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* An address of the name that this machine does not have must not prevent serving at the others. */
static bool may_be_left_out(int why)
{
    return why == EADDRNOTAVAIL || why == EAFNOSUPPORT;
}

static uint16_t port_in(const struct sockaddr_storage *address)
{
    return ntohs(address->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                                : ((const struct sockaddr_in *)address)->sin_port);
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage bound = {0};
    socklen_t length = sizeof bound;
    return getsockname(fd, (struct sockaddr *)&bound, &length) == 0 ? port_in(&bound) : 0;
}

/* Opens a socket at each address, with the port that the first one got. Returns 0, or errno. */
static int open_each(struct listen_at at, int backlog, struct listen_sockets *sockets)
{
    int first = 0;
    sockets->n = 0;
    for (uint32_t i = 0; i < at.n; i++) {
        if (at.any && sockets->n > 0)
            break; /* the IPv6 socket serves IPv4, too */
        if (sockets->n > 0)
            set_port(&at.items[i], port_of(sockets->fds[0]));
        const int fd = open_one(&at.items[i], at.any, backlog);
        if (fd >= 0) {
            sockets->fds[sockets->n++] = fd;
            continue;
        }
        first = first == 0 || !may_be_left_out(errno) ? errno : first;
        if (!at.any && !may_be_left_out(first)) {
            listen_sockets_close(sockets);
            return first;
        }
    }
    return sockets->n > 0 ? 0 : first;
}

/* A port that is free at one address may be in use at another. */
#define ATTEMPTS 10

bool listen_at_open_all(const struct listen_at *at, int backlog, struct listen_sockets *sockets)
{
    const bool any_port = port_in(&at->items[0]) == 0;
    int why = EADDRINUSE;
    for (int i = 0; i < (any_port ? ATTEMPTS : 1) && why == EADDRINUSE; i++)
        why = open_each(*at, backlog, sockets);
    errno = why;
    return why == 0;
}

void listen_sockets_close(struct listen_sockets *sockets)
{
    while (sockets->n > 0)
        close(sockets->fds[--sockets->n]);
}

int listen_at_open(const struct listen_at *at, int backlog)
{
    int why = 0;
    for (uint32_t i = 0; i < at->n; i++) {
        const int fd = open_one(&at->items[i], at->any, backlog);
        if (fd >= 0)
            return fd;
        if (why == 0)
            why = errno;
    }
    errno = why;
    return -1;
}
