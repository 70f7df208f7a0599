/* SPDX-License-Identifier: Apache-2.0
 *
 * The codec's wire over the ORB's streams.
 */
#ifndef ORB_STREAM_H
#define ORB_STREAM_H

#include "orb/corba.h"
#include <exception>
#include <functional>

/* Over a stream of a request or a reply, in the byte order that the stream has. Exceptions must not cross
 * the codec, which is C: they are kept here and thrown again by check(). */
struct StreamWire {
    struct wire wire; /* first */
    cdrStream &stream;
    std::exception_ptr thrown;

    StreamWire(cdrStream &over, enum wire_direction direction, struct arena *arena);
    StreamWire(const StreamWire &) = delete;
    /* Throws what the stream threw, as when the connection is lost in the middle of the message; for what the
     * codec found wrong it throws MARSHAL and leaves the text in *wrong (may be null). */
    void check(struct esp_error *wrong = nullptr);
};

/* What is left of a small message, taken off the stream in one piece: to decode it from memory costs a third
 * of asking the stream for every value. */
class SmallBody
{
  public:
    /* False when the message is not small, not whole yet, or in the other byte order: nothing is taken. */
    bool take(cdrStream &stream);
    /* Decodes with `walk`, which is called with the wire. Throws MARSHAL for what the codec finds wrong. */
    template <typename Walk>
    void decode(struct arena *arena, struct esp_error *wrong, Walk walk)
    {
        struct memory_wire memory;
        memory_wire_decoder(&memory, data, size, arena);
        if (walk(&memory.wire))
            return;
        if (wrong)
            *wrong = memory.wire.error;
        throw CORBA::MARSHAL(MINOR_MESSAGE, CORBA::COMPLETED_NO);
    }

  private:
    size_t size = 0;
    alignas(8) CORBA::Octet data[2048];
};

/* Decodes the rest of the message with `walk`, in the cheapest way there is. `wrong` (may be null): what the
 * codec did not like. */
template <typename Walk>
void stream_decode(cdrStream &stream, struct arena *arena, struct esp_error *wrong, Walk walk)
{
    SmallBody small;
    if (small.take(stream)) {
        small.decode(arena, wrong, walk);
        return;
    }
    StreamWire wire(stream, WIRE_DECODE, arena);
    walk(&wire.wire);
    wire.check(wrong);
}

/* Puts a body that was encoded in memory: as it is where the stream stands at a multiple of 8 (GIOP 1.2
 * always does), otherwise false and nothing is put. */
bool stream_put_body(cdrStream &stream, const struct memory_wire &body);

/* Takes so many bytes off the stream straight to where they belong. Returns their CRC32C when it is wanted,
 * else 0: made piece by piece, while each is still in the processor's cache. `came` (may be null) is called
 * behind each piece; the first ones are short then, so that slow links have it called in time, too. */
uint32_t stream_get_bytes(cdrStream &stream, void *data, size_t bytes, bool crc,
                          const std::function<void()> &came = nullptr);

#endif
