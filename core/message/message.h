/* SPDX-License-Identifier: Apache-2.0
 *
 * All messages between nodes and clients, as C structs. The contract on the wire is idl/espalier.idl: the
 * structs here have the same fields in the same order, and tests compare the two.
 *
 * Durations travel as time left or as ages, never as clock readings. Structs that may grow end in
 * extensions: (tag, value) pairs. A receiver ignores unknown tags. Values of arguments travel as
 * little-endian IEEE bytes, column-major. */
#ifndef CORE_MESSAGE_H
#define CORE_MESSAGE_H

#include "core/message/message_basic.h"
#include "core/message/message_data.h"

/* ---- one-way messages between daemons ---- */

/* Child to parent: announces the child, for the first time or again. Its full report follows the welcome. */
struct hello {
    uint32_t minor;    /* newest minor version of the contract that it speaks */
    uint64_t features; /* optional features; used only if both sides have the bit */
    uint32_t role;
    const char *address; /* address of the child */
    struct extensions extensions;
};

/* Parent to child: welcome, or a refusal with a reason. */
struct welcome {
    struct outcome outcome;
    uint32_t minor;    /* the lower of both minor versions */
    uint64_t features; /* features that both have */
    uint32_t role;
    uint64_t lease_ms;      /* without a report for this long, the child is taken for dead */
    uint64_t heartbeat_ms;  /* longest interval between reports */
    const char **ancestors; /* the parent, its parent, ... up to the root: a child among them shows a loop */
    uint32_t n_ancestors;
    struct extensions extensions;
};

/* Child to parent: what changed below. An empty report is a heartbeat. */
struct report {
    uint64_t number; /* 1, 2, 3, ... over the child's incarnation, so that a late report is recognised */
    bool complete;   /* nodes that the report does not mention are gone */
    struct node_record *records;
    uint32_t n_records;
    const char **removed; /* names of nodes that are gone */
    uint32_t n_removed;
    double oldest_s; /* age of the oldest unmentioned record below */
    struct extensions extensions;
};

/* Parent to child: all reports up to this number have arrived (a complete one stands for all before it). */
struct pulse {
    uint64_t number;
};

/* Parent to child: the parent does not know the child (it was restarted, or the child's lease ended); the
 * child says hello again. */
struct rejoin {
    const char *reason;
};

/* Child to parent: the child leaves in good order. */
struct goodbye {
    const char *reason;
};

/* Describes one argument of a request. The data are never included. */
struct argument_attribute {
    uint32_t index; /* index in the problem's description */
    uint32_t mode;  /* enum argument_mode */
    uint64_t bytes;
    const char *holder; /* name of the node that has it; "": it comes from the client */
    const char *datum;  /* its identity if it lives on servers, or "" */
};

/* Value of a scalar input, for cost models and preconditions. */
struct scalar_value {
    uint32_t index;
    bool is_real;
    int64_t integer;
    double real;
};

/* A client's request for servers. */
struct request {
    struct session_id session;
    const char *problem;
    uint64_t digest;       /* digest of the signature that the client has */
    double work_flop;      /* work of the description for these sizes */
    uint64_t memory_bytes; /* arguments, results and extra memory */
    struct scalar_value *scalars;
    uint32_t n_scalars;
    struct argument_attribute *arguments;
    uint32_t n_arguments;
    const char *server;    /* only this server may be chosen, or "" */
    const char **excluded; /* servers that must not be chosen, because they failed before */
    uint32_t n_excluded;
    uint32_t candidates; /* most candidates in the reply; 0: as the agent is configured */
    struct extensions extensions;
};

/* Figure I.5 (b): the holder of a datum, and the path from it to the responder. */
struct data_location {
    uint32_t argument;
    const char *holder; /* "": not known below */
    struct path to_me;
};

/* Figure I.5 (b): one capable server. */
struct server_estimate {
    const char *server;
    const char *address;
    uint64_t incarnation;
    double compute_s;      /* tComp */
    double queue_s;        /* until it can start */
    double error_s;        /* expected error of the sum */
    struct path *transfer; /* tComm: per data_location of the response, the path it takes to the server */
    uint32_t n_transfer;
    struct extensions extensions;
};

struct response {
    const char *name; /* the responder */
    struct data_location *data;
    uint32_t n_data;
    struct server_estimate *servers;
    uint32_t n_servers;
    uint32_t capable; /* number of capable servers below, before the cut */
    struct extensions extensions;
};

/* Parent to child. */
struct ask {
    uint64_t id;      /* drawn by the sender; the answer carries it */
    uint32_t breadth; /* most servers in the answer */
    uint64_t time_left_ms;
    struct request request;
};

/* Child to parent. */
struct answer {
    uint64_t id;
    struct outcome outcome;
    struct response response;
};

/* A session was placed on a server: it counts as load there until the call arrives or the lease ends. */
struct placement {
    const char *server;
    struct session_id session; /* its secret is 0 */
    uint64_t master;           /* incarnation of the master agent that decided */
    uint64_t number;           /* counts that master's placements on that server: 1, 2, 3, ... */
    double seconds;            /* forecast computation */
    uint64_t lease_ms;
    uint64_t bytes_in;     /* bytes that the client sends; 0: not known */
    uint64_t memory_bytes; /* not on the wire: only the master agent that decided counts it */
};

/* Parent to child, down the path. */
struct place {
    struct placement *items;
    uint32_t n;
};

/* Parent to child: asks for these catalogues and descriptions. */
struct want {
    uint64_t *catalogs;
    uint32_t n_catalogs;
    uint64_t *texts;
    uint32_t n_texts;
};

struct catalog_entry {
    const char *problem;
    uint64_t digest; /* of its signature */
};

/* Child to parent: the list of problems behind a digest. */
struct catalog {
    uint64_t digest;
    struct catalog_entry *entries;
    uint32_t n_entries;
};

struct described {
    uint64_t digest;
    const char *text; /* canonical description */
};

/* Child to parent: descriptions. */
struct texts {
    struct described *items;
    uint32_t n;
};

/* ---- administration ---- */

/* An administrator's order, passed from parent to child down to the node that it is for. */
struct order {
    uint64_t id;      /* drawn by the sender; the reply carries it */
    const char *node; /* the node that the order is for */
    const char *verb; /* services/duty.h */
    const char **words;
    uint32_t n_words;
    uint64_t time_left_ms;
    struct extensions extensions;
};

/* Child to parent: the outcome of an order. */
struct obeyed {
    uint64_t id;
    struct outcome outcome;
    const char *text; /* the requested text, as lines */
    struct extensions extensions;
};

/* From an administrator to any node (two-way): an order for that node itself, or for one below it. */
struct administer {
    const char *node; /* "": the receiver itself */
    const char *verb;
    const char **words;
    uint32_t n_words;
    uint64_t generation; /* of the tree below, as the sender last saw it; 0: not compared */
    uint64_t time_left_ms;
    struct extensions extensions;
};
struct administer_reply {
    struct outcome outcome;
    const char *text;
    uint64_t generation; /* counts changes of the tree below the receiver */
    struct extensions extensions;
};

/* ---- two-way operations, asked by clients ---- */

/* Any node. */
struct greet {
    uint32_t minor;
    uint64_t features;
    struct extensions extensions;
};
struct greet_reply {
    struct outcome outcome;
    uint32_t minor;
    uint64_t features;
    const char *name;
    uint32_t role;
    uint64_t incarnation;
    struct extensions extensions;
};

/* Redirector. */
/* Tag in a locate: three little-endian 64-bit numbers, the client's id (high, low) and the sequence number of
 * the first session that will use the answer. */
#define EXTENSION_ASKER 10
struct locate {
    struct extensions extensions;
};
struct master_entry {
    const char *name;
    const char *address;
    uint64_t incarnation;
    uint32_t servers;
    double load; /* busy slots over slots */
};
struct locate_reply {
    struct outcome outcome;
    struct master_entry *masters; /* best first */
    uint32_t n_masters;
    struct extensions extensions;
};

/* Master agent: choose servers for a request. */
struct submit {
    uint64_t time_left_ms;
    struct request request;
};
struct candidate {
    const char *server;
    const char *address;
    uint64_t incarnation;
    double compute_s, queue_s, transfer_s, error_s; /* forecast */
};
struct submit_reply {
    struct outcome outcome;
    struct candidate *candidates; /* best first; the first one counts the session from now on */
    uint32_t n_candidates;
    uint64_t master; /* the placement: the client passes it to the server */
    uint64_t placement;
    uint32_t capable; /* number of servers that are capable, in all */
    bool asked;       /* the agent asked its tree (false: it answered from memory) */
    struct extensions extensions;
};

/* Agent, server: one problem's description. */
struct describe {
    const char *problem;
};
struct describe_reply {
    struct outcome outcome;
    uint64_t digest;
    const char *text;
    uint32_t servers; /* number of servers that solve it, or would solve it if describe_is_sure() */
};

/* Agent, server: the problems that can be solved, in order of their names. */
struct list {
    const char *after; /* only names after this one; "": from the start */
    uint32_t limit;
};
struct listed {
    const char *problem;
    const char *title;
    const char *gams;
    uint64_t digest;
    uint32_t servers;
};
struct list_reply {
    struct outcome outcome;
    struct listed *items;
    uint32_t n;
    bool more;
};

/* Agent, server, redirector: the node itself and all below it. */
struct tree {
    const char *node; /* only the node of this name, or "" for all */
};
/* Tag in the first record of a tree reply: the number of nodes (8 bytes) that did not fit. */
#define EXTENSION_LEFT_OUT 31
struct tree_reply {
    struct outcome outcome;
    struct node_record *records; /* parents before children */
    uint32_t n_records;
};

/* Server: a session. */
enum argument_kind {
    KIND_ABSENT, /* an optional input left out, or an output that the client does not want */
    KIND_INLINE, /* the bytes are here */
    KIND_BULK,   /* `bytes` bytes travel as chunks */
    KIND_WANTED, /* an output that the client wants */
    KIND_DATUM /* lives on a server under this identity; addresses of holders may follow, separated by blanks
                */
};
struct call_argument {
    uint32_t index; /* index in the problem's description */
    uint32_t kind;
    uint64_t bytes;
    const uint8_t *data; /* KIND_INLINE: the value; KIND_DATUM: the identity */
    uint32_t length;
};
/* Tag in a call_request: outputs that stay on the server as data, KEPT_BYTES each: the argument's index
 * and the datum's mode (enum datum_mode), as 4-byte little-endian numbers. Their results are of
 * KIND_DATUM. */
#define EXTENSION_KEPT 40
#define KEPT_BYTES     12
/* Tag in a call_request: the client will lend memory (REACH_LEND) first, so the session waits for `run`
 * even when no argument comes in chunks. */
#define EXTENSION_LENDS 44
/* A repeated call with the same session, after a lost reply, starts nothing: the reply reports the
 * session's state. The same holds for run, put and get. */
/* Tag of an extension of a call_request, without a value: the session continues when its client is gone. */
#define EXTENSION_DETACHED 6

/* Jobs: sessions whose result waits for another process. Each has a client id of its own, so that
 * acknowledging one job does not affect the others. */
/* Tag in a call_request, without a value: the session becomes a job once its client has saved its place.
 * The server's limits for jobs apply from the beginning. Until then the session ends when its client is
 * gone. */
#define EXTENSION_JOB 25
/* Tag in a call_request of a job, OWNER_BYTES: the job's owner, a number that a user's programs draw once.
 * The queue takes turns between owners as it does between clients. */
#define EXTENSION_OWNER 8
#define OWNER_BYTES     16
/* Tag in a follow, without a value: the client has saved the job's place. From now on the job continues
 * without its client, and its result is kept for the server's lease of jobs. */
#define EXTENSION_KEEP 26
/* Tag in the reply to the follow of a job, as 8 bytes, little-endian: milliseconds for which its result
 * will still be kept; before the job has ended: the whole lease. */
#define EXTENSION_JOB_LEASE 27

/* Tag in a call of a problem with checkpoints, ORIGIN_BYTES: the session of the client's first attempt at
 * this call. States saved in that session, or in later attempts, belong to the call. */
#define EXTENSION_ORIGIN 71
#define ORIGIN_BYTES     32
/* Tag in the same call: names and addresses of servers that have, or may have, copies of these states,
 * each followed by a blank, the preferred ones first. */
#define EXTENSION_KEEPERS 72
#define KEEPERS_MOST      4
#define KEEPERS_BYTES     (KEEPERS_MOST * (CAP_NAME + CAP_ADDRESS + 2))

/* Tag in a submit and a call of a repeated attempt: two little-endian 64-bit numbers that identify the
 * first attempt (the high part of the client's id, its sequence number), another with the nanoseconds
 * since the attempt before was given up, and the reason for that, up to AGAIN_WHY bytes of text. For
 * traces of the session. */
#define EXTENSION_AGAIN 87
#define AGAIN_WHY       63
#define AGAIN_BYTES     (24 + AGAIN_WHY)

struct call_request {
    struct session_id session;
    uint64_t oldest_unacknowledged; /* the server forgets and refuses all sessions below it */
    uint64_t server_incarnation;    /* 0: any */
    uint64_t time_left_ms;          /* of the whole session */
    uint64_t patience_ms;           /* how long this call may wait for the result */
    const char *problem;
    uint64_t digest;
    uint64_t master, placement; /* from submit_reply; 0: none */
    double forecast_s;
    struct call_argument *arguments;
    uint32_t n_arguments;
    struct extensions extensions;
};

enum session_state {
    SESSION_UNKNOWN,
    SESSION_WAITING,   /* waits for memory; has none yet */
    SESSION_RECEIVING, /* memory is allocated: the client sends the chunks, then run */
    SESSION_QUEUED,
    SESSION_RUNNING,
    SESSION_DONE,   /* results are ready */
    SESSION_FAILED, /* `outcome` has the reason */
    SESSION_CANCELLED
};
const char *session_state_name(enum session_state state);

struct call_result {
    uint32_t index;
    uint32_t kind; /* KIND_INLINE, KIND_BULK (fetch with get), or KIND_DATUM (data is its identity) */
    uint64_t bytes;
    const uint8_t *data;
    uint32_t length;
};
struct session_timings {
    double wait_s;     /* for memory */
    double transfer_s; /* of the arguments, as measured by the server */
    double queue_s;
    double compute_s;
    double forecast_s; /* computation, as forecast by the server */
};
/* The state of a session. */
struct session_report {
    struct outcome outcome; /* of the session, not of the operation that asked */
    uint64_t sequence;
    uint32_t state;
    uint32_t ahead; /* sessions before it in the queue */
    struct call_result *results;
    uint32_t n_results;
    struct session_timings timings;
    struct extensions extensions;
};
struct call_reply {
    struct outcome outcome; /* of the operation */
    struct session_report session;
};

/* Server: all chunks have been put; the session enters the queue. */
struct run {
    struct session_id session;
    uint64_t patience_ms;
};
/* Answered with a call_reply. */

/* Server: waits for any of these sessions of one client. A client has one await at a time at a server: a
 * newer one, which names more sessions, ends the older one at once (its reply has no sessions). Without
 * sessions and patience, await only acknowledges. An unknown session is reported as SESSION_UNKNOWN at
 * once. */
struct await_entry {
    uint64_t sequence;
    uint64_t secret;
};
struct await {
    uint64_t client_high, client_low;
    uint64_t oldest_unacknowledged;
    struct await_entry *sessions;
    uint32_t n_sessions;
    uint64_t patience_ms;
};
struct await_reply {
    struct outcome outcome;
    struct session_report *sessions; /* sessions that changed to receiving, or ended */
    uint32_t n_sessions;
    struct extensions extensions;
};

/* Server. */
struct cancel {
    struct session_id session;
};
struct done_reply {
    struct outcome outcome;
};

/* Server: a long poll for one running session. The server replies when the session has printed more than
 * the client has seen, progressed, has a question, or changed as for await. */
struct follow {
    struct session_id session;
    uint64_t seen;   /* bytes of its output that the client has */
    double progress; /* the progress that the client knows */
    uint64_t patience_ms;
    uint64_t answered;      /* the number of the question that `answer` is for; 0: none */
    uint32_t answer_status; /* enum esp_status: whether the client could answer; ESP_PENDING: it is computing
                               the answer, so the server does not send the question again */
    const uint8_t *answer;
    uint32_t answer_length;
    struct extensions extensions;
};
struct follow_reply {
    struct outcome outcome; /* of the operation */
    struct session_report session;
    double progress;     /* from 0 to 1; below 0: the routine did not report any */
    uint64_t position;   /* position of `text` in the session's output; after `seen` when output was lost */
    const uint8_t *text; /* printed output, at most CAP_PRINTED bytes */
    uint32_t text_length;
    uint64_t asked;    /* the number of a question to the client: 1, 2, 3, ...; 0: none */
    uint32_t argument; /* index of the callback to be called */
    const uint8_t *question;
    uint32_t question_length;
    struct extensions extensions;
};

/* Server: a piece of a large argument or result. */
enum chunk_flag {
    CHUNK_HAS_CRC = 1,
    CHUNK_DATUM =
        2, /* piece of a datum: the session's client id is the datum's number, its secret the ticket */
    CHUNK_NOT_REACHED = 4 /* in the reply to a reach: nothing was moved, so put or get the piece */
};
struct chunk {
    struct session_id session;
    uint32_t argument;
    uint64_t offset;
    uint64_t length;
    uint32_t flags;
    uint32_t crc32c;
};
struct chunk_reply {
    struct outcome outcome;
    uint64_t length;
    uint32_t flags;
    uint32_t crc32c;
};

/* Server: moves a piece by itself, into or out of the memory of the asking process, which runs on the same
 * host as the same user. The server checks this: the kernel says which process is at the other end of the
 * connection, and the proof, which lies in that process's memory, shows that this process wrote the
 * message. The reply is a chunk_reply. */
enum reach_way {
    REACH_TAKE = 1, /* from `place` in the client's memory */
    REACH_FILL = 2, /* to `place` in the client's memory */
    REACH_LEND = 3  /* the whole value lies in the client's memory file `descriptor`, from `place` on */
};
struct reach_request {
    struct chunk chunk;
    uint32_t way;
    uint64_t place;
    uint32_t descriptor;
    uint64_t proof_place; /* position of the proof in the client's memory: */
    uint64_t proof_high, proof_low;
    struct extensions extensions;
};

/* ---- between master agents (core/message/message_peers.c) ---- */
#define CAP_VISITED 32
/* The kind of a passed message: a client's request, or a list of given-up data. The numbers are the
 * contract. */
enum pass_what { PASS_NOTHING, PASS_SUBMIT, PASS_DESCRIBE, PASS_DATA, PASS_TREE, PASS_GIVEN_UP };

/* A master agent that cannot serve a request of a client passes it on to one of its peers. */
/* Tag, without a value. In a pass: a receiver that cannot answer at once sends a receipt. In a passed: this
 * is that receipt; with PASS_NOTHING and the sender in `visited` it is complete. */
#define EXTENSION_TAKEN 79
struct pass {
    uint64_t id;         /* drawn by the sender; the reply carries it */
    const char *address; /* of the sender */
    uint64_t time_left_ms;
    const char **visited; /* addresses of the master agents that have had the request, the first one first */
    uint32_t n_visited;
    uint32_t what; /* selects the valid member; the others are empty */
    struct submit submit;
    struct describe describe;
    struct data data;
    struct tree tree;
    struct extensions extensions;
};

/* Reply to a pass; its outcome is that of the reply inside. */
struct passed {
    uint64_t id;
    const char **visited; /* also the master agents that have had it since */
    uint32_t n_visited;
    uint32_t what;
    struct submit_reply submit;
    struct describe_reply describe;
    struct data_reply data;
    struct tree_reply tree;
    struct extensions extensions;
};

enum message_kind {
    MESSAGE_NONE = 0,
    /* one-way, in the union of the IDL: the numbers are the contract */
    MESSAGE_HELLO = 1,
    MESSAGE_WELCOME = 2,
    MESSAGE_REPORT = 3,
    MESSAGE_PULSE = 4,
    MESSAGE_REJOIN = 5,
    MESSAGE_GOODBYE = 6,
    MESSAGE_ASK = 7,
    MESSAGE_ANSWER = 8,
    MESSAGE_PLACE = 9,
    MESSAGE_WANT = 10,
    MESSAGE_CATALOG = 11,
    MESSAGE_TEXTS = 12,
    MESSAGE_ORDER = 13,
    MESSAGE_OBEYED = 14,
    MESSAGE_PASS = 15,
    MESSAGE_PASSED = 16,
    MESSAGE_LAST_ONE_WAY = MESSAGE_PASSED,
    /* two-way: operations of the IDL's interfaces */
    MESSAGE_GREET = 32,
    MESSAGE_LOCATE,
    MESSAGE_SUBMIT,
    MESSAGE_DESCRIBE,
    MESSAGE_LIST,
    MESSAGE_TREE,
    MESSAGE_CALL,
    MESSAGE_RUN,
    MESSAGE_AWAIT,
    MESSAGE_CANCEL,
    MESSAGE_PUT, /* header of a chunk that comes with data */
    MESSAGE_GET,
    MESSAGE_FOLLOW,
    MESSAGE_OFFER,
    MESSAGE_OPEN,
    MESSAGE_FINISH,
    MESSAGE_DROP,
    MESSAGE_DATA,
    MESSAGE_PULL,
    MESSAGE_ADMINISTER,
    MESSAGE_REACH, /* like put or get, between processes on one host */
    MESSAGE_LAST_REQUEST = MESSAGE_REACH,
    /* their replies */
    MESSAGE_GREET_REPLY = 64,
    MESSAGE_LOCATE_REPLY,
    MESSAGE_SUBMIT_REPLY,
    MESSAGE_DESCRIBE_REPLY,
    MESSAGE_LIST_REPLY,
    MESSAGE_TREE_REPLY,
    MESSAGE_CALL_REPLY, /* of call and run */
    MESSAGE_AWAIT_REPLY,
    MESSAGE_DONE_REPLY,  /* of cancel, finish and drop */
    MESSAGE_CHUNK_REPLY, /* of put, get and reach */
    MESSAGE_FOLLOW_REPLY,
    MESSAGE_OFFER_REPLY,
    MESSAGE_OPEN_REPLY,
    MESSAGE_DATA_REPLY,
    MESSAGE_PULL_REPLY,
    MESSAGE_ADMINISTER_REPLY,
    MESSAGE_LAST_REPLY = MESSAGE_ADMINISTER_REPLY
};

struct message {
    enum message_kind kind;
    struct arena arena; /* owns what decoding allocated; builders may use it too */
    union {
        struct outcome outcome; /* first member of every reply */
        struct hello hello;
        struct welcome welcome;
        struct report report;
        struct pulse pulse;
        struct rejoin rejoin;
        struct goodbye goodbye;
        struct ask ask;
        struct answer answer;
        struct place place;
        struct want want;
        struct catalog catalog;
        struct texts texts;
        struct order order;
        struct obeyed obeyed;
        struct pass pass;
        struct passed passed;
        struct greet greet;
        struct locate locate;
        struct submit submit;
        struct describe describe;
        struct list list;
        struct tree tree;
        struct call_request call;
        struct run run;
        struct await await;
        struct cancel cancel;
        struct chunk chunk;
        struct follow follow;
        struct offer offer;
        struct open open;
        struct finish finish;
        struct drop drop;
        struct data data;
        struct pull_request pull;
        struct administer administer;
        struct reach_request reach;
        struct greet_reply greet_reply;
        struct locate_reply locate_reply;
        struct submit_reply submit_reply;
        struct describe_reply describe_reply;
        struct list_reply list_reply;
        struct tree_reply tree_reply;
        struct call_reply call_reply;
        struct await_reply await_reply;
        struct done_reply done_reply;
        struct chunk_reply chunk_reply;
        struct follow_reply follow_reply;
        struct offer_reply offer_reply;
        struct open_reply open_reply;
        struct data_reply data_reply;
        struct pull_reply pull_reply;
        struct administer_reply administer_reply;
    };
};

/* The sender, in front of the messages of one post. */
struct envelope {
    const char *from; /* the sender's name */
    uint64_t from_incarnation;
    uint64_t to_incarnation; /* 0: any incarnation */
    /* Filled by the receiving transport, not on the wire: */
    const char *peer;     /* network address, for logs */
    const char *identity; /* name in the peer's certificate, "" without TLS */
};

/* Moves the body of the message (not its kind). Decoding: `message->kind` must be set. */
bool wire_message(struct wire *wire, struct message *message);
/* Moves kind and body, as the union of the one-way contract has them. */
bool wire_one_way(struct wire *wire, struct message *message);
bool wire_envelope(struct wire *wire, struct envelope *envelope);

/* Returns the operation's name ("submit"), and the kind of its reply; NULL and MESSAGE_NONE for one-way
 * kinds. */
const char *message_operation(enum message_kind kind);
enum message_kind message_reply_kind(enum message_kind kind);
/* Returns the request with that operation's name; MESSAGE_NONE when there is none. */
enum message_kind message_of_operation(const char *operation);
/* A name for logs ("report"). */
const char *message_name(enum message_kind kind);

/* Returns the minor version that this node uses with a peer that speaks at most `theirs`: the lower of the
 * two. */
uint32_t message_minor(uint32_t theirs);

/* Allocates a message of that kind, all fields zero; NULL without memory. */
struct message *message_create(enum message_kind kind);
void message_destroy(struct message *message);
/* Empties a message that the caller allocated. */
void message_clear(struct message *message);

/* Makes a reply of `kind` that only has the failure. Copies the text. */
struct message *message_failure(enum message_kind kind, enum esp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Converts the outcome of a reply to an error; ESP_OK when it is a success. A NULL text is "". */
enum esp_status message_outcome(const struct message *reply, struct esp_error *error);
/* Whether a description was refused because the problem is disabled on `servers` servers (ESP_NO_SERVER):
 * the client does not wait then. */
bool describe_is_sure(const struct message *reply);

/* Finds an extension; NULL when it is not there. */
const struct extension *extension_find(const struct extensions *extensions, uint32_t tag);
/* Appends an extension with a copy of the value. False without memory: nothing has changed then. */
bool extension_add(struct extensions *extensions, uint32_t tag, const void *value, uint32_t length,
                   struct arena *arena);

/* Write and read the value of EXTENSION_ASKER. Reading returns false when it is missing; the secret is 0. */
/* Write and read the value of EXTENSION_JOB_LEASE. Reading returns false when it is missing. */
#define LEASE_BYTES 8
void lease_put(uint64_t left_ms, uint8_t bytes[LEASE_BYTES]);
bool lease_get(const struct extensions *extensions, uint64_t *left_ms);

#define ASKER_BYTES 24
void asker_put(const struct session_id *first, uint8_t bytes[ASKER_BYTES]);
/* Write and read the value of EXTENSION_ORIGIN. Reading returns false when it is missing. */
void origin_put(const struct session_id *origin, uint8_t bytes[ORIGIN_BYTES]);
bool origin_get(const struct extensions *extensions, struct session_id *origin);
bool asker_get(const struct extensions *extensions, struct session_id *first);
/* Write and read the value of EXTENSION_AGAIN. Writing returns its length and cuts `why`. Reading returns
 * false when it is missing; the parts of `first` that do not travel are 0, and `why` has no control
 * characters. */
struct told_again {
    struct session_id first;
    int64_t age_ns;
    char why[AGAIN_WHY + 1];
};
uint32_t again_put(const struct session_id *first, int64_t age_ns, const char *why,
                   uint8_t bytes[AGAIN_BYTES]);
bool again_get(const struct extensions *extensions, struct told_again *told);

/* Convert between these messages and the requests inside, which are borrowed. False: such a message cannot
 * be passed. */
bool pass_put(struct pass *pass, const struct message *request);
bool pass_get(const struct pass *pass, struct message *request);
bool passed_put(struct passed *passed, const struct message *reply);
bool passed_get(const struct passed *passed, struct message *reply);

/* Returns a copy that owns all it points to. NULL without memory. */
struct message *message_clone(const struct message *message);

#endif
