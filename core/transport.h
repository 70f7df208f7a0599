/* SPDX-License-Identifier: Apache-2.0
 *
 * How nodes and clients reach each other: a table of operations with two implementations, the in-process
 * transport (core/inproc/inproc.h: a queue and a clock that a test owns) and the one over the ORB
 * (orb/orb.h). One conformance suite runs over both (tests/inproc/conformance.c).
 *
 * A node (redirector, agent, server) is written as a state machine: the transport calls its endpoint_ops,
 * never two at a time for one endpoint ("the endpoint's lock is held"); nothing in them may block. What they
 * post leaves after they have returned. Clients call from any thread and wait.
 *
 * Addresses are text: "host:port" (TCP, or TLS when the transport was opened with certificates).
 */
#ifndef CORE_TRANSPORT_H
#define CORE_TRANSPORT_H

#include "core/message/message.h"

struct transport;
struct endpoint;
struct call;

/* The memory that a chunk goes to or comes from. The node keeps it valid from `chunk` to `chunk_done`. */
struct chunk_area {
    void *data;
    uint64_t length;       /* as asked, or less when reading at the end */
    struct message *reply; /* set instead: nothing can be moved, this is the answer (a chunk_reply) */
    void *hold;            /* the node's own: what to release */
    bool fresh; /* the node has not used this memory before: its pages are not there yet (util/pages.h) */
    /* CRC32C of these bytes (util/crc32c.h). A node that knows it says so of a chunk that goes out, which
     * spares the transport their reading; the transport says so until `chunk_done` of each that it had to
     * sum. */
    bool summed;
    uint32_t crc32c;
    /* The node's own part, done without its lock: before bytes go out, or once they have come in whole. May
     * wait for a disk, and set `data` of a chunk that goes out. Not ESP_OK: the chunk fails with it. NULL:
     * there is none. */
    enum esp_status (*work)(struct chunk_area *area, struct esp_error *error);
};

/* What a node does; `self` is what was given to transport_serve(). NULL members are not supported requests.
 */
struct endpoint_ops {
    /* A one-way message arrived. The message dies when this returns. */
    void (*post)(void *self, const struct envelope *envelope, const struct message *message);
    /* What was posted to that address could not be delivered (connection refused, broken, timed out, another
     * contract there): `why` lives until this returns. Said once per batch; later posts try again. */
    void (*undelivered)(void *self, const char *address, const struct esp_error *why);
    /* A request arrived. Answer with call_reply() here or later; the request lives until then. */
    void (*call)(void *self, struct call *call, const struct message *request);
    /* The transport has answered the call itself: its deadline passed or the asker is gone. Forget it. */
    void (*abandoned)(void *self, struct call *call);
    /* A chunk is about to move: into the node (`write`) or out of it. Fill the area. */
    void (*chunk)(void *self, const struct message *header, bool write, struct chunk_area *area);
    /* It has moved (`complete`), or broke off in the middle, or its checksum was wrong (checksums are the
     * transport's own affair, between hosts without TLS). The data moved without the lock. */
    void (*chunk_done)(void *self, const struct message *header, bool write, struct chunk_area *area,
                       bool complete);
    /* The connection is closed on which pieces of that session came. Its sender may be dead, or come again on
     * another one. With sequence 0: the connection is closed, or the machine at its other end is cut off, on
     * which the client has waited for its sessions. Not every transport can tell. NULL: never. */
    void (*parted)(void *self, const struct session_id *session);
    /* The connection is closed on which posts of that node came (of `from` its name and its incarnation are
     * told): its process may have ended, or dial again. Of what is posted from in here it is known at once
     * whether it arrives, and not after a moment. Not every transport can tell. NULL: never. */
    void (*hung_up)(void *self, const struct envelope *from);
    /* All of a value is in `file`, from `offset` on: memory of the asker, a process of the same user, who
     * will not change it as long as the value is wanted; nobody can make it smaller. The node may take the
     * descriptor over, by setting *file to -1. Its answer is a chunk_reply; NULL: put it in chunks. NULL
     * member: never. */
    struct message *(*lend)(void *self, const struct message *header, int *file, uint64_t offset);
    /* When tick() is next wanted, on the transport's clock (CLOCK_NEVER: not at all). Asked after each of the
     * other operations. */
    int64_t (*due)(void *self);
    void (*tick)(void *self);
};

struct endpoint_options {
    const char *name;
    enum node_role role;
    uint64_t incarnation; /* messages for another one are dropped with ESP_STALE (0 in a message: any) */
    const char *listen;   /* "host:port"; port 0: any free one */
    const char
        *publish; /* "host:port" as others are told; port 0: that of `listen`; NULL: as `listen` says */
};

/* Starts serving: from now on `ops` are called. The endpoint is the caller's until endpoint_close(). */
enum esp_status transport_serve(struct transport *transport, const struct endpoint_options *options,
                                const struct endpoint_ops *ops, void *self, struct endpoint **endpoint,
                                struct esp_error *error);

/* Stops serving: waits until no operation runs, answers waiting calls with ESP_UNREACHABLE, sends what has
 * been posted (for a bounded time). Not from inside an operation. NULL is nothing to do. */
void endpoint_close(struct endpoint *endpoint);

/* Where the endpoint is reached, as others should dial it. Valid while it is open. */
const char *endpoint_address(const struct endpoint *endpoint);

/* Queues a one-way message. It is encoded at once (the caller keeps it), sent in order with the others to
 * that address, several in one go; calls to the same address go their own ways. When the other side dies, the
 * messages of the last moment may be lost: `undelivered` usually comes within about 100 ms and a round trip
 * all the same; a peer that hangs but stays connected may take up to 5 s. From inside an operation or between
 * enter and leave. A message that cannot be encoded (too large) is ESP_LIMIT. */
enum esp_status endpoint_post(struct endpoint *endpoint, const char *address, uint64_t to_incarnation,
                              const struct message *message, struct esp_error *error);

/* For threads that are not the transport's (a worker's completion): takes the endpoint's lock; leave()
 * releases it, sends what was posted, asks due(). */
void endpoint_enter(struct endpoint *endpoint);
void endpoint_leave(struct endpoint *endpoint);

/* Answers a call; takes `reply` over. With the lock held. NULL is answered as ESP_NO_MEMORY. After the
 * answer, `call` and its request are gone. */
void call_reply(struct call *call, struct message *reply);

/* Who asks. Valid until the reply. */
const struct envelope *call_envelope(const struct call *call);

/* A place for the node's own state of this call. */
void call_set_data(struct call *call, void *data);
void *call_data(const struct call *call);

/* Lends the thread that waits for this call's answer: once the operation has returned without an answer,
 * it runs `help(arg, until_ns)` without the lock, repeatedly, until the call is answered, so that the thread
 * which brought the request can itself wait for the worker (one wake-up less on the path of a small call).
 * `help` returns when there was progress or `until_ns` has come; false: do not ask again.
 * A transport without such a thread ignores it. With the lock held. */
void call_set_help(struct call *call, bool (*help)(void *arg, int64_t until_ns), void *arg);

/* ---- the asking side: from any thread, blocking, never from inside an operation ---- */

/* One request and its reply. `timeout_ms` > 0 bounds all of it. On ESP_OK *reply holds a message of
 * message_reply_kind(request->kind), whose outcome may still be a failure: this function returns the outcome
 * (transport's or the reply's) in one. ESP_UNREACHABLE: surely not executed; ESP_MAYBE: perhaps;
 * ESP_TIMEOUT: perhaps. The caller clears *reply in every case (message_clear). */
enum esp_status transport_call(struct transport *transport, const char *address,
                               const struct message *request, int64_t timeout_ms, struct message *reply,
                               struct esp_error *error);

/* Moves a piece of a large argument or result; `header` is a MESSAGE_PUT or MESSAGE_GET with the length set.
 * get: *moved tells how many bytes came (at most the length), and the header's chunk, by CHUNK_HAS_CRC, their
 * checksum if they were summed. ESP_TIMEOUT also when for `silence_ms` nothing of it has moved (0: that does
 * not matter). The data are not copied on the way. */
enum esp_status transport_put(struct transport *transport, const char *address, const struct message *header,
                              const void *data, int64_t timeout_ms, int64_t silence_ms,
                              struct esp_error *error);
enum esp_status transport_get(struct transport *transport, const char *address, struct message *header,
                              void *data, uint64_t *moved, int64_t timeout_ms, int64_t silence_ms,
                              struct esp_error *error);

/* Offers all of a value, the `header`'s bytes of the memory file `file` from `offset` on, to a node on this
 * host that serves the same user, so that it uses them where they are and nothing is moved. The file is
 * sealed against shrinking and growing; `file` stays the caller's. *lent false with ESP_OK: that is not
 * possible here, put it. Small, whatever the length. */
enum esp_status transport_lend(struct transport *transport, const char *address, const struct message *header,
                               int file, uint64_t offset, int64_t timeout_ms, bool *lent,
                               struct esp_error *error);

/* Ends the calls and chunks that are under way now, as if their time were over: for a program that closes and
 * does not want to wait for who does not answer. Those that begin later go their way. One that is just
 * opening its connection ends when that stands or does not. Any thread; at most now and then. */
void transport_interrupt(struct transport *transport);

/* The transport's clock, the one that `due` is measured on. */
const struct clock *transport_clock(const struct transport *transport);

/* After all endpoints are closed and no call is under way. NULL is nothing to do. */
void transport_destroy(struct transport *transport);

/* ---- for implementations ---- */

struct transport_ops {
    enum esp_status (*serve)(struct transport *transport, const struct endpoint_options *options,
                             const struct endpoint_ops *ops, void *self, struct endpoint **endpoint,
                             struct esp_error *error);
    void (*close)(struct endpoint *endpoint);
    const char *(*address)(const struct endpoint *endpoint);
    enum esp_status (*post)(struct endpoint *endpoint, const char *address, uint64_t to_incarnation,
                            const struct message *message, struct esp_error *error);
    void (*enter)(struct endpoint *endpoint);
    void (*leave)(struct endpoint *endpoint);
    void (*reply)(struct call *call, struct message *reply);
    const struct envelope *(*envelope)(const struct call *call);
    void (*set_help)(struct call *call, bool (*help)(void *arg, int64_t until_ns), void *arg);
    enum esp_status (*call)(struct transport *transport, const char *address, const struct message *request,
                            int64_t timeout_ms, struct message *reply, struct esp_error *error);
    enum esp_status (*put)(struct transport *transport, const char *address, const struct message *header,
                           const void *data, int64_t timeout_ms, int64_t silence_ms, struct esp_error *error);
    enum esp_status (*get)(struct transport *transport, const char *address, struct message *header,
                           void *data, uint64_t *moved, int64_t timeout_ms, int64_t silence_ms,
                           struct esp_error *error);
    void (*destroy)(struct transport *transport);
    void (*interrupt)(struct transport *transport); /* NULL: nothing lasts here */
    enum esp_status (*lend)(struct transport *transport, const char *address, const struct message *header,
                            int file, uint64_t offset, int64_t timeout_ms, bool *lent,
                            struct esp_error *error); /* NULL: never possible */
};

/* First members of an implementation's structs. */
struct transport {
    const struct transport_ops *ops;
    const struct clock *clock;
};
struct endpoint {
    struct transport *transport;
};
struct call {
    struct endpoint *endpoint;
    void *data;
};

#endif
