/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/lines.h"

#include "util/contents.h"
#include "core/values/values_texts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum esp_status lines_read(const char *path, struct lines *lines, struct esp_error *error)
{
    *lines = (struct lines){0};
    enum esp_status status = contents_load_text(path, &lines->text, error);
    if (status != ESP_OK)
        return status;
    size_t n = 0;
    for (const char *at = lines->text; *at; n++)
        at += strcspn(at, "\n") + (at[strcspn(at, "\n")] != 0);
    lines->strings = calloc(n + 1, sizeof *lines->strings);
    if (!lines->strings) {
        lines_clear(lines);
        return error_no_memory(error, path);
    }
    for (char *at = lines->text; *at;) {
        size_t length = strcspn(at, "\n");
        bool more = at[length] != 0;
        lines->strings[lines->n++] = at;
        at[length] = 0;
        at += length + more;
    }
    return ESP_OK;
}

void lines_clear(struct lines *lines)
{
    free(lines->strings);
    free(lines->text);
    *lines = (struct lines){0};
}

static bool join(char *const *strings, size_t n, char **text, size_t *bytes)
{
    *bytes = n;
    for (size_t i = 0; i < n; i++)
        *bytes += strlen(strings[i]);
    char *at = *text = malloc(*bytes + 1);
    for (size_t i = 0; at && i < n; i++) {
        at = stpcpy(at, strings[i]);
        *at++ = '\n';
    }
    return at != NULL;
}

enum esp_status lines_write(const char *path, char *const *strings, size_t n, struct esp_error *error)
{
    for (size_t i = 0; i < n; i++)
        if (strchr(strings[i], '\n'))
            return error_set(
                error, ESP_INVALID,
                "%s: string %zu of %zu has a line break in it: a file with a line for each cannot "
                "have it (programs get it by esp_data_get_strings())",
                path, i + 1, n);
    char *text;
    size_t bytes;
    if (!join(strings, n, &text, &bytes))
        return error_no_memory(error, path);
    enum esp_status status = ESP_OK;
    if (strcmp(path, "-") != 0)
        status = contents_save(path, text, bytes, error);
    else if (fwrite(text, 1, bytes, stdout) != bytes || fflush(stdout) != 0)
        status = error_errno(error, "cannot write standard output");
    free(text);
    return status;
}
