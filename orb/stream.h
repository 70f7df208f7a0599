/* SPDX-License-Identifier: Apache-2.0
 *
 * The codec's wire over the ORB's streams.
 */
#ifndef ORB_STREAM_H
#define ORB_STREAM_H

#include "orb/corba.h"
#include <exception>
#include <functional>

/* Over a stream of a request or a reply, in the stream's byte order. Exceptions must not pass through the
 * codec, which is C: they are stored here and thrown again by check(). */
struct StreamWire {
    struct wire wire; /* first */
    cdrStream &stream;
    std::exception_ptr thrown;

    StreamWire(cdrStream &over, enum wire_direction direction, struct arena *arena);
    StreamWire(const StreamWire &) = delete;
    /* Throws the stream's exception, for example when the connection is lost in the middle of the message.
     * For an error of the codec it throws MARSHAL and stores the text in *wrong (may be null). */
    void check(struct esp_error *wrong = nullptr);
};

/* The rest of a small message, read from the stream in one piece: decoding it from memory costs a third of
 * reading every value from the stream. */
class SmallBody
{
  public:
    /* False when the message is not small, not complete yet, or in the other byte order: nothing is read. */
    bool take(cdrStream &stream);
    /* Decodes with `walk`, which is called with the wire. Throws MARSHAL for an error of the codec. */
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

/* Decodes the rest of the message with `walk`, in the cheapest way possible. `wrong` (may be null): the
 * codec's error. */
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

/* Writes a body encoded in memory: unchanged if the stream is at a multiple of 8 (always in GIOP 1.2);
 * otherwise false and nothing is written. */
bool stream_put_body(cdrStream &stream, const struct memory_wire &body);

/* Reads that many bytes from the stream directly to their destination. Returns their CRC32C if wanted,
 * else 0: computed piece by piece, while each is still in the processor's cache. `came` (may be null) is
 * called after each piece; the first pieces are short, so that it is called in time on slow links, too. */
uint32_t stream_get_bytes(cdrStream &stream, void *data, size_t bytes, bool crc,
                          const std::function<void()> &came = nullptr);

#endif
