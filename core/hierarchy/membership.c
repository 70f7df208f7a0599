/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/membership_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_FIRST_MS 100
/* A parent may ask for leases and heartbeats within these bounds only: a silly value must neither make a
 * child send without end nor let it wait for ever. */
#define HEARTBEAT_LEAST_MS 10
#define HEARTBEAT_MOST_MS  (60 * 1000)
#define LEASE_MOST_MS      (600 * 1000)

/* Between the numbers of hellos of two ties of one node, so that a welcome is for one of them only. */
#define HELLOS_APART (UINT32_C(1) << 20)

enum esp_status membership_create(const struct membership_options *options, const struct membership_ops *ops,
                                  void *self, struct membership **membership, struct esp_error *error)
{
    struct membership *m = calloc(1, sizeof *m);
    if (!m)
        return error_no_memory(error, "the tie to a parent");
    m->ops = *ops;
    m->self = self;
    m->clock = options->clock;
    m->role = options->role;
    m->features = options->features;
    m->quiet = options->quiet;
    m->retry_first_ms = options->retry_first_ms > 0 ? options->retry_first_ms : RETRY_FIRST_MS;
    m->retry_most_ms = options->retry_most_ms > 0 ? options->retry_most_ms : MEMBERSHIP_RETRY_MOST_MS;
    m->random = options->seed ? options->seed : 1;
    if (options->after) {
        m->number = m->confirmed = options->after->number;
        m->hellos = m->hellos_before = options->after->hellos + HELLOS_APART;
    }
    m->name = strdup(options->name);
    m->parents = membership_copy_texts(options->parents, options->n_parents);
    if (!m->name || !m->parents) {
        membership_destroy(m);
        return error_no_memory(error, "the tie to a parent");
    }
    m->n_parents = options->n_parents;
    m->said = calloc(m->n_parents ? m->n_parents : 1, sizeof *m->said);
    if (!m->said) {
        membership_destroy(m);
        return error_no_memory(error, "the tie to a parent");
    }
    *membership = m;
    return ESP_OK;
}

void membership_destroy(struct membership *m)
{
    if (!m)
        return;
    membership_forget_parent(m);
    membership_free_texts(m->said, m->said ? m->n_parents : 0);
    membership_free_texts(m->parents, m->parents ? m->n_parents : 0);
    free(m->name);
    free(m->own_address);
    free(m->seeks);
    free(m);
}

int64_t membership_now(const struct membership *m)
{
    return clock_now_ns(m->clock);
}

void membership_start(struct membership *m, const char *own_address)
{
    char *copy = strdup(own_address);
    if (!copy)
        return;
    free(m->own_address);
    m->own_address = copy;
    if (m->n_parents > 0)
        membership_seek(m);
}

static int64_t clamp(uint64_t value, int64_t least, int64_t most)
{
    if (value > (uint64_t)most)
        return most;
    return (int64_t)value < least ? least : (int64_t)value;
}

static void take_probe(struct membership *m, const struct welcome *welcome)
{
    const struct extension *probe = extension_find(&welcome->extensions, EXTENSION_PROBE);
    const uint32_t n = probe && probe->length <= CAP_PROBE_URL ? probe->length : 0;
    if (n)
        memcpy(m->parent_probe, probe->value, n);
    m->parent_probe[n] = 0;
}

const char *membership_parent_probe(const struct membership *m)
{
    return m->state == STATE_JOINED && *m->parent_probe ? m->parent_probe : NULL;
}

static void take_terms(struct membership *m, const struct welcome *welcome)
{
    int64_t heartbeat_ms = clamp(welcome->heartbeat_ms, HEARTBEAT_LEAST_MS, HEARTBEAT_MOST_MS);
    m->heartbeat_ns = heartbeat_ms * NS_PER_MS;
    m->lease_ns = clamp(welcome->lease_ms, 2 * heartbeat_ms, LEASE_MOST_MS) * NS_PER_MS;
    m->agreed_features = welcome->features & m->features;
    take_probe(m, welcome);
}

static void post_goodbye(struct membership *m, const char *address, const char *reason)
{
    struct message message = {.kind = MESSAGE_GOODBYE, .goodbye = {.reason = reason}};
    m->ops.post(m->self, address, 0, &message);
}

static void tell_joined(struct membership *m)
{
    m->put_out = false;
    m->trial_ns = 0;
    membership_forget_said(m);
    if (m->ops.changed)
        m->ops.changed(m->self, true, m->parent_name, "");
}

/* A node whose name is taken is let in now and then, as only those above know when the name is free: whether
 * it is, shows in that it may stay. To tell of each time would fill the log with ups and downs. */
static void join(struct membership *m, const struct envelope *envelope, const struct welcome *welcome,
                 size_t index)
{
    char *name = strdup(envelope->from);
    if (!name || !membership_take_ancestors(m, welcome)) {
        free(name);
        return; /* the next hello is already due */
    }
    free(m->parent_name);
    m->parent_name = name;
    m->parent_incarnation = envelope->from_incarnation;
    m->current = index;
    take_terms(m, welcome);
    membership_take_refuges(m, welcome);
    m->state = STATE_JOINED;
    m->tries = 0;
    m->complete_next = true;
    m->more = m->parts = false;
    m->confirmed = m->number;
    m->arrivals = (struct arrivals){0};
    m->report_ns = membership_now(m);
    membership_heard(m);
    if (m->put_out && m->said[index])
        m->trial_ns = m->report_ns + m->lease_ns;
    else
        tell_joined(m);
    if (m->ops.ancestors)
        m->ops.ancestors(m->self);
}

static void lose(struct membership *m, const char *why)
{
    char name[CAP_NAME + 1];
    snprintf(name, sizeof name, "%s", m->parent_name ? m->parent_name : m->parents[m->current]);
    size_t index = m->current;
    m->trial_ns = 0;
    membership_seek(m);
    membership_say(m, index, name, why);
    if (m->ops.ancestors)
        m->ops.ancestors(m->self);
}

static const char loop_text[] = "it is below this node already: a loop";

/* A redirector takes in no nodes but master agents, and tells the others where those are. */
static bool is_referral(const struct membership *m, const struct welcome *welcome)
{
    return welcome->outcome.status != ESP_OK && welcome->role == ROLE_REDIRECTOR && m->role != ROLE_MASTER;
}

static void on_welcome_seeking(struct membership *m, const struct envelope *envelope,
                               const struct welcome *welcome)
{
    size_t index = membership_welcome_index(m, welcome);
    if (index == SIZE_MAX)
        return;
    if (is_referral(m, welcome)) {
        if (index < m->n_parents - m->n_refuges) /* that is what its file says */
            membership_say(m, index, envelope->from, welcome->outcome.text);
        membership_referred(m, welcome);
    } else if (welcome->outcome.status != ESP_OK) {
        membership_refused(m, index, envelope->from, welcome->outcome.text);
        membership_drop_refuges(m);
    } else if (membership_is_loop(m, envelope, welcome)) {
        post_goodbye(m, m->parents[index], loop_text);
        membership_refused(m, index, envelope->from, loop_text);
    } else {
        join(m, envelope, welcome, index);
    }
}

bool membership_is_from_parent(const struct membership *m, const struct envelope *envelope)
{
    return m->parent_incarnation == envelope->from_incarnation && strcmp(m->parent_name, envelope->from) == 0;
}

static void on_welcome_joined(struct membership *m, const struct envelope *envelope,
                              const struct welcome *welcome)
{
    if (!membership_is_from_parent(m, envelope))
        return;
    membership_heard(m);
    if (welcome->outcome.status != ESP_OK) {
        lose(m, welcome->outcome.text);
        m->put_out = true;
        membership_drop_refuges(m);
        m->tries = m->n_parents;
        membership_schedule_hello(m);
    } else if (membership_is_loop(m, envelope, welcome)) {
        post_goodbye(m, m->parents[m->current], loop_text);
        lose(m, loop_text);
        m->tries = m->n_parents;
        membership_schedule_hello(m); /* jittered, so that of two who leave each other one comes first */
    } else {
        take_terms(m, welcome);
        membership_touch(m, m->heartbeat_ns / NS_PER_MS); /* the next one is due by what was agreed before */
        bool news = membership_take_refuges(m, welcome);
        news |= !membership_same_ancestors(m, welcome) && membership_take_ancestors(m, welcome);
        if (news && m->ops.ancestors)
            m->ops.ancestors(m->self);
        struct namesake namesake;
        if (m->ops.namesake && namesake_read(&welcome->extensions, &namesake))
            m->ops.namesake(m->self, &namesake);
    }
}

static void on_rejoin(struct membership *m, const struct envelope *envelope, const char *reason)
{
    /* A restarted parent has the old name and a new incarnation. While seeking, a hello is under way. */
    if (m->state == STATE_JOINED && strcmp(m->parent_name, envelope->from) == 0)
        lose(m, reason);
}

bool membership_post(struct membership *m, const struct envelope *envelope, const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_WELCOME:
        if (m->state == STATE_SEEKING)
            on_welcome_seeking(m, envelope, &message->welcome);
        else if (m->state == STATE_JOINED)
            on_welcome_joined(m, envelope, &message->welcome);
        return true;
    case MESSAGE_PULSE:
        membership_on_pulse(m, envelope, message->pulse.number);
        return true;
    case MESSAGE_REJOIN:
        on_rejoin(m, envelope, message->rejoin.reason);
        return true;
    default:
        return false;
    }
}

void membership_undelivered(struct membership *m, const char *address, const struct esp_error *why)
{
    if (m->state == STATE_OUT || strcmp(m->parents[m->current], address) != 0)
        return;
    if (m->state == STATE_JOINED)
        lose(m, why->status == ESP_VERSION ? why->text : membership_broken);
    else if (why->status == ESP_VERSION)
        membership_say(m, m->current, address, why->text);
    else
        membership_say_absent(m, m->current, membership_unreachable);
}

void membership_hung_up(struct membership *m, const struct envelope *from)
{
    const bool waits = membership_next_report_ns(m) == CLOCK_NEVER; /* one is on its way, and tells as well */
    if (m->state == STATE_JOINED && membership_is_from_parent(m, from) && !waits)
        membership_send_report(m);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void membership_heard(struct membership *m)
{
    arrivals_note(&m->arrivals, membership_now(m), m->heartbeat_ns);
}

/* When the parent is dead if nothing more is heard of it. */
static int64_t end_ns(const struct membership *m)
{
    const int64_t ns = m->arrivals.heard_ns + arrivals_patience_ns(&m->arrivals, m->lease_ns);
    return ns > m->spared_ns ? ns : m->spared_ns;
}

/* This node itself has not run for longer than a heartbeat when it should have: what the parent has said
 * meanwhile is only being read now. */
static void spare(struct membership *m, int64_t now_ns)
{
    if (m->spared_ns < now_ns && membership_due(m) + m->heartbeat_ns < now_ns)
        m->spared_ns = now_ns + 2 * m->heartbeat_ns;
}

int64_t membership_due(const struct membership *m)
{
    switch (m->state) {
    case STATE_SEEKING:
        return m->hello_ns;
    case STATE_JOINED:
        return earlier(earlier(membership_next_report_ns(m), membership_resend_ns(m)),
                       earlier(end_ns(m), m->trial_ns ? m->trial_ns : CLOCK_NEVER));
    default:
        return CLOCK_NEVER;
    }
}

void membership_tick(struct membership *m)
{
    int64_t time = membership_now(m);
    if (m->state == STATE_JOINED)
        spare(m, time);
    if (m->state == STATE_JOINED && time >= end_ns(m))
        lose(m, membership_silent);
    if (m->state == STATE_JOINED && m->trial_ns && time >= m->trial_ns)
        tell_joined(m);
    if (m->state == STATE_SEEKING && time >= m->hello_ns) {
        if (m->tries == 2 * m->n_parents && !m->said[m->current]) /* one that has refused did answer */
            membership_say_absent(m, m->current, membership_no_answer);
        membership_send_hello(m);
    }
    if (m->state == STATE_JOINED && time >= membership_resend_ns(m)) {
        m->complete_next = true;
        m->report_ns = time;
    }
    if (m->state == STATE_JOINED && time >= membership_next_report_ns(m))
        membership_send_report(m);
}

void membership_tell_due(struct membership *m)
{
    if (m->state == STATE_JOINED && membership_next_report_ns(m) <= membership_now(m))
        membership_send_report(m);
}

void membership_leave(struct membership *m, const char *reason)
{
    if (m->state == STATE_JOINED)
        post_goodbye(m, m->parents[m->current], reason);
    m->state = STATE_OUT;
    membership_forget_parent(m);
}
