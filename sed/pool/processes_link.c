/* SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's end of the socket to the spawner.
 */
#include "sed/pool/processes_pool.h"

#include "sed/pool/folder.h"
#include "sed/pool/strays.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/process_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

extern char **environ;

#define STOP_MS 15000
/* A spawner that is silent for this many checks is taken for dead. Checks are counted instead of time,
 * because a daemon that was itself stopped has not checked. Loading a library takes longest. */
#define LOOK_NS     (500 * NS_PER_MS)
#define MOST_LOOKS  10
#define CHECK_LOOKS 80

/* ---- the spawner's environment ---- */

static bool is_replaced(const char *entry, char *const *replacements)
{
    for (; *replacements; replacements++) {
        size_t name = (size_t)(strchr(*replacements, '=') - *replacements) + 1;
        if (strncmp(entry, *replacements, name) == 0)
            return true;
    }
    return false;
}

/* Puts our variables first, then the daemon's. Does not copy the strings. */
static char **merge_environment(char **replacements)
{
    size_t n = 0, used = 0;
    while (environ[n])
        n++;
    for (char **entry = replacements; *entry; entry++)
        n++;
    char **merged = calloc(n + 1, sizeof *merged);
    if (!merged)
        return NULL;
    for (char **entry = replacements; *entry; entry++)
        merged[used++] = *entry;
    for (char **entry = environ; *entry; entry++)
        if (!is_replaced(*entry, replacements))
            merged[used++] = *entry;
    return merged;
}

static enum esp_status run_program(struct pool *pool, struct link *link, int socket, char **environment,
                                   struct esp_error *error)
{
    char *arguments[] = {(char *)"espalier-crd", (char *)"--spawner", NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, socket, SPAWNER_SOCKET);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_RDWR, 0);
    /* Not the standard error of the daemon's caller, which may wait for its end. */
    posix_spawn_file_actions_adddup2(&files, log_descriptor(), 2);
    posix_spawnattr_setsigdefault(&attributes, &all); /* the ORB ignores SIGPIPE: routines must not */
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int why = posix_spawn(&link->pid, pool->program, &files, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (why == 0)
        return ESP_OK;
    char reason[POOL_WHY];
    process_limits_why(why, reason, sizeof reason);
    return error_set(error, ESP_SYSTEM, "cannot start %s: %s", pool->program, reason);
}

static enum esp_status run_spawner(struct pool *pool, struct link *link, int socket, struct esp_error *error)
{
    char omp[32], mkl[32], blis[32], libraries[4096], folder[SIGNATURE_MAX_PATH + 32];
    unsigned threads = pool->options.threads;
    snprintf(omp, sizeof omp, "OMP_NUM_THREADS=%u", threads);
    snprintf(mkl, sizeof mkl, "MKL_NUM_THREADS=%u", threads);
    snprintf(blis, sizeof blis, "BLIS_NUM_THREADS=%u", threads);
    snprintf(folder, sizeof folder, STRAYS_VARIABLE "=%s", link->folder);
    const char *before = getenv("LD_LIBRARY_PATH");
    snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s%s%s",
             pool->library_path ? pool->library_path : "", pool->library_path && before ? ":" : "",
             before ? before : "");
    /* OpenBLAS starts its threads when it is loaded, which the spawner must not have; workers start
     * theirs. Output of Fortran must not be lost in a buffer when a routine stops the process. */
    char *replacements[] = {(char *)"OPENBLAS_NUM_THREADS=1",
                            (char *)"GFORTRAN_UNBUFFERED_PRECONNECTED=y",
                            folder,
                            omp,
                            mkl,
                            blis,
                            pool->library_path ? libraries : NULL,
                            NULL};
    char **environment = merge_environment(replacements);
    if (!environment)
        return error_no_memory(error, "the environment of workers");
    enum esp_status status = run_program(pool, link, socket, environment, error);
    free(environment);
    return status;
}

/* ---- messages ---- */

/* How long to wait when the kernel has no room for a message and does not say when it has. */
#define REFUSED_NS (10 * NS_PER_MS)
/* Time for a spawner that must end to read earlier messages. */
#define END_MS 1000

enum sent { SENT, SENT_NOT_YET, SENT_NEVER };

/* Does not wait. SENT_NOT_YET: errno is EAGAIN when the socket is full, and names the lacking resource
 * otherwise. */
static enum sent send_now(const struct link *link, const struct spawner_message *message,
                          const int *descriptors, uint32_t n_descriptors)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(SPAWNER_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec data = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof *message};
    struct msghdr envelope = {.msg_iov = &data, .msg_iovlen = 1};
    if (n_descriptors > 0) {
        memset(&control, 0, sizeof control);
        envelope.msg_control = &control;
        envelope.msg_controllen = CMSG_SPACE(n_descriptors * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(n_descriptors * sizeof(int));
        memcpy(CMSG_DATA(header), descriptors, n_descriptors * sizeof(int));
    }
    ssize_t n;
    do
        n = sendmsg(link->socket, &envelope, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == sizeof *message)
        return SENT;
    return n < 0 && pool_is_short(errno) ? SENT_NOT_YET : SENT_NEVER;
}

static void free_unsent(struct link *link, struct unsent *unsent)
{
    DL_DELETE(link->unsent, unsent);
    for (uint32_t i = 0; i < unsent->n_descriptors; i++)
        close(unsent->descriptors[i]);
    free(unsent);
}

/* Lets the monitor send the rest when there is room. */
static void await_room(struct pool *pool, struct link *link, bool socket_is_full)
{
    struct epoll_event event = {.events = EPOLLIN | (socket_is_full ? EPOLLOUT : 0),
                                .data.u64 = EVENT_SPAWNER | link->number};
    if (epoll_ctl(pool->epoll, EPOLL_CTL_MOD, link->socket, &event) != 0)
        socket_is_full = false;
    link->send_ns = socket_is_full ? CLOCK_NEVER : pool_now_ns() + REFUSED_NS;
}

static enum esp_status keep_unsent(struct pool *pool, struct link *link,
                                   const struct spawner_message *message, const int *descriptors,
                                   uint32_t n_descriptors, struct esp_error *error)
{
    bool socket_is_full = errno == EAGAIN || errno == EWOULDBLOCK;
    struct unsent *unsent = calloc(1, sizeof *unsent);
    if (!unsent)
        return error_no_memory(error, "a message to the spawner of workers");
    bool first = !link->unsent;
    unsent->message = *message;
    DL_APPEND(link->unsent, unsent);
    for (uint32_t i = 0; i < n_descriptors; i++) {
        int copy = fcntl(descriptors[i], F_DUPFD_CLOEXEC, 0);
        if (copy < 0) {
            error_errno(error, "cannot keep a message to the spawner of workers");
            free_unsent(link, unsent);
            return ESP_SYSTEM;
        }
        unsent->descriptors[unsent->n_descriptors++] = copy;
    }
    if (first)
        await_room(pool, link, socket_is_full);
    return ESP_OK;
}

/* Sends the message, or queues it until the spawner has read earlier ones, because a full socket is no
 * error. Copies the descriptors. */
static enum esp_status send_message(struct pool *pool, struct link *link,
                                    const struct spawner_message *message, const int *descriptors,
                                    uint32_t n_descriptors, struct esp_error *error)
{
    errno = EAGAIN;
    enum sent sent = link->unsent ? SENT_NOT_YET : send_now(link, message, descriptors, n_descriptors);
    if (sent == SENT_NOT_YET)
        return keep_unsent(pool, link, message, descriptors, n_descriptors, error);
    if (sent == SENT)
        return ESP_OK;
    error_errno(error, "cannot reach the spawner of workers");
    kill(link->pid, SIGKILL); /* it is gone, or unusable: the pool starts another */
    return ESP_SYSTEM;
}

void link_send_rest(struct pool *pool, struct link *link)
{
    enum sent sent = SENT;
    while (link->unsent && sent == SENT) {
        sent = send_now(link, &link->unsent->message, link->unsent->descriptors, link->unsent->n_descriptors);
        if (sent == SENT)
            free_unsent(link, link->unsent);
    }
    if (sent == SENT_NEVER)
        kill(link->pid, SIGKILL);
    await_room(pool, link, sent == SENT_NOT_YET && (errno == EAGAIN || errno == EWOULDBLOCK));
}

bool link_is_full(const struct link *link)
{
    return link->unsent != NULL;
}

/* Sends a command for a caller that holds the lock. From then on the spawner must answer. */
static enum esp_status send_command(struct pool *pool, struct link *link,
                                    const struct spawner_message *message, const int *descriptors,
                                    uint32_t n_descriptors, struct esp_error *error)
{
    const struct spawner_message ping = {.kind = SPAWNER_PING};
    enum esp_status status = send_message(pool, link, message, descriptors, n_descriptors, error);
    if (status != ESP_OK)
        return status;
    status = send_message(pool, link, &ping, NULL, 0, error);
    if (status != ESP_OK) {
        kill(link->pid,
             SIGKILL); /* otherwise it would execute a command that the caller thinks was not sent */
        return status;
    }
    if (link->pings++ == 0) {
        link->silent_looks = 0;
        link->looked_ns = pool_now_ns();
        monitor_wake(pool);
    }
    return ESP_OK;
}

static int64_t look_at(struct link *link)
{
    int64_t now_ns = pool_now_ns();
    if (link->pings == 0 || link->socket < 0)
        return CLOCK_NEVER;
    if (now_ns - link->looked_ns >= LOOK_NS) {
        link->looked_ns = now_ns;
        link->silent_looks++;
    }
    if (link->silent_looks >= (link->checks > 0 ? CHECK_LOOKS : MOST_LOOKS)) {
        kill(link->pid, SIGKILL); /* its socket closes, and the pool starts another */
        link->silent_looks = 0;
    }
    return link->looked_ns + LOOK_NS;
}

int64_t link_look(struct pool *pool)
{
    int64_t next = CLOCK_NEVER;
    for (struct link *link = pool->links; link; link = link->next) {
        int64_t look = look_at(link);
        next = look < next ? look : next;
        if (link->unsent && pool_now_ns() >= link->send_ns)
            link_send_rest(pool, link);
        if (link->unsent && link->send_ns < next)
            next = link->send_ns;
    }
    return next;
}

struct link *link_find(struct pool *pool, uint32_t number)
{
    struct link *link;
    LL_SEARCH_SCALAR(pool->links, link, number, number);
    return link && link->socket >= 0 ? link : NULL;
}

bool link_receive(struct link *link, struct spawner_message *message, bool *lost)
{
    ssize_t n;
    do
        n = recv(link->socket, message, sizeof *message, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    *lost = n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    if (n != sizeof *message)
        return false;
    link->silent_looks = 0;
    link->pings -= message->kind == SPAWNER_PING && link->pings > 0;
    link->checks -= message->kind == SPAWNER_CHECKED && link->checks > 0;
    return true;
}

enum esp_status link_spawn(struct pool *pool, uint32_t id, const int descriptors[SPAWNER_DESCRIPTORS],
                           struct esp_error *error)
{
    struct spawner_message message = {.kind = SPAWNER_SPAWN, .id = id};
    return send_command(pool, pool->link, &message, descriptors, SPAWNER_DESCRIPTORS, error);
}

void link_kill(struct pool *pool, const struct worker *worker)
{
    struct spawner_message message = {.kind = SPAWNER_KILL, .id = worker->id};
    if (worker->link->socket >= 0)
        send_command(pool, worker->link, &message, NULL, 0, NULL);
}

enum esp_status link_check(struct pool *pool, uint32_t id, const struct spawner_check *check,
                           struct esp_error *error)
{
    struct spawner_message message = {.kind = check ? SPAWNER_CHECK : SPAWNER_COMPARE, .id = id};
    if (!pool->link)
        return error_set(error, ESP_SYSTEM, "the spawner of workers is not running");
    if (check)
        message.check = *check;
    enum esp_status status = send_message(pool, pool->link, &message, NULL, 0, error);
    pool->link->checks += status == ESP_OK;
    return status;
}

struct spawner_check link_wanted(const struct call_signature *signature)
{
    struct spawner_check check = {.symbol = ""};
    snprintf(check.folder, sizeof check.folder, "%s", signature->folder);
    snprintf(check.library, sizeof check.library, "%s", signature->library);
    snprintf(check.symbol, sizeof check.symbol, "%s", signature->symbol);
    return check;
}

/* ---- start and end ---- */

static enum esp_status introduce(struct pool *pool, struct link *link, struct esp_error *error)
{
    const struct processes_options *options = &pool->options;
    struct spawner_message message = {.kind = SPAWNER_SETUP,
                                      .setup = {.memory = options->memory,
                                                .keep = options->keep,
                                                .threads = options->threads,
                                                .nice = options->nice,
                                                .n_limits = options->n_limits}};
    memcpy(message.setup.folder, link->folder, sizeof message.setup.folder);
    for (uint32_t i = 0; i < options->n_limits; i++)
        message.setup.limits[i] = options->limits[i];
    return send_message(pool, link, &message, NULL, 0, error);
}

static enum esp_status watch(struct pool *pool, const struct link *link, struct esp_error *error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = EVENT_SPAWNER | link->number};
    if (epoll_ctl(pool->epoll, EPOLL_CTL_ADD, link->socket, &event) != 0)
        return error_errno(error, "cannot watch the spawner of workers");
    return ESP_OK;
}

struct preload {
    struct spawner_check *seen;
    size_t n;
};

static enum esp_status preload_one(struct pool *pool, struct preload *preload,
                                   const struct call_signature *signature, struct esp_error *error)
{
    for (size_t i = 0; i < preload->n; i++)
        if (strcmp(preload->seen[i].library, signature->library) == 0 &&
            strcmp(preload->seen[i].folder, signature->folder) == 0)
            return ESP_OK;
    struct spawner_check *more = realloc(preload->seen, (preload->n + 1) * sizeof *more);
    if (!more)
        return error_no_memory(error, "the list of libraries");
    preload->seen = more;
    more += preload->n++;
    *more = link_wanted(signature);
    more->symbol[0] = 0;
    return link_check(pool, 0, more, error);
}

/* Loads each library once, even if many implementations name it; processes_check() reports one that does
 * not load. The answers have the id 0, for which no thread waits. */
static enum esp_status preload(struct pool *pool, struct esp_error *error)
{
    const struct problem_set *set = pool->options.problems;
    struct preload done = {0};
    struct call_signature signature;
    enum esp_status status = ESP_OK;
    for (size_t p = 0; status == ESP_OK && set && p < set->n_problems; p++)
        for (uint32_t i = 0; status == ESP_OK && i < set->problems[p]->n_implementations; i++)
            if (!set->problems[p]->implementations[i].command &&
                !implementation_is_parallel(&set->problems[p]->implementations[i]) &&
                signature_build(set->problems[p], &set->problems[p]->implementations[i], &signature, NULL) ==
                    ESP_OK &&
                signature.library[0])
                status = preload_one(pool, &done, &signature, error);
    free(done.seen);
    return status;
}

/* Each spawner has its own folder, which it removes at its end. If the pool's folder was removed, the pool
 * gets another one. */
static enum esp_status make_folder(struct pool *pool, struct link *link, struct esp_error *error)
{
    for (int tries = 0; tries < 2; tries++) {
        if (snprintf(link->folder, sizeof link->folder, "%s/%u", pool->folder, link->number) >=
            (int)sizeof link->folder)
            return error_set(error, ESP_INVALID, "the folder for workers' files has too long a name");
        if (mkdir(link->folder, 0700) == 0)
            return ESP_OK;
        if (errno != ENOENT || tries > 0)
            break;
        log_warning("the folder of workers, %s, was removed by another program: it is made anew",
                    pool->folder);
        close(pool->folder_lock);
        enum esp_status status = folder_make(pool->options.folder, "crd", pool->folder, sizeof pool->folder,
                                             &pool->folder_lock, error);
        if (status != ESP_OK)
            return status;
    }
    return error_errno(error, "cannot make a folder for workers' files (%s)", link->folder);
}

static enum esp_status connect_spawner(struct pool *pool, struct link *link, struct esp_error *error)
{
    int ends[2];
    enum esp_status status = make_folder(pool, link, error);
    if (status != ESP_OK)
        return status;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return error_errno(error, "cannot make a socket to the spawner of workers");
    status = run_spawner(pool, link, ends[1], error);
    close(ends[1]);
    if (status == ESP_OK)
        link->socket = ends[0];
    else
        close(ends[0]);
    return status;
}

enum esp_status link_start(struct pool *pool, struct esp_error *error)
{
    struct link *link = calloc(1, sizeof *link), *before = pool->link;
    if (!link)
        return error_no_memory(error, "a spawner of workers");
    link->socket = -1;
    link->number = ++pool->last_link;
    enum esp_status status = connect_spawner(pool, link, error);
    if (status == ESP_OK)
        status = introduce(pool, link, error);
    if (status == ESP_OK)
        status = watch(pool, link, error);
    LL_PREPEND(pool->links, link);
    pool->link = link;
    if (status == ESP_OK)
        status = preload(pool, error);
    if (status != ESP_OK) {
        pool->link = before;
        link_release(pool, link);
    } else if (before) {
        link_release(pool, before);
    }
    return status;
}

void link_stop(struct pool *pool, struct link *link)
{
    if (pool->link == link)
        pool->link = NULL;
    if (link->socket < 0)
        return;
    const struct spawner_message end = {.kind = SPAWNER_END};
    bool hung = false;
    epoll_ctl(pool->epoll, EPOLL_CTL_DEL, link->socket, NULL);
    while (link->unsent)
        free_unsent(link, link->unsent);
    struct pollfd room = {.fd = link->socket, .events = POLLOUT};
    poll(&room, 1, END_MS);
    send_now(link, &end, NULL, 0);
    close(link->socket);
    link->socket = -1;
    /* It kills its workers and removes their folders. If it hangs, it is killed, and its workers with it. */
    for (int waited_ms = 0; waitpid(link->pid, NULL, WNOHANG) == 0; waited_ms++) {
        if (waited_ms == STOP_MS)
            kill(link->pid, SIGKILL);
        hung = waited_ms >= STOP_MS;
        nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    if (hung)
        strays_kill(link->folder);
    folder_remove(link->folder);
}

void link_release(struct pool *pool, struct link *link)
{
    if (link->workers > 0 || link == pool->link)
        return;
    link_stop(pool, link);
    LL_DELETE(pool->links, link);
    free(link);
}

void link_stop_all(struct pool *pool)
{
    for (struct link *link = pool->links; link; link = link->next)
        link_stop(pool, link);
}

void link_free_all(struct pool *pool)
{
    struct link *link, *next;
    LL_FOREACH_SAFE(pool->links, link, next)
    {
        free(link);
    }
    pool->links = NULL;
}
