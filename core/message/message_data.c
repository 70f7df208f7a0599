/* SPDX-License-Identifier: Apache-2.0
 *
 * The traversal of messages about data that live on servers, in the order of idl/espalier.idl.
 */
#include "core/message/message_walk.h"

static void walk_datum_info(struct wire *w, struct datum_info *m)
{
    TEXT(datum, CAP_DATUM);
    U32(type);
    wire_i64s(w, &m->dims, &m->n_dims, CAP_DIMS, "dims");
    U32(storage);
    I64(layout_a);
    I64(layout_b);
    I64(layout_c);
    BOOL(row_major);
    U64(bytes);
    U32(mode);
    U32(flags);
    I64(created_s);
    BOOL(complete);
    BOOL(in_memory);
    BOOL(on_disk);
    U32(users);
    U64(puts);
    U64(gets);
    U64(bytes_in);
    U64(bytes_out);
    U64(disk_reads);
    F64(idle_s);
    TEXT(owner, CAP_NAME);
    TEXT(server, CAP_NAME);
    TEXT(address, CAP_ADDRESS);
    EXTENSIONS;
}

void walk_offer(struct wire *w, struct offer *m)
{
    SUB(walk_datum_info, datum);
    EXTENSIONS;
}

static void walk_gap(struct wire *w, struct datum_gap *m)
{
    U64(from);
    U64(to);
}

void walk_offer_reply(struct wire *w, struct offer_reply *m)
{
    SUB(walk_outcome, outcome);
    U64(ticket);
    SEQUENCE(walk_gap, gaps, n_gaps, 16, CAP_GAPS);
    EXTENSIONS;
}

void walk_open(struct wire *w, struct open *m)
{
    TEXT(datum, CAP_DATUM);
    EXTENSIONS;
}

void walk_open_reply(struct wire *w, struct open_reply *m)
{
    SUB(walk_outcome, outcome);
    SUB(walk_datum_info, datum);
    U64(ticket);
    EXTENSIONS;
}

void walk_finish(struct wire *w, struct finish *m)
{
    TEXT(datum, CAP_DATUM);
    U64(ticket);
    EXTENSIONS;
}

void walk_drop(struct wire *w, struct drop *m)
{
    TEXT(datum, CAP_DATUM);
    U64(ticket);
    EXTENSIONS;
}

void walk_data(struct wire *w, struct data *m)
{
    TEXT(datum, CAP_DATUM);
    TEXT(after, CAP_DATUM);
    U32(limit);
    EXTENSIONS;
}

void walk_data_reply(struct wire *w, struct data_reply *m)
{
    SUB(walk_outcome, outcome);
    SEQUENCE(walk_datum_info, items, n, 140, CAP_DATA);
    BOOL(more);
    EXTENSIONS;
}

void walk_pull_request(struct wire *w, struct pull_request *m)
{
    TEXT(datum, CAP_DATUM);
    SEQUENCE(walk_name, sources, n_sources, 5, CAP_SOURCES);
    U32(mode);
    U32(flags);
    U64(patience_ms);
    EXTENSIONS;
}

void walk_pull_reply(struct wire *w, struct pull_reply *m)
{
    SUB(walk_outcome, outcome);
    BOOL(complete);
    U64(arrived);
    U64(bytes);
    EXTENSIONS;
}
