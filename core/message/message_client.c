/* SPDX-License-Identifier: Apache-2.0
 *
 * The traversal of requests and their replies, field by field in the order of idl/espalier.idl.
 */
#include "core/message/message_walk.h"

void walk_greet(struct wire *w, struct greet *m)
{
    U32(minor);
    U64(features);
    EXTENSIONS;
}

void walk_greet_reply(struct wire *w, struct greet_reply *m)
{
    SUB(walk_outcome, outcome);
    U32(minor);
    U64(features);
    TEXT(name, CAP_NAME);
    U32(role);
    U64(incarnation);
    EXTENSIONS;
}

void walk_locate(struct wire *w, struct locate *m)
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

void walk_locate_reply(struct wire *w, struct locate_reply *m)
{
    SUB(walk_outcome, outcome);
    SEQUENCE(walk_master, masters, n_masters, 30, CAP_CANDIDATES);
    EXTENSIONS;
}

void walk_submit(struct wire *w, struct submit *m)
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

void walk_submit_reply(struct wire *w, struct submit_reply *m)
{
    SUB(walk_outcome, outcome);
    SEQUENCE(walk_candidate, candidates, n_candidates, 50, CAP_CANDIDATES);
    U64(master);
    U64(placement);
    U32(capable);
    BOOL(asked);
    EXTENSIONS;
}

void walk_describe(struct wire *w, struct describe *m)
{
    TEXT(problem, CAP_NAME);
}

void walk_describe_reply(struct wire *w, struct describe_reply *m)
{
    SUB(walk_outcome, outcome);
    U64(digest);
    TEXT(text, CAP_TEXT);
    U32(servers);
}

void walk_list(struct wire *w, struct list *m)
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

void walk_list_reply(struct wire *w, struct list_reply *m)
{
    SUB(walk_outcome, outcome);
    SEQUENCE(walk_listed, items, n, 27, CAP_RECORDS);
    BOOL(more);
}

void walk_tree(struct wire *w, struct tree *m)
{
    TEXT(node, CAP_NAME);
}

void walk_tree_reply(struct wire *w, struct tree_reply *m)
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

void walk_call_request(struct wire *w, struct call_request *m)
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

void walk_call_reply(struct wire *w, struct call_reply *m)
{
    SUB(walk_outcome, outcome);
    SUB(walk_session_report, session);
}

void walk_run(struct wire *w, struct run *m)
{
    SUB(walk_session_id, session);
    U64(patience_ms);
}

static void walk_await_entry(struct wire *w, struct await_entry *m)
{
    U64(sequence);
    U64(secret);
}

void walk_await(struct wire *w, struct await *m)
{
    U64(client_high);
    U64(client_low);
    U64(oldest_unacknowledged);
    SEQUENCE(walk_await_entry, sessions, n_sessions, 16, CAP_SESSIONS);
    U64(patience_ms);
}

void walk_await_reply(struct wire *w, struct await_reply *m)
{
    SUB(walk_outcome, outcome);
    SEQUENCE(walk_session_report, sessions, n_sessions, 73, CAP_SESSIONS);
    EXTENSIONS;
}

void walk_follow(struct wire *w, struct follow *m)
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

void walk_follow_reply(struct wire *w, struct follow_reply *m)
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

void walk_cancel(struct wire *w, struct cancel *m)
{
    SUB(walk_session_id, session);
}

void walk_done_reply(struct wire *w, struct done_reply *m)
{
    SUB(walk_outcome, outcome);
}

void walk_chunk(struct wire *w, struct chunk *m)
{
    SUB(walk_session_id, session);
    U32(argument);
    U64(offset);
    U64(length);
    U32(flags);
    U32(crc32c);
}

void walk_chunk_reply(struct wire *w, struct chunk_reply *m)
{
    SUB(walk_outcome, outcome);
    U64(length);
    U32(flags);
    U32(crc32c);
}

void walk_reach_request(struct wire *w, struct reach_request *m)
{
    SUB(walk_chunk, chunk);
    U32(way);
    U64(place);
    U32(descriptor);
    U64(proof_place);
    U64(proof_high);
    U64(proof_low);
    EXTENSIONS;
}

void walk_administer(struct wire *w, struct administer *m)
{
    TEXT(node, CAP_NAME);
    TEXT(verb, CAP_NAME);
    SEQUENCE(walk_word, words, n_words, 5, CAP_WORDS);
    U64(generation);
    U64(time_left_ms);
    EXTENSIONS;
}

void walk_administer_reply(struct wire *w, struct administer_reply *m)
{
    SUB(walk_outcome, outcome);
    TEXT(text, CAP_TEXT);
    U64(generation);
    EXTENSIONS;
}
