/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/schema.h"

#include "core/forecast/cost_model.h"
#include "core/forecast/parallel_profile.h"
#include "util/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_ATTRIBUTES 8

/* Checks a value: returns NULL, or a description of valid values. */
typedef const char *(*value_rule)(const struct directory_value *value);

struct attribute_rule {
    const char *name;
    bool required;
    value_rule is;
};

static const char *any_text(const struct directory_value *value)
{
    return strlen(value->text) == value->length ? NULL : "text";
}

static const char *a_digest(const struct directory_value *value)
{
    return value->length == 16 && strspn(value->text, "0123456789abcdef") == 16 ? NULL
                                                                                : "16 hexadecimal digits";
}

static const char *a_number(const struct directory_value *value)
{
    const bool good =
        value->length > 0 && value->length <= 18 && strspn(value->text, "0123456789") == value->length;
    return good ? NULL : "a whole number";
}

static const char *a_role(const struct directory_value *value)
{
    static const char *const roles[] = {"redirector", "master", "leader", "server"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(value->text, roles[i]) == 0)
            return NULL;
    return "redirector, master, leader or server";
}

static const char *an_address(const struct directory_value *value)
{
    char host[256];
    uint16_t port;
    return config_read_address(value->text, NULL, host, sizeof host, &port, NULL) == ESP_OK ? NULL
                                                                                            : "HOST:PORT";
}

/* With several values, each may have its position: {0}HOST:PORT. */
static const char *a_parent(const struct directory_value *value)
{
    const struct directory_value address = {value->attribute, directory_value_text(value), 0};
    return an_address(&address);
}

static const char *a_model(const struct directory_value *value)
{
    struct arena arena = {0};
    struct cost_model model;
    const bool good = cost_parse(value->text, value->length, "", &arena, &model, NULL) == ESP_OK;
    arena_clear(&arena);
    return good ? NULL : "a whole cost model of this version";
}

static const char *a_description(const struct directory_value *value)
{
    struct problem_set *set = NULL;
    const bool good = problem_parse(value->text, value->length, "", &set, NULL) == ESP_OK;
    problem_set_destroy(set);
    return good ? NULL : "a description that can be read";
}

static const char *a_profile(const struct directory_value *value)
{
    struct parallel_profile profile;
    const bool good = parallel_profile_read(value->text, value->length, &profile, NULL) == ESP_OK;
    return good ? NULL : "what a server of this version knows of its ranks";
}

struct class_rule {
    const char *name;
    const char *place; /* the unit that its entries lie below, or the class */
    struct attribute_rule attributes[MOST_ATTRIBUTES + 1];
    /* Checks that the attributes, each of which is valid, agree with each other; NULL: they are
     * independent. */
    bool (*agrees)(const struct directory_entry *entry, struct esp_error *error);
};

static bool says(const struct directory_entry *entry, const char *attribute, const char *expected,
                 struct esp_error *error)
{
    const struct directory_value *value = directory_value(entry, attribute);
    if (strcmp(value->text, expected) == 0)
        return true;
    error_set(error, ESP_INVALID,
              "directory: %s: %s: expected %s, as its espalierModel says, found \"%.40s\"",
              directory_entry_title(entry), attribute, expected, value->text);
    return false;
}

/* A model is found by the attributes beside it, and evaluated by its text: they must agree. */
static bool model_agrees(const struct directory_entry *entry, struct esp_error *error)
{
    const struct directory_value *text = directory_value(entry, "espalierModel");
    struct arena arena = {0};
    struct cost_model model;
    char digest[20];
    bool agrees = cost_parse(text->text, text->length, entry->name, &arena, &model, error) == ESP_OK;
    snprintf(digest, sizeof digest, "%016" PRIx64, agrees ? model.digest : 0);
    agrees = agrees && says(entry, "espalierProblemName", model.problem, error) &&
             says(entry, "espalierDigest", digest, error);
    arena_clear(&arena);
    return agrees;
}

static const struct class_rule classes[] = {
    {DIRECTORY_DESCRIPTION,
     DIRECTORY_DESCRIPTIONS,
     {{"cn", true, any_text}, {"espalierText", true, a_description}},
     NULL},
    {DIRECTORY_PROBLEM,
     DIRECTORY_PROBLEMS,
     {{"cn", true, any_text},
      {"espalierDigest", true, a_digest},
      {"espalierSignature", true, any_text},
      {"description", false, any_text},
      {"espalierGams", false, any_text}},
     NULL},
    {DIRECTORY_IMPLEMENTATION,
     DIRECTORY_PROBLEM,
     {{"cn", true, any_text},
      {"espalierConvention", true, any_text},
      {"espalierSymbol", false, any_text},
      {"espalierLibrary", false, any_text}},
     NULL},
    {DIRECTORY_MACHINE,
     DIRECTORY_MACHINES,
     {{"cn", true, any_text},
      {"espalierSlots", false, a_number},
      {"espalierThreads", false, a_number},
      {"espalierMemory", false, a_number},
      {"espalierAddress", false, an_address},
      {"espalierParent", false, a_parent},
      {"espalierRanks", false, a_profile}},
     NULL},
    {DIRECTORY_COST_MODEL,
     DIRECTORY_MACHINE,
     {{"cn", true, any_text},
      {"espalierProblemName", true, any_text},
      {"espalierDigest", true, a_digest},
      {"espalierModel", true, a_model},
      {"espalierThreads", false, a_number}},
     model_agrees},
    {DIRECTORY_ENTRY,
     DIRECTORY_ENTRIES,
     {{"cn", true, any_text},
      {"espalierRole", true, a_role},
      {"espalierAddress", true, an_address},
      {"espalierParent", false, a_parent}},
     NULL},
};
#define N_CLASSES (sizeof classes / sizeof *classes)

static const struct class_rule *find_class(const char *name)
{
    for (size_t i = 0; i < N_CLASSES; i++)
        if (strcasecmp(classes[i].name, name) == 0)
            return &classes[i];
    return NULL;
}

bool schema_allows(const char *object_class, const char *attribute, bool *required)
{
    const struct class_rule *class = find_class(object_class);
    for (const struct attribute_rule *rule = class ? class->attributes : NULL; rule && rule->name; rule++)
        if (strcasecmp(rule->name, attribute) == 0) {
            *required = rule->required;
            return true;
        }
    return false;
}

const char *schema_unit(unsigned number)
{
    static const char *const units[] = {DIRECTORY_DESCRIPTIONS, DIRECTORY_PROBLEMS, DIRECTORY_MACHINES,
                                        DIRECTORY_ENTRIES};
    return number < sizeof units / sizeof *units ? units[number] : NULL;
}

const char *schema_below_unit(const char *name)
{
    while (strncasecmp(name, "cn=", 3) == 0)
        name = directory_name_parent(name);
    for (unsigned i = 0; schema_unit(i); i++) {
        const size_t n = strlen(schema_unit(i));
        if (strncasecmp(name, schema_unit(i), n) == 0 && (name[n] == ',' || !name[n]))
            return directory_name_parent(name);
    }
    return NULL;
}

const char *schema_class(unsigned number)
{
    return number < N_CLASSES ? classes[number].name : NULL;
}

const char *schema_attribute(const char *object_class, unsigned number)
{
    const struct class_rule *class = find_class(object_class);
    return class && number < MOST_ATTRIBUTES ? class->attributes[number].name : NULL;
}

static bool check_rule(const struct directory_entry *entry, const struct class_rule *class,
                       const struct attribute_rule *rule, struct esp_error *error)
{
    bool found = false;
    for (uint32_t i = 0; i < entry->n_values; i++) {
        const struct directory_value *value = &entry->values[i];
        if (strcasecmp(value->attribute, rule->name) != 0)
            continue;
        const char *expected = rule->is(value);
        if (expected) {
            error_set(error, ESP_INVALID, "directory: %s: %s: expected %s, found \"%.40s\"",
                      directory_entry_title(entry), rule->name, expected, value->text);
            return false;
        }
        found = true;
    }
    if (!found && rule->required)
        error_set(error, ESP_INVALID, "directory: %s: expected %s (it is of class %s), found none",
                  directory_entry_title(entry), rule->name, class->name);
    return found || !rule->required;
}

/* Whether the parent entry is missing, or was removed: parents come first in a sorted tree. */
static bool is_orphan(const struct directory_tree *tree, const struct directory_entry *entry,
                      struct esp_error *error)
{
    const char *parent = directory_name_parent(entry->name);
    if (!*parent || directory_tree_find(tree, parent))
        return false;
    error_set(error, ESP_INVALID, "directory: %s: what it lies below is missing, or wrong itself (%s)",
              entry->name, parent);
    return true;
}

/* Checks the entry's place, because it would not be found elsewhere. */
static bool check_place(const struct directory_tree *tree, const struct directory_entry *entry,
                        const struct class_rule *class, struct esp_error *error)
{
    const char *parent = directory_name_parent(entry->name);
    const struct class_rule *above = find_class(class->place);
    const struct directory_entry *there = above ? directory_tree_find(tree, parent) : NULL;
    if (above ? there && directory_entry_is(there, above->name) : strcasecmp(parent, class->place) == 0)
        return true;
    error_set(
        error, ESP_INVALID, "directory: %s: expected a place below %s%s (it is of class %s), found \"%s\"",
        directory_entry_title(entry), above ? "an entry of class " : "", class->place, class->name, parent);
    return false;
}

static bool is_ours(const char *class)
{
    return strncasecmp(class, "espalier", 8) == 0;
}

static bool check_classes(const struct directory_entry *entry, struct esp_error *error)
{
    for (uint32_t i = 0; i < entry->n_values; i++) {
        const struct directory_value *value = &entry->values[i];
        if (strcasecmp(value->attribute, "objectClass") != 0 || !is_ours(value->text) ||
            find_class(value->text))
            continue;
        error_set(error, ESP_INVALID,
                  "directory: %s: objectClass: expected " DIRECTORY_DESCRIPTION ", " DIRECTORY_PROBLEM
                  ", " DIRECTORY_IMPLEMENTATION ", " DIRECTORY_MACHINE ", " DIRECTORY_COST_MODEL
                  " or " DIRECTORY_ENTRY ", found \"%.40s\"",
                  directory_entry_title(entry), value->text);
        return false;
    }
    return true;
}

static bool check_entry(const struct directory_tree *tree, const struct directory_entry *entry,
                        struct esp_error *error)
{
    for (size_t c = 0; c < N_CLASSES; c++) {
        if (!directory_entry_is(entry, classes[c].name))
            continue;
        if (!check_place(tree, entry, &classes[c], error))
            return false;
        for (const struct attribute_rule *rule = classes[c].attributes; rule->name; rule++)
            if (!check_rule(entry, &classes[c], rule, error))
                return false;
        if (classes[c].agrees && !classes[c].agrees(entry, error))
            return false;
    }
    return check_classes(entry, error);
}

static void take_out(struct directory_tree *tree, size_t i)
{
    HASH_DELETE(hh, tree->by_name, tree->entries[i]);
}

/* Restores the values of the earlier tree. */
static bool restore(struct directory_tree *tree, struct directory_entry *entry,
                    const struct directory_tree *before)
{
    const struct directory_entry *known = before ? directory_tree_find(before, entry->name) : NULL;
    if (!known)
        return false;
    entry->n_values = 0;
    for (uint32_t i = 0; i < known->n_values; i++) {
        const struct directory_value *value = &known->values[i];
        if (directory_tree_add(tree, entry, value->attribute, value->text, value->length, NULL) != ESP_OK)
            return false;
    }
    return true;
}

/* ---- optional values ---- */

struct checking {
    struct directory_tree *tree;
    const struct directory_tree *before;
    void (*wrong)(void *arg, const struct esp_error *error, bool stays);
    void *arg;
    bool mended;
};

static void take_value(struct directory_entry *entry, uint32_t i)
{
    memmove(&entry->values[i], &entry->values[i + 1], (--entry->n_values - i) * sizeof *entry->values);
}

/* Restores the attribute's values of the earlier tree; false, with nothing changed, when it had none. */
static bool restore_attribute(struct checking *checking, struct directory_entry *entry, const char *name)
{
    const struct directory_entry *known =
        checking->before ? directory_tree_find(checking->before, entry->name) : NULL;
    if (!known || !directory_value(known, name))
        return false;
    directory_entry_drop(entry, name);
    for (uint32_t i = 0; i < known->n_values; i++) {
        const struct directory_value *value = &known->values[i];
        if (strcasecmp(value->attribute, name) == 0 &&
            directory_tree_add(checking->tree, entry, value->attribute, value->text, value->length, NULL) !=
                ESP_OK)
            break; /* without memory, fewer values */
    }
    return true;
}

static void mend_attribute(struct checking *checking, struct directory_entry *entry,
                           const struct attribute_rule *rule)
{
    for (uint32_t i = 0; i < entry->n_values; i++) {
        const struct directory_value value = entry->values[i];
        const char *expected = strcasecmp(value.attribute, rule->name) == 0 ? rule->is(&value) : NULL;
        struct esp_error error;
        if (!expected)
            continue;
        error_set(&error, ESP_INVALID, "directory: %s: its %s: expected %s, found \"%.40s\"",
                  directory_entry_title(entry), rule->name, expected, value.text);
        const bool stays = restore_attribute(checking, entry, rule->name);
        if (!stays)
            take_value(entry, i--);
        if (checking->wrong)
            checking->wrong(checking->arg, &error, stays);
        checking->mended = true;
        if (stays)
            return; /* all its values are valid again */
    }
}

/* Mends only the wrong attributes, so that a machine does not lose its models, nor a daemon its address,
 * because another attribute is wrong. */
static void mend_entry(struct checking *checking, struct directory_entry *entry)
{
    for (size_t c = 0; c < N_CLASSES; c++) {
        if (!directory_entry_is(entry, classes[c].name))
            continue;
        for (const struct attribute_rule *rule = classes[c].attributes; rule->name; rule++)
            if (!rule->required)
                mend_attribute(checking, entry, rule);
    }
}

const char *schema_outcome(bool stays)
{
    return stays ? "it is left as it was before" : "it is left out";
}

size_t schema_check(struct directory_tree *tree, const struct directory_tree *before,
                    void (*wrong)(void *arg, const struct esp_error *error, bool stays), void *arg)
{
    size_t n = 0, n_good = 0;
    struct checking checking = {tree, before, wrong, arg, false};
    directory_tree_sort(tree);
    for (size_t i = 0; i < tree->n; i++) {
        struct directory_entry *entry = tree->entries[i];
        struct esp_error error = {0};
        const bool orphan = is_orphan(tree, entry, &error);
        if (!orphan)
            mend_entry(&checking, entry);
        const bool good = !orphan && check_entry(tree, entry, &error);
        const bool stays = !good && !orphan && restore(tree, entry, before);
        if (!good && wrong)
            wrong(arg, &error, stays);
        if (good || stays) {
            tree->entries[n++] = entry;
            n_good += good;
        } else {
            take_out(tree, i);
        }
    }
    tree->n = n;
    if (checking.mended)
        directory_tree_sort(tree); /* restored values come after the others */
    return n_good;
}
