/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of porters, shared by their files. */
#ifndef SED_PORTER_INTERNAL_H
#define SED_PORTER_INTERNAL_H

#include "core/redistribution/redistribution.h"
#include "sed/porter/porter.h"
#include "sed/porter/porter_stream.h"
#include "sed/porter/porter_tls.h"
#include "util/listen_at.h"

#include <pthread.h>

#define PORTER_CONNECT_MS 5000 /* also for sending a request and receiving the answer */

struct lending; /* data that a daemon lends, as long as its order exists */

struct porter {
    int local, next, stop, wake; /* next: the socket that replaces `local`; -1: none */
    struct listen_sockets tcp;
    uint16_t port;
    bool listening;
    pthread_t listener;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* signalled when a reader or a thread has ended */
    unsigned threads;
    struct lending *lendings;
    const struct porter_keeper *keeper; /* NULL: it has no cache */
    bool keeping;                       /* an order that adds to the cache is in progress */
    char path[PORTER_PATH];
};

/* ---- porter.c ---- */

/* ---- porter_message.c ---- */

/* A connection to another porter. */
struct porter_line {
    int socket;
    struct porter_tls *tls; /* NULL: unencrypted */
};

/* Like porter_say() and porter_hear(). */
enum esp_status porter_line_say(const struct porter_line *line, const void *data, size_t bytes,
                                const struct porter_end *end, struct esp_error *error);
enum esp_status porter_line_hear(const struct porter_line *line, void *data, size_t bytes,
                                 const struct porter_end *end, struct esp_error *error);

/* One message of a redistribution, and the pieces on this side of it. */
struct porter_message {
    struct block_cyclic_matrix from, to;
    int64_t source, target;
    size_t element_bytes;
    bool checked;      /* a checksum follows */
    char *pieces;      /* all of `from` when it is sent, all of `to` when it is received */
    const char *piece; /* only the piece of `source` in `from`, instead; or NULL */
    char *into;        /* only the piece of `target` in `to`, instead; or NULL */
};

enum esp_status porter_message_send(const struct porter_line *line, const struct porter_message *message,
                                    const struct porter_end *end, struct esp_error *error);
/* ESP_PROTOCOL: the checksum is wrong. */
enum esp_status porter_message_receive(const struct porter_line *line, const struct porter_message *message,
                                       const struct porter_end *end, struct esp_error *error);
/* Counts its elements. */
enum esp_status porter_message_count(const struct porter_message *message, uint64_t *elements,
                                     struct esp_error *error);

/* Convert the request for it to words, and back: false when it is invalid. */
void porter_request_write(const struct porter_message *message, uint64_t ticket, struct datum_key key,
                          uint64_t words[PORTER_REQUEST_WORDS]);
bool porter_request_read(const uint64_t words[PORTER_REQUEST_WORDS], struct porter_message *message,
                         uint64_t *ticket, struct datum_key *key);

/* Connects to a porter. ESP_UNREACHABLE: no answer in that time. *socket: -1 or the caller's, in any case. */
enum esp_status porter_connect(const char *host, uint16_t port, int connect_ms, const struct porter_end *end,
                               int *socket, struct esp_error *error);

#endif
