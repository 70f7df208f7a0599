/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/marks.h"
#include "client/session/link.h"
#include "util/random.h"

#include <utlist.h>

static enum esp_status refill(struct engine *engine, struct esp_error *error)
{
    enum esp_status status = random_bytes(engine->secrets, sizeof engine->secrets, error);
    if (status == ESP_OK)
        engine->n_secrets = sizeof engine->secrets / sizeof *engine->secrets;
    return status;
}

enum esp_status marks_draw(struct engine *engine, struct session *session, struct esp_error *error)
{
    if (session->is_job) {
        /* A job has a client id of its own, so no later sequence number makes a server forget it. */
        struct session_id id;
        enum esp_status drawn = random_bytes(&id, sizeof id, error);
        id.sequence = 1;
        pthread_mutex_lock(&engine->marks_lock);
        session->id = engine->last = id;
        pthread_mutex_unlock(&engine->marks_lock);
        return drawn;
    }
    pthread_mutex_lock(&engine->marks_lock);
    enum esp_status status = engine->n_secrets > 0 ? ESP_OK : refill(engine, error);
    if (status == ESP_OK) {
        session->id = (struct session_id){.client_high = engine->client_high,
                                          .client_low = engine->client_low,
                                          .sequence = ++engine->last_sequence,
                                          .secret = engine->secrets[--engine->n_secrets]};
        engine->last = session->id;
        DL_APPEND2(engine->unsettled, session, mark_prev, mark_next);
    }
    pthread_mutex_unlock(&engine->marks_lock);
    return status;
}

void marks_settle(struct engine *engine, struct session *session, struct link *link)
{
    pthread_mutex_lock(&engine->marks_lock);
    if (!session->settled && !session->is_job) {
        DL_DELETE2(engine->unsettled, session, mark_prev, mark_next);
        /* In the order of numbers; nearly always it is the newest. */
        struct session *before = link->held ? link->held->mark_prev : NULL;
        while (before && before->id.sequence > session->id.sequence)
            before = before == link->held ? NULL : before->mark_prev;
        if (before)
            DL_APPEND_ELEM2(link->held, before, session, mark_prev, mark_next);
        else
            DL_PREPEND2(link->held, session, mark_prev, mark_next);
        session->settled = true;
    }
    pthread_mutex_unlock(&engine->marks_lock);
}

void marks_retire(struct engine *engine, struct session *session)
{
    pthread_mutex_lock(&engine->marks_lock);
    if (session->id.sequence != 0) {
        if (session->settled)
            DL_DELETE2(session->link->held, session, mark_prev, mark_next);
        else if (!session->is_job)
            DL_DELETE2(engine->unsettled, session, mark_prev, mark_next);
        session->settled = false;
        session->id.sequence = 0;
    }
    pthread_mutex_unlock(&engine->marks_lock);
}

/* Called with the marks lock. */
static uint64_t oldest_of(const struct engine *engine, const struct link *link)
{
    uint64_t oldest = engine->last_sequence + 1;
    if (engine->unsettled && engine->unsettled->id.sequence < oldest)
        oldest = engine->unsettled->id.sequence;
    if (link->held && link->held->id.sequence < oldest)
        oldest = link->held->id.sequence;
    return oldest;
}

uint64_t marks_oldest(struct engine *engine, const struct link *link)
{
    pthread_mutex_lock(&engine->marks_lock);
    uint64_t oldest = oldest_of(engine, link);
    pthread_mutex_unlock(&engine->marks_lock);
    return oldest;
}

/* A server may have so many ended sessions until the oldest one has ended, too. */
#define YOUNG 16

bool marks_open(struct engine *engine, const struct link *link, struct open_sessions *open)
{
    pthread_mutex_lock(&engine->marks_lock);
    bool old = oldest_of(engine, link) + YOUNG < engine->last_sequence;
    if (old) {
        open->version = ++engine->open_version;
        open->ceiling = engine->last_sequence + 1;
        /* Both lists are ordered. Takes the lowest number next; if the list is full, later numbers are
         * left out. */
        const struct session *a = engine->unsettled, *b = link->held;
        while (a || b) {
            bool first = a && (!b || a->id.sequence < b->id.sequence);
            uint64_t sequence = first ? a->id.sequence : b->id.sequence;
            if (!open_add(open, sequence)) {
                open->ceiling = sequence;
                break;
            }
            if (first)
                a = a->mark_next;
            else
                b = b->mark_next;
        }
    }
    pthread_mutex_unlock(&engine->marks_lock);
    return old;
}
