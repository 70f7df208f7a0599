/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/porter/porter_tls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/err.h>
#include <openssl/opensslv.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SONAME_TEXT(version) "libssl.so." #version
#define SONAME(version)      SONAME_TEXT(version)
#define HELLO                0x16 /* first byte of a TLS handshake; a request begins with 0x53 */
#define SUITE                "TLS_AES_128_GCM_SHA256" /* keys without certificates need SHA-256 */

/* The functions used from OpenSSL, looked up by name on demand. */
#define FUNCTIONS(of)                                                                                        \
    of(TLS_method) of(SSL_CTX_new) of(SSL_CTX_ctrl) of(SSL_CTX_set_ciphersuites) of(SSL_CTX_set_num_tickets) \
        of(SSL_set_verify) of(SSL_new) of(SSL_free) of(SSL_set_fd) of(SSL_set_ex_data) of(SSL_get_ex_data)   \
            of(SSL_set_psk_client_callback) of(SSL_set_psk_server_callback) of(SSL_connect) of(SSL_accept)   \
                of(SSL_read) of(SSL_write) of(SSL_get_error) of(SSL_session_reused)

static struct {
#define DECLARE(name) __typeof__(name) *name;
    FUNCTIONS(DECLARE)
    unsigned long (*ERR_get_error)(void);
    void (*ERR_error_string_n)(unsigned long, char *, size_t);
    SSL_CTX *context;
} ssl;

struct porter_tls {
    SSL *connection;
    int socket;
    /* of the handshake */
    uint64_t ticket;
    const unsigned char *secret;
    bool (*find)(void *arg, uint64_t ticket, unsigned char *secret);
    void *arg;
    size_t used;
    char out[SSL3_RT_MAX_PLAIN_LENGTH]; /* short runs are combined */
};

/* ---- the library ---- */

static void load(void)
{
    void *library = dlopen(SONAME(OPENSSL_SHLIB_VERSION), RTLD_NOW | RTLD_LOCAL);
    bool whole = library != NULL;
#define FIND(name)                                                                                           \
    whole =                                                                                                  \
        whole && (*(void **)&ssl.name = dlsym(library, #name)) != NULL; /* the cast that POSIX recommends */
    FUNCTIONS(FIND)
    FIND(ERR_get_error)
    FIND(ERR_error_string_n)
    SSL_CTX *context = whole ? ssl.SSL_CTX_new(ssl.TLS_method()) : NULL;
    if (!context || ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL) != 1 ||
        ssl.SSL_CTX_set_ciphersuites(context, SUITE) != 1 || ssl.SSL_CTX_set_num_tickets(context, 0) != 1)
        return;
    ssl.context = context;
}

static enum esp_status open_tls(int socket, const struct porter_tls *as, struct porter_tls **result,
                                struct esp_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!ssl.context)
        return error_set(error, ESP_SECURITY, "encrypted connections of porters need OpenSSL (%s)",
                         SONAME(OPENSSL_SHLIB_VERSION));
    const int flags = fcntl(socket, F_GETFL);
    struct porter_tls *tls = malloc(sizeof *tls);
    if (!tls)
        return error_no_memory(error, "an encrypted connection");
    *tls = *as;
    tls->socket = socket;
    tls->connection = ssl.SSL_new(ssl.context);
    *result = tls;
    return tls->connection && fcntl(socket, F_SETFL, flags | O_NONBLOCK) == 0 &&
                   ssl.SSL_set_fd(tls->connection, socket) == 1 &&
                   ssl.SSL_set_ex_data(tls->connection, 0, tls) == 1
               ? ESP_OK
               : error_set(error, ESP_SECURITY, "OpenSSL opens no connection");
}

void porter_tls_close(struct porter_tls *tls)
{
    if (!tls)
        return;
    ssl.SSL_free(tls->connection);
    free(tls);
}

/* Waits for what OpenSSL needs, or returns why it cannot continue. */
static enum esp_status go_on(struct porter_tls *tls, int result, const struct porter_end *end,
                             struct esp_error *error)
{
    char why[256] = "the handshake or the data are not what was agreed";
    const int what = ssl.SSL_get_error(tls->connection, result);
    if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE)
        return porter_wait(tls->socket, what == SSL_ERROR_WANT_WRITE, end, porter_stall_ms(end), error);
    const unsigned long code = ssl.ERR_get_error();
    if (what == SSL_ERROR_SSL && code != 0 && ERR_GET_REASON(code) != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        ssl.ERR_error_string_n(code, why, sizeof why);
        return error_set(error, ESP_SECURITY, "the encrypted connection: %s", why);
    }
    return error_set(error, ESP_UNREACHABLE, "the encrypted connection is lost");
}

/* ---- the handshake ---- */

static unsigned int show_key(SSL *connection, const char *hint, char *identity, unsigned int most,
                             unsigned char *key, unsigned int most_key)
{
    const struct porter_tls *tls = ssl.SSL_get_ex_data(connection, 0);
    (void)hint;
    if (most_key < PORTER_SECRET_BYTES)
        return 0;
    snprintf(identity, most, "%016" PRIx64, tls->ticket);
    memcpy(key, tls->secret, PORTER_SECRET_BYTES);
    return PORTER_SECRET_BYTES;
}

static unsigned int find_key(SSL *connection, const char *identity, unsigned char *key, unsigned int most)
{
    struct porter_tls *tls = ssl.SSL_get_ex_data(connection, 0);
    char *end;
    if (!identity || strlen(identity) != 16 || most < PORTER_SECRET_BYTES)
        return 0;
    tls->ticket = strtoull(identity, &end, 16);
    return *end == 0 && tls->find(tls->arg, tls->ticket, key) ? PORTER_SECRET_BYTES : 0;
}

static enum esp_status shake_hands(struct porter_tls *tls, int (*step)(SSL *), const struct porter_end *end,
                                   struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    int done;
    while (status == ESP_OK && (done = step(tls->connection)) != 1)
        status = go_on(tls, done, end, error);
    /* OpenSSL reports a connection with a pre-shared key as reused. */
    if (status == ESP_OK && !ssl.SSL_session_reused(tls->connection))
        status = error_set(error, ESP_SECURITY, "the other side has not the key of the loan");
    return status;
}

enum esp_status porter_tls_connect(int socket, uint64_t ticket, const unsigned char *secret,
                                   const struct porter_end *end, struct porter_tls **tls,
                                   struct esp_error *error)
{
    const struct porter_tls as = {.ticket = ticket, .secret = secret};
    *tls = NULL;
    enum esp_status status = open_tls(socket, &as, tls, error);
    if (status != ESP_OK)
        return status;
    ssl.SSL_set_psk_client_callback((*tls)->connection, show_key);
    /* No certificate is trusted: a peer that shows one instead of the key is refused. */
    ssl.SSL_set_verify((*tls)->connection, SSL_VERIFY_PEER, NULL);
    return shake_hands(*tls, ssl.SSL_connect, end, error);
}

enum esp_status porter_tls_accept(int socket, bool (*find)(void *arg, uint64_t ticket, unsigned char *secret),
                                  void *arg, const struct porter_end *end, struct porter_tls **tls,
                                  uint64_t *ticket, struct esp_error *error)
{
    const struct porter_tls as = {.find = find, .arg = arg};
    *tls = NULL;
    enum esp_status status = open_tls(socket, &as, tls, error);
    if (status != ESP_OK)
        return status;
    ssl.SSL_set_psk_server_callback((*tls)->connection, find_key);
    status = shake_hands(*tls, ssl.SSL_accept, end, error);
    *ticket = (*tls)->ticket;
    return status;
}

bool porter_tls_begins(int socket)
{
    unsigned char first = 0;
    return recv(socket, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && first == HELLO;
}

/* ---- data ---- */

static enum esp_status write_all(struct porter_tls *tls, const char *data, size_t bytes,
                                 const struct porter_end *end, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    while (status == ESP_OK && bytes > 0) {
        const int some = bytes < sizeof tls->out ? (int)bytes : (int)sizeof tls->out;
        const int written = ssl.SSL_write(tls->connection, data, some);
        if (written <= 0)
            status = go_on(tls, written, end, error);
        else {
            data += written;
            bytes -= (size_t)written;
        }
    }
    return status;
}

static enum esp_status flush(struct porter_tls *tls, const struct porter_end *end, struct esp_error *error)
{
    const size_t bytes = tls->used;
    tls->used = 0;
    return write_all(tls, tls->out, bytes, end, error);
}

static enum esp_status send_run(struct porter_tls *tls, const struct iovec *run, const struct porter_end *end,
                                struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    if (tls->used + run->iov_len > sizeof tls->out)
        status = flush(tls, end, error);
    if (status != ESP_OK || run->iov_len > sizeof tls->out)
        return status == ESP_OK ? write_all(tls, run->iov_base, run->iov_len, end, error) : status;
    memcpy(tls->out + tls->used, run->iov_base, run->iov_len);
    tls->used += run->iov_len;
    return ESP_OK;
}

static enum esp_status receive_run(struct porter_tls *tls, const struct iovec *run,
                                   const struct porter_end *end, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    size_t got = 0;
    while (status == ESP_OK && got < run->iov_len) {
        const size_t left = run->iov_len - got, most = (size_t)1 << 30;
        const int some =
            ssl.SSL_read(tls->connection, (char *)run->iov_base + got, left < most ? (int)left : (int)most);
        if (some <= 0)
            status = go_on(tls, some, end, error);
        else
            got += (size_t)some;
    }
    return status;
}

enum esp_status porter_tls_move(struct porter_tls *tls, bool write, const struct iovec *runs, size_t n,
                                const struct porter_end *end, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; status == ESP_OK && i < n; i++)
        status = write ? send_run(tls, &runs[i], end, error) : receive_run(tls, &runs[i], end, error);
    return status == ESP_OK && write ? flush(tls, end, error) : status;
}
