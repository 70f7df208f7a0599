/* SPDX-License-Identifier: Apache-2.0
 *
 * A rank whose daemon is on another host (sed/ranks/rank_far.h). */
#include "sed/mpi/prd.h"
#include "sed/porter/porter.h"
#include "sed/porter/porter_stream.h"
#include "sed/ranks/gang.h"

#include "util/clock.h"
#include "util/config.h"
#include "util/random.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TRY_NS   (20 * NS_PER_S) /* a busy daemon closes the connection */
#define PAUSE_NS (200 * NS_PER_MS)
#define DEAD_MS  30000 /* without an acknowledgement of sent data, or of keepalive probes */

static const struct porter_end nobody = {.stop = -1, .order = -1};

/* ---- sending ---- */

/* The last message must not be mixed with the bytes of another one. */
static _Atomic unsigned held;

void far_hold(void)
{
    atomic_fetch_add(&held, 1);
}

void far_let(void)
{
    atomic_fetch_sub(&held, 1);
}

bool far_say(int socket, const void *data, uint64_t bytes)
{
    far_hold();
    const bool said = porter_say(socket, data, bytes, &nobody, NULL) == ESP_OK;
    far_let();
    return said;
}

void far_say_end(int socket, const struct rank_message *last)
{
    const struct far_message word = {
        .kind = FAR_LAST_WORD, .end = last->end, .code = last->code, .refused_bytes = last->refused_bytes};
    if (atomic_load(&held) == 0)
        send(socket, &word, sizeof word, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- connecting ---- */

static int connect_once(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
        int why = errno;
        close(fd);
        errno = why;
        fd = -1;
    }
    return fd;
}

static int connect_to(const char *at, struct esp_error *error)
{
    char host[256], service[8];
    uint16_t port;
    struct addrinfo *found;
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    const int one = 1;
    const unsigned dead_ms = DEAD_MS;
    if (config_read_address(at, NULL, host, sizeof host, &port, error) != ESP_OK)
        return -1;
    snprintf(service, sizeof service, "%u", port);
    int why = getaddrinfo(host, service, &wanted, &found), fd = -1;
    if (why != 0) {
        error_set(error, ESP_UNREACHABLE, "%s cannot be resolved: %s", host, gai_strerror(why));
        return -1;
    }
    for (const struct addrinfo *one_of = found; one_of && fd < 0; one_of = one_of->ai_next)
        fd = connect_once(one_of);
    if (fd < 0)
        error_errno(error, "cannot connect to %s", at);
    freeaddrinfo(found);
    if (fd >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof dead_ms);
    }
    return fd;
}

/* ---- authentication ---- */

static enum far_lends lends;                 /* of its cached parts, to other servers */
static char porter_secret[RANK_SECRET_TEXT]; /* of the job; the keys of its porter are derived from it */

struct caller {
    const char *at;
    char secret[RANK_SECRET_TEXT];
    uint32_t rank, size;
    enum far_purpose purpose;
};

static enum esp_status say_hello(int socket, const struct caller *caller, struct far_signed *both,
                                 struct esp_error *error)
{
    struct far_hello *hello = &both->hello;
    *both = (struct far_signed){.hello = {.magic = FAR_MAGIC,
                                          .version = RANK_LINK_VERSION,
                                          .ring_bytes = sizeof(struct ring),
                                          .rank = caller->rank,
                                          .size = caller->size,
                                          .purpose = caller->purpose,
                                          .pid = getpid()}};
    gethostname(hello->host, sizeof hello->host - 1);
    enum esp_status status = random_bytes(hello->nonce, sizeof hello->nonce, error);
    return status == ESP_OK ? porter_say(socket, hello, sizeof *hello, &nobody, error) : status;
}

static enum esp_status meet(int socket, const struct caller *caller, struct esp_error *error)
{
    const char *secret = caller->secret;
    struct far_signed both;
    struct far_challenge challenge;
    struct far_proof expected, mine;
    struct far_message welcome;
    enum esp_status status = say_hello(socket, caller, &both, error);
    if (status == ESP_OK)
        status = porter_hear(socket, &challenge, sizeof challenge, &nobody, error);
    if (status != ESP_OK)
        return status;
    memcpy(both.nonce, challenge.nonce, sizeof both.nonce);
    status = rank_prove(secret, "daemon", &both, sizeof both, expected.proof, error);
    if (status == ESP_OK && !rank_proofs_agree(challenge.proof, expected.proof))
        status = error_set(error, ESP_SECURITY, "who answers there does not know the secret of this job");
    if (status == ESP_OK)
        status = rank_prove(secret, "rank", &both, sizeof both, mine.proof, error);
    if (status == ESP_OK)
        status = porter_say(socket, &mine, sizeof mine, &nobody, error);
    if (status == ESP_OK)
        status = porter_hear(socket, &welcome, sizeof welcome, &nobody, error);
    if (status == ESP_OK && caller->purpose == FAR_CALLS) {
        kept_begin(welcome.keeps_bytes);
        lends = welcome.keeps_bytes > 0 ? (enum far_lends)welcome.lends : FAR_LENDS_NOTHING;
        memcpy(porter_secret, secret, sizeof porter_secret);
    }
    return status;
}

static int try_once(const struct caller *caller, struct esp_error *error)
{
    int fd = connect_to(caller->at, error);
    if (fd < 0 || meet(fd, caller, error) == ESP_OK)
        return fd;
    close(fd);
    return -1;
}

static int try_for_a_while(const struct caller *caller, struct esp_error *error)
{
    const int64_t until = clock_now_ns(&clock_system) + TRY_NS;
    int fd = try_once(caller, error);
    while (fd < 0 && error->status != ESP_SECURITY && clock_now_ns(&clock_system) < until) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        fd = try_once(caller, error);
    }
    return fd;
}

bool far_connect(const char *at, uint32_t rank, uint32_t size, struct far_lines *lines,
                 struct esp_error *error)
{
    struct caller caller = {.at = at, .rank = rank, .size = size, .purpose = FAR_CALLS};
    const char *told = getenv(RANK_SECRET_VARIABLE);
    snprintf(caller.secret, sizeof caller.secret, "%s", told ? told : "");
    unsetenv(RANK_SECRET_VARIABLE); /* programs that routines start do not need it */
    *lines = (struct far_lines){.calls = try_for_a_while(&caller, error), .pulse = -1};
    if (lines->calls < 0)
        return false;
    caller.purpose = FAR_PULSE;
    lines->pulse = try_for_a_while(&caller, error);
    if (lines->pulse < 0)
        close(lines->calls);
    return lines->pulse >= 0;
}

bool far_beat(int pulse)
{
    char bytes[64];
    const ssize_t n = recv(pulse, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    return n > 0 && send(pulse, bytes, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n;
}

/* ---- calls ---- */

struct far {
    int socket;
    struct ring *ring;
    bool calling; /* other ranks may still be in the routine of the last call, and wait for a message of this
                     rank */
    bool beside;  /* it was outside the grid of that call */
};

#define BESIDE_MS 1

/* Sleeps in the kernel until the envoy sends a message; or keeps serving messages of MPI for as long.
 * Routines send none to a rank outside the grid. */
static bool await(const struct far *far, struct far_message *message)
{
    struct pollfd heard = {.fd = far->socket, .events = POLLIN};
    int any;
    while (far->calling && poll(&heard, 1, far->beside ? BESIDE_MS : 0) == 0) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &any, MPI_STATUS_IGNORE);
        sched_yield();
    }
    return porter_wait(far->socket, false, &nobody, -1, NULL) == ESP_OK &&
           porter_hear(far->socket, message, sizeof *message, &nobody, NULL) == ESP_OK;
}

static bool take_job(const struct far *far)
{
    struct ring_job *job = &far->ring->job;
    if (porter_hear(far->socket, job, FAR_JOB_BYTES, &nobody, NULL) != ESP_OK || job->front > job->end ||
        job->end > RING_ARENA_BYTES || job->n_parts > PROBLEM_MAX_ARGUMENTS)
        return false;
    job->command.n_words = 0;
    return porter_hear(far->socket, far->ring->arena + job->front, job->end - job->front, &nobody, NULL) ==
           ESP_OK;
}

static bool find_porter_key(uint64_t ticket, unsigned char secret[PORTER_SECRET_BYTES])
{
    return rank_porter_key(porter_secret, ticket, secret, NULL) == ESP_OK;
}

/* Listens on the address under which the daemon knows the rank. If no porter can connect, the cache is
 * only used locally. */
static uint32_t start_lending(int socket)
{
    static struct porter *porter; /* exists as long as the rank */
    static struct porter_keeper keeper;
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    char host[NI_MAXHOST];
    struct esp_error error = {.text = "it has no address"};
    keeper = kept_keeper;
    keeper.key = find_porter_key;
    keeper.sealed = lends == FAR_LENDS_SEALED;
    if (getsockname(socket, (struct sockaddr *)&name, &size) == 0 &&
        getnameinfo((const struct sockaddr *)&name, size, host, sizeof host, NULL, 0, NI_NUMERICHOST) == 0 &&
        porter_create_keeping(&keeper, host, &porter, &error) == ESP_OK)
        return porter_port(porter);
    fprintf(stderr, "espalier-prd: a rank lends nothing to other servers: %s\n", error.text);
    return 0;
}

static bool say_ready(int socket)
{
    struct far_message ready = {.kind = FAR_READY,
                                .lends = lends != FAR_LENDS_NOTHING ? start_lending(socket) : 0};
    rank_measure(&ready.speed, false);
    rank_memory_begin();
    return far_say(socket, &ready, sizeof ready);
}

void far_serve(int socket, uint32_t rank)
{
    struct far far = {.socket = socket};
    struct far_message message;
    struct esp_error error;
    int fd;
    if (ring_create(&far.ring, &fd, &error) != ESP_OK) {
        fprintf(stderr, "espalier-prd: rank %u: %s\n", rank, error.text);
        return;
    }
    close(fd);
    if (!say_ready(socket))
        return;
    while (await(&far, &message)) {
        far.calling = false;
        if (message.kind == FAR_THROUGH)
            continue;
        if (message.kind != FAR_CALL || !take_job(&far) || !rank_call_far(far.ring, rank, socket))
            return;
        far.calling = true;
        far.beside = gang_is_beside(&far.ring->job, rank);
    }
}
