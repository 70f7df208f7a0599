/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/backlog.h"
#include "client/session/attempt.h"
#include "client/session/excluded.h"
#include "client/session/link.h"
#include "client/session/marks.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#define FIRST_LOOK_MS 20 /* for room that other clients leave */
#define LAST_LOOK_MS  500
#define MOST_HURRIED  2  /* immediate turns of a session if room became free while it was declined */
#define MOST_ALIKE    64 /* sessions that a new session is compared with */

struct backlog {
    struct engine *engine;
    pthread_mutex_t lock;
    pthread_cond_t news;    /* for blocking sessions that are held */
    pthread_cond_t changed; /* for the keeper thread */
    struct session *first;  /* held sessions in the order of their numbers */
    atomic_uint n_held;     /* written under the lock */
    uint64_t rounds;
    atomic_uint_least64_t movements; /* number of sessions that have left servers */
    struct thread_pool *keepers;     /* one thread: watches deadlines, and looks for room */
    struct thread_job job;
    bool kept; /* the keeper thread exists */
};

static void keep(void *arg);

enum esp_status backlog_create(struct engine *engine, struct backlog **result, struct esp_error *error)
{
    struct backlog *backlog = calloc(1, sizeof *backlog);
    if (!backlog)
        return error_no_memory(error, "the backlog");
    enum esp_status status = thread_pool_create(1, &backlog->keepers, error);
    if (status != ESP_OK) {
        free(backlog);
        return status;
    }
    backlog->engine = engine;
    backlog->job = (struct thread_job){.run = keep, .arg = backlog};
    pthread_mutex_init(&backlog->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&backlog->news, &attributes);
    pthread_cond_init(&backlog->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    *result = backlog;
    return ESP_OK;
}

void backlog_destroy(struct backlog *backlog)
{
    if (!backlog)
        return;
    thread_pool_destroy(backlog->keepers);
    pthread_cond_destroy(&backlog->news);
    pthread_cond_destroy(&backlog->changed);
    pthread_mutex_destroy(&backlog->lock);
    free(backlog);
}

/* ---- called with the lock held ---- */

static void wait_ms(struct backlog *backlog, pthread_cond_t *condition, int64_t ms)
{
    const struct timespec until = clock_ms_from_now(CLOCK_MONOTONIC, ms);
    pthread_cond_timedwait(condition, &backlog->lock, &until);
}

/* Inserts the session behind those that came before it. A session that was sent out and comes back goes to
 * the front. */
static void insert(struct backlog *backlog, struct session *session)
{
    struct session *last = backlog->first ? backlog->first->back.prev : NULL, *after = NULL, *other;
    if (session->back.number == 0) /* by start: it may be declined after later ones */
        session->back.number = session->origin.sequence;
    if (last && last->back.number < session->back.number)
        after = last;
    else
        DL_FOREACH2(backlog->first, other, back.next)
        {
            if (other->back.number > session->back.number)
                break;
            after = other;
        }
    if (after)
        DL_APPEND_ELEM2(backlog->first, after, session, back.prev, back.next);
    else
        DL_PREPEND2(backlog->first, session, back.prev, back.next);
    atomic_store(&session->back.held, true);
    session->back.probe = false;
    atomic_fetch_add(&backlog->n_held, 1);
}

/* Gives the session its turn: its own thread or the pool continues it. */
static void send(struct backlog *backlog, struct session *session, bool probe)
{
    DL_DELETE2(backlog->first, session, back.prev, back.next);
    atomic_store(&session->back.held, false);
    session->back.probe = probe;
    if (atomic_fetch_sub(&backlog->n_held, 1) == 1)
        pthread_cond_signal(&backlog->changed);
    if (session->ended) /* cannot fail: the session came from a pool thread */
        thread_pool_submit(backlog->engine->runners, &session->job);
    else
        pthread_cond_broadcast(&backlog->news);
}

static bool waits_for(const struct session *session, const struct link *link)
{
    for (unsigned i = 0; i < session->back.n_full; i++)
        if (session->back.full[i] == link)
            return true;
    return false;
}

static void send_first(struct backlog *backlog, const struct link *link, bool probe)
{
    struct session *session;
    DL_FOREACH2(backlog->first, session, back.next)
    {
        if (waits_for(session, link)) {
            send(backlog, session, probe);
            return;
        }
    }
}

/* ---- the keeper ---- */

/* Sends one session to each server that sessions wait for. */
static void look_for_room(struct backlog *backlog)
{
    struct session *session, *next;
    backlog->rounds++;
    DL_FOREACH_SAFE2(backlog->first, session, next, back.next)
    {
        bool goes = false;
        for (unsigned i = 0; i < session->back.n_full; i++) {
            goes |= session->back.full[i]->probed != backlog->rounds;
            session->back.full[i]->probed = backlog->rounds;
        }
        if (goes)
            send(backlog, session, true);
    }
}

/* Releases sessions whose deadline has passed. Returns the milliseconds until the next deadline. */
static int64_t expire(struct backlog *backlog)
{
    int64_t nearest_ms = LAST_LOOK_MS;
    struct session *session, *next;
    DL_FOREACH_SAFE2(backlog->first, session, next, back.next)
    {
        int64_t left_ms = session_left_ms(session);
        if (left_ms <= 1 || session_is_cancelled(session))
            send(backlog, session, false);
        else if (left_ms < nearest_ms)
            nearest_ms = left_ms;
    }
    return nearest_ms;
}

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS;
}

static void keep(void *arg)
{
    struct backlog *backlog = arg;
    int64_t pause_ms = FIRST_LOOK_MS, look_ms = monotonic_ms() + pause_ms;
    uint64_t movements = atomic_load(&backlog->movements);
    pthread_mutex_lock(&backlog->lock);
    while (backlog->first) {
        int64_t nearest_ms = expire(backlog), left_ms = look_ms - monotonic_ms();
        if (backlog->first && left_ms > 0)
            wait_ms(backlog, &backlog->changed, left_ms < nearest_ms ? left_ms : nearest_ms);
        if (monotonic_ms() < look_ms)
            continue;
        /* While sessions of this client end, they send out others, so there is no need to look for room. */
        if (atomic_load(&backlog->movements) != movements)
            pause_ms = FIRST_LOOK_MS;
        else
            look_for_room(backlog);
        movements = atomic_load(&backlog->movements);
        look_ms = monotonic_ms() + pause_ms;
        pause_ms = 2 * pause_ms < LAST_LOOK_MS ? 2 * pause_ms : LAST_LOOK_MS;
    }
    backlog->kept = false;
    pthread_mutex_unlock(&backlog->lock);
}

/* ---- a session's turn ---- */

static bool is_like(const struct session *session, const struct session *other)
{
    if (session->bound || other->bound)
        return session->bound && other->bound && strcmp(session->bound_address, other->bound_address) == 0;
    return strcmp(session->problem, other->problem) == 0 && !wishes_any(&other->wishes) &&
           !*other->invocation.home;
}

/* The session waits for the same servers as the other one. */
static void join(struct session *session, const struct session *other)
{
    memcpy(session->back.full, other->back.full, sizeof session->back.full);
    session->back.n_full = other->back.n_full;
    session->error = other->error; /* becomes part of the error if its deadline passes first */
}

bool backlog_joins(struct session *session)
{
    struct backlog *backlog = session->engine->backlog;
    struct session *other;
    unsigned seen = 0;
    bool joins = false;
    session->back.n_full = 0;
    session->back.movements = atomic_load(&backlog->movements);
    if (atomic_load(&backlog->n_held) == 0 || session->back.number > 0 || session->is_job ||
        wishes_any(&session->wishes) || *session->invocation.home)
        return false;
    pthread_mutex_lock(&backlog->lock);
    DL_FOREACH2(backlog->first, other, back.next)
    {
        if (is_like(session, other)) {
            join(session, other);
            joins = true;
            break;
        }
        if (++seen == MOST_ALIKE)
            break;
    }
    pthread_mutex_unlock(&backlog->lock);
    if (joins)
        session->back.since_ns = clock_now_ns(session->engine->clock);
    return joins;
}

void backlog_note_full(struct session *session, struct link *link)
{
    if (!waits_for(session, link) && session->back.n_full < BACKLOG_MOST_FULL)
        session->back.full[session->back.n_full++] = link;
}

/* ---- room that does not come ---- */

/* Returns since when no session of this client has been at those servers; CLOCK_NEVER: there are some. */
static int64_t quiet_since(const struct session *session)
{
    int64_t since_ns = session->back.since_ns;
    for (unsigned i = 0; i < session->back.n_full; i++) {
        struct link *link = session->back.full[i];
        int64_t moved_ns = atomic_load(&link->moved_ns);
        if (atomic_load(&link->n_given) > 0)
            return CLOCK_NEVER;
        if (moved_ns > since_ns)
            since_ns = moved_ns;
    }
    return since_ns;
}

static void explain(struct session *session, double waited_s)
{
    char text[sizeof session->error.text];
    const char *many = session->bound ? "that server" : "any server that could take it";
    snprintf(text, sizeof text, "%s", session->error.text);
    error_set(&session->error, ESP_LIMIT,
              "%s; room was waited for %.3g s (agent_patience) while no other session of this program was at "
              "%s: try again later, or wait longer",
              text, waited_s, many);
}

bool backlog_wants(struct session *session)
{
    struct backlog *backlog = session->engine->backlog;
    const int64_t now_ns = clock_now_ns(session->engine->clock);
    const int64_t patience_ns = session->engine->agent_patience_ms * NS_PER_MS;
    if (session->back.n_full == 0)
        return false;
    if (session->back.since_ns == 0)
        session->back.since_ns = now_ns;
    int64_t quiet_ns = quiet_since(session);
    if (quiet_ns == CLOCK_NEVER || now_ns - quiet_ns < patience_ns || session_is_cancelled(session))
        return true;
    explain(session, (double)(now_ns - session->back.since_ns) / NS_PER_S);
    pthread_mutex_lock(&backlog->lock);
    if (session->back.probe) /* so that the sessions behind it need not each wait for a round */
        send_first(backlog, session->back.full[0], true);
    pthread_mutex_unlock(&backlog->lock);
    return false;
}

/* ---- holding ---- */

/* Called with the lock held. Returns false if the session's turn is now. */
static bool hold(struct backlog *backlog, struct session *session)
{
    if (session_is_cancelled(session))
        return false;
    /* A session that ended after this one was declined did not know that this one waits, and has not sent
     * it out. */
    if (atomic_load(&backlog->movements) != session->back.movements && session->back.hurried++ < MOST_HURRIED)
        return false;
    if (!backlog->kept && !(backlog->kept = thread_pool_submit(backlog->keepers, &backlog->job))) {
        pthread_mutex_unlock(&backlog->lock); /* without a keeper thread: a short wait */
        engine_pause(&backlog->engine->closing, FIRST_LOOK_MS);
        pthread_mutex_lock(&backlog->lock);
        return false;
    }
    session->back.hurried = 0;
    insert(backlog, session);
    return true;
}

/* Prepares the session to begin again. */
static void lay_down(struct session *session)
{
    session->holding = false;
    session->rounds = 0;
    excluded_forget(session);
    session_note_again(session, "", "no server had room");
    marks_retire(session->engine, session);
}

bool backlog_park(struct session *session)
{
    struct backlog *backlog = session->engine->backlog;
    lay_down(session);
    pthread_mutex_lock(&backlog->lock);
    bool held = hold(backlog, session);
    pthread_mutex_unlock(&backlog->lock);
    return held;
}

void backlog_wait(struct session *session)
{
    struct backlog *backlog = session->engine->backlog;
    lay_down(session);
    pthread_mutex_lock(&backlog->lock);
    if (hold(backlog, session))
        while (atomic_load(&session->back.held))
            pthread_cond_wait(&backlog->news, &backlog->lock); /* the keeper thread watches the deadline */
    pthread_mutex_unlock(&backlog->lock);
}

/* ---- sessions at servers ---- */

void backlog_taken(struct session *session)
{
    struct backlog *backlog = session->engine->backlog;
    struct link *link = session->link;
    session->back.since_ns = 0;
    if (session->is_job)
        return; /* the session stays when this process ends */
    session->back.given = link;
    atomic_fetch_add_explicit(&link->n_given, 1, memory_order_relaxed);
    if (atomic_load(&backlog->n_held) == 0)
        return;
    atomic_store(&link->moved_ns, clock_now_ns(session->engine->clock));
    pthread_mutex_lock(&backlog->lock);
    if (session->back.probe)
        send_first(backlog, link, true);
    pthread_mutex_unlock(&backlog->lock);
}

void backlog_left(struct session *session)
{
    struct backlog *backlog = session->engine->backlog;
    struct link *link = session->back.given;
    if (!link)
        return;
    session->back.given = NULL;
    atomic_store(&link->moved_ns, clock_now_ns(session->engine->clock));
    atomic_fetch_sub(&link->n_given, 1);
    atomic_fetch_add(&backlog->movements, 1);
    if (atomic_load(&backlog->n_held) == 0)
        return;
    pthread_mutex_lock(&backlog->lock);
    send_first(backlog, link, false);
    pthread_mutex_unlock(&backlog->lock);
}

/* ---- cancelling ---- */

void backlog_release(struct session *session)
{
    struct backlog *backlog = session->engine->backlog;
    struct session *other, *next;
    if (atomic_load(&backlog->n_held) == 0)
        return;
    pthread_mutex_lock(&backlog->lock);
    if (atomic_load(&session->back.held))
        send(backlog, session, false);
    if (session->work)
        DL_FOREACH_SAFE2(backlog->first, other, next, back.next)
        {
            if (other->whole == session)
                send(backlog, other, false);
        }
    pthread_mutex_unlock(&backlog->lock);
}

void backlog_release_all(struct backlog *backlog)
{
    struct session *session, *next;
    pthread_mutex_lock(&backlog->lock);
    DL_FOREACH_SAFE2(backlog->first, session, next, back.next)
    {
        send(backlog, session, false);
    }
    pthread_mutex_unlock(&backlog->lock);
}
