/* SPDX-License-Identifier: Apache-2.0
 *
 * Data as arguments and results of sessions. Inputs that are elsewhere are fetched, all at once; what is here
 * is pinned and mapped into the worker as it is. Results that stay are written by the worker where they will
 * lie. A session that cannot have all it needs now lets go of what it has: two that wait for each other's
 * memory would wait for ever. All under the endpoint's lock.
 */
#ifndef SED_SERVER_OPERANDS_H
#define SED_SERVER_OPERANDS_H

#include "sed/data/data.h"
#include "core/data/datum_section.h"
#include "sed/server/session.h"

enum operand_state {
    OPERAND_AWAY,     /* nothing has been done for it (yet, or any more) */
    OPERAND_FETCHING, /* comes from another server */
    OPERAND_READING,  /* comes from the disk */
    OPERAND_CUTTING,  /* a thread has it: copies a section of it, or looks at its contents */
    OPERAND_HERE,     /* the memory is there */
    OPERAND_LATE,     /* a result whose length nobody knows yet, or for which there was no room: it comes */
    OPERAND_STORING,  /* a result on its way to the disk */
    OPERAND_STORED    /* a result that is a datum now */
};

struct operand {
    struct operands *of;
    uint32_t index; /* of the argument */
    bool kept;      /* a result; else an input */
    enum operand_state state;
    struct datum_id id;           /* a result's is known from OPERAND_HERE on */
    struct datum_shape shape;     /* that the argument has */
    struct datum_section section; /* of an input */
    char *sources[CAP_SOURCES];   /* of an input: addresses */
    uint32_t n_sources;
    bool asked, stays;    /* a holder was asked for a copy, and lets it stay: a call counts once */
    uint32_t n_damaged;   /* times that its file here was damaged, so that it is fetched */
    enum datum_mode mode; /* of a result */
    uint32_t flags;
    uint32_t head, tail; /* of a result: bytes at its ends that come with the answer, */
    uint8_t *memory;     /* from where it lies until it is stored, */
    uint8_t *edges;      /* and then from here: owned, one end behind the other; NULL: they do not */
    bool late;           /* a result for which room is made when it has come: strings */
    bool as_it_lies;     /* a result that stays in the pieces in which ranks compute it */
    bool straight; /* a result that is written to its file, as there is no memory for it beside the others */
    struct store_pin *pin;
    struct job_file file;
    struct job_file sent; /* of a result that the client has sent first: where it lies in the segment */
    struct pull_waiter waiter;
};

struct operands {
    struct server *server;
    struct session *session;
    struct asker asker;
    bool blocked; /* the store is busy: to be tried again */
    uint32_t n;
    struct operand items[]; /* an inout argument may have two */
};

/* For a new session, as planned. ESP_INVALID: an identity that is none; ESP_REFUSED: the server keeps no
 * data; ESP_NO_MEMORY: also when the store can never hold all of them. */
enum esp_status server_operands_create(struct server *server, struct session *session,
                                       const struct call_plan *plan, const struct call *call,
                                       struct esp_error *error);
/* Goes on with getting all of them. A failure ends the session. Whether all are here. */
bool server_operands_step(struct server *server, struct session *session);
/* Who computes the call, and on which grid, is known: results that are to stay as they lie get their layout.
 */
void server_operands_lay(struct session *session);
/* The routine has returned well: its results are data from now on; strings for which there is no room are
 * not, and come as other results do. True: they are on their way to the disk, and the session ends later.
 * *error: one could not be stored. */
bool server_operands_store(struct server *server, struct session *session, struct esp_error *error);
/* Adds EXTENSION_EDGES of its results to the report of a session that is done. False without memory. */
bool operands_add_edges(const struct session *session, struct extensions *extensions, struct arena *arena);
/* Lets go of all. `whole`: the results that are stored stay; else they are deleted. */
void server_operands_release(struct server *server, struct session *session, bool whole);
void server_operands_free(struct session *session);
/* Sessions that the store had no room for. */
void server_operands_retry(struct server *server);
/* All are here, and a thread looks at their contents: they stay also when the session ends meanwhile. */
void server_operands_hold(struct session *session);
void server_operands_unhold(struct server *server, struct session *session);
/* A thread that worked for the session (`moving`) is done; the session may have ended meanwhile. */
void server_leave_session(struct server *server, struct session *session);
/* Where the values of an input lie that the worker is to copy before it writes over them; NULL: there is no
 * such one. */
const void *operands_source(const struct session *session, uint32_t index);
/* What a session's data are could not be read (careful_read()): their files are looked at again. ESP_SYSTEM.
 */
enum esp_status operands_tell_unreadable(const struct session *session, struct esp_error *error);
/* The datum that the output has become; NULL: none. */
static inline const struct datum_id *operands_result(const struct session *session, uint32_t index)
{
    const struct operands *operands = session->operands;
    for (uint32_t i = 0; operands && i < operands->n; i++)
        if (operands->items[i].kept && operands->items[i].index == index &&
            operands->items[i].state != OPERAND_LATE)
            return &operands->items[i].id;
    return NULL;
}

#endif
