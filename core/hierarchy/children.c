/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/children.h"
#include "core/hierarchy/membership.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct children {
    struct children_options options;
    char *name, *probe;
    struct children_ops ops;
    void *self;
    struct child *by_name, *by_address;
    struct child *by_age; /* the child silent for longest first: shortest leases end in this order */
    int64_t spared_ns; /* no child is taken for dead before this time, because this node itself was held up */
    bool dismissed;    /* this node is stopping */
    struct refusals refusals;
};

static void children_on_seeks(struct children *c, struct child *child, const struct report *report);
static void children_on_hello(struct children *c, const struct envelope *envelope, const struct hello *hello);

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

static void child_destroy(struct child *child)
{
    free(child->name);
    free(child->address);
    free(child->seeks);
    free(child);
}

/* Removes the child from all tables without freeing it. */
static void child_unlink(struct children *c, struct child *child)
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

/* Asks the child for a sign of life. If the child is dead, the message cannot be delivered, and the
 * failure shows it. */
static void children_probe(struct children *c, const struct child *child)
{
    struct message message = {.kind = MESSAGE_PULSE, .pulse = {.number = child->through}};
    children_post_to(c, child, &message);
}

/* Reports the loss to the owner with its reason, then frees the struct. */
static void children_lose(struct children *c, struct child *child, const char *why)
{
    child_unlink(c, child);
    c->ops.lost(c->self, child, why);
    child_destroy(child);
}

/* Notes a sign of life. */
static void children_heard(struct children *c, struct child *child)
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

/* Answers a report of an unknown child: this node was restarted, or the child's lease has ended. */
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

/* Passes a report to the owner. Only the last part of a complete report shows which nodes are missing. If
 * a part was lost, the report never ends and stays unconfirmed, so the child starts it again. */
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
        /* The registered node with this name stays registered: only a hello can replace it. */
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
        children_heard(c, child); /* any message shows that the child is alive */
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

/* Returns when to ask the child for a sign of life: after a missed heartbeat. If its process has ended,
 * the message cannot be delivered, and the death is known before the lease is over. */
static int64_t probe_ns(const struct children *c, const struct child *child)
{
    return child->arrivals.heard_ns + c->options.heartbeat_ms * NS_PER_MS * 3 / 2;
}

/* Returns when the child is taken for dead unless it sends something. */
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
    /* Skip the few children whose lease is over but whose patience is longer. The next child has the
     * earliest end of all others. */
    for (; child && child->arrivals.heard_ns + lease_ns(c) <= now_ns; child = child->next)
        due = end_ns(c, child) < due ? end_ns(c, child) : due;
    if (child && child->arrivals.heard_ns + lease_ns(c) < due)
        due = child->arrivals.heard_ns + lease_ns(c);
    child = c->by_age;
    while (child && child->probed)
        child = child->next;
    return child && probe_ns(c, child) < due ? probe_ns(c, child) : due;
}

/* This node itself did not run for longer than a heartbeat when it should have (stopped, or starved of
 * CPU): the messages that children sent meanwhile are only being read now. */
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

/* Decides which nodes may become children: hellos, welcomes and refusals. */

/* A node whose name is taken is let in again after half a lease, then at growing intervals. */
#define REFUSED_MOST_NS (60 * NS_PER_S)

/* Extensions that the caller may add to one welcome. */
#define WELCOME_EXTENSIONS 2

static void post_welcome(struct children *c, const char *address, uint64_t incarnation,
                         const struct child *child, const struct extensions *echo)
{
    const char *ancestors[CAP_ANCESTORS];
    size_t n;
    const char *const *above = c->ops.ancestors(c->self, &n);
    ancestors[0] = c->name;
    if (n > CAP_ANCESTORS - 1)
        n = CAP_ANCESTORS - 1;
    for (size_t i = 0; i < n; i++)
        ancestors[i + 1] = above[i];
    struct message message = {
        .kind = MESSAGE_WELCOME,
        .welcome =
            {
                .minor = child->minor,
                .features = child->features,
                .role = c->options.role,
                .lease_ms = (uint64_t)c->options.lease_ms,
                .heartbeat_ms = (uint64_t)c->options.heartbeat_ms,
                .ancestors = ancestors,
                .n_ancestors = (uint32_t)n + 1,
            },
    };
    struct extension items[3 + WELCOME_EXTENSIONS];
    struct refuges refuges = {.n = 0};
    uint8_t bytes[REFUGES_BYTES];
    uint32_t n_items = 0;
    for (; echo && n_items < echo->n && n_items < WELCOME_EXTENSIONS; n_items++)
        items[n_items] = echo->items[n_items];
    if (c->ops.refuges)
        c->ops.refuges(c->self, child, &refuges);
    refuges_put(&refuges, bytes, &items[n_items]);
    n_items += 2;
    if (c->probe)
        items[n_items++] =
            (struct extension){EXTENSION_PROBE, (const uint8_t *)c->probe, (uint32_t)strlen(c->probe)};
    message.welcome.extensions = (struct extensions){.items = items, .n = n_items};
    c->ops.post(c->self, address, incarnation, &message);
}

/* Returns the child's ticket unchanged. */
static struct extensions echo_of(const struct hello *hello)
{
    const struct extension *ticket = extension_find(&hello->extensions, EXTENSION_TICKET);
    return (struct extensions){(struct extension *)ticket, ticket ? 1 : 0};
}

static void refuse(struct children *c, const struct envelope *envelope, const struct hello *hello,
                   enum esp_status status, const char *why)
{
    if (c->ops.refused)
        c->ops.refused(c->self, envelope->from, why);
    struct refuges refuges = {.n = 0};
    uint8_t bytes[REFUGES_BYTES];
    struct extensions echo = echo_of(hello);
    struct extension items[3];
    uint32_t n_items = 0;
    if (echo.n > 0)
        items[n_items++] = echo.items[0];
    if (c->ops.refer) {
        c->ops.refer(c->self, &refuges);
        refuges_put(&refuges, bytes, &items[n_items]);
        n_items += 2;
    }
    struct message message = {
        .kind = MESSAGE_WELCOME,
        .welcome =
            {
                .outcome = {status, why},
                .minor = message_minor(hello->minor),
                .role = c->options.role,
                .extensions = {items, n_items},
            },
    };
    c->ops.post(c->self, hello->address, envelope->from_incarnation, &message);
}

/* The report names the agent that the child would rather be below: send a welcome with that agent's
 * present parent. */
static void children_on_seeks(struct children *c, struct child *child, const struct report *report)
{
    const struct extension *seeks = extension_find(&report->extensions, EXTENSION_SEEKS);
    if (!seeks || seeks->length == 0 || seeks->length > CAP_NAME)
        return;
    char *name = strndup((const char *)seeks->value, seeks->length);
    if (!name)
        return; /* it asks again */
    free(child->seeks);
    child->seeks = name;
    if (c->ops.seeks)
        c->ops.seeks(c->self, child);
    post_welcome(c, child->address, child->incarnation, child, NULL);
}

static bool is_above(struct children *c, const char *name)
{
    if (strcmp(name, c->name) == 0)
        return true;
    size_t n;
    const char *const *above = c->ops.ancestors(c->self, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(above[i], name) == 0)
            return true;
    return false;
}

/* Why this node may not become a child; ESP_OK when it may. */
static enum esp_status check_hello(struct children *c, const struct envelope *envelope,
                                   const struct hello *hello, struct esp_error *error)
{
    if (!*envelope->from || !*hello->address)
        return error_set(error, ESP_PROTOCOL, "a hello needs a name and an address");
    if (hello->role > ROLE_SERVER || !(c->options.roles & (1U << hello->role)))
        return error_set(error, ESP_REFUSED, "a %s does not belong below the %s \"%s\"",
                         node_role_name((enum node_role)hello->role), node_role_name(c->options.role),
                         c->name);
    if (is_above(c, envelope->from) && hello->role == ROLE_SERVER)
        return error_set(
            error, ESP_REFUSED,
            "\"%s\" is the name of an agent above this server, too: give one of them another name "
            "(name in its file)",
            envelope->from);
    if (is_above(c, envelope->from))
        return error_set(error, ESP_REFUSED, "\"%s\" stands above \"%s\" already: that would be a loop",
                         envelope->from, c->name);
    const char *taken = refusals_find(&c->refusals, envelope->from, envelope->from_incarnation,
                                      clock_now_ns(c->options.clock));
    if (taken)
        return error_set(error, ESP_REFUSED, "%s", taken);
    if (c->options.required & ~hello->features)
        return error_set(error, ESP_VERSION,
                         "features 0x%" PRIx64 " are required, found 0x%" PRIx64 " (minor %u)",
                         c->options.required, hello->features, hello->minor);
    if (!children_find(c, envelope->from) && children_count(c) >= c->options.most)
        return error_set(error, ESP_LIMIT, "\"%s\" has its %u children already", c->name, c->options.most);
    return ESP_OK;
}

static bool set_address(struct children *c, struct child *child, const char *address)
{
    if (child->address && strcmp(child->address, address) == 0)
        return true;
    char *copy = strdup(address);
    if (!copy)
        return false;
    if (child->hh_address.tbl)
        HASH_DELETE(hh_address, c->by_address, child);
    child->hh_address.tbl = NULL;
    free(child->address);
    child->address = copy;
    HASH_ADD_KEYPTR(hh_address, c->by_address, child->address, strlen(child->address), child);
    return child->hh_address.tbl != NULL;
}

static struct child *child_create(struct children *c, const struct envelope *envelope,
                                  const struct hello *hello)
{
    struct child *child = calloc(1, sizeof *child);
    if (!child)
        return NULL;
    DL_APPEND(c->by_age, child);
    child->name = strdup(envelope->from);
    child->incarnation = envelope->from_incarnation;
    child->role = (enum node_role)hello->role;
    child->arrivals.heard_ns = clock_now_ns(c->options.clock);
    if (refusals_know(&c->refusals, envelope->from, envelope->from_incarnation))
        child->trial_ns = child->arrivals.heard_ns + c->options.lease_ms * NS_PER_MS;
    if (child->name) {
        HASH_ADD_KEYPTR(hh, c->by_name, child->name, strlen(child->name), child);
        if (child->hh.tbl && set_address(c, child, hello->address) && c->ops.joined(c->self, child))
            return child;
    }
    child_unlink(c, child);
    child_destroy(child);
    return NULL;
}

/* Decides about the registered node of the same name; false: the newcomer has been refused. */
static bool settle_namesake(struct children *c, struct child *child, const struct envelope *envelope,
                            const struct hello *hello)
{
    if (child->incarnation == envelope->from_incarnation)
        return true;
    if (strcmp(child->address, hello->address) == 0) {
        children_lose(c, child, "restarted");
        return true;
    }
    /* The text is the same at each try, so that the newcomer warns once. */
    char why[CAP_ERROR_TEXT / 4];
    snprintf(why, sizeof why,
             "another node named \"%s\" lives at %s: give this one another name (key \"name\" of its file), "
             "or stop "
             "the other one (its name is free %.3g s after its last sign of life)",
             envelope->from, child->address, (double)c->options.lease_ms / 1e3);
    children_probe(c, child);
    refuse(c, envelope, hello, ESP_REFUSED, why);
    return false;
}

static void children_on_hello(struct children *c, const struct envelope *envelope, const struct hello *hello)
{
    struct esp_error error = {0};
    if (c->dismissed)
        return; /* refuse as a stopped node does: a refused child retries later than one without an answer */
    if (check_hello(c, envelope, hello, &error) != ESP_OK) {
        refuse(c, envelope, hello, error.status, error.text);
        return;
    }
    struct child *child = children_find(c, envelope->from);
    if (child && !settle_namesake(c, child, envelope, hello))
        return;
    child = children_find(c, envelope->from);
    if (!child)
        child = child_create(c, envelope, hello);
    if (!child || !set_address(c, child, hello->address)) {
        refuse(c, envelope, hello, ESP_NO_MEMORY, "the parent is out of memory");
        return;
    }
    child->minor = message_minor(hello->minor);
    child->features = hello->features & c->options.features;
    children_heard(c, child);
    struct extensions echo = echo_of(hello);
    post_welcome(c, child->address, child->incarnation, child, &echo);
}

void children_refuse(struct children *c, const struct namesake *namesake)
{
    struct child *child = children_find(c, namesake->name);
    if (!child || child->incarnation != namesake->incarnation)
        return;
    refusals_note(&c->refusals, namesake, clock_now_ns(c->options.clock), c->options.lease_ms * NS_PER_MS / 2,
                  REFUSED_MOST_NS);
    struct message message = {
        .kind = MESSAGE_WELCOME,
        .welcome =
            {
                .outcome = {ESP_REFUSED, namesake->why},
                .minor = child->minor,
                .role = c->options.role,
            },
    };
    children_post_to(c, child, &message);
    children_lose(c, child, namesake->why);
}

void children_refuse_below(struct children *c, const struct child *child, const struct namesake *namesake)
{
    struct arena arena = {0};
    struct extension extension;
    struct extensions extensions = {&extension, 1};
    if (namesake_pack(namesake, &arena, &extension))
        post_welcome(c, child->address, child->incarnation, child, &extensions);
    arena_clear(&arena);
}

void children_welcome_all(struct children *c)
{
    for (struct child *child = c->by_name; child; child = child->hh.next)
        post_welcome(c, child->address, child->incarnation, child, NULL);
}
