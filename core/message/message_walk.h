/* SPDX-License-Identifier: Apache-2.0
 *
 * Macros and shared walks for the traversals of messages (core/message/message.c, _tree.c, _client.c,
 * _data.c). No other file includes this. */
#ifndef CORE_MESSAGE_WALK_H
#define CORE_MESSAGE_WALK_H

#include "core/message/message.h"

/* The short names below keep a traversal readable as a list of fields. */
#define U32(field)                wire_u32(w, &m->field, #field)
#define U64(field)                wire_u64(w, &m->field, #field)
#define I64(field)                wire_i64(w, &m->field, #field)
#define F64(field)                wire_f64(w, &m->field, #field)
#define BOOL(field)               wire_bool(w, &m->field, #field)
#define TEXT(field, cap)          wire_string(w, &m->field, cap, #field)
#define SUB(walk, field)          walk(w, &m->field)
#define EXTENSIONS                walk_extensions(w, &m->extensions)
#define OCTETS(data, length, cap) wire_octets(w, &m->data, &m->length, cap, #data)

/* A sequence of structs: the count, then each item. `least`: the least bytes of an item on the wire,
 * wherever it starts. This is the sum of its fields without padding (a text: 5, an empty sequence: 4),
 * because padding depends on what comes before. */
#define SEQUENCE(walk, field, count, least, cap)                                                             \
    do {                                                                                                     \
        if (!wire_sequence(w, (void **)&m->field, &m->count, sizeof *m->field, least, cap, #field))          \
            return;                                                                                          \
        for (uint32_t i = 0; i < m->count && wire_ok(w); i++)                                                \
            walk(w, &m->field[i]);                                                                           \
    } while (0)

/* Each moves one struct; after the first failure of the wire it does nothing. */
void walk_name(struct wire *w, const char **name);
void walk_extensions(struct wire *w, struct extensions *m);
void walk_outcome(struct wire *w, struct outcome *m);
void walk_session_id(struct wire *w, struct session_id *m);
void walk_path(struct wire *w, struct path *m);
void walk_node_record(struct wire *w, struct node_record *m);

/* ---- core/message/message_data.c ---- */

void walk_offer(struct wire *w, struct offer *m);
void walk_offer_reply(struct wire *w, struct offer_reply *m);
void walk_open(struct wire *w, struct open *m);
void walk_open_reply(struct wire *w, struct open_reply *m);
void walk_finish(struct wire *w, struct finish *m);
void walk_drop(struct wire *w, struct drop *m);
void walk_data(struct wire *w, struct data *m);
void walk_data_reply(struct wire *w, struct data_reply *m);
void walk_pull_request(struct wire *w, struct pull_request *m);
void walk_pull_reply(struct wire *w, struct pull_reply *m);

/* ---- core/message/message_tree.c ---- */

void walk_hello(struct wire *w, struct hello *m);
void walk_welcome(struct wire *w, struct welcome *m);
void walk_report(struct wire *w, struct report *m);
void walk_pulse(struct wire *w, struct pulse *m);
void walk_rejoin(struct wire *w, struct rejoin *m);
void walk_goodbye(struct wire *w, struct goodbye *m);
void walk_request(struct wire *w, struct request *m);
void walk_ask(struct wire *w, struct ask *m);
void walk_answer(struct wire *w, struct answer *m);
void walk_place(struct wire *w, struct place *m);
void walk_want(struct wire *w, struct want *m);
void walk_catalog(struct wire *w, struct catalog *m);
void walk_texts(struct wire *w, struct texts *m);
void walk_word(struct wire *w, const char **m);
void walk_order(struct wire *w, struct order *m);
void walk_obeyed(struct wire *w, struct obeyed *m);

/* ---- core/message/message_peers.c ---- */

void walk_pass(struct wire *w, struct pass *m);
void walk_passed(struct wire *w, struct passed *m);

/* ---- core/message/message_client.c ---- */

void walk_greet(struct wire *w, struct greet *m);
void walk_greet_reply(struct wire *w, struct greet_reply *m);
void walk_locate(struct wire *w, struct locate *m);
void walk_locate_reply(struct wire *w, struct locate_reply *m);
void walk_submit(struct wire *w, struct submit *m);
void walk_submit_reply(struct wire *w, struct submit_reply *m);
void walk_describe(struct wire *w, struct describe *m);
void walk_describe_reply(struct wire *w, struct describe_reply *m);
void walk_list(struct wire *w, struct list *m);
void walk_list_reply(struct wire *w, struct list_reply *m);
void walk_tree(struct wire *w, struct tree *m);
void walk_tree_reply(struct wire *w, struct tree_reply *m);
void walk_call_request(struct wire *w, struct call_request *m);
void walk_call_reply(struct wire *w, struct call_reply *m);
void walk_run(struct wire *w, struct run *m);
void walk_await(struct wire *w, struct await *m);
void walk_await_reply(struct wire *w, struct await_reply *m);
void walk_follow(struct wire *w, struct follow *m);
void walk_follow_reply(struct wire *w, struct follow_reply *m);
void walk_cancel(struct wire *w, struct cancel *m);
void walk_done_reply(struct wire *w, struct done_reply *m);
void walk_chunk(struct wire *w, struct chunk *m);
void walk_chunk_reply(struct wire *w, struct chunk_reply *m);
void walk_reach_request(struct wire *w, struct reach_request *m);
void walk_administer(struct wire *w, struct administer *m);
void walk_administer_reply(struct wire *w, struct administer_reply *m);

#endif
