/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling pieces: the messages that the plan has for them, step by step, each from the porter that has it; or
 * straight out of memory, where that is this very one.
 */
#include "sed/porter/porter_internal.h"

#include "core/redistribution/pieces.h"
#include "util/careful.h"

#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LENDER_MS      3000 /* for a porter that need not be there: as long as another has nothing to do */
#define VAIN_QUESTIONS 256  /* to lenders, who then are asked no more */

/* As the links of a cluster are; what the order of the messages hangs on is the ratio of the two. */
static const struct redistribution_costs costs = {.step_s = 1e-4, .element_s = 8e-9};

/* ---- the way to another porter ---- */

/* Where somebody listens, and what is said there. */
struct porter_door {
    const char *host;
    uint16_t port;
    struct datum_key key;
    const unsigned char *secret; /* of encrypted connections */
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

/* The network between two hosts may change a bit that its own checksums miss. */
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

/* ---- lenders, who need not be there ---- */

/* An order, and what is known of its lenders. */
struct fetching {
    const struct porter_order *order;
    char *pieces;
    const struct porter_end *end;
    bool alone;     /* lenders are asked no more */
    uint32_t vain;  /* questions to them */
    uint32_t shift; /* the last one that had a piece is the rank of that piece's number and this */
    bool nowhere[PORTERS_MOST]; /* pieces, modulo that, which no lender keeps */
};

/* ESP_NOT_FOUND: it does not keep the piece. */
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
        fetching->alone = true; /* a second one that is silent would be waited for as long */
    return status;
}

/* The rank that should have it first: its place among the lenders, or 0. */
static uint32_t likely_lender(const struct fetching *fetching, int32_t piece)
{
    const struct porter_lenders *lenders = &fetching->order->lenders;
    for (uint32_t i = 0; i < lenders->n; i++)
        if (lenders->all[i].rank == (uint32_t)piece + fetching->shift)
            return i;
    return 0;
}

/* False: none of them gives it, and it is as if nothing had come. */
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
        return; /* the next wait sees that it is closed */
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

enum esp_status porter_fetch(const struct porter_order *order, char *pieces, const struct porter_end *end,
                             struct esp_error *error)
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

/* ---- without messages ---- */

/* One piece, out of others that this process has. */
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

/* Of memory that is a file, a disk that fails tells by a signal, which a thread of a porter has blocked. */
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

enum esp_status porter_take(const struct porter_order *order, const char *held, char *pieces,
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
