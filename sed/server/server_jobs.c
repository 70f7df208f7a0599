/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs: sessions that outlive their clients. Their memory is counted, so that results that nobody fetches
 * cannot fill the server.
 */
#include "sed/server/server_state.h"
#include "util/bytes.h"

/* Sessions that are kept for a day are bounded well below what a server can hold. */
#define MOST_JOBS 10000

enum esp_status server_check_job(const struct server *server, const char *problem, uint64_t bytes,
                                 struct esp_error *error)
{
    uint64_t most = server->options.memory_bytes / 2;
    char size[BYTES_TEXT], taken[BYTES_TEXT], limit[BYTES_TEXT];
    if (server->sessions.n_jobs >= MOST_JOBS)
        return error_set(error, ESP_LIMIT, "server %s has %u jobs that nobody has fetched; at most %u",
                         server->name, server->sessions.n_jobs, MOST_JOBS);
    /* The first job may take what it needs, as there is no other result to fetch. */
    if (server->sessions.n_jobs == 0 ||
        (server->sessions.job_bytes <= most && bytes <= most - server->sessions.job_bytes))
        return ESP_OK;
    return error_set(
        error, ESP_LIMIT,
        "%s: jobs and their results may take %s on server %s (half of memory in its file); %s are taken, "
        "this one needs %s: results have to be fetched first",
        problem, bytes_text(most, limit), server->name, bytes_text(server->sessions.job_bytes, taken),
        bytes_text(bytes, size));
}

void server_job_begins(struct server *server, struct session *session)
{
    if (session->job_counted)
        return;
    session->job_counted = true;
    server->sessions.n_jobs++;
    server->sessions.job_bytes += session->memory.bytes;
}

void server_job_ends(struct server *server, struct session *session)
{
    if (!session->job_counted)
        return;
    session->job_counted = false;
    server->sessions.n_jobs--;
    server->sessions.job_bytes -= session->memory.bytes;
}

void server_job_resized(struct server *server, const struct session *session, uint64_t before, uint64_t now)
{
    if (session->job_counted)
        server->sessions.job_bytes = server->sessions.job_bytes - before + now;
}

enum esp_status server_keep_job(struct server *server, struct session *session, struct esp_error *error)
{
    if (session->detached)
        return ESP_OK;
    enum esp_status status = ESP_OK;
    if (!session->job_counted)
        status = server_check_job(server, session->problem->name, session->memory.bytes, error);
    if (status != ESP_OK)
        return status;
    server_job_begins(server, session);
    session->detached = true;
    return ESP_OK;
}

bool server_tell_lease(const struct server *server, const struct session *session, struct message *reply)
{
    if (!session->detached)
        return true;
    struct extension *extension = arena_alloc(&reply->arena, sizeof *extension);
    uint8_t *bytes = arena_alloc(&reply->arena, LEASE_BYTES);
    if (!extension || !bytes)
        return false;
    int64_t left_ns = server->options.job_lease_ns;
    if (session->dropped)
        left_ns = 0;
    else if (session_has_ended(session))
        left_ns -= server_now(server) - session->ended_ns;
    lease_put(left_ns > 0 ? (uint64_t)(left_ns / NS_PER_MS) : 0, bytes);
    *extension = (struct extension){EXTENSION_JOB_LEASE, bytes, LEASE_BYTES};
    reply->follow_reply.extensions = (struct extensions){extension, 1};
    return true;
}
