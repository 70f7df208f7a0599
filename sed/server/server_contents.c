/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of arrays against their descriptions: finite numbers, valid indices, and pointers within their
 * matrix. Client libraries check, too, but a server does not rely on it: a wrong index would send a routine
 * anywhere in its worker.
 *
 * Pieces of large arrays are checked as they arrive, while they are in the cache. The whole array is checked
 * only if a piece was bad, or could not be checked on its own. A thread checks large arrays, without the
 * endpoint's lock.
 */
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"
#include "util/careful.h"

#include <stdlib.h>

static bool is_compressed(const struct argument *argument)
{
    return argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR;
}

static bool is_looked_at(const struct argument *argument)
{
    return argument_is_input(argument) &&
           ((argument->properties & PROPERTY_FINITE) || argument->index_of || is_compressed(argument));
}

/* Arrays that are needed to check another one must not change meanwhile, either. */
bool server_looks_at(const struct problem *problem, uint32_t index)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        bool leads = is_compressed(argument) && (argument->pointers == index || argument->indices == index);
        if (is_looked_at(argument) && (i == index || leads))
            return true;
    }
    return false;
}

void server_look_at_piece(struct session *session, uint32_t index, const void *data, uint64_t bytes)
{
    const struct argument *argument = &session->problem->arguments[index];
    if ((argument->properties & PROPERTY_FINITE) && !problem_piece_is_finite(argument, data, bytes))
        session->arguments[index].suspect = true;
}

/* All pieces were checked: that suffices for full and packed arrays. */
static bool was_told_by_pieces(const struct session *session, uint32_t index)
{
    const struct argument *argument = &session->problem->arguments[index];
    return session->arguments[index].kind == KIND_BULK && !session->arguments[index].suspect &&
           argument->storage != STORAGE_BANDED && !is_compressed(argument) && !argument->index_of;
}

/* The arrays that belong to a csc or csr matrix, too. */
static void gather(const struct session *session, const void **data)
{
    const struct problem *problem = session->problem;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!is_looked_at(argument) || session->arguments[i].kind == KIND_ABSENT ||
            session->arguments[i].kind == KIND_WANTED || was_told_by_pieces(session, i))
            continue;
        /* The worker copies a datum that the routine overwrites, so its values are not in their place yet. */
        data[i] = operands_source(session, i);
        if (!data[i])
            data[i] = session_argument_data(session, i);
        if (!is_compressed(argument))
            continue;
        data[argument->pointers] = session_argument_data(session, argument->pointers);
        data[argument->indices] = session_argument_data(session, argument->indices);
    }
}

#define AT_ONCE_BYTES ((uint64_t)1 << 20) /* checked faster than another thread starts */

/* The arrays to check. Their memory stays while the session is `moving`. */
struct looking {
    struct thread_job job;
    struct server *server;
    struct session *session;
    const void *data[PROBLEM_MAX_ARGUMENTS];
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    enum esp_status status;
    struct esp_error error;
};

static enum esp_status bind(struct looking *looking, struct esp_error *error)
{
    const struct session *session = looking->session;
    const struct problem *problem = session->problem;
    const void *values[PROBLEM_MAX_ARGUMENTS] = {0};
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (session->arguments[i].kind != KIND_ABSENT)
            values[i] =
                session_argument_data(session, i) ? (const void *)session_argument_data(session, i) : "";
    return problem_bind(problem, values, looking->scope, looking->shapes, error);
}

static uint64_t bytes_of(const struct looking *looking)
{
    const struct session *session = looking->session;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < session->problem->n_arguments; i++)
        bytes += looking->data[i] ? session->job.arguments[i].bytes : 0;
    return bytes;
}

static void look(void *arg)
{
    struct looking *looking = arg;
    looking->status = problem_check_contents(looking->session->problem, looking->data, looking->scope,
                                             looking->shapes, &looking->error);
}

static void look_run(void *arg)
{
    struct looking *looking = arg;
    struct server *server = looking->server;
    struct session *session = looking->session;
    const bool readable = careful_read(look, looking);
    endpoint_enter(server->endpoint);
    if (!readable)
        looking->status = operands_tell_unreadable(session, &looking->error);
    bool goes_on = !session_has_ended(session);
    server_operands_unhold(server, session);
    session->looked_at = looking->status == ESP_OK;
    if (goes_on && !session->looked_at)
        server_end_session(server, session, SESSION_FAILED, &looking->error);
    server_leave_session(server, session);
    if (goes_on && looking->status == ESP_OK)
        server_proceed(server, session);
    endpoint_leave(server->endpoint);
    free(looking);
}

static bool hand_out(struct server *server, struct looking *looking)
{
    if (bytes_of(looking) <= AT_ONCE_BYTES)
        return false;
    looking->job = (struct thread_job){.run = look_run, .arg = looking};
    server_operands_hold(looking->session);
    looking->session->moving++;
    if (server_data_submit(server->data, &looking->job))
        return true;
    looking->session->moving--;
    server_operands_unhold(server, looking->session);
    return false;
}

static bool is_anything(const struct looking *looking)
{
    for (uint32_t i = 0; i < looking->session->problem->n_arguments; i++)
        if (looking->data[i])
            return true;
    return false;
}

static bool looks_at_any(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (is_looked_at(&problem->arguments[i]))
            return true;
    return false;
}

enum esp_status server_check_contents(struct server *server, struct session *session, struct esp_error *error)
{
    if (session->looked_at || !looks_at_any(session->problem))
        return ESP_OK;
    struct looking *looking = calloc(1, sizeof *looking);
    if (!looking)
        return error_no_memory(error, "a look at the arguments");
    looking->server = server;
    looking->session = session;
    gather(session, looking->data);
    enum esp_status status = is_anything(looking) ? bind(looking, error) : ESP_OK;
    if (status == ESP_OK && is_anything(looking)) {
        if (hand_out(server, looking))
            return ESP_PENDING; /* the thread frees it */
        status = careful_read(look, looking) ? looking->status
                                             : operands_tell_unreadable(session, &looking->error);
        if (status != ESP_OK)
            *error = looking->error;
    }
    free(looking);
    return status;
}
