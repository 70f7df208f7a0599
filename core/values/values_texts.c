/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of strings and of files: from words to pointers.
 */
#include "config.h"

#include "core/values/values_texts.h"
#include "util/contents.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pointers, and the bytes of the texts that they lead to until a result takes their place, in one block. */
static enum esp_status make_block(struct values *values, size_t index, uint64_t n, size_t bytes, char **at,
                                  struct esp_error *error)
{
    struct value_slot *slot = &values->slots[index];
    struct esp_argument *argument = &values->arguments[index];
    if (n > SIZE_MAX / 16 || bytes > SIZE_MAX / 4)
        return error_set(error, ESP_LIMIT, "%s: too many elements", values->problem->arguments[index].name);
    slot->block = (size_t)(n + 1) * sizeof(char *) + bytes;
    slot->memory = calloc(slot->block, 1);
    if (!slot->memory)
        return error_no_memory(error, "an argument");
    slot->n_texts = n;
    *at = (char *)slot->memory + (n + 1) * sizeof(char *);
    argument->data = slot->memory;
    argument->type = values->problem->arguments[index].type;
    argument->n_dims = 1;
    argument->dims[0] = (int64_t)n;
    return ESP_OK;
}

void values_clear_texts(struct value_slot *slot)
{
    char **texts = slot->memory;
    const char *begin = slot->memory;
    for (uint64_t i = 0; texts && i < slot->n_texts; i++)
        if (texts[i] < begin || texts[i] >= begin + slot->block)
            free(texts[i]);
    slot->n_texts = 0;
}

static char *put_text(char **slot, char *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    at[length] = 0;
    *slot = at;
    return at + length + 1;
}

/* ["a", "b"] */
static enum esp_status take_list(struct values *values, size_t index, const char *text,
                                 struct esp_error *error)
{
    json_error_t why;
    json_t *list = json_loads(text, 0, &why), *item;
    size_t i, bytes = 0;
    bool good = json_is_array(list);
    json_array_foreach(list, i, item)
    {
        good &= json_is_string(item);
        bytes += json_string_length(item) + 1;
    }
    if (!good) {
        json_decref(list);
        return error_set(
            error, ESP_INVALID,
            "%s: expected strings as [\"one\", \"two\"] or @FILE (a line for each), found '%.80s'",
            values->problem->arguments[index].name, text);
    }
    char *at;
    enum esp_status status = make_block(values, index, json_array_size(list), bytes, &at, error);
    if (status == ESP_OK)
        json_array_foreach(list, i, item)
        {
            at = put_text((char **)values->slots[index].memory + i, at, json_string_value(item),
                          json_string_length(item));
        }
    json_decref(list);
    return status;
}

/* Pieces between separators: the lines of a text, the paths of a list. */
static enum esp_status take_pieces(struct values *values, size_t index, const char *text, char separator,
                                   struct esp_error *error)
{
    const char *end = text + strlen(text);
    uint64_t n = 0;
    for (const char *from = text; from < end; n++) {
        const char *stop = strchr(from, separator);
        from = stop ? stop + 1 : end;
    }
    char *at;
    enum esp_status status = make_block(values, index, n, (size_t)(end - text) + n, &at, error);
    char **texts = values->slots[index].memory;
    for (uint64_t i = 0; status == ESP_OK && i < n; i++) {
        const char *stop = strchr(text, separator);
        size_t length = (size_t)((stop ? stop : end) - text);
        bool path = separator == ',' && *text == '@';
        at = put_text(&texts[i], at, text + path, length - path);
        text += length + 1;
    }
    return status;
}

enum esp_status value_check_file(const char *name, const char *path, struct esp_error *error)
{
    if (access(path, R_OK) == 0)
        return ESP_OK;
    return error_set(error, ESP_NOT_FOUND, "%s: %s: %s", name, path, strerror(errno));
}

static enum esp_status take_files(struct values *values, size_t index, const char *text,
                                  struct esp_error *error)
{
    enum esp_status status = take_pieces(values, index, text, ',', error);
    char *const *paths = values->slots[index].memory;
    for (uint64_t i = 0; status == ESP_OK && i < values->slots[index].n_texts; i++)
        status = value_check_file(values->problem->arguments[index].name, paths[i], error);
    return status;
}

enum esp_status values_take_texts(struct values *values, size_t index, const char *text,
                                  struct esp_error *error)
{
    char *lines = NULL;
    if (values->problem->arguments[index].type == ESP_TYPE_FILE)
        return take_files(values, index, text, error);
    if (*text != '@')
        return take_list(values, index, text, error);
    enum esp_status status = contents_load_text(text + 1, &lines, error);
    if (status == ESP_OK)
        status = take_pieces(values, index, lines, '\n', error);
    free(lines);
    return status;
}

/* ---- files that go in and come back ---- */

enum esp_status values_make_spool(char **spool, struct esp_error *error)
{
    static const char name[] = "/espalier.XXXXXX";
    const char *folder = secure_getenv("TMPDIR");
    folder = folder && *folder ? folder : "/tmp";
    size_t size = strlen(folder) + sizeof name;
    char *path = malloc(size);
    if (!path)
        return error_no_memory(error, "a path");
    snprintf(path, size, "%s%s", folder, name);
    int fd = mkstemp(path);
    if (fd < 0) {
        enum esp_status status = error_errno(error, "cannot make a file in %s", folder);
        free(path);
        return status;
    }
    close(fd);
    *spool = path;
    return ESP_OK;
}

char *values_file_name(const struct value_slot *slot, uint64_t i)
{
    const char *from = slot->path;
    if (!strchr(from, ',')) {
        const size_t size = strlen(from) + 24;
        char *name = malloc(size);
        if (name)
            snprintf(name, size, "%s.%llu", from, (unsigned long long)i + 1);
        return name;
    }
    for (; i > 0 && from; i--) {
        const char *stop = strchr(from, ',');
        from = stop ? stop + 1 : NULL;
    }
    return from ? strndup(from, strcspn(from, ",")) : NULL;
}

static uint64_t count_names(const char *path)
{
    uint64_t n = 1;
    for (; *path; path++)
        n += *path == ',';
    return n;
}

static enum esp_status copy_one(const char *path, char **spool, struct esp_error *error)
{
    void *contents = NULL;
    uint64_t bytes;
    enum esp_status status = contents_load(path, &contents, &bytes, error);
    if (status == ESP_OK)
        status = values_make_spool(spool, error);
    if (status == ESP_OK)
        status = contents_save(*spool, contents, bytes, error);
    free(contents);
    return status;
}

static enum esp_status wrong_count(const struct values *values, size_t index, uint64_t found,
                                   struct esp_error *error)
{
    return error_set(error, ESP_INVALID, "-o %s: expected %llu files, found %llu",
                     values->problem->arguments[index].name, (unsigned long long)values->slots[index].n_texts,
                     (unsigned long long)found);
}

enum esp_status values_copy_inputs(struct values *values, size_t index, struct esp_error *error)
{
    struct value_slot *slot = &values->slots[index];
    char **texts = slot->memory;
    enum esp_status status = ESP_OK;
    if (slot->has_spools || !texts)
        return ESP_OK;
    if (slot->path && strchr(slot->path, ',') && count_names(slot->path) != slot->n_texts)
        return wrong_count(values, index, count_names(slot->path), error);
    slot->has_spools = true;
    for (uint64_t i = 0; status == ESP_OK && i < slot->n_texts; i++) {
        char *spool = NULL;
        status = copy_one(texts[i], &spool, error);
        if (spool)
            texts[i] = spool;
    }
    return status == ESP_OK ? ESP_OK : error_prefix(error, "%s", values->problem->arguments[index].name);
}

void values_remove_spools(struct value_slot *slot)
{
    char *const *texts = slot->memory;
    const char *begin = slot->memory;
    for (uint64_t i = 0; slot->has_spools && i < slot->n_texts; i++)
        if (texts[i] < begin || texts[i] >= begin + slot->block)
            unlink(texts[i]);
    slot->has_spools = false;
}

/* -o parts=a,b: the files by their names; -o parts=part: part.1, part.2, ... */
static enum esp_status name_files(struct values *values, size_t index, uint64_t n, struct esp_error *error)
{
    const char *path = values->slots[index].path;
    char *at;
    if (strchr(path, ',')) {
        enum esp_status status = take_pieces(values, index, path, ',', error);
        if (status == ESP_OK && values->slots[index].n_texts != n)
            status = error_set(error, ESP_INVALID, "-o %s: expected %llu files, found %llu",
                               values->problem->arguments[index].name, (unsigned long long)n,
                               (unsigned long long)values->slots[index].n_texts);
        return status;
    }
    size_t each = strlen(path) + 24;
    if (n > SIZE_MAX / 8 / each)
        return error_set(error, ESP_LIMIT, "-o %s: too many files", values->problem->arguments[index].name);
    enum esp_status status = make_block(values, index, n, n * each, &at, error);
    char **texts = values->slots[index].memory;
    for (uint64_t i = 0; status == ESP_OK && i < n; i++, at += each) {
        snprintf(at, each, "%s.%llu", path, (unsigned long long)i + 1);
        texts[i] = at;
    }
    return status;
}

enum esp_status values_prepare_texts(struct values *values, size_t index, struct esp_error *error)
{
    const struct value_slot *slot = &values->slots[index];
    uint64_t n = (uint64_t)values->arguments[index].dims[0];
    char *at;
    bool files = values->problem->arguments[index].type == ESP_TYPE_FILE;
    if (!slot->path && (files || values->some_saved))
        return ESP_OK; /* not wanted */
    return files ? name_files(values, index, n, error) : make_block(values, index, n, 0, &at, error);
}
