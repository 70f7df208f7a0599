/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/handover.h"

#include <string.h>

/* Time for the new parent to pass the change upward, which takes some tens of milliseconds on each level. */
#define GRACE_NS (500 * NS_PER_MS)
/* The old parent is left after this time at the latest: it would take a silent child for dead anyway. */
#define OVERLAP_MOST_NS (5 * NS_PER_S)

enum esp_status handover_begin(struct handover *h, const struct membership *current,
                               const struct membership_options *options, const struct membership_ops *ops,
                               void *self, const char *own_address, const char *address, int64_t patience_ms,
                               struct esp_error *error)
{
    if (h->next || h->leaving)
        return error_set(error, ESP_BUSY, "\"%s\" is on its way to another parent already", options->name);
    const char *parent = membership_parent_address(current);
    if (parent && strcmp(parent, address) == 0)
        return error_set(error, ESP_INVALID, "\"%s\" is below %s already", options->name, address);
    struct membership_options alone = *options;
    alone.parents = &address;
    alone.n_parents = 1;
    alone.after = current;
    struct membership *next;
    enum esp_status status = membership_create(&alone, ops, self, &next, error);
    if (status != ESP_OK)
        return status;
    h->clock = options->clock;
    h->next = next;
    h->until_ns = clock_now_ns(h->clock) + patience_ms * NS_PER_MS;
    membership_start(next, own_address);
    return ESP_OK;
}

void handover_release(struct handover *h)
{
    membership_destroy(h->next);
    membership_destroy(h->leaving);
    h->next = h->leaving = NULL;
}

void handover_post(struct handover *h, const struct envelope *envelope, const struct message *message)
{
    if (h->next)
        membership_post(h->next, envelope, message);
}

void handover_undelivered(struct handover *h, const char *address, const struct esp_error *why)
{
    if (h->next)
        membership_undelivered(h->next, address, why);
}

struct membership *handover_speaker(const struct handover *h, const struct envelope *envelope)
{
    if (!h->leaving || !membership_joined(h->leaving) ||
        membership_parent_incarnation(h->leaving) != envelope->from_incarnation ||
        strcmp(membership_parent_name(h->leaving), envelope->from) != 0)
        return NULL;
    return h->leaving;
}

int64_t handover_due(const struct handover *h)
{
    if (h->next) {
        if (membership_joined(h->next) || !membership_may_answer(h->next))
            return clock_now_ns(h->clock);
        const int64_t due = membership_due(h->next);
        return due < h->until_ns ? due : h->until_ns;
    }
    if (!h->leaving)
        return CLOCK_NEVER;
    if (h->over)
        return clock_now_ns(h->clock);
    /* While the new parent has not confirmed everything, check periodically: its pulse goes to the other
     * tie. */
    const int64_t look_ns = h->settled_ns ? h->settled_ns + GRACE_NS : clock_now_ns(h->clock) + GRACE_NS / 10;
    return look_ns < h->until_ns ? look_ns : h->until_ns;
}

static enum handover_event join(struct handover *h, struct membership **current)
{
    size_t n;
    const char *const *others = membership_parents(*current, &n);
    membership_add_parents(h->next, others, n); /* without memory there are fewer fallback parents */
    h->leaving = *current;
    *current = h->next;
    h->next = NULL;
    h->settled_ns = 0;
    h->over = false;
    h->until_ns = clock_now_ns(h->clock) + OVERLAP_MOST_NS;
    return HANDOVER_JOINED;
}

static enum handover_event give_up(struct handover *h, struct esp_error *why)
{
    const char *text = membership_why(h->next);
    error_set(why, membership_is_refused(h->next) ? ESP_REFUSED : ESP_UNREACHABLE, "the new parent: %s",
              text ? text : "does not answer");
    membership_leave(h->next, "it was too late");
    membership_destroy(h->next);
    h->next = NULL;
    return HANDOVER_FAILED;
}

static enum handover_event tick_next(struct handover *h, struct membership **current, struct esp_error *why)
{
    if (membership_joined(h->next))
        return join(h, current);
    if (!membership_may_answer(h->next) || clock_now_ns(h->clock) >= h->until_ns)
        return give_up(h, why);
    if (clock_now_ns(h->clock) >= membership_due(h->next))
        membership_tick(h->next);
    return HANDOVER_NOTHING;
}

enum handover_event handover_tick(struct handover *h, struct membership **current, struct esp_error *why)
{
    if (h->next)
        return tick_next(h, current, why);
    if (!h->leaving)
        return HANDOVER_NOTHING;
    const int64_t now_ns = clock_now_ns(h->clock);
    if (!h->settled_ns && membership_settled(*current))
        h->settled_ns = now_ns;
    if (now_ns < h->until_ns && !(h->settled_ns && now_ns >= h->settled_ns + GRACE_NS))
        return HANDOVER_NOTHING;
    if (!h->over) {
        h->over = true;
        /* Send everything once more, later than the last report to the old parent. An ancestor of both
         * parents may have taken the new parent's report, which came by a faster way, for the older one. */
        membership_tell_all(*current);
        return HANDOVER_OVER;
    }
    membership_leave(h->leaving, "it moved to another parent");
    membership_destroy(h->leaving);
    h->leaving = NULL;
    return HANDOVER_NOTHING;
}
