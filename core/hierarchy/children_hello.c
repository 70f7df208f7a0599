/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may become a child: hellos, welcomes and refusals.
 */
#include "core/hierarchy/children_internal.h"

#include "core/hierarchy/membership.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node whose name is taken elsewhere is let in again after half a lease, and then ever more seldom. */
#define REFUSED_MOST_NS (60 * NS_PER_S)

/* Of its caller's, in one welcome. */
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

/* The child's ticket goes back as it came. */
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

void children_on_seeks(struct children *c, struct child *child, const struct report *report)
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

/* What to do with the namesake that is there; false: the newcomer has been refused. */
static bool settle_namesake(struct children *c, struct child *child, const struct envelope *envelope,
                            const struct hello *hello)
{
    if (child->incarnation == envelope->from_incarnation)
        return true;
    if (strcmp(child->address, hello->address) == 0) {
        children_lose(c, child, "restarted");
        return true;
    }
    /* The same text with each try: the newcomer warns once. */
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

void children_on_hello(struct children *c, const struct envelope *envelope, const struct hello *hello)
{
    struct esp_error error = {0};
    if (c->dismissed)
        return; /* as if it had gone already: who is refused tries again later than who is not answered */
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
