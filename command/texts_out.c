/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of strings in the results of a call: shown, as JSON, and as lines of a file; and files that go to
 * standard output.
 */
#include "config.h"

#include "command/texts_out.h"

#include "command/command.h"
#include "util/contents.h"
#include "core/values/values_storage.h"
#include "core/values/values_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_at(const struct value_slot *slot, uint64_t i)
{
    const char *text = ((char **)slot->memory)[i];
    return text ? text : "";
}

void values_print_texts(const struct values *values, size_t index)
{
    const struct value_slot *slot = &values->slots[index];
    printf("%s (%llu):\n", values->problem->arguments[index].name, (unsigned long long)slot->n_texts);
    for (uint64_t i = 0; i < slot->n_texts; i++)
        printf("  %s\n", text_at(slot, i));
}

json_t *values_json_texts(const struct values *values, size_t index)
{
    const struct value_slot *slot = &values->slots[index];
    json_t *list = json_array();
    for (uint64_t i = 0; i < slot->n_texts; i++)
        json_array_append_new(list, command_json_text(text_at(slot, i)));
    return list;
}

enum esp_status values_write_texts(const struct values *values, size_t index, struct esp_error *error)
{
    const struct value_slot *slot = &values->slots[index];
    FILE *stream = strcmp(slot->path, "-") == 0 ? stdout : fopen(slot->path, "we");
    if (!stream)
        return error_errno(error, "cannot write %s", slot->path);
    bool good = true;
    for (uint64_t i = 0; i < slot->n_texts; i++)
        good = fprintf(stream, "%s\n", text_at(slot, i)) >= 0 && good;
    good = fflush(stream) == 0 && good;
    if (stream != stdout)
        good = fclose(stream) == 0 && good;
    return good ? ESP_OK : error_errno(error, "cannot write %s", slot->path);
}

/* ---- arrays of characters ---- */

/* The columns of a matrix of characters; a vector is one. */
static size_t n_columns(const struct values *values, size_t index)
{
    const struct esp_argument *argument = &values->arguments[index];
    return argument->n_dims == 2 ? (size_t)argument->dims[1] : 1;
}

static const char *column(const struct values *values, size_t index, size_t k, int *length)
{
    size_t size = (size_t)values->arguments[index].dims[0];
    const char *text = (const char *)values->slots[index].memory + k * size;
    *length = (int)characters_length(text, size);
    return text;
}

void values_print_characters(const struct values *values, size_t index)
{
    const char *name = values->problem->arguments[index].name;
    int length;
    size_t n = n_columns(values, index);
    if (values->arguments[index].n_dims == 2)
        printf("%s (%zu):\n", name, n);
    else
        printf("%s =", name);
    for (size_t k = 0; k < n; k++) {
        const char *text = column(values, index, k, &length);
        printf("%s%.*s\n", values->arguments[index].n_dims == 2 ? "  " : " ", length, text);
    }
}

json_t *values_json_characters(const struct values *values, size_t index)
{
    int length;
    const char *text = column(values, index, 0, &length);
    if (values->arguments[index].n_dims < 2)
        return json_stringn(text, (size_t)length);
    json_t *list = json_array();
    for (size_t k = 0, n = n_columns(values, index); list && k < n; k++) {
        text = column(values, index, k, &length);
        json_t *item = json_stringn(text, (size_t)length);
        if (!item || json_array_append_new(list, item) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

enum esp_status values_write_characters(const struct values *values, size_t index, struct esp_error *error)
{
    const char *path = values->slots[index].path;
    FILE *stream = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (!stream)
        return error_errno(error, "cannot write %s", path);
    bool good = true;
    int length;
    for (size_t k = 0, n = n_columns(values, index); k < n; k++) {
        const char *text = column(values, index, k, &length);
        good = fprintf(stream, "%.*s\n", length, text) >= 0 && good;
    }
    good = fflush(stream) == 0 && good;
    if (stream != stdout)
        good = fclose(stream) == 0 && good;
    return good ? ESP_OK : error_errno(error, "cannot write %s", path);
}

/* ---- files ---- */

static enum esp_status copy_file(const char *from, const char *to, struct esp_error *error)
{
    void *contents = NULL;
    uint64_t bytes;
    enum esp_status status = contents_load(from, &contents, &bytes, error);
    if (status == ESP_OK)
        status = contents_save(to, contents, bytes, error);
    free(contents);
    return status;
}

enum esp_status values_copy_files(const struct values *values, size_t index, struct esp_error *error)
{
    const struct value_slot *slot = &values->slots[index];
    enum esp_status status = ESP_OK;
    for (uint64_t i = 0; status == ESP_OK && i < slot->n_texts; i++) {
        char *name = values_file_name(slot, i);
        status = name ? copy_file(((char **)slot->memory)[i], name, error)
                      : error_no_memory(error, "the name of a file");
        free(name);
    }
    return status;
}

enum esp_status values_copy_file(const struct values *values, size_t index, struct esp_error *error)
{
    const struct value_slot *slot = &values->slots[index];
    if (strcmp(slot->path, "-") != 0)
        return copy_file(slot->spool, slot->path, error);
    char bytes[65536];
    size_t n;
    FILE *stream = fopen(slot->spool, "re");
    if (!stream)
        return error_errno(error, "cannot read %s", slot->spool);
    bool good = true;
    while (good && (n = fread(bytes, 1, sizeof bytes, stream)) > 0)
        good = fwrite(bytes, 1, n, stdout) == n;
    good = good && !ferror(stream) && fflush(stdout) == 0;
    enum esp_status status = good ? ESP_OK
                                  : error_errno(error, "cannot write %s to standard output",
                                                values->problem->arguments[index].name);
    fclose(stream);
    return status;
}

static json_t *base64_json(const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((n + 2) / 3 * 4 + 1), *at = text;
    if (!text)
        return NULL;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        unsigned word = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? (unsigned)bytes[i + 2] : 0);
        *at++ = digits[word >> 18];
        *at++ = digits[word >> 12 & 63];
        *at++ = left > 1 ? digits[word >> 6 & 63] : '=';
        *at++ = left > 2 ? digits[word & 63] : '=';
    }
    *at = 0;
    json_t *json = json_pack("{s:s}", "base64", text);
    free(text);
    return json;
}

static unsigned char *read_all(FILE *stream, size_t *n)
{
    long length = fseek(stream, 0, SEEK_END) == 0 ? ftell(stream) : -1;
    unsigned char *bytes = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (!bytes)
        return NULL;
    rewind(stream);
    *n = fread(bytes, 1, (size_t)length, stream);
    if (*n == (size_t)length)
        return bytes;
    free(bytes);
    return NULL;
}

json_t *values_json_file(const struct values *values, size_t index)
{
    FILE *stream = fopen(values->slots[index].spool, "re");
    size_t n = 0;
    unsigned char *bytes = stream ? read_all(stream, &n) : NULL;
    if (stream)
        fclose(stream);
    json_t *json = bytes ? json_stringn((const char *)bytes, n) : NULL; /* NULL: no UTF-8 */
    if (bytes && !json)
        json = base64_json(bytes, n);
    free(bytes);
    return json ? json : json_null();
}
