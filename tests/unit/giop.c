/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/giop.h"

#include "util/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER        12
#define KEY           "espalier-1"
#define REQUEST_ID    7
#define TYPE_REPLY    1
#define TYPE_FRAGMENT 7
#define MORE_FOLLOWS  2

static void align(struct giop *giop, size_t size)
{
    while (giop->n % size != 0)
        giop->bytes[giop->n++] = 0;
}

static void store(const struct giop *giop, uint8_t *to, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[giop->big ? size - 1 - i : i] = (uint8_t)(value >> (8 * i));
}

static uint64_t load(const struct giop *giop, const uint8_t *from, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)from[giop->big ? size - 1 - i : i] << (8 * i);
    return value;
}

void giop_put(struct giop *giop, uint64_t value, size_t size)
{
    align(giop, size);
    store(giop, giop->bytes + giop->n, value, size);
    giop->n += size;
}

void giop_put_bytes(struct giop *giop, const void *data, uint32_t n)
{
    giop_put(giop, n, 4);
    memcpy(giop->bytes + giop->n, data, n);
    giop->n += n;
}

void giop_put_text(struct giop *giop, const char *text)
{
    giop_put_bytes(giop, text, (uint32_t)strlen(text) + 1);
}

void giop_request(struct giop *giop, uint8_t minor, bool big, const char *operation)
{
    memcpy(giop->bytes, "GIOP\1", 5);
    giop->bytes[5] = minor;
    giop->bytes[6] = !big;
    giop->bytes[7] = 0; /* request */
    giop->n = HEADER;
    giop->minor = minor;
    giop->big = big;
    if (minor < 2)
        giop_put(giop, 0, 4); /* service contexts */
    giop_put(giop, REQUEST_ID, 4);
    giop_put(giop, minor < 2 ? 1 : 3, 1); /* response expected */
    if (minor > 0)
        giop->n += 3; /* reserved */
    if (minor == 2)
        giop_put(giop, 0, 2); /* by key */
    giop_put_bytes(giop, KEY, strlen(KEY));
    giop_put_text(giop, operation);
    giop_put(giop, 0, 4); /* principal, or service contexts */
    if (minor == 2)
        align(giop, 8);
}

void giop_finish(struct giop *giop)
{
    store(giop, giop->bytes + 8, giop->n - HEADER, 4);
}

int giop_dial(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    char host[INET_ADDRSTRLEN] = "";
    const char *colon = strrchr(address, ':');
    memcpy(host, address, (size_t)(colon - address) % sizeof host);
    to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1)
        return -1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

bool giop_send(int fd, const struct giop *giop)
{
    return send(fd, giop->bytes, giop->n, MSG_NOSIGNAL) == (ssize_t)giop->n;
}

size_t giop_send_fragment(int fd, const struct giop *giop, size_t from, size_t bytes)
{
    const size_t n = bytes < giop->n - from ? bytes : giop->n - from, head = from == 0 ? 0 : HEADER + 4;
    uint8_t message[HEADER + 4 + GIOP_MOST];
    memcpy(message, giop->bytes, HEADER + 4); /* the request's number follows the header in both */
    memcpy(message + head, giop->bytes + from, n);
    if (from + n < giop->n)
        message[6] |= MORE_FOLLOWS;
    if (from > 0)
        message[7] = TYPE_FRAGMENT;
    store(giop, message + 8, head + n - HEADER, 4);
    const bool sent = send(fd, message, head + n, MSG_NOSIGNAL) == (ssize_t)(head + n);
    return sent ? from + n : giop->n;
}

static bool receive(int fd, void *data, size_t size, int64_t until_ns)
{
    for (size_t n = 0; n < size;) {
        int64_t left_ms = (until_ns - clock_now_ns(&clock_system)) / NS_PER_MS;
        struct pollfd poll_for = {fd, POLLIN, 0};
        if (left_ms <= 0 || poll(&poll_for, 1, (int)left_ms) != 1)
            return false;
        ssize_t got = recv(fd, (uint8_t *)data + n, size - n, MSG_DONTWAIT);
        if (got <= 0)
            return false;
        n += (size_t)got;
    }
    return true;
}

static void skip_contexts(struct giop *giop)
{
    for (uint64_t n = giop_get(giop, 4); n > 0; n--) {
        giop_get(giop, 4);
        giop->at += giop_get(giop, 4);
    }
}

int giop_reply(int fd, struct giop *giop, int patience_ms)
{
    int64_t until_ns = clock_now_ns(&clock_system) + patience_ms * NS_PER_MS;
    if (!receive(fd, giop->bytes, HEADER, until_ns) || memcmp(giop->bytes, "GIOP\1", 5) != 0)
        return -1;
    giop->minor = giop->bytes[5];
    giop->big = !(giop->bytes[6] & 1);
    giop->n = HEADER + load(giop, giop->bytes + 8, 4);
    giop->at = HEADER;
    if (giop->bytes[7] != TYPE_REPLY || giop->n > GIOP_MOST ||
        !receive(fd, giop->bytes + HEADER, giop->n - HEADER, until_ns))
        return -1;
    if (giop->minor < 2)
        skip_contexts(giop);
    bool ours = giop_get(giop, 4) == REQUEST_ID;
    int status = (int)giop_get(giop, 4);
    if (giop->minor == 2) {
        skip_contexts(giop);
        giop->at = (giop->at + 7) / 8 * 8;
    }
    return ours ? status : -1;
}

uint64_t giop_get(struct giop *giop, size_t size)
{
    giop->at = (giop->at + size - 1) / size * size;
    if (giop->at + size > giop->n)
        return 0;
    giop->at += size;
    return load(giop, giop->bytes + giop->at - size, size);
}

const char *giop_get_text(struct giop *giop)
{
    uint64_t length = giop_get(giop, 4);
    const char *text = (const char *)giop->bytes + giop->at;
    if (length == 0 || giop->at + length > giop->n)
        return "";
    giop->at += length;
    return text;
}

bool giop_hangs_up(int fd, int patience_ms)
{
    int64_t until_ns = clock_now_ns(&clock_system) + patience_ms * NS_PER_MS;
    for (;;) {
        int64_t left_ms = (until_ns - clock_now_ns(&clock_system)) / NS_PER_MS;
        struct pollfd poll_for = {fd, POLLIN | POLLRDHUP, 0};
        char bytes[4096];
        if (poll(&poll_for, 1, left_ms > 0 ? (int)left_ms : 0) != 1)
            return false;
        if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
            return true;
    }
}
