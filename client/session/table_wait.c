/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/table_parts.h"

#include <stdlib.h>
#include <utlist.h>

/* ---- with the lock held ---- */

/* Forgets the oldest of what was reported, but never what a thread is looking at. */
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
    /* Other threads may be inside its cancelling; it is small then only when it goes. */
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

/* Of any that has ended. */
static grpc_error_t result_of(struct table *table, grpc_sessionid_t id, struct esp_error *error)
{
    const struct ticket *ticket = table_find(table, id);
    if (ticket)
        return result(ticket, error);
    return failures_find(table->failures, id, error) == ESP_OK ? GRPC_NO_ERROR : GRPC_SESSION_FAILED;
}

/* Waits for one; the ticket stays. */
static void wait_for(struct table *table, struct ticket *ticket)
{
    ticket->users++;
    while (!ticket->ended)
        pthread_cond_wait(&table->changed, &table->lock);
    ticket->users--;
}

/* The one to be told about: ended and not reported before, else ended. GRPC_SESSIONID_VOID: none has ended.
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

/* So that none of them is forgotten while another thread waits for thousands of others. */
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
    uint64_t last = table->last_serial; /* not for what other threads start meanwhile */
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
