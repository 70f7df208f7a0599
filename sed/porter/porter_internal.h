/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of a porter share.
 */
#ifndef SED_PORTER_INTERNAL_H
#define SED_PORTER_INTERNAL_H

#include "core/redistribution/redistribution.h"
#include "sed/porter/porter.h"
#include "sed/porter/porter_stream.h"
#include "sed/porter/porter_tls.h"

#include <pthread.h>

#define PORTER_CONNECT_MS 5000 /* also for a request to be said and answered */

struct lending; /* what a daemon lends, as long as its order stands */

struct porter {
    int local, tcp, stop;
    uint16_t port;
    bool listening;
    pthread_t listener;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* readers and threads that have ended */
    unsigned threads;
    struct lending *lendings;
    const struct porter_keeper *keeper; /* NULL: it keeps nothing */
    char path[PORTER_PATH];
};

/* ---- porter_serve.c ---- */

/* Serves who has connected: the daemon, or another porter. The socket stays the caller's. */
void porter_serve_daemon(struct porter *porter, int socket);
void porter_serve_porter(struct porter *porter, int socket);

/* ---- porter_message.c ---- */

/* A connection to another porter. */
struct porter_line {
    int socket;
    struct porter_tls *tls; /* NULL: in the clear */
};

/* As porter_say(), porter_hear(). */
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
    const char *piece; /* of `from`, that of `source` alone, in place of them; or NULL */
};

enum esp_status porter_message_send(const struct porter_line *line, const struct porter_message *message,
                                    const struct porter_end *end, struct esp_error *error);
/* ESP_PROTOCOL: the checksum is wrong. */
enum esp_status porter_message_receive(const struct porter_line *line, const struct porter_message *message,
                                       const struct porter_end *end, struct esp_error *error);
/* Its elements. */
enum esp_status porter_message_count(const struct porter_message *message, uint64_t *elements,
                                     struct esp_error *error);

/* The request for it, as words, and back: false when it is none. */
void porter_request_write(const struct porter_message *message, uint64_t ticket, struct datum_key key,
                          uint64_t words[PORTER_REQUEST_WORDS]);
bool porter_request_read(const uint64_t words[PORTER_REQUEST_WORDS], struct porter_message *message,
                         uint64_t *ticket, struct datum_key *key);

/* ---- porter_fetch.c ---- */

/* Does the order, whose pieces are at `pieces`, and tells the daemon over end->order what has come. */
enum esp_status porter_fetch(const struct porter_order *order, char *pieces, const struct porter_end *end,
                             struct esp_error *error);
/* The same of what lies in memory of this process, at `held`: without a message. */
enum esp_status porter_take(const struct porter_order *order, const char *held, char *pieces,
                            const struct porter_end *end, struct esp_error *error);

#endif
