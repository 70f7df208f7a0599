/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/cost_files.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_model(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name), suffix = sizeof COST_SUFFIX - 1;
    return n > suffix && entry->d_name[0] != '.' && strcmp(entry->d_name + n - suffix, COST_SUFFIX) == 0;
}

static struct cost_file *find(const struct cost_files *files, const char *name)
{
    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->files[i].name, name) == 0)
            return &files->files[i];
    return NULL;
}

/* The model of that file alone, into an empty set. `why`: ESP_INVALID and what else cost_load() says;
 * `error`: ESP_NO_MEMORY, which is nothing of the file's. */
static enum esp_status read_one(const char *path, struct cost_set *set, struct esp_error *why,
                                struct esp_error *error)
{
    struct arena arena = {0};
    struct cost_model model;
    *set = (struct cost_set){0};
    enum esp_status status = cost_load(path, &arena, &model, why);
    if (status == ESP_OK && (status = cost_set_add(set, &model, false, error)) != ESP_OK)
        cost_set_clear(set);
    else if (status == ESP_NO_MEMORY)
        *error = *why;
    arena_clear(&arena);
    return status;
}

/* What the file says, or said before. ESP_NO_MEMORY; ESP_NOT_FOUND: it is left out. */
static enum esp_status read_or_keep(const struct cost_file *known, const char *path, struct cost_set *model,
                                    void (*wrong)(void *arg, const struct esp_error *error, bool stays),
                                    void *arg, struct esp_error *error)
{
    struct esp_error why;
    const enum esp_status status = read_one(path, model, &why, error);
    if (status == ESP_OK || status == ESP_NO_MEMORY)
        return status;
    if (wrong)
        wrong(arg, &why, known != NULL);
    return known ? cost_set_add(model, &known->model.models[0], false, error) : ESP_NOT_FOUND;
}

/* Adds the file of that name to `fresh`, which has room. ESP_NO_MEMORY. */
static enum esp_status renew(const struct cost_files *before, struct cost_files *fresh, const char *folder,
                             const char *name,
                             void (*wrong)(void *arg, const struct esp_error *error, bool stays), void *arg,
                             struct esp_error *error)
{
    char path[4096];
    struct cost_file file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    enum esp_status status = read_or_keep(find(before, name), path, &file.model, wrong, arg, error);
    if (status == ESP_OK && !(file.name = strdup(name)))
        status = error_no_memory(error, "a cost model");
    if (status == ESP_OK)
        fresh->files[fresh->n++] = file;
    else
        cost_set_clear(&file.model);
    return status == ESP_NOT_FOUND ? ESP_OK : status;
}

enum esp_status cost_files_read(struct cost_files *files, const char *folder,
                                void (*wrong)(void *arg, const struct esp_error *error, bool stays),
                                void *arg, struct esp_error *error)
{
    struct dirent **entries = NULL;
    struct cost_files fresh = {0};
    const int n = scandir(folder, &entries, is_model, alphasort);
    if (n < 0 && errno != ENOENT)
        return error_errno(error, "%s cannot be read", folder);
    enum esp_status status = ESP_OK;
    if (n > 0 && !(fresh.files = calloc((size_t)n, sizeof *fresh.files)))
        status = error_no_memory(error, "cost models");
    for (int i = 0; i < n; i++) {
        if (status == ESP_OK)
            status = renew(files, &fresh, folder, entries[i]->d_name, wrong, arg, error);
        free(entries[i]);
    }
    free(entries);
    cost_files_clear(status == ESP_OK ? files : &fresh);
    if (status == ESP_OK)
        *files = fresh;
    return status;
}

enum esp_status cost_files_add(const struct cost_files *files, struct cost_set *set, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < files->n && status == ESP_OK; i++)
        status = cost_set_add(set, &files->files[i].model.models[0], false, error);
    return status;
}

void cost_files_clear(struct cost_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        free(files->files[i].name);
        cost_set_clear(&files->files[i].model);
    }
    free(files->files);
    *files = (struct cost_files){0};
}

/* ---- without a memory ---- */

enum esp_status cost_load_folder(const char *folder, void (*wrong)(void *arg, const struct esp_error *error),
                                 void *arg, struct cost_set *set, struct esp_error *error)
{
    struct dirent **entries;
    *set = (struct cost_set){.fastest_s_per_flop = HUGE_VAL};
    int n = scandir(folder, &entries, is_model, alphasort);
    if (n < 0)
        return errno == ENOENT ? ESP_OK : error_errno(error, "%s cannot be read", folder);
    enum esp_status status = ESP_OK;
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct arena arena = {0};
        struct cost_model model;
        struct esp_error why;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (status == ESP_OK && cost_load(path, &arena, &model, &why) == ESP_OK)
            status = cost_set_add(set, &model, true, error);
        else if (status == ESP_OK && wrong)
            wrong(arg, &why);
        arena_clear(&arena);
        free(entries[i]);
    }
    free(entries);
    if (status != ESP_OK)
        cost_set_clear(set);
    return status;
}
