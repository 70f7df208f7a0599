/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections of data: what a call asks of a datum is copied out of it, on the server, to the argument's place.
 */
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"

#include "core/redistribution/pieces.h"
#include "util/careful.h"

#include <stdio.h>
#include <stdlib.h>

#define AT_ONCE_BYTES ((uint64_t)1 << 20) /* shorter than handing it to another thread */

struct cutting {
    struct thread_job job;
    struct operand *operand;
    struct section cut;
    bool in_pieces;
    struct block_cyclic_matrix layout; /* of the pieces */
    const void *from;                  /* pinned */
    void *to; /* in the session's segment, which stays while the session is `moving` */
    void (*done)(struct operand *operand, bool whole);
};

/* Of an argument of which only a section travels, the datum is the whole array. */
static enum esp_status section_of_argument(const struct operand *operand, struct section *cut,
                                           struct esp_error *error)
{
    const struct session *session = operand->of->session;
    const struct datum_shape *whole = store_pin_shape(operand->pin);
    const char *name = session->problem->arguments[operand->index].name;
    enum esp_status status = datum_shape_fits(&operand->shape, whole, name, error);
    return status == ESP_OK ? problem_section(session->problem, operand->index, session->job.scope,
                                              operand->shape.dims, cut, error)
                            : status;
}

static enum esp_status make_section(const struct operand *operand, struct section *cut,
                                    struct esp_error *error)
{
    struct datum_shape part;
    const struct session *session = operand->of->session;
    const char *name = session->problem->arguments[operand->index].name;
    if (session->problem->arguments[operand->index].is_section)
        return section_of_argument(operand, cut, error);
    enum esp_status status =
        datum_section_take(&operand->section, store_pin_shape(operand->pin), &part, cut, error);
    if (status != ESP_OK)
        return error_prefix(error, "%s", name);
    datum_shape_squeeze(&part.n_dims, part.dims, operand->shape.n_dims);
    status = datum_shape_fits(&operand->shape, &part, name, error);
    if (status == ESP_OK && part.bytes != session->job.arguments[operand->index].bytes)
        return error_set(error, ESP_INTERNAL, "%s: a section has %llu bytes, its place %llu", name,
                         (unsigned long long)part.bytes,
                         (unsigned long long)session->job.arguments[operand->index].bytes);
    return status;
}

static struct pieces_range range_of(const struct section *cut, uint32_t d)
{
    return d < cut->n_dims ? (struct pieces_range){cut->start[d], cut->skip[d], cut->count[d]}
                           : (struct pieces_range){0, 1, 1};
}

static void gather(void *arg)
{
    const struct cutting *cutting = arg;
    const struct section *cut = &cutting->cut;
    if (cutting->in_pieces)
        pieces_gather(&cutting->layout, cutting->from, range_of(cut, 0), range_of(cut, 1), cutting->to,
                      cut->element);
    else
        section_gather(cut, cutting->from, cutting->to);
}

static void run(void *arg)
{
    struct cutting *cutting = arg;
    struct server *server = cutting->operand->of->server;
    const bool whole = careful_read(gather, cutting);
    endpoint_enter(server->endpoint);
    cutting->done(cutting->operand, whole);
    endpoint_leave(server->endpoint);
    free(cutting);
}

static bool hand_out(struct server *server, const struct cutting *what)
{
    struct cutting *cutting = malloc(sizeof *cutting);
    if (!cutting)
        return false;
    *cutting = *what;
    cutting->job = (struct thread_job){.run = run, .arg = cutting};
    what->operand->state = OPERAND_CUTTING;
    if (server_data_submit(server->data, &cutting->job))
        return true;
    what->operand->state = OPERAND_HERE;
    free(cutting);
    return false;
}

enum esp_status server_operand_cut(struct server *server, struct operand *operand,
                                   void (*done)(struct operand *operand, bool whole), struct esp_error *error)
{
    struct cutting cutting = {.operand = operand,
                              .from = store_pin_memory(operand->pin)->data,
                              .to = session_argument_data(operand->of->session, operand->index),
                              .done = done};
    cutting.in_pieces = datum_shape_layout(store_pin_shape(operand->pin), &cutting.layout);
    enum esp_status status = make_section(operand, &cutting.cut, error);
    uint64_t bytes = operand->of->session->job.arguments[operand->index].bytes;
    if (status != ESP_OK || bytes == 0 || (bytes > AT_ONCE_BYTES && hand_out(server, &cutting)))
        return status;
    return careful_read(gather, &cutting) /* small, or nobody else can */
               ? ESP_OK
               : operands_tell_unreadable(operand->of->session, error);
}
