/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/porter/porter_order.h"
#include "sed/porter/porter_stream.h"

#include "util/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SLICE_MS  200   /* interval of checks whether to stop */
#define LET_GO_MS 30000 /* time for porters to stop */

static int64_t now_ms(void)
{
    return clock_now_ns(&clock_system) / NS_PER_MS;
}

const char *porter_name(const struct porter_list *porters, uint32_t place, char text[PORTER_NAME])
{
    snprintf(text, PORTER_NAME, "%s %u of %u", porters->of_ranks ? "rank" : "porter", place, porters->n);
    return text;
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

/* Returns 0 when nothing has arrived in that time. */
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

enum esp_status porter_lend(const char *path, const struct porter_order *order, int fd, int timeout_ms,
                            int *socket, uint16_t *port, struct esp_error *error)
{
    struct porter_answer answer;
    enum esp_status status = give_order(path, order, fd, socket, error);
    if (status != ESP_OK)
        return status;
    int heard = hear(*socket, timeout_ms, &answer);
    *port = (uint16_t)answer.port;
    if (heard == 1 && answer.kind == PORTER_LENT)
        return ESP_OK;
    close(*socket);
    *socket = -1;
    if (heard == 1)
        return error_set(error, (enum esp_status)answer.status, "%s", answer.text);
    if (heard == 0)
        return error_set(error, ESP_TIMEOUT,
                         "it has not answered for %.3g s: it is stopped, or its host has too much to do",
                         timeout_ms / 1e3);
    return error_set(error, ESP_UNREACHABLE, "the porter at %s has ended", path);
}

/* ---- all that fetch ---- */

struct fetching {
    const struct porter_watch *watch;
    const struct porter_list *porters;
    const struct porter_order *order;
    int fd;
    struct pollfd fds[PORTERS_MOST]; /* -1: has ended */
    int64_t heard_ms[PORTERS_MOST];
    int asked[PORTERS_MOST]; /* whether it is being asked for a sign of life; -1: not now */
    int64_t asked_ms[PORTERS_MOST];
    uint32_t n, left;
    enum esp_status status; /* of the first that failed */
    struct esp_error *error;
    int64_t until_ms; /* deadline once they are to stop */
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
    char name[PORTER_NAME];
    if (fetching->status == ESP_OK)
        fetching->status =
            error_set(fetching->error, status, "%s: %s", porter_name(fetching->porters, place, name), text);
    stop(fetching);
}

static void close_question(struct fetching *fetching, uint32_t place)
{
    if (fetching->asked[place] >= 0)
        close(fetching->asked[place]);
    fetching->asked[place] = -1;
}

static void ended(struct fetching *fetching, uint32_t place)
{
    close_question(fetching, place);
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
    fetching->heard_ms[place] = now_ms();
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

/* A porter that fills a large piece, or waits for its source, is silent too, so another of its threads is
 * asked. */
static void ask_silent(struct fetching *fetching, uint32_t place, int64_t patience_ms)
{
    const struct porter_order question = {.kind = PORTER_ASK, .version = PORTER_VERSION};
    const int64_t now = now_ms(), silent_ms = now - fetching->heard_ms[place];
    struct porter_answer answer;
    char text[PORTER_TEXT];
    if (fetching->asked[place] < 0) {
        if (silent_ms <= patience_ms / 2 || give_order(fetching->porters->paths[place], &question,
                                                       fetching->fd, &fetching->asked[place], NULL) != ESP_OK)
            return; /* if it cannot be asked it is ending, and its order reports that */
        fetching->asked_ms[place] = now;
    }
    if (hear(fetching->asked[place], 0, &answer) != 0) {
        close_question(fetching, place);
        fetching->heard_ms[place] = now;
        return;
    }
    if (now - fetching->asked_ms[place] <= patience_ms / 2)
        return;
    snprintf(text, sizeof text,
             "it has said nothing for %.3g s: it is stopped, or its host has too much to do; what it was "
             "to fetch is not there",
             (double)silent_ms / 1e3);
    fail(fetching, ESP_TIMEOUT, place, text);
    if (fetching->watch->silent)
        fetching->watch->silent(fetching->watch->arg, fetching->error);
}

static void look_for_silent(struct fetching *fetching)
{
    const int64_t wanted_ms = fetching->watch->patience_ms;
    for (uint32_t i = 0; i < fetching->n && fetching->status == ESP_OK; i++)
        if (fetching->fds[i].fd >= 0)
            ask_silent(fetching, i, wanted_ms > 0 ? wanted_ms : PORTER_STALL_MS);
}

static void start(struct fetching *fetching)
{
    const struct porter_list *porters = fetching->porters;
    struct porter_order own = *fetching->order;
    struct esp_error why;
    own.kind = PORTER_FETCH;
    own.version = PORTER_VERSION;
    own.places = porters->n;
    for (uint32_t i = 0; i < porters->n; i++) {
        fetching->fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
        fetching->asked[i] = -1;
        fetching->heard_ms[i] = now_ms();
        own.place = i;
        if (fetching->status == ESP_OK &&
            give_order(porters->paths[i], &own, fetching->fd, &fetching->fds[i].fd, &why) == ESP_OK)
            fetching->left++;
        else if (fetching->status == ESP_OK)
            fail(fetching, ESP_UNREACHABLE, i, why.text);
    }
}

enum esp_status porter_fetch_all(const struct porter_list *porters, const struct porter_order *order, int fd,
                                 const struct porter_watch *watch, bool *let_go, struct esp_error *error)
{
    struct fetching fetching = {
        .watch = watch, .porters = porters, .order = order, .fd = fd, .n = porters->n, .error = error};
    start(&fetching);
    while (fetching.left > 0 && (fetching.until_ms == 0 || now_ms() < fetching.until_ms)) {
        int ready = poll(fetching.fds, fetching.n, SLICE_MS);
        for (uint32_t i = 0; ready > 0 && i < fetching.n; i++)
            if (fetching.fds[i].fd >= 0 && fetching.fds[i].revents)
                on_answer(&fetching, i);
        if (fetching.status == ESP_OK && watch->stopped(watch->arg)) {
            fetching.status = error_set(error, ESP_CANCELLED, "the transfer was stopped");
            stop(&fetching);
        }
        look_for_silent(&fetching);
    }
    *let_go = fetching.left == 0;
    for (uint32_t i = 0; i < fetching.n; i++)
        if (fetching.fds[i].fd >= 0)
            ended(&fetching, i);
    return fetching.status;
}
