/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/kept.h"

#include "services/directory/ldif.h"
#include "services/directory/schema.h"
#include "util/clock.h"
#include "util/log.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct directory_options directory_options_of(const struct settings_directory *settings)
{
    return (struct directory_options){.url = settings->url,
                                      .bind = settings->bind,
                                      .password_file = settings->password_file,
                                      .sasl = settings->sasl,
                                      .sasl_user = settings->sasl_user,
                                      .starttls = settings->starttls,
                                      .ca = settings->ca,
                                      .timeout_ms = settings->timeout_ns / NS_PER_MS};
}

static enum esp_status read_now(const struct directory_options *options, const char *kept,
                                void (*wrong)(void *arg, const struct esp_error *error, bool stays),
                                void *arg, struct directory_tree *tree, struct esp_error *error)
{
    const char *base, *base_before;
    struct directory_tree before = {0};
    struct esp_error not_kept, not_there;
    enum esp_status status = directory_read(options, tree, &base, error);
    if (status != ESP_OK)
        return status;
    const size_t all = tree->n;
    if (kept && ldif_load(kept, &before, &base_before, &not_there) == ESP_OK)
        schema_check(&before, NULL, NULL, NULL);
    const size_t n_good = schema_check(tree, &before, wrong, arg);
    directory_tree_clear(&before);
    if (n_good == 0) {
        directory_tree_clear(tree);
        return error_set(error, ESP_INVALID, "none of its %zu entries can be read", all);
    }
    if (kept && ldif_save(tree, base, kept, &not_kept) != ESP_OK)
        log_warning("what the directory says is not kept: %s", not_kept.text);
    return ESP_OK;
}

enum esp_status directory_look(const struct directory_options *options, const char *kept,
                               void (*wrong)(void *arg, const struct esp_error *error, bool stays), void *arg,
                               struct directory_tree *tree, char away[256], struct esp_error *error)
{
    const char *base;
    *away = 0;
    enum esp_status status = read_now(options, kept, wrong, arg, tree, error);
    if (status == ESP_OK || status == ESP_CONFIG || !kept)
        return status;
    struct esp_error not_there;
    if (ldif_load(kept, tree, &base, &not_there) == ESP_OK && schema_check(tree, NULL, NULL, NULL) > 0) {
        snprintf(away, 256, "%.255s", error->text);
        return ESP_OK;
    }
    directory_tree_clear(tree);
    return status;
}

static size_t parents_of(const struct directory_tree *tree, const char *name, const char *unit,
                         const char **addresses, size_t most)
{
    char path[DIRECTORY_MOST_NAME + 1];
    size_t n = 0;
    const struct directory_entry *entry =
        directory_name_make(path, sizeof path, name, unit) ? directory_tree_find(tree, path) : NULL;
    for (uint32_t i = 0; entry && i < entry->n_values && n < most; i++)
        if (strcasecmp(entry->values[i].attribute, "espalierParent") == 0)
            addresses[n++] = directory_value_text(&entry->values[i]);
    return n;
}

size_t directory_parents(const struct directory_tree *tree, const char *name, const char **addresses,
                         size_t most)
{
    const size_t n = parents_of(tree, name, DIRECTORY_MACHINES, addresses, most);
    return n + parents_of(tree, name, DIRECTORY_ENTRIES, addresses + n, most - n);
}
