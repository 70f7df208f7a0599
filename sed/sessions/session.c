/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/sessions/session.h"

#include "sed/sessions/printed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define MOST_FREE       64          /* sessions kept for later ones */
#define MOST_FREE_BLOCK (16 * 1024) /* bytes that such a session keeps */
#define ID_BYTES        (offsetof(struct session_id, secret))

/* ---- clients ---- */

struct client *client_find(struct sessions *sessions, uint64_t high, uint64_t low)
{
    uint64_t key[2] = {high, low};
    struct client *client;
    HASH_FIND(hh, sessions->clients, key, sizeof key, client);
    return client;
}

static void rest(struct sessions *sessions, struct client *client)
{
    DL_APPEND(sessions->resting, client);
    client->resting = true;
    sessions->n_resting++;
}

static void unrest(struct sessions *sessions, struct client *client)
{
    DL_DELETE(sessions->resting, client);
    client->resting = false;
    sessions->n_resting--;
}

static void client_free(struct sessions *sessions, struct client *client)
{
    if (client->resting)
        unrest(sessions, client);
    HASH_DEL(sessions->clients, client);
    sessions->n_clients--;
    if (client->open)
        open_clear(client->open);
    free(client->open);
    free(client);
}

/* The first resting one without a long poll. */
static struct client *longest_resting(struct sessions *sessions)
{
    struct client *client = sessions->resting;
    while (client && client->await)
        client = client->next;
    return client;
}

struct client *client_get(struct sessions *sessions, uint64_t high, uint64_t low, int64_t now_ns)
{
    struct client *client = client_find(sessions, high, low);
    if (client) {
        client->seen_ns = now_ns;
        if (client->resting) { /* to the end of the line */
            unrest(sessions, client);
            rest(sessions, client);
        }
        return client;
    }
    struct client *oldest = sessions->n_resting >= SESSIONS_MOST_RESTING ? longest_resting(sessions) : NULL;
    if (oldest)
        client_free(sessions, oldest);
    client = calloc(1, sizeof *client);
    if (!client)
        return NULL;
    client->key[0] = high;
    client->key[1] = low;
    client->seen_ns = now_ns;
    HASH_ADD(hh, sessions->clients, key, sizeof client->key, client);
    if (!client->hh.tbl) {
        free(client);
        return NULL;
    }
    sessions->n_clients++;
    rest(sessions, client);
    return client;
}

int64_t clients_expire(struct sessions *sessions, int64_t now_ns, int64_t lease_ns)
{
    for (;;) {
        struct client *client = longest_resting(sessions);
        if (!client)
            return CLOCK_NEVER;
        if (client->seen_ns + lease_ns > now_ns)
            return client->seen_ns + lease_ns;
        client_free(sessions, client);
    }
}

/* ---- sessions ---- */

struct session *session_find(struct sessions *sessions, const struct session_id *id)
{
    struct session *session;
    HASH_FIND(hh, sessions->by_id, id, ID_BYTES, session);
    return session;
}

/* A session out of the free list with a block of at least that size. */
static struct session *take_free(struct sessions *sessions, size_t block_size)
{
    struct session *session = sessions->free;
    char *block = NULL;
    size_t size = 0;
    if (session) {
        sessions->free = session->next;
        sessions->n_free--;
        block = session->block;
        size = session->block_size;
    } else if (!(session = malloc(sizeof *session))) {
        return NULL;
    }
    if (size < block_size) {
        free(block);
        size = block_size < 1024 ? 1024 : block_size;
        if (!(block = aligned_alloc(64, (size + 63) & ~(size_t)63))) {
            free(session);
            return NULL;
        }
    }
    memset(session, 0, sizeof *session);
    session->block = block;
    session->block_size = size;
    return session;
}

static size_t round64(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* The block: job arguments, scope, session arguments, small values. */
static void carve_block(struct session *session, const struct call_plan *plan)
{
    uint32_t n = plan->problem->n_arguments;
    char *at = session->block;
    session->job.arguments = (struct job_argument *)(void *)at;
    at += round64(n * sizeof *session->job.arguments);
    struct number *scope = (struct number *)(void *)at;
    memcpy(scope, plan->scope, n * sizeof *scope);
    session->job.scope = scope;
    at += round64(n * sizeof *scope);
    session->arguments = (struct session_argument *)(void *)at;
    memset(session->arguments, 0, n * sizeof *session->arguments);
    at += round64(n * sizeof *session->arguments);
    session->block_data = (uint8_t *)at;
    memset(at, 0, plan->block_bytes); /* nobody reads another's data in what a routine left unwritten */
}

static size_t block_size_of(const struct call_plan *plan)
{
    uint32_t n = plan->problem->n_arguments;
    return round64(n * sizeof(struct job_argument)) + round64(n * sizeof(struct number)) +
           round64(n * sizeof(struct session_argument)) + round64(plan->block_bytes);
}

void session_trim_texts(struct session *session)
{
    for (uint32_t i = 0; i < session->problem->n_arguments; i++) {
        struct job_argument *argument = &session->job.arguments[i];
        const char *text = argument->data;
        if (session->problem->arguments[i].type == TYPE_STRING &&
            session->problem->arguments[i].n_dims == 0 && text && argument->bytes > 0 &&
            text[argument->bytes - 1] == 0)
            argument->bytes--;
    }
}

static void place_argument(struct session *session, const struct call_plan *plan, uint32_t index)
{
    const struct planned_argument *planned = &plan->arguments[index];
    const struct argument *argument = &plan->problem->arguments[index];
    struct job_argument *job = &session->job.arguments[index];
    *job = (struct job_argument){.bytes = planned->bytes,
                                 .writable = argument->mode != MODE_IN,
                                 .in_segment = planned->in_segment,
                                 .blank = planned->blank,
                                 .offset = planned->in_segment ? planned->offset : 0};
    session->arguments[index].kind = planned->kind;
    session->arguments[index].in_store = planned->in_store;
    if (planned->in_segment || !argument_is_passed(argument))
        return;
    job->data = session->block_data + planned->offset;
    if (planned->data && planned->bytes > 0)
        memcpy(job->data, planned->data, planned->bytes);
    else if (planned->has_initial)
        memcpy(job->data, planned->initial, planned->bytes);
}

/* Inline values whose place is in the segment wait beside the session until it has one. */
static bool stash_inline(struct session *session, const struct call_plan *plan)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->problem->n_arguments; i++)
        if (plan->arguments[i].in_segment && plan->arguments[i].data)
            bytes += plan->arguments[i].bytes;
    if (bytes == 0)
        return true;
    uint8_t *to = session->stash = malloc(bytes);
    if (!to)
        return false;
    session->stash_bytes = bytes;
    for (uint32_t i = 0; i < plan->problem->n_arguments; i++) {
        const struct planned_argument *planned = &plan->arguments[i];
        if (!planned->in_segment || !planned->data)
            continue;
        memcpy(to, planned->data, planned->bytes);
        to += planned->bytes;
    }
    return true;
}

static bool add_to_tables(struct sessions *sessions, struct client *client, struct session *session)
{
    HASH_ADD(hh, sessions->by_id, id, ID_BYTES, session);
    if (!session->hh.tbl)
        return false;
    session->client = client;
    if (client->resting)
        unrest(sessions, client);
    DL_APPEND(client->sessions, session);
    client->n_sessions++;
    sessions->n_sessions++;
    return true;
}

enum esp_status session_create(struct sessions *sessions, struct client *client, const struct session_id *id,
                               const struct call_plan *plan, struct session **result, struct esp_error *error)
{
    if (plan->block_bytes > PTRDIFF_MAX / 2)
        return error_no_memory(error, "a session");
    struct session *session = take_free(sessions, block_size_of(plan));
    if (!session)
        return error_no_memory(error, "a session");
    session->id = *id;
    session->problem = plan->problem;
    session->work_flop = plan->work_flop;
    session->segment_bytes = plan->segment_bytes;
    session->beyond_bytes = plan->beyond_bytes;
    session->bulk = plan->bulk;
    session->job.problem = plan->problem;
    session->job.segment_fd = -1;
    carve_block(session, plan);
    for (uint32_t i = 0; i < plan->problem->n_arguments; i++)
        place_argument(session, plan, i);
    if (!stash_inline(session, plan) || !add_to_tables(sessions, client, session)) {
        session_free(sessions, session);
        return error_no_memory(error, "a session");
    }
    *result = session;
    return ESP_OK;
}

static struct shared *find_shared(struct sessions *sessions, const uint64_t owner[2])
{
    struct shared *shared;
    HASH_FIND(hh, sessions->shared, owner, sizeof shared->key, shared);
    return shared;
}

struct share *sessions_share_of(struct sessions *sessions, const uint64_t owner[2])
{
    struct shared *shared = find_shared(sessions, owner);
    return shared ? &shared->share : NULL;
}

uint32_t sessions_waiting_shares(const struct sessions *sessions)
{
    uint32_t n = 0;
    for (const struct client *client = sessions->clients; client; client = client->hh.next)
        n += share_waiting(&client->share) > 0;
    for (const struct shared *shared = sessions->shared; shared; shared = shared->hh.next)
        n += share_waiting(&shared->share) > 0;
    return n;
}

void session_share(struct sessions *sessions, struct session *session, const uint64_t owner[2])
{
    struct shared *shared = find_shared(sessions, owner);
    if (!shared) {
        if (!(shared = calloc(1, sizeof *shared)))
            return;
        memcpy(shared->key, owner, sizeof shared->key);
        HASH_ADD(hh, sessions->shared, key, sizeof shared->key, shared);
        if (!shared->hh.tbl) {
            free(shared);
            return;
        }
    }
    shared->n_sessions++;
    session->shared = shared;
}

static void leave_shared(struct sessions *sessions, struct session *session)
{
    struct shared *shared = session->shared;
    session->shared = NULL;
    if (!shared || --shared->n_sessions > 0)
        return;
    HASH_DELETE(hh, sessions->shared, shared);
    free(shared);
}

void session_attach_segment(struct session *session, struct segment *segment)
{
    const uint8_t *from = session->stash;
    session->segment = segment;
    session->job.segment_fd = segment->fd;
    session->job.segment_bytes = segment->bytes;
    for (uint32_t i = 0; i < session->problem->n_arguments; i++) {
        struct job_argument *argument = &session->job.arguments[i];
        if (!argument->in_segment || session->arguments[i].in_store)
            continue;
        argument->data = segment->data + argument->offset;
        if (session->arguments[i].kind == KIND_INLINE) {
            memcpy(argument->data, from, argument->bytes);
            from += argument->bytes;
        }
    }
    free(session->stash);
    session->stash = NULL;
}

void session_detach(struct sessions *sessions, struct session *session)
{
    struct client *client = session->client;
    if (!client)
        return;
    HASH_DEL(sessions->by_id, session);
    DL_DELETE(client->sessions, session);
    sessions->n_sessions--;
    if (--client->n_sessions == 0)
        rest(sessions, client);
    session->client = NULL;
}

void session_free(struct sessions *sessions, struct session *session)
{
    for (uint32_t i = 0; i < session->problem->n_arguments; i++) {
        ranges_clear(&session->arguments[i].arrived);
        free(session->job.arguments[i].owned);
    }
    free(session->stash);
    printed_free(session->printed);
    session->printed = NULL;
    leave_shared(sessions, session);
    if (sessions->n_free >= MOST_FREE || session->block_size > MOST_FREE_BLOCK) {
        free(session->block);
        free(session);
        return;
    }
    session->next = sessions->free;
    sessions->free = session;
    sessions->n_free++;
}

void sessions_clear(struct sessions *sessions)
{
    struct session *session, *next;
    HASH_ITER(hh, sessions->by_id, session, next)
    {
        session_detach(sessions, session);
        session_free(sessions, session);
    }
    while ((session = sessions->free)) {
        sessions->free = session->next;
        free(session->block);
        free(session);
    }
    struct client *client, *other;
    HASH_ITER(hh, sessions->clients, client, other)
    client_free(sessions, client);
    *sessions = (struct sessions){0};
}

uint8_t *session_argument_data(const struct session *session, uint32_t index)
{
    return session->job.arguments[index].data;
}

enum esp_status session_is_complete(const struct session *session, struct esp_error *error)
{
    for (uint32_t i = 0; session->bulk && i < session->problem->n_arguments; i++) {
        struct range gap;
        uint64_t bytes = session->job.arguments[i].bytes;
        if (session->arguments[i].kind != KIND_BULK ||
            ranges_cover(&session->arguments[i].arrived, bytes, &gap))
            continue;
        return error_set(error, ESP_INVALID,
                         "%s: %s: expected all of its %" PRIu64
                         " bytes before run, found none of bytes %" PRIu64 " to %" PRIu64,
                         session->problem->name, session->problem->arguments[i].name, bytes, gap.from,
                         gap.to - 1);
    }
    return ESP_OK;
}
