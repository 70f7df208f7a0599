/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of chunks, from the connection to where they belong.
 *
 * The ORB's own way to read an array begins each piece of it in a buffer of 8 kB, asks with poll() before
 * each read, and comes back only when all of the piece is there. Here a stream's buffer is emptied first, and
 * the rest is read straight from the connection; what one read has brought is summed while it is in the
 * processor's cache.
 */
#include "orb/stream.h"

extern "C" {
#include "util/clock.h"
#include "util/crc32c.h"
}

/* The ORB's own headers lean on each other in this order. */
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/internal/giopStream.h>

#include <omniORB4/giopEndpoint.h>

#include <omniORB4/internal/SocketCollection.h>
#include <omniORB4/tcpConnection.h>

#include <algorithm>
#include <sys/socket.h>

namespace
{

/* What a stream keeps to itself, and has to be told when bytes are taken from its connection. The language
 * lets explicit instantiations name it. */
template <CORBA::ULong omni::giopStream::*FragmentToCome, omni::giopStream_Buffer *omni::giopStream::*Queued>
struct Inside {
    /* Bytes of the current fragment of the message that are still in the connection. */
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
    /* Bytes that have been read from the connection, and not yet taken. */
    static size_t left(const cdrStream &stream)
    {
        return (size_t)(static_cast<char *>(stream.*(&Buffer::pd_inb_end)) -
                        static_cast<char *>(stream.*(&Buffer::pd_inb_mkr)));
    }
};

/* Has the stream go on to its next buffer. */
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

    /* Takes between one and `most` bytes, which the message must have. Throws what the stream throws. */
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
    /* 0: it failed, and the stream will meet that, too, and throw. */
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
    omni::giopStream *giop;             /* null: the stream's own way for all of it */
    omni::tcpConnection *tcp = nullptr; /* null: with TLS, or a Unix socket */
};

} // namespace

static const size_t PIECE = 128 * 1024, FIRST_PIECE = 16 * 1024;
/* Pieces that take longer are not made longer. */
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
