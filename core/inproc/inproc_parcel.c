/* SPDX-License-Identifier: Apache-2.0
 *
 * One-way messages of the in-process network: parcels, and the faults on their way. */
#include "core/inproc/inproc_net.h"

#include <stdlib.h>
#include <string.h>

void parcel_free(struct parcel *parcel)
{
    batch_release(&parcel->batch);
    free(parcel->from);
    free(parcel->to);
    free(parcel);
}

/* The parcel has arrived or failed. */
void parcel_end(struct inproc *net, struct parcel *parcel)
{
    timers_cancel(&net->timers, &parcel->timer);
    DL_DELETE(net->parcels, parcel);
    parcel_free(parcel);
}

static void parcel_came_back(struct timer *timer, int64_t now_ns, void *context)
{
    (void)now_ns;
    struct inproc *net = context;
    struct parcel *parcel = (struct parcel *)((char *)timer - offsetof(struct parcel, timer));
    struct inproc_endpoint *sender = inproc_find(net, parcel->from);
    if (sender && sender->id == parcel->from_id && sender->ops->undelivered) {
        struct esp_error why;
        error_set(&why, ESP_UNREACHABLE, "nobody serves there");
        inproc_begin(sender);
        sender->ops->undelivered(sender->self, parcel->to, &why);
        inproc_end(sender);
    }
    parcel_end(net, parcel);
}

static void parcel_read(struct inproc_endpoint *target, struct parcel *parcel)
{
    struct post post;
    struct memory_wire memory;
    memory_wire_decoder(&memory, parcel->batch.memory.data, parcel->batch.memory.size, NULL);
    bool stale = parcel->batch.to_incarnation && parcel->batch.to_incarnation != target->incarnation;
    if (stale || !wire_post(&memory.wire, &post))
        return;
    if (parcel->closes && target->ops->hung_up) {
        inproc_begin(target);
        target->ops->hung_up(target->self, &post.envelope);
        inproc_end(target);
    } else if (!parcel->closes && target->ops->post) {
        post.envelope.peer = parcel->from;
        post.envelope.identity = "";
        inproc_begin(target);
        for (struct post_item *item = post.items; item && target->alive; item = item->next)
            target->ops->post(target->self, &post.envelope, &item->message);
        inproc_end(target);
    }
    post_clear(&post);
}

static void parcel_arrived(struct timer *timer, int64_t now_ns, void *context)
{
    (void)now_ns;
    struct inproc *net = context;
    struct parcel *parcel = (struct parcel *)((char *)timer - offsetof(struct parcel, timer));
    struct inproc_endpoint *target = inproc_find(net, parcel->to);
    if (!inproc_is_cut(net, parcel->from, parcel->to)) {
        if (!target && !parcel->closes) {
            parcel->timer.fire = parcel_came_back;
            if (timers_set(&net->timers, &parcel->timer, inproc_arrival_ns(net), NULL) == ESP_OK)
                return;
        } else if (target && (!parcel->closes || target->id == parcel->to_id)) {
            parcel_read(target, parcel);
        }
    } else {
        net->counters.lost++;
    }
    parcel_end(net, parcel);
}

static bool parcel_launch(struct inproc *net, struct parcel *parcel)
{
    parcel->timer.fire = parcel_arrived;
    parcel->timer.context = net;
    if (timers_set(&net->timers, &parcel->timer, inproc_arrival_ns(net), NULL) != ESP_OK) {
        parcel_free(parcel);
        return false;
    }
    DL_APPEND(net->parcels, parcel);
    return true;
}

static struct parcel *parcel_copy(const struct parcel *parcel)
{
    struct parcel *copy = calloc(1, sizeof *copy);
    if (!copy)
        return NULL;
    copy->from_id = parcel->from_id;
    copy->batch.to_incarnation = parcel->batch.to_incarnation;
    copy->from = strdup(parcel->from);
    copy->to = strdup(parcel->to);
    memory_wire_encoder(&copy->batch.memory, parcel->batch.memory.size);
    bool copied = copy->from && copy->to &&
                  copy->batch.memory.wire.ops->move(&copy->batch.memory.wire, parcel->batch.memory.data, 1,
                                                    parcel->batch.memory.size);
    if (!copied) {
        parcel_free(copy);
        return NULL;
    }
    return copy;
}

/* Notes the connection; without memory, its end is not reported. */
static void dial(struct inproc_endpoint *endpoint, const char *to)
{
    struct inproc_line *line;
    const size_t length = strlen(to);
    HASH_FIND(hh, endpoint->lines, to, length, line);
    if (line || !(line = calloc(1, sizeof *line + length + 1)))
        return;
    memcpy(line->to, to, length);
    HASH_ADD(hh, endpoint->lines, to, length, line);
    if (!line->hh.tbl)
        free(line);
}

void parcel_send(struct inproc *net, struct parcel *parcel)
{
    net->counters.posts++;
    net->counters.messages += parcel->batch.count;
    net->counters.bytes += parcel->batch.memory.size;
    if (inproc_is_cut(net, parcel->from, parcel->to) || inproc_draw(net, net->faults.lose)) {
        net->counters.lost++;
        parcel_free(parcel);
        return;
    }
    struct parcel *twin = inproc_draw(net, net->faults.duplicate) ? parcel_copy(parcel) : NULL;
    parcel_launch(net, parcel);
    if (twin && parcel_launch(net, twin))
        net->counters.duplicated++;
}

static struct parcel *open_parcel(struct inproc_endpoint *endpoint, const char *address,
                                  uint64_t to_incarnation, struct esp_error *error)
{
    struct parcel *parcel = calloc(1, sizeof *parcel);
    struct envelope envelope = {endpoint->name, endpoint->incarnation, to_incarnation, "", ""};
    if (!parcel || !(parcel->to = strdup(address)) || !(parcel->from = strdup(endpoint->address)) ||
        batch_begin(&parcel->batch, &envelope, MESSAGE_BYTES, NULL) != ESP_OK) {
        if (parcel)
            parcel_free(parcel);
        error_no_memory(error, "a post");
        return NULL;
    }
    parcel->from_id = endpoint->id;
    return parcel;
}

/* Makes it the parcel to which later messages to its address are added. */
static void put_in_outbox(struct inproc_endpoint *endpoint, struct parcel *parcel, struct parcel *older)
{
    if (older)
        HASH_DEL(endpoint->outbox_by_address, older);
    HASH_ADD_KEYPTR(hh, endpoint->outbox_by_address, parcel->to, strlen(parcel->to), parcel);
    DL_APPEND(endpoint->outbox, parcel);
}

enum esp_status inproc_post(struct endpoint *base, const char *address, uint64_t to_incarnation,
                            const struct message *message, struct esp_error *error)
{
    struct inproc_endpoint *endpoint = (struct inproc_endpoint *)base;
    if (!endpoint->alive)
        return ESP_OK; /* messages of a dead process are dropped */
    if (!endpoint->inside)
        return error_set(error, ESP_INTERNAL, "%s posts a %s outside of its operations and without entering",
                         endpoint->address, message_name(message->kind));
    if (strlen(address) > CAP_ADDRESS)
        return error_set(error, ESP_INVALID, "an address has at most %d bytes", CAP_ADDRESS);
    struct parcel *parcel;
    HASH_FIND_STR(endpoint->outbox_by_address, address, parcel);
    if (parcel && parcel->batch.to_incarnation == to_incarnation) {
        enum esp_status status = batch_add(&parcel->batch, message, error);
        if (status != ESP_LIMIT)
            return status;
    }
    /* A new parcel: the first one, one for another incarnation, or one because the message does not fit
     * any more. */
    struct parcel *fresh = open_parcel(endpoint, address, to_incarnation, error);
    if (!fresh)
        return ESP_NO_MEMORY;
    dial(endpoint, address);
    enum esp_status status = batch_add(&fresh->batch, message, error);
    if (status == ESP_OK)
        put_in_outbox(endpoint, fresh, parcel);
    else
        parcel_free(fresh);
    return status;
}

void inproc_close_lines(struct inproc_endpoint *endpoint, bool tell)
{
    struct inproc *net = inproc_of(endpoint);
    struct inproc_line *line, *next;
    HASH_ITER(hh, endpoint->lines, line, next)
    {
        const struct inproc_endpoint *target = inproc_find(net, line->to);
        struct parcel *parcel = tell && target && !inproc_is_cut(net, endpoint->address, line->to)
                                    ? open_parcel(endpoint, line->to, 0, NULL)
                                    : NULL;
        if (parcel) {
            parcel->closes = true;
            parcel->to_id = target->id;
            parcel_launch(net, parcel);
        }
        HASH_DEL(endpoint->lines, line);
        free(line);
    }
}
