/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "flow/catalogue.h"
#include "core/problem/problem.h"

#include <espalier.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    struct problem_set *set; /* of one problem */
};

struct catalogue {
    struct entry *entries;
};

enum esp_status catalogue_create(struct catalogue **catalogue, struct esp_error *error)
{
    *catalogue = calloc(1, sizeof **catalogue);
    return *catalogue ? ESP_OK : error_no_memory(error, "the problems of a flow");
}

void catalogue_destroy(struct catalogue *catalogue)
{
    while (catalogue && catalogue->entries) {
        struct entry *entry = catalogue->entries;
        catalogue->entries = entry->next;
        problem_set_destroy(entry->set);
        free(entry);
    }
    free(catalogue);
}

static enum esp_status ask(const char *name, struct problem_set **set, struct esp_error *error)
{
    struct esp_problem *described;
    *set = NULL;
    if (esp_problem_describe(name, &described) != ESP_OK) {
        *error = *esp_last_error();
        return error->status;
    }
    enum esp_status status =
        problem_parse(described->source, strlen(described->source), described->name, set, error);
    esp_problem_free(described);
    return status;
}

static const struct problem *find(void *self, const char *name, struct esp_error *error)
{
    struct catalogue *catalogue = self;
    for (struct entry *entry = catalogue->entries; entry; entry = entry->next)
        if (strcmp(entry->set->problems[0]->name, name) == 0)
            return entry->set->problems[0];
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry) {
        error_no_memory(error, "the problems of a flow");
        return NULL;
    }
    enum esp_status status = ask(name, &entry->set, error);
    if (status != ESP_OK) {
        free(entry);
        if (status == ESP_UNKNOWN_PROBLEM)
            *error = (struct esp_error){.status = ESP_OK}; /* the reader of the text tells it */
        return NULL;
    }
    entry->next = catalogue->entries;
    catalogue->entries = entry;
    return entry->set->problems[0];
}

struct flow_problems catalogue_problems(struct catalogue *catalogue)
{
    return (struct flow_problems){.self = catalogue, .find = find};
}
