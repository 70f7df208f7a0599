/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens and closes the transport; has the table of operations. */
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

#include <algorithm>
#include <atomic>
#include <ctype.h>
#include <fcntl.h>
#include <omniORB4/internal/corbaOrb.h>
#include <omniORB4/internal/giopStrand.h>
#include <mutex>
#include <omniORB4/internal/orbParameters.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static std::atomic<bool> open_now{false};
static pid_t opened_by; /* the process that opened the open transport */
static std::string
    standing_security;        /* security of the ORB that this library has started and not destroyed */
static bool standing_is_ours; /* there is such an ORB */
static std::atomic<bool> lets_go_at_fork{false};

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

/* Returns the address for other nodes: the published one, or where it listens, with a wildcard replaced by
 * the host's name. */
static std::string public_address(const char *listen, const char *publish, unsigned port)
{
    if (publish && strcmp(strrchr(publish, ':'), ":0") != 0)
        return publish;
    if (publish)
        listen = publish;
    std::string host(listen, strrchr(listen, ':') - listen);
    if (host.empty() || host == "*" || host == "0.0.0.0" || host == "[::]") {
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
    if (options->publish && (!strrchr(options->publish, ':') || strlen(options->publish) > CAP_ADDRESS))
        return error_set(error, ESP_INVALID, "cannot be reached at \"%.100s\": expected host:port",
                         options->publish);
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
        endpoint->address = public_address(options->listen, options->publish, endpoint->port);
        self.endpoints[endpoint->port] = endpoint;
        *result = &endpoint->handle; /* before the first request can arrive */
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

/* ---- a shared ORB ---- */

/* omniORB has one ORB per process. The program may have started it before, or asked for it since, or this
 * may be a forked child with its parent's. */

/* Returns the ORB's reference count, which has no public accessor: explicit instantiation gives access to
 * it. */
static int references_of(const omniOrbORB &orb);
template <int omniOrbORB::*Count>
struct Counted {
    friend int references_of(const omniOrbORB &orb)
    {
        return orb.*Count;
    }
};
template struct Counted<&omniOrbORB::pd_refCount>;

static int references(const CORBA::ORB_var &orb)
{
    const omniOrbORB *const counted = dynamic_cast<const omniOrbORB *>(orb.in());
    return counted ? references_of(*counted) : 0;
}

static std::string security_of(const struct orb_options *options)
{
    return options->tls_ca
               ? std::string(options->tls_ca) + "\n" + options->tls_certificate + "\n" + options->tls_key
               : "";
}

/* In a forked child: connections remain the parent's. The child closes their sockets, so that the other
 * ends notice when the parent closes them. With the ORB's lock of connections. False: no descriptor is
 * left. */
static bool let_go_of_sockets()
{
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0)
        return false;
    for (omni::StrandList *p = omni::giopStrand::active.next; p != &omni::giopStrand::active; p = p->next) {
        omni::giopStrand *const strand = static_cast<omni::giopStrand *>(p);
        if (!strand->connection)
            continue;
        strand->state(omni::giopStrand::DYING); /* no call uses the connection any more */
        dup3(nowhere, connection_descriptor(strand->connection), O_CLOEXEC);
    }
    close(nowhere);
    return true;
}

/* Returns false also when another thread was inside the ORB at the fork. */
static bool let_go_of_connections()
{
    omni_tracedmutex *const locks[] = {omni::internalLock, omni::objref_rc_lock, omni::omniTransportLock};
    for (omni_tracedmutex *lock : locks) {
        if (!lock)
            continue;
        if (!lock->trylock())
            return false;
        lock->unlock();
    }
    omni_tracedmutex_lock lock(*omni::omniTransportLock);
    return let_go_of_sockets();
}

/* A program that forks without executing another one would keep its parent's connections open: servers
 * would continue to compute for a client that has ended. The ORB's list of connections is consistent in
 * the child because the forking thread holds its lock. */
static omni_tracedmutex *held_for_fork;

static void before_fork()
{
    held_for_fork = lets_go_at_fork ? omni::omniTransportLock : nullptr;
    if (held_for_fork)
        held_for_fork->lock();
}

static void after_fork()
{
    if (held_for_fork)
        held_for_fork->unlock();
}

static void after_fork_in_child()
{
    if (!held_for_fork)
        return;
    let_go_of_sockets();
    held_for_fork->unlock();
}

/* Only for clients: a daemon's children execute other programs. If the ORB is the program's own, the child
 * may need its connections. */
static void let_go_at_fork(bool is_ours)
{
    static std::once_flag once;
    lets_go_at_fork = is_ours;
    std::call_once(once, [] { pthread_atfork(before_fork, after_fork, after_fork_in_child); });
}

/* Uses the existing ORB. The program's settings stay, except that messages and connections of this library
 * must have room. */
static enum esp_status adopt(OrbTransport &self, const struct orb_options *options, struct esp_error *error)
{
    const std::string has = standing_is_ours ? standing_security : "";
    if (!options->client_only)
        return error_set(error, ESP_INVALID, "omniORB runs in this process already");
    if (security_of(options) != has)
        return error_set(error, ESP_CONFIG,
                         "omniORB runs in this process already, with %s certificates than the client's "
                         "configuration names: call grpc_initialize() before CORBA::ORB_init()",
                         has.empty() ? "fewer" : "other");
    int argc = 0;
    self.orb = CORBA::ORB_init(argc, nullptr, "omniORB4");
    const CORBA::ULong bytes = (CORBA::ULong)(self.message_bytes + 65536);
    if (omni::orbParameters::giopMaxMsgSize < bytes)
        omni::orbParameters::giopMaxMsgSize = bytes;
    if (omni::orbParameters::maxGIOPConnectionPerServer < CONNECTIONS_PER_SERVER)
        omni::orbParameters::maxGIOPConnectionPerServer = CONNECTIONS_PER_SERVER;
    return ESP_OK;
}

/* ---- the ORB ---- */

static void orb_destroy(struct transport *transport)
{
    OrbTransport *self = static_cast<OrbTransport *>(transport);
    SigpipeGuard guard(self->peers &&
                       self->peers->guard_sigpipe); /* it writes a CloseConnection on every connection */
    self->senders.stop();
    self->watchdog.stop();
    presence_stop();
    refusals_stop();
    try {
        self->peers->clear();
        self->posts->clear();
        peers_stop();
        if (!self->client_only) {
            contract_stop();
            limits_stop();
        }
        if (self->entry_active)
            entry_deactivate();
        if (self->references > 0 && references(self->orb) <= self->references) {
            lets_go_at_fork = false;
            self->orb->destroy();
            standing_is_ours = false;
        }
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
        /* A daemon reads the trace for errors reported nowhere else; a client library keeps it silent. */
        "-ORBtraceLevel",
        options->client_only ? "0" : "10",
        "-ORBtraceTime",
        "0",
        "-ORBgiopMaxMsgSize",
        std::to_string(message_bytes + 65536),
        "-ORBmaxGIOPConnectionPerServer",
        std::to_string(CONNECTIONS_PER_SERVER),
        /* One request at a time on a connection, so that posts on it are handled in order. */
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

/* Names of the ORB's settings, like ORBInitRef, contain lower-case letters, which other names beginning
 * with ORB rarely do. */
bool orb_reads_variable(const char *entry)
{
    if (!strncmp(entry, "OMNIORB_CONFIG=", 15))
        return true;
    const std::string name(entry, strcspn(entry, "="));
    return name.compare(0, 3, "ORB") == 0 &&
           std::any_of(name.begin(), name.end(), [](unsigned char c) { return islower(c) != 0; });
}

static std::vector<std::string> variables_that_are_read()
{
    std::vector<std::string> names;
    for (char **variable = environ; *variable; variable++)
        if (orb_reads_variable(*variable))
            names.emplace_back(*variable, strcspn(*variable, "="));
    return names;
}

void orb_ignore_environment(void)
{
    for (const std::string &name : variables_that_are_read())
        unsetenv(name.c_str());
}

/* Returns where the ORB of a client has settings from: the program may need them, because both share one
 * ORB. */
static std::string foreign_settings()
{
    static const char file[] = "/etc/omniORB.cfg";
    std::string text;
    for (const std::string &name : variables_that_are_read())
        text += (text.empty() ? "the environment's " : ", ") + name;
    if (!getenv("OMNIORB_CONFIG") && access(file, F_OK) == 0)
        text += (text.empty() ? "" : ", ") + std::string(file);
    return text;
}

static void init(OrbTransport &self, const struct orb_options *options, std::vector<std::string> &arguments)
{
    if (getauxval(AT_SECURE))
        orb_ignore_environment();
    failure_note_settings(options->client_only ? foreign_settings() : "");
    std::vector<char *> argv;
    for (std::string &argument : arguments)
        argv.push_back(&argument[0]);
    /* A daemon's settings come from its own file, not from the machine's. The ORB keeps the pointer to
     * this name, and reads it again when a later ORB of the process starts. */
    static char option[] = "-ORBconfigFile", no_file[] = "/dev/null";
    if (!options->client_only)
        argv.insert(argv.end(), {option, no_file});
    int argc = (int)argv.size();
    argv.push_back(nullptr);
    struct sigaction sigpipe;
    sigaction(SIGPIPE, nullptr, &sigpipe);
    self.orb = CORBA::ORB_init(argc, argv.data(), "omniORB4");
    if (options->client_only)
        sigaction(SIGPIPE, &sigpipe, nullptr); /* the ORB has ignored it */
    self.references = references(self.orb);
    standing_is_ours = true;
    standing_security = security_of(options);
}

static void start(OrbTransport &self, const struct orb_options *options)
{
    struct sigaction sigpipe;
    sigaction(SIGPIPE, nullptr, &sigpipe);
    const bool guard = options->client_only && sigpipe.sa_handler != SIG_IGN;
    const int64_t connect_ns =
        (options->connect_timeout_ms > 0 ? options->connect_timeout_ms : 2000) * NS_PER_MS;
    self.peers =
        std::make_unique<Peers>(self.orb, &self.watchdog, connect_ns, self.tls, self.local, false, guard);
    self.posts =
        std::make_unique<Peers>(self.orb, &self.watchdog, connect_ns, self.tls, self.local, true, guard);
    peers_start();
    if (options->client_only)
        return; /* the rest would apply to all servers in the process, which are the program's */
    struct limits limits;
    limits.connections = options->connections ? options->connections : 1000;
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
    if (!omniOrbORB::all_destroyed()) {
        enum esp_status status = adopt(*self, options, error);
        if (status != ESP_OK)
            return status;
        refusals_start(false, self->tls);
        start(*self, options);
        let_go_at_fork(standing_is_ours);
        *transport = self.release();
        return ESP_OK;
    }
    if (self->tls) {
        enum esp_status status = tls_prepare(options, arguments, error);
        if (status != ESP_OK)
            return status;
    } else {
        tls_leave(arguments);
    }
    refusals_start(!options->client_only, self->tls);
    init(*self, options, arguments);
    start(*self, options);
    if (options->client_only)
        let_go_at_fork(true);
    *transport = self.release();
    return ESP_OK;
}

enum esp_status orb_open(const struct orb_options *options, struct transport **transport,
                         struct esp_error *error)
{
    unsigned files = !!options->tls_ca + !!options->tls_certificate + !!options->tls_key;
    if (files != 0 && files != 3)
        return error_set(error, ESP_CONFIG, "TLS needs all three of CA, certificate and key");
    if (open_now && opened_by != getpid()) {
        if (!let_go_of_connections())
            return error_set(error, ESP_REFUSED,
                             "this process was forked in the middle of a call: fork when no call is under "
                             "way, or before grpc_initialize()");
        peers_stop();
        open_now = false;
    }
    if (open_now.exchange(true))
        return error_set(error, ESP_INVALID, "one transport over the ORB per process at a time");
    opened_by = getpid();
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
