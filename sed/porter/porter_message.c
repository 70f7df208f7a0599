/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves the elements of a message: the kernel gathers them from the sender's memory, and scatters them
 * into the receiver's. */
#include "sed/porter/porter_internal.h"

#include "core/redistribution/pieces.h"
#include "util/clock.h"
#include "util/crc32c.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define RUNS_AT_A_TIME 512 /* at most IOV_MAX */

/* ---- waiting ---- */

enum esp_status porter_wait(int socket, bool write, const struct porter_end *end, int timeout_ms,
                            struct esp_error *error)
{
    struct pollfd fds[] = {{.fd = socket, .events = write ? POLLOUT : POLLIN},
                           {.fd = end->stop, .events = POLLIN},
                           {.fd = end->order, .events = POLLRDHUP}};
    int n;
    do
        n = poll(fds, 3, timeout_ms);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_errno(error, "cannot wait for the other side");
    if (fds[1].revents || fds[2].revents)
        return error_set(error, ESP_CANCELLED, "the transfer was withdrawn");
    if (n == 0)
        return error_set(error, ESP_TIMEOUT, "nothing moved for %.3g s", timeout_ms / 1e3);
    return ESP_OK;
}

static enum esp_status lost(struct esp_error *error)
{
    return error_set(error, ESP_UNREACHABLE, "the connection is lost: %s",
                     errno ? strerror(errno) : "the other side has closed it");
}

int porter_stall_ms(const struct porter_end *end)
{
    return end->stall_ms > 0 ? end->stall_ms : PORTER_STALL_MS;
}

/* Sends or receives some bytes, and removes them from the list. */
static enum esp_status move_some(int socket, bool write, struct iovec **runs, size_t *n,
                                 const struct porter_end *end, struct esp_error *error)
{
    struct msghdr message = {.msg_iov = *runs, .msg_iovlen = *n};
    enum esp_status status = ESP_OK;
    ssize_t moved;
    do {
        moved = write ? sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
                      : recvmsg(socket, &message, MSG_DONTWAIT);
        if (moved < 0 && errno == EAGAIN)
            status = porter_wait(socket, write, end, porter_stall_ms(end), error);
    } while (status == ESP_OK && moved < 0 && (errno == EINTR || errno == EAGAIN));
    if (status != ESP_OK)
        return status;
    if (moved <= 0) {
        errno = moved == 0 ? 0 : errno;
        return lost(error);
    }
    size_t left = (size_t)moved;
    for (; *n > 0 && left >= (*runs)->iov_len; (*runs)++, (*n)--)
        left -= (*runs)->iov_len;
    if (*n > 0) {
        (*runs)->iov_base = (char *)(*runs)->iov_base + left;
        (*runs)->iov_len -= left;
    }
    return ESP_OK;
}

static enum esp_status move_all(int socket, bool write, struct iovec *runs, size_t n,
                                const struct porter_end *end, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    while (status == ESP_OK && n > 0)
        status = move_some(socket, write, &runs, &n, end, error);
    return status;
}

enum esp_status porter_say(int socket, const void *data, size_t bytes, const struct porter_end *end,
                           struct esp_error *error)
{
    struct iovec run = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};
    return move_all(socket, true, &run, bytes > 0, end, error);
}

enum esp_status porter_hear(int socket, void *data, size_t bytes, const struct porter_end *end,
                            struct esp_error *error)
{
    struct iovec run = {.iov_base = data, .iov_len = bytes};
    return move_all(socket, false, &run, bytes > 0, end, error);
}

static enum esp_status move_on(const struct porter_line *line, bool write, struct iovec *runs, size_t n,
                               const struct porter_end *end, struct esp_error *error)
{
    return line->tls ? porter_tls_move(line->tls, write, runs, n, end, error)
                     : move_all(line->socket, write, runs, n, end, error);
}

enum esp_status porter_line_say(const struct porter_line *line, const void *data, size_t bytes,
                                const struct porter_end *end, struct esp_error *error)
{
    struct iovec run = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};
    return move_on(line, true, &run, bytes > 0, end, error);
}

enum esp_status porter_line_hear(const struct porter_line *line, void *data, size_t bytes,
                                 const struct porter_end *end, struct esp_error *error)
{
    struct iovec run = {.iov_base = data, .iov_len = bytes};
    return move_on(line, false, &run, bytes > 0, end, error);
}

/* ---- the elements ---- */

/* Runs of elements in the order in which they travel; short runs are gathered in a buffer first. */
struct walk {
    const struct porter_line *line;
    bool write;
    const struct porter_message *message;
    const struct porter_end *end;
    struct redistribution_run *rows, *cols;
    size_t n_rows, n_cols;
    char *piece;
    int64_t leading;
    uint32_t crc;
    size_t n;
    struct iovec runs[RUNS_AT_A_TIME];
};

static enum esp_status walk_begin(struct walk *walk, struct esp_error *error)
{
    const struct porter_message *m = walk->message;
    const struct block_cyclic_matrix *mine = walk->write ? &m->from : &m->to;
    int64_t rank = walk->write ? m->source : m->target, from_row, from_col, to_row, to_col, rows, cols;
    block_cyclic_matrix_place(&m->from, m->source, &from_row, &from_col);
    block_cyclic_matrix_place(&m->to, m->target, &to_row, &to_col);
    block_cyclic_matrix_shape(mine, rank, &rows, &cols);
    walk->leading = rows;
    if (m->piece && walk->write)
        walk->piece = (char *)(uintptr_t)m->piece; /* only read */
    else if (m->into && !walk->write)
        walk->piece = m->into;
    else if (m->pieces)
        walk->piece = m->pieces + pieces_before(mine, rank) * m->element_bytes;
    enum esp_status status =
        redistribution_runs(&m->from.rows, &m->to.rows, from_row, to_row, &walk->rows, &walk->n_rows, error);
    if (status == ESP_OK)
        status = redistribution_runs(&m->from.cols, &m->to.cols, from_col, to_col, &walk->cols, &walk->n_cols,
                                     error);
    return status;
}

static void walk_end(struct walk *walk)
{
    free(walk->rows);
    free(walk->cols);
}

static void check(struct walk *walk, const struct iovec *runs, size_t n)
{
    for (size_t i = 0; walk->message->checked && i < n; i++)
        walk->crc = crc32c(walk->crc, runs[i].iov_base, runs[i].iov_len);
}

static enum esp_status flush(struct walk *walk, struct esp_error *error)
{
    struct iovec moving[RUNS_AT_A_TIME];
    size_t n = walk->n;
    memcpy(moving, walk->runs, n * sizeof *moving);
    walk->n = 0;
    if (walk->write)
        check(walk, walk->runs, n);
    enum esp_status status = move_on(walk->line, walk->write, moving, n, walk->end, error);
    if (status == ESP_OK && !walk->write)
        check(walk, walk->runs, n);
    return status;
}

static enum esp_status add(struct walk *walk, char *at, size_t bytes, struct esp_error *error)
{
    struct iovec *last = walk->n > 0 ? &walk->runs[walk->n - 1] : NULL;
    if (last && (char *)last->iov_base + last->iov_len == at) {
        last->iov_len += bytes;
        return ESP_OK;
    }
    enum esp_status status = walk->n == RUNS_AT_A_TIME ? flush(walk, error) : ESP_OK;
    walk->runs[walk->n++] = (struct iovec){.iov_base = at, .iov_len = bytes};
    return status;
}

static enum esp_status move_column(struct walk *walk, int64_t col, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    size_t bytes = walk->message->element_bytes;
    char *column = walk->piece + (size_t)(col * walk->leading) * bytes;
    for (size_t i = 0; status == ESP_OK && i < walk->n_rows; i++) {
        const struct redistribution_run *run = &walk->rows[i];
        status = add(walk, column + (size_t)(walk->write ? run->from : run->to) * bytes,
                     (size_t)run->length * bytes, error);
    }
    return status;
}

static enum esp_status move_elements(struct walk *walk, struct esp_error *error)
{
    enum esp_status status = walk_begin(walk, error);
    for (size_t i = 0; status == ESP_OK && i < walk->n_cols; i++) {
        int64_t first = walk->write ? walk->cols[i].from : walk->cols[i].to;
        for (int64_t col = first; status == ESP_OK && col < first + walk->cols[i].length; col++)
            status = move_column(walk, col, error);
    }
    return status == ESP_OK ? flush(walk, error) : status;
}

enum esp_status porter_message_send(const struct porter_line *line, const struct porter_message *message,
                                    const struct porter_end *end, struct esp_error *error)
{
    struct walk walk = {.line = line, .write = true, .message = message, .end = end};
    enum esp_status status = move_elements(&walk, error);
    uint64_t crc = htole64(walk.crc);
    if (status == ESP_OK && message->checked)
        status = porter_line_say(line, &crc, sizeof crc, end, error);
    walk_end(&walk);
    return status;
}

enum esp_status porter_message_receive(const struct porter_line *line, const struct porter_message *message,
                                       const struct porter_end *end, struct esp_error *error)
{
    struct walk walk = {.line = line, .message = message, .end = end};
    enum esp_status status = move_elements(&walk, error);
    uint64_t crc;
    if (status == ESP_OK && message->checked)
        status = porter_line_hear(line, &crc, sizeof crc, end, error);
    if (status == ESP_OK && message->checked && le64toh(crc) != walk.crc)
        status = error_set(error, ESP_PROTOCOL, "the checksum of the elements is wrong");
    walk_end(&walk);
    return status;
}

static uint64_t sum(const struct redistribution_run *runs, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += (uint64_t)runs[i].length;
    return all;
}

enum esp_status porter_message_count(const struct porter_message *message, uint64_t *elements,
                                     struct esp_error *error)
{
    struct porter_message counted = *message;
    struct walk walk = {.message = &counted};
    counted.pieces = NULL;
    counted.piece = NULL;
    counted.into = NULL;
    enum esp_status status = walk_begin(&walk, error);
    *elements = sum(walk.rows, walk.n_rows) * sum(walk.cols, walk.n_cols);
    walk_end(&walk);
    return status;
}

/* ---- requests ---- */

static uint64_t *write_line(uint64_t *to, const struct block_cyclic *line)
{
    *to++ = (uint64_t)line->n;
    *to++ = (uint64_t)line->block;
    *to++ = (uint64_t)line->ranks;
    *to++ = (uint64_t)line->source;
    return to;
}

static const uint64_t *read_line(const uint64_t *from, struct block_cyclic *line)
{
    line->n = (int64_t)le64toh(*from++);
    line->block = (int64_t)le64toh(*from++);
    line->ranks = (int64_t)le64toh(*from++);
    line->source = (int64_t)le64toh(*from++);
    return from;
}

void porter_request_write(const struct porter_message *message, uint64_t ticket, struct datum_key key,
                          uint64_t words[PORTER_REQUEST_WORDS])
{
    uint64_t *to = words;
    *to++ = PORTER_MAGIC;
    *to++ = ticket;
    *to++ = key.high;
    *to++ = key.low;
    *to++ = (uint64_t)message->source;
    *to++ = (uint64_t)message->target;
    *to++ = message->element_bytes;
    *to++ = message->checked;
    to = write_line(to, &message->from.rows);
    to = write_line(to, &message->from.cols);
    to = write_line(to, &message->to.rows);
    to = write_line(to, &message->to.cols);
    *to = (uint64_t)message->from.by_columns | (uint64_t)message->to.by_columns << 1;
    for (size_t i = 0; i < PORTER_REQUEST_WORDS; i++)
        words[i] = htole64(words[i]);
}

bool porter_request_read(const uint64_t words[PORTER_REQUEST_WORDS], struct porter_message *message,
                         uint64_t *ticket, struct datum_key *key)
{
    const uint64_t *from = words;
    if (le64toh(*from++) != PORTER_MAGIC)
        return false;
    *ticket = le64toh(*from++);
    key->high = le64toh(*from++);
    key->low = le64toh(*from++);
    message->source = (int64_t)le64toh(*from++);
    message->target = (int64_t)le64toh(*from++);
    message->element_bytes = le64toh(*from++);
    message->checked = le64toh(*from++) != 0;
    from = read_line(from, &message->from.rows);
    from = read_line(from, &message->from.cols);
    from = read_line(from, &message->to.rows);
    from = read_line(from, &message->to.cols);
    message->from.by_columns = le64toh(*from) & 1;
    message->to.by_columns = le64toh(*from) & 2;
    return block_cyclic_matrix_check(&message->from, "the matrix", NULL) == ESP_OK &&
           block_cyclic_matrix_check(&message->to, "the matrix", NULL) == ESP_OK &&
           message->from.rows.n == message->to.rows.n && message->from.cols.n == message->to.cols.n &&
           message->source >= 0 && message->source < block_cyclic_matrix_ranks(&message->from) &&
           message->target >= 0 && message->target < block_cyclic_matrix_ranks(&message->to);
}
