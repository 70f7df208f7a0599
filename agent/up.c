/* SPDX-License-Identifier: Apache-2.0
 *
 * A leader agent towards its parent: it reports all that it knows below. (A master agent has no parent:
 * registered.c.)
 */
#include "agent/agent_internal.h"

/* A message of descriptions stays below this size; further descriptions follow in the next messages. */
#define TEXTS_BYTES (1 << 20)
/* Approximate size of one report: a quarter of a message, so that an underestimate does not exceed the
 * message. */
#define REPORT_BYTES (MESSAGE_BYTES / 4)
/* Adds the lost nodes, for the trees of the agents above. They are repeated in each report, so that the
 * times stay right. Returns false if there are none. */
static bool add_absent(struct agent *agent, struct message *message, struct node_record *own)
{
    const uint32_t n = absent_count(&agent->absentees, agent_now(agent));
    const struct extensions others = own->extensions;
    struct extension *told = n > 0 ? arena_alloc(&message->arena, (2 + others.n) * sizeof *told) : NULL;
    if (told) {
        own->extensions = (struct extensions){told, lost_tell(agent, &message->arena, told)};
        for (uint32_t i = 0; i < others.n; i++)
            told[own->extensions.n++] = others.items[i];
    }
    const bool news = n > 0 || agent->absent_told > 0;
    agent->absent_told = n;
    return news;
}

static void on_report(void *self, bool complete, struct message *message)
{
    struct agent *agent = self;
    struct node_record own = agent_own_record(agent);
    bool tell_own = add_absent(agent, message, &own) || complete || !agent->link_told;
    if (tell_own && agent->link.back_bps > 0 &&
        !terms_add_real(&own.extensions, EXTENSION_LINK_BACK, agent->link.back_bps, &message->arena))
        log_error("out of memory: the report to the parent lacks the link to it");
    agent->link_told = true;
    if (!knowledge_report(agent->knowledge, complete, tell_own ? &own : NULL, REPORT_BYTES, &message->arena,
                          &message->report)) {
        message->report = (struct report){.oldest_s = 1e9};
        log_error("out of memory for a report to the parent");
    } else if (!awaited_tell(agent, complete, message)) {
        log_error("out of memory: the report to the parent lacks the servers that are expected back");
    } else if (!location_tell(agent->location, complete, message)) {
        log_error("out of memory: the report to the parent lacks the locations of data");
    }
}

static bool on_more(void *self)
{
    const struct agent *agent = self;
    return knowledge_changed(agent->knowledge) || location_has_changes(agent->location);
}

void up_on_changed(void *self, bool joined, const char *parent, const char *why)
{
    (void)self;
    if (joined)
        log_notice("joined \"%s\"", parent);
    else
        log_notice("not below \"%s\": %s; trying again", parent, why);
}

void up_on_ancestors(void *self)
{
    struct agent *agent = self;
    children_welcome_all(agent->children);
}

static void on_namesake(void *self, const struct namesake *namesake)
{
    down_refuse(self, namesake);
}

static const struct membership_ops ops = {
    .post = agent_post,
    .report = on_report,
    .more = on_more,
    .changed = up_on_changed,
    .ancestors = up_on_ancestors,
    .namesake = on_namesake,
};

void up_membership(struct agent *agent, const struct agent_options *options,
                   struct membership_options *membership, const struct membership_ops **operations)
{
    *operations = &ops;
    *membership = (struct membership_options){
        .parents = options->parents,
        .n_parents = options->n_parents,
        .role = agent->is_master ? ROLE_MASTER : ROLE_LEADER,
        .name = agent->name,
        .retry_first_ms = options->retry_first_ms,
        .retry_most_ms = options->retry_most_ms,
        .seed = random_next(&agent->random),
        .clock = agent->clock,
    };
}

enum esp_status up_create(struct agent *agent, const struct agent_options *options, struct esp_error *error)
{
    struct membership_options membership;
    const struct membership_ops *operations;
    up_membership(agent, options, &membership, &operations);
    if (membership.n_parents == 0)
        return ESP_OK;
    return membership_create(&membership, operations, agent, &agent->membership, error);
}

void up_changed(struct agent *agent, bool urgent)
{
    if (agent->membership)
        membership_touch(agent->membership, urgent ? URGENT_MS : agent->options.report_within_ms);
    else
        registered_changed(agent);
}

bool up_is_parent(const struct membership *tie, const struct envelope *envelope)
{
    return tie && membership_joined(tie) &&
           membership_parent_incarnation(tie) == envelope->from_incarnation &&
           strcmp(membership_parent_name(tie), envelope->from) == 0;
}

/* ---- catalogues and descriptions ---- */

static void post_up(struct agent *agent, const struct membership *tie, const struct message *message)
{
    agent_post(agent, membership_parent_address(tie), membership_parent_incarnation(tie), message);
}

static bool is_wanted_above(const struct agent *agent, bool wanted)
{
    return wanted && agent->membership && membership_joined(agent->membership);
}

static void post_catalog(struct agent *agent, const struct membership *tie,
                         const struct known_catalog *catalog)
{
    struct message message = {.kind = MESSAGE_CATALOG};
    if (catalog_tell(catalog, &message.arena, &message.catalog))
        post_up(agent, tie, &message);
    arena_clear(&message.arena);
}

void up_tell_catalog(struct agent *agent, struct known_catalog *catalog)
{
    if (is_wanted_above(agent, catalog->wanted))
        post_catalog(agent, agent->membership, catalog);
    catalog->wanted = false;
}

void up_tell_text(struct agent *agent, struct variant *variant)
{
    if (is_wanted_above(agent, variant->wanted)) {
        struct described item = {variant->digest, variant->text};
        struct message message = {.kind = MESSAGE_TEXTS, .texts = {.items = &item, .n = 1}};
        post_up(agent, agent->membership, &message);
    }
    variant->wanted = false;
}

static void want_catalogs(struct agent *agent, const struct membership *tie, const struct want *want)
{
    for (uint32_t i = 0; i < want->n_catalogs; i++) {
        struct known_catalog *catalog = catalog_find(agent->catalogs, want->catalogs[i]);
        if (catalog && catalog->known)
            post_catalog(agent, tie, catalog);
        else if (catalog)
            catalog->wanted = true;
    }
}

static void want_texts(struct agent *agent, const struct membership *tie, const struct want *want)
{
    struct message message = {.kind = MESSAGE_TEXTS};
    struct described *items = arena_alloc(&message.arena, want->n_texts * sizeof *items);
    size_t bytes = 0;
    message.texts.items = items;
    for (uint32_t i = 0; items && i < want->n_texts; i++) {
        struct variant *variant = catalog_variant(agent->catalogs, want->texts[i]);
        if (variant && !variant->text)
            variant->wanted = true;
        if (!variant || !variant->text)
            continue;
        items[message.texts.n++] = (struct described){variant->digest, variant->text};
        bytes += strlen(variant->text);
        if (bytes >= TEXTS_BYTES) {
            post_up(agent, tie, &message);
            message.texts.n = 0;
            bytes = 0;
        }
    }
    if (message.texts.n > 0)
        post_up(agent, tie, &message);
    arena_clear(&message.arena);
}

void up_on_want(struct agent *agent, const struct membership *tie, const struct want *want)
{
    want_catalogs(agent, tie, want);
    want_texts(agent, tie, want);
}
