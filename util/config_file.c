/* SPDX-License-Identifier: Apache-2.0 */
#include "util/config.h"
#include "util/config_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_BYTES 4096u

/* Reads at most one byte more than a file may have, into *text, which has room for one more. Most files
 * are small, so the block starts small: freeing a large one would change how malloc() serves the program. */
static size_t read_text(FILE *file, char **text)
{
    size_t room = 0, length = 0;
    while (length == room && room <= CONFIG_MAX_BYTES) {
        room = room == 0 ? FIRST_BYTES : 2 * room;
        room = room < CONFIG_MAX_BYTES + 1 ? room : CONFIG_MAX_BYTES + 1;
        char *larger = realloc(*text, room + 1);
        if (!larger) {
            free(*text);
            *text = NULL;
            return 0;
        }
        *text = larger;
        length += fread(*text + length, 1, room - length, file);
    }
    return length;
}

/* Reads the whole file as text; the caller frees it. */
static enum esp_status read_file(const char *path, char **text, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    struct stat info;
    size_t length = 0;
    FILE *file = fopen(path, "re");
    *text = NULL;
    if (!file && errno == ENOENT)
        return error_set(error, ESP_NOT_FOUND, "%s: expected a configuration file, found none", path);
    if (!file)
        return error_errno(error, "%s: cannot open the configuration file", path);
    if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
        status = error_set(error, ESP_CONFIG, "%s: expected a configuration file, found a folder", path);
        goto done;
    }
    length = read_text(file, text);
    if (!*text) {
        status = error_no_memory(error, "a configuration file");
        goto done;
    }
    (*text)[length] = '\0';
    if (ferror(file))
        status = error_errno(error, "%s: cannot read the configuration file", path);
    else if (length > CONFIG_MAX_BYTES)
        status = error_set(error, ESP_LIMIT, "%s: expected at most %d bytes of configuration, found more",
                           path, CONFIG_MAX_BYTES);
    else if (length >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0)
        memcpy(*text, "   ", 3); /* the byte order mark of UTF-8 that some editors write */
    if (status == ESP_OK && strlen(*text) < length)
        status = error_set(error, ESP_CONFIG, "%s: expected text, found a NUL byte at offset %zu", path,
                           strlen(*text));
done:
    fclose(file);
    if (status != ESP_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

enum esp_status config_load(const struct config_schema *schema, const char *path, void *settings,
                            struct arena *arena, struct esp_error *error)
{
    char *text;
    memset(settings, 0, schema->size);
    enum esp_status status = read_file(path, &text, error);
    if (status == ESP_OK)
        status = config_parse(schema, text, path, settings, arena, error);
    free(text);
    return status;
}

/* The outline of a file's top level: words in front of "=", "+=" or "{", at brace depth 0. */
struct outline {
    const struct config_schema *schema;
    size_t known, unknown;
};

static void outline_word(struct outline *outline, const char *word, size_t length)
{
    char name[64] = "";
    if (length < sizeof name)
        memcpy(name, word, length);
    if (config_key_find(outline->schema, name) || config_section_find(outline->schema, name))
        outline->known++;
    else
        outline->unknown++;
}

/* Returns the end of a comment or a quoted text that starts at `text`; `text` itself when there is none. */
static const char *skip_inert(const char *text)
{
    const char *end = NULL;
    if (*text == '#' || (text[0] == '/' && text[1] == '/'))
        return text + strcspn(text, "\n");
    if (text[0] == '/' && text[1] == '*') {
        end = strstr(text + 2, "*/");
        return end ? end + 2 : text + strlen(text);
    }
    if (*text != '"' && *text != '\'')
        return text;
    for (end = text + 1; *end && *end != *text; end++)
        if (*end == '\\' && end[1])
            end++;
    return *end ? end + 1 : end;
}

int config_open_quote(const char *text)
{
    int line = 1;
    while (*text) {
        const char *behind = skip_inert(text);
        size_t length = behind == text ? 1 : (size_t)(behind - text);
        bool quoted = *text == '"' || *text == '\'';
        if (quoted && (memchr(text, '\n', length) || behind == text + 1 || behind[-1] != *text))
            return line;
        for (; length > 0; length--)
            line += *text++ == '\n';
    }
    return 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static void outline_scan(struct outline *outline, const char *text)
{
    const char *word = NULL;
    size_t length = 0, depth = 0;
    while (*text) {
        const char *behind = skip_inert(text);
        if (behind != text) {
            text = behind;
        } else if (is_word(*text)) {
            for (word = text; is_word(*text); text++)
                ;
            length = (size_t)(text - word);
        } else {
            if ((*text == '=' || *text == '{') && depth == 0 && word) {
                outline_word(outline, word, length);
                word = NULL;
            }
            if (*text == '{')
                depth++;
            if (*text == '}' && depth > 0)
                depth--;
            text++;
        }
    }
}

enum esp_status config_count(const struct config_schema *schema, const char *path, size_t *known,
                             size_t *unknown, struct esp_error *error)
{
    struct outline outline = {.schema = schema};
    char *text;
    enum esp_status status = read_file(path, &text, error);
    if (status == ESP_OK)
        outline_scan(&outline, text);
    free(text);
    *known = outline.known;
    *unknown = outline.unknown;
    return status;
}
