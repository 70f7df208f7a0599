/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/command/lines.h"

#include "client/arguments/values_texts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum esp_status lines_read(const char *path, struct lines *lines, struct esp_error *error)
{
    *lines = (struct lines){0};
    enum esp_status status = value_read_text(path, &lines->text, error);
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

enum esp_status lines_write(const char *path, char *const *strings, size_t n, struct esp_error *error)
{
    for (size_t i = 0; i < n; i++)
        if (strchr(strings[i], '\n'))
            return error_set(
                error, ESP_INVALID,
                "%s: string %zu of %zu has a line break in it: a file with a line for each cannot "
                "have it (programs get it by esp_data_get_strings())",
                path, i + 1, n);
    FILE *stream = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (!stream)
        return error_errno(error, "cannot write %s", path);
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good = fprintf(stream, "%s\n", strings[i]) >= 0 && good;
    good = fflush(stream) == 0 && good;
    if (stream != stdout)
        good = fclose(stream) == 0 && good;
    return good ? ESP_OK : error_errno(error, "cannot write %s", path);
}
