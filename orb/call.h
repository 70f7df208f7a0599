/* SPDX-License-Identifier: Apache-2.0
 *
 * How the entry object handles each kind of request. One descriptor serves all operations of a kind: the
 * codec reads the arguments from the stream, and the reply is written as it was encoded. */
#ifndef ORB_CALL_H
#define ORB_CALL_H

#include "orb/stream.h"
#include "orb/transport.h"

/* Base of the descriptors for upcalls; derived classes run in `run()`. */
class Upcall : public omniCallDescriptor
{
  public:
    Upcall(const char *operation, bool oneway);
    virtual void run() = 0;
};

/* `post`: decodes all messages, then passes them to the node under the lock. */
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

/* A chunk, moved between the connection and the node's memory without a copy. */
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
    void work_on_area(); /* calls the node; on failure closes the area and replies */

    Endpoint &endpoint;
    bool write;
    struct message header = {};
    struct chunk_area area = {};
    bool area_open = false;
    uint32_t found_crc = 0; /* of the received bytes, when the header has one */
    struct message *reply = nullptr;
};

/* Makes a reply to a put, get or reach that moved that many bytes. NULL without memory. */
struct message *chunk_reply(uint64_t length);

/* Whether the peer's end of the connection is closed (limits.cc). */
bool connection_is_gone(omni::giopConnection *connection);
/* For a closed TCP connection: whether the peer closed it first, and not this side, which closes idle
 * ones. */
bool connection_left_by_peer(omni::giopConnection *connection);
/* Returns its socket (limits.cc); -1: none. */
int connection_descriptor(omni::giopConnection *connection);

#endif
