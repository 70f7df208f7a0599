/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/catalog.h"

#include "core/problem/problem.h"
#include "util/names.h"

#include <stdlib.h>
#include <string.h>

struct catalog_store {
    struct known_catalog *catalogs;
    struct variant *variants;
    struct problem_name *names;
    const char **sorted; /* the names in order; NULL: must be rebuilt */
    size_t n_sorted;
};

enum esp_status catalog_store_create(struct catalog_store **store, struct esp_error *error)
{
    *store = calloc(1, sizeof **store);
    return *store ? ESP_OK : error_no_memory(error, "the catalogues");
}

static void forget_order(struct catalog_store *store)
{
    free(store->sorted);
    store->sorted = NULL;
    store->n_sorted = 0;
}

static void variant_free(struct catalog_store *store, struct variant *variant)
{
    struct problem_name *name = variant->name;
    if (name) {
        LL_DELETE(name->variants, variant);
        if (!name->variants) {
            forget_order(store);
            HASH_DEL(store->names, name);
            free(name->problem);
            free(name);
        }
    }
    if (variant->hh.tbl)
        HASH_DEL(store->variants, variant);
    free(variant->problem);
    free(variant->text);
    free(variant->title);
    free(variant->gams);
    free(variant->catalogs);
    free(variant);
}

static void drop_from(struct catalog_store *store, struct variant *variant,
                      const struct known_catalog *catalog)
{
    for (uint32_t i = 0; i < variant->n_catalogs; i++)
        if (variant->catalogs[i] == catalog)
            variant->catalogs[i--] = variant->catalogs[--variant->n_catalogs];
    if (variant->n_catalogs == 0)
        variant_free(store, variant);
}

static void forget_list(struct catalog_store *store, struct known_catalog *catalog)
{
    for (uint32_t i = 0; i < catalog->n_variants; i++)
        drop_from(store, catalog->variants[i], catalog);
    free(catalog->variants);
    catalog->variants = NULL;
    catalog->n_variants = 0;
    catalog->known = false;
}

static void catalog_free(struct catalog_store *store, struct known_catalog *catalog)
{
    forget_list(store, catalog);
    HASH_DEL(store->catalogs, catalog);
    free(catalog);
}

void catalog_store_destroy(struct catalog_store *store)
{
    if (!store)
        return;
    while (store->catalogs)
        catalog_free(store, store->catalogs);
    forget_order(store);
    free(store);
}

struct known_catalog *catalog_find(struct catalog_store *store, uint64_t digest)
{
    struct known_catalog *catalog;
    HASH_FIND(hh, store->catalogs, &digest, sizeof digest, catalog);
    return catalog;
}

struct known_catalog *catalog_acquire(struct catalog_store *store, uint64_t digest)
{
    struct known_catalog *catalog = catalog_find(store, digest);
    if (!catalog) {
        catalog = calloc(1, sizeof *catalog);
        if (!catalog)
            return NULL;
        catalog->digest = digest;
        HASH_ADD(hh, store->catalogs, digest, sizeof catalog->digest, catalog);
        if (!catalog->hh.tbl) {
            free(catalog);
            return NULL;
        }
    }
    catalog->users++;
    return catalog;
}

static void free_unused(struct catalog_store *store, struct known_catalog *catalog)
{
    if (catalog->users == 0 && catalog->holds == 0)
        catalog_free(store, catalog);
}

void catalog_release(struct catalog_store *store, struct known_catalog *catalog)
{
    if (!catalog)
        return;
    catalog->users--;
    free_unused(store, catalog);
}

struct known_catalog *catalog_hold(struct known_catalog *catalog)
{
    if (catalog)
        catalog->holds++;
    return catalog;
}

void catalog_let_go(struct catalog_store *store, struct known_catalog *catalog)
{
    if (!catalog)
        return;
    catalog->holds--;
    free_unused(store, catalog);
}

struct variant *catalog_variant(struct catalog_store *store, uint64_t digest)
{
    struct variant *variant;
    HASH_FIND(hh, store->variants, &digest, sizeof digest, variant);
    return variant;
}

static struct problem_name *name_acquire(struct catalog_store *store, const char *problem)
{
    struct problem_name *name;
    HASH_FIND_STR(store->names, problem, name);
    if (name)
        return name;
    name = calloc(1, sizeof *name);
    if (!name)
        return NULL;
    name->problem = strdup(problem);
    if (name->problem) {
        HASH_ADD_KEYPTR(hh, store->names, name->problem, strlen(name->problem), name);
        if (name->hh.tbl) {
            forget_order(store);
            return name;
        }
    }
    free(name->problem);
    free(name);
    return NULL;
}

static struct variant *variant_create(struct catalog_store *store, const struct catalog_entry *entry)
{
    struct variant *variant = calloc(1, sizeof *variant);
    if (!variant)
        return NULL;
    variant->digest = entry->digest;
    variant->problem = strdup(entry->problem);
    variant->title = strdup("");
    variant->gams = strdup("");
    if (variant->problem && variant->title && variant->gams) {
        HASH_ADD(hh, store->variants, digest, sizeof variant->digest, variant);
        if (variant->hh.tbl && (variant->name = name_acquire(store, entry->problem))) {
            LL_PREPEND(variant->name->variants, variant);
            return variant;
        }
    }
    variant_free(store, variant);
    return NULL;
}

static bool add_entry(struct catalog_store *store, struct known_catalog *catalog,
                      const struct catalog_entry *entry)
{
    struct variant *variant = catalog_variant(store, entry->digest);
    if (variant && strcmp(variant->problem, entry->problem) != 0)
        return true; /* one digest under two names is an error in a description: the first name stays */
    if (!variant && !(variant = variant_create(store, entry)))
        return false;
    for (uint32_t i = 0; i < variant->n_catalogs; i++)
        if (variant->catalogs[i] == catalog)
            return true;
    struct known_catalog **catalogs =
        realloc(variant->catalogs, (variant->n_catalogs + 1) * sizeof *variant->catalogs);
    if (!catalogs) {
        if (variant->n_catalogs == 0)
            variant_free(store, variant);
        return false;
    }
    variant->catalogs = catalogs;
    variant->catalogs[variant->n_catalogs++] = catalog;
    catalog->variants[catalog->n_variants++] = variant;
    return true;
}

bool catalog_learn(struct catalog_store *store, const struct catalog *list)
{
    struct known_catalog *catalog = catalog_find(store, list->digest);
    if (!catalog || catalog->known)
        return false;
    catalog->variants = calloc(list->n_entries ? list->n_entries : 1, sizeof(struct variant *));
    bool complete = catalog->variants != NULL;
    for (uint32_t i = 0; complete && i < list->n_entries; i++)
        complete = add_entry(store, catalog, &list->entries[i]);
    catalog->known = complete;
    if (!complete)
        forget_list(store, catalog); /* the list will be requested again */
    return complete;
}

/* Reads the title and the GAMS class from the description. If it cannot be parsed, both stay empty. */
static void read_text(struct variant *variant)
{
    struct problem_set *set;
    if (problem_parse(variant->text, strlen(variant->text), variant->problem, &set, NULL) != ESP_OK)
        return;
    const struct problem *problem = problem_find(set, variant->problem);
    char *title = problem ? strdup(problem->title) : NULL;
    char *gams = problem ? strdup(problem->gams) : NULL;
    if (title && gams) {
        free(variant->title);
        free(variant->gams);
        variant->title = title;
        variant->gams = gams;
    } else {
        free(title);
        free(gams);
    }
    problem_set_destroy(set);
}

bool catalog_learn_text(struct catalog_store *store, const struct described *described)
{
    struct variant *variant = catalog_variant(store, described->digest);
    if (!variant || variant->text || !(variant->text = strdup(described->text)))
        return false;
    read_text(variant);
    return true;
}

bool catalog_tell(const struct known_catalog *catalog, struct arena *arena, struct catalog *list)
{
    *list = (struct catalog){.digest = catalog->digest};
    list->entries = arena_alloc(arena, catalog->n_variants * sizeof *list->entries);
    if (!list->entries)
        return false;
    for (uint32_t i = 0; i < catalog->n_variants; i++)
        list->entries[i] =
            (struct catalog_entry){catalog->variants[i]->problem, catalog->variants[i]->digest};
    list->n_entries = catalog->n_variants;
    return true;
}

struct variant *catalog_problem(struct catalog_store *store, const char *problem)
{
    struct problem_name *name;
    HASH_FIND_STR(store->names, problem, name);
    return name ? name->variants : NULL;
}

uint32_t variant_servers(const struct variant *variant)
{
    uint32_t servers = 0;
    for (uint32_t i = 0; i < variant->n_catalogs; i++)
        servers += variant->catalogs[i]->users;
    return servers;
}

struct variant *catalog_choose(struct catalog_store *store, const char *problem, uint64_t digest)
{
    struct variant *best = NULL;
    for (struct variant *variant = catalog_problem(store, problem); variant; variant = variant->next) {
        if (digest && variant->digest == digest)
            return variant;
        if (!digest && (!best || variant_servers(variant) > variant_servers(best)))
            best = variant;
    }
    return best;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool order_names(struct catalog_store *store)
{
    if (store->sorted)
        return true;
    size_t n = HASH_COUNT(store->names);
    store->sorted = malloc((n ? n : 1) * sizeof *store->sorted);
    if (!store->sorted)
        return false;
    store->n_sorted = 0;
    for (struct problem_name *name = store->names; name; name = name->hh.next)
        store->sorted[store->n_sorted++] = name->problem;
    qsort(store->sorted, store->n_sorted, sizeof *store->sorted, by_name);
    return true;
}

const char *catalog_closest(struct catalog_store *store, const char *problem)
{
    return order_names(store) ? names_closest(problem, store->sorted, store->n_sorted) : NULL;
}

size_t catalog_names(struct catalog_store *store, const char *after, const char **names, size_t limit,
                     bool *more)
{
    *more = false;
    if (!order_names(store))
        return 0;
    size_t low = 0, high = store->n_sorted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(store->sorted[middle], after) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t n = store->n_sorted - low;
    if (n > limit) {
        n = limit;
        *more = true;
    }
    memcpy(names, store->sorted + low, n * sizeof *names);
    return n;
}

struct known_catalog *catalog_first(struct catalog_store *store)
{
    return store->catalogs;
}
