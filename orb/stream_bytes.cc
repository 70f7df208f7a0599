/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves the bytes of chunks from the connection to their destination.
 *
 * The ORB's own way to read an array starts each piece in a buffer of 8 kB, calls poll() before each read,
 * and returns only when the whole piece has arrived. This code empties the stream's buffer first, and
 * reads the rest directly from the connection; the bytes of one read are added to the checksum while they
 * are in the processor's cache. */
#include "orb/stream.h"

extern "C" {
#include "util/clock.h"
#include "util/crc32c.h"
}

/* The ORB's own headers depend on each other in this order. */
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/internal/giopStream.h>

#include <omniORB4/giopEndpoint.h>

#include <omniORB4/internal/SocketCollection.h>
#include <omniORB4/tcpConnection.h>

#include <algorithm>
#include <sys/socket.h>

namespace
{

/* Private members of a stream that must be updated when bytes are read from its connection. Explicit
 * instantiations may name them. */
template <CORBA::ULong omni::giopStream::*FragmentToCome, omni::giopStream_Buffer *omni::giopStream::*Queued>
struct Inside {
    /* Returns the bytes of the message's current fragment that are still in the connection. */
    friend CORBA::ULong &fragment_to_come(omni::giopStream &stream)
    {
        return stream.*FragmentToCome;
    }
    /* Whether buffers wait that another thread has read from the connection for this stream. */
    friend bool has_queued(const omni::giopStream &stream)
    {
        return stream.*Queued != nullptr;
    }
};
CORBA::ULong &fragment_to_come(omni::giopStream &stream);
bool has_queued(const omni::giopStream &stream);
template struct Inside<&omni::giopStream::pd_inputFragmentToCome, &omni::giopStream::pd_input>;

struct Buffer : cdrStream {
    /* Returns the bytes that have been read from the connection and not yet consumed. */
    static size_t left(const cdrStream &stream)
    {
        return (size_t)(static_cast<char *>(stream.*(&Buffer::pd_inb_end)) -
                        static_cast<char *>(stream.*(&Buffer::pd_inb_mkr)));
    }
};

/* Makes the stream go on to its next buffer. */
const size_t FEW = 8;

class Source
{
  public:
    explicit Source(cdrStream &of) : stream(of), giop(omni::giopStream::downcast(&of))
    {
        if (giop && giop->version().minor < 2)
            giop = nullptr;
        if (giop)
            tcp = dynamic_cast<omni::tcpConnection *>(giop->strand().connection);
    }

    /* Reads between one and `most` bytes, which the message must have. Throws the stream's exceptions. */
    size_t take(CORBA::Octet *to, size_t most)
    {
        if (!giop) {
            stream.get_octet_array(to, (int)most);
            return most;
        }
        size_t n = Buffer::left(stream);
        if (n == 0 && !has_queued(*giop) && fragment_to_come(*giop) > 0)
            if (const size_t received = receive(to, std::min<size_t>(most, fragment_to_come(*giop))))
                return received;
        n = std::min(n > 0 ? n : FEW, most); /* the next fragment begins in the buffer */
        stream.get_octet_array(to, (int)n);
        return n;
    }

  private:
    /* Returns 0 on failure; the stream will fail too, and throw. */
    size_t receive(CORBA::Octet *to, size_t most)
    {
        const bool would_poll = giop->getDeadline();
        ssize_t n = tcp && would_poll ? recv(tcp->handle(), to, most, MSG_DONTWAIT) : -1;
        if (n <= 0)
            n = giop->strand().connection->Recv(to, most, giop->getDeadline());
        if (n <= 0)
            return 0;
        fragment_to_come(*giop) -= (CORBA::ULong)n;
        return (size_t)n;
    }

    cdrStream &stream;
    omni::giopStream *giop;             /* null: use the stream's own way for everything */
    omni::tcpConnection *tcp = nullptr; /* null: with TLS, or a Unix socket */
};

} // namespace

static const size_t PIECE = 128 * 1024, FIRST_PIECE = 16 * 1024;
/* If a piece takes longer than this, pieces are not made longer. */
static const int64_t PIECE_NS = 100 * NS_PER_MS;

uint32_t stream_get_bytes(cdrStream &stream, void *data, size_t bytes, bool crc,
                          const std::function<void()> &came)
{
    size_t piece = came ? FIRST_PIECE : crc ? PIECE : bytes;
    CORBA::Octet *at = static_cast<CORBA::Octet *>(data);
    Source source(stream);
    uint32_t sum = 0;
    while (bytes > 0) {
        const int64_t begun_ns = came ? clock_now_ns(&clock_system) : 0;
        const size_t n = source.take(at, std::min(bytes, piece));
        if (crc)
            sum = crc32c(sum, at, n);
        if (came) {
            came();
            if (piece < PIECE && clock_now_ns(&clock_system) - begun_ns < PIECE_NS)
                piece *= 2;
        }
        at += n;
        bytes -= n;
    }
    return sum;
}
