/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/refusal.h"

extern "C" {
#include "util/log.h"
#include "util/told.h"
}

#include <atomic>
#include <dlfcn.h>
#include <functional>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

/* The functions used from OpenSSL, looked up by name, so that a process without TLS does not load it. */
#define FUNCTIONS(of)                                                                                        \
    of(SSL_new) of(SSL_free) of(SSL_set_fd) of(SSL_connect) of(SSL_read) of(SSL_get_SSL_CTX)                 \
        of(SSL_get_error) of(SSL_get_fd) of(SSL_is_server) of(SSL_get_verify_result)                         \
            of(SSL_alert_desc_string_long) of(ERR_peek_last_error) of(ERR_reason_error_string)               \
                of(X509_verify_cert_error_string)

namespace
{

struct Functions {
#define DECLARE(name) decltype(&::name) name;
    FUNCTIONS(DECLARE)
};

/* Outcome of a thread's last handshake. */
struct Refusal {
    char peer[80]; /* read at the beginning, because a closed connection has no address */
    char text[300];
    bool shaken; /* the handshake is complete from this side's view */
    bool sure;   /* the protocol says so; not only a lost connection */
};

struct State {
    Functions ssl;
    std::atomic<SSL_CTX *> context{nullptr}; /* the ORB's */
    std::atomic<bool> logs{false};
    std::mutex mutex; /* guards the following members */
    struct log_quota lines;
    struct told told;
};

} // namespace

/* Never freed, because the ORB's threads may outlive it briefly. */
static State &state = *new State();
static thread_local Refusal last;

/* ---- the daemon's log ---- */

static void tell(const char *peer, bool incoming, const char *why)
{
    if (!state.logs)
        return;
    /* An incoming connection has another port each time. */
    const char *port = strrchr(peer, ':');
    const std::string key = std::string(peer, incoming && port ? (size_t)(port - peer) : strlen(peer)) + why;
    const int64_t now_ns = clock_now_ns(&clock_system);
    char more[64] = "";
    unsigned left_out;
    std::lock_guard<std::mutex> lock(state.mutex);
    if (!told_take(&state.told, std::hash<std::string>()(key), now_ns, &left_out) ||
        !log_quota_take(&state.lines, now_ns))
        return;
    if (left_out > 0)
        snprintf(more, sizeof more, " (%u more since that was told last)", left_out);
    if (incoming)
        log_warning("connection of %s refused: %s%s", peer, why, more);
    else
        log_warning("no connection to %s: %s%s", peer, why, more);
}

void refusal_log(const char *address, const char *why)
{
    tell(address, false, why);
}

/* Accepts "giop:tcp:host:port" and "host:port". A Unix socket has no address. */
void refusal_log_incoming(const char *address, const char *why)
{
    if (!strncmp(address, "giop:unix:", 10))
        address = "a process on this host";
    else if (!strncmp(address, "giop:", 5) && strchr(address + 5, ':'))
        address = strchr(address + 5, ':') + 1;
    tell(address, true, why);
}

/* Gets "host:port" of the other side. */
static void note_peer(int fd)
{
    struct sockaddr_storage at = {};
    socklen_t length = sizeof at;
    char host[64], port[8];
    if (getpeername(fd, reinterpret_cast<struct sockaddr *>(&at), &length) == 0 &&
        getnameinfo(reinterpret_cast<struct sockaddr *>(&at), length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(last.peer, sizeof last.peer, "%s:%s", host, port);
    else
        strcpy(last.peer, "an unknown address");
}

/* ---- handshakes ---- */

/* The other side has closed the connection with this alert, which says what is wrong with this side's
 * certificate. */
static void hear_alert(const SSL *ssl, int alert)
{
    switch (alert & 0xff) {
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_DECRYPT_ERROR:
    case SSL_AD_PROTOCOL_VERSION:
    case SSL_AD_INSUFFICIENT_SECURITY:
    case SSL_AD_CERTIFICATE_REQUIRED:
        break;
    default:
        return; /* of an established connection */
    }
    const bool server = state.ssl.SSL_is_server(ssl);
    snprintf(last.text, sizeof last.text,
             "it refuses this side's certificate (%s): is it of the authority that both trust (tls_ca, "
             "tls_certificate), and valid now by both clocks?",
             state.ssl.SSL_alert_desc_string_long(alert));
    last.sure = true;
    tell(last.peer, server, last.text);
}

static const char *verify_text(const SSL *ssl)
{
    const long verified = state.ssl.SSL_get_verify_result(ssl);
    return verified == X509_V_OK ? nullptr : state.ssl.X509_verify_cert_error_string(verified);
}

/* From the view of the accepting side. */
static void describe_incoming(const SSL *ssl, int reason)
{
    const char *verify = verify_text(ssl);
    if (verify)
        snprintf(last.text, sizeof last.text,
                 "the authority of this side (tls_ca) does not vouch for its certificate: %s", verify);
    else if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
        snprintf(last.text, sizeof last.text, "it shows no certificate");
    else if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
             reason == SSL_R_HTTPS_PROXY_REQUEST)
        snprintf(last.text, sizeof last.text, "it does not speak TLS, which this side wants");
    else if (reason == 0 || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        snprintf(last.text, sizeof last.text, "it hung up in the middle of the TLS handshake");
    else
        snprintf(last.text, sizeof last.text, "the TLS handshake failed: %s",
                 state.ssl.ERR_reason_error_string(state.ssl.ERR_peek_last_error()));
}

/* From the view of the connecting side. */
static void describe_outgoing(const SSL *ssl, int reason)
{
    const char *verify = verify_text(ssl);
    last.sure = true;
    if (verify) {
        snprintf(last.text, sizeof last.text,
                 "the authority of this side (tls_ca) does not vouch for its certificate: %s", verify);
    } else if (reason == SSL_R_WRONG_VERSION_NUMBER) {
        snprintf(last.text, sizeof last.text,
                 "it does not speak TLS: is the address right? A platform without certificates is asked "
                 "without tls_ca, tls_certificate and tls_key");
    } else if (reason == 0 || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        last.sure = false; /* it may be stopping or starting */
        snprintf(last.text, sizeof last.text,
                 "it hung up in the middle of the TLS handshake: perhaps it has no certificates "
                 "(then it is asked without tls_ca, tls_certificate and tls_key), or limits connections");
    } else {
        snprintf(last.text, sizeof last.text, "the TLS handshake failed: %s",
                 state.ssl.ERR_reason_error_string(state.ssl.ERR_peek_last_error()));
    }
}

/* SSL_get_error() only reads; its prototype lacks const. */
static void end_of_handshake(const SSL *ssl, int result)
{
    const int kind = state.ssl.SSL_get_error(const_cast<SSL *>(ssl), result);
    if (kind != SSL_ERROR_SSL && kind != SSL_ERROR_SYSCALL)
        return; /* not finished: the ORB's sockets are non-blocking meanwhile */
    const int reason = ERR_GET_REASON(state.ssl.ERR_peek_last_error());
    if (reason >= SSL_AD_REASON_OFFSET)
        return; /* hear_alert() has recorded the reason */
    const bool server = state.ssl.SSL_is_server(ssl);
    last.sure = false;
    if (server)
        describe_incoming(ssl, reason);
    else
        describe_outgoing(ssl, reason);
    tell(last.peer, server, last.text);
}

static void on_tls(const SSL *ssl, int where, int result)
{
    if (where & SSL_CB_HANDSHAKE_START)
        note_peer(state.ssl.SSL_get_fd(ssl));
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT && result >> 8 == SSL3_AL_FATAL)
        hear_alert(ssl, result);
    else if ((where & SSL_CB_EXIT) && !(where & SSL_CB_ALERT) && result <= 0)
        end_of_handshake(ssl, result);
    if (where & SSL_CB_HANDSHAKE_DONE && !state.ssl.SSL_is_server(ssl)) {
        state.context = state.ssl.SSL_get_SSL_CTX(ssl);
        last.shaken = true;
    }
}

/* ---- ports without TLS ---- */

/* The ORB reports this only in its trace. */
static void on_trace(const char *line)
{
    static const char sign[] = "Input message is not a GIOP message: ";
    const char *found = strstr(line, sign);
    if (!found)
        return;
    std::string peer = found + strlen(sign);
    peer.erase(peer.find_last_not_of(" \r\n") + 1);
    refusal_log_incoming(
        peer.c_str(),
        "what it sent is no message of a platform: it uses TLS, which this side does not (no tls_ca in its "
        "file), or is a stranger");
}

/* ---- finding the reason ---- */

static int dial(const std::string &address)
{
    const size_t colon = address.rfind(':');
    std::string host = address.substr(0, colon);
    if (!host.empty() && host[0] == '[')
        host = host.substr(1, host.size() - 2);
    struct addrinfo hints = {}, *at;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    if (getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &at) != 0)
        return -1;
    const struct timeval patience = {1, 0};
    int s = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s >= 0 && (setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0 ||
                   setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
                   connect(s, at->ai_addr, at->ai_addrlen) != 0)) {
        close(s);
        s = -1;
    }
    freeaddrinfo(at);
    return s;
}

/* Sends bytes that a side with TLS answers with an alert, and one without TLS by closing the connection. */
static void ask_plain(int s, const char *address)
{
    const unsigned char hello[] = {22, 3, 1, 0, 4, 1, 0, 0, 0};
    unsigned char answer[2] = {};
    if (send(s, hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello ||
        recv(s, answer, sizeof answer, MSG_WAITALL) != (ssize_t)sizeof answer || answer[0] != 21 ||
        answer[1] != 3)
        return;
    snprintf(last.text, sizeof last.text,
             "it speaks TLS only, and this side has no certificates: name tls_ca, tls_certificate and "
             "tls_key in the file of this side");
    last.sure = true;
    tell(address, false, last.text);
}

/* Since TLS 1.3 a client's handshake ends before the other side has checked its certificate, and the alert
 * is lost when the request meets a closed connection. So this sends nothing, and waits for the alert. */
static void ask_tls(int s)
{
    SSL *ssl = state.ssl.SSL_new(state.context);
    char nothing;
    if (ssl && state.ssl.SSL_set_fd(ssl, s) == 1 && state.ssl.SSL_connect(ssl) == 1)
        state.ssl.SSL_read(ssl, &nothing, 1);
    state.ssl.SSL_free(ssl);
}

void refusal_ask(const Peers &peers, const Peer &peer)
{
    if (peer.answered || last.text[0] || (peers.tls && !(last.shaken && state.context)))
        return;
    const int s = dial(peer.place);
    if (s < 0)
        return;
    if (peers.tls)
        ask_tls(s);
    else
        ask_plain(s, peer.address.c_str());
    close(s);
}

/* ---- public functions ---- */

void refusals_start(bool logs, bool tls)
{
    state.logs = logs;
    {
        std::lock_guard<std::mutex> lock(state.mutex);
        state.lines = log_quota();
        state.lines.most = 5;
        state.lines.what = "connections refused";
        state.told = told();
    }
    if (logs)
        omniORB::setLogFunction(on_trace);
    if (!tls)
        return;
    bool whole = true;
#define FIND(name)                                                                                           \
    state.ssl.name = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_DEFAULT, #name));                        \
    whole = whole && state.ssl.name;
    FUNCTIONS(FIND)
    using Callback = void (*)(const SSL *, int, int);
    auto *place = static_cast<Callback *>(dlsym(RTLD_DEFAULT, "_ZN10sslContext13info_callbackE"));
    if (whole && place)
        *place = on_tls;
}

void refusals_stop()
{
    if (state.logs)
        omniORB::traceLevel = 0; /* later lines of the trace are not needed */
    state.logs = false;
    state.context = nullptr;
}

void refusal_forget()
{
    last.text[0] = 0;
    last.shaken = false;
}

enum esp_status refusal_explain(const char *address, const char *what, enum esp_status status,
                                struct esp_error *error)
{
    if (!last.text[0] || (status != ESP_UNREACHABLE && status != ESP_MAYBE))
        return status;
    return error_set(error, last.sure ? ESP_SECURITY : status, "%s: %s: %s", address, what, last.text);
}
