/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of problems: those of all master agents, each of which knows the problems below it.
 */
#include "client/arguments/describe.h"
#include "client/session/library.h"
#include "client/session/engine.h"
#include "client/session/session.h"
#include "core/hierarchy/absent.h"
#include "espalier.h"
#include "util/package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE       1000
#define MOST_PAGES 1000 /* limit for an agent whose list does not end */

struct collection {
    struct esp_problem_entry *entries; /* grown with the list; the texts lie in `arena` */
    size_t n, capacity;
    struct arena arena;
    char missing[1000]; /* master agents that did not answer, and why */
};

static enum esp_status collect(struct collection *collection, const struct list_reply *page,
                               struct esp_error *error)
{
    for (uint32_t i = 0; i < page->n; i++) {
        if (collection->n == collection->capacity) {
            size_t capacity = collection->capacity ? 2 * collection->capacity : 64;
            void *grown = realloc(collection->entries, capacity * sizeof *collection->entries);
            if (!grown)
                return error_no_memory(error, "the list of problems");
            collection->entries = grown;
            collection->capacity = capacity;
        }
        const struct listed *from = &page->items[i];
        struct esp_problem_entry *to = &collection->entries[collection->n];
        to->name = arena_strdup(&collection->arena, from->problem);
        to->title = arena_strdup(&collection->arena, from->title);
        to->gams = arena_strdup(&collection->arena, from->gams);
        to->digest = from->digest;
        to->servers = from->servers;
        if (!to->name || !to->title || !to->gams)
            return error_no_memory(error, "the list of problems");
        collection->n++;
    }
    return ESP_OK;
}

/* Takes all pages of one master agent, or none if it stops in the middle. */
static enum esp_status list_master(struct engine *engine, const struct master_entry *master,
                                   struct collection *collection, struct esp_error *error)
{
    const size_t before = collection->n;
    const char *address = master->address;
    char who[ROUTE_WHO];
    enum esp_status status =
        route_greet(engine->route, route_name(master->name, who), address, NULL, NULL, error);
    bool more = true;
    for (unsigned page = 0; status == ESP_OK && more && page < MOST_PAGES; page++) {
        const char *after = collection->n > before ? collection->entries[collection->n - 1].name : "";
        struct message request = {.kind = MESSAGE_LIST, .list = {.after = after, .limit = PAGE}};
        struct message reply = {0};
        status = deadline_call(engine->transport, address, &request, engine->call_timeout_ms, &reply, error);
        if (status != ESP_OK)
            error_prefix_at(error, who, address);
        else
            status = collect(collection, &reply.list_reply, error);
        more = status == ESP_OK && reply.list_reply.more && reply.list_reply.n > 0;
        message_clear(&reply);
    }
    if (status != ESP_OK)
        collection->n = before;
    return status;
}

static int by_name(const void *one, const void *other)
{
    const struct esp_problem_entry *a = one, *b = other;
    const int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->digest > b->digest) - (a->digest < b->digest);
}

/* Merges equal signatures below several master agents into one entry. */
static void merge(struct collection *collection)
{
    struct esp_problem_entry *entries = collection->entries;
    size_t n = 0;
    if (collection->n > 1)
        qsort(entries, collection->n, sizeof *entries, by_name);
    for (size_t i = 0; i < collection->n; i++)
        if (n > 0 && by_name(&entries[n - 1], &entries[i]) == 0)
            entries[n - 1].servers += entries[i].servers;
        else
            entries[n++] = entries[i];
    collection->n = n;
}

static void note_missing(struct collection *collection, const struct esp_error *error)
{
    const size_t used = strlen(collection->missing);
    snprintf(collection->missing + used, sizeof collection->missing - used, "%s%.400s", used > 0 ? "; " : "",
             error->text);
}

/* Notes the masters that the redirector has lost and still remembers. */
static void note_absent(struct collection *collection, const struct locate_reply *located)
{
    const struct extension *absent = extension_find(&located->extensions, EXTENSION_ABSENT);
    struct absent_reader reader = {absent ? absent->value : NULL, absent ? absent->length : 0};
    struct node_record master;
    struct esp_error lost;
    while (absent_read(&reader, &master)) {
        error_set(&lost, ESP_UNREACHABLE, "the redirector has lost touch with master agent \"%s\" at %s",
                  master.name, master.address);
        note_missing(collection, &lost);
    }
}

static enum esp_status list_masters(struct engine *engine, const struct locate_reply *located,
                                    struct collection *collection, struct esp_error *error)
{
    struct esp_error why;
    bool any = false;
    for (uint32_t i = 0; i < located->n_masters; i++) {
        const enum esp_status status = list_master(engine, &located->masters[i], collection, &why);
        if (status == ESP_NO_MEMORY)
            return error_set(error, status, "%s", why.text);
        if (status != ESP_OK)
            note_missing(collection, &why);
        any |= status == ESP_OK;
    }
    return any ? ESP_OK : error_set(error, ESP_UNREACHABLE, "%s", collection->missing);
}

/* If no redirector answers, the masters that were learned earlier are asked. */
static enum esp_status list_all(struct engine *engine, struct collection *collection, struct esp_error *error)
{
    struct message reply = {0};
    enum esp_status status = route_locate(engine->route, &reply, error);
    if (status != ESP_OK && route_has_masters(engine->route)) {
        note_missing(collection, error);
        message_clear(&reply);
        status = route_known(engine->route, &reply, error);
    }
    if (status == ESP_OK)
        status = list_masters(engine, &reply.locate_reply, collection, error);
    if (status == ESP_OK)
        note_absent(collection, &reply.locate_reply);
    message_clear(&reply);
    if (status == ESP_OK)
        merge(collection);
    return status;
}

static struct esp_problem_entry *pack(struct collection *collection)
{
    struct esp_problem_entry *package = package_create((collection->n + 1) * sizeof *package);
    const char *missing = arena_strdup(&collection->arena, collection->missing);
    if (!package || !missing) {
        package_destroy(package);
        return NULL;
    }
    if (collection->n > 0)
        memcpy(package, collection->entries, collection->n * sizeof *package);
    package[collection->n].title = missing;
    *package_arena(package) = collection->arena;
    return package;
}

enum esp_status esp_problem_list(struct esp_problem_entry **entries, size_t *n)
{
    struct esp_error *error = library_error();
    if (!entries || !n)
        return error_set(error, ESP_INVALID, "expected places for the list, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct collection collection = {0};
    enum esp_status status = list_all(library->engine, &collection, error);
    struct esp_problem_entry *package = status == ESP_OK ? pack(&collection) : NULL;
    if (status == ESP_OK && !package)
        status = error_no_memory(error, "the list of problems");
    library_leave(status == ESP_OK);
    if (package) {
        *entries = package;
        *n = collection.n;
    } else {
        arena_clear(&collection.arena);
    }
    free(collection.entries);
    return status;
}

void esp_problem_list_free(struct esp_problem_entry *entries)
{
    package_destroy(entries);
}

/* ---- one problem ---- */

enum esp_status esp_problem_describe(const char *name, struct esp_problem **problem)
{
    struct esp_error *error = library_error();
    struct function *function;
    if (!name || !problem)
        return error_set(error, ESP_INVALID, "expected a name and a place for the problem, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = functions_get(library->engine->functions, name, NULL, &function, error);
    if (status == ESP_OK)
        status = describe_function(function, problem, error);
    library_leave(status == ESP_OK);
    return status;
}

enum esp_status esp_arguments_complete(const struct esp_problem *problem, struct esp_argument *arguments,
                                       size_t n_arguments)
{
    struct esp_error *error = library_error();
    if (!problem || (!arguments && n_arguments > 0))
        return error_set(error, ESP_INVALID, "expected a problem and its arguments, found NULL");
    return describe_complete(problem, arguments, n_arguments, error);
}

enum esp_status esp_arguments_elements(const struct esp_problem *problem,
                                       const struct esp_argument *arguments, size_t n_arguments,
                                       uint64_t *elements)
{
    struct esp_error *error = library_error();
    if (!problem || !elements || (!arguments && n_arguments > 0))
        return error_set(error, ESP_INVALID,
                         "expected a problem, its arguments and room for numbers, found NULL");
    return describe_elements(problem, arguments, n_arguments, elements, error);
}

enum esp_status esp_arguments_cut(const struct esp_problem *problem, struct esp_argument *arguments,
                                  size_t n_arguments)
{
    struct esp_error *error = library_error();
    if (!problem || (!arguments && n_arguments > 0))
        return error_set(error, ESP_INVALID, "expected a problem and its arguments, found NULL");
    return describe_cut(problem, arguments, n_arguments, error);
}
