/* SPDX-License-Identifier: Apache-2.0
 *
 * What the entry object does with each kind of request. One descriptor serves all operations of a kind: the
 * codec reads the arguments from the stream, and the reply is put as it was encoded.
 */
#ifndef ORB_CALL_H
#define ORB_CALL_H

#include "orb/stream.h"
#include "orb/transport.h"

/* The descriptor's base for upcalls; derived classes run in `run()`. */
class Upcall : public omniCallDescriptor
{
  public:
    Upcall(const char *operation, bool oneway);
    virtual void run() = 0;
};

/* `post`: decodes all of it, then hands the messages over under the lock. */
class PostUpcall : public Upcall
{
  public:
    PostUpcall(Endpoint &endpoint, omniCallHandle &handle);
    ~PostUpcall() override;
    void unmarshalArguments(cdrStream &stream) override;
    void run() override;
    void marshalReturnedValues(cdrStream &) override
    {
    }

  private:
    Endpoint &endpoint;
    omniCallHandle &handle;
    struct post post = {};
};

/* A request and its answer, now or later. */
class CallUpcall : public Upcall
{
  public:
    CallUpcall(Endpoint &endpoint, omniCallHandle &handle, enum message_kind kind);
    ~CallUpcall() override;
    void unmarshalArguments(cdrStream &stream) override;
    void run() override;
    void marshalReturnedValues(cdrStream &stream) override;

  private:
    void note_asker();
    void wait();
    void abandon();
    int64_t deadline_ns() const;

    Endpoint &endpoint;
    omniCallHandle &handle;
    OrbCall call;
    struct memory_wire body = {};
};

/* A chunk, between the connection and the node's memory without a copy. */
class ChunkUpcall : public Upcall
{
  public:
    ChunkUpcall(Endpoint &endpoint, bool write);
    ~ChunkUpcall() override;
    void unmarshalArguments(cdrStream &stream) override;
    void run() override;
    void marshalReturnedValues(cdrStream &stream) override;

  protected:
    void open_area();
    void close_area(bool complete);
    void check_area();
    void take_bytes(cdrStream &stream, size_t bytes); /* into the area, which is open */
    void work_on_area(); /* the node's part; closes the area, with a reply, when it fails */

    Endpoint &endpoint;
    bool write;
    struct message header = {};
    struct chunk_area area = {};
    bool area_open = false;
    uint32_t found_crc = 0; /* of what came, when the header has one */
    struct message *reply = nullptr;
};

/* A reply to a put, get or reach that moved so many bytes. NULL without memory. */
struct message *chunk_reply(uint64_t length);

/* limits.cc: whether the peer's end of the connection is closed. */
bool connection_is_gone(omni::giopConnection *connection);
/* Of a TCP connection that is closed: not by this side first, which closes what is idle. */
bool connection_left_by_peer(omni::giopConnection *connection);
/* limits.cc: of its socket; -1. */
int connection_descriptor(omni::giopConnection *connection);

#endif
