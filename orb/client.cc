/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls and chunks, on the client's side. Requests are encoded in memory first, so that too large ones
 * fail before anything is sent. */
#include "orb/failure.h"
#include "orb/peer.h"
#include "orb/reach.h"
#include "orb/refusal.h"
#include "orb/stream.h"
#include "orb/transport.h"

extern "C" {
#include "util/crc32c.h"
#include "util/pages.h"
}

#include <algorithm>
#include <string.h>

namespace
{

/* A request encoded in memory. */
class Body
{
  public:
    Body(const struct message *request, size_t cap)
    {
        memory_wire_encoder(&memory, cap);
        wire_message(&memory.wire, const_cast<struct message *>(request)); /* encoding does not change it */
    }
    ~Body()
    {
        memory_wire_release(&memory);
    }
    Body(const Body &) = delete;
    Body &operator=(const Body &) = delete;

    struct memory_wire memory;
};

/* A request and its reply. */
class Asking : public Invocation
{
  public:
    Asking(enum message_kind kind, const Body &request, int64_t deadline_ns, struct message *into,
           int64_t silence_ns = 0)
        : Invocation(message_operation(kind), false, deadline_ns, silence_ns), body(request), reply(into)
    {
        wrong.status = ESP_OK;
    }
    void marshalArguments(cdrStream &stream) override
    {
        stream.put_octet_array(body.memory.data, (int)body.memory.size, omni::ALIGN_8);
    }
    void unmarshalReturnedValues(cdrStream &stream) override
    {
        message_clear_reply();
        stream_decode(stream, &reply->arena, &wrong,
                      [this](struct wire *wire) { return wire_message(wire, reply); });
    }

    struct esp_error wrong; /* the codec's error about the reply */

  protected:
    /* Clears an earlier reply, because the ORB may repeat an invocation. */
    void message_clear_reply()
    {
        enum message_kind kind = reply->kind;
        message_clear(reply);
        reply->kind = kind;
    }

    const Body &body;
    struct message *reply;
};

class Putting : public Asking
{
  public:
    Putting(const Body &request, int64_t deadline_ns, int64_t silence_ns, struct message *into,
            const void *from, uint32_t length)
        : Asking(MESSAGE_PUT, request, deadline_ns, into, silence_ns), data(from), bytes(length)
    {
    }
    void marshalArguments(cdrStream &stream) override
    {
        Asking::marshalArguments(stream);
        bytes >>= stream;
        if (bytes)
            stream.put_octet_array(static_cast<const CORBA::Octet *>(data), (int)bytes);
    }

  private:
    const void *data;
    CORBA::ULong bytes;
};

class Getting : public Asking
{
  public:
    Getting(const Body &request, int64_t deadline_ns, int64_t silence_ns, struct message *into, void *to,
            uint64_t length)
        : Asking(MESSAGE_GET, request, deadline_ns, into, silence_ns), data(to), most(length),
          minds_silence(silence_ns > 0)
    {
    }
    void unmarshalReturnedValues(cdrStream &stream) override
    {
        message_clear_reply();
        StreamWire wire(stream, WIRE_DECODE, &reply->arena);
        wire_message(&wire.wire, reply);
        wire.check(&wrong);
        CORBA::ULong bytes;
        bytes <<= stream;
        if (bytes > most || bytes != (reply->outcome.status == ESP_OK ? reply->chunk_reply.length : 0)) {
            error_set(&wrong, ESP_PROTOCOL, "%u bytes came for a chunk of %llu", (unsigned)bytes,
                      (unsigned long long)most);
            throw CORBA::MARSHAL(MINOR_MESSAGE, CORBA::COMPLETED_YES);
        }
        if (!stream.checkInputOverrun(1, bytes))
            throw CORBA::MARSHAL(MINOR_MESSAGE, CORBA::COMPLETED_YES);
        std::function<void()> came;
        if (minds_silence)
            came = [this] { note_life(); };
        found_crc = stream_get_bytes(stream, data, bytes, reply->chunk_reply.flags & CHUNK_HAS_CRC, came);
    }

    uint32_t found_crc = 0; /* of the received bytes, when the reply has one */

  private:
    void *data;
    uint64_t most;
    const bool minds_silence;
};

} // namespace

static int64_t deadline_from(int64_t timeout_ms)
{
    const int64_t longest_ms = INT64_C(1000) * 3600 * 24 * 365;
    return clock_now_ns(&clock_system) + (timeout_ms < longest_ms ? timeout_ms : longest_ms) * NS_PER_MS;
}

static enum esp_status check_request(const char *address, const struct message *request, const Body &body,
                                     int64_t timeout_ms, struct esp_error *error)
{
    if (!message_operation(request->kind))
        return error_set(error, ESP_INVALID, "a %s is not a request", message_name(request->kind));
    if (timeout_ms <= 0)
        return error_set(error, ESP_INVALID, "%s: a call needs a time-out above 0", address);
    if (!strchr(address, ':') || strpbrk(address, "/,@# ") || strlen(address) > CAP_ADDRESS)
        return error_set(error, ESP_INVALID, "\"%.100s\" is not an address (expected host:port)", address);
    if (wire_ok(&body.memory.wire))
        return ESP_OK;
    if (error)
        *error = body.memory.wire.error;
    return body.memory.wire.error.status;
}

/* Performs one invocation; *reply is empty after a failure. `peer`: NULL when the host's name is not
 * resolved. */
static enum esp_status perform_once(OrbTransport *self, const char *address, Asking &asking,
                                    struct message *reply, std::shared_ptr<Peer> &peer,
                                    struct esp_error *error)
{
    std::string unknown;
    enum esp_status status;
    try {
        peer = self->peers->find(address, asking.deadline(), &unknown);
        if (peer) {
            asking.perform(*self->peers, *peer);
            return ESP_OK;
        }
        refusal_log(address, unknown.c_str());
        status = error_set(error, ESP_UNREACHABLE, "%s: %s: %s", address, asking.op(), unknown.c_str());
    } catch (...) {
        status = orb_failure(asking.op(), address, error);
    }
    if (asking.wrong.status != ESP_OK)
        status = error_set(error, asking.wrong.status, "%s: %s: %s", address, asking.op(), asking.wrong.text);
    if (peer && (status == ESP_UNREACHABLE || status == ESP_MAYBE)) {
        self->peers->forget(peer);
        status = refusal_explain(address, asking.op(), status, error);
    }
    enum message_kind kind = reply->kind;
    message_clear(reply);
    reply->kind = kind;
    return status;
}

/* If nothing was executed at one address of the host, tries the next one. (The ORB does so only when a
 * connection is refused, not when an address is silent.) */
static enum esp_status perform(OrbTransport *self, const char *address, Asking &asking, struct message *reply,
                               struct esp_error *error)
{
    for (unsigned tries = 1;; tries++) {
        std::shared_ptr<Peer> peer;
        const enum esp_status status = perform_once(self, address, asking, reply, peer, error);
        if (status != ESP_UNREACHABLE || !peer || tries >= peer->alternatives ||
            clock_now_ns(&clock_system) >= asking.deadline())
            return status;
    }
}

enum esp_status orb_call(struct transport *transport, const char *address, const struct message *request,
                         int64_t timeout_ms, struct message *reply, struct esp_error *error)
{
    OrbTransport *self = static_cast<OrbTransport *>(transport);
    memset(reply, 0, sizeof *reply);
    reply->kind = message_reply_kind(request->kind);
    if (request->kind == MESSAGE_PUT || request->kind == MESSAGE_GET)
        return error_set(error, ESP_INVALID, "chunks go by transport_put() and transport_get()");
    Body body(request, self->message_bytes);
    enum esp_status status = check_request(address, request, body, timeout_ms, error);
    if (status != ESP_OK)
        return status;
    Asking asking(request->kind, body, deadline_from(timeout_ms), reply);
    return perform(self, address, asking, reply, error);
}

/* Between hosts on plain TCP a chunk has a checksum, because TCP's own misses one error in 65536. */
static bool wants_crc(const OrbTransport *self, const char *address)
{
    return !self->peers->tls && !address_is_loopback(address);
}

static enum esp_status check_chunk(const struct message *header, enum message_kind kind,
                                   struct esp_error *error)
{
    if (header->kind == kind && header->chunk.length <= CAP_CHUNK)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "expected a %s of at most %d bytes, found a %s of %llu",
                     message_name(kind), CAP_CHUNK, message_name(header->kind),
                     (unsigned long long)header->chunk.length);
}

/* The ORB copies shorter data itself instead of letting the kernel take them in place, and of longer data
 * some bytes at both ends. */
static const uint64_t SHORT = 64 * 1024;

/* Checks memory before the processor accesses it, which would otherwise end the program. */
static enum esp_status check_before(const void *data, uint64_t bytes, bool write, bool crc,
                                    struct esp_error *error)
{
    const bool reads_all = crc && !write;
    void *const begin = const_cast<void *>(data);
    if (bytes > SHORT && pages_ends_reachable(begin, bytes, write) &&
        (!reads_all || pages_are_mapped(data, bytes)))
        return ESP_OK;
    const size_t good = pages_reachable(begin, bytes, write);
    return good == bytes ? ESP_OK : reach_tell_memory(data, bytes, good, write, error);
}

/* Checks memory after a failure: the kernel refuses to send unreadable bytes, and to receive into
 * read-only memory, and the ORB takes that for a broken connection. */
static enum esp_status check_behind(const void *data, uint64_t bytes, bool write, enum esp_status status,
                                    struct esp_error *error)
{
    if (status != ESP_UNREACHABLE && status != ESP_MAYBE)
        return status;
    const size_t good = pages_reachable(const_cast<void *>(data), bytes, write);
    return good == bytes ? status : reach_tell_memory(data, bytes, good, write, error);
}

/* A server that accesses the client's memory replies only when the whole chunk has moved. */
static int64_t near_ms(int64_t timeout_ms, int64_t silence_ms)
{
    return silence_ms > 0 ? std::min(silence_ms, timeout_ms) : timeout_ms;
}

enum esp_status orb_put(struct transport *transport, const char *address, const struct message *header,
                        const void *data, int64_t timeout_ms, int64_t silence_ms, struct esp_error *error)
{
    OrbTransport *self = static_cast<OrbTransport *>(transport);
    enum esp_status status = check_chunk(header, MESSAGE_PUT, error);
    if (status != ESP_OK)
        return status;
    if (reach_put(self, address, header->chunk, data, near_ms(timeout_ms, silence_ms), &status, error))
        return status;
    struct message request = {};
    request.kind = MESSAGE_PUT;
    request.chunk = header->chunk;
    status = check_before(data, header->chunk.length, false, wants_crc(self, address), error);
    if (status != ESP_OK)
        return status;
    if (!(request.chunk.flags & CHUNK_HAS_CRC) && wants_crc(self, address)) {
        request.chunk.flags |= CHUNK_HAS_CRC;
        request.chunk.crc32c = crc32c(0, data, request.chunk.length);
    }
    Body body(&request, self->message_bytes);
    status = check_request(address, &request, body, timeout_ms, error);
    if (status != ESP_OK)
        return status;
    struct message reply = {};
    reply.kind = MESSAGE_CHUNK_REPLY;
    Putting putting(body, deadline_from(timeout_ms), silence_ms * NS_PER_MS, &reply, data,
                    (uint32_t)request.chunk.length);
    status = perform(self, address, putting, &reply, error);
    status = check_behind(data, request.chunk.length, false, status, error);
    if (status == ESP_OK)
        status = message_outcome(&reply, error);
    message_clear(&reply);
    return status;
}

static enum esp_status check_moved(const struct message *reply, uint32_t found, struct esp_error *error)
{
    enum esp_status status = message_outcome(reply, error);
    if (status != ESP_OK || !(reply->chunk_reply.flags & CHUNK_HAS_CRC))
        return status;
    if (found == reply->chunk_reply.crc32c)
        return ESP_OK;
    return error_set(error, ESP_PROTOCOL, "chunk damaged on the way: CRC32C %08x expected, %08x found",
                     reply->chunk_reply.crc32c, found);
}

enum esp_status orb_get(struct transport *transport, const char *address, struct message *header, void *data,
                        uint64_t *moved, int64_t timeout_ms, int64_t silence_ms, struct esp_error *error)
{
    OrbTransport *self = static_cast<OrbTransport *>(transport);
    *moved = 0;
    enum esp_status status = check_chunk(header, MESSAGE_GET, error);
    if (status != ESP_OK)
        return status;
    const struct chunk asked = header->chunk;
    header->chunk.flags &= ~(uint32_t)CHUNK_HAS_CRC;
    if (reach_get(self, address, asked, data, moved, near_ms(timeout_ms, silence_ms), &status, error))
        return status;
    struct message request = {};
    request.kind = MESSAGE_GET;
    request.chunk = asked;
    status = check_before(data, asked.length, true, false, error);
    if (status != ESP_OK)
        return status;
    if (wants_crc(self, address))
        request.chunk.flags |= CHUNK_HAS_CRC; /* "send one" */
    Body body(&request, self->message_bytes);
    status = check_request(address, &request, body, timeout_ms, error);
    if (status != ESP_OK)
        return status;
    struct message reply = {};
    reply.kind = MESSAGE_CHUNK_REPLY;
    Getting getting(body, deadline_from(timeout_ms), silence_ms * NS_PER_MS, &reply, data,
                    request.chunk.length);
    status = perform(self, address, getting, &reply, error);
    status = check_behind(data, request.chunk.length, true, status, error);
    if (status == ESP_OK)
        status = check_moved(&reply, getting.found_crc, error);
    if (status == ESP_OK) {
        *moved = reply.chunk_reply.length;
        header->chunk.flags |= reply.chunk_reply.flags & CHUNK_HAS_CRC;
        header->chunk.crc32c = getting.found_crc;
    }
    message_clear(&reply);
    return status;
}
