/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/queue.h"

#include <stddef.h>
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
