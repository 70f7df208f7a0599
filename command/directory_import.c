/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier directory import: nothing is left out without a word.
 */
#include "config.h"

#include "command/directory_command.h"
#include "core/problem/problem.h"
#include "services/directory/descriptions.h"
#include "services/directory/gather.h"
#include "services/directory/ldif.h"
#include "services/directory/schema.h"

#include <stdio.h>

static void progress(void *arg, size_t done, size_t all)
{
    struct directory_command *command = arg;
    bar_draw(&command->bar, all ? (double)done / (double)all : 1, "%zu of %zu entries", done, all);
}

/* ---- models of problems that nobody knows ---- */

static enum esp_status add_name(struct directory_tree *known, const char *problem, struct esp_error *error)
{
    char name[DIRECTORY_MOST_NAME + 1];
    return !directory_name_make(name, sizeof name, problem, DIRECTORY_PROBLEMS) ||
                   directory_tree_entry(known, name, error)
               ? ESP_OK
               : error->status;
}

/* Adds the problems that the tree has, as entries or in descriptions, by their names. */
static enum esp_status add_known(struct directory_tree *known, const struct directory_tree *tree,
                                 struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < tree->n && status == ESP_OK; i++) {
        const struct directory_entry *entry = tree->entries[i];
        const struct directory_value *text =
            directory_entry_is(entry, DIRECTORY_DESCRIPTION) ? directory_value(entry, "espalierText") : NULL;
        struct problem_set *set = NULL;
        if (directory_entry_is(entry, DIRECTORY_PROBLEM))
            status = directory_tree_entry(known, entry->name, error) ? ESP_OK : error->status;
        else if (text && problem_parse(text->text, text->length, "", &set, NULL) == ESP_OK)
            for (size_t k = 0; k < set->n_problems && status == ESP_OK; k++)
                status = add_name(known, set->problems[k]->name, error);
        problem_set_destroy(set);
    }
    return status;
}

static bool knows(const struct directory_tree *known, const char *problem)
{
    char name[DIRECTORY_MOST_NAME + 1];
    return directory_name_make(name, sizeof name, problem, DIRECTORY_PROBLEMS) &&
           directory_tree_find(known, name);
}

/* NULL: it is no model. */
static const char *problem_of_model(const struct directory_entry *entry)
{
    const struct directory_value *name = directory_entry_is(entry, DIRECTORY_COST_MODEL)
                                             ? directory_value(entry, "espalierProblemName")
                                             : NULL;
    return name ? name->text : NULL;
}

/* Models of what neither the file nor the directory has are no use to anybody. */
static size_t leave_out_unknown(struct directory_tree *tree, const struct directory_tree *known)
{
    size_t n = 0, left_out = 0;
    for (size_t i = 0; i < tree->n; i++) {
        const char *problem = problem_of_model(tree->entries[i]);
        if (!problem || knows(known, problem)) {
            tree->entries[n++] = tree->entries[i];
            continue;
        }
        fprintf(
            stderr,
            "espalier directory import: %s: a cost model of \"%s\", a problem that neither the file nor the "
            "directory has: it is left out\n",
            tree->entries[i]->name, problem);
        HASH_DELETE(hh, tree->by_name, tree->entries[i]);
        left_out++;
    }
    tree->n = n;
    return left_out;
}

static bool has_unknown(const struct directory_tree *tree, const struct directory_tree *known)
{
    for (size_t i = 0; i < tree->n; i++) {
        const char *problem = problem_of_model(tree->entries[i]);
        if (problem && !knows(known, problem))
            return true;
    }
    return false;
}

static bool has_descriptions(const struct directory_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++)
        if (directory_entry_is(tree->entries[i], DIRECTORY_DESCRIPTION))
            return true;
    return false;
}

/* What is in the directory may be others': their description files keep their names, and models are of
 * problems that it has or gets. A directory that is not there yet has nothing. */
static enum esp_status heed_others(struct directory_command *command, size_t *left_out,
                                   struct esp_error *error)
{
    struct directory_tree known = {0}, there = {0};
    const char *base;
    enum esp_status status = add_known(&known, &command->tree, error);
    const bool looks_for_problems = status == ESP_OK && has_unknown(&command->tree, &known);
    *left_out = 0;
    if (status == ESP_OK && (looks_for_problems || has_descriptions(&command->tree))) {
        status = directory_read(&command->directory, &there, &base, error);
        status = status == ESP_NOT_FOUND ? ESP_OK : status;
        if (status == ESP_OK)
            status = descriptions_settle(&command->tree, &there, error);
        if (status == ESP_OK && looks_for_problems)
            status = add_known(&known, &there, error);
        if (status == ESP_OK && looks_for_problems)
            *left_out = leave_out_unknown(&command->tree, &known);
    }
    directory_tree_clear(&there);
    directory_tree_clear(&known);
    return status;
}

/* ---- the verb ---- */

/* All entries of the file that can be told to be wrong before anything is written. */
static int load(struct directory_command *command, const char *path)
{
    struct esp_error error = {0};
    const char *base;
    if (ldif_load(path, &command->tree, &base, &error) != ESP_OK ||
        gather_base(&command->tree, &error) != ESP_OK) { /* a file of a few entries need not have the units */
        const int code = directory_fail(command, &error);
        return error.status == ESP_LIMIT ? EXIT_INPUT : code; /* the file is too large */
    }
    schema_check(&command->tree, NULL, directory_tell_wrong, command);
    if (!command->wrong)
        return EXIT_DONE;
    error_set(&error, ESP_INVALID, "%s: %u mistake%s, as told above; nothing was written", path,
              command->wrong, command->wrong == 1 ? "" : "s");
    return directory_fail(command, &error);
}

int directory_run_import(struct directory_command *command, int n, char **files)
{
    struct esp_error error = {0};
    size_t left_out = 0;
    int code = directory_need(command);
    if (n != 1)
        return directory_usage(command, "expected one LDIF file");
    if (code == EXIT_DONE)
        code = load(command, files[0]);
    if (code != EXIT_DONE)
        return code;
    enum esp_status status = directory_begin(&command->directory, &error);
    if (status == ESP_OK)
        status = heed_others(command, &left_out, &error);
    bar_init(&command->bar);
    if (status == ESP_OK)
        status =
            directory_write(&command->directory, &command->tree, command->prune, progress, command, &error);
    bar_clear(&command->bar);
    directory_end(&command->directory);
    if (status != ESP_OK)
        return directory_fail(command, &error);
    if (command->json)
        printf("{\"entries\": %zu, \"left_out\": %zu}\n", command->tree.n, left_out);
    else
        printf("%zu entries are in the directory\n", command->tree.n);
    return left_out ? EXIT_FAILED : EXIT_DONE;
}
