/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills pieces: receives the plan's messages, step by step, each from the porter that has the data; or
 * copies from this process's own memory. */
#include "core/redistribution/pieces.h"
#include "sed/porter/porter_far.h"
#include "sed/porter/porter_internal.h"
#include "util/careful.h"
#include "util/clock.h"
#include "util/listen_at.h"
#include "util/log.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

static void porter_serve_keep(struct porter *porter, const struct porter_line *line);

#define LENDER_MS      3000 /* for a porter that need not exist: time in which another has nothing to do */
#define VAIN_QUESTIONS 256  /* questions to lenders without success, after which none is asked any more */

/* Typical for the links of a cluster; only the ratio of the two affects the order of messages. */
static const struct redistribution_costs costs = {.step_s = 1e-4, .element_s = 8e-9};

/* ---- connecting to another porter ---- */

/* Address of a porter, and the words of the request. */
struct porter_door {
    const char *host;
    uint16_t port;
    struct datum_key key;
    const unsigned char *secret; /* key of encrypted connections */
    int connect_ms;
};

static enum esp_status finish_connecting(int socket, int connect_ms, const struct porter_end *end,
                                         struct esp_error *error)
{
    int why = 0;
    socklen_t size = sizeof why;
    enum esp_status status = porter_wait(socket, true, end, connect_ms, error);
    if (status == ESP_OK && getsockopt(socket, SOL_SOCKET, SO_ERROR, &why, &size) == 0 && why != 0)
        status = error_set(error, ESP_UNREACHABLE, "%s", strerror(why));
    return status == ESP_TIMEOUT ? error_set(error, ESP_UNREACHABLE, "it does not answer") : status;
}

static enum esp_status connect_to(const struct addrinfo *at, int connect_ms, const struct porter_end *end,
                                  int *socket_, struct esp_error *error)
{
    *socket_ = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*socket_ < 0)
        return error_set(error, ESP_UNREACHABLE, "cannot make a socket: %s", strerror(errno));
    if (connect(*socket_, at->ai_addr, at->ai_addrlen) == 0)
        return ESP_OK;
    return errno == EINPROGRESS ? finish_connecting(*socket_, connect_ms, end, error)
                                : error_set(error, ESP_UNREACHABLE, "%s", strerror(errno));
}

enum esp_status porter_connect(const char *host, uint16_t port, int connect_ms, const struct porter_end *end,
                               int *socket_, struct esp_error *error)
{
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char number[8];
    *socket_ = -1;
    snprintf(number, sizeof number, "%u", port);
    int why = getaddrinfo(host, number, &wanted, &found);
    if (why != 0)
        return error_set(error, ESP_UNREACHABLE, "%s", gai_strerror(why));
    enum esp_status status = ESP_UNREACHABLE;
    for (const struct addrinfo *at = found; at && status == ESP_UNREACHABLE; at = at->ai_next) {
        if (*socket_ >= 0)
            close(*socket_);
        status = connect_to(at, connect_ms, end, socket_, error);
    }
    freeaddrinfo(found);
    return status;
}

/* Messages between two hosts have a checksum, because the network may change a bit that its own checksums
 * miss. */
static bool is_elsewhere(int socket)
{
    char here[NI_MAXHOST], there[NI_MAXHOST];
    struct sockaddr_storage name, peer;
    socklen_t name_size = sizeof name, peer_size = sizeof peer;
    return getsockname(socket, (struct sockaddr *)&name, &name_size) != 0 ||
           getpeername(socket, (struct sockaddr *)&peer, &peer_size) != 0 ||
           getnameinfo((const struct sockaddr *)&name, name_size, here, sizeof here, NULL, 0,
                       NI_NUMERICHOST) != 0 ||
           getnameinfo((const struct sockaddr *)&peer, peer_size, there, sizeof there, NULL, 0,
                       NI_NUMERICHOST) != 0 ||
           strcmp(here, there) != 0;
}

/* ---- a message ---- */

static enum esp_status hear_status(const struct porter_line *line, uint64_t bytes,
                                   const struct porter_end *end, struct esp_error *error)
{
    uint64_t words[2];
    char text[PORTER_TEXT];
    enum esp_status status = porter_line_hear(line, words, sizeof words, end, error);
    if (status != ESP_OK)
        return status;
    if (le64toh(words[0]) != ESP_OK) {
        status = porter_line_hear(line, text, sizeof text, end, error);
        text[PORTER_TEXT - 1] = 0;
        text[strnlen(text, PORTER_TEXT)] = 0;
        for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
            text[n - 1] = 0;
        return status == ESP_OK ? error_set(error, (enum esp_status)le64toh(words[0]), "%s", text) : status;
    }
    if (le64toh(words[1]) == bytes)
        return ESP_OK;
    return error_set(error, ESP_PROTOCOL, "expected a message of %llu bytes, found %llu",
                     (unsigned long long)bytes, (unsigned long long)le64toh(words[1]));
}

static enum esp_status ask_for(const struct porter_line *line, const struct porter_order *order,
                               struct datum_key key, struct porter_message *message,
                               const struct porter_end *end, struct esp_error *error)
{
    uint64_t words[PORTER_REQUEST_WORDS], elements;
    message->checked = !line->tls && is_elsewhere(line->socket);
    porter_request_write(message, order->ticket, key, words);
    enum esp_status status = porter_message_count(message, &elements, error);
    if (status == ESP_OK)
        status = porter_line_say(line, words, sizeof words, end, error);
    if (status == ESP_OK)
        status = hear_status(line, elements * order->element_bytes, end, error);
    return status == ESP_OK ? porter_message_receive(line, message, end, error) : status;
}

static enum esp_status fetch_from(const struct porter_door *door, const struct porter_order *order,
                                  struct porter_message *message, const struct porter_end *end,
                                  struct esp_error *error)
{
    struct porter_line line = {.socket = -1};
    enum esp_status status =
        porter_connect(door->host, door->port, door->connect_ms, end, &line.socket, error);
    if (status == ESP_OK && order->sealed)
        status = porter_tls_connect(line.socket, order->ticket, door->secret, end, &line.tls, error);
    if (status == ESP_OK)
        status = ask_for(&line, order, door->key, message, end, error);
    porter_tls_close(line.tls);
    if (line.socket >= 0)
        close(line.socket);
    return status;
}

/* ---- lenders, which need not exist ---- */

/* An order, and what is known about its lenders. */
struct fetching {
    const struct porter_order *order;
    char *pieces;
    const struct porter_end *end;
    bool alone;     /* lenders are not asked any more */
    uint32_t vain;  /* questions to them without success */
    uint32_t shift; /* offset from a piece's number to the rank of the lender that last had a piece */
    bool nowhere[PORTERS_MOST]; /* pieces, modulo PORTERS_MOST, that no lender has */
};

/* ESP_NOT_FOUND: it does not have the piece. */
static enum esp_status ask_lender(struct fetching *fetching, const struct porter_lender *lender,
                                  struct porter_message *message)
{
    const struct porter_order *order = fetching->order;
    const struct porter_door door = {lender->host, lender->port, order->lenders.name, order->lenders.secret,
                                     LENDER_MS};
    struct porter_end end = *fetching->end;
    if (end.stall_ms <= 0 || end.stall_ms > LENDER_MS)
        end.stall_ms = LENDER_MS;
    const enum esp_status status = fetch_from(&door, order, message, &end, NULL);
    if (status == ESP_OK)
        fetching->shift = lender->rank - (uint32_t)message->source;
    else if (status != ESP_NOT_FOUND || ++fetching->vain == VAIN_QUESTIONS)
        fetching->alone = true; /* a second silent one would take as long */
    return status;
}

/* Returns the index of the lender that is most likely to have the piece, or 0. */
static uint32_t likely_lender(const struct fetching *fetching, int32_t piece)
{
    const struct porter_lenders *lenders = &fetching->order->lenders;
    for (uint32_t i = 0; i < lenders->n; i++)
        if (lenders->all[i].rank == (uint32_t)piece + fetching->shift)
            return i;
    return 0;
}

/* False: no lender has it, and nothing has been changed. */
static bool fetch_from_lender(struct fetching *fetching, struct porter_message *message)
{
    const struct porter_lenders *lenders = &fetching->order->lenders;
    bool *nowhere = &fetching->nowhere[(uint64_t)message->source % PORTERS_MOST];
    if (*nowhere)
        return false;
    const uint32_t first = likely_lender(fetching, (int32_t)message->source);
    for (uint32_t i = 0; i < lenders->n && !fetching->alone; i++)
        if (ask_lender(fetching, &lenders->all[(first + i) % lenders->n], message) == ESP_OK)
            return true;
    *nowhere = true;
    return false;
}

static enum esp_status fetch_message(struct fetching *fetching, const struct redistribution_message *planned,
                                     struct esp_error *error)
{
    const struct porter_order *order = fetching->order;
    struct porter_message message = {.from = order->from,
                                     .to = order->to,
                                     .source = planned->source,
                                     .target = planned->target,
                                     .element_bytes = order->element_bytes};
    *(order->kind == PORTER_KEEP ? &message.into : &message.pieces) = fetching->pieces;
    const uint32_t rank = (uint32_t)planned->source % order->n_ports;
    const struct porter_door door = {order->host, order->ports[rank], order->key, order->secret,
                                     PORTER_CONNECT_MS};
    if (fetch_from_lender(fetching, &message))
        return ESP_OK;
    enum esp_status status = fetch_from(&door, order, &message, fetching->end, error);
    if (status != ESP_OK)
        error_prefix(error, "piece %d from %s%s%s%s:%u (porter %u of %u there)", planned->source,
                     *order->source ? "server " : "", order->source, *order->source ? ", " : "", order->host,
                     door.port, rank, order->n_ports);
    return status;
}

/* ---- all of them ---- */

static void tell(const struct porter_end *end, uint64_t bytes)
{
    const struct porter_answer moved = {.kind = PORTER_MOVED, .bytes = bytes};
    if (send(end->order, &moved, sizeof moved, MSG_NOSIGNAL) < 0)
        return; /* the next wait notices that it is closed */
}

static enum esp_status fetch_step(struct fetching *fetching, const struct redistribution_plan *plan,
                                  int32_t step, struct esp_error *error)
{
    size_t n;
    enum esp_status status = ESP_OK;
    const struct porter_order *order = fetching->order;
    const struct redistribution_message *messages = redistribution_plan_step(plan, step, &n);
    for (size_t i = 0; status == ESP_OK && i < n; i++) {
        if ((uint32_t)messages[i].target % order->places != order->place)
            continue;
        status = fetch_message(fetching, &messages[i], error);
        if (status == ESP_OK && order->kind != PORTER_KEEP)
            tell(fetching->end, (uint64_t)messages[i].elements * order->element_bytes);
    }
    return status;
}

/* Executes the order, whose pieces are at `pieces`, and reports the progress to the daemon over
 * end->order. For PORTER_KEEP the one piece is there, and nothing is reported. */
static enum esp_status porter_fetch(const struct porter_order *order, char *pieces,
                                    const struct porter_end *end, struct esp_error *error)
{
    const struct redistribution what = {.from = order->from, .to = order->to};
    struct fetching fetching = {.order = order, .pieces = pieces, .end = end};
    struct redistribution_plan *plan;
    enum esp_status status = redistribution_plan_create(&what, REDISTRIBUTION_BEST, &costs, &plan, error);
    if (status != ESP_OK)
        return status;
    int32_t steps = redistribution_plan_summary(plan)->steps;
    for (int32_t step = 0; status == ESP_OK && step < steps; step++)
        status = fetch_step(&fetching, plan, step, error);
    redistribution_plan_destroy(plan);
    return status;
}

/* ---- copying within the process ---- */

/* A piece that is copied from others in this process. */
struct taking {
    const struct porter_order *order;
    const char *held;
    char *piece;
    int64_t rank;
};

static void take_piece(void *arg)
{
    const struct taking *taking = arg;
    const struct porter_order *order = taking->order;
    int64_t row, col;
    block_cyclic_matrix_place(&order->to, taking->rank, &row, &col);
    pieces_take(&order->from, taking->held, &order->to, row, col, taking->piece,
                block_cyclic_count(&order->to.rows, row), order->element_bytes);
}

/* A failing disk under mapped memory raises a signal, which a porter's thread has blocked, so the copy
 * runs under careful_read(). */
static bool take_carefully(struct taking *taking)
{
    sigset_t fault, blocked;
    sigemptyset(&fault);
    sigaddset(&fault, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &fault, &blocked);
    const bool taken = careful_read(take_piece, taking);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    return taken;
}

/* Executes the order for data in this process's memory, at `held`, without messages. */
static enum esp_status porter_take(const struct porter_order *order, const char *held, char *pieces,
                                   const struct porter_end *end, struct esp_error *error)
{
    const int64_t n = block_cyclic_matrix_ranks(&order->to);
    uint64_t bytes;
    for (int64_t rank = 0; rank < n; rank++, pieces += bytes) {
        struct taking taking = {order, held, pieces, rank};
        bytes = pieces_count(&order->to, rank) * order->element_bytes;
        if (rank % order->places != order->place || bytes == 0)
            continue;
        if (!take_carefully(&taking))
            return error_set(error, ESP_SYSTEM,
                             "the memory of the datum cannot be read: its disk has failed");
        tell(end, bytes);
        if (porter_wait(-1, false, end, 0, NULL) == ESP_CANCELLED)
            return error_set(error, ESP_CANCELLED, "the transfer was withdrawn");
    }
    return ESP_OK;
}

/* Serves connections: the daemon's orders, and other porters that fetch lent data. */

struct lending {
    struct porter_order order;
    char *pieces;
    unsigned readers;
    struct lending *prev, *next;
};

/* ---- memory of an order ---- */

static char *map(int fd, uint64_t offset, uint64_t bytes, bool write, void **base, size_t *length)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), skip = offset % page;
    *length = bytes + skip;
    *base = mmap(NULL, *length, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd,
                 (off_t)(offset - skip));
    return *base == MAP_FAILED ? NULL : (char *)*base + skip;
}

/* Whether the order is consistent. */
static bool porter_order_is_sound(const struct porter_order *order)
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

/* ---- lending ---- */

static bool is_alike(const struct block_cyclic_matrix *a, const struct block_cyclic_matrix *b)
{
    return a->rows.n == b->rows.n && a->cols.n == b->cols.n && pieces_are_alike(a, b);
}

/* Finds the lent data of a request, which stay while they are being read. */
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
    snprintf(answer.text, sizeof answer.text, "%.511s", text);
    if (send(socket, &answer, sizeof answer, MSG_NOSIGNAL) < 0)
        return; /* no one wants progress reports */
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

/* Fetches from other porters; data that this one lends itself are copied without messages. */
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

/* Receives one order with one descriptor, from a process of our own user. */
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

/* Serves the daemon. The socket remains the caller's. */
static void porter_serve_daemon(struct porter *porter, int socket)
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

/* The lent data of a request being served. */
struct reading {
    struct lending *lending; /* or */
    void *held;              /* held in the keeper */
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

static void serve_stream(struct porter *porter, const struct porter_line *line, uint64_t sealed_ticket,
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
        porter_message_send(line, &message, end, &error); /* the receiver reports the error */
    end_reading(porter, &reading);
}

static void porter_serve_porter(struct porter *porter, int socket)
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
            serve_stream(porter, &line, ticket, &end);
    }
    porter_tls_close(line.tls);
}

/* Orders of the daemon to the porter of a rank on another host: fetch one piece into the rank's cache, so
 * that a later call need not send it. They come over an encrypted connection whose key only the daemon and
 * its ranks have; closing it withdraws the order. */

/* One at a time, because a rank's memory for parts is limited. */
static bool begin(struct porter *porter)
{
    pthread_mutex_lock(&porter->lock);
    const bool free_now = !porter->keeping;
    porter->keeping = true;
    pthread_mutex_unlock(&porter->lock);
    return free_now;
}

static void end(struct porter *porter)
{
    pthread_mutex_lock(&porter->lock);
    porter->keeping = false;
    pthread_mutex_unlock(&porter->lock);
}

static enum esp_status fetch_piece(const struct porter_keeper *keeper, const struct porter_order *order,
                                   const struct porter_end *until, struct esp_error *error)
{
    const uint64_t bytes = pieces_count(&order->to, order->place) * order->element_bytes;
    void *held;
    if (keeper->hold(order->name, &order->to, order->place, order->element_bytes, bytes, &held)) {
        keeper->let(held); /* an earlier attempt has fetched it */
        return ESP_OK;
    }
    char *piece = keeper->make(order->name, &order->to, order->place, order->element_bytes, bytes, &held);
    if (!piece)
        return error_set(error, ESP_NO_MEMORY, "it has no room for another piece");
    const enum esp_status status = porter_fetch(order, piece, until, error);
    if (status == ESP_OK)
        keeper->filled(held);
    keeper->let(held);
    return status;
}

static enum esp_status keep(struct porter *porter, const struct porter_order *order, int socket,
                            struct esp_error *error)
{
    const struct porter_end until = {.stop = porter->stop, .order = socket, .stall_ms = (int)order->stall_ms};
    if (order->kind != PORTER_KEEP || !porter_order_is_sound(order) ||
        order->places != block_cyclic_matrix_ranks(&order->to))
        return error_set(error, ESP_PROTOCOL, "the porter was handed a malformed order");
    if (!begin(porter))
        return error_set(error, ESP_BUSY, "it fetches another piece");
    const enum esp_status status = fetch_piece(porter->keeper, order, &until, error);
    end(porter);
    return status;
}

/* Executes the order on this connection, which only the daemon can have opened. */
static void porter_serve_keep(struct porter *porter, const struct porter_line *line)
{
    struct esp_error error = {.status = ESP_OK};
    struct porter_answer answer = {.kind = PORTER_ENDED};
    const struct porter_end soon = {.stop = porter->stop, .order = -1, .stall_ms = PORTER_CONNECT_MS};
    struct porter_order *order = porter->keeper->make ? malloc(sizeof *order) : NULL;
    if (order && porter_line_hear(line, order, sizeof *order, &soon, NULL) == ESP_OK) {
        answer.status = keep(porter, order, line->socket, &error);
        snprintf(answer.text, sizeof answer.text, "%.511s", answer.status == ESP_OK ? "" : error.text);
        porter_line_say(line, &answer, sizeof answer, &soon, NULL);
    }
    free(order);
}

/* Accepts connections, each served on its own thread: the daemon with an order, other porters that fetch
 * lent data (porter.c). */

/* All porters of a server may fetch at the same time, besides orders. */
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

/* A connection beyond the limit is closed. */
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

/* Takes the new socket to listen at. Only the listener's thread changes porter->local. */
static int take_next(struct porter *porter)
{
    uint64_t times;
    pthread_mutex_lock(&porter->lock);
    if (read(porter->wake, &times, sizeof times) == sizeof times && porter->next >= 0) {
        close(porter->local);
        porter->local = porter->next;
        porter->next = -1;
    }
    pthread_mutex_unlock(&porter->lock);
    return porter->local;
}

static void *listen_on(void *arg)
{
    struct porter *porter = arg;
    struct pollfd fds[LISTEN_MOST + 3] = {{.fd = porter->stop, .events = POLLIN},
                                          {.fd = porter->wake, .events = POLLIN},
                                          {.fd = porter->local, .events = POLLIN}};
    const nfds_t n = 3 + porter->tcp.n;
    for (uint32_t i = 0; i < porter->tcp.n; i++)
        fds[3 + i] = (struct pollfd){.fd = porter->tcp.fds[i], .events = POLLIN};
    while (!fds[0].revents) {
        if (poll(fds, n, -1) < 0)
            continue;
        for (nfds_t i = 2; i < n; i++)
            if (fds[i].revents)
                welcome(porter, fds[i].fd);
        if (fds[1].revents)
            fds[2].fd = take_next(porter);
    }
    return NULL;
}

/* ---- creation and end ---- */

static enum esp_status listen_local(const char *path, int *socket_, struct esp_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return error_set(error, ESP_LIMIT, "the path of a porter's socket is too long: %s", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    unlink(path);
    *socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*socket_ >= 0 && bind(*socket_, (const struct sockaddr *)&address, sizeof address) == 0 &&
        listen(*socket_, SOMAXCONN) == 0)
        return ESP_OK;
    const enum esp_status status = error_errno(error, "cannot listen for orders at %s", path);
    if (*socket_ >= 0)
        close(*socket_);
    *socket_ = -1;
    return status;
}

enum esp_status porter_listen_again(struct porter *porter, const char *path, struct esp_error *error)
{
    static const uint64_t one = 1;
    int next;
    enum esp_status status = listen_local(path, &next, error);
    if (status != ESP_OK)
        return status;
    pthread_mutex_lock(&porter->lock);
    if (porter->next >= 0)
        close(porter->next);
    porter->next = next;
    memcpy(porter->path, path, strlen(path) + 1);
    pthread_mutex_unlock(&porter->lock);
    return write(porter->wake, &one, sizeof one) == sizeof one ? ESP_OK
                                                               : error_errno(error, "cannot wake a porter");
}

static enum esp_status listen_tcp(struct porter *porter, const char *host, uint16_t wanted,
                                  struct esp_error *error)
{
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    struct listen_at at;
    char port[NI_MAXSERV];
    const char *shown = host && *host ? host : "any interface";
    if (listen_at_find(host ? host : "", wanted, &at, error) != ESP_OK)
        return error_prefix(error, "cannot listen for porters");
    if (!listen_at_open_all(&at, SOMAXCONN, &porter->tcp) ||
        getsockname(porter->tcp.fds[0], (struct sockaddr *)&name, &size) != 0 ||
        getnameinfo((const struct sockaddr *)&name, size, NULL, 0, port, sizeof port, NI_NUMERICSERV) != 0)
        return error_errno(error, "cannot listen for porters on %s, port %u", shown, wanted);
    porter->port = (uint16_t)strtoul(port, NULL, 10);
    return ESP_OK;
}

static enum esp_status start(struct porter *porter, struct esp_error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* inherited by its threads */
    int why = pthread_create(&porter->listener, NULL, listen_on, porter);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    porter->listening = why == 0;
    errno = why;
    return why == 0 ? ESP_OK : error_errno(error, "cannot start a porter's thread");
}

/* `path` NULL: it takes no orders. */
static enum esp_status create(const char *path, const char *host, uint16_t port,
                              const struct porter_keeper *keeper, struct porter **result,
                              struct esp_error *error)
{
    struct porter *porter = calloc(1, sizeof *porter);
    if (!porter)
        return error_no_memory(error, "a porter");
    porter->local = porter->next = -1;
    porter->keeper = keeper;
    pthread_mutex_init(&porter->lock, NULL);
    pthread_cond_init(&porter->changed, NULL);
    porter->stop = eventfd(0, EFD_CLOEXEC);
    porter->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum esp_status status =
        porter->stop < 0 || porter->wake < 0 ? error_errno(error, "cannot start a porter") : ESP_OK;
    if (status == ESP_OK && path && (status = listen_local(path, &porter->local, error)) == ESP_OK)
        memcpy(porter->path, path, strlen(path) + 1);
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
    const int fds[] = {porter->local, porter->next, porter->stop, porter->wake};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    listen_sockets_close(&porter->tcp);
    if (porter->path[0])
        unlink(porter->path);
    pthread_mutex_destroy(&porter->lock);
    pthread_cond_destroy(&porter->changed);
    free(porter);
}

/* One rank, and the thread that waits for it. */
struct far_rank {
    struct porter_far *far;
    struct porter_lender at;
    uint32_t piece;
    pthread_t thread;
    bool has_it;
};

struct porter_far {
    struct porter_order order;
    unsigned char secret[PORTER_SECRET_BYTES];
    int stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t left; /* threads that have not finished */
    uint32_t n;
    struct far_rank ranks[PORTER_LENDERS_MOST];
};

/* ---- one rank ---- */

static enum esp_status say_order(const struct far_rank *rank, const struct porter_line *line,
                                 struct esp_error *error)
{
    const struct porter_far *far = rank->far;
    struct porter_order order = far->order;
    struct porter_answer answer;
    const struct porter_end soon = {.stop = far->stop, .order = -1, .stall_ms = PORTER_CONNECT_MS},
                            end = {.stop = far->stop, .order = -1, .stall_ms = INT_MAX};
    order.place = rank->piece;
    enum esp_status status = porter_line_say(line, &order, sizeof order, &soon, error);
    if (status == ESP_OK)
        status = porter_line_hear(line, &answer, sizeof answer, &end, error);
    if (status != ESP_OK)
        return status;
    answer.text[sizeof answer.text - 1] = 0;
    return answer.status == ESP_OK ? ESP_OK
                                   : error_set(error, (enum esp_status)answer.status, "%s", answer.text);
}

static enum esp_status have_fetched(const struct far_rank *rank, struct esp_error *error)
{
    const struct porter_far *far = rank->far;
    struct porter_line line = {.socket = -1};
    const struct porter_end soon = {.stop = far->stop, .order = -1, .stall_ms = PORTER_CONNECT_MS};
    enum esp_status status =
        porter_connect(rank->at.host, rank->at.port, PORTER_CONNECT_MS, &soon, &line.socket, error);
    if (status == ESP_OK)
        status = porter_tls_connect(line.socket, PORTER_ORDERS, far->secret, &soon, &line.tls, error);
    if (status == ESP_OK)
        status = say_order(rank, &line, error);
    porter_tls_close(line.tls);
    if (line.socket >= 0)
        close(line.socket);
    return status;
}

static void *run(void *arg)
{
    struct far_rank *rank = arg;
    struct porter_far *far = rank->far;
    struct esp_error error;
    rank->has_it = have_fetched(rank, &error) == ESP_OK;
    if (!rank->has_it)
        log_debug("rank %u at %s:%u has not fetched its piece: %s", rank->at.rank, rank->at.host,
                  rank->at.port, error.text);
    pthread_mutex_lock(&far->lock);
    far->left--;
    pthread_cond_broadcast(&far->changed);
    pthread_mutex_unlock(&far->lock);
    return NULL;
}

/* ---- all of them ---- */

/* Calls use the ranks row by row of their grid. */
static bool has_place(const struct porter_far *far, const struct porter_lender *rank, uint32_t *piece)
{
    const struct block_cyclic_matrix *to = &far->order.to;
    if (rank->rank >= far->order.places)
        return false;
    const int64_t place =
        block_cyclic_matrix_rank(to, rank->rank / to->cols.ranks, rank->rank % to->cols.ranks);
    *piece = (uint32_t)place;
    return pieces_count(to, place) > 0;
}

static void far_start(struct porter_far *far, const struct porter_lender *at)
{
    struct far_rank *rank = &far->ranks[far->n];
    *rank = (struct far_rank){.far = far, .at = *at};
    if (!has_place(far, at, &rank->piece))
        return;
    pthread_mutex_lock(&far->lock);
    far->left++;
    pthread_mutex_unlock(&far->lock);
    if (pthread_create(&rank->thread, NULL, run, rank) == 0) {
        far->n++;
        return;
    }
    pthread_mutex_lock(&far->lock);
    far->left--;
    pthread_mutex_unlock(&far->lock);
}

static void start_all(struct porter_far *far, const struct porter_lenders *ranks)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* inherited by its threads */
    for (uint32_t i = 0; i < ranks->n && i < PORTER_LENDERS_MOST; i++)
        far_start(far, &ranks->all[i]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static struct porter_far *far_create(const struct porter_lenders *ranks, const struct porter_order *order)
{
    pthread_condattr_t attributes;
    struct porter_far *far = calloc(1, sizeof *far);
    const int stop = far ? eventfd(0, EFD_CLOEXEC) : -1;
    if (stop < 0) {
        free(far);
        return NULL;
    }
    far->stop = stop;
    far->order = *order;
    far->order.kind = PORTER_KEEP;
    far->order.version = PORTER_VERSION;
    far->order.name = ranks->name;
    far->order.places = (uint32_t)block_cyclic_matrix_ranks(&order->to);
    memcpy(far->secret, ranks->secret, sizeof far->secret);
    pthread_mutex_init(&far->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&far->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return far;
}

struct porter_far *porter_far_begin(const struct porter_lenders *ranks, const struct porter_order *order)
{
    if (ranks->n == 0 || block_cyclic_matrix_ranks(&order->to) > ranks->ranks)
        return NULL;
    struct porter_far *far = far_create(ranks, order);
    if (far)
        start_all(far, ranks);
    return far;
}

/* Waits until all have finished, at most that long. */
static void wait_for_all(struct porter_far *far, int wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t ns = until.tv_nsec + (int64_t)wait_ms * NS_PER_MS;
    until.tv_sec += (time_t)(ns / NS_PER_S);
    until.tv_nsec = (long)(ns % NS_PER_S);
    pthread_mutex_lock(&far->lock);
    while (far->left > 0 && pthread_cond_timedwait(&far->changed, &far->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&far->lock);
}

uint32_t porter_far_end(struct porter_far *far, int wait_ms)
{
    static const uint64_t one = 1;
    uint32_t have = 0;
    if (!far)
        return 0;
    wait_for_all(far, wait_ms);
    while (write(far->stop, &one, sizeof one) != sizeof one)
        ;
    for (uint32_t i = 0; i < far->n; i++) {
        pthread_join(far->ranks[i].thread, NULL);
        have += far->ranks[i].has_it;
    }
    close(far->stop);
    pthread_cond_destroy(&far->changed);
    pthread_mutex_destroy(&far->lock);
    free(far);
    return have;
}
