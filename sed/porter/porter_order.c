/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/porter/porter_order.h"

#include "util/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LEND_MS   5000
#define SLICE_MS  200   /* between two questions whether all is to stop */
#define LET_GO_MS 30000 /* for porters that are to stop */

static int64_t now_ms(void)
{
    return clock_now_ns(&clock_system) / NS_PER_MS;
}

/* ---- one porter ---- */

static bool send_order(int socket, const struct porter_order *order, int fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {.iov_base = (void *)(uintptr_t)order, .iov_len = sizeof *order};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memset(&control, 0, sizeof control);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof *order;
}

static enum esp_status give_order(const char *path, const struct porter_order *order, int fd, int *result,
                                  struct esp_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strnlen(path, sizeof address.sun_path - 1));
    int to = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (to >= 0 && connect(to, (const struct sockaddr *)&address, sizeof address) == 0 &&
        send_order(to, order, fd)) {
        *result = to;
        return ESP_OK;
    }
    error_set(error, ESP_UNREACHABLE, "the porter at %s is not there: %s", path, strerror(errno));
    if (to >= 0)
        close(to);
    return ESP_UNREACHABLE;
}

/* 0: nothing has come in that time. */
static int hear(int socket, int timeout_ms, struct porter_answer *answer)
{
    struct pollfd fd = {.fd = socket, .events = POLLIN};
    int n = poll(&fd, 1, timeout_ms);
    if (n == 0 || (n < 0 && errno == EINTR))
        return 0;
    if (n < 0 || recv(socket, answer, sizeof *answer, MSG_DONTWAIT) != sizeof *answer)
        return -1;
    answer->text[sizeof answer->text - 1] = 0;
    return 1;
}

enum esp_status porter_lend(const char *path, const struct porter_order *order, int fd, int *socket,
                            uint16_t *port, struct esp_error *error)
{
    struct porter_answer answer;
    enum esp_status status = give_order(path, order, fd, socket, error);
    if (status != ESP_OK)
        return status;
    int heard = hear(*socket, LEND_MS, &answer);
    *port = (uint16_t)answer.port;
    if (heard == 1 && answer.kind == PORTER_LENT)
        return ESP_OK;
    close(*socket);
    *socket = -1;
    if (heard == 1)
        return error_set(error, (enum esp_status)answer.status, "%s", answer.text);
    return error_set(error, ESP_UNREACHABLE, "the porter at %s %s", path,
                     heard == 0 ? "does not answer" : "has ended");
}

/* ---- all that fetch ---- */

struct fetching {
    const struct porter_watch *watch;
    struct pollfd fds[PORTERS_MOST]; /* -1: has ended */
    uint32_t n, left;
    enum esp_status status; /* of the first that failed */
    struct esp_error *error;
    int64_t until_ms; /* once they are to stop */
};

static void stop(struct fetching *fetching)
{
    if (fetching->until_ms == 0)
        fetching->until_ms = now_ms() + LET_GO_MS;
    for (uint32_t i = 0; i < fetching->n; i++)
        if (fetching->fds[i].fd >= 0)
            shutdown(fetching->fds[i].fd, SHUT_WR);
}

static void fail(struct fetching *fetching, enum esp_status status, uint32_t place, const char *text)
{
    if (fetching->status == ESP_OK)
        fetching->status =
            error_set(fetching->error, status, "porter %u of %u: %s", place, fetching->n, text);
    stop(fetching);
}

static void ended(struct fetching *fetching, uint32_t place)
{
    close(fetching->fds[place].fd);
    fetching->fds[place].fd = -1;
    fetching->left--;
}

static void on_answer(struct fetching *fetching, uint32_t place)
{
    struct porter_answer answer;
    int heard = hear(fetching->fds[place].fd, 0, &answer);
    if (heard == 0)
        return;
    if (heard == 1 && answer.kind == PORTER_MOVED) {
        fetching->watch->moved(fetching->watch->arg, answer.bytes);
        return;
    }
    ended(fetching, place);
    if (heard < 0)
        fail(fetching, ESP_UNREACHABLE, place, "it has ended in the middle");
    else if (answer.status != ESP_OK)
        fail(fetching, (enum esp_status)answer.status, place, answer.text);
}

static void start(struct fetching *fetching, const struct porter_list *porters,
                  const struct porter_order *order, int fd)
{
    struct porter_order own = *order;
    struct esp_error why;
    own.kind = PORTER_FETCH;
    own.version = PORTER_VERSION;
    own.places = porters->n;
    for (uint32_t i = 0; i < porters->n; i++) {
        fetching->fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
        own.place = i;
        if (fetching->status == ESP_OK &&
            give_order(porters->paths[i], &own, fd, &fetching->fds[i].fd, &why) == ESP_OK)
            fetching->left++;
        else if (fetching->status == ESP_OK)
            fail(fetching, ESP_UNREACHABLE, i, why.text);
    }
}

enum esp_status porter_fetch_all(const struct porter_list *porters, const struct porter_order *order, int fd,
                                 const struct porter_watch *watch, bool *let_go, struct esp_error *error)
{
    struct fetching fetching = {.watch = watch, .n = porters->n, .error = error};
    start(&fetching, porters, order, fd);
    while (fetching.left > 0 && (fetching.until_ms == 0 || now_ms() < fetching.until_ms)) {
        int ready = poll(fetching.fds, fetching.n, SLICE_MS);
        for (uint32_t i = 0; ready > 0 && i < fetching.n; i++)
            if (fetching.fds[i].fd >= 0 && fetching.fds[i].revents)
                on_answer(&fetching, i);
        if (fetching.status == ESP_OK && watch->stopped(watch->arg)) {
            fetching.status = error_set(error, ESP_CANCELLED, "the transfer was stopped");
            stop(&fetching);
        }
    }
    *let_go = fetching.left == 0;
    for (uint32_t i = 0; i < fetching.n; i++)
        if (fetching.fds[i].fd >= 0)
            close(fetching.fds[i].fd);
    return fetching.status;
}
