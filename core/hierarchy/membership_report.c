/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports to the parent: in parts where there is much, again when they are not confirmed.
 */
#include "core/hierarchy/membership_internal.h"

#include "core/hierarchy/children.h"

#include <stdlib.h>
#include <string.h>

/* Of the owner, in one report, beside those that belong to the tie. */
#define REPORT_EXTENSIONS 3

void membership_on_pulse(struct membership *m, const struct envelope *envelope, uint64_t number)
{
    if (m->state != STATE_JOINED || !membership_is_from_parent(m, envelope))
        return;
    membership_heard(m);
    if (number > m->confirmed && number <= m->number) {
        m->confirmed = number;
        m->unconfirmed_ns = m->arrivals.heard_ns;
        if (m->more && m->confirmed == m->number)
            m->report_ns = m->arrivals.heard_ns;
    }
}

void membership_touch(struct membership *m, int64_t within_ms)
{
    if (m->state != STATE_JOINED)
        return; /* a complete report follows the welcome anyway */
    int64_t due = membership_now(m) + within_ms * NS_PER_MS;
    if (due < m->report_ns)
        m->report_ns = due;
}

void membership_tell_all(struct membership *m)
{
    if (m->state != STATE_JOINED)
        return;
    m->complete_next = true;
    m->report_ns = membership_now(m);
}

void membership_ask_where(struct membership *m, const char *name)
{
    char *copy = strdup(name);
    if (!copy)
        return;
    free(m->seeks);
    m->seeks = copy;
    membership_touch(m, 0);
}

int64_t membership_resend_ns(const struct membership *m)
{
    if (m->confirmed == m->number || m->complete_next)
        return CLOCK_NEVER;
    int64_t patience = m->heartbeat_ns < m->lease_ns / 3 ? m->heartbeat_ns : m->lease_ns / 3;
    return m->unconfirmed_ns + patience;
}

int64_t membership_next_report_ns(const struct membership *m)
{
    bool waits = m->more && m->confirmed != m->number && !m->complete_next;
    return waits ? CLOCK_NEVER : m->report_ns;
}

void membership_send_report(struct membership *m)
{
    bool complete = m->complete_next;
    struct message message = {.kind = MESSAGE_REPORT};
    m->report_ns =
        membership_now(m) + m->heartbeat_ns; /* unless the owner, who is asked now, wants it sooner */
    m->ops.report(m->self, complete, &message);
    m->more = m->ops.more && m->ops.more(m->self);
    message.report.complete = complete;
    message.report.number = ++m->number;
    struct extension address = {.tag = EXTENSION_CHILD_ADDRESS,
                                .value = (const uint8_t *)m->own_address,
                                .length = (uint32_t)strlen(m->own_address)};
    const uint8_t follow = m->more;
    bool part = complete ? m->more : m->parts;
    m->parts = part && m->more;
    const struct extensions own = message.report.extensions;
    struct extension items[3 + REPORT_EXTENSIONS] = {address};
    struct extensions all = {.items = items, .n = 1};
    for (uint32_t i = 0; i < own.n && i < REPORT_EXTENSIONS; i++)
        items[all.n++] = own.items[i];
    if (part)
        items[all.n++] = (struct extension){.tag = EXTENSION_PART, .value = &follow, .length = 1};
    if (m->seeks)
        items[all.n++] = (struct extension){
            .tag = EXTENSION_SEEKS, .value = (uint8_t *)m->seeks, .length = (uint32_t)strlen(m->seeks)};
    message.report.extensions = all;
    if (complete || m->confirmed == m->number - 1)
        m->unconfirmed_ns = membership_now(m);
    if (complete)
        m->confirmed = m->number - 1; /* what came before no longer matters */
    m->complete_next = false;
    /* To any incarnation: a restarted parent answers with "rejoin" at once, where a message for its past self
     * would vanish and cost a lease. */
    m->ops.post(m->self, m->parents[m->current], 0, &message);
    arena_clear(&message.arena);
    free(m->seeks);
    m->seeks = NULL;
}

bool membership_settled(const struct membership *m)
{
    return m->state == STATE_JOINED && !m->complete_next && !m->more && m->confirmed == m->number;
}
