/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"

#include <inttypes.h>

static enum esp_status check_bounds(const struct session *session, const struct chunk *chunk,
                                    struct esp_error *error)
{
    const struct problem *problem = session->problem;
    if (chunk->argument >= problem->n_arguments)
        return error_set(error, ESP_INVALID, "%s: it has no argument number %" PRIu32, problem->name,
                         chunk->argument);
    uint64_t bytes = session->job.arguments[chunk->argument].bytes;
    const char *name = problem->arguments[chunk->argument].name;
    if (chunk->offset > bytes)
        return error_set(error, ESP_INVALID, "%s: %s: a chunk at byte %" PRIu64 " of %" PRIu64, problem->name,
                         name, chunk->offset, bytes);
    return ESP_OK;
}

static enum esp_status check_put(const struct session *session, const struct chunk *chunk,
                                 struct esp_error *error)
{
    enum esp_status status = check_bounds(session, chunk, error);
    if (status != ESP_OK)
        return status;
    if (session->cut_short && session_has_ended(session))
        return error_set(error, ESP_NOT_FOUND, "%s", session->error.text);
    const char *name = session->problem->arguments[chunk->argument].name;
    uint64_t bytes = session->job.arguments[chunk->argument].bytes;
    if (session->arguments[chunk->argument].kind != KIND_BULK)
        return error_set(error, ESP_INVALID, "%s: %s: the call did not announce it in chunks",
                         session->problem->name, name);
    if (chunk->length > bytes - chunk->offset)
        return error_set(error, ESP_INVALID,
                         "%s: %s: expected a chunk within its %" PRIu64 " bytes, found %" PRIu64
                         " bytes at %" PRIu64,
                         session->problem->name, name, bytes, chunk->length, chunk->offset);
    if (session->state == SESSION_WAITING)
        return error_set(error, ESP_INVALID, "%s: a chunk came before the server had memory for it",
                         session->problem->name);
    return ESP_OK;
}

static enum esp_status check_get(const struct session *session, const struct chunk *chunk,
                                 struct esp_error *error)
{
    enum esp_status status = check_bounds(session, chunk, error);
    if (status != ESP_OK)
        return status;
    const char *name = session->problem->arguments[chunk->argument].name;
    if (session->state == SESSION_FAILED || session->state == SESSION_CANCELLED)
        return error_set(error, session->error.status, "%s", session->error.text);
    if (session->state != SESSION_DONE)
        return error_set(error, ESP_PENDING, "%s: there is no result yet, the session is %s",
                         session->problem->name, session_state_name(session->state));
    if (!argument_is_output(&session->problem->arguments[chunk->argument]))
        return error_set(error, ESP_INVALID, "%s: %s is no result", session->problem->name, name);
    if (operands_result(session, chunk->argument))
        return error_set(error, ESP_INVALID, "%s: %s is a datum now: read it by its identity",
                         session->problem->name, name);
    if (!session_argument_data(session, chunk->argument) && session->job.arguments[chunk->argument].bytes > 0)
        return error_set(error, ESP_INVALID, "%s: the call did not want %s back", session->problem->name,
                         name);
    return ESP_OK;
}

static struct message *chunk_answer(uint64_t length)
{
    struct message *reply = message_create(MESSAGE_CHUNK_REPLY);
    if (reply)
        reply->chunk_reply.length = length;
    return reply;
}

void server_on_chunk(void *self, const struct message *header, bool write, struct chunk_area *area)
{
    struct server *server = self;
    const struct chunk *chunk = &header->chunk;
    struct esp_error error;
    if (chunk->flags & CHUNK_DATUM) {
        server_data_on_chunk(server->data, header, write, area);
        return;
    }
    struct session *session = server_find_session(server, &chunk->session, &error);
    enum esp_status status = session ? ESP_OK : error.status;
    if (session)
        status = write ? check_put(session, chunk, &error) : check_get(session, chunk, &error);
    if (status != ESP_OK) {
        char text[SESSION_TEXT];
        log_write(LOG_WARNING_LEVEL, session_id_text(&chunk->session, text), "refused: %s", error.text);
        area->reply = message_failure(MESSAGE_CHUNK_REPLY, status, "%s", error.text);
        return;
    }
    if (write && (session->state != SESSION_RECEIVING || session->arguments[chunk->argument].was_lent)) {
        /* Said again: it is there already, and the routine may be reading it. */
        area->reply = chunk_answer(chunk->length);
        return;
    }
    uint64_t left = session->job.arguments[chunk->argument].bytes - chunk->offset;
    area->length = chunk->length < left ? chunk->length : left;
    if (area->length == 0) {
        area->reply = chunk_answer(0);
        return;
    }
    server_traffic_begins(server);
    area->data = session_argument_data(session, chunk->argument) + chunk->offset;
    area->hold = session;
    if (!write && session->arguments[chunk->argument].asked_ns == 0)
        session->arguments[chunk->argument].asked_ns = server_now(server);
    area->fresh = session->segment && session->segment->fresh;
    session->moving++;
}

void server_on_chunk_done(void *self, const struct message *header, bool write, struct chunk_area *area,
                          bool complete)
{
    struct server *server = self;
    struct session *session = area->hold;
    const struct chunk *chunk = &header->chunk;
    if (chunk->flags & CHUNK_DATUM) {
        server_data_on_chunk_done(server->data, write, area, complete);
        return;
    }
    session->moving--;
    server_traffic_ends(server);
    session->heard_ns = server_now(server);
    if (!complete) {
        server_client_lost(server, session->client);
        if (write)
            server_part_session(server, session);
    }
    if (write && complete && session->state == SESSION_RECEIVING) {
        server_look_at_piece(session, chunk->argument, area->data, area->length);
        ranges_add(&session->arguments[chunk->argument].arrived, chunk->offset, chunk->offset + area->length,
                   NULL); /* what cannot be counted is missing at run, which says so */
    }
    if (!write && complete)
        server_trace_fetched(server, session, chunk->argument, chunk->offset + area->length);
    if (session->moving > 0)
        return;
    if (!session->client && session_has_ended(session)) {
        server_release_session(server, session);
        return;
    }
    if (session->state == SESSION_RECEIVING && session->run_asked) {
        session->run_asked = false;
        server_make_ready(server, session, NULL);
    }
    server_settle_memory(server, session);
}
