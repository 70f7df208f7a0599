/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/raw_tcp.h"
#include "bench/bench.h"

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

#define CHUNK ((uint64_t)1 << 20)

struct command {
    bool gives, fresh;
    uint64_t bytes;
};

/* What one thread moves over one connection: every n-th chunk. */
struct lane {
    pthread_t thread;
    int socket, n, first;
    char *data;
    uint64_t bytes;
    bool sends;
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

static void *run_lane(void *arg)
{
    const struct lane *lane = arg;
    for (uint64_t at = (uint64_t)lane->first * CHUNK; at < lane->bytes; at += (uint64_t)lane->n * CHUNK)
        move_chunk(lane->socket, lane->data + at, lane->bytes - at < CHUNK ? lane->bytes - at : CHUNK,
                   lane->sends);
    return NULL;
}

static void move_all(const struct raw_tcp *raw, char *data, uint64_t bytes, bool sends)
{
    struct lane lanes[RAW_MOST_CONNECTIONS];
    for (int i = 0; i < raw->n; i++) {
        lanes[i] = (struct lane){
            .socket = raw->sockets[i], .n = raw->n, .first = i, .data = data, .bytes = bytes, .sends = sends};
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

_Noreturn static void serve(const struct raw_tcp *raw, int commands, int answers, uint64_t most)
{
    struct command command;
    char *own = fresh_memory(most);
    memset(own, 1, most);
    while (read(commands, &command, sizeof command) == sizeof command) {
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

void raw_tcp_start(struct raw_tcp *raw, const char *host, int connections, uint64_t most)
{
    int to[2], from[2], theirs[RAW_MOST_CONNECTIONS];
    raw->n = connections;
    connect_pairs(raw, host, theirs);
    if (pipe(to) != 0 || pipe(from) != 0 || (raw->child = fork()) < 0)
        bench_fail("raw TCP: cannot start: %s", strerror(errno));
    if (raw->child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(to[1]);
        memcpy(raw->sockets, theirs, sizeof theirs);
        serve(raw, to[0], from[1], most);
    }
    close(to[0]);
    close(from[1]);
    for (int i = 0; i < connections; i++)
        close(theirs[i]);
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

void raw_tcp_stop(struct raw_tcp *raw)
{
    for (int i = 0; i < raw->n; i++)
        close(raw->sockets[i]);
    close(raw->commands);
    close(raw->answers);
    waitpid(raw->child, NULL, 0);
}
