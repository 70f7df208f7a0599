/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/ahead.h"
#include "client/session/choice.h"
#include "util/clock.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* At least this many requests within this time are a stream. */
#define STREAM_REQUESTS 8
#define STREAM_NS       (10 * NS_PER_MS)
/* With more bytes, the time of transfers counts, which differs between servers. */
#define SMALL_BYTES 16384

#define LEAST_S 1e-6 /* least computing time; shorter times cannot be measured */

#define STREAMS 8 /* streams that are known at a time; a new one overwrites an old one */

struct stream {
    uint64_t key;     /* digest of its calls; 0: free place */
    int64_t since_ns; /* start of the present counting */
    uint32_t counted; /* number of requests since then */
    bool flows;       /* the previous counting found a stream */
    bool asking;      /* a session is asking for placements */
    /* Sum of computing times and number of computed calls: in the present counting and in the previous
     * one. */
    double computed_s, before_s;
    uint32_t ended, ended_before;
    struct choice choice;
    uint8_t order[AHEAD_MOST]; /* index of the candidate for each placement */
    uint32_t n, next;
    int64_t until_ns;
};

struct ahead {
    pthread_mutex_t lock;
    struct stream streams[STREAMS];
};

struct ahead *ahead_create(void)
{
    struct ahead *ahead = calloc(1, sizeof *ahead);
    if (ahead)
        pthread_mutex_init(&ahead->lock, NULL);
    return ahead;
}

static void drop(struct stream *stream)
{
    choice_release(&stream->choice);
    stream->n = stream->next = 0;
}

void ahead_destroy(struct ahead *ahead)
{
    if (!ahead)
        return;
    for (size_t i = 0; i < STREAMS; i++)
        drop(&ahead->streams[i]);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

/* ---- which calls are equal ---- */

/* FNV-1a, by words. */
static uint64_t hash(uint64_t key, uint64_t word)
{
    return (key ^ word) * 0x100000001b3u;
}

static uint64_t hash_value(uint64_t key, const struct value *value, const struct argument *argument)
{
    key = hash(hash(key, value->index), value->bytes);
    /* Cost models may depend on whole numbers and options. */
    if (argument->n_dims == 0 && value->in && value->bytes <= 8 && argument->type != TYPE_DOUBLE &&
        argument->type != TYPE_FLOAT) {
        uint64_t word = 0;
        memcpy(&word, value->in, value->bytes);
        key = hash(key, word);
    }
    return key;
}

static bool is_plain(const struct value *value)
{
    return !value->datum && !value->held && !value->result && !value->stays && !value->is_kept &&
           !value->bulk && value->form == VALUE_MEMORY;
}

/* Returns 0 for a session that only the agents can place. */
static uint64_t key_of(const struct session *session)
{
    const struct invocation *invocation = &session->invocation;
    const struct problem *problem = invocation->function->problem;
    uint64_t key = hash(0xcbf29ce484222325u, invocation->function->digest), bytes = 0, work;
    if (session->bound || session->is_job || session->rounds > 0 || session->n_excluded > 0 ||
        invocation->home[0] || wishes_any(&session->wishes))
        return 0;
    memcpy(&work, &invocation->work_flop, sizeof work);
    key = hash(hash(key, work), invocation->memory_bytes);
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        if (!is_plain(value) || (bytes += value->bytes) > SMALL_BYTES)
            return 0;
        key = hash_value(key, value, &problem->arguments[value->index]);
    }
    return key ? key : 1;
}

/* ---- called with the lock held ---- */

static struct stream *place_of(struct ahead *ahead, uint64_t key)
{
    return &ahead->streams[(key ^ key >> 32) % STREAMS];
}

/* Finds or creates the stream of these calls. Returns NULL if the place is taken by a stream for which a
 * session is asking. */
static struct stream *find(struct ahead *ahead, uint64_t key)
{
    struct stream *stream = place_of(ahead, key);
    if (stream->key == key)
        return stream;
    if (stream->asking)
        return NULL;
    drop(stream);
    *stream = (struct stream){.key = key};
    return stream;
}

static bool count(struct stream *stream, int64_t now_ns)
{
    const int64_t passed_ns = now_ns - stream->since_ns;
    if (passed_ns >= STREAM_NS) {
        stream->flows = stream->counted >= STREAM_REQUESTS && passed_ns < 2 * STREAM_NS;
        stream->since_ns = now_ns;
        stream->counted = 0;
        stream->before_s = stream->computed_s;
        stream->ended_before = stream->ended;
        stream->computed_s = 0;
        stream->ended = 0;
    }
    stream->counted++;
    return stream->flows || stream->counted > STREAM_REQUESTS;
}

/* The last quarter is reserved for requests that arrive while a session asks for more. */
static bool may_take(const struct stream *stream, int64_t now_ns)
{
    const uint32_t last = stream->asking ? stream->n : stream->n - stream->n / 4;
    return stream->next < last && now_ns < stream->until_ns;
}

/* Returns 0 if no call has ended. */
static double mean_s(const struct stream *stream)
{
    const uint32_t n = stream->ended + stream->ended_before;
    return n ? (stream->computed_s + stream->before_s) / n : 0;
}

/* ---- for sessions ---- */

bool ahead_take(struct session *session, struct choice *choice)
{
    struct ahead *ahead = session->engine->ahead;
    const int64_t now_ns = clock_now_ns(session->engine->clock);
    bool taken = false;
    session->stream = key_of(session);
    if (session->stream == 0)
        return false;
    pthread_mutex_lock(&ahead->lock);
    struct stream *stream = find(ahead, session->stream);
    if (stream && may_take(stream, now_ns) &&
        choice_copy(&stream->choice, stream->order[stream->next], choice)) {
        stream->next++;
        count(stream, now_ns);
        taken = true;
    }
    pthread_mutex_unlock(&ahead->lock);
    return taken;
}

struct ahead_wish ahead_wanted(struct session *session)
{
    struct ahead *ahead = session->engine->ahead;
    struct ahead_wish wish = {0};
    if (session->stream == 0)
        return wish;
    pthread_mutex_lock(&ahead->lock);
    struct stream *stream = find(ahead, session->stream);
    if (stream && count(stream, clock_now_ns(session->engine->clock)) && !stream->asking) {
        wish.mean_s = mean_s(stream);
        wish.n = wish.mean_s > 0 ? AHEAD_MOST : 0;
        stream->asking = wish.n > 0;
    }
    pthread_mutex_unlock(&ahead->lock);
    return wish;
}

void ahead_keep(struct session *session, const struct submit_reply *reply)
{
    struct ahead *ahead = session->engine->ahead;
    uint8_t order[AHEAD_MOST];
    struct choice choice = {0};
    const bool copied = reply && choice_of(reply, &choice);
    const uint32_t n = copied ? ahead_told(reply, choice.n, order) : 0;
    pthread_mutex_lock(&ahead->lock);
    struct stream *stream = place_of(ahead, session->stream); /* not overwritten meanwhile */
    stream->asking = false;
    drop(stream);
    if (n == 0) {
        choice_release(&choice);
    } else {
        stream->choice = choice;
        memcpy(stream->order, order, n);
        stream->n = n;
        stream->until_ns = clock_now_ns(session->engine->clock) + AHEAD_MS * NS_PER_MS;
    }
    pthread_mutex_unlock(&ahead->lock);
}

void ahead_ended(const struct session *session)
{
    struct ahead *ahead = session->engine->ahead;
    if (session->stream == 0)
        return;
    pthread_mutex_lock(&ahead->lock);
    struct stream *stream = place_of(ahead, session->stream);
    if (stream->key == session->stream) {
        stream->computed_s += fmax(session->timings.compute_s, LEAST_S);
        stream->ended++;
    }
    pthread_mutex_unlock(&ahead->lock);
}

void ahead_forget(const struct session *session)
{
    struct ahead *ahead = session->engine->ahead;
    if (session->stream == 0)
        return;
    pthread_mutex_lock(&ahead->lock);
    struct stream *stream = place_of(ahead, session->stream);
    if (stream->key == session->stream)
        drop(stream);
    pthread_mutex_unlock(&ahead->lock);
}
