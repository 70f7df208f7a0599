/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/gather.h"

#include "core/forecast/parallel_profile.h"

#include "services/directory/descriptions.h"
#include "services/directory/directory.h"
#include "services/directory/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An entry being built; the first failure is kept. */
struct maker {
    struct directory_tree *tree;
    struct directory_entry *entry; /* NULL: it failed, or it exists already */
    struct esp_error *error;
    enum esp_status status;
    char name[DIRECTORY_MOST_NAME + 1];
};

static void put_bytes(struct maker *maker, const char *attribute, const char *text, size_t length)
{
    if (maker->entry && maker->status == ESP_OK && length > 0) /* LDAP has no empty values */
        maker->status = directory_tree_add(maker->tree, maker->entry, attribute, text, length, maker->error);
}

static void put(struct maker *maker, const char *attribute, const char *text)
{
    put_bytes(maker, attribute, text, strlen(text));
}

static void put_number(struct maker *maker, const char *attribute, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    put(maker, attribute, text);
}

/* Writes the preferred parent first, with explicit positions, because values in LDAP have no order. */
static void put_parents(struct maker *maker, const char *first, const struct config_strings *others)
{
    char text[300];
    unsigned place = 0;
    if (first) {
        snprintf(text, sizeof text, "{%u}%s", place++, first);
        put(maker, "espalierParent", text);
    }
    for (size_t i = 0; i < others->n; i++) {
        snprintf(text, sizeof text, "{%u}%s", place++, others->items[i]);
        put(maker, "espalierParent", text);
    }
}

static void begin_named(struct maker *maker, struct directory_tree *tree, const char *name, const char *class,
                        struct esp_error *error)
{
    maker->tree = tree;
    maker->error = error;
    maker->status = ESP_OK;
    maker->entry = NULL;
    if (maker->name != name)
        snprintf(maker->name, sizeof maker->name, "%s", name);
    if (directory_tree_find(tree, maker->name))
        return;
    maker->entry = directory_tree_entry(tree, maker->name, error);
    maker->status = maker->entry ? ESP_OK : error ? error->status : ESP_NO_MEMORY;
    put(maker, "objectClass", class);
}

static void begin(struct maker *maker, struct directory_tree *tree, const char *cn, const char *parent,
                  const char *class, struct esp_error *error)
{
    *maker = (struct maker){.tree = tree, .error = error};
    if (!directory_name_make(maker->name, sizeof maker->name, cn, parent)) {
        maker->status = error_set(error, ESP_LIMIT, "the name \"%.60s...\" is too long for a directory", cn);
        return;
    }
    const struct directory_entry *there = directory_tree_find(tree, maker->name);
    if (there && strcmp(there->name, maker->name) != 0) {
        maker->status =
            error_set(error, ESP_BUSY,
                      "%.200s: expected names that differ in more than capital and small letters, "
                      "which a directory does not tell apart, found %.200s: it is left out",
                      maker->name, there->name);
        return;
    }
    begin_named(maker, tree, maker->name, class, error);
    put(maker, "cn", cn);
}

static enum esp_status gather_unit(struct directory_tree *tree, const char *name, const char *unit,
                                   struct esp_error *error)
{
    struct maker maker = {0};
    begin_named(&maker, tree, name, "organizationalUnit", error);
    put(&maker, "ou", unit);
    return maker.status;
}

enum esp_status gather_base(struct directory_tree *tree, struct esp_error *error)
{
    enum esp_status status = gather_unit(tree, "", &DIRECTORY_FILE_BASE[3], error);
    for (unsigned i = 0; schema_unit(i) && status == ESP_OK; i++)
        status = gather_unit(tree, schema_unit(i), schema_unit(i) + 3, error);
    return status;
}

enum esp_status gather_problem(struct directory_tree *tree, const struct problem *problem,
                               struct esp_error *error)
{
    struct maker maker, below;
    enum esp_status left_out = ESP_OK; /* status of implementations that were left out */
    char digest[20];
    begin(&maker, tree, problem->name, DIRECTORY_PROBLEMS, DIRECTORY_PROBLEM, error);
    snprintf(digest, sizeof digest, "%016" PRIx64, problem->digest);
    put(&maker, "espalierDigest", digest);
    put(&maker, "espalierSignature", problem->source);
    put(&maker, "description", problem->title ? problem->title : "");
    put(&maker, "espalierGams", problem->gams ? problem->gams : "");
    for (uint32_t i = 0; i < problem->n_implementations && maker.status == ESP_OK; i++) {
        const struct implementation *implementation = &problem->implementations[i];
        begin(&below, tree, implementation->name, maker.name, DIRECTORY_IMPLEMENTATION, error);
        put(&below, "espalierConvention", implementation_way(implementation));
        put(&below, "espalierSymbol", implementation->symbol ? implementation->symbol : "");
        put(&below, "espalierLibrary", implementation->library ? implementation->library : "");
        if (below.status == ESP_BUSY)
            left_out = ESP_BUSY;
        else
            maker.status = below.status;
    }
    return maker.status == ESP_OK ? left_out : maker.status;
}

static enum esp_status gather_text(struct directory_tree *tree, const char *path, const char *text,
                                   size_t length, struct esp_error *error)
{
    struct maker maker;
    char name[DESCRIPTION_MOST_NAME];
    const char *slash = strrchr(path, '/');
    enum esp_status status =
        description_choose_name(tree, slash ? slash + 1 : path, text, length, name, error);
    if (status != ESP_OK || description_is_there(tree, name))
        return status; /* an entry with this text exists */
    begin(&maker, tree, name, DIRECTORY_DESCRIPTIONS, DIRECTORY_DESCRIPTION, error);
    put_bytes(&maker, "espalierText", text, length);
    return maker.status;
}

static enum esp_status gather_file(struct directory_tree *tree, const char *path, struct esp_error *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return error_errno(error, "%s cannot be read", path);
    char *text = malloc(PROBLEM_MAX_FILE);
    const size_t length = text ? fread(text, 1, PROBLEM_MAX_FILE, file) : 0;
    fclose(file);
    enum esp_status status =
        text ? gather_text(tree, path, text, length, error) : error_no_memory(error, "a problem description");
    free(text);
    return status;
}

enum esp_status gather_descriptions(struct directory_tree *tree, const struct problem_set *problems,
                                    struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    const char *last = "";
    for (size_t i = 0; i < problems->n_problems && status == ESP_OK; i++) {
        const char *file = problems->problems[i]->file;
        if (strcmp(file, last) != 0)
            status = gather_file(tree, file, error);
        last = file;
    }
    return status;
}

/* Adds the profile of its ranks, from the file in its state_dir. */
static enum esp_status put_ranks(struct maker *maker, const char *state_dir, struct esp_error *error)
{
    struct parallel_profile profile;
    char path[4200];
    size_t length;
    snprintf(path, sizeof path, "%s/ranks", state_dir);
    enum esp_status status = parallel_profile_load(path, &profile, error);
    if (status != ESP_OK)
        return status == ESP_NOT_FOUND ? ESP_OK : status;
    char *text = parallel_profile_write(&profile, &length);
    if (text)
        put_bytes(maker, "espalierRanks", text, length);
    free(text);
    return text ? ESP_OK : error_no_memory(error, "what is known of ranks");
}

enum esp_status gather_machine(struct directory_tree *tree, const struct settings_sed *settings,
                               struct esp_error *error)
{
    struct maker maker;
    begin(&maker, tree, settings->node.name, DIRECTORY_MACHINES, DIRECTORY_MACHINE, error);
    put_number(&maker, "espalierSlots", (uint64_t)settings->slots);
    put_number(&maker, "espalierThreads", (uint64_t)settings->threads);
    if (settings->memory_bytes)
        put_number(&maker, "espalierMemory", settings->memory_bytes);
    put_parents(&maker, settings->parent, &settings->parents);
    if (settings->ranks > 0 && settings->node.state_dir && maker.status == ESP_OK &&
        put_ranks(&maker, settings->node.state_dir, error) != ESP_OK)
        return error->status;
    return maker.status;
}

/* Whether an entry has that name in other upper and lower case, so that it belongs to another problem. */
static bool is_of_another(const struct directory_tree *tree, const char *cn, const char *parent,
                          const struct cost_model *model)
{
    char name[DIRECTORY_MOST_NAME + 1];
    const struct directory_entry *there =
        directory_name_make(name, sizeof name, cn, parent) ? directory_tree_find(tree, name) : NULL;
    const struct directory_value *problem = there ? directory_value(there, "espalierProblemName") : NULL;
    return there &&
           (strcmp(there->name, name) != 0 || !problem || strcmp(problem->text, model->problem) != 0);
}

enum esp_status gather_model(struct directory_tree *tree, const char *machine, const struct cost_model *model,
                             unsigned number, struct esp_error *error)
{
    struct maker maker;
    char parent[DIRECTORY_MOST_NAME + 1], name[3 * PROBLEM_MAX_NAME], digest[20];
    size_t length = 0;
    if (!directory_name_make(parent, sizeof parent, machine, DIRECTORY_MACHINES))
        return error_set(error, ESP_LIMIT, "the name \"%.60s...\" is too long for a directory", machine);
    do
        snprintf(name, sizeof name, "%s-%s-%" PRIu32 "-%u", model->problem, model->implementation,
                 model->threads, number++);
    while (is_of_another(tree, name, parent, model));
    snprintf(digest, sizeof digest, "%016" PRIx64, model->digest);
    char *text = cost_text(model, &length);
    if (!text)
        return error_no_memory(error, "a cost model's text");
    begin(&maker, tree, name, parent, DIRECTORY_COST_MODEL, error);
    put(&maker, "espalierProblemName", model->problem);
    put(&maker, "espalierDigest", digest);
    put_number(&maker, "espalierThreads", model->threads);
    put_bytes(&maker, "espalierModel", text, length);
    free(text);
    return maker.status;
}

enum esp_status gather_models(struct directory_tree *tree, const struct settings_node *node,
                              void (*wrong)(void *arg, const struct esp_error *error), void *arg,
                              struct esp_error *error)
{
    struct cost_set set;
    char folder[4096];
    if (!node->state_dir)
        return ESP_OK;
    cost_folder(node->state_dir, folder, sizeof folder);
    enum esp_status status = cost_load_folder(folder, wrong, arg, &set, error);
    for (uint32_t i = 0, number = 0; i < set.n && status == ESP_OK; i++) {
        number = i > 0 && strcmp(set.models[i].problem, set.models[i - 1].problem) == 0 ? number + 1 : 0;
        status = gather_model(tree, node->name, &set.models[i], number, error);
    }
    cost_set_clear(&set);
    return status;
}

enum esp_status gather_entry(struct directory_tree *tree, const char *name, const char *role,
                             const char *address, const char *parent, const struct config_strings *parents,
                             struct esp_error *error)
{
    struct maker maker;
    begin(&maker, tree, name, DIRECTORY_ENTRIES, DIRECTORY_ENTRY, error);
    put(&maker, "espalierRole", role);
    put(&maker, "espalierAddress", address);
    put_parents(&maker, parent, parents);
    return maker.status;
}
