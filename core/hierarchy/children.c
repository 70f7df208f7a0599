/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/children_internal.h"

#include <stdlib.h>
#include <string.h>

#define CHILDREN_MOST 10000

enum esp_status children_create(const struct children_options *options, const struct children_ops *ops,
                                void *self, struct children **children, struct esp_error *error)
{
    struct children *c = calloc(1, sizeof *c);
    if (!c || !(c->name = strdup(options->name)) ||
        (options->probe && !(c->probe = strdup(options->probe)))) {
        free(c ? c->name : NULL);
        free(c);
        return error_no_memory(error, "the children");
    }
    c->options = *options;
    c->options.name = c->name;
    children_set_most(c, options->most);
    c->ops = *ops;
    c->self = self;
    *children = c;
    return ESP_OK;
}

void child_destroy(struct child *child)
{
    free(child->name);
    free(child->address);
    free(child->seeks);
    free(child);
}

void child_unlink(struct children *c, struct child *child)
{
    if (child->hh.tbl)
        HASH_DELETE(hh, c->by_name, child);
    if (child->hh_address.tbl)
        HASH_DELETE(hh_address, c->by_address, child);
    DL_DELETE(c->by_age, child);
}

void children_destroy(struct children *c)
{
    if (!c)
        return;
    while (c->by_age) {
        struct child *child = c->by_age;
        child_unlink(c, child);
        child_destroy(child);
    }
    refusals_release(&c->refusals);
    free(c->probe);
    free(c->name);
    free(c);
}

void children_set_most(struct children *c, uint32_t most)
{
    c->options.most = most > 0 ? most : CHILDREN_MOST;
}

static int64_t lease_ns(const struct children *c)
{
    return c->options.lease_ms * NS_PER_MS;
}

void children_set_terms(struct children *c, int64_t lease_ms, int64_t heartbeat_ms)
{
    if (c->options.lease_ms == lease_ms && c->options.heartbeat_ms == heartbeat_ms)
        return;
    c->options.lease_ms = lease_ms;
    c->options.heartbeat_ms = heartbeat_ms;
    c->spared_ns = clock_now_ns(c->options.clock) + lease_ns(c);
    children_welcome_all(c);
}

struct child *children_find(const struct children *c, const char *name)
{
    struct child *child;
    HASH_FIND(hh, c->by_name, name, strlen(name), child);
    return child;
}

struct child *children_speaker(const struct children *c, const struct envelope *envelope)
{
    struct child *child = children_find(c, envelope->from);
    return child && child->incarnation == envelope->from_incarnation ? child : NULL;
}

struct child *children_first(const struct children *c)
{
    return c->by_name;
}

size_t children_count(const struct children *c)
{
    return HASH_CNT(hh, c->by_name);
}

void children_post_to(struct children *c, const struct child *child, const struct message *message)
{
    c->ops.post(c->self, child->address, child->incarnation, message);
}

void children_probe(struct children *c, const struct child *child)
{
    struct message message = {.kind = MESSAGE_PULSE, .pulse = {.number = child->through}};
    children_post_to(c, child, &message);
}

void children_lose(struct children *c, struct child *child, const char *why)
{
    child_unlink(c, child);
    c->ops.lost(c->self, child, why);
    child_destroy(child);
}

void children_heard(struct children *c, struct child *child)
{
    arrivals_note(&child->arrivals, clock_now_ns(c->options.clock), c->options.heartbeat_ms * NS_PER_MS);
    child->probed = false;
    DL_DELETE(c->by_age, child);
    DL_APPEND(c->by_age, child);
}

/* ---- reports ---- */

static void post_pulse(struct children *c, const struct child *child)
{
    struct message message = {.kind = MESSAGE_PULSE, .pulse = {.number = child->through}};
    children_post_to(c, child, &message);
}

/* Somebody reports who is not known: this node was restarted, or the lease is over. */
static void ask_to_rejoin(struct children *c, const struct envelope *envelope, const struct report *report)
{
    const struct extension *address = extension_find(&report->extensions, EXTENSION_CHILD_ADDRESS);
    if (!address || address->length == 0 || address->length > CAP_ADDRESS)
        return;
    char text[CAP_ADDRESS + 1];
    memcpy(text, address->value, address->length);
    text[address->length] = 0;
    struct message message = {.kind = MESSAGE_REJOIN,
                              .rejoin = {.reason = "it does not know this node (any more)"}};
    c->ops.post(c->self, text, envelope->from_incarnation, &message);
}

static enum report_part part_of(const struct child *child, const struct report *report, bool in_order)
{
    const struct extension *extension = extension_find(&report->extensions, EXTENSION_PART);
    bool is_part = extension && extension->length == 1, more = is_part && extension->value[0];
    if (report->complete)
        return more ? REPORT_BEGINS : REPORT_COMPLETE;
    if (!is_part || !child->gathering || !in_order)
        return REPORT_CHANGES;
    return more ? REPORT_GOES_ON : REPORT_ENDS;
}

/* Only at its end does a complete report in parts tell what is not there. One of which a part got lost never
 * ends: it stays unconfirmed, and the child begins again. */
static void take_report(struct children *c, struct child *child, const struct report *report)
{
    bool in_order = (child->reported || child->gathering) && report->number == child->through + 1;
    child->part = part_of(child, report, in_order);
    child->newest = report->number;
    if (report->complete || in_order)
        child->through = report->number;
    if (child->part == REPORT_COMPLETE || child->part == REPORT_ENDS)
        child->reported = true;
    if (child->part != REPORT_GOES_ON)
        child->gathering =
            child->part == REPORT_BEGINS || (child->gathering && in_order && child->part != REPORT_ENDS);
    bool whole = (report->complete || in_order) && !child->gathering && child->reported;
    c->ops.report(c->self, child, report, whole);
}

static void on_report(struct children *c, const struct envelope *envelope, const struct report *report)
{
    struct child *child = children_speaker(c, envelope);
    if (!child) {
        /* The namesake who has the place keeps it: only who says hello may take it over. */
        if (!children_find(c, envelope->from))
            ask_to_rejoin(c, envelope, report);
        return;
    }
    children_heard(c, child);
    if (report->number > child->newest)
        take_report(c, child, report);
    if (children_speaker(c, envelope) != child) /* the owner may have refused it */
        return;
    children_on_seeks(c, child, report);
    post_pulse(c, child);
}

static void on_goodbye(struct children *c, const struct envelope *envelope, const char *reason)
{
    struct child *child = children_speaker(c, envelope);
    if (child)
        children_lose(c, child, reason);
}

bool children_post(struct children *c, const struct envelope *envelope, const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_HELLO:
        children_on_hello(c, envelope, &message->hello);
        return true;
    case MESSAGE_REPORT:
        on_report(c, envelope, &message->report);
        return true;
    case MESSAGE_GOODBYE:
        on_goodbye(c, envelope, message->goodbye.reason);
        return true;
    default:
        break;
    }
    struct child *child = children_speaker(c, envelope);
    if (child)
        children_heard(c, child); /* whatever it says, it lives */
    return false;
}

void children_undelivered(struct children *c, const char *address)
{
    struct child *child;
    HASH_FIND(hh_address, c->by_address, address, strlen(address), child);
    if (!child)
        return;
    child->silent = true;
    children_lose(c, child, "the connection broke");
}

void children_hung_up(struct children *c, const struct envelope *from)
{
    const struct child *child = children_speaker(c, from);
    if (child)
        children_probe(c, child);
}

/* A child that missed a heartbeat is asked for a sign of life: when its process is gone, that cannot be
 * delivered, and the death is known before the lease is over. */
static int64_t probe_ns(const struct children *c, const struct child *child)
{
    return child->arrivals.heard_ns + c->options.heartbeat_ms * NS_PER_MS * 3 / 2;
}

/* When the child is dead if nothing more is heard of it. */
static int64_t end_ns(const struct children *c, const struct child *child)
{
    const int64_t ns = child->arrivals.heard_ns + arrivals_patience_ns(&child->arrivals, lease_ns(c));
    return ns > c->spared_ns ? ns : c->spared_ns;
}

int64_t children_due(const struct children *c)
{
    int64_t due = CLOCK_NEVER;
    const int64_t now_ns = clock_now_ns(c->options.clock);
    const struct child *child = c->by_age;
    /* Those whose lease is over, and who have longer: few. The next one has the earliest end of all others.
     */
    for (; child && child->arrivals.heard_ns + lease_ns(c) <= now_ns; child = child->next)
        due = end_ns(c, child) < due ? end_ns(c, child) : due;
    if (child && child->arrivals.heard_ns + lease_ns(c) < due)
        due = child->arrivals.heard_ns + lease_ns(c);
    child = c->by_age;
    while (child && child->probed)
        child = child->next;
    return child && probe_ns(c, child) < due ? probe_ns(c, child) : due;
}

/* This node itself has not run for longer than a heartbeat when it should have (stopped, or starved): what
 * the children have said meanwhile is only being read now. */
static void spare(struct children *c, int64_t now_ns)
{
    const int64_t heartbeat_ns = c->options.heartbeat_ms * NS_PER_MS;
    if (c->by_age && c->spared_ns < now_ns && children_due(c) + heartbeat_ns < now_ns)
        c->spared_ns = now_ns + 2 * heartbeat_ns;
}

void children_tick(struct children *c)
{
    const int64_t now_ns = clock_now_ns(c->options.clock);
    struct child *child, *next;
    spare(c, now_ns);
    for (child = c->by_age; child && child->arrivals.heard_ns + lease_ns(c) <= now_ns; child = next) {
        next = child->next;
        if (end_ns(c, child) > now_ns)
            continue;
        child->silent = child->stands = true;
        children_lose(c, child, "its lease is over");
    }
    for (child = c->by_age; child && probe_ns(c, child) <= now_ns; child = child->next) {
        if (!child->probed)
            children_probe(c, child);
        child->probed = true;
    }
}

void children_dismiss(struct children *c, const char *reason)
{
    struct message message = {.kind = MESSAGE_REJOIN, .rejoin = {.reason = reason}};
    c->dismissed = true;
    for (struct child *child = c->by_name; child; child = child->hh.next)
        children_post_to(c, child, &message);
}
