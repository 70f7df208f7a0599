/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/table.h"
#include "client/session/failures.h"
#include "client/session/marks.h"
#include "client/session/session.h"
#include "util/hash.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

struct ticket {
    UT_hash_handle hh;
    grpc_sessionid_t id;
    uint64_t serial; /* in the order of starting; ids are reused */
    grpc_function_handle_t *handle;
    uint64_t handle_number;
    struct table *table;
    struct session *session; /* until it is reported, then */
    struct past *past;       /* the stored information; NULL: there was no memory */
    bool ended, reported;
    bool pinned;         /* it failed, and there was no memory to remember that */
    unsigned cancelling; /* threads that access the session without the lock */
    unsigned users;      /* threads that access it without the lock, or wait for it */
    struct ticket *prev, *next;
};

struct table {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct ticket *tickets; /* by id */
    struct ticket *running, *ended, *reported;
    unsigned n_reported;
    uint64_t last_serial;
    grpc_sessionid_t first_id, last_id; /* known ids: these and all between them */
    struct failures *failures;
};

/* Continues over initializations, so that an old id stays invalid. */
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

/* Called with the lock held. Returns NULL if there is no such ticket, or if it was dropped. */
static struct ticket *table_find(struct table *table, grpc_sessionid_t id)
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

/* Takes back an id that the program never got. */
static void give_back_id(struct table *table, grpc_sessionid_t id)
{
    unsigned drawn = (unsigned)id;
    if (atomic_compare_exchange_strong(&last_id, &drawn, drawn - 1))
        table->last_id--;
}

/* Called with the lock held. Whether the session was reported so long ago that only its result is known. */
static bool table_is_past(struct table *table, grpc_sessionid_t id)
{
    return id >= table->first_id && id <= table->last_id && !table_find(table, id);
}

/* For an ended session; sets `error` if it failed. */
static enum esp_status table_how_it_ended(const struct ticket *ticket, struct esp_error *error)
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

/* Wakes a caller that polls. Called with the table's lock held, so that the caller finds the session
 * ended. */
static void wake_caller(const struct session *session)
{
    const uint64_t one = 1;
    if (session->ended_fd > 0 && write(session->ended_fd, &one, sizeof one) < 0)
        return; /* the caller has closed the descriptor */
}

/* Called in a pool thread, as the last use of the session. */
static void on_ended(struct session *session, void *arg)
{
    struct ticket *ticket = arg;
    struct table *table = ticket->table;
    pthread_mutex_lock(&table->lock);
    session_compact(session); /* the arguments belong to the caller again */
    ticket->ended = true;
    DL_DELETE(table->running, ticket);
    DL_APPEND(table->ended, ticket);
    if (session->error.status != ESP_OK)
        note_failed(table, ticket, &session->error);
    pthread_cond_broadcast(&table->changed);
    wake_caller(session);
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
    bool is_here = false;
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
            /* The lock is held, so that the session is not reported as ended before *id is set. */
            *id = ticket->id;
            is_here = session->here && !session->work;
            status = is_here ? ESP_OK : session_start(session, error);
            if (status != ESP_OK) {
                DL_DELETE(table->running, ticket);
                HASH_DEL(table->tickets, ticket);
                give_back_id(table, ticket->id);
            }
        }
        pthread_mutex_unlock(&table->lock);
    }
    if (is_here && status == ESP_OK)
        session_start_here(session); /* without the lock, which the session's end takes */
    if (status == ESP_NO_MEMORY)
        error_no_memory(error, "a session");
    if (status != ESP_OK) {
        marks_retire(session->engine, session);
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

/* Called with the lock held, which is released while the server is informed. */
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
    /* The latest first, so that cancelling a running session does not start one that waits on the server. */
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

/* ---- information ---- */

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

/* ---- called with the lock held ---- */

/* Drops the oldest reported tickets, except those that a thread accesses. */
static void trim(struct table *table)
{
    struct ticket *ticket, *next;
    DL_FOREACH_SAFE(table->reported, ticket, next)
    {
        if (table->n_reported <= TABLE_HISTORY)
            break;
        if (ticket->users > 0 || ticket->pinned)
            continue;
        DL_DELETE(table->reported, ticket);
        table->n_reported--;
        HASH_DEL(table->tickets, ticket);
        session_discard(ticket->session);
        free(ticket->past);
        free(ticket);
    }
}

static void report(struct table *table, struct ticket *ticket)
{
    if (ticket->reported)
        return;
    ticket->reported = true;
    DL_DELETE(table->ended, ticket);
    /* Other threads may be cancelling the session; then it stays whole until it is dropped. */
    if (ticket->cancelling == 0 && (ticket->past = past_keep(ticket->session))) {
        session_discard(ticket->session);
        ticket->session = NULL;
    }
    DL_APPEND(table->reported, ticket);
    table->n_reported++;
}

static grpc_error_t result(const struct ticket *ticket, struct esp_error *error)
{
    return table_how_it_ended(ticket, error) == ESP_OK ? GRPC_NO_ERROR : GRPC_SESSION_FAILED;
}

/* For any ended session. */
static grpc_error_t result_of(struct table *table, grpc_sessionid_t id, struct esp_error *error)
{
    const struct ticket *ticket = table_find(table, id);
    if (ticket)
        return result(ticket, error);
    return failures_find(table->failures, id, error) == ESP_OK ? GRPC_NO_ERROR : GRPC_SESSION_FAILED;
}

/* Waits for one session; the ticket stays. */
static void wait_for(struct table *table, struct ticket *ticket)
{
    ticket->users++;
    while (!ticket->ended)
        pthread_cond_wait(&table->changed, &table->lock);
    ticket->users--;
}

/* The session to report: one that has ended and was not reported before, else any ended one.
 * GRPC_SESSIONID_VOID: none has ended.
 */
static grpc_sessionid_t first_ended(struct table *table, const grpc_sessionid_t *ids, size_t n)
{
    grpc_sessionid_t known = GRPC_SESSIONID_VOID;
    for (size_t i = 0; i < n; i++) {
        const struct ticket *ticket = table_find(table, ids[i]);
        if (ticket && ticket->ended && !ticket->reported)
            return ids[i];
        if (known == GRPC_SESSIONID_VOID && (ticket ? ticket->ended : table_is_past(table, ids[i])))
            known = ids[i];
    }
    return known;
}

static bool all_valid(struct table *table, const grpc_sessionid_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!table_find(table, ids[i]) && !table_is_past(table, ids[i]))
            return false;
    return true;
}

/* ---- probing ---- */

grpc_error_t table_probe(struct table *table, grpc_sessionid_t id)
{
    pthread_mutex_lock(&table->lock);
    const struct ticket *ticket = table_find(table, id);
    grpc_error_t code = ticket                     ? ticket->ended ? GRPC_NO_ERROR : GRPC_NOT_COMPLETED
                        : table_is_past(table, id) ? GRPC_NO_ERROR
                                                   : GRPC_INVALID_SESSION_ID;
    pthread_mutex_unlock(&table->lock);
    return code;
}

grpc_error_t table_probe_or(struct table *table, const grpc_sessionid_t *ids, size_t n, grpc_sessionid_t *id)
{
    grpc_error_t code = GRPC_INVALID_SESSION_ID;
    grpc_sessionid_t found = GRPC_SESSIONID_VOID;
    pthread_mutex_lock(&table->lock);
    if (all_valid(table, ids, n)) {
        found = first_ended(table, ids, n);
        code = found != GRPC_SESSIONID_VOID ? GRPC_NO_ERROR : GRPC_NONE_COMPLETED;
    }
    pthread_mutex_unlock(&table->lock);
    *id = found; /* which may be one of `ids` */
    return code;
}

/* ---- waiting ---- */

grpc_error_t table_wait(struct table *table, grpc_sessionid_t id, struct esp_error *error)
{
    return table_wait_and(table, &id, 1, error);
}

/* Keeps the tickets, so that none of them is dropped while another thread waits for thousands of others. */
static void hold_all(struct table *table, const grpc_sessionid_t *ids, size_t n, bool hold)
{
    for (size_t i = 0; i < n; i++) {
        struct ticket *ticket = table_find(table, ids[i]);
        if (ticket && hold)
            ticket->users++;
        else if (ticket)
            ticket->users--;
    }
}

grpc_error_t table_wait_and(struct table *table, const grpc_sessionid_t *ids, size_t n,
                            struct esp_error *error)
{
    grpc_error_t code = GRPC_INVALID_SESSION_ID;
    pthread_mutex_lock(&table->lock);
    if (all_valid(table, ids, n)) {
        code = GRPC_NO_ERROR;
        hold_all(table, ids, n, true);
        for (size_t i = 0; i < n; i++) {
            struct esp_error why;
            struct ticket *ticket = table_find(table, ids[i]);
            if (ticket) {
                wait_for(table, ticket);
                report(table, ticket);
            }
            if (result_of(table, ids[i], &why) == GRPC_SESSION_FAILED && code == GRPC_NO_ERROR) {
                code = GRPC_SESSION_FAILED;
                *error = why;
            }
        }
        hold_all(table, ids, n, false);
        trim(table);
    }
    pthread_mutex_unlock(&table->lock);
    return code;
}

grpc_error_t table_wait_or(struct table *table, const grpc_sessionid_t *ids, size_t n, grpc_sessionid_t *id,
                           struct esp_error *error)
{
    grpc_error_t code = n > 0 ? GRPC_INVALID_SESSION_ID : GRPC_NO_ERROR;
    grpc_sessionid_t found = GRPC_SESSIONID_VOID;
    pthread_mutex_lock(&table->lock);
    if (n > 0 && all_valid(table, ids, n)) {
        while ((found = first_ended(table, ids, n)) == GRPC_SESSIONID_VOID && all_valid(table, ids, n))
            pthread_cond_wait(&table->changed, &table->lock);
        if (found != GRPC_SESSIONID_VOID) {
            code = result_of(table, found, error);
            struct ticket *ticket = table_find(table, found);
            if (ticket)
                report(table, ticket);
            trim(table);
        }
    }
    pthread_mutex_unlock(&table->lock);
    *id = found; /* which may be one of `ids` */
    return code;
}

grpc_error_t table_wait_all(struct table *table, struct esp_error *error)
{
    grpc_error_t code = GRPC_NO_ERROR;
    pthread_mutex_lock(&table->lock);
    uint64_t last = table->last_serial; /* excludes sessions that other threads start meanwhile */
    while (table->running && table->running->serial <= last)
        pthread_cond_wait(&table->changed, &table->lock);
    struct ticket *ticket, *next;
    DL_FOREACH_SAFE(table->ended, ticket, next)
    {
        if (ticket->serial > last)
            continue;
        if (code == GRPC_NO_ERROR)
            code = result(ticket, error);
        report(table, ticket);
    }
    trim(table);
    pthread_mutex_unlock(&table->lock);
    return code;
}

grpc_error_t table_wait_any(struct table *table, grpc_sessionid_t *id, struct esp_error *error)
{
    grpc_error_t code = GRPC_NO_ERROR;
    *id = GRPC_SESSIONID_VOID;
    pthread_mutex_lock(&table->lock);
    while (!table->ended && table->running)
        pthread_cond_wait(&table->changed, &table->lock);
    struct ticket *ticket = table->ended;
    if (ticket) {
        *id = ticket->id;
        code = result(ticket, error);
        report(table, ticket);
        trim(table);
    }
    pthread_mutex_unlock(&table->lock);
    return code;
}

grpc_error_t outcome_code(enum esp_status status)
{
    switch (status) {
    case ESP_OK:
        return GRPC_NO_ERROR;
    case ESP_PENDING:
        return GRPC_NOT_COMPLETED;
    case ESP_UNKNOWN_PROBLEM:
        return GRPC_FUNCTION_NOT_FOUND;
    case ESP_NO_SERVER:
    case ESP_UNREACHABLE:
        return GRPC_SERVER_NOT_FOUND;
    case ESP_MAYBE:
    case ESP_PROTOCOL:
        return GRPC_COMMUNICATION_FAILED;
    case ESP_REFUSED:
    case ESP_LIMIT:
    case ESP_NO_MEMORY:
    case ESP_VERSION:
    case ESP_STALE:
    case ESP_SECURITY:
        return GRPC_RPC_REFUSED;
    case ESP_INVALID:
    case ESP_FAILED:
    case ESP_CRASHED:
    case ESP_INACCURATE:
    case ESP_CANCELLED:
    case ESP_TIMEOUT:
    case ESP_NOT_FOUND: /* a file that is an argument */
    case ESP_SYSTEM:
        return GRPC_SESSION_FAILED;
    default:
        return GRPC_OTHER_ERROR_CODE;
    }
}
