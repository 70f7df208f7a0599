/* SPDX-License-Identifier: Apache-2.0
 *
 * The traversal of every message, field by field in the order of idl/espalier.idl.
 */
#include "core/message_walk.h"

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

static void walk_session_id(struct wire *w, struct session_id *m)
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

static void walk_path(struct wire *w, struct path *m)
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

static void walk_node_record(struct wire *w, struct node_record *m)
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

static void walk_hello(struct wire *w, struct hello *m)
{
    U32(minor);
    U64(features);
    U32(role);
    TEXT(address, CAP_ADDRESS);
    EXTENSIONS;
}

static void walk_welcome(struct wire *w, struct welcome *m)
{
    SUB(walk_outcome, outcome);
    U32(minor);
    U64(features);
    U32(role);
    U64(lease_ms);
    U64(heartbeat_ms);
    SEQUENCE(walk_name, ancestors, n_ancestors, 5, CAP_ANCESTORS);
    EXTENSIONS;
}

static void walk_report(struct wire *w, struct report *m)
{
    U64(number);
    BOOL(complete);
    SEQUENCE(walk_node_record, records, n_records, 129, CAP_RECORDS);
    SEQUENCE(walk_name, removed, n_removed, 5, CAP_RECORDS);
    F64(oldest_s);
    EXTENSIONS;
}

static void walk_pulse(struct wire *w, struct pulse *m)
{
    U64(number);
}

static void walk_rejoin(struct wire *w, struct rejoin *m)
{
    TEXT(reason, CAP_ERROR_TEXT);
}

static void walk_goodbye(struct wire *w, struct goodbye *m)
{
    TEXT(reason, CAP_ERROR_TEXT);
}

static void walk_attribute(struct wire *w, struct argument_attribute *m)
{
    U32(index);
    U32(mode);
    U64(bytes);
    TEXT(holder, CAP_NAME);
    TEXT(datum, CAP_NAME);
}

static void walk_scalar(struct wire *w, struct scalar_value *m)
{
    U32(index);
    BOOL(is_real);
    I64(integer);
    F64(real);
}

static void walk_request(struct wire *w, struct request *m)
{
    SUB(walk_session_id, session);
    TEXT(problem, CAP_NAME);
    U64(digest);
    F64(work_flop);
    U64(memory_bytes);
    SEQUENCE(walk_scalar, scalars, n_scalars, 21, CAP_ARGUMENTS);
    SEQUENCE(walk_attribute, arguments, n_arguments, 26, CAP_ARGUMENTS);
    TEXT(server, CAP_NAME);
    SEQUENCE(walk_name, excluded, n_excluded, 5, CAP_CANDIDATES);
    U32(candidates);
    EXTENSIONS;
}

static void walk_location(struct wire *w, struct data_location *m)
{
    U32(argument);
    TEXT(holder, CAP_NAME);
    SUB(walk_path, to_me);
}

static void walk_estimate(struct wire *w, struct server_estimate *m)
{
    TEXT(server, CAP_NAME);
    TEXT(address, CAP_ADDRESS);
    U64(incarnation);
    F64(compute_s);
    F64(queue_s);
    F64(error_s);
    SEQUENCE(walk_path, transfer, n_transfer, 17, CAP_ROWS);
    EXTENSIONS;
}

static void walk_response(struct wire *w, struct response *m)
{
    TEXT(name, CAP_NAME);
    SEQUENCE(walk_location, data, n_data, 26, CAP_ROWS);
    SEQUENCE(walk_estimate, servers, n_servers, 50, CAP_CANDIDATES);
    U32(capable);
    EXTENSIONS;
}

static void walk_ask(struct wire *w, struct ask *m)
{
    U64(id);
    U32(breadth);
    U64(time_left_ms);
    SUB(walk_request, request);
}

static void walk_answer(struct wire *w, struct answer *m)
{
    U64(id);
    SUB(walk_outcome, outcome);
    SUB(walk_response, response);
}

static void walk_placement(struct wire *w, struct placement *m)
{
    TEXT(server, CAP_NAME);
    SUB(walk_session_id, session);
    U64(master);
    U64(number);
    F64(seconds);
    U64(lease_ms);
}

static void walk_place(struct wire *w, struct place *m)
{
    SEQUENCE(walk_placement, items, n, 69, CAP_MESSAGES);
}

static void walk_want(struct wire *w, struct want *m)
{
    wire_u64s(w, &m->catalogs, &m->n_catalogs, CAP_RECORDS, "catalogs");
    wire_u64s(w, &m->texts, &m->n_texts, CAP_RECORDS, "texts");
}

static void walk_catalog_entry(struct wire *w, struct catalog_entry *m)
{
    TEXT(problem, CAP_NAME);
    U64(digest);
}

static void walk_catalog(struct wire *w, struct catalog *m)
{
    U64(digest);
    SEQUENCE(walk_catalog_entry, entries, n_entries, 13, CAP_RECORDS);
}

static void walk_described(struct wire *w, struct described *m)
{
    U64(digest);
    TEXT(text, CAP_TEXT);
}

static void walk_texts(struct wire *w, struct texts *m)
{
    SEQUENCE(walk_described, items, n, 13, CAP_RECORDS);
}

static void walk_greet(struct wire *w, struct greet *m)
{
    U32(minor);
    U64(features);
    EXTENSIONS;
}

static void walk_greet_reply(struct wire *w, struct greet_reply *m)
{
    SUB(walk_outcome, outcome);
    U32(minor);
    U64(features);
    TEXT(name, CAP_NAME);
    U32(role);
    U64(incarnation);
    EXTENSIONS;
}

static void walk_locate(struct wire *w, struct locate *m)
{
    EXTENSIONS;
}

static void walk_master(struct wire *w, struct master_entry *m)
{
    TEXT(name, CAP_NAME);
    TEXT(address, CAP_ADDRESS);
    U64(incarnation);
    U32(servers);
    F64(load);
}

static void walk_locate_reply(struct wire *w, struct locate_reply *m)
{
    SUB(walk_outcome, outcome);
    SEQUENCE(walk_master, masters, n_masters, 30, CAP_CANDIDATES);
    EXTENSIONS;
}

static void walk_submit(struct wire *w, struct submit *m)
{
    U64(time_left_ms);
    SUB(walk_request, request);
}

static void walk_candidate(struct wire *w, struct candidate *m)
{
    TEXT(server, CAP_NAME);
    TEXT(address, CAP_ADDRESS);
    U64(incarnation);
    F64(compute_s);
    F64(queue_s);
    F64(transfer_s);
    F64(error_s);
}

static void walk_submit_reply(struct wire *w, struct submit_reply *m)
{
    SUB(walk_outcome, outcome);
    SEQUENCE(walk_candidate, candidates, n_candidates, 50, CAP_CANDIDATES);
    U64(master);
    U64(placement);
    U32(capable);
    BOOL(asked);
    EXTENSIONS;
}

static void walk_describe(struct wire *w, struct describe *m)
{
    TEXT(problem, CAP_NAME);
}

static void walk_describe_reply(struct wire *w, struct describe_reply *m)
{
    SUB(walk_outcome, outcome);
    U64(digest);
    TEXT(text, CAP_TEXT);
    U32(servers);
}

static void walk_list(struct wire *w, struct list *m)
{
    TEXT(after, CAP_NAME);
    U32(limit);
}

static void walk_listed(struct wire *w, struct listed *m)
{
    TEXT(problem, CAP_NAME);
    TEXT(title, CAP_ERROR_TEXT);
    TEXT(gams, CAP_NAME);
    U64(digest);
    U32(servers);
}

static void walk_list_reply(struct wire *w, struct list_reply *m)
{
    SUB(walk_outcome, outcome);
    SEQUENCE(walk_listed, items, n, 27, CAP_RECORDS);
    BOOL(more);
}

static void walk_tree(struct wire *w, struct tree *m)
{
    TEXT(node, CAP_NAME);
}

static void walk_tree_reply(struct wire *w, struct tree_reply *m)
{
    SUB(walk_outcome, outcome);
    SEQUENCE(walk_node_record, records, n_records, 129, CAP_RECORDS);
}

static void walk_call_argument(struct wire *w, struct call_argument *m)
{
    U32(index);
    U32(kind);
    U64(bytes);
    OCTETS(data, length, CAP_INLINE);
}

static void walk_call_request(struct wire *w, struct call_request *m)
{
    SUB(walk_session_id, session);
    U64(oldest_unacknowledged);
    U64(server_incarnation);
    U64(time_left_ms);
    U64(patience_ms);
    TEXT(problem, CAP_NAME);
    U64(digest);
    U64(master);
    U64(placement);
    F64(forecast_s);
    SEQUENCE(walk_call_argument, arguments, n_arguments, 20, CAP_ARGUMENTS);
    EXTENSIONS;
}

static void walk_call_result(struct wire *w, struct call_result *m)
{
    U32(index);
    U32(kind);
    U64(bytes);
    OCTETS(data, length, CAP_INLINE);
}

static void walk_timings(struct wire *w, struct session_timings *m)
{
    F64(wait_s);
    F64(transfer_s);
    F64(queue_s);
    F64(compute_s);
    F64(forecast_s);
}

static void walk_session_report(struct wire *w, struct session_report *m)
{
    SUB(walk_outcome, outcome);
    U64(sequence);
    U32(state);
    U32(ahead);
    SEQUENCE(walk_call_result, results, n_results, 20, CAP_ARGUMENTS);
    SUB(walk_timings, timings);
    EXTENSIONS;
}

static void walk_call_reply(struct wire *w, struct call_reply *m)
{
    SUB(walk_outcome, outcome);
    SUB(walk_session_report, session);
}

static void walk_run(struct wire *w, struct run *m)
{
    SUB(walk_session_id, session);
    U64(patience_ms);
}

static void walk_await_entry(struct wire *w, struct await_entry *m)
{
    U64(sequence);
    U64(secret);
}

static void walk_await(struct wire *w, struct await *m)
{
    U64(client_high);
    U64(client_low);
    U64(oldest_unacknowledged);
    SEQUENCE(walk_await_entry, sessions, n_sessions, 16, CAP_SESSIONS);
    U64(patience_ms);
}

static void walk_await_reply(struct wire *w, struct await_reply *m)
{
    SUB(walk_outcome, outcome);
    SEQUENCE(walk_session_report, sessions, n_sessions, 73, CAP_SESSIONS);
    EXTENSIONS;
}

static void walk_follow(struct wire *w, struct follow *m)
{
    SUB(walk_session_id, session);
    U64(seen);
    F64(progress);
    U64(patience_ms);
    U64(answered);
    U32(answer_status);
    OCTETS(answer, answer_length, CAP_INLINE);
    EXTENSIONS;
}

static void walk_follow_reply(struct wire *w, struct follow_reply *m)
{
    SUB(walk_outcome, outcome);
    SUB(walk_session_report, session);
    F64(progress);
    U64(position);
    OCTETS(text, text_length, CAP_PRINTED);
    U64(asked);
    U32(argument);
    OCTETS(question, question_length, CAP_INLINE);
    EXTENSIONS;
}

static void walk_cancel(struct wire *w, struct cancel *m)
{
    SUB(walk_session_id, session);
}

static void walk_done_reply(struct wire *w, struct done_reply *m)
{
    SUB(walk_outcome, outcome);
}

static void walk_chunk(struct wire *w, struct chunk *m)
{
    SUB(walk_session_id, session);
    U32(argument);
    U64(offset);
    U64(length);
    U32(flags);
    U32(crc32c);
}

static void walk_chunk_reply(struct wire *w, struct chunk_reply *m)
{
    SUB(walk_outcome, outcome);
    U64(length);
    U32(flags);
    U32(crc32c);
}

static void walk_word(struct wire *w, const char **m)
{
    wire_string(w, m, CAP_ERROR_TEXT, "words");
}

static void walk_order(struct wire *w, struct order *m)
{
    U64(id);
    TEXT(node, CAP_NAME);
    TEXT(verb, CAP_NAME);
    SEQUENCE(walk_word, words, n_words, 5, CAP_WORDS);
    U64(time_left_ms);
    EXTENSIONS;
}

static void walk_obeyed(struct wire *w, struct obeyed *m)
{
    U64(id);
    SUB(walk_outcome, outcome);
    TEXT(text, CAP_TEXT);
    EXTENSIONS;
}

static void walk_administer(struct wire *w, struct administer *m)
{
    TEXT(node, CAP_NAME);
    TEXT(verb, CAP_NAME);
    SEQUENCE(walk_word, words, n_words, 5, CAP_WORDS);
    U64(generation);
    U64(time_left_ms);
    EXTENSIONS;
}

static void walk_administer_reply(struct wire *w, struct administer_reply *m)
{
    SUB(walk_outcome, outcome);
    TEXT(text, CAP_TEXT);
    U64(generation);
    EXTENSIONS;
}

/* Every member of the message's union lies at its start, so one table of walks over it will do. */
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
