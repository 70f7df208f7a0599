/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/reach.h"

extern "C" {
#include "core/reply.h"
#include "util/clock.h"
#include "util/pages.h"
}

#include <algorithm>
#include <string.h>
#include <unistd.h>

/* If looking up a host's name takes longer, the host is not this one. */
static const int64_t NAME_MS = 1000;

/* ---- the client ---- */

static std::shared_ptr<Peer> near_peer(OrbTransport *self, const char *address, int64_t timeout_ms,
                                       NearProof &proof)
{
    if (!self->local)
        return nullptr;
    try {
        std::string unread;
        const int64_t deadline_ns = clock_now_ns(&clock_system) + std::min(timeout_ms, NAME_MS) * NS_PER_MS;
        std::shared_ptr<Peer> peer = self->peers->find(address, deadline_ns, &unread);
        return peer && peer->near && near_proof(proof) ? peer : nullptr;
    } catch (...) {
        return nullptr; /* the ordinary call reports the error */
    }
}

enum esp_status reach_tell_memory(const void *data, uint64_t bytes, uint64_t good, bool write,
                                  struct esp_error *error)
{
    return error_set(
        error, ESP_INVALID,
        "the program's own memory cannot be %s: expected %llu bytes of an array at %p, found %llu; "
        "look whether the array's pointer is right, whether it is as long as its dimensions say, and whether "
        "it, or the file that is mapped there, is still there",
        write ? "written" : "read", (unsigned long long)bytes, data, (unsigned long long)good);
}

/* Asks the node to move the bytes; whether it did. A node may not have this operation. */
static bool ask(OrbTransport *self, const char *address, struct reach_request reach, int64_t timeout_ms,
                uint64_t *moved, enum esp_status *status, struct esp_error *error)
{
    NearProof proof;
    const std::shared_ptr<Peer> peer = near_peer(self, address, timeout_ms, proof);
    if (!peer)
        return false;
    struct message request = {}, reply;
    request.kind = MESSAGE_REACH;
    request.reach = reach;
    request.reach.proof_place = proof.place;
    request.reach.proof_high = proof.high;
    request.reach.proof_low = proof.low;
    *status = orb_call(self, address, &request, timeout_ms, &reply, error);
    const bool unknown = *status == ESP_PROTOCOL, refused = *status == ESP_OK &&
                                                            reply.outcome.status == ESP_OK &&
                                                            (reply.chunk_reply.flags & CHUNK_NOT_REACHED);
    /* One value may be refused for lending while others are not. */
    /* Unmapped memory may be refused while other memory is not. */
    if (unknown || (refused && reach.way != REACH_LEND &&
                    pages_reachable(reinterpret_cast<void *>(reach.place), reach.chunk.length,
                                    reach.way == REACH_FILL) == reach.chunk.length))
        peer->near = false;
    if (*status == ESP_OK)
        *status = message_outcome(&reply, error);
    *moved = *status == ESP_OK ? reply.chunk_reply.length : 0;
    message_clear(&reply);
    return !unknown && !refused;
}

static struct reach_request piece(const struct chunk &chunk, enum reach_way way, uint64_t place)
{
    struct reach_request reach = {};
    reach.chunk = chunk;
    reach.way = way;
    reach.place = place;
    return reach;
}

bool reach_put(OrbTransport *self, const char *address, const struct chunk &chunk, const void *data,
               int64_t timeout_ms, enum esp_status *status, struct esp_error *error)
{
    uint64_t moved;
    if (chunk.flags & CHUNK_HAS_CRC)
        return false; /* the caller must check it */
    return ask(self, address, piece(chunk, REACH_TAKE, reinterpret_cast<uintptr_t>(data)), timeout_ms, &moved,
               status, error);
}

bool reach_get(OrbTransport *self, const char *address, const struct chunk &chunk, void *data,
               uint64_t *moved, int64_t timeout_ms, enum esp_status *status, struct esp_error *error)
{
    return ask(self, address, piece(chunk, REACH_FILL, reinterpret_cast<uintptr_t>(data)), timeout_ms, moved,
               status, error);
}

enum esp_status reach_lend(struct transport *transport, const char *address, const struct message *header,
                           int file, uint64_t offset, int64_t timeout_ms, bool *lent, struct esp_error *error)
{
    OrbTransport *self = static_cast<OrbTransport *>(transport);
    struct reach_request reach = piece(header->chunk, REACH_LEND, offset);
    uint64_t moved;
    enum esp_status status = ESP_OK;
    reach.descriptor = (uint32_t)file;
    *lent = ask(self, address, reach, timeout_ms, &moved, &status, error) && status == ESP_OK &&
            moved == header->chunk.length;
    return status == ESP_PROTOCOL ? ESP_OK : status;
}

/* ---- the server ---- */

ReachUpcall::ReachUpcall(Endpoint &at, omniCallHandle &from) : ChunkUpcall(at, true), handle(from)
{
}

void ReachUpcall::unmarshalArguments(cdrStream &stream)
{
    struct message request = {};
    request.kind = MESSAGE_REACH;
    try {
        stream_decode(stream, &request.arena, nullptr,
                      [&request](struct wire *wire) { return wire_message(wire, &request); });
    } catch (...) {
        message_clear(&request);
        throw;
    }
    reach = request.reach;
    reach.extensions = {};
    message_clear(&request);
    write = reach.way != REACH_FILL;
    header.kind = write ? MESSAGE_PUT : MESSAGE_GET;
    header.chunk = reach.chunk;
    header.chunk.flags &= ~(uint32_t)CHUNK_HAS_CRC;
    if (reach.way != REACH_LEND && header.chunk.length > CAP_CHUNK)
        throw CORBA::MARSHAL(MINOR_MESSAGE, CORBA::COMPLETED_NO);
}

void ReachUpcall::move(const NearProcess &asker)
{
    open_area();
    check_area();
    if (!area_open)
        return;
    const uint64_t bytes = area.length;
    bool moved = false;
    /* A client that gave this up (it took too long) has closed the connection, and may be reusing that
     * memory. */
    if (write) {
        moved = asker.take(area.data, reach.place, bytes) && !connection_is_gone(handle.connection());
        if (moved)
            work_on_area();
    } else {
        work_on_area();
        moved = area_open && !connection_is_gone(handle.connection()) &&
                asker.fill(area.data, reach.place, bytes);
    }
    if (!area_open)
        return;
    close_area(moved);
    if (moved)
        reply = chunk_reply(bytes);
}

void ReachUpcall::take_over(const NearProcess &asker)
{
    const uint64_t bytes = reach.chunk.length;
    uint64_t end;
    if (!endpoint.ops.lend || bytes == 0 || __builtin_add_overflow(reach.place, bytes, &end))
        return;
    int file = asker.borrow(reach.descriptor, end);
    if (file < 0)
        return;
    {
        std::lock_guard<std::mutex> lock(endpoint.mutex);
        if (!endpoint.closing) {
            reply = endpoint.ops.lend(endpoint.self, &header, &file, reach.place);
            endpoint.after_operation();
        }
    }
    if (file >= 0)
        close(file);
}

void ReachUpcall::run()
{
    const char *from = handle.peeraddress();
    if (from && !strncmp(from, "giop:unix:", 10)) {
        const NearProcess asker(connection_descriptor(handle.connection()),
                                {reach.proof_place, reach.proof_high, reach.proof_low});
        if (asker.reachable() && reach.way == REACH_LEND)
            take_over(asker);
        else if (asker.reachable() && (reach.way == REACH_TAKE || reach.way == REACH_FILL))
            move(asker);
    }
    if (!reply && (reply = chunk_reply(0)))
        reply->chunk_reply.flags = CHUNK_NOT_REACHED;
}

void ReachUpcall::marshalReturnedValues(cdrStream &stream)
{
    struct memory_wire body;
    reply_encode(&body, header.kind, reply, endpoint.transport.message_bytes);
    const bool aligned = stream_put_body(stream, body);
    memory_wire_release(&body);
    if (!aligned)
        throw CORBA::MARSHAL(MINOR_MESSAGE, CORBA::COMPLETED_YES);
}
