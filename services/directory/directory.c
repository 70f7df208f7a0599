/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/directory.h"

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

enum esp_status directory_check_url(const char *url, struct esp_error *error)
{
    if (find(url))
        return ESP_OK;
    return error_set(
        error, ESP_CONFIG,
        "directory: expected \"ldap://HOST/BASE\" (or ldaps, ldapi) or \"file:/PATH\", found \"%.100s\"",
        url);
}

enum esp_status directory_read(const struct directory_options *options, struct directory_tree *tree,
                               const char **base, struct esp_error *error)
{
    enum esp_status status = directory_check_url(options->url, error);
    if (status == ESP_OK)
        status = find(options->url)->read(options, tree, base, error);
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
