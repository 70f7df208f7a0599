/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/stream.h"

#include <byteswap.h>
#include <omniORB4/internal/giopStream.h>
#include <omniORB4/internal/giopStreamImpl.h>

static omni::alignment_t alignment(size_t size)
{
    return size == 8 ? omni::ALIGN_8 : size == 4 ? omni::ALIGN_4 : size == 2 ? omni::ALIGN_2 : omni::ALIGN_1;
}

static void swap_bytes(void *data, size_t size, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (size == 8)
            static_cast<uint64_t *>(data)[i] = bswap_64(static_cast<uint64_t *>(data)[i]);
        else if (size == 4)
            static_cast<uint32_t *>(data)[i] = bswap_32(static_cast<uint32_t *>(data)[i]);
        else if (size == 2)
            static_cast<uint16_t *>(data)[i] = bswap_16(static_cast<uint16_t *>(data)[i]);
    }
}

static bool stream_in(struct wire *wire, void *data, size_t size, size_t count)
{
    StreamWire *self = reinterpret_cast<StreamWire *>(wire);
    cdrStream &stream = self->stream;
    try {
        if (!stream.checkInputOverrun((CORBA::ULong)size, (CORBA::ULong)count, alignment(size)))
            return false;
        stream.get_octet_array(static_cast<CORBA::Octet *>(data), (int)(size * count), alignment(size));
    } catch (...) {
        self->thrown = std::current_exception();
        return false;
    }
    if (stream.unmarshal_byte_swap())
        swap_bytes(data, size, count);
    return true;
}

static bool stream_holds(struct wire *wire, size_t bytes)
{
    StreamWire *self = reinterpret_cast<StreamWire *>(wire);
    try {
        return bytes <= UINT32_MAX && self->stream.checkInputOverrun(1, (CORBA::ULong)bytes);
    } catch (...) {
        self->thrown = std::current_exception();
        return false;
    }
}

/* The ORB always sends in this machine's byte order. */
static bool stream_out(struct wire *wire, void *data, size_t size, size_t count)
{
    StreamWire *self = reinterpret_cast<StreamWire *>(wire);
    try {
        self->stream.put_octet_array(static_cast<CORBA::Octet *>(data), (int)(size * count), alignment(size));
        return true;
    } catch (...) {
        self->thrown = std::current_exception();
        return false;
    }
}

static const struct wire_ops in_ops = {stream_in, stream_holds};
static const struct wire_ops out_ops = {stream_out, stream_holds};

StreamWire::StreamWire(cdrStream &over, enum wire_direction direction, struct arena *arena) : stream(over)
{
    wire.error.status = ESP_OK;
    wire.error.text[0] = 0;
    wire.ops = direction == WIRE_ENCODE ? &out_ops : &in_ops;
    wire.direction = direction;
    wire.arena = arena;
}

void StreamWire::check(struct esp_error *wrong)
{
    if (thrown)
        std::rethrow_exception(thrown);
    if (wire_ok(&wire))
        return;
    if (wrong)
        *wrong = wire.error;
    throw CORBA::MARSHAL(MINOR_MESSAGE, CORBA::COMPLETED_NO);
}

/* Bodies begin at a multiple of 8 in GIOP 1.2. The length of a message in fragments is not known: the
 * stream then returns an upper bound. */
bool SmallBody::take(cdrStream &stream)
{
    omni::giopStream *giop = omni::giopStream::downcast(&stream);
    if (!giop || giop->version().minor < 2 || stream.unmarshal_byte_swap())
        return false;
    size_t left = giop->impl()->inputRemaining(giop);
    if (left > sizeof data)
        return false;
    if (left > 0)
        stream.get_octet_array(data, (int)left, omni::ALIGN_8);
    size = left;
    return true;
}

/* Positions count from the end of the 12 bytes of the GIOP header, alignment from its beginning. */
bool stream_put_body(cdrStream &stream, const struct memory_wire &body)
{
    if ((stream.currentOutputPtr() + 12) % 8 != 0)
        return false;
    stream.put_octet_array(body.data, (int)body.size, omni::ALIGN_1);
    return true;
}
