/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking for a parent: one after the other, more and more slowly, and saying why there is none only once.
 */
#include "core/hierarchy/membership_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number in [0, 1) from xorshift64*: enough to spread the retries of many children. */
static double draw(struct membership *m)
{
    m->random ^= m->random >> 12;
    m->random ^= m->random << 25;
    m->random ^= m->random >> 27;
    return (double)((m->random * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

void membership_say(struct membership *m, size_t index, const char *parent, const char *why)
{
    char **said = &m->said[index];
    if (*said && strcmp(*said, why) == 0)
        return;
    free(*said);
    *said = strdup(why);
    if (m->ops.changed && !m->quiet)
        m->ops.changed(m->self, false, parent, why);
}

const char membership_broken[] = "the connection broke", membership_silent[] = "it fell silent";
const char membership_unreachable[] = "cannot be reached", membership_no_answer[] = "does not answer";

bool membership_is_absence(const char *why)
{
    return strcmp(why, membership_broken) == 0 || strcmp(why, membership_silent) == 0 ||
           strcmp(why, membership_unreachable) == 0 || strcmp(why, membership_no_answer) == 0;
}

void membership_say_absent(struct membership *m, size_t index, const char *why)
{
    if (!m->said[index] || !membership_is_absence(m->said[index]))
        membership_say(m, index, m->parents[index], why);
}

void membership_forget_said(struct membership *m)
{
    for (size_t i = 0; i < m->n_parents; i++) {
        free(m->said[i]);
        m->said[i] = NULL;
    }
}

void membership_schedule_hello(struct membership *m)
{
    size_t rounds = m->tries / (m->n_parents ? m->n_parents : 1);
    int64_t pause_ms = m->retry_first_ms;
    for (size_t i = 0; i < rounds && pause_ms < m->retry_most_ms; i++)
        pause_ms *= 2;
    if (pause_ms > m->retry_most_ms)
        pause_ms = m->retry_most_ms;
    double jittered = (double)(pause_ms * NS_PER_MS) * (0.5 + 0.5 * draw(m));
    m->hello_ns = membership_now(m) + (int64_t)jittered;
}

void membership_send_hello(struct membership *m)
{
    m->current = m->tries % m->n_parents;
    struct hello_ticket ticket = {(uint32_t)m->current, ++m->hellos};
    struct extension extension = {EXTENSION_TICKET, (const uint8_t *)&ticket, sizeof ticket};
    struct message message = {
        .kind = MESSAGE_HELLO,
        .hello =
            {
                .minor = CONTRACT_MINOR,
                .features = m->features,
                .role = m->role,
                .address = m->own_address,
                .extensions = {.items = &extension, .n = 1},
            },
    };
    m->tries++;
    membership_schedule_hello(m);
    m->ops.post(m->self, m->parents[m->current], 0, &message);
}

void membership_seek(struct membership *m)
{
    membership_forget_parent(m);
    m->state = STATE_SEEKING;
    m->hellos_before = m->hellos;
    m->tries = 0;
    m->hello_ns = membership_now(m);
}

size_t membership_welcome_index(const struct membership *m, const struct welcome *welcome)
{
    const struct extension *extension = extension_find(&welcome->extensions, EXTENSION_TICKET);
    struct hello_ticket ticket;
    if (!extension || extension->length != sizeof ticket)
        return SIZE_MAX;
    memcpy(&ticket, extension->value, sizeof ticket);
    if (ticket.parent >= m->n_parents || ticket.number <= m->hellos_before || ticket.number > m->hellos)
        return SIZE_MAX;
    return ticket.parent;
}

void membership_refused(struct membership *m, size_t index, const char *parent, const char *why)
{
    membership_say(m, index, parent, why);
    m->hellos_before = m->hellos;
    m->tries += m->n_parents;
    membership_schedule_hello(m);
}

/* ---- for who asks why there is no tie ---- */

bool membership_is_known_above(const struct membership *m, char *why, size_t size)
{
    if (m->n_parents == 0 || membership_settled(m))
        return true;
    if (m->state == STATE_JOINED)
        snprintf(why, size, "\"%s\" has not confirmed yet what it was told", m->parent_name);
    else
        snprintf(why, size, "not below %s: %s", m->parents[0], m->said[0] ? m->said[0] : "no answer yet");
    return false;
}

const char *membership_why(const struct membership *m)
{
    return m->said[0];
}

bool membership_may_answer(const struct membership *m)
{
    return !m->said[0] || strcmp(m->said[0], membership_no_answer) == 0;
}

bool membership_is_refused(const struct membership *m)
{
    return m->said[0] && !membership_is_absence(m->said[0]);
}
