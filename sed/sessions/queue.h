/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of sessions that are ready to run, and the slots in which they run.
 *
 * The queue is fair among clients. Clients take turns, one session each; the sessions of one client run in
 * the order in which they became ready. So a client's next session waits for at most one session of each
 * other client.
 *
 * One thread at a time. Entries and owners lie in their users' structs; all zero is "not queued".
 */
#ifndef SED_QUEUE_H
#define SED_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct queue_owner;

/* In a session. */
struct queue_entry {
    struct queue_owner *owner; /* NULL: not queued */
    struct queue_entry *prev, *next;
};

/* In a client. */
struct queue_owner {
    struct queue_entry *entries;
    uint32_t length;
    struct queue_owner *prev, *next;
};

/* All zero: empty. */
struct queue {
    struct queue_owner *turn; /* the owner whose turn it is, then the others in order */
    uint32_t length;
    void (*start)(void *arg); /* starts the sessions that can start (queue_start()) */
    void *arg;
};

void queue_push(struct queue *queue, struct queue_owner *owner, struct queue_entry *entry);
/* Puts an entry back to the front, that was popped and could not start. */
void queue_push_front(struct queue *queue, struct queue_owner *owner, struct queue_entry *entry);
/* Takes the next entry out of the queue; NULL: it is empty. */
struct queue_entry *queue_pop(struct queue *queue);
/* Takes the entry out. An entry that is not queued is left alone. */
void queue_remove(struct queue *queue, struct queue_entry *entry);
/* How many entries would run before this one if no more came. O(clients + entries of its client). */
uint32_t queue_ahead(const struct queue *queue, const struct queue_entry *entry);

/* Has start() called: a session was queued, or a slot may be free. */
static inline void queue_start(struct queue *queue)
{
    queue->start(queue->arg);
}

static inline bool queue_entry_is_queued(const struct queue_entry *entry)
{
    return entry->owner != 0;
}

/* ---- the slots that sessions run in ---- */

struct session;

struct slot {
    struct session *session; /* NULL: free, or the measurement's */
    uint64_t job_id;         /* 0: free */
};

struct slots {
    struct slot *all;
    uint32_t n;
    uint32_t running;  /* slots in use, the measurement's included */
    uint64_t last_job; /* counts jobs: a job's number modulo CAP_SLOTS is its slot's */
    int64_t retry_ns;  /* no worker was ready: when to try again; 0: now */
};

/* At most CAP_SLOTS. False without memory. */
bool slots_init(struct slots *slots, uint32_t n);
void slots_clear(struct slots *slots);
/* Takes a free slot for a job; NULL when there is none. */
struct slot *slots_take(struct slots *slots, uint64_t *job_id);
void slots_free(struct slots *slots, struct slot *slot);
/* The slot in which that job runs; NULL: it has ended. */
struct slot *slots_find(const struct slots *slots, uint64_t job_id);

#endif
