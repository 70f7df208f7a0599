/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/ranks/envoy_internal.h"

#include "util/random.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDLE_S 10 /* of a connection, before it is asked whether the other host is there, */
#define ASK_S  5  /* so often, */
#define ASKS   3  /* so many times */

/* ---- saying hello ---- */

/* A dead host closes nothing. */
static void ask_whether_it_is_there(int socket)
{
    const int one = 1, idle = IDLE_S, interval = ASK_S, asks = ASKS;
    const unsigned unanswered_ms = 1000 * (IDLE_S + ASK_S * ASKS);
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &asks, sizeof asks);
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}

/* So many bytes, all of them within the deadline: who trickles is not waited for at each byte. */
static enum esp_status hear_soon(const struct envoy *envoy, void *data, int bytes, struct esp_error *error)
{
    const int one = 1, wanted_ms = envoy->envoys->options.hello_ms;
    const int patience_ms = wanted_ms > 0 ? wanted_ms : FAR_HELLO_MS;
    setsockopt(envoy->socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
    enum esp_status status = porter_wait(envoy->socket, false, &envoy->end, patience_ms, error);
    if (status == ESP_OK)
        status = porter_hear(envoy->socket, data, (size_t)bytes, &envoy->end, error);
    setsockopt(envoy->socket, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof one);
    return status;
}

static enum esp_status check_hello(const struct envoy *envoy, struct esp_error *error)
{
    const struct far_hello *hello = &envoy->hello;
    if (hello->magic != FAR_MAGIC)
        return error_set(error, ESP_PROTOCOL, "it is no rank of Espalier, or of another kind of machine");
    if (hello->version != RANK_LINK_VERSION || hello->ring_bytes != sizeof(struct ring))
        return error_set(error, ESP_PROTOCOL,
                         "espalier-prd there is of another version: expected the same build on all hosts");
    if (hello->size != envoy->envoys->options.ranks || hello->rank >= hello->size)
        return error_set(error, ESP_PROTOCOL, "it says it is rank %u of %u: expected one of %u", hello->rank,
                         hello->size, envoy->envoys->options.ranks);
    if (hello->purpose != FAR_CALLS && hello->purpose != FAR_PULSE)
        return error_set(error, ESP_PROTOCOL, "its connection is for something unknown (%u)", hello->purpose);
    return ESP_OK;
}

/* Each proves to the other that it knows the secret. */
static enum esp_status prove(struct envoy *envoy, struct esp_error *error)
{
    struct envoys *envoys = envoy->envoys;
    struct far_signed both = {.hello = envoy->hello};
    struct far_challenge challenge;
    struct far_proof expected, proof;
    char secret[RANK_SECRET_TEXT];
    pthread_mutex_lock(&envoys->lock);
    memcpy(secret, envoys->secret, sizeof secret);
    pthread_mutex_unlock(&envoys->lock);
    enum esp_status status = random_bytes(challenge.nonce, sizeof challenge.nonce, error);
    memcpy(both.nonce, challenge.nonce, sizeof both.nonce);
    if (status == ESP_OK)
        status = rank_prove(secret, "daemon", &both, sizeof both, challenge.proof, error);
    if (status == ESP_OK)
        status = rank_prove(secret, "rank", &both, sizeof both, expected.proof, error);
    if (status == ESP_OK)
        status = porter_say(envoy->socket, &challenge, sizeof challenge, &envoy->end, error);
    if (status == ESP_OK)
        status = hear_soon(envoy, &proof, sizeof proof, error);
    if (status == ESP_OK && (!secret[0] || !rank_proofs_agree(proof.proof, expected.proof)))
        status = error_set(error, ESP_SECURITY, "it does not know the secret of this job");
    return status;
}

static enum esp_status welcome(const struct envoy *envoy, struct esp_error *error)
{
    const struct envoys_options *options = &envoy->envoys->options;
    const struct far_message message = {.kind = FAR_WELCOME,
                                        .keeps_bytes = options->keeps,
                                        .lends = !options->lends  ? FAR_LENDS_NOTHING
                                                 : options->seals ? FAR_LENDS_SEALED
                                                                  : FAR_LENDS};
    return porter_say(envoy->socket, &message, sizeof message, &envoy->end, error);
}

static enum esp_status give_pulse(struct envoy *envoy, struct esp_error *error)
{
    const struct envoys_options *options = &envoy->envoys->options;
    const enum esp_status status = welcome(envoy, error);
    if (status != ESP_OK)
        return status;
    if (!options->pulse(options->arg, &envoy->hello, envoy->socket))
        return error_set(error, ESP_REFUSED, "the pulse of rank %u is not waited for", envoy->hello.rank);
    envoy->socket = -1;
    return ESP_OK;
}

/* From here on the pool knows of it. */
static enum esp_status arrive(struct envoy *envoy, struct esp_error *error)
{
    const struct envoys_options *options = &envoy->envoys->options;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return error_errno(error, "cannot make a channel for a rank");
    envoy->channel = envoy->end.order = ends[0];
    if (!options->arrived(options->arg, &envoy->hello, ends[1])) {
        close(ends[1]);
        return error_set(error, ESP_REFUSED, "rank %u is not waited for", envoy->hello.rank);
    }
    return welcome(envoy, error);
}

enum esp_status envoy_meet(struct envoy *envoy, struct esp_error *error)
{
    ask_whether_it_is_there(envoy->socket);
    enum esp_status status = hear_soon(envoy, &envoy->hello, sizeof envoy->hello, error);
    if (status == ESP_OK)
        status = check_hello(envoy, error);
    if (status == ESP_OK)
        status = prove(envoy, error);
    if (status == ESP_OK)
        envoy->hello.host[sizeof envoy->hello.host - 1] = 0;
    if (status == ESP_OK)
        status = envoy->hello.purpose == FAR_PULSE ? give_pulse(envoy, error) : arrive(envoy, error);
    return status;
}

/* ---- what it says ---- */

/* Before the pool sees that it has ended. */
static void pass_on(int channel, const struct far_message *word)
{
    const struct rank_message last = {
        .kind = RANK_LAST_WORD, .end = word->end, .code = word->code, .refused_bytes = word->refused_bytes};
    rank_link_send(channel, &last, NULL, 0, MSG_DONTWAIT);
}

/* The pool ends the job with the first rank that is gone; what this one has said by then may tell why. */
static bool has_said_its_end(int socket, struct far_message *message)
{
    return recv(socket, message, sizeof *message, MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof *message &&
           message->kind == FAR_LAST_WORD;
}

enum esp_status envoy_hear(int socket, const struct porter_end *end, struct far_message *message,
                           struct esp_error *error)
{
    enum esp_status status = porter_wait(socket, false, end, -1, error);
    if (status == ESP_CANCELLED && has_said_its_end(socket, message)) {
        pass_on(end->order, message);
        return error_set(error, ESP_UNREACHABLE, "it has ended");
    }
    if (status == ESP_OK)
        status = porter_hear(socket, message, sizeof *message, end, error);
    message->text[sizeof message->text - 1] = 0;
    if (status != ESP_OK || message->kind != FAR_LAST_WORD)
        return status;
    pass_on(end->order, message);
    return error_set(error, ESP_UNREACHABLE, "it has ended");
}

/* ---- between calls ---- */

static enum esp_status hear_ready(const struct envoy *envoy, struct esp_error *error)
{
    struct far_message ready;
    struct rank_message message = {.kind = RANK_READY};
    enum esp_status status = envoy_hear(envoy->socket, &envoy->end, &ready, error);
    if (status == ESP_OK && ready.kind != FAR_READY)
        status = error_set(error, ESP_PROTOCOL, "the rank says what was not asked");
    message.speed = ready.speed;
    if (status == ESP_OK && !rank_link_send(envoy->channel, &message, NULL, 0, MSG_DONTWAIT))
        status = error_errno(error, "the pool of ranks does not hear");
    if (status == ESP_OK)
        envoys_lends(envoy, ready.lends);
    return status;
}

/* It is not asked anything. */
static enum esp_status hear_end(const struct envoy *envoy, struct esp_error *error)
{
    struct far_message message;
    const enum esp_status status = envoy_hear(envoy->socket, &envoy->end, &message, error);
    if (status == ESP_OK)
        return error_set(error, ESP_PROTOCOL, "the rank says what was not asked");
    return status == ESP_CANCELLED
               ? status
               : error_set(error, ESP_UNREACHABLE, "it has ended, or its host cannot be reached any more");
}

/* The pool's next message. ESP_CANCELLED: the pool has closed the channel, or all of it ends. */
static enum esp_status await_order(const struct envoy *envoy, struct rank_message *order, int *files,
                                   uint32_t *n, struct esp_error *error)
{
    struct pollfd fds[] = {{.fd = envoy->channel, .events = POLLIN},
                           {.fd = envoy->socket, .events = POLLIN | POLLRDHUP},
                           {.fd = envoy->end.stop, .events = POLLIN}};
    while (poll(fds, 3, -1) < 0 && errno == EINTR)
        ;
    *n = 0;
    if (fds[2].revents)
        return error_set(error, ESP_CANCELLED, "the ranks are ended");
    if (fds[1].revents)
        return hear_end(envoy, error);
    return rank_link_receive(envoy->channel, order, files, n, MSG_DONTWAIT) == 1
               ? ESP_OK
               : error_set(error, ESP_CANCELLED, "the job is ended");
}

static enum esp_status make_call(const struct envoy *envoy, const struct rank_message *order,
                                 struct ring_job *job, const int *files, uint32_t n, struct esp_error *error)
{
    const struct envoys_options *options = &envoy->envoys->options;
    struct envoy_call call = {.socket = envoy->socket,
                              .end = envoy->end,
                              .rank = envoy->hello.rank,
                              .ring = options->ring(options->arg, order->ring),
                              .job = job,
                              .files = files,
                              .n_files = n,
                              .bell = options->bell,
                              .envoys = envoy->envoys};
    if (order->kind != RANK_FILES || !call.ring)
        return error_set(error, ESP_INTERNAL, "an envoy was handed a malformed call");
    return envoy_make_call(&call, error);
}

enum esp_status envoy_serve(const struct envoy *envoy, struct esp_error *error)
{
    struct rank_message order;
    int files[RING_MAX_DESCRIPTORS];
    uint32_t n;
    struct ring_job *job = malloc(sizeof *job);
    enum esp_status status = job ? hear_ready(envoy, error) : error_no_memory(error, "an envoy of a rank");
    while (status == ESP_OK) {
        status = await_order(envoy, &order, files, &n, error);
        if (status == ESP_OK)
            status = make_call(envoy, &order, job, files, n, error);
        for (uint32_t i = 0; i < n; i++)
            close(files[i]);
    }
    free(job);
    envoys_lends_no_more(envoy);
    return status;
}
