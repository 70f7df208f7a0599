/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/directory.h"
#include "services/directory/schema.h"

#include <string.h>

static const struct directory_backend *const backends[] = {&directory_ldap, &directory_ldaps,
                                                           &directory_ldapi, &directory_file};

static const struct directory_backend *find(const char *url)
{
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strncmp(url, backends[i]->scheme, strlen(backends[i]->scheme)) == 0)
            return backends[i];
    return NULL;
}

/* Detects a base that is too high; otherwise each entry would be reported as misplaced, and not the actual
 * error. */
static enum esp_status check_base(const struct directory_options *options, const struct directory_tree *tree,
                                  const char *base, struct esp_error *error)
{
    const char *deeper = NULL;
    for (size_t i = 0; i < tree->n; i++) {
        const char *below = schema_below_unit(tree->entries[i]->name);
        if (below && !*below)
            return ESP_OK;
        deeper = below ? below : deeper;
    }
    return !deeper
               ? ESP_OK
               : error_set(error, ESP_INVALID,
                           "%.150s: expected ou=machines and its like right below the base \"%.150s\", found "
                           "them below \"%.150s,%.150s\": name that as the base",
                           options->url, base, deeper, base);
}

enum esp_status directory_read(const struct directory_options *options, struct directory_tree *tree,
                               const char **base, struct esp_error *error)
{
    enum esp_status status = directory_check_url(options->url, error);
    if (status == ESP_OK)
        status = find(options->url)->read(options, tree, base, error);
    if (status == ESP_OK)
        status = check_base(options, tree, *base, error);
    if (status != ESP_OK)
        directory_tree_clear(tree);
    return status;
}

enum esp_status directory_begin(struct directory_options *options, struct esp_error *error)
{
    enum esp_status status = directory_check_url(options->url, error);
    options->turn = NULL;
    if (status == ESP_OK && find(options->url)->begin)
        status = find(options->url)->begin(options, &options->turn, error);
    return status;
}

void directory_end(struct directory_options *options)
{
    file_turn_end(options->turn);
    options->turn = NULL;
}

enum esp_status directory_write(const struct directory_options *options, struct directory_tree *tree,
                                bool prune, directory_progress progress, void *arg, struct esp_error *error)
{
    enum esp_status status = directory_check_url(options->url, error);
    directory_tree_sort(tree);
    return status == ESP_OK ? find(options->url)->write(options, tree, prune, progress, arg, error) : status;
}
