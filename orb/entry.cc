/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/entry.h"
#include "orb/call.h"
#include "orb/limits.h"
#include "orb/local.h"
#include "orb/reach.h"

extern "C" {
#include "util/listen_at.h"
#include "util/log.h"
}

#include <omniORB4/internal/giopServer.h>
#include <omniORB4/omniInterceptors.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

namespace
{

/* Keeps the endpoint from closing while it exists. */
class Inside
{
  public:
    explicit Inside(std::shared_ptr<Endpoint> at) : endpoint(std::move(at))
    {
        if (!endpoint->come_in())
            throw CORBA::OBJECT_NOT_EXIST(MINOR_NOBODY, CORBA::COMPLETED_NO);
    }
    ~Inside()
    {
        endpoint->go_out();
    }

  private:
    std::shared_ptr<Endpoint> endpoint;
};

class Entry : public PortableServer::ServantBase
{
  public:
    explicit Entry(OrbTransport &of) : transport(of)
    {
    }

    _CORBA_Boolean _dispatch(omniCallHandle &handle) override
    {
        const char *operation = handle.operation_name();
        bool post = !strcmp(operation, "post");
        enum message_kind kind = post ? MESSAGE_NONE : message_of_operation(operation);
        if (!post && kind == MESSAGE_NONE)
            return false; /* operations of every CORBA object, or BAD_OPERATION */
        std::shared_ptr<Endpoint> endpoint = transport.find(port_of(handle.myaddress()));
        if (!endpoint)
            throw CORBA::OBJECT_NOT_EXIST(MINOR_NOBODY, CORBA::COMPLETED_NO);
        Inside inside(endpoint);
        /* The reply leaves in upcall(); messages that the node posted leave after it, so that the client
         * does not wait for them. */
        if (post) {
            PostUpcall upcall(*endpoint, handle);
            handle.upcall(this, upcall);
        } else if (kind == MESSAGE_PUT || kind == MESSAGE_GET) {
            ChunkUpcall upcall(*endpoint, kind == MESSAGE_PUT);
            handle.upcall(this, upcall);
        } else if (kind == MESSAGE_REACH) {
            ReachUpcall upcall(*endpoint, handle);
            handle.upcall(this, upcall);
        } else {
            CallUpcall upcall(*endpoint, handle, kind);
            handle.upcall(this, upcall);
        }
        endpoint->flush();
        return true;
    }

    /* Any interface of the contract: the node decides which operations it supports. */
    _CORBA_Boolean _is_a(const char *id) override
    {
        return !strncmp(id, "IDL:Espalier/", 13) || omniServant::_is_a(id);
    }

    const char *_mostDerivedRepoId() override
    {
        return "IDL:Espalier/Node:1.0";
    }

    void *_ptrToInterface(const char *) override
    {
        return nullptr;
    }

  private:
    /* "giop:tcp:127.0.0.1:4711", "giop:unix:/run/espalier/1-127.0.0.1-4711" */
    static unsigned port_of(const char *address)
    {
        const char *mark =
            address ? strrchr(address, strncmp(address, "giop:unix:", 10) ? ':' : '-') : nullptr;
        return mark ? (unsigned)strtoul(mark + 1, nullptr, 10) : 0;
    }

    OrbTransport &transport;
};

/* Prevents the ORB from opening its own port for the object adapter; endpoints open theirs here. */
class NoServer : public omni::orbServer
{
  public:
    _CORBA_Boolean instantiate(const char *, _CORBA_Boolean, EndpointList &) override
    {
        return true;
    }
    _CORBA_Boolean publish(const PublishSpecs &, _CORBA_Boolean, _CORBA_Boolean, EndpointList &) override
    {
        return true;
    }
    void start() override
    {
    }
    void stop() override
    {
    }
    void remove() override
    {
        delete this;
    }
};

/* The ORB makes one server of connections for all ports, once. Endpoints are created and closed here, so
 * each needs its own server. The constructor is private, but the variable with the single server is not:
 * the ORB makes a server when it is empty, and destroying a server empties it. */
std::mutex servers_mutex;

omni::giopServer *make_server()
{
    std::lock_guard<std::mutex> lock(servers_mutex);
    omni::giopServer *&place = omni::giopServer::singleton();
    omni::giopServer *only = place;
    place = nullptr;
    omni::giopServer *fresh = omni::giopServer::singleton();
    place = only;
    return fresh;
}

void remove_server(omni::giopServer *server)
{
    std::lock_guard<std::mutex> lock(servers_mutex);
    omni::giopServer *&place = omni::giopServer::singleton();
    omni::giopServer *only = place;
    server->remove();
    place = only;
}

CORBA::Boolean no_server(omni::omniInterceptors::createORBServer_T::info_T &info)
{
    info.servers.erase(info.servers.begin(), info.servers.end());
    info.servers.push_back(new NoServer);
    return false;
}

} // namespace

void entry_activate(OrbTransport &transport)
{
    if (transport.entry_active)
        return;
    omniORB::getInterceptors()->createORBServer.add(no_server);
    CORBA::Object_var object = transport.orb->resolve_initial_references("omniINSPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    PortableServer::ObjectId_var id = PortableServer::string_to_ObjectId(ENTRY_KEY);
    PortableServer::Servant_var<Entry> entry(new Entry(transport));
    poa->activate_object_with_id(id, entry.in());
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    transport.entry_active = true;
}

void entry_deactivate()
{
    omniORB::getInterceptors()->createORBServer.remove(no_server);
}

/* Returns a port that is free now at the first of the addresses; 0: not known. The ORB could choose one,
 * but a restarted daemon could not reuse it for a minute, because only ports requested by number are
 * reusable. */
static unsigned free_port(const struct listen_at &at)
{
    struct sockaddr_storage bound = {};
    socklen_t length = sizeof bound;
    const int s = listen_at_open(&at, 1);
    const bool known = s >= 0 && getsockname(s, reinterpret_cast<struct sockaddr *>(&bound), &length) == 0;
    if (s >= 0)
        close(s);
    if (!known)
        return 0;
    return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<struct sockaddr_in6 *>(&bound)->sin6_port
                                             : reinterpret_cast<struct sockaddr_in *>(&bound)->sin_port);
}

/* The port is sufficient without the Unix socket. */
static void listen_locally(const std::string &address, Endpoint &endpoint)
{
    omni::orbServer::EndpointList bound;
    const LocalTurn turn;
    const std::string path = local_listening_path(address);
    turn.remove_stale();
    if (!path.empty() && endpoint.server->instantiate(("giop:unix:" + path).c_str(), true, bound))
        endpoint.local_path = path;
}

/* Repeats what the ORB could not do, to learn the cause, which it does not report. Returns 0 if it works
 * now. */
static int cause_at(const struct sockaddr_storage &address)
{
    struct listen_at one = {};
    one.items[0] = address;
    one.n = 1;
    const int s = listen_at_open(&one, 1), cause = s < 0 ? errno : 0;
    if (s >= 0)
        close(s);
    return cause;
}

static enum esp_status explain_listen(int cause, const char *listen, struct esp_error *error)
{
    if (cause == EADDRINUSE)
        return error_set(
            error, ESP_SYSTEM,
            "cannot listen on %s: the port is in use: another program listens there (see \"ss -ltnp\"); "
            "choose another port, or 0 for any free one",
            listen);
    if (cause == EADDRNOTAVAIL)
        return error_set(error, ESP_SYSTEM,
                         "cannot listen on %s: the address is not this host's (see \"ip address\")", listen);
    if (cause == EACCES)
        return error_set(error, ESP_SYSTEM,
                         "cannot listen on %s: this user may not use that port; choose one above 1023",
                         listen);
    return error_set(error, ESP_SYSTEM, "cannot listen on %s%s%s", listen, cause ? ": " : "",
                     cause ? strerror(cause) : "");
}

static void set_port(struct listen_at &at, unsigned port)
{
    for (uint32_t i = 0; i < at.n; i++)
        if (at.items[i].ss_family == AF_INET6)
            reinterpret_cast<struct sockaddr_in6 *>(&at.items[i])->sin6_port = htons((uint16_t)port);
        else
            reinterpret_cast<struct sockaddr_in *>(&at.items[i])->sin_port = htons((uint16_t)port);
}

/* Whether the address may be skipped: this machine does not have it, or lacks its family, and can serve at
 * the others. */
static bool may_be_left_out(int cause)
{
    return cause == EADDRNOTAVAIL || cause == EAFNOSUPPORT;
}

/* Listens at all of the addresses. Returns 0, or the error. */
static int listen_at_all(const OrbTransport &transport, omni::giopServer &server, struct listen_at &at,
                         unsigned port)
{
    unsigned served = 0;
    int first = 0;
    set_port(at, port);
    for (uint32_t i = 0; i < at.n; i++) {
        char text[LISTEN_TEXT];
        const std::string uri = std::string(transport.tls ? "giop:ssl:" : "giop:tcp:") +
                                listen_at_text(&at.items[i], text) + ":" + std::to_string(port);
        omni::orbServer::EndpointList bound;
        if (server.instantiate(uri.c_str(), true, bound)) {
            served++;
            continue;
        }
        const int cause = cause_at(at.items[i]);
        if (at.any && served > 0)
            continue; /* the IPv6 socket serves IPv4, too */
        if (first == 0 || !may_be_left_out(cause))
            first = cause ? cause : EADDRINUSE;
        if (!may_be_left_out(cause))
            return first;
        log_notice("cannot listen on %s: %s", text, strerror(cause));
    }
    return served > 0 ? 0 : first;
}

enum esp_status entry_listen(OrbTransport &transport, const char *listen, Endpoint &endpoint,
                             struct esp_error *error)
{
    const char *colon = strrchr(listen, ':');
    const std::string host(listen, colon - listen);
    const unsigned wanted = (unsigned)strtoul(colon + 1, nullptr, 10);
    struct listen_at at;
    int cause = EADDRINUSE;
    if (listen_at_find(host.c_str(), 0, &at, error) != ESP_OK)
        return error_prefix(error, "cannot listen on %s", listen);
    for (int attempt = 0; attempt < (wanted ? 1 : 10); attempt++) {
        omni::giopServer *server = make_server();
        endpoint.port = wanted ? wanted : free_port(at);
        cause = endpoint.port ? listen_at_all(transport, *server, at, endpoint.port) : cause_at(at.items[0]);
        if (cause == 0) {
            endpoint.server = server;
            if (transport.local)
                listen_locally(host + ":" + std::to_string(endpoint.port), endpoint);
            return ESP_OK;
        }
        remove_server(server);
    }
    return explain_listen(cause, listen, error);
}

void entry_start(Endpoint &endpoint)
{
    endpoint.start_timer();
    endpoint.server->start();
}

void entry_stop(Endpoint &endpoint)
{
    if (!endpoint.local_path.empty())
        unlink(
            endpoint.local_path.c_str()); /* first, because a restarted daemon may create its own at once */
    endpoint.local_path.clear();
    if (endpoint.server)
        remove_server(endpoint.server);
    endpoint.server = nullptr;
}
