/* SPDX-License-Identifier: Apache-2.0
 *
 * Who connects to a porter, each on a thread of its own: the daemon with an order, other porters for what is
 * lent (porter_serve.c).
 */
#include "sed/porter/porter_internal.h"

#include "util/listen_at.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* All porters of a server may want a piece at a time, and orders. */
#define MOST_THREADS (PORTERS_MOST + 256)

struct visitor {
    struct porter *porter;
    int socket;
    bool local;
};

static void *serve(void *arg)
{
    struct visitor visitor = *(struct visitor *)arg;
    struct porter *porter = visitor.porter;
    free(arg);
    if (visitor.local)
        porter_serve_daemon(porter, visitor.socket);
    else
        porter_serve_porter(porter, visitor.socket);
    close(visitor.socket);
    pthread_mutex_lock(&porter->lock);
    porter->threads--;
    pthread_cond_broadcast(&porter->changed);
    pthread_mutex_unlock(&porter->lock);
    return NULL;
}

/* Who comes when there are too many sees that the connection is closed. */
static bool start_thread(struct porter *porter, struct visitor *visitor)
{
    pthread_t thread;
    pthread_mutex_lock(&porter->lock);
    bool room = porter->threads < MOST_THREADS;
    porter->threads += room;
    pthread_mutex_unlock(&porter->lock);
    if (room && pthread_create(&thread, NULL, serve, visitor) == 0) {
        pthread_detach(thread);
        return true;
    }
    pthread_mutex_lock(&porter->lock);
    porter->threads -= room;
    pthread_mutex_unlock(&porter->lock);
    return false;
}

static void welcome(struct porter *porter, int listener)
{
    int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (socket < 0)
        return;
    struct visitor *visitor = malloc(sizeof *visitor);
    if (visitor)
        *visitor = (struct visitor){porter, socket, listener == porter->local};
    if (visitor && start_thread(porter, visitor))
        return;
    free(visitor);
    close(socket);
}

static void *listen_on(void *arg)
{
    struct porter *porter = arg;
    struct pollfd fds[] = {{.fd = porter->local, .events = POLLIN},
                           {.fd = porter->tcp, .events = POLLIN},
                           {.fd = porter->stop, .events = POLLIN}};
    while (!fds[2].revents) {
        if (poll(fds, 3, -1) < 0)
            continue;
        for (int i = 0; i < 2; i++)
            if (fds[i].revents)
                welcome(porter, fds[i].fd);
    }
    return NULL;
}

/* ---- life ---- */

static enum esp_status listen_local(struct porter *porter, const char *path, struct esp_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return error_set(error, ESP_LIMIT, "the path of a porter's socket is too long: %s", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    memcpy(porter->path, path, strlen(path) + 1);
    unlink(path);
    porter->local = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (porter->local < 0 || bind(porter->local, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(porter->local, SOMAXCONN) != 0)
        return error_errno(error, "cannot listen for orders at %s", path);
    return ESP_OK;
}

static enum esp_status listen_tcp(struct porter *porter, const char *host, uint16_t wanted,
                                  struct esp_error *error)
{
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    struct listen_at at;
    char port[8];
    const char *shown = host && *host ? host : "any interface";
    if (listen_at_find(host ? host : "", wanted, &at, error) != ESP_OK)
        return error_prefix(error, "cannot listen for porters");
    porter->tcp = listen_at_open(&at, SOMAXCONN);
    if (porter->tcp < 0 || getsockname(porter->tcp, (struct sockaddr *)&name, &size) != 0 ||
        getnameinfo((const struct sockaddr *)&name, size, NULL, 0, port, sizeof port, NI_NUMERICSERV) != 0)
        return error_errno(error, "cannot listen for porters on %s, port %u", shown, wanted);
    porter->port = (uint16_t)strtoul(port, NULL, 10);
    return ESP_OK;
}

static enum esp_status start(struct porter *porter, struct esp_error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* its threads inherit that */
    int why = pthread_create(&porter->listener, NULL, listen_on, porter);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    porter->listening = why == 0;
    errno = why;
    return why == 0 ? ESP_OK : error_errno(error, "cannot start a porter's thread");
}

/* `path`: NULL: it takes no orders. */
static enum esp_status create(const char *path, const char *host, uint16_t port,
                              const struct porter_keeper *keeper, struct porter **result,
                              struct esp_error *error)
{
    struct porter *porter = calloc(1, sizeof *porter);
    if (!porter)
        return error_no_memory(error, "a porter");
    porter->local = porter->tcp = -1;
    porter->keeper = keeper;
    pthread_mutex_init(&porter->lock, NULL);
    pthread_cond_init(&porter->changed, NULL);
    porter->stop = eventfd(0, EFD_CLOEXEC);
    enum esp_status status = porter->stop < 0 ? error_errno(error, "cannot start a porter") : ESP_OK;
    if (status == ESP_OK && path)
        status = listen_local(porter, path, error);
    if (status == ESP_OK)
        status = listen_tcp(porter, host, port, error);
    if (status == ESP_OK)
        status = start(porter, error);
    if (status != ESP_OK)
        porter_destroy(porter);
    else
        *result = porter;
    return status;
}

enum esp_status porter_create(const char *path, const char *host, struct porter **porter,
                              struct esp_error *error)
{
    return create(path, host, 0, NULL, porter, error);
}

enum esp_status porter_create_at(const char *path, const char *host, uint16_t port, struct porter **porter,
                                 struct esp_error *error)
{
    return create(path, host, port, NULL, porter, error);
}

enum esp_status porter_create_keeping(const struct porter_keeper *keeper, const char *host,
                                      struct porter **porter, struct esp_error *error)
{
    return create(NULL, host, 0, keeper, porter, error);
}

uint16_t porter_port(const struct porter *porter)
{
    return porter->port;
}

void porter_destroy(struct porter *porter)
{
    static const uint64_t one = 1;
    if (!porter)
        return;
    if (porter->listening && write(porter->stop, &one, sizeof one) == sizeof one)
        pthread_join(porter->listener, NULL);
    pthread_mutex_lock(&porter->lock);
    while (porter->threads > 0)
        pthread_cond_wait(&porter->changed, &porter->lock);
    pthread_mutex_unlock(&porter->lock);
    const int fds[] = {porter->local, porter->tcp, porter->stop};
    for (size_t i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (porter->path[0])
        unlink(porter->path);
    pthread_mutex_destroy(&porter->lock);
    pthread_cond_destroy(&porter->changed);
    free(porter);
}
