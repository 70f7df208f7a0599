/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing; the table of operations.
 */
#include "orb/orb.h"
#include "orb/reach.h"
#include "orb/contract.h"
#include "orb/entry.h"
#include "orb/failure.h"
#include "orb/limits.h"
#include "orb/presence.h"
#include "orb/refusal.h"
#include "orb/sigpipe.h"
#include "orb/tls.h"

#include <atomic>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static std::atomic<bool> open_now{false};

std::shared_ptr<Endpoint> OrbTransport::find(unsigned port)
{
    std::lock_guard<std::mutex> lock(mutex);
    auto known = endpoints.find(port);
    return known == endpoints.end() ? nullptr : known->second;
}

/* ---- endpoints ---- */

static bool listens_on_loopback(const char *listen)
{
    return address_is_loopback(listen);
}

/* How others should dial it: a wildcard is replaced by the host's name. */
static std::string public_address(const char *listen, unsigned port)
{
    std::string host(listen, strrchr(listen, ':') - listen);
    if (host.empty() || host == "0.0.0.0" || host == "[::]") {
        char name[256] = "localhost";
        gethostname(name, sizeof name - 1);
        host = name;
    }
    return host + ":" + std::to_string(port);
}

static enum esp_status check_listen(const OrbTransport &self, const struct endpoint_options *options,
                                    struct esp_error *error)
{
    const char *listen = options->listen;
    if (!options->name || strlen(options->name) > CAP_NAME)
        return error_set(error, ESP_INVALID, "an endpoint needs a name of at most %d bytes", CAP_NAME);
    const char *colon = listen ? strrchr(listen, ':') : nullptr;
    if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        strlen(listen) > CAP_ADDRESS)
        return error_set(error, ESP_INVALID, "cannot listen on \"%.100s\": expected host:port",
                         listen ? listen : "");
    if (self.client_only)
        return error_set(error, ESP_INVALID, "this transport was opened for a client only");
    if (self.tls || self.insecure || listens_on_loopback(listen))
        return ESP_OK;
    return error_set(error, ESP_SECURITY,
                     "%s is not loopback, and without TLS anybody who reaches it could use it: name "
                     "certificate files, or write \"insecure = yes\" to serve there all the same",
                     listen);
}

static enum esp_status orb_serve(struct transport *transport, const struct endpoint_options *options,
                                 const struct endpoint_ops *ops, void *node, struct endpoint **result,
                                 struct esp_error *error)
{
    OrbTransport &self = *static_cast<OrbTransport *>(transport);
    enum esp_status status = check_listen(self, options, error);
    if (status != ESP_OK)
        return status;
    try {
        auto endpoint = std::make_shared<Endpoint>(self, *options, *ops, node);
        std::unique_lock<std::mutex> lock(self.mutex);
        entry_activate(self);
        status = entry_listen(self, options->listen, *endpoint, error);
        if (status != ESP_OK)
            return status;
        endpoint->address = public_address(options->listen, endpoint->port);
        self.endpoints[endpoint->port] = endpoint;
        *result = &endpoint->handle; /* before the first request can come in */
        lock.unlock();
        entry_start(*endpoint);
        return ESP_OK;
    } catch (...) {
        return orb_failure("serve", options->listen, error);
    }
}

static void orb_close(struct endpoint *handle)
{
    std::shared_ptr<Endpoint> endpoint = endpoint_of(handle).shared_from_this();
    OrbTransport &self = endpoint->transport;
    endpoint->close();
    {
        std::lock_guard<std::mutex> lock(self.mutex);
        self.endpoints.erase(endpoint->port);
    }
    entry_stop(*endpoint);
}

static const char *orb_address(const struct endpoint *handle)
{
    return static_cast<const Endpoint::Handle *>(handle)->home->address.c_str();
}

static enum esp_status orb_post(struct endpoint *handle, const char *address, uint64_t to_incarnation,
                                const struct message *message, struct esp_error *error)
{
    if (!strchr(address, ':') || strpbrk(address, "/,@# ") || strlen(address) > CAP_ADDRESS)
        return error_set(error, ESP_INVALID, "\"%.100s\" is not an address (expected host:port)", address);
    return endpoint_of(handle).outbox.post(address, to_incarnation, message, error);
}

static void orb_enter(struct endpoint *handle)
{
    endpoint_of(handle).mutex.lock();
}

static void orb_leave(struct endpoint *handle)
{
    Endpoint &endpoint = endpoint_of(handle);
    endpoint.after_operation();
    endpoint.mutex.unlock();
    endpoint.flush();
}

static void orb_reply(struct call *base, struct message *reply)
{
    OrbCall *call = static_cast<OrbCall *>(base);
    endpoint_of(call->endpoint).calls.erase(call);
    call->answer(reply);
}

static const struct envelope *orb_envelope(const struct call *call)
{
    return &static_cast<const OrbCall *>(call)->envelope;
}

static void orb_set_help(struct call *base, bool (*help)(void *arg, int64_t until_ns), void *arg)
{
    OrbCall *call = static_cast<OrbCall *>(base);
    std::lock_guard<std::mutex> lock(call->mutex);
    call->help = help;
    call->help_arg = arg;
    call->changed.notify_one();
}

/* ---- the ORB ---- */

static void orb_destroy(struct transport *transport)
{
    OrbTransport *self = static_cast<OrbTransport *>(transport);
    SigpipeGuard guard(self->peers && self->peers->guard_sigpipe); /* it says goodbye on every connection */
    self->senders.stop();
    self->watchdog.stop();
    presence_stop();
    refusals_stop();
    try {
        self->peers->clear();
        self->posts->clear();
        peers_stop();
        contract_stop();
        limits_stop();
        if (self->entry_active)
            entry_deactivate();
        self->orb->destroy();
    } catch (...) {
        orb_failure("close", nullptr, nullptr);
    }
    delete self;
    open_now = false;
}

static void orb_interrupt(struct transport *transport)
{
    static_cast<OrbTransport *>(transport)->watchdog.cut();
}

static const struct transport_ops operations = {
    orb_serve,    orb_close, orb_address, orb_post, orb_enter,   orb_leave,     orb_reply,  orb_envelope,
    orb_set_help, orb_call,  orb_put,     orb_get,  orb_destroy, orb_interrupt, reach_lend,
};

static int64_t stalled_ms(const struct orb_options *options)
{
    return options->stalled_ms > 0 ? options->stalled_ms : 120000;
}

static std::vector<std::string> orb_arguments(const struct orb_options *options, size_t message_bytes)
{
    return {
        "espalier",
        /* A daemon looks through it for what the ORB tells nowhere else; a guest keeps it silent. */
        "-ORBtraceLevel",
        options->client_only ? "0" : "10",
        "-ORBtraceTime",
        "0",
        "-ORBgiopMaxMsgSize",
        std::to_string(message_bytes + 65536),
        "-ORBmaxGIOPConnectionPerServer",
        std::to_string(CONNECTIONS_PER_SERVER),
        /* One request at a time on a connection: posts on it are handled in order. */
        "-ORBmaxServerThreadPerConnection",
        "1",
        "-ORBthreadPerConnectionPolicy",
        "1",
        "-ORBinConScanPeriod",
        std::to_string(IDLE_INCOMING_S),
        "-ORBoutConScanPeriod",
        std::to_string(IDLE_OUTGOING_S),
        "-ORBserverCallTimeOutPeriod",
        std::to_string(stalled_ms(options)),
        "-ORBabortOnInternalError",
        "0",
        "-ORBverifyObjectExistsAndType",
        "0",
        "-ORBacceptBiDirectionalGIOP",
        "0",
        "-ORBstrictIIOP",
        "1",
    };
}

static void start(OrbTransport &self, const struct orb_options *options, std::vector<std::string> &arguments)
{
    std::vector<char *> argv;
    for (std::string &argument : arguments)
        argv.push_back(&argument[0]);
    argv.push_back(nullptr);
    int argc = (int)arguments.size();
    struct sigaction sigpipe;
    sigaction(SIGPIPE, nullptr, &sigpipe);
    self.orb = CORBA::ORB_init(argc, argv.data(), "omniORB4");
    if (options->client_only)
        sigaction(SIGPIPE, &sigpipe, nullptr); /* the ORB has ignored it */
    bool guard = options->client_only && sigpipe.sa_handler != SIG_IGN;
    const int64_t connect_ns =
        (options->connect_timeout_ms > 0 ? options->connect_timeout_ms : 2000) * NS_PER_MS;
    self.peers =
        std::make_unique<Peers>(self.orb, &self.watchdog, connect_ns, self.tls, self.local, false, guard);
    self.posts =
        std::make_unique<Peers>(self.orb, &self.watchdog, connect_ns, self.tls, self.local, true, guard);
    peers_start();
    struct limits limits;
    limits.connections = options->connections ? options->connections : 1000;
    if (!options->client_only)
        limits.connections = limits_places(limits.connections);
    limits.per_peer = options->connections_per_peer ? options->connections_per_peer : 200;
    limits.first_message_ms = options->first_message_ms > 0 ? options->first_message_ms : 10000;
    limits.stalled_ms = stalled_ms(options);
    limits_start(limits);
    contract_start();
}

static enum esp_status open_transport(const struct orb_options *options, struct transport **transport,
                                      struct esp_error *error)
{
    auto self = std::make_unique<OrbTransport>();
    self->ops = &operations;
    self->clock = &clock_system;
    self->message_bytes = options->message_bytes ? options->message_bytes : (size_t)MESSAGE_BYTES;
    self->tls = options->tls_ca != nullptr;
    self->local = !self->tls && !options->ports_only;
    self->insecure = options->insecure;
    self->client_only = options->client_only;
    std::vector<std::string> arguments = orb_arguments(options, self->message_bytes);
    if (self->tls) {
        enum esp_status status = tls_prepare(options, arguments, error);
        if (status != ESP_OK)
            return status;
    } else {
        tls_leave(arguments);
    }
    refusals_start(!options->client_only, self->tls);
    start(*self, options, arguments);
    *transport = self.release();
    return ESP_OK;
}

enum esp_status orb_open(const struct orb_options *options, struct transport **transport,
                         struct esp_error *error)
{
    unsigned files = !!options->tls_ca + !!options->tls_certificate + !!options->tls_key;
    if (files != 0 && files != 3)
        return error_set(error, ESP_CONFIG, "TLS needs all three of CA, certificate and key");
    if (open_now.exchange(true))
        return error_set(error, ESP_INVALID, "one transport over the ORB per process at a time");
    enum esp_status status;
    try {
        status = open_transport(options, transport, error);
    } catch (...) {
        status = orb_failure("start", nullptr, error);
    }
    tls_prepared();
    if (status != ESP_OK)
        open_now = false;
    return status;
}
