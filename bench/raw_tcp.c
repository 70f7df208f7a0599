/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/raw_tcp.h"
#include "bench/bench.h"
#include "bench/raw_tls.h"
#include "util/crc32c.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK     ((uint64_t)1 << 20)
#define TLS_CHUNK ((uint64_t)4 << 20)
/* What is summed at a time by who receives. */
#define PIECE ((uint64_t)128 << 10)

struct command {
    bool ends, gives, fresh;
    uint64_t bytes;
};

/* What one thread moves over one connection: every n-th chunk. */
struct lane {
    pthread_t thread;
    int socket, n, first;
    struct ssl_st *tls; /* NULL: plain */
    char *data;
    uint64_t bytes;
    bool sends, sums;
};

static void move_chunk(int socket, char *data, uint64_t bytes, bool sends)
{
    while (bytes > 0) {
        ssize_t n = sends ? send(socket, data, bytes, MSG_NOSIGNAL) : recv(socket, data, bytes, 0);
        if (n <= 0)
            bench_fail("raw TCP: %s", n < 0 ? strerror(errno) : "the other side is gone");
        data += n;
        bytes -= (uint64_t)n;
    }
}

static void send_summed(int socket, char *data, uint64_t bytes)
{
    char acknowledged;
    uint32_t sum = crc32c(0, data, bytes);
    move_chunk(socket, (char *)&sum, sizeof sum, true);
    move_chunk(socket, data, bytes, true);
    move_chunk(socket, &acknowledged, 1, false);
}

static void receive_summed(int socket, char *data, uint64_t bytes)
{
    char acknowledged = 1;
    uint32_t expected, found = 0;
    move_chunk(socket, (char *)&expected, sizeof expected, false);
    for (uint64_t at = 0; at < bytes; at += PIECE) {
        const uint64_t n = bytes - at < PIECE ? bytes - at : PIECE;
        move_chunk(socket, data + at, n, false);
        found = crc32c(found, data + at, n);
    }
    if (found != expected)
        bench_fail("raw TCP: a chunk was damaged on the way");
    move_chunk(socket, &acknowledged, 1, true);
}

static void *run_lane(void *arg)
{
    const struct lane *lane = arg;
    const uint64_t chunk = lane->tls ? TLS_CHUNK : CHUNK;
    for (uint64_t at = (uint64_t)lane->first * chunk; at < lane->bytes; at += (uint64_t)lane->n * chunk) {
        const uint64_t bytes = lane->bytes - at < chunk ? lane->bytes - at : chunk;
        if (lane->sums)
            (lane->sends ? send_summed : receive_summed)(lane->socket, lane->data + at, bytes);
        else if (!lane->tls)
            move_chunk(lane->socket, lane->data + at, bytes, lane->sends);
        else if (!raw_tls_move(lane->tls, lane->data + at, bytes, lane->sends))
            bench_fail("raw TLS: the other side is gone");
    }
    return NULL;
}

static void move_all(const struct raw_tcp *raw, char *data, uint64_t bytes, bool sends)
{
    struct lane lanes[RAW_MOST_CONNECTIONS];
    for (int i = 0; i < raw->n; i++) {
        lanes[i] = (struct lane){.socket = raw->sockets[i],
                                 .tls = raw->tls[i],
                                 .n = raw->n,
                                 .first = i,
                                 .data = data,
                                 .bytes = bytes,
                                 .sends = sends,
                                 .sums = raw->way == RAW_SUMMED};
        if (pthread_create(&lanes[i].thread, NULL, run_lane, &lanes[i]) != 0)
            bench_fail("raw TCP: no thread");
    }
    for (int i = 0; i < raw->n; i++)
        pthread_join(lanes[i].thread, NULL);
}

static char *fresh_memory(uint64_t bytes)
{
    int file = memfd_create("bench", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
        bench_fail("raw TCP: no memory file: %s", strerror(errno));
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        bench_fail("raw TCP: no memory: %s", strerror(errno));
    return memory;
}

static char *touched_memory(uint64_t bytes)
{
    return bytes > 0 ? memset(fresh_memory(bytes), 1, bytes) : NULL;
}

_Noreturn static void serve(const struct raw_tcp *raw, int commands, int answers, uint64_t most)
{
    struct command command;
    char *own = touched_memory(most);
    while (read(commands, &command, sizeof command) == sizeof command && !command.ends) {
        if (!command.fresh && command.bytes > most) {
            if (own)
                munmap(own, most);
            most = command.bytes;
            own = touched_memory(most);
        }
        char *memory = command.fresh ? fresh_memory(command.bytes) : own;
        move_all(raw, memory, command.bytes, command.gives);
        if (write(answers, "", 1) != 1)
            break;
        if (memory != own)
            munmap(memory, command.bytes);
    }
    _exit(0);
}

static int listen_at(const char *host, struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    if (inet_pton(AF_INET, host, &address->sin_addr) != 1 ||
        bind(listening, (struct sockaddr *)address, sizeof *address) != 0 || listen(listening, 2) != 0 ||
        getsockname(listening, (struct sockaddr *)address, &length) != 0)
        bench_fail("raw TCP: cannot listen on %s: %s", host, strerror(errno));
    return listening;
}

static void connect_pairs(struct raw_tcp *raw, const char *host, int *theirs)
{
    const int yes = 1;
    struct sockaddr_in address;
    int listening = listen_at(host, &address);
    for (int i = 0; i < raw->n; i++) {
        raw->sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(raw->sockets[i], (struct sockaddr *)&address, sizeof address) != 0 ||
            (theirs[i] = accept(listening, NULL, NULL)) < 0)
            bench_fail("raw TCP: cannot connect to %s: %s", host, strerror(errno));
        setsockopt(raw->sockets[i], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        setsockopt(theirs[i], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    close(listening);
}

void raw_tcp_start(struct raw_tcp *raw, enum raw_way way, const char *host, int connections, uint64_t most)
{
    int to[2], from[2], theirs[RAW_MOST_CONNECTIONS];
    const bool tls = way == RAW_TLS;
    *raw = (struct raw_tcp){.way = way, .n = connections};
    connect_pairs(raw, host, theirs);
    if (pipe(to) != 0 || pipe(from) != 0 || (raw->child = fork()) < 0)
        bench_fail("raw TCP: cannot start: %s", strerror(errno));
    if (raw->child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(to[1]);
        memcpy(raw->sockets, theirs, sizeof theirs);
        for (int i = 0; tls && i < connections; i++)
            raw->tls[i] = raw_tls_shake(theirs[i], true);
        serve(raw, to[0], from[1], most);
    }
    close(to[0]);
    close(from[1]);
    for (int i = 0; i < connections; i++)
        close(theirs[i]);
    for (int i = 0; tls && i < connections; i++)
        raw->tls[i] = raw_tls_shake(raw->sockets[i], false);
    raw->commands = to[1];
    raw->answers = from[0];
}

static double run(struct raw_tcp *raw, char *data, struct command command)
{
    char byte;
    double start = bench_now();
    if (write(raw->commands, &command, sizeof command) != sizeof command)
        bench_fail("raw TCP: the child is gone");
    move_all(raw, data, command.bytes, !command.gives);
    if (read(raw->answers, &byte, 1) != 1)
        bench_fail("raw TCP: the child is gone");
    return bench_now() - start;
}

double raw_tcp_put(struct raw_tcp *raw, const char *data, uint64_t bytes, bool fresh)
{
    return run(raw, (char *)(uintptr_t)data, (struct command){.fresh = fresh, .bytes = bytes});
}

double raw_tcp_get(struct raw_tcp *raw, char *data, uint64_t bytes, bool fresh)
{
    return run(raw, data, (struct command){.gives = true, .fresh = fresh, .bytes = bytes});
}

/* The child is told: a later child holds the other end of its pipe, too. */
void raw_tcp_stop(struct raw_tcp *raw)
{
    const struct command end = {.ends = true};
    if (write(raw->commands, &end, sizeof end) != sizeof end)
        bench_fail("raw TCP: the child is gone");
    for (int i = 0; i < raw->n; i++) {
        raw_tls_end(raw->tls[i]);
        close(raw->sockets[i]);
    }
    close(raw->commands);
    close(raw->answers);
    waitpid(raw->child, NULL, 0);
}
