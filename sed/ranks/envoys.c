/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/ranks/envoy_internal.h"

#include "util/clock.h"
#include "util/log.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGERS 16              /* unauthenticated connections allowed beyond the number of ranks */
#define LOG_NS    (60 * NS_PER_S) /* between two lines about rejected connections */

/* ---- start and end ---- */

/* Logs rejected connections with a limit, because anybody can connect to the port repeatedly. */
static void tell_of_stranger(struct envoys *envoys, const struct esp_error *error)
{
    int64_t now = clock_now_ns(&clock_system);
    pthread_mutex_lock(&envoys->lock);
    bool due = envoys->told_ns == 0 || now - envoys->told_ns >= LOG_NS;
    if (due)
        envoys->told_ns = now;
    pthread_mutex_unlock(&envoys->lock);
    if (due)
        log_warning("a process that wanted to join as a rank was refused at %s: %s", envoys->at, error->text);
}

static void *live(void *arg)
{
    struct envoy envoy = *(struct envoy *)arg;
    struct envoys *envoys = envoy.envoys;
    struct esp_error error = {.status = ESP_OK};
    free(arg);
    bool met = envoy_meet(&envoy, &error) == ESP_OK;
    pthread_mutex_lock(&envoys->lock);
    envoys->strangers--;
    pthread_mutex_unlock(&envoys->lock);
    if (!met && error.status != ESP_CANCELLED)
        tell_of_stranger(envoys, &error);
    if (met && envoy.channel >= 0 && envoy_serve(&envoy, &error) != ESP_CANCELLED)
        log_warning("rank %u (process %d on %s): %s", envoy.hello.rank, envoy.hello.pid, envoy.hello.host,
                    error.text);
    if (envoy.socket >= 0)
        close(envoy.socket);
    if (envoy.channel >= 0)
        close(envoy.channel);
    pthread_mutex_lock(&envoys->lock);
    envoys->threads--;
    pthread_cond_broadcast(&envoys->changed);
    pthread_mutex_unlock(&envoys->lock);
    return NULL;
}

static bool start_thread(struct envoys *envoys, struct envoy *envoy)
{
    pthread_t thread;
    pthread_mutex_lock(&envoys->lock);
    bool room = envoys->strangers < envoys->options.ranks + STRANGERS;
    envoys->strangers += room;
    envoys->threads += room;
    pthread_mutex_unlock(&envoys->lock);
    if (room && pthread_create(&thread, NULL, live, envoy) == 0) {
        pthread_detach(thread);
        return true;
    }
    pthread_mutex_lock(&envoys->lock);
    envoys->strangers -= room;
    envoys->threads -= room;
    pthread_mutex_unlock(&envoys->lock);
    return false;
}

/* A connection beyond the limit is closed; ranks connect again. */
static void let_in(struct envoys *envoys)
{
    int socket = accept4(envoys->gate, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct envoy *envoy = socket >= 0 ? malloc(sizeof *envoy) : NULL;
    if (envoy)
        *envoy = (struct envoy){
            .envoys = envoys, .socket = socket, .channel = -1, .end = {.stop = envoys->stop, .order = -1}};
    if (envoy && start_thread(envoys, envoy))
        return;
    free(envoy);
    if (socket >= 0)
        close(socket);
}

static void *keep_gate(void *arg)
{
    struct envoys *envoys = arg;
    struct pollfd fds[] = {{.fd = envoys->gate, .events = POLLIN}, {.fd = envoys->stop, .events = POLLIN}};
    while (!fds[1].revents)
        if (poll(fds, 2, -1) > 0 && fds[0].revents)
            let_in(envoys);
    return NULL;
}

/* ---- listening ---- */

static bool listen_at(struct envoys *envoys, const struct addrinfo *at, char *port, size_t size)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    envoys->gate = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return envoys->gate >= 0 && bind(envoys->gate, at->ai_addr, at->ai_addrlen) == 0 &&
           listen(envoys->gate, SOMAXCONN) == 0 &&
           getsockname(envoys->gate, (struct sockaddr *)&name, &length) == 0 &&
           getnameinfo((const struct sockaddr *)&name, length, NULL, 0, port, (socklen_t)size,
                       NI_NUMERICSERV) == 0;
}

/* Ranks get the host's name if the daemon listens at all interfaces. */
static enum esp_status open_gate(struct envoys *envoys, struct esp_error *error)
{
    const struct addrinfo wanted = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    const char *host = envoys->options.host && *envoys->options.host ? envoys->options.host : NULL;
    char name[256] = "", port[8];
    struct addrinfo *found;
    int why = getaddrinfo(host, "0", &wanted, &found);
    if (why != 0)
        return error_set(error, ESP_SYSTEM, "cannot listen for ranks on %s: %s",
                         host ? host : "any interface", gai_strerror(why));
    bool listens = listen_at(envoys, found, port, sizeof port);
    freeaddrinfo(found);
    if (!listens)
        return error_errno(error, "cannot listen for ranks on %s", host ? host : "any interface");
    if (!host && gethostname(name, sizeof name - 1) != 0)
        return error_errno(error, "this host has no name");
    bool brackets = host && strchr(host, ':');
    snprintf(envoys->at, sizeof envoys->at, "%s%.255s%s:%s", brackets ? "[" : "", host ? host : name,
             brackets ? "]" : "", port);
    return ESP_OK;
}

static enum esp_status start_keeper(struct envoys *envoys, struct esp_error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* inherited by its threads */
    int why = pthread_create(&envoys->keeper, NULL, keep_gate, envoys);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    envoys->has_keeper = why == 0;
    errno = why;
    return why == 0 ? ESP_OK : error_errno(error, "cannot start the thread that lets ranks in");
}

enum esp_status envoys_create(const struct envoys_options *options, struct envoys **result,
                              struct esp_error *error)
{
    unsigned char proof[RANK_PROOF_BYTES];
    struct envoys *envoys = calloc(1, sizeof *envoys);
    if (!envoys)
        return error_no_memory(error, "the envoys of ranks");
    envoys->options = *options;
    envoys->gate = -1;
    pthread_mutex_init(&envoys->lock, NULL);
    pthread_cond_init(&envoys->changed, NULL);
    envoys->stop = eventfd(0, EFD_CLOEXEC);
    enum esp_status status = rank_prove("", "nobody", "", 0, proof, error); /* checks that signing works */
    if (status == ESP_OK && envoys->stop < 0)
        status = error_errno(error, "cannot wait for ranks");
    if (status == ESP_OK)
        status = open_gate(envoys, error);
    if (status == ESP_OK)
        status = start_keeper(envoys, error);
    if (status != ESP_OK)
        envoys_destroy(envoys);
    else
        *result = envoys;
    return status;
}

void envoys_destroy(struct envoys *envoys)
{
    static const uint64_t one = 1;
    if (!envoys)
        return;
    if (envoys->has_keeper && write(envoys->stop, &one, sizeof one) == sizeof one)
        pthread_join(envoys->keeper, NULL);
    pthread_mutex_lock(&envoys->lock);
    while (envoys->threads > 0)
        pthread_cond_wait(&envoys->changed, &envoys->lock);
    pthread_mutex_unlock(&envoys->lock);
    if (envoys->gate >= 0)
        close(envoys->gate);
    if (envoys->stop >= 0)
        close(envoys->stop);
    pthread_mutex_destroy(&envoys->lock);
    pthread_cond_destroy(&envoys->changed);
    free(envoys);
}

enum esp_status envoys_expect(struct envoys *envoys, char secret[RANK_SECRET_TEXT], struct esp_error *error)
{
    enum esp_status status = rank_secret_make(secret, error);
    if (status != ESP_OK)
        return status;
    pthread_mutex_lock(&envoys->lock);
    memcpy(envoys->secret, secret, RANK_SECRET_TEXT);
    pthread_mutex_unlock(&envoys->lock);
    return ESP_OK;
}

const char *envoys_at(const struct envoys *envoys)
{
    return envoys->at;
}

static void copy_secret(struct envoys *envoys, char secret[RANK_SECRET_TEXT])
{
    pthread_mutex_lock(&envoys->lock);
    memcpy(secret, envoys->secret, RANK_SECRET_TEXT);
    pthread_mutex_unlock(&envoys->lock);
}

static struct job_key name_by(const char *secret, struct job_key key)
{
    unsigned char proof[RANK_PROOF_BYTES];
    struct job_key name = {0};
    if (job_key_is_none(key))
        return key;
    if (rank_prove(secret, "datum", &key, sizeof key, proof, NULL) == ESP_OK)
        memcpy(&name, proof, sizeof name);
    return name;
}

struct job_key envoys_name(struct envoys *envoys, struct job_key key)
{
    char secret[RANK_SECRET_TEXT];
    copy_secret(envoys, secret);
    return name_by(secret, key);
}

/* ---- ranks that lend their parts of data ---- */

void envoys_lends(const struct envoy *envoy, uint32_t port)
{
    struct porter_lenders *lenders = &envoy->envoys->lenders;
    struct porter_lender lender = {.rank = envoy->hello.rank, .port = (uint16_t)port};
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    if (port == 0 || port > UINT16_MAX || getpeername(envoy->socket, (struct sockaddr *)&peer, &size) != 0 ||
        getnameinfo((const struct sockaddr *)&peer, size, lender.host, sizeof lender.host, NULL, 0,
                    NI_NUMERICHOST) != 0)
        return;
    pthread_mutex_lock(&envoy->envoys->lock);
    if (lenders->n < PORTER_LENDERS_MOST)
        lenders->all[lenders->n++] = lender;
    pthread_mutex_unlock(&envoy->envoys->lock);
}

void envoys_lends_no_more(const struct envoy *envoy)
{
    struct porter_lenders *lenders = &envoy->envoys->lenders;
    pthread_mutex_lock(&envoy->envoys->lock);
    for (uint32_t i = 0; i < lenders->n; i++)
        if (lenders->all[i].rank == envoy->hello.rank)
            lenders->all[i--] = lenders->all[--lenders->n];
    pthread_mutex_unlock(&envoy->envoys->lock);
}

void envoys_lenders(struct envoys *envoys, struct job_key key, uint64_t ticket,
                    struct porter_lenders *lenders)
{
    char secret[RANK_SECRET_TEXT];
    pthread_mutex_lock(&envoys->lock);
    *lenders = envoys->lenders;
    memcpy(secret, envoys->secret, sizeof secret);
    pthread_mutex_unlock(&envoys->lock);
    const struct job_key name = name_by(secret, key);
    lenders->ranks = envoys->options.ranks;
    lenders->name = (struct datum_key){.high = name.high, .low = name.low};
    if (job_key_is_none(name) || rank_porter_key(secret, ticket, lenders->secret, NULL) != ESP_OK)
        lenders->n = 0;
}

void envoys_count(struct envoys *envoys, struct envoys_counts *counts)
{
    *counts = (struct envoys_counts){.sent = atomic_load(&envoys->sent),
                                     .kept = atomic_load(&envoys->kept),
                                     .moved = atomic_load(&envoys->moved)};
}
