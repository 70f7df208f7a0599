/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/call.h"
#include "orb/presence.h"

extern "C" {
#include "core/reply.h"
#include "util/crc32c.h"
#include "util/pages.h"
}

/* The ORB's own headers depend on each other in this order. */
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/internal/giopStream.h>

#include <chrono>
#include <string.h>

/* Longest wait of a request for its answer if the request names none. */
static const int64_t PATIENCE_NS = 120 * NS_PER_S;
/* The node answers by itself when the patience of a request ends; if it does not, the transport answers
 * this much later. */
static const int64_t GRACE_NS = 2 * NS_PER_S;
/* Interval at which a waiting thread checks whether the client is still connected. */
static const int64_t LOOK_NS = NS_PER_S;
/* Fits into a socket's buffer in any case. */
static const size_t SMALL_REPLY = 16384;

static void run_upcall(omniCallDescriptor *descriptor, omniServant *)
{
    static_cast<Upcall *>(descriptor)->run();
}

Upcall::Upcall(const char *operation, bool oneway)
    : omniCallDescriptor(run_upcall, operation, strlen(operation) + 1, oneway, nullptr, 0, true)
{
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* ---- post ---- */

PostUpcall::PostUpcall(Endpoint &at, omniCallHandle &from) : Upcall("post", false), endpoint(at), handle(from)
{
}

PostUpcall::~PostUpcall()
{
    post_clear(&post);
}

void PostUpcall::unmarshalArguments(cdrStream &stream)
{
    stream_decode(stream, nullptr, nullptr, [this](struct wire *wire) { return wire_post(wire, &post); });
}

void PostUpcall::run()
{
    uint64_t to = post.envelope.to_incarnation;
    if (to && to != endpoint.incarnation)
        throw CORBA::OBJECT_NOT_EXIST(MINOR_STALE, CORBA::COMPLETED_NO);
    if (!post.items)
        return; /* an empty post asks whether the posts before it arrived */
    post.envelope.peer = or_empty(handle.peeraddress());
    post.envelope.identity = or_empty(handle.peeridentity());
    presence_note_speaker(endpoint, handle.connection(), post.envelope);
    std::lock_guard<std::mutex> lock(endpoint.mutex);
    if (endpoint.closing)
        throw CORBA::OBJECT_NOT_EXIST(MINOR_NOBODY, CORBA::COMPLETED_NO);
    if (!endpoint.ops.post)
        return;
    for (struct post_item *item = post.items; item; item = item->next)
        endpoint.ops.post(endpoint.self, &post.envelope, &item->message);
    endpoint.after_operation();
}

/* ---- requests ---- */

OrbCall::OrbCall() : ::call(), request(), envelope()
{
}

OrbCall::~OrbCall()
{
    message_clear(&request);
    message_destroy(reply);
}

void OrbCall::answer(struct message *with)
{
    std::lock_guard<std::mutex> lock(mutex);
    reply = with;
    answered = true;
    changed.notify_one();
}

CallUpcall::CallUpcall(Endpoint &at, omniCallHandle &from, enum message_kind kind)
    : Upcall(message_operation(kind), false), endpoint(at), handle(from)
{
    call.endpoint = &at.handle;
    call.request.kind = kind;
}

CallUpcall::~CallUpcall()
{
    memory_wire_release(&body);
}

void CallUpcall::unmarshalArguments(cdrStream &stream)
{
    stream_decode(stream, &call.request.arena, nullptr,
                  [this](struct wire *wire) { return wire_message(wire, &call.request); });
}

void CallUpcall::run()
{
    enum message_kind kind = call.request.kind;
    bool answered;
    call.envelope = {"", 0, 0, or_empty(handle.peeraddress()), or_empty(handle.peeridentity())};
    {
        std::lock_guard<std::mutex> lock(endpoint.mutex);
        if (endpoint.closing)
            throw CORBA::OBJECT_NOT_EXIST(MINOR_NOBODY, CORBA::COMPLETED_NO);
        if (endpoint.ops.call) {
            endpoint.calls.insert(&call);
            endpoint.ops.call(endpoint.self, &call, &call.request);
            endpoint.after_operation();
        } else {
            call.answer(message_failure(message_reply_kind(kind), ESP_PROTOCOL, "%s takes no %s",
                                        endpoint.name.c_str(), message_name(kind)));
        }
        /* Read it under the lock: another thread may have answered and still be using this call, and
         * wait() returns only when it no longer does. */
        answered = call.answered;
    }
    if (!answered) {
        endpoint.flush();
        note_asker();
        wait();
    }
    reply_encode(&body, kind, call.reply, endpoint.transport.message_bytes);
}

/* Called again after the answer, which may not reach the client. */
void CallUpcall::note_asker()
{
    const struct message &request = call.request;
    struct session_id client = {};
    if (request.kind == MESSAGE_CALL)
        client = request.call.session;
    else if (request.kind == MESSAGE_RUN)
        client = request.run.session;
    else if (request.kind == MESSAGE_FOLLOW)
        client = request.follow.session;
    else if (request.kind == MESSAGE_AWAIT)
        client.client_high = request.await.client_high, client.client_low = request.await.client_low;
    else
        return;
    presence_note_asker(endpoint, handle.connection(), client);
}

int64_t CallUpcall::deadline_ns() const
{
    const struct message &request = call.request;
    uint64_t patience_ms = 0;
    switch (request.kind) {
    case MESSAGE_SUBMIT:
        patience_ms = request.submit.time_left_ms;
        break;
    case MESSAGE_CALL:
        patience_ms = request.call.patience_ms;
        break;
    case MESSAGE_RUN:
        patience_ms = request.run.patience_ms;
        break;
    case MESSAGE_AWAIT:
        patience_ms = request.await.patience_ms;
        break;
    case MESSAGE_FOLLOW:
        patience_ms = request.follow.patience_ms;
        break;
    case MESSAGE_PULL:
        patience_ms = request.pull.patience_ms;
        break;
    default:
        break;
    }
    const uint64_t longest_ms = 24 * 3600 * 1000;
    if (patience_ms > longest_ms)
        patience_ms = longest_ms;
    int64_t patience = patience_ms ? (int64_t)patience_ms * NS_PER_MS + GRACE_NS : PATIENCE_NS;
    return clock_now_ns(&clock_system) + patience;
}

/* The node has forgotten the call, unless its answer came at this very moment. */
void CallUpcall::abandon()
{
    std::lock_guard<std::mutex> lock(endpoint.mutex);
    if (call.answered)
        return;
    endpoint.calls.erase(&call);
    if (endpoint.ops.abandoned)
        endpoint.ops.abandoned(endpoint.self, &call);
    endpoint.after_operation();
    call.answer(message_failure(message_reply_kind(call.request.kind), ESP_TIMEOUT,
                                "%s: no answer to %s in time", endpoint.name.c_str(),
                                message_name(call.request.kind)));
}

void CallUpcall::wait()
{
    const int64_t deadline = deadline_ns();
    omni::giopConnection *connection = handle.connection();
    std::unique_lock<std::mutex> lock(call.mutex);
    while (!call.answered) {
        int64_t now = clock_now_ns(&clock_system);
        int64_t until = now + LOOK_NS < deadline ? now + LOOK_NS : deadline;
        if (call.help) {
            bool (*help)(void *arg, int64_t until_ns) = call.help;
            void *arg = call.help_arg;
            lock.unlock();
            bool again = help(arg, until);
            lock.lock();
            if (!again)
                call.help = nullptr;
        } else {
            std::chrono::steady_clock::time_point look{std::chrono::nanoseconds(until)};
            call.changed.wait_until(lock, look, [this] { return call.answered || call.help; });
        }
        now = clock_now_ns(&clock_system);
        if (!call.answered && (now >= deadline || (now >= until && connection_is_gone(connection)))) {
            lock.unlock();
            abandon();
            endpoint.flush();
            lock.lock();
        }
    }
}

void CallUpcall::marshalReturnedValues(cdrStream &stream)
{
    if (body.size <= SMALL_REPLY)
        if (omni::giopStream *giop = omni::giopStream::downcast(&stream))
            giop->clearDeadline(); /* limits.cc sets a limit in the kernel */
    if (stream_put_body(stream, body))
        return;
    /* An old GIOP version does not align bodies: encode the reply to the stream directly. */
    struct message reply = {};
    reply.kind = message_reply_kind(call.request.kind);
    struct memory_wire memory;
    memory_wire_decoder(&memory, body.data, body.size, &reply.arena);
    StreamWire wire(stream, WIRE_ENCODE, nullptr);
    if (wire_message(&memory.wire, &reply))
        wire_message(&wire.wire, &reply);
    message_clear(&reply);
    wire.check();
}

/* ---- chunks ---- */

ChunkUpcall::ChunkUpcall(Endpoint &at, bool writing)
    : Upcall(writing ? "put" : "get", false), endpoint(at), write(writing)
{
    header.kind = writing ? MESSAGE_PUT : MESSAGE_GET;
}

ChunkUpcall::~ChunkUpcall()
{
    close_area(false);
    message_destroy(reply);
    message_clear(&header);
}

void ChunkUpcall::open_area()
{
    std::lock_guard<std::mutex> lock(endpoint.mutex);
    if (endpoint.closing)
        throw CORBA::OBJECT_NOT_EXIST(MINOR_NOBODY, CORBA::COMPLETED_NO);
    if (!endpoint.ops.chunk) {
        reply = message_failure(MESSAGE_CHUNK_REPLY, ESP_PROTOCOL, "%s takes no %s", endpoint.name.c_str(),
                                message_name(header.kind));
        return;
    }
    endpoint.ops.chunk(endpoint.self, &header, write, &area);
    reply = area.reply;
    area_open = !reply;
    endpoint.after_operation();
}

void ChunkUpcall::close_area(bool complete)
{
    if (!area_open)
        return;
    area_open = false;
    std::lock_guard<std::mutex> lock(endpoint.mutex);
    if (endpoint.ops.chunk_done)
        endpoint.ops.chunk_done(endpoint.self, &header, write, &area, complete);
    endpoint.after_operation();
}

/* The area must match the request; any other is an error of the node, and no byte may move. */
void ChunkUpcall::check_area()
{
    uint64_t wanted = header.chunk.length;
    if (!area_open || (write ? area.length == wanted : area.length <= wanted))
        return;
    reply = message_failure(MESSAGE_CHUNK_REPLY, ESP_INTERNAL,
                            "an area of %llu bytes was given for a chunk of %llu",
                            (unsigned long long)area.length, (unsigned long long)wanted);
    close_area(false);
}

void ChunkUpcall::work_on_area()
{
    struct esp_error error = {};
    if (!area_open || !area.work || area.work(&area, &error) == ESP_OK)
        return;
    close_area(false);
    reply = message_failure(MESSAGE_CHUNK_REPLY, error.status, "%s", error.text);
}

void ChunkUpcall::unmarshalArguments(cdrStream &stream)
{
    StreamWire wire(stream, WIRE_DECODE, &header.arena);
    wire_message(&wire.wire, &header);
    wire.check();
    if (header.chunk.length > CAP_CHUNK)
        throw CORBA::MARSHAL(MINOR_MESSAGE, CORBA::COMPLETED_NO);
    if (!write)
        return;
    if (omni::giopStream *giop = omni::giopStream::downcast(&stream))
        presence_note_mover(endpoint, giop->strand().connection, header.chunk.session);
    CORBA::ULong bytes;
    bytes <<= stream;
    if (bytes != header.chunk.length || !stream.checkInputOverrun(1, bytes))
        throw CORBA::MARSHAL(MINOR_MESSAGE, CORBA::COMPLETED_NO);
    open_area();
    check_area();
    if (!area_open)
        stream.skipInput(bytes);
    else
        take_bytes(stream, bytes);
}

void ChunkUpcall::take_bytes(cdrStream &stream, size_t bytes)
{
    if (area.fresh)
        pages_touch(area.data, bytes, true);
    found_crc = stream_get_bytes(stream, area.data, bytes, header.chunk.flags & CHUNK_HAS_CRC);
}

struct message *chunk_reply(uint64_t length)
{
    struct message *reply = message_create(MESSAGE_CHUNK_REPLY);
    if (reply)
        reply->chunk_reply.length = length;
    return reply;
}

void ChunkUpcall::run()
{
    const struct chunk &chunk = header.chunk;
    if (!write) {
        open_area();
        check_area();
        work_on_area();
        if (!area_open)
            return;
        if (area.fresh)
            pages_touch(area.data, area.length, false);
        reply = chunk_reply(area.length);
        if (reply && (chunk.flags & CHUNK_HAS_CRC)) {
            if (!area.summed)
                area.crc32c = crc32c(0, area.data, area.length);
            area.summed = true;
            reply->chunk_reply.flags = CHUNK_HAS_CRC;
            reply->chunk_reply.crc32c = area.crc32c;
        }
        return;
    }
    if (!area_open)
        return;
    area.summed = chunk.flags & CHUNK_HAS_CRC;
    area.crc32c = found_crc;
    bool whole = !area.summed || found_crc == chunk.crc32c;
    if (whole)
        work_on_area();
    if (!area_open)
        return;
    close_area(whole);
    reply = whole ? chunk_reply(chunk.length)
                  : message_failure(MESSAGE_CHUNK_REPLY, ESP_PROTOCOL,
                                    "chunk damaged on the way: CRC32C %08x expected, %08x found",
                                    chunk.crc32c, found_crc);
}

void ChunkUpcall::marshalReturnedValues(cdrStream &stream)
{
    struct memory_wire body;
    bool data = !write && reply && area_open;
    reply_encode(&body, header.kind, reply, endpoint.transport.message_bytes);
    bool aligned = stream_put_body(stream, body);
    memory_wire_release(&body);
    if (!aligned) /* chunks need GIOP 1.2 or later */
        throw CORBA::MARSHAL(MINOR_MESSAGE, CORBA::COMPLETED_YES);
    if (write)
        return;
    CORBA::ULong bytes = data ? (CORBA::ULong)area.length : 0;
    bytes >>= stream;
    if (bytes)
        stream.put_octet_array(static_cast<const CORBA::Octet *>(area.data), (int)bytes);
    close_area(true);
}
