/* SPDX-License-Identifier: Apache-2.0
 *
 * Data as arguments and results of sessions. Inputs on other servers are fetched, all at once; inputs that
 * are here are pinned and mapped into the worker. Workers write results that stay into the memory of the
 * store. A session that cannot have all its data now gives back those that it has: two sessions that wait for
 * each other's memory would wait for ever. All under the endpoint's lock.
 */
#ifndef SED_SERVER_OPERANDS_H
#define SED_SERVER_OPERANDS_H

#include "sed/data/data.h"
#include "core/data/datum_section.h"
#include "sed/sessions/session.h"

enum operand_state {
    OPERAND_AWAY,     /* not begun, or given back */
    OPERAND_FETCHING, /* comes from another server */
    OPERAND_READING,  /* comes from the disk */
    OPERAND_CUTTING,  /* a thread copies a section of it, or checks its values */
    OPERAND_HERE,     /* the memory is there */
    OPERAND_LATE,     /* a result of unknown length, or without room in the store */
    OPERAND_STORING,  /* a result on its way to the disk */
    OPERAND_STORED    /* a result that is a datum now */
};

struct operand {
    struct operands *of;
    uint32_t index; /* of the argument */
    bool kept;      /* a result; else an input */
    enum operand_state state;
    struct datum_id id;           /* of a result: known from OPERAND_HERE on */
    struct datum_shape shape;     /* that the argument has */
    struct datum_section section; /* of an input */
    char *sources[CAP_SOURCES];   /* of an input: addresses */
    uint32_t n_sources;
    bool asked, stays;    /* a holder has counted the request for a copy, and lets the copy stay */
    uint32_t n_damaged;   /* times that the file here was damaged, so that the datum is fetched */
    enum datum_mode mode; /* of a result */
    uint32_t flags;
    uint32_t head, tail; /* of a result: bytes at its ends that come with the answer, */
    uint8_t *memory;     /* where they are until the result is stored, */
    uint8_t *edges;      /* and then: owned, one end behind the other; NULL: none */
    bool late;           /* a result (strings) for which room is made when it has come */
    bool as_it_lies;     /* a result that stays in the pieces in which ranks compute it */
    bool straight;       /* a result that is written straight to its file, for want of memory */
    struct store_pin *pin;
    struct job_file file;
    struct job_file sent; /* of a result that is also an input: where it is in the segment */
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

/* Makes the operands of a new session. ESP_INVALID: a malformed identity; ESP_REFUSED: the server keeps no
 * data; ESP_NO_MEMORY: also if the store can never hold all of them. */
enum esp_status server_operands_create(struct server *server, struct session *session,
                                       const struct call_plan *plan, const struct call *call,
                                       struct esp_error *error);
/* Gets operands that are not here. A failure ends the session. Returns whether all are here. */
bool server_operands_step(struct server *server, struct session *session);
/* The implementation and the grid are chosen: sets the layout of results that stay in pieces. */
void server_operands_lay(struct session *session);
/* The routine has returned well: stores its results as data. Strings without room in the store are returned
 * like other results. True: results are being written to the disk, and the session ends later. *error: a
 * result could not be stored. */
bool server_operands_store(struct server *server, struct session *session, struct esp_error *error);
/* Adds EXTENSION_EDGES of its results to the report of a session that is done. False without memory. */
bool operands_add_edges(const struct session *session, struct extensions *extensions, struct arena *arena);
/* Gives all operands back. `whole`: stored results stay; else they are deleted. */
void server_operands_release(struct server *server, struct session *session, bool whole);
void server_operands_free(struct session *session);
/* The store may have room again for sessions that it had none for. */
void server_operands_retry(struct server *server);
/* A thread checks the values of operands: they stay until then, also if the session ends meanwhile. */
void server_operands_hold(struct session *session);
void server_operands_unhold(struct server *server, struct session *session);
/* A thread that worked for the session (`moving`) is done; the session may have ended meanwhile. */
void server_leave_session(struct server *server, struct session *session);
/* The values of an input that the worker copies before it overwrites them; NULL: the argument is not such an
 * input. */
const void *operands_source(const struct session *session, uint32_t index);
/* Mapped data could not be read (careful_read()): has their files verified. ESP_SYSTEM. */
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
