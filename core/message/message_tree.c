/* SPDX-License-Identifier: Apache-2.0
 *
 * The traversal of messages between the nodes of a tree, field by field in the order of idl/espalier.idl.
 */
#include "core/message/message_walk.h"

void walk_hello(struct wire *w, struct hello *m)
{
    U32(minor);
    U64(features);
    U32(role);
    TEXT(address, CAP_ADDRESS);
    EXTENSIONS;
}

void walk_welcome(struct wire *w, struct welcome *m)
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

void walk_report(struct wire *w, struct report *m)
{
    U64(number);
    BOOL(complete);
    SEQUENCE(walk_node_record, records, n_records, 129, CAP_RECORDS);
    SEQUENCE(walk_name, removed, n_removed, 5, CAP_RECORDS);
    F64(oldest_s);
    EXTENSIONS;
}

void walk_pulse(struct wire *w, struct pulse *m)
{
    U64(number);
}

void walk_rejoin(struct wire *w, struct rejoin *m)
{
    TEXT(reason, CAP_ERROR_TEXT);
}

void walk_goodbye(struct wire *w, struct goodbye *m)
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

void walk_request(struct wire *w, struct request *m)
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

void walk_ask(struct wire *w, struct ask *m)
{
    U64(id);
    U32(breadth);
    U64(time_left_ms);
    SUB(walk_request, request);
}

void walk_answer(struct wire *w, struct answer *m)
{
    U64(id);
    SUB(walk_outcome, outcome);
    SUB(walk_response, response);
}

static void walk_placement(struct wire *w, struct placement *m)
{
    TEXT(server, CAP_NAME);
    U64(session.client_high);
    U64(session.client_low);
    U64(session.sequence);
    U64(bytes_in); /* in place of the session's secret, which agents must not see */
    U64(master);
    U64(number);
    F64(seconds);
    U64(lease_ms);
}

void walk_place(struct wire *w, struct place *m)
{
    SEQUENCE(walk_placement, items, n, 69, CAP_MESSAGES);
}

void walk_want(struct wire *w, struct want *m)
{
    wire_u64s(w, &m->catalogs, &m->n_catalogs, CAP_RECORDS, "catalogs");
    wire_u64s(w, &m->texts, &m->n_texts, CAP_RECORDS, "texts");
}

static void walk_catalog_entry(struct wire *w, struct catalog_entry *m)
{
    TEXT(problem, CAP_NAME);
    U64(digest);
}

void walk_catalog(struct wire *w, struct catalog *m)
{
    U64(digest);
    SEQUENCE(walk_catalog_entry, entries, n_entries, 13, CAP_RECORDS);
}

static void walk_described(struct wire *w, struct described *m)
{
    U64(digest);
    TEXT(text, CAP_TEXT);
}

void walk_texts(struct wire *w, struct texts *m)
{
    SEQUENCE(walk_described, items, n, 13, CAP_RECORDS);
}

void walk_word(struct wire *w, const char **m)
{
    wire_string(w, m, CAP_ERROR_TEXT, "words");
}

void walk_order(struct wire *w, struct order *m)
{
    U64(id);
    TEXT(node, CAP_NAME);
    TEXT(verb, CAP_NAME);
    SEQUENCE(walk_word, words, n_words, 5, CAP_WORDS);
    U64(time_left_ms);
    EXTENSIONS;
}

void walk_obeyed(struct wire *w, struct obeyed *m)
{
    U64(id);
    SUB(walk_outcome, outcome);
    TEXT(text, CAP_TEXT);
    EXTENSIONS;
}
