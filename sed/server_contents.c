/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether arrays hold what their description asks for: finite numbers, and pointers and indices that stay
 * within their matrix. Client libraries look too, but a server does not believe that they did: a wrong index
 * would send a routine anywhere in its worker.
 *
 * With the endpoint's lock, so a large array must not be read in one go: its pieces are looked at as they
 * arrive, while they are in the cache, and the whole only when a piece was bad or could not be told by
 * itself.
 */
#include "sed/server_operands.h"
#include "sed/server_state.h"

static bool is_compressed(const struct argument *argument)
{
    return argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR;
}

static bool is_looked_at(const struct argument *argument)
{
    return argument_is_input(argument) &&
           ((argument->properties & PROPERTY_FINITE) || is_compressed(argument));
}

/* What one of them is looked at by must not change meanwhile, either. */
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
    if (is_looked_at(argument) && !problem_piece_is_finite(argument, data, bytes))
        session->arguments[index].suspect = true;
}

/* All that came in pieces was looked at: of full and packed arrays that says everything. */
static bool was_told_by_pieces(const struct session *session, uint32_t index)
{
    const struct argument *argument = &session->problem->arguments[index];
    return session->arguments[index].kind == KIND_BULK && !session->arguments[index].suspect &&
           argument->storage != STORAGE_BANDED && !is_compressed(argument);
}

/* Arrays that a csc or csr matrix needs beside it, as well. */
static void gather(const struct session *session, const void **data)
{
    const struct problem *problem = session->problem;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!is_looked_at(argument) || session->arguments[i].kind == KIND_ABSENT ||
            was_told_by_pieces(session, i))
            continue;
        /* A datum that the routine writes over is copied by the worker: it is not in its place yet. */
        data[i] = operands_source(session, i);
        if (!data[i])
            data[i] = session_argument_data(session, i);
        if (!is_compressed(argument))
            continue;
        data[argument->pointers] = session_argument_data(session, argument->pointers);
        data[argument->indices] = session_argument_data(session, argument->indices);
    }
}

enum esp_status server_check_contents(const struct session *session, struct esp_error *error)
{
    const struct problem *problem = session->problem;
    const void *data[PROBLEM_MAX_ARGUMENTS] = {0}, *values[PROBLEM_MAX_ARGUMENTS] = {0};
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    bool any = false;
    gather(session, data);
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        any |= data[i] != NULL;
        if (session->arguments[i].kind != KIND_ABSENT)
            values[i] =
                session_argument_data(session, i) ? (const void *)session_argument_data(session, i) : "";
    }
    if (!any)
        return ESP_OK;
    enum esp_status status = problem_bind(problem, values, scope, shapes, error);
    return status == ESP_OK ? problem_check_contents(problem, data, scope, shapes, error) : status;
}
