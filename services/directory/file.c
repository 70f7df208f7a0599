/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory as an LDIF file.
 */
#include "services/directory/directory.h"
#include "services/directory/ldif.h"

#include <string.h>
#include <strings.h>

static const char *path_of(const struct directory_options *options)
{
    const char *path = options->url + strlen(directory_file.scheme);
    return strncmp(path, "///", 3) == 0 ? path + 2 : path; /* file:///path has an empty host */
}

static enum esp_status read_file(const struct directory_options *options, struct directory_tree *tree,
                                 const char **base, struct esp_error *error)
{
    return ldif_load(path_of(options), tree, base, error);
}

/* Its classes and own name are those that it has, or nobody would find it. */
static bool stays(const char *attribute)
{
    return strcasecmp(attribute, "objectClass") == 0 || strcasecmp(attribute, "cn") == 0 ||
           strcasecmp(attribute, "ou") == 0;
}

/* As in LDAP: an entry that is there gets the attributes of ours anew, and keeps those that ours has not. */
static enum esp_status merge(struct directory_tree *to, const struct directory_entry *entry,
                             struct esp_error *error)
{
    const bool is_there = directory_tree_find(to, entry->name) != NULL;
    struct directory_entry *own = directory_tree_entry(to, entry->name, error);
    if (!own)
        return error->status;
    for (uint32_t i = 0; is_there && i < entry->n_values; i++)
        if (!stays(entry->values[i].attribute))
            directory_entry_drop(own, entry->values[i].attribute);
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (!(is_there && stays(entry->values[i].attribute)) &&
            directory_tree_add(to, own, entry->values[i].attribute, entry->values[i].text,
                               entry->values[i].length, error) != ESP_OK)
            return error->status;
    return ESP_OK;
}

/* The base is the site's own. */
static void take_out_others(struct directory_tree *whole, const struct directory_tree *tree)
{
    size_t n = 0;
    for (size_t i = 0; i < whole->n; i++) {
        struct directory_entry *entry = whole->entries[i];
        if (!*entry->name || directory_tree_find(tree, entry->name))
            whole->entries[n++] = entry;
        else
            HASH_DELETE(hh, whole->by_name, entry);
    }
    whole->n = n;
}

static enum esp_status begin_file(const struct directory_options *options, struct file_turn **turn,
                                  struct esp_error *error)
{
    return file_turn_begin(path_of(options), options->timeout_ms, turn, error);
}

static enum esp_status replace_file(const struct directory_options *options, struct directory_tree *tree,
                                    bool prune, struct esp_error *error)
{
    struct directory_tree whole = {0};
    struct esp_error why = {0};
    const char *base = DIRECTORY_FILE_BASE;
    /* A file that is damaged is not written over: what is in it may be all there is. */
    enum esp_status status = read_file(options, &whole, &base, &why);
    if (status == ESP_NOT_FOUND) {
        base = DIRECTORY_FILE_BASE;
    } else if (status != ESP_OK) {
        if (error)
            *error = why;
        return status;
    }
    if (prune)
        take_out_others(&whole, tree);
    status = ESP_OK;
    for (size_t i = 0; i < tree->n && status == ESP_OK; i++)
        status = merge(&whole, tree->entries[i], error);
    if (status == ESP_OK)
        status = ldif_save(&whole, base, path_of(options), error);
    directory_tree_clear(&whole);
    return status;
}

static enum esp_status write_file(const struct directory_options *options, struct directory_tree *tree,
                                  bool prune, directory_progress progress, void *arg, struct esp_error *error)
{
    struct file_turn *own = NULL;
    enum esp_status status = options->turn ? ESP_OK : begin_file(options, &own, error);
    if (status == ESP_OK)
        status = replace_file(options, tree, prune, error);
    file_turn_end(own);
    if (status == ESP_OK && progress)
        progress(arg, tree->n, tree->n);
    return status;
}

const struct directory_backend directory_file = {"file:", read_file, write_file, begin_file};
