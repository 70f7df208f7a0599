/* SPDX-License-Identifier: Apache-2.0
 *
 * What a porter does for who has connected: the daemon's orders, and other porters that want what is lent.
 */
#include "sed/porter/porter_internal.h"

#include "core/redistribution/pieces.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

struct lending {
    struct porter_order order;
    char *pieces;
    unsigned readers;
    struct lending *prev, *next;
};

/* ---- memory that comes with an order ---- */

static char *map(int fd, uint64_t offset, uint64_t bytes, bool write, void **base, size_t *length)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), skip = offset % page;
    *length = bytes + skip;
    *base = mmap(NULL, *length, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd,
                 (off_t)(offset - skip));
    return *base == MAP_FAILED ? NULL : (char *)*base + skip;
}

bool porter_order_is_sound(const struct porter_order *order)
{
    const struct block_cyclic_matrix *held = order->kind == PORTER_LEND ? &order->from : &order->to;
    if (order->version != PORTER_VERSION || order->element_bytes == 0 || order->bytes == 0 ||
        block_cyclic_matrix_check(&order->from, "the matrix", NULL) != ESP_OK ||
        block_cyclic_matrix_check(held, "the matrix", NULL) != ESP_OK)
        return false;
    if (order->kind != PORTER_LEND &&
        (order->places == 0 || order->place >= order->places || order->n_ports == 0 ||
         order->n_ports > PORTERS_MOST || order->stall_ms > PORTER_STALL_MS ||
         order->from.rows.n != order->to.rows.n || order->from.cols.n != order->to.cols.n))
        return false;
    return (uint64_t)held->rows.n * (uint64_t)held->cols.n * order->element_bytes == order->bytes &&
           order->lenders.n <= PORTER_LENDERS_MOST && memchr(order->host, 0, sizeof order->host) &&
           memchr(order->source, 0, sizeof order->source);
}

/* ---- what is lent ---- */

static bool is_alike(const struct block_cyclic_matrix *a, const struct block_cyclic_matrix *b)
{
    return a->rows.n == b->rows.n && a->cols.n == b->cols.n && pieces_are_alike(a, b);
}

/* What the request is about stays while somebody reads. */
static struct lending *find(struct porter *porter, const struct porter_message *wanted, uint64_t ticket,
                            struct datum_key key, bool sealed)
{
    struct lending *lending;
    pthread_mutex_lock(&porter->lock);
    DL_FOREACH(porter->lendings, lending)
    {
        if (lending->order.ticket == ticket && datum_key_equal(lending->order.key, key) &&
            lending->order.element_bytes == wanted->element_bytes && (lending->order.sealed != 0) == sealed &&
            is_alike(&lending->order.from, &wanted->from))
            break;
    }
    if (lending)
        lending->readers++;
    pthread_mutex_unlock(&porter->lock);
    return lending;
}

static void let_go(struct porter *porter, struct lending *lending)
{
    pthread_mutex_lock(&porter->lock);
    lending->readers--;
    pthread_cond_broadcast(&porter->changed);
    pthread_mutex_unlock(&porter->lock);
}

/* ---- orders ---- */

static void answer(int socket, enum porter_answer_kind kind, enum esp_status status, uint32_t port,
                   const char *text)
{
    struct porter_answer answer = {.kind = kind, .status = status, .port = port};
    snprintf(answer.text, sizeof answer.text, "%s", text);
    if (send(socket, &answer, sizeof answer, MSG_NOSIGNAL) < 0)
        return; /* nobody wants to know */
}

static void lend(struct porter *porter, int socket, const struct porter_order *order, char *pieces)
{
    struct lending lending = {.order = *order, .pieces = pieces};
    struct pollfd until[] = {{.fd = socket, .events = POLLRDHUP}, {.fd = porter->stop, .events = POLLIN}};
    pthread_mutex_lock(&porter->lock);
    DL_APPEND(porter->lendings, &lending);
    pthread_mutex_unlock(&porter->lock);
    answer(socket, PORTER_LENT, ESP_OK, porter->port, "");
    while (poll(until, 2, -1) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&porter->lock);
    DL_DELETE(porter->lendings, &lending);
    while (lending.readers > 0)
        pthread_cond_wait(&porter->changed, &porter->lock);
    pthread_mutex_unlock(&porter->lock);
}

/* From other porters; what this one lends itself, as it is to lie otherwise where it is, needs no message. */
static void fetch(struct porter *porter, const struct porter_order *order, char *pieces,
                  const struct porter_end *end, struct esp_error *error)
{
    const struct porter_message wanted = {.from = order->from, .element_bytes = order->element_bytes};
    struct lending *own = find(porter, &wanted, order->ticket, order->key, order->sealed != 0);
    if (!own) {
        porter_fetch(order, pieces, end, error);
        return;
    }
    porter_take(order, own->pieces, pieces, end, error);
    let_go(porter, own);
}

static void obey(struct porter *porter, int socket, const struct porter_order *order, int memory)
{
    void *base;
    size_t length;
    struct esp_error error = {.status = ESP_OK};
    const struct porter_end end = {.stop = porter->stop, .order = socket, .stall_ms = (int)order->stall_ms};
    char *pieces = map(memory, order->offset, order->bytes, order->kind == PORTER_FETCH, &base, &length);
    if (!pieces) {
        error_errno(&error, "cannot map the datum");
        answer(socket, PORTER_ENDED, error.status, 0, error.text);
        return;
    }
    if (order->kind == PORTER_LEND)
        lend(porter, socket, order, pieces);
    else
        fetch(porter, order, pieces, &end, &error);
    munmap(base, length);
    answer(socket, PORTER_ENDED, error.status, 0, error.text);
}

/* One order with one descriptor, of our own user. */
static bool receive_order(int socket, struct porter_order *order, int *memory)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {.iov_base = order, .iov_len = sizeof *order};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct ucred peer;
    socklen_t size = sizeof peer;
    *memory = -1;
    ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(memory, CMSG_DATA(header), sizeof *memory);
    return got == sizeof *order && *memory >= 0 &&
           getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

void porter_serve_daemon(struct porter *porter, int socket)
{
    struct porter_order order;
    int memory = -1;
    const struct porter_end end = {.stop = porter->stop, .order = -1};
    if (porter_wait(socket, false, &end, PORTER_CONNECT_MS, NULL) == ESP_OK &&
        receive_order(socket, &order, &memory)) {
        if (order.kind == PORTER_ASK)
            answer(socket, PORTER_THERE, ESP_OK, porter->port, "");
        else if (order.kind != PORTER_KEEP && porter_order_is_sound(&order))
            obey(porter, socket, &order, memory);
        else
            answer(socket, PORTER_ENDED, ESP_PROTOCOL, 0, "the porter was handed a malformed order");
    }
    if (memory >= 0)
        close(memory);
}

/* ---- other porters ---- */

static bool find_secret(void *arg, uint64_t ticket, unsigned char *secret)
{
    struct porter *porter = arg;
    struct lending *lending;
    if (porter->keeper)
        return porter->keeper->key && porter->keeper->key(ticket, secret);
    pthread_mutex_lock(&porter->lock);
    DL_FOREACH(porter->lendings, lending)
    {
        if (lending->order.ticket == ticket && lending->order.sealed) {
            memcpy(secret, lending->order.secret, PORTER_SECRET_BYTES);
            break;
        }
    }
    pthread_mutex_unlock(&porter->lock);
    return lending != NULL;
}

static enum esp_status say_status(const struct porter_line *line, enum esp_status status, uint64_t bytes,
                                  const char *why, const struct porter_end *end)
{
    uint64_t words[2] = {htole64((uint64_t)status), htole64(bytes)};
    char text[PORTER_TEXT];
    enum esp_status said = porter_line_say(line, words, sizeof words, end, NULL);
    if (status == ESP_OK || said != ESP_OK)
        return said;
    snprintf(text, sizeof text, "%-*.*s", PORTER_TEXT - 1, PORTER_TEXT - 1, why);
    return porter_line_say(line, text, sizeof text, end, NULL);
}

/* What a request is about, while somebody reads. */
struct reading {
    struct lending *lending; /* or */
    void *held;              /* of the keeper */
};

static bool keeper_has(const struct porter *porter, struct porter_message *message, struct datum_key name,
                       bool sealed, void **held)
{
    const uint32_t element_bytes = (uint32_t)message->element_bytes;
    if (!porter->keeper || (porter->keeper->sealed && !sealed) || element_bytes == 0 ||
        element_bytes != message->element_bytes)
        return false;
    message->piece =
        porter->keeper->hold(name, &message->from, message->source, element_bytes,
                             pieces_count(&message->from, message->source) * element_bytes, held);
    return message->piece != NULL;
}

static bool begin_reading(struct porter *porter, struct porter_message *message, uint64_t ticket,
                          struct datum_key key, bool sealed, struct reading *reading)
{
    *reading = (struct reading){.lending = find(porter, message, ticket, key, sealed)};
    if (reading->lending)
        message->pieces = reading->lending->pieces;
    return reading->lending || keeper_has(porter, message, key, sealed, &reading->held);
}

static void end_reading(struct porter *porter, const struct reading *reading)
{
    if (reading->lending)
        let_go(porter, reading->lending);
    else
        porter->keeper->let(reading->held);
}

static void serve(struct porter *porter, const struct porter_line *line, uint64_t sealed_ticket,
                  const struct porter_end *end)
{
    uint64_t words[PORTER_REQUEST_WORDS], ticket, elements = 0;
    struct datum_key key;
    struct porter_message message = {0};
    struct esp_error error = {.status = ESP_OK};
    if (porter_line_hear(line, words, sizeof words, end, NULL) != ESP_OK ||
        !porter_request_read(words, &message, &ticket, &key) || (line->tls && ticket != sealed_ticket))
        return;
    struct reading reading;
    if (!begin_reading(porter, &message, ticket, key, line->tls != NULL, &reading)) {
        say_status(line, ESP_NOT_FOUND, 0, "the pieces are not lent (any more): ask for them again", end);
        return;
    }
    enum esp_status status = porter_message_count(&message, &elements, &error);
    if (say_status(line, status, elements * message.element_bytes, error.text, end) == ESP_OK &&
        status == ESP_OK)
        porter_message_send(line, &message, end, &error); /* who receives it tells what is wrong */
    end_reading(porter, &reading);
}

void porter_serve_porter(struct porter *porter, int socket)
{
    struct porter_line line = {.socket = socket};
    uint64_t ticket = 0;
    const struct porter_end end = {.stop = porter->stop, .order = -1};
    if (porter_wait(socket, false, &end, PORTER_CONNECT_MS, NULL) != ESP_OK)
        return;
    if (!porter_tls_begins(socket) ||
        porter_tls_accept(socket, find_secret, porter, &end, &line.tls, &ticket, NULL) == ESP_OK) {
        if (porter->keeper && line.tls && ticket == PORTER_ORDERS)
            porter_serve_keep(porter, &line);
        else
            serve(porter, &line, ticket, &end);
    }
    porter_tls_close(line.tls);
}
