/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of the contract's `post`: an envelope, a count, and that many one-way messages. Senders gather
 * the messages to one address in a batch while they can, and encode each immediately. Receivers decode the
 * whole post before they act on any message, so a malformed post has no effect at all. */
#ifndef CORE_BATCH_H
#define CORE_BATCH_H

#include "core/message/message.h"

/* A post under construction; memory.data, memory.size are its encoding at any time. */
struct batch {
    struct memory_wire memory;
    uint64_t to_incarnation;
    size_t count_at; /* position of the count in the encoding */
    uint32_t count;
};

/* Begins an empty post that may grow to `cap` bytes; batch_release() frees it. */
enum esp_status batch_begin(struct batch *batch, const struct envelope *envelope, size_t cap,
                            struct esp_error *error);
/* Appends a message. ESP_LIMIT when it does not fit, ESP_INVALID for a kind that is not one-way; the batch
 * is unchanged then. */
enum esp_status batch_add(struct batch *batch, const struct message *message, struct esp_error *error);
void batch_release(struct batch *batch);

/* A decoded post. */
struct post_item {
    struct message message; /* its arena stays empty: everything lies in the post's arena */
    struct post_item *next;
};
struct post {
    struct arena arena;
    struct envelope envelope;
    struct post_item *items; /* in order */
    uint32_t n;
};

/* Decodes; false with wire->error set. post_clear() frees it in every case. */
bool wire_post(struct wire *wire, struct post *post);
void post_clear(struct post *post);

#endif
