/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/sessions/queue.h"

#include "core/message/message.h"

#include <stddef.h>
#include <stdlib.h>
#include <utlist.h>

void queue_push(struct queue *queue, struct queue_owner *owner, struct queue_entry *entry)
{
    entry->owner = owner;
    DL_APPEND(owner->entries, entry);
    queue->length++;
    if (owner->length++ == 0)
        DL_APPEND(queue->turn, owner);
}

void queue_push_front(struct queue *queue, struct queue_owner *owner, struct queue_entry *entry)
{
    entry->owner = owner;
    DL_PREPEND(owner->entries, entry);
    queue->length++;
    if (owner->length++ > 0)
        DL_DELETE(queue->turn, owner);
    DL_PREPEND(queue->turn, owner);
}

void queue_remove(struct queue *queue, struct queue_entry *entry)
{
    struct queue_owner *owner = entry->owner;
    if (!owner)
        return;
    DL_DELETE(owner->entries, entry);
    *entry = (struct queue_entry){0};
    queue->length--;
    if (--owner->length == 0)
        DL_DELETE(queue->turn, owner);
}

struct queue_entry *queue_pop(struct queue *queue)
{
    struct queue_owner *owner = queue->turn;
    if (!owner)
        return NULL;
    struct queue_entry *entry = owner->entries;
    queue_remove(queue, entry);
    if (owner->length > 0) {
        DL_DELETE(queue->turn, owner);
        DL_APPEND(queue->turn, owner);
    }
    return entry;
}

uint32_t queue_ahead(const struct queue *queue, const struct queue_entry *entry)
{
    if (!entry->owner)
        return 0;
    uint32_t round = 0; /* turns of its own client before it */
    for (const struct queue_entry *other = entry->owner->entries; other != entry; other = other->next)
        round++;
    uint32_t ahead = round;
    bool earlier = true; /* in the order of turns */
    for (const struct queue_owner *owner = queue->turn; owner; owner = owner->next) {
        if (owner == entry->owner) {
            earlier = false;
            continue;
        }
        uint32_t turns = round + (earlier ? 1 : 0);
        ahead += owner->length < turns ? owner->length : turns;
    }
    return ahead;
}

bool slots_init(struct slots *slots, uint32_t n)
{
    slots->all = calloc(n, sizeof *slots->all);
    slots->n = n;
    return slots->all;
}

void slots_clear(struct slots *slots)
{
    free(slots->all);
    slots->all = NULL;
}

struct slot *slots_take(struct slots *slots, uint64_t *job_id)
{
    for (uint32_t i = 0; slots->running < slots->n && i < slots->n; i++) {
        struct slot *slot = &slots->all[i];
        if (slot->job_id != 0)
            continue;
        *job_id = slot->job_id = ++slots->last_job * CAP_SLOTS + i;
        slots->running++;
        return slot;
    }
    return NULL;
}

void slots_free(struct slots *slots, struct slot *slot)
{
    *slot = (struct slot){0};
    slots->running--;
}

struct slot *slots_find(const struct slots *slots, uint64_t job_id)
{
    struct slot *slot = &slots->all[job_id % CAP_SLOTS % slots->n];
    return job_id != 0 && slot->job_id == job_id ? slot : NULL;
}
