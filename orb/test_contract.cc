// SPDX-License-Identifier: Apache-2.0  Checks idl/espalier.idl against core/message/message.c: the IDL's
// stubs must read the codec's encoding to the last byte and write it again byte by byte, and a typed client
// and a typed server must work with our own transport.
#include "espalier.hh"

extern "C" {
#include "core/message/batch.h"
#include "orb/orb.h"
#include "tests/unit/generated.h"
}

#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <netinet/in.h>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int n_tests, n_failed;

static void check(bool holds, const std::string &what)
{
    std::cout << (holds ? "ok " : "not ok ") << ++n_tests << " - " << what << std::endl;
    n_failed += !holds;
}

// ---- the encoding ----

// Reads a T from the codec's bytes, writes it again, and has the codec read that. (Padding may differ.)
template <class T>
static bool same_bytes(enum message_kind kind, const uint8_t *data, size_t size)
{
    cdrMemoryStream in, out;
    in.put_octet_array(data, (int)size);
    in.rewindInputPtr();
    T value;
    value <<= in;
    if (in.currentInputPtr() != size)
        return false;
    value >>= out;
    struct message message;
    struct memory_wire decoder, encoder;
    memset(&message, 0, sizeof message);
    message.kind = kind;
    memory_wire_decoder(&decoder, out.bufPtr(), out.bufSize(), &message.arena);
    memory_wire_encoder(&encoder, MESSAGE_BYTES);
    bool same = wire_message(&decoder.wire, &message) && decoder.position == out.bufSize() &&
                wire_message(&encoder.wire, &message) && encoder.size == size &&
                !memcmp(encoder.data, data, size);
    memory_wire_release(&encoder);
    message_clear(&message);
    return same;
}

using Compare = std::function<bool(enum message_kind, const uint8_t *, size_t)>;

static void contract_and_codec_agree()
{
    using namespace Espalier;
    static const std::map<int, Compare> types = {
        {MESSAGE_HELLO, same_bytes<Hello>},
        {MESSAGE_WELCOME, same_bytes<Welcome>},
        {MESSAGE_REPORT, same_bytes<Report>},
        {MESSAGE_PULSE, same_bytes<Pulse>},
        {MESSAGE_REJOIN, same_bytes<Rejoin>},
        {MESSAGE_GOODBYE, same_bytes<Goodbye>},
        {MESSAGE_ASK, same_bytes<Ask>},
        {MESSAGE_ANSWER, same_bytes<Answer>},
        {MESSAGE_PLACE, same_bytes<Place>},
        {MESSAGE_WANT, same_bytes<Want>},
        {MESSAGE_CATALOG, same_bytes<Catalog>},
        {MESSAGE_TEXTS, same_bytes<Texts>},
        {MESSAGE_ORDER, same_bytes<Order>},
        {MESSAGE_OBEYED, same_bytes<Obeyed>},
        {MESSAGE_PASS, same_bytes<Pass>},
        {MESSAGE_PASSED, same_bytes<Passed>},
        {MESSAGE_GREET, same_bytes<Greet>},
        {MESSAGE_LOCATE, same_bytes<Locate>},
        {MESSAGE_SUBMIT, same_bytes<Submit>},
        {MESSAGE_DESCRIBE, same_bytes<Describe>},
        {MESSAGE_LIST, same_bytes<List>},
        {MESSAGE_TREE, same_bytes<Tree>},
        {MESSAGE_CALL, same_bytes<CallRequest>},
        {MESSAGE_RUN, same_bytes<Run>},
        {MESSAGE_AWAIT, same_bytes<Await>},
        {MESSAGE_CANCEL, same_bytes<Cancel>},
        {MESSAGE_PUT, same_bytes<Chunk>},
        {MESSAGE_GET, same_bytes<Chunk>},
        {MESSAGE_FOLLOW, same_bytes<Follow>},
        {MESSAGE_OFFER, same_bytes<Offer>},
        {MESSAGE_OPEN, same_bytes<Open>},
        {MESSAGE_FINISH, same_bytes<Finish>},
        {MESSAGE_DROP, same_bytes<Drop>},
        {MESSAGE_DATA, same_bytes<Data>},
        {MESSAGE_PULL, same_bytes<Pull>},
        {MESSAGE_ADMINISTER, same_bytes<Administer>},
        {MESSAGE_REACH, same_bytes<Reach>},
        {MESSAGE_GREET_REPLY, same_bytes<GreetReply>},
        {MESSAGE_LOCATE_REPLY, same_bytes<LocateReply>},
        {MESSAGE_SUBMIT_REPLY, same_bytes<SubmitReply>},
        {MESSAGE_DESCRIBE_REPLY, same_bytes<DescribeReply>},
        {MESSAGE_LIST_REPLY, same_bytes<ListReply>},
        {MESSAGE_TREE_REPLY, same_bytes<TreeReply>},
        {MESSAGE_CALL_REPLY, same_bytes<CallReply>},
        {MESSAGE_AWAIT_REPLY, same_bytes<AwaitReply>},
        {MESSAGE_DONE_REPLY, same_bytes<DoneReply>},
        {MESSAGE_CHUNK_REPLY, same_bytes<ChunkReply>},
        {MESSAGE_FOLLOW_REPLY, same_bytes<FollowReply>},
        {MESSAGE_OFFER_REPLY, same_bytes<OfferReply>},
        {MESSAGE_OPEN_REPLY, same_bytes<OpenReply>},
        {MESSAGE_DATA_REPLY, same_bytes<DataReply>},
        {MESSAGE_PULL_REPLY, same_bytes<PullReply>},
        {MESSAGE_ADMINISTER_REPLY, same_bytes<AdministerReply>},
    };
    for (enum message_kind kind = next_kind(MESSAGE_NONE); kind; kind = next_kind(kind)) {
        struct message message;
        struct memory_wire memory;
        generate(&message, kind, (uint64_t)kind);
        memory_wire_encoder(&memory, MESSAGE_BYTES);
        wire_message(&memory.wire, &message);
        auto type = types.find(kind);
        bool same = false;
        try {
            same = type != types.end() && type->second(kind, memory.data, memory.size);
        } catch (const CORBA::Exception &) {
        }
        check(same, std::string("the IDL reads and writes a ") + message_name(kind) + " as the codec does");
        memory_wire_release(&memory);
        message_clear(&message);
    }
}

// ---- a typed client talks to the transport ----

struct Node {
    struct endpoint *endpoint;
    unsigned pulses;
    uint64_t from_incarnation;
    std::string memory = std::string(100, 'm');
};

static void node_post(void *self, const struct envelope *envelope, const struct message *message)
{
    Node *node = static_cast<Node *>(self);
    node->pulses += message->kind == MESSAGE_PULSE && message->pulse.number == 42;
    node->from_incarnation = envelope->from_incarnation;
}

static void node_call(void *, struct call *call, const struct message *request)
{
    struct message *reply = message_create(message_reply_kind(request->kind));
    if (request->kind == MESSAGE_DESCRIBE) {
        reply->describe_reply.digest = 0x1122334455667788;
        reply->describe_reply.text = arena_strdup(&reply->arena, request->describe.problem);
        reply->describe_reply.servers = 3;
    }
    call_reply(call, reply);
}

static void node_chunk(void *self, const struct message *header, bool, struct chunk_area *area)
{
    area->data = &static_cast<Node *>(self)->memory[header->chunk.offset];
    area->length = header->chunk.length;
}

static CORBA::Object_ptr entry(const std::string &address, const char *contract = "1")
{
    int argc = 0;
    CORBA::ORB_var orb = CORBA::ORB_init(argc, nullptr);
    return orb->string_to_object(("corbaloc::" + address + "/espalier-" + contract).c_str());
}

// A client of another contract learns the contract spoken here from the exception's minor code.
static bool hears_of_contract_1(const std::string &address, const char *contract)
{
    CORBA::Object_var object = entry(address, contract);
    Espalier::Node_var node = Espalier::Node::_unchecked_narrow(object);
    try {
        Espalier::Greet greet;
        Espalier::GreetReply_var reply = node->greet(greet);
    } catch (const CORBA::OBJECT_NOT_EXIST &exception) {
        return exception.minor() == 0x45531001;
    }
    return false;
}

static void typed_client(struct transport *transport)
{
    static struct endpoint_ops ops = {};
    ops.post = node_post;
    ops.call = node_call;
    ops.chunk = node_chunk;
    Node node = {};
    struct endpoint_options options = {};
    options.name = "node";
    options.incarnation = 5;
    options.listen = "127.0.0.1:0";
    struct esp_error error;
    check(transport_serve(transport, &options, &ops, &node, &node.endpoint, &error) == ESP_OK,
          "a node serves");
    std::string address = endpoint_address(node.endpoint);

    check(hears_of_contract_1(address, "9"), "another contract is answered with the own one");
    check(!hears_of_contract_1(address, "nonsense"), "what is no contract is not");
    CORBA::Object_var object = entry(address);
    Espalier::Server_var server = Espalier::Server::_narrow(object);
    check(!CORBA::is_nil(server), "the entry object is a Server to a client");
    Espalier::Describe describe;
    describe.problem = CORBA::string_dup("dgesv");
    Espalier::DescribeReply_var described = server->describe(describe);
    check(described->digest == 0x1122334455667788 && described->servers == 3 &&
              std::string(described->text) == "dgesv",
          "a typed client's describe is answered");

    Espalier::Chunk chunk = {};
    chunk.offset = 7;
    chunk.length = 5;
    Espalier::Octets data(5, 5, reinterpret_cast<CORBA::Octet *>(const_cast<char *>("hello")), 0);
    Espalier::ChunkReply_var put = server->put(chunk, data);
    check(put->outcome.status == 0 && node.memory.substr(6, 7) == "mhellom", "a typed client puts a chunk");
    Espalier::Octets_var got;
    Espalier::ChunkReply_var get = server->get(chunk, got.out());
    check(get->length == 5 && got->length() == 5 && !memcmp(got->get_buffer(), "hello", 5),
          "a typed client gets a chunk");

    Espalier::Envelope envelope;
    envelope.from = CORBA::string_dup("typed");
    envelope.from_incarnation = 77;
    envelope.to_incarnation = 0;
    Espalier::MessageSeq messages;
    messages.length(2);
    for (CORBA::ULong i = 0; i < 2; i++) {
        Espalier::Pulse pulse;
        pulse.number = 42;
        messages[i].pulse(pulse);
    }
    server->post(envelope, messages);
    unsigned pulses = 0;
    for (int i = 0; i < 5000 && pulses < 2; i++) {
        usleep(1000);
        endpoint_enter(node.endpoint);
        pulses = node.pulses;
        endpoint_leave(node.endpoint);
    }
    check(pulses == 2 && node.from_incarnation == 77, "a typed client posts");
    endpoint_close(node.endpoint);
}

// ---- the transport talks to a typed server, in a process of its own ----

class TypedServer : public POA_Espalier::Server
{
  public:
    Espalier::GreetReply *greet(const Espalier::Greet &) override
    {
        Espalier::GreetReply *reply = new Espalier::GreetReply();
        reply->name = CORBA::string_dup("typed");
        reply->incarnation = pulses;
        return reply;
    }
    void post(const Espalier::Envelope &, const Espalier::MessageSeq &messages) override
    {
        for (CORBA::ULong i = 0; i < messages.length(); i++)
            pulses += messages[i]._d() == MESSAGE_PULSE && messages[i].pulse().number == 42;
    }
    Espalier::DescribeReply *describe(const Espalier::Describe &) override
    {
        throw CORBA::NO_PERMISSION();
    }
    Espalier::ListReply *list(const Espalier::List &) override
    {
        return new Espalier::ListReply();
    }
    Espalier::TreeReply *tree(const Espalier::Tree &) override
    {
        _exit(0); // as if it crashed in the middle of a call
    }
    Espalier::CallReply *call(const Espalier::CallRequest &request) override
    {
        Espalier::CallReply *reply = new Espalier::CallReply();
        reply->session.outcome.status = ESP_FAILED;
        reply->session.sequence = request.session.sequence;
        reply->session.results.length(request.arguments.length());
        for (CORBA::ULong i = 0; i < request.arguments.length(); i++)
            reply->session.results[i].data = request.arguments[i].data;
        return reply;
    }
    Espalier::CallReply *run(const Espalier::Run &) override
    {
        return new Espalier::CallReply();
    }
    Espalier::AwaitReply *await(const Espalier::Await &) override
    {
        return new Espalier::AwaitReply();
    }
    Espalier::FollowReply *follow(const Espalier::Follow &) override
    {
        return new Espalier::FollowReply();
    }
    Espalier::OfferReply *offer(const Espalier::Offer &request) override
    {
        Espalier::OfferReply *reply = new Espalier::OfferReply();
        reply->ticket = request.datum.bytes;
        reply->gaps.length(1);
        reply->gaps[0].to = request.datum.bytes;
        return reply;
    }
    Espalier::OpenReply *open(const Espalier::Open &) override
    {
        throw CORBA::NO_IMPLEMENT();
    }
    Espalier::DoneReply *finish(const Espalier::Finish &) override
    {
        throw CORBA::NO_IMPLEMENT();
    }
    Espalier::DoneReply *drop(const Espalier::Drop &) override
    {
        throw CORBA::NO_IMPLEMENT();
    }
    Espalier::DataReply *data(const Espalier::Data &) override
    {
        throw CORBA::NO_IMPLEMENT();
    }
    Espalier::PullReply *pull(const Espalier::Pull &) override
    {
        throw CORBA::NO_IMPLEMENT();
    }
    Espalier::ChunkReply *reach(const Espalier::Reach &) override
    {
        throw CORBA::NO_IMPLEMENT();
    }
    Espalier::AdministerReply *administer(const Espalier::Administer &request) override
    {
        Espalier::AdministerReply *reply = new Espalier::AdministerReply();
        reply->text = request.verb;
        reply->generation = request.generation;
        return reply;
    }
    Espalier::DoneReply *cancel(const Espalier::Cancel &) override
    {
        return new Espalier::DoneReply();
    }
    Espalier::ChunkReply *put(const Espalier::Chunk &header, const Espalier::Octets &data) override
    {
        Espalier::ChunkReply *reply = new Espalier::ChunkReply();
        reply->length = data.length();
        reply->flags = header.flags;
        kept = data;
        return reply;
    }
    Espalier::ChunkReply *get(const Espalier::Chunk &, Espalier::Octets_out data) override
    {
        Espalier::ChunkReply *reply = new Espalier::ChunkReply();
        data = new Espalier::Octets(kept);
        reply->length = kept.length();
        return reply;
    }

  private:
    unsigned pulses = 0;
    Espalier::Octets kept;
};

static unsigned free_port()
{
    struct sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    int s = socket(AF_INET, SOCK_STREAM, 0);
    bind(s, reinterpret_cast<struct sockaddr *>(&address), sizeof address);
    getsockname(s, reinterpret_cast<struct sockaddr *>(&address), &length);
    close(s);
    return ntohs(address.sin_port);
}

static void run_typed_server(const std::string &address, int ready)
{
    const std::string uri = "giop:tcp:" + address;
    const char *argv[] = {"typed",    "-ORBendPoint",   uri.c_str(), "-ORBgiopMaxMsgSize",
                          "10000000", "-ORBtraceLevel", "0",         nullptr};
    int argc = 7;
    CORBA::ORB_var orb = CORBA::ORB_init(argc, const_cast<char **>(argv));
    CORBA::Object_var object = orb->resolve_initial_references("omniINSPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    PortableServer::ObjectId_var id = PortableServer::string_to_ObjectId("espalier-1");
    poa->activate_object_with_id(id, new TypedServer);
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    dprintf(ready, "ready");
    close(ready);
    orb->run();
}

static std::string start_typed_server(pid_t *pid)
{
    int ready[2];
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    if (pipe(ready) != 0)
        exit(99);
    *pid = fork();
    if (*pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); // must not outlive a test that is killed
        close(ready[0]);
        try {
            run_typed_server(address, ready[1]);
        } catch (const CORBA::Exception &) {
        }
        _exit(1);
    }
    close(ready[1]);
    char byte;
    check(read(ready[0], &byte, 1) == 1, "a typed server starts");
    close(ready[0]);
    return address;
}

static void note_undelivered(void *self, const char *, const struct esp_error *why)
{
    *static_cast<struct esp_error *>(self) = *why;
}

// A stopped process accepts connections and does not answer.
static void a_post_that_is_not_answered(struct transport *transport, const std::string &address, pid_t pid)
{
    static struct endpoint_ops ops = {};
    ops.undelivered = note_undelivered;
    struct esp_error why = {};
    struct endpoint *endpoint;
    struct endpoint_options options = {};
    options.name = "poster";
    options.listen = "127.0.0.1:0";
    transport_serve(transport, &options, &ops, &why, &endpoint, nullptr);
    struct message pulse;
    memset(&pulse, 0, sizeof pulse);
    pulse.kind = MESSAGE_PULSE;
    kill(pid, SIGSTOP);
    endpoint_enter(endpoint);
    endpoint_post(endpoint, address.c_str(), 0, &pulse, nullptr);
    endpoint_leave(endpoint);
    enum esp_status status = ESP_OK;
    for (int i = 0; i < 20000 && status == ESP_OK; i++) {
        usleep(1000);
        endpoint_enter(endpoint);
        status = why.status;
        endpoint_leave(endpoint);
    }
    kill(pid, SIGCONT);
    check(status == ESP_TIMEOUT && strstr(why.text, "no answer in time"),
          "a post that a stopped server does not take is reported with its reason");
    endpoint_close(endpoint);
}

static void typed_server(struct transport *transport, const std::string &address)
{
    const char *at = address.c_str();
    struct message request, reply;
    struct esp_error error;
    memset(&request, 0, sizeof request);
    request.kind = MESSAGE_GREET;
    check(transport_call(transport, at, &request, 10000, &reply, &error) == ESP_OK &&
              !strcmp(reply.greet_reply.name, "typed"),
          "a typed server is greeted");
    message_clear(&reply);

    generate(&request, MESSAGE_CALL, 3);
    check(transport_call(transport, at, &request, 10000, &reply, &error) == ESP_OK &&
              reply.call_reply.session.outcome.status == ESP_FAILED &&
              reply.call_reply.session.sequence == request.call.session.sequence &&
              reply.call_reply.session.n_results == request.call.n_arguments &&
              reply.call_reply.session.results[0].length == request.call.arguments[0].length,
          "a typed server is called");
    message_clear(&reply);
    message_clear(&request);

    generate(&request, MESSAGE_ADMINISTER, 5);
    check(transport_call(transport, at, &request, 10000, &reply, &error) == ESP_OK &&
              !strcmp(reply.administer_reply.text, request.administer.verb) &&
              reply.administer_reply.generation == request.administer.generation,
          "a typed server is administered");
    message_clear(&reply);
    message_clear(&request);

    generate(&request, MESSAGE_OFFER, 4);
    check(transport_call(transport, at, &request, 10000, &reply, &error) == ESP_OK &&
              reply.offer_reply.ticket == request.offer.datum.bytes && reply.offer_reply.n_gaps == 1 &&
              reply.offer_reply.gaps[0].to == request.offer.datum.bytes,
          "a datum is offered to a typed server");
    message_clear(&reply);
    message_clear(&request);

    memset(&request, 0, sizeof request);
    request.kind = MESSAGE_DESCRIBE;
    check(transport_call(transport, at, &request, 10000, &reply, &error) == ESP_SECURITY,
          "NO_PERMISSION is a matter of security");
    message_clear(&reply);
    request.kind = MESSAGE_SUBMIT;
    check(transport_call(transport, at, &request, 10000, &reply, &error) == ESP_PROTOCOL &&
              strstr(error.text, "operation"),
          "a server knows no submit");
    message_clear(&reply);

    std::string data(3000000, 'd'), back(3000000, 0);
    struct message chunk;
    uint64_t moved = 0;
    memset(&chunk, 0, sizeof chunk);
    chunk.kind = MESSAGE_PUT;
    chunk.chunk.length = data.size();
    bool put = transport_put(transport, at, &chunk, data.data(), 10000, 0, &error) == ESP_OK;
    chunk.kind = MESSAGE_GET;
    if (!put)
        std::cout << "# " << error.text << std::endl;
    check(put && transport_get(transport, at, &chunk, &back[0], &moved, 10000, 0, &error) == ESP_OK &&
              moved == data.size() && back == data,
          "chunks go to a typed server and come back");

    // Posting needs an endpoint; this one need not serve.
    static const struct endpoint_ops silent = {};
    struct endpoint *endpoint;
    struct endpoint_options options = {};
    options.name = "poster";
    options.listen = "127.0.0.1:0";
    transport_serve(transport, &options, &silent, nullptr, &endpoint, &error);
    struct message pulse;
    memset(&pulse, 0, sizeof pulse);
    pulse.kind = MESSAGE_PULSE;
    pulse.pulse.number = 42;
    uint64_t arrived = 0;
    for (int i = 0; i < 3; i++) {
        endpoint_enter(endpoint);
        endpoint_post(endpoint, at, 0, &pulse, nullptr);
        endpoint_leave(endpoint);
    }
    request.kind = MESSAGE_GREET;
    for (int i = 0; i < 5000 && arrived < 3; i++) {
        usleep(1000);
        if (transport_call(transport, at, &request, 10000, &reply, &error) == ESP_OK)
            arrived = reply.greet_reply.incarnation;
        message_clear(&reply);
    }
    check(arrived == 3, "posts arrive at a typed server");
    endpoint_close(endpoint);

    request.kind = MESSAGE_TREE;
    check(transport_call(transport, at, &request, 10000, &reply, &error) == ESP_MAYBE &&
              strstr(error.text, "connection lost before the answer") &&
              !strstr(error.text, "may have been executed"),
          "a server that dies in the middle of a question is a maybe, that leaves nothing done");
    message_clear(&reply);
    enum esp_status status = ESP_MAYBE;
    for (int i = 0; i < 100 && status == ESP_MAYBE; i++) {
        status = transport_call(transport, at, &request, 10000, &reply, &error);
        message_clear(&reply);
    }
    check(status == ESP_UNREACHABLE, "and then it is unreachable");
}

int main()
{
    pid_t pid;
    std::string address = start_typed_server(&pid); // before this process has threads
    struct orb_options options = {};
    struct transport *transport;
    struct esp_error error;
    check(orb_open(&options, &transport, &error) == ESP_OK, "the transport opens");
    contract_and_codec_agree();
    typed_client(transport);
    a_post_that_is_not_answered(transport, address, pid);
    typed_server(transport, address);
    transport_destroy(transport);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    std::cout << "1.." << n_tests << "\n";
    return n_failed > 0;
}
