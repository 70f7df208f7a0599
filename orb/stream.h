/* SPDX-License-Identifier: Apache-2.0
 *
 * The codec's wire over the ORB's streams.
 */
#ifndef ORB_STREAM_H
#define ORB_STREAM_H

#include "orb/corba.h"
#include <exception>

/* Over a stream of a request or a reply, in the byte order that the stream has. Exceptions must not cross
 * the codec, which is C: they are kept here and thrown again by check(). */
struct StreamWire {
    struct wire wire; /* first */
    cdrStream &stream;
    std::exception_ptr thrown;

    StreamWire(cdrStream &over, enum wire_direction direction, struct arena *arena);
    /* Throws what the stream threw; for what the codec found wrong it throws MARSHAL and leaves the text in
     * wire.error. */
    void check();
};

/* Puts a body that was encoded in memory: as it is where the stream stands at a multiple of 8 (GIOP 1.2
 * always does), otherwise false and nothing is put. */
bool stream_put_body(cdrStream &stream, const struct memory_wire &body);

#endif
