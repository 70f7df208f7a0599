/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/descriptions.h"

#include "core/problem/problem.h"
#include "services/directory/schema.h"

#include <stdio.h>
#include <string.h>

#define MOST_OF_ONE_NAME 10000

/* Makes "mine.esp", "mine_2.esp", ... */
static bool numbered(const char *file, unsigned number, char name[DESCRIPTION_MOST_NAME])
{
    const char *dot = strrchr(file, '.');
    const size_t stem = dot && dot > file ? (size_t)(dot - file) : strlen(file);
    const int n = number == 1 ? snprintf(name, DESCRIPTION_MOST_NAME, "%s", file)
                              : snprintf(name, DESCRIPTION_MOST_NAME, "%.*s_%u%s", (int)stem, file, number,
                                         file + stem);
    return n < DESCRIPTION_MOST_NAME;
}

static const struct directory_entry *find(const struct directory_tree *tree, const char *cn)
{
    char name[DIRECTORY_MOST_NAME + 1];
    return directory_name_make(name, sizeof name, cn, DIRECTORY_DESCRIPTIONS)
               ? directory_tree_find(tree, name)
               : NULL;
}

bool description_is_there(const struct directory_tree *tree, const char *cn)
{
    return find(tree, cn) != NULL;
}

static bool has_text(const struct directory_entry *entry, const char *text, size_t length)
{
    const struct directory_value *value = directory_value(entry, "espalierText");
    return value && value->length == length && memcmp(value->text, text, length) == 0;
}

enum esp_status description_choose_name(const struct directory_tree *tree, const char *file, const char *text,
                                        size_t length, char name[DESCRIPTION_MOST_NAME],
                                        struct esp_error *error)
{
    for (unsigned number = 1; number <= MOST_OF_ONE_NAME; number++) {
        if (!numbered(file, number, name))
            return error_set(error, ESP_LIMIT, "the name \"%.60s...\" is too long for a directory", file);
        const struct directory_entry *entry = find(tree, name);
        if (!entry || has_text(entry, text, length))
            return ESP_OK;
    }
    return error_set(error, ESP_LIMIT,
                     "expected at most %d description files of the name \"%.60s\", found more",
                     MOST_OF_ONE_NAME, file);
}

/* ---- name conflicts with other files ---- */

static struct problem_set *problems_of(const struct directory_entry *entry)
{
    struct problem_set *set = NULL;
    const struct directory_value *text = directory_value(entry, "espalierText");
    if (!text || problem_parse(text->text, text->length, "", &set, NULL) != ESP_OK)
        return NULL;
    return set;
}

/* Whether they describe a problem of the same name. An unreadable file may describe anything. */
static bool share(const struct problem_set *ours, const struct directory_entry *entry)
{
    struct problem_set *theirs = problems_of(entry);
    bool found = !theirs;
    for (size_t i = 0; theirs && i < theirs->n_problems && !found; i++)
        found = problem_find(ours, theirs->problems[i]->name) != NULL;
    problem_set_destroy(theirs);
    return found;
}

/* Returns an entry there that describes the same problems, and whose name no entry of the tree has; NULL:
 * none. */
static const struct directory_entry *find_older(const struct directory_tree *tree,
                                                const struct directory_tree *there,
                                                const struct problem_set *ours)
{
    for (size_t i = 0; i < there->n; i++)
        if (directory_entry_is(there->entries[i], DIRECTORY_DESCRIPTION) &&
            !directory_tree_find(tree, there->entries[i]->name) && share(ours, there->entries[i]))
            return there->entries[i];
    return NULL;
}

static enum esp_status rename_to(struct directory_tree *tree, struct directory_entry *entry, const char *cn,
                                 struct esp_error *error)
{
    char name[DIRECTORY_MOST_NAME + 1];
    if (!directory_name_make(name, sizeof name, cn, DIRECTORY_DESCRIPTIONS))
        return error_set(error, ESP_LIMIT, "the name \"%.60s...\" is too long for a directory", cn);
    return directory_tree_rename(tree, entry, name, cn, error);
}

static enum esp_status settle(struct directory_tree *tree, const struct directory_tree *there,
                              struct directory_entry *entry, const struct problem_set *ours,
                              struct esp_error *error)
{
    char file[DESCRIPTION_MOST_NAME], name[DESCRIPTION_MOST_NAME];
    const struct directory_entry *older = find_older(tree, there, ours);
    if (older) {
        directory_entry_cn(older, name, sizeof name);
        return rename_to(tree, entry, name, error);
    }
    directory_entry_cn(entry, file, sizeof file);
    for (unsigned number = 2; number <= MOST_OF_ONE_NAME && numbered(file, number, name); number++)
        if (!find(tree, name) && !find(there, name))
            return rename_to(tree, entry, name, error);
    return error_set(error, ESP_LIMIT, "no name is left for the description \"%.60s\"", file);
}

enum esp_status descriptions_settle(struct directory_tree *tree, const struct directory_tree *there,
                                    struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < tree->n && status == ESP_OK; i++) {
        struct directory_entry *entry = tree->entries[i];
        const struct directory_value *text = directory_value(entry, "espalierText");
        const struct directory_entry *theirs = directory_tree_find(there, entry->name);
        if (!theirs || !text || !directory_entry_is(entry, DIRECTORY_DESCRIPTION) ||
            has_text(theirs, text->text, text->length))
            continue;
        struct problem_set *ours = problems_of(entry);
        if (ours && !share(ours, theirs))
            status = settle(tree, there, entry, ours, error);
        problem_set_destroy(ours);
    }
    return status;
}
