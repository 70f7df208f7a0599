/* SPDX-License-Identifier: Apache-2.0
 *
 * What the traversals of messages (core/message.c, core/message_data.c) are written with. They share each
 * other's walks; nobody else includes this.
 */
#ifndef CORE_MESSAGE_WALK_H
#define CORE_MESSAGE_WALK_H

#include "core/message.h"

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

/* A sequence of structs: the count, then each item. `least`: bytes an item takes at least on the wire,
 * wherever it starts. It is the sum of its fields without any padding (a text: 5, an empty sequence: 4): how
 * much there is of that depends on the alignment of what comes before, and on each item of the one before it.
 */
#define SEQUENCE(walk, field, count, least, cap)                                                             \
    do {                                                                                                     \
        if (!wire_sequence(w, (void **)&m->field, &m->count, sizeof *m->field, least, cap, #field))          \
            return;                                                                                          \
        for (uint32_t i = 0; i < m->count && wire_ok(w); i++)                                                \
            walk(w, &m->field[i]);                                                                           \
    } while (0)

/* Each moves one struct; after the first failure of the wire they do nothing. */
void walk_name(struct wire *w, const char **name);
void walk_extensions(struct wire *w, struct extensions *m);
void walk_outcome(struct wire *w, struct outcome *m);

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

#endif
