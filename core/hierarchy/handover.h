/* SPDX-License-Identifier: Apache-2.0
 *
 * A node changes its parent while it works: it stays with the old one until the new one has taken it in and
 * knows all that is below it, and answers both in between, so that no request finds it gone. Used by servers
 * and agents. Pure state machine beside core/hierarchy/membership.h; under the owner's lock.
 */
#ifndef CORE_HANDOVER_H
#define CORE_HANDOVER_H

#include "core/hierarchy/membership.h"

/* All zero: none under way. */
struct handover {
    struct membership *next;    /* seeks the new parent; NULL: not (any more) */
    struct membership *leaving; /* the tie to the old one, until the new one knows all; NULL: none */
    int64_t until_ns;           /* when it is given up, or the old parent left in any case */
    int64_t settled_ns;         /* since when the new parent knows all; 0: not yet */
    bool over;                  /* the owner has been told that the old parent is left next */
    const struct clock *clock;
};

enum handover_event {
    HANDOVER_NOTHING,
    HANDOVER_JOINED, /* *current is the tie to the new parent now: tell those below */
    HANDOVER_FAILED, /* the new parent does not want it, or does not answer: all is as it was */
    HANDOVER_OVER    /* the old parent is left next: the last moment to tell it something */
};

/* Says hello to `address`. `current` is the tie there is; `options` and `ops` are as for it, but for the
 * parents. Given up after `patience_ms`. ESP_BUSY: one is under way; ESP_INVALID: that is the parent it has;
 * ESP_NO_MEMORY. */
enum esp_status handover_begin(struct handover *handover, const struct membership *current,
                               const struct membership_options *options, const struct membership_ops *ops,
                               void *self, const char *own_address, const char *address, int64_t patience_ms,
                               struct esp_error *error);
void handover_release(struct handover *handover);

/* Hand it every message and every failure that the current tie gets too. */
void handover_post(struct handover *handover, const struct envelope *envelope, const struct message *message);
void handover_undelivered(struct handover *handover, const char *address, const struct esp_error *why);
/* The old tie, when its parent speaks: what it asks is still answered. NULL: somebody else speaks. */
struct membership *handover_speaker(const struct handover *handover, const struct envelope *envelope);

int64_t handover_due(const struct handover *handover);
/* `why`: of HANDOVER_FAILED. */
enum handover_event handover_tick(struct handover *handover, struct membership **current,
                                  struct esp_error *why);

#endif
