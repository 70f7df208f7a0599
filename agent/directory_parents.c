/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/directory_parents.h"

#include "services/directory/kept.h"
#include "services/directory/schema.h"
#include "util/log.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_PARENTS 16

static void tell_wrong(void *arg, const struct esp_error *error, bool stays)
{
    (void)arg;
    log_warning("%s; %s", error->text, schema_outcome(stays));
}

static bool is_there(const struct settings_agent *settings, const char *address)
{
    bool found = settings->parent && strcmp(settings->parent, address) == 0;
    for (size_t i = 0; i < settings->parents.n && !found; i++)
        found = strcmp(settings->parents.items[i], address) == 0;
    return found;
}

static enum esp_status add_parents(struct settings_agent *settings, const char *const *addresses, size_t n,
                                   struct esp_error *error)
{
    struct config_strings *parents = &settings->parents;
    char **items = arena_alloc(&settings->arena, (parents->n + n) * sizeof *items);
    if (!items)
        return error_no_memory(error, "the parents");
    if (parents->n)
        memcpy(items, parents->items, parents->n * sizeof *items);
    parents->items = items;
    for (size_t i = 0; i < n; i++) {
        if (is_there(settings, addresses[i]))
            continue;
        char *copy = arena_strdup(&settings->arena, addresses[i]);
        if (!copy)
            return error_no_memory(error, "the parents");
        if (!settings->parent)
            settings->parent = copy;
        else
            parents->items[parents->n++] = copy;
    }
    return ESP_OK;
}

enum esp_status agent_directory_parents(struct settings_agent *settings, struct esp_error *error)
{
    char kept[4096] = "", away[256];
    const char *addresses[MOST_PARENTS];
    struct directory_tree tree = {0};
    if (!settings->directory.url)
        return ESP_OK;
    const struct directory_options options = directory_options_of(&settings->directory);
    const char *folder = settings->node.state_dir;
    if (folder && snprintf(kept, sizeof kept, "%s/directory.ldif", folder) >= (int)sizeof kept)
        *kept = 0;
    if (*kept)
        mkdir(folder, 0700); /* what is wrong with it is told by who uses it */
    enum esp_status status =
        directory_look(&options, *kept ? kept : NULL, tell_wrong, NULL, &tree, away, error);
    if (status == ESP_OK && *away)
        log_warning("the directory is away: %s; what it last said serves", away);
    if (status == ESP_OK) {
        const size_t n = directory_parents(&tree, settings->node.name, addresses, MOST_PARENTS);
        log_notice("the directory names %zu agents for \"%s\" to join", n, settings->node.name);
        status = add_parents(settings, addresses, n, error);
    } else if (status != ESP_CONFIG && (settings->parent || settings->redirector)) {
        log_warning("the directory is away: %s; nothing is kept of it", error->text);
        status = ESP_OK;
    }
    directory_tree_clear(&tree);
    return status;
}
