/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/table_parts.h"
#include "client/session/outcome.h"

#include <limits.h>
#include <stdlib.h>
#include <utlist.h>

/* Goes on from one life of the library to the next: an old id stays invalid. */
static atomic_uint last_id;

enum esp_status table_create(struct table **result, struct esp_error *error)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return error_no_memory(error, "the table of sessions");
    enum esp_status status = failures_create(&table->failures, error);
    if (status != ESP_OK) {
        free(table);
        return status;
    }
    table->last_id = (grpc_sessionid_t)(atomic_load(&last_id) % INT_MAX);
    table->first_id = table->last_id + 1;
    pthread_mutex_init(&table->lock, NULL);
    pthread_cond_init(&table->changed, NULL);
    *result = table;
    return ESP_OK;
}

void table_destroy(struct table *table)
{
    if (!table)
        return;
    struct ticket *ticket, *next;
    HASH_ITER(hh, table->tickets, ticket, next)
    {
        HASH_DEL(table->tickets, ticket);
        session_discard(ticket->session);
        free(ticket->past);
        free(ticket);
    }
    failures_destroy(table->failures);
    pthread_cond_destroy(&table->changed);
    pthread_mutex_destroy(&table->lock);
    free(table);
}

/* ---- with the lock held ---- */

struct ticket *table_find(struct table *table, grpc_sessionid_t id)
{
    struct ticket *ticket;
    HASH_FIND_INT(table->tickets, &id, ticket);
    return ticket;
}

static grpc_sessionid_t draw_id(struct table *table)
{
    grpc_sessionid_t id;
    do
        id = (grpc_sessionid_t)(atomic_fetch_add(&last_id, 1) % INT_MAX) + 1;
    while (table_find(table, id));
    if (id < table->last_id) { /* after 2,147,483,647 sessions */
        table->first_id = id;
        failures_clear(table->failures);
    }
    return table->last_id = id;
}

/* It was never told. */
static void give_back_id(struct table *table, grpc_sessionid_t id)
{
    unsigned drawn = (unsigned)id;
    if (atomic_compare_exchange_strong(&last_id, &drawn, drawn - 1))
        table->last_id--;
}

bool table_is_past(struct table *table, grpc_sessionid_t id)
{
    return id >= table->first_id && id <= table->last_id && !table_find(table, id);
}

enum esp_status table_how_it_ended(const struct ticket *ticket, struct esp_error *error)
{
    enum esp_status status = ticket->past ? ticket->past->status : ticket->session->error.status;
    if (status == ESP_OK)
        return status;
    return error_set(error, status, "%s", ticket->past ? ticket->past->text : ticket->session->error.text);
}

/* ---- starting and ending ---- */

static void note_failed(struct table *table, struct ticket *ticket, const struct esp_error *why)
{
    grpc_sessionid_t forgotten;
    ticket->pinned = !failures_add(table->failures, ticket->id, why, &forgotten);
    if (forgotten >= table->first_id)
        table->first_id = forgotten + 1;
}

/* In a pool thread, the last thing done with the session. */
static void on_ended(struct session *session, void *arg)
{
    struct ticket *ticket = arg;
    struct table *table = ticket->table;
    pthread_mutex_lock(&table->lock);
    session_compact(session); /* the arguments are the caller's again */
    ticket->ended = true;
    DL_DELETE(table->running, ticket);
    DL_APPEND(table->ended, ticket);
    if (session->error.status != ESP_OK)
        note_failed(table, ticket, &session->error);
    pthread_cond_broadcast(&table->changed);
    pthread_mutex_unlock(&table->lock);
}

static bool insert(struct table *table, struct ticket *ticket)
{
    ticket->id = draw_id(table);
    HASH_ADD_INT(table->tickets, id, ticket);
    if (!ticket->hh.tbl) {
        give_back_id(table, ticket->id);
        return false;
    }
    ticket->serial = ++table->last_serial;
    DL_APPEND(table->running, ticket);
    return true;
}

enum esp_status table_start(struct table *table, struct session *session, grpc_function_handle_t *handle,
                            grpc_sessionid_t *id, struct esp_error *error)
{
    enum esp_status status = ESP_NO_MEMORY;
    struct ticket *ticket = calloc(1, sizeof *ticket);
    if (ticket) {
        *ticket = (struct ticket){.handle = handle,
                                  .handle_number = handle ? handle->esp_number : 0,
                                  .table = table,
                                  .session = session};
        session->ended = on_ended;
        session->arg = ticket;
        pthread_mutex_lock(&table->lock);
        if (insert(table, ticket)) {
            /* With the lock held: the session cannot be reported as ended before *id is set. */
            *id = ticket->id;
            status = session_start(session, error);
            if (status != ESP_OK) {
                DL_DELETE(table->running, ticket);
                HASH_DEL(table->tickets, ticket);
                give_back_id(table, ticket->id);
            }
        }
        pthread_mutex_unlock(&table->lock);
    }
    if (status == ESP_NO_MEMORY)
        error_no_memory(error, "a session");
    if (status != ESP_OK) {
        engine_retire(session->engine, session);
        session_discard(session);
        free(ticket);
        *id = GRPC_SESSIONID_VOID;
    }
    return status;
}

bool table_drain(struct table *table, const struct timespec *until)
{
    int waited = 0;
    pthread_mutex_lock(&table->lock);
    while (table->running && waited == 0)
        waited = pthread_cond_timedwait(&table->changed, &table->lock, until);
    bool drained = !table->running;
    pthread_mutex_unlock(&table->lock);
    return drained;
}

/* ---- cancelling ---- */

/* With the lock held, which is free while the server is told. */
static void cancel_ticket(struct table *table, struct ticket *ticket)
{
    ticket->users++;
    ticket->cancelling++;
    pthread_mutex_unlock(&table->lock);
    session_cancel(ticket->session);
    pthread_mutex_lock(&table->lock);
    ticket->cancelling--;
    ticket->users--;
}

grpc_error_t table_cancel(struct table *table, grpc_sessionid_t id)
{
    pthread_mutex_lock(&table->lock);
    struct ticket *ticket = table_find(table, id);
    if (ticket && !ticket->ended)
        cancel_ticket(table, ticket);
    bool known = ticket || table_is_past(table, id);
    pthread_mutex_unlock(&table->lock);
    return known ? GRPC_NO_ERROR : GRPC_INVALID_SESSION_ID;
}

void table_cancel_all(struct table *table)
{
    pthread_mutex_lock(&table->lock);
    /* The latest first: those that wait on a server are not to begin because those that run are cancelled. */
    for (uint64_t before = table->last_serial + 1;;) {
        struct ticket *ticket = table->running ? table->running->prev : NULL;
        while (ticket && ticket->serial >= before)
            ticket = ticket == table->running ? NULL : ticket->prev;
        if (!ticket)
            break;
        before = ticket->serial;
        cancel_ticket(table, ticket);
    }
    pthread_mutex_unlock(&table->lock);
}

/* ---- telling ---- */

grpc_error_t table_get_error(struct table *table, grpc_sessionid_t id, struct esp_error *error)
{
    grpc_error_t code = GRPC_INVALID_SESSION_ID;
    pthread_mutex_lock(&table->lock);
    const struct ticket *ticket = table_find(table, id);
    if (ticket && !ticket->ended) {
        code = GRPC_NO_ERROR; /* a session that runs has no error yet */
    } else if (ticket) {
        code = outcome_code(table_how_it_ended(ticket, error));
    } else if (table_is_past(table, id)) {
        code = outcome_code(failures_find(table->failures, id, error));
    }
    pthread_mutex_unlock(&table->lock);
    return code;
}

grpc_sessionid_t table_next_failed(struct table *table)
{
    pthread_mutex_lock(&table->lock);
    grpc_sessionid_t id = failures_next(table->failures);
    pthread_mutex_unlock(&table->lock);
    return id;
}

grpc_error_t table_get_handle(struct table *table, grpc_sessionid_t id, grpc_function_handle_t **handle,
                              uint64_t *number)
{
    pthread_mutex_lock(&table->lock);
    const struct ticket *ticket = table_find(table, id);
    if (ticket) {
        *handle = ticket->handle;
        *number = ticket->handle_number;
    }
    pthread_mutex_unlock(&table->lock);
    return ticket ? GRPC_NO_ERROR : GRPC_INVALID_SESSION_ID;
}

bool table_look(struct table *table, grpc_sessionid_t id,
                void (*look)(struct session *session, const struct past *past, void *arg), void *arg)
{
    pthread_mutex_lock(&table->lock);
    const struct ticket *ticket = table_find(table, id);
    if (ticket)
        look(ticket->session, ticket->past, arg);
    pthread_mutex_unlock(&table->lock);
    return ticket != NULL;
}
