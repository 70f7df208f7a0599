/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes the parent of a node while it works. The node stays with the old parent until the new one has
 * accepted it and knows everything below it, and answers both in between, so that every request finds the
 * node. Used by servers and agents. Pure state machine beside core/hierarchy/membership.h; under the
 * owner's lock. */
#ifndef CORE_HANDOVER_H
#define CORE_HANDOVER_H

#include "core/hierarchy/membership.h"

/* All zero: no handover. */
struct handover {
    struct membership *next;    /* the tie to the new parent while it is being made; else NULL */
    struct membership *leaving; /* the tie to the old parent, until the new one knows everything; else NULL */
    int64_t until_ns;           /* when the attempt is given up, or the old parent left in any case */
    int64_t settled_ns;         /* since when the new parent knows everything; 0: not yet */
    bool over;                  /* HANDOVER_OVER has been returned */
    const struct clock *clock;
};

enum handover_event {
    HANDOVER_NOTHING,
    HANDOVER_JOINED, /* *current is the tie to the new parent now: send the new ancestors to the children */
    HANDOVER_FAILED, /* the new parent refused or does not answer: nothing has changed */
    HANDOVER_OVER    /* the old parent is left next: last chance to send it something */
};

/* Says hello to `address`. `current` is the present tie; `options` and `ops` are those of the present tie,
 * except for the parents. The attempt is given up after `patience_ms`. ESP_BUSY: a handover is in
 * progress; ESP_INVALID: this is the present parent; ESP_NO_MEMORY. */
enum esp_status handover_begin(struct handover *handover, const struct membership *current,
                               const struct membership_options *options, const struct membership_ops *ops,
                               void *self, const char *own_address, const char *address, int64_t patience_ms,
                               struct esp_error *error);
void handover_release(struct handover *handover);

/* Handles a message. Call this and handover_undelivered() with everything that the current tie gets. */
void handover_post(struct handover *handover, const struct envelope *envelope, const struct message *message);
void handover_undelivered(struct handover *handover, const char *address, const struct esp_error *why);
/* Returns the old tie when the envelope comes from its parent, whose questions are still answered; else
 * NULL. */
struct membership *handover_speaker(const struct handover *handover, const struct envelope *envelope);

int64_t handover_due(const struct handover *handover);
/* `why` is set with HANDOVER_FAILED. */
enum handover_event handover_tick(struct handover *handover, struct membership **current,
                                  struct esp_error *why);

#endif
