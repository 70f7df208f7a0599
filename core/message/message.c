/* SPDX-License-Identifier: Apache-2.0
 *
 * The traversal of messages: parts that several messages share, and the table of all kinds. */
#include "core/message/message_walk.h"

#include <string.h>

void walk_name(struct wire *w, const char **name)
{
    wire_string(w, name, CAP_NAME, "name");
}

static void walk_extension(struct wire *w, struct extension *m)
{
    U32(tag);
    OCTETS(value, length, CAP_INLINE);
}

void walk_extensions(struct wire *w, struct extensions *m)
{
    SEQUENCE(walk_extension, items, n, 8, CAP_EXTENSIONS);
}

void walk_session_id(struct wire *w, struct session_id *m)
{
    U64(client_high);
    U64(client_low);
    U64(sequence);
    U64(secret);
}

void walk_outcome(struct wire *w, struct outcome *m)
{
    U32(status);
    TEXT(text, CAP_ERROR_TEXT);
}

void walk_path(struct wire *w, struct path *m)
{
    BOOL(known);
    F64(latency_s);
    F64(bandwidth_bps);
}

static void walk_mark(struct wire *w, struct placement_mark *m)
{
    U64(master);
    U64(number);
}

void walk_node_record(struct wire *w, struct node_record *m)
{
    TEXT(name, CAP_NAME);
    TEXT(parent, CAP_NAME);
    TEXT(address, CAP_ADDRESS);
    U32(role);
    U64(incarnation);
    BOOL(draining);
    SUB(walk_path, link);
    U64(catalog);
    F64(speed_flops);
    U32(slots);
    U32(threads);
    wire_f64s(w, &m->free_in_s, &m->n_free_in, CAP_SLOTS, "free_in_s");
    U32(queued);
    U32(running);
    U64(memory_total);
    U64(memory_free);
    U64(completed);
    U64(failed);
    SEQUENCE(walk_mark, marks, n_marks, 16, CAP_SLOTS);
    F64(age_s);
    EXTENSIONS;
}

/* Every member of the message's union lies at its start, so one table of walks serves all. */
#define BODY(walk, field)                                                                                    \
    static void body_##walk(struct wire *wire, struct message *message)                                      \
    {                                                                                                        \
        walk_##walk(wire, &message->field);                                                                  \
    }
BODY(hello, hello)
BODY(welcome, welcome)
BODY(report, report)
BODY(pulse, pulse)
BODY(rejoin, rejoin)
BODY(goodbye, goodbye)
BODY(ask, ask)
BODY(answer, answer)
BODY(place, place)
BODY(want, want)
BODY(catalog, catalog)
BODY(texts, texts)
BODY(order, order)
BODY(obeyed, obeyed)
BODY(pass, pass)
BODY(passed, passed)
BODY(greet, greet)
BODY(locate, locate)
BODY(submit, submit)
BODY(describe, describe)
BODY(list, list)
BODY(tree, tree)
BODY(call_request, call)
BODY(run, run)
BODY(await, await)
BODY(cancel, cancel)
BODY(chunk, chunk)
BODY(follow, follow)
BODY(offer, offer)
BODY(open, open)
BODY(finish, finish)
BODY(drop, drop)
BODY(data, data)
BODY(pull_request, pull)
BODY(administer, administer)
BODY(greet_reply, greet_reply)
BODY(locate_reply, locate_reply)
BODY(submit_reply, submit_reply)
BODY(describe_reply, describe_reply)
BODY(list_reply, list_reply)
BODY(tree_reply, tree_reply)
BODY(call_reply, call_reply)
BODY(await_reply, await_reply)
BODY(done_reply, done_reply)
BODY(chunk_reply, chunk_reply)
BODY(follow_reply, follow_reply)
BODY(offer_reply, offer_reply)
BODY(open_reply, open_reply)
BODY(data_reply, data_reply)
BODY(pull_reply, pull_reply)
BODY(administer_reply, administer_reply)
BODY(reach_request, reach)

#define TWO_WAY(walk, operation, reply)                                                                      \
    {                                                                                                        \
        body_##walk, operation, operation, MESSAGE_##reply                                                   \
    }
#define OTHER(walk, name)                                                                                    \
    {                                                                                                        \
        body_##walk, name, NULL, MESSAGE_NONE                                                                \
    }

static const struct {
    void (*walk)(struct wire *wire, struct message *message);
    const char *name;
    const char *operation;
    enum message_kind reply;
} kinds[] = {
    [MESSAGE_HELLO] = OTHER(hello, "hello"),
    [MESSAGE_WELCOME] = OTHER(welcome, "welcome"),
    [MESSAGE_REPORT] = OTHER(report, "report"),
    [MESSAGE_PULSE] = OTHER(pulse, "pulse"),
    [MESSAGE_REJOIN] = OTHER(rejoin, "rejoin"),
    [MESSAGE_GOODBYE] = OTHER(goodbye, "goodbye"),
    [MESSAGE_ASK] = OTHER(ask, "ask"),
    [MESSAGE_ANSWER] = OTHER(answer, "answer"),
    [MESSAGE_PLACE] = OTHER(place, "place"),
    [MESSAGE_WANT] = OTHER(want, "want"),
    [MESSAGE_CATALOG] = OTHER(catalog, "catalog"),
    [MESSAGE_TEXTS] = OTHER(texts, "texts"),
    [MESSAGE_ORDER] = OTHER(order, "order"),
    [MESSAGE_OBEYED] = OTHER(obeyed, "obeyed"),
    [MESSAGE_PASS] = OTHER(pass, "pass"),
    [MESSAGE_PASSED] = OTHER(passed, "passed"),
    [MESSAGE_GREET] = TWO_WAY(greet, "greet", GREET_REPLY),
    [MESSAGE_LOCATE] = TWO_WAY(locate, "locate", LOCATE_REPLY),
    [MESSAGE_SUBMIT] = TWO_WAY(submit, "submit", SUBMIT_REPLY),
    [MESSAGE_DESCRIBE] = TWO_WAY(describe, "describe", DESCRIBE_REPLY),
    [MESSAGE_LIST] = TWO_WAY(list, "list", LIST_REPLY),
    [MESSAGE_TREE] = TWO_WAY(tree, "tree", TREE_REPLY),
    [MESSAGE_CALL] = TWO_WAY(call_request, "call", CALL_REPLY),
    [MESSAGE_RUN] = TWO_WAY(run, "run", CALL_REPLY),
    [MESSAGE_AWAIT] = TWO_WAY(await, "await", AWAIT_REPLY),
    [MESSAGE_CANCEL] = TWO_WAY(cancel, "cancel", DONE_REPLY),
    [MESSAGE_PUT] = TWO_WAY(chunk, "put", CHUNK_REPLY),
    [MESSAGE_GET] = TWO_WAY(chunk, "get", CHUNK_REPLY),
    [MESSAGE_FOLLOW] = TWO_WAY(follow, "follow", FOLLOW_REPLY),
    [MESSAGE_OFFER] = TWO_WAY(offer, "offer", OFFER_REPLY),
    [MESSAGE_OPEN] = TWO_WAY(open, "open", OPEN_REPLY),
    [MESSAGE_FINISH] = TWO_WAY(finish, "finish", DONE_REPLY),
    [MESSAGE_DROP] = TWO_WAY(drop, "drop", DONE_REPLY),
    [MESSAGE_DATA] = TWO_WAY(data, "data", DATA_REPLY),
    [MESSAGE_PULL] = TWO_WAY(pull_request, "pull", PULL_REPLY),
    [MESSAGE_ADMINISTER] = TWO_WAY(administer, "administer", ADMINISTER_REPLY),
    [MESSAGE_REACH] = TWO_WAY(reach_request, "reach", CHUNK_REPLY),
    [MESSAGE_GREET_REPLY] = OTHER(greet_reply, "greet reply"),
    [MESSAGE_LOCATE_REPLY] = OTHER(locate_reply, "locate reply"),
    [MESSAGE_SUBMIT_REPLY] = OTHER(submit_reply, "submit reply"),
    [MESSAGE_DESCRIBE_REPLY] = OTHER(describe_reply, "describe reply"),
    [MESSAGE_LIST_REPLY] = OTHER(list_reply, "list reply"),
    [MESSAGE_TREE_REPLY] = OTHER(tree_reply, "tree reply"),
    [MESSAGE_CALL_REPLY] = OTHER(call_reply, "call reply"),
    [MESSAGE_AWAIT_REPLY] = OTHER(await_reply, "await reply"),
    [MESSAGE_DONE_REPLY] = OTHER(done_reply, "done reply"),
    [MESSAGE_CHUNK_REPLY] = OTHER(chunk_reply, "chunk reply"),
    [MESSAGE_FOLLOW_REPLY] = OTHER(follow_reply, "follow reply"),
    [MESSAGE_OFFER_REPLY] = OTHER(offer_reply, "offer reply"),
    [MESSAGE_OPEN_REPLY] = OTHER(open_reply, "open reply"),
    [MESSAGE_DATA_REPLY] = OTHER(data_reply, "data reply"),
    [MESSAGE_PULL_REPLY] = OTHER(pull_reply, "pull reply"),
    [MESSAGE_ADMINISTER_REPLY] = OTHER(administer_reply, "administer reply"),
};

static bool kind_exists(enum message_kind kind)
{
    return (size_t)kind < sizeof kinds / sizeof *kinds && kinds[kind].walk;
}

bool wire_message(struct wire *wire, struct message *message)
{
    if (!kind_exists(message->kind))
        return wire_fail(wire, ESP_PROTOCOL, "no message has the number %u", (unsigned)message->kind);
    kinds[message->kind].walk(wire, message);
    return wire_ok(wire);
}

bool wire_one_way(struct wire *wire, struct message *message)
{
    uint32_t kind = message->kind;
    if (!wire_u32(wire, &kind, "kind"))
        return false;
    if (kind == MESSAGE_NONE || kind > MESSAGE_LAST_ONE_WAY)
        return wire_fail(wire, ESP_PROTOCOL, "no one-way message has the number %u", kind);
    message->kind = (enum message_kind)kind;
    return wire_message(wire, message);
}

bool wire_envelope(struct wire *w, struct envelope *m)
{
    TEXT(from, CAP_NAME);
    U64(from_incarnation);
    U64(to_incarnation);
    return wire_ok(w);
}

const char *message_operation(enum message_kind kind)
{
    return kind_exists(kind) ? kinds[kind].operation : NULL;
}

enum message_kind message_of_operation(const char *operation)
{
    for (int kind = MESSAGE_GREET; kind <= MESSAGE_LAST_REQUEST; kind++)
        if (!strcmp(kinds[kind].operation, operation))
            return (enum message_kind)kind;
    return MESSAGE_NONE;
}

enum message_kind message_reply_kind(enum message_kind kind)
{
    return kind_exists(kind) ? kinds[kind].reply : MESSAGE_NONE;
}

const char *message_name(enum message_kind kind)
{
    return kind_exists(kind) ? kinds[kind].name : "unknown message";
}
