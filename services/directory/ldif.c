/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/ldif.h"
#include "util/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <lber.h>
#include <ldif.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define COLUMNS 78

struct reader {
    const char *path;
    unsigned line; /* where the record begins */
    char *base;    /* "" until the first record */
    struct directory_tree *tree;
    struct esp_error *error;
};

static enum esp_status wrong(const struct reader *reader, const char *expected, const char *found)
{
    return error_set(reader->error, ESP_SYNTAX, "%s:%u: expected %s, found \"%.80s\"", reader->path,
                     reader->line, expected, found);
}

/* ---- reading ---- */

/* The name below the base; NULL: it is not below it. Blanks behind commas of the base are not looked through:
 * those who write LDIF do not put any. */
static const char *below_base(struct reader *reader, char *name)
{
    const size_t n = strlen(name), m = strlen(reader->base);
    if (m == 0)
        return snprintf(reader->base, DIRECTORY_MOST_NAME, "%s", name) < DIRECTORY_MOST_NAME ? "" : NULL;
    if (n < m || strcasecmp(name + n - m, reader->base) != 0)
        return NULL;
    if (n == m)
        return "";
    if (name[n - m - 1] != ',')
        return NULL;
    name[n - m - 1] = 0;
    return name;
}

static enum esp_status begin(struct reader *reader, char *type, struct berval *value,
                             struct directory_entry **entry)
{
    if (strcasecmp(type, "version") == 0)
        return strcmp(value->bv_val, "1") == 0 ? ESP_OK : wrong(reader, "LDIF of version 1", value->bv_val);
    if (strcasecmp(type, "dn") != 0 || value->bv_len == 0)
        return wrong(reader, "a record that begins with \"dn: NAME\"", type);
    const char *name = below_base(reader, value->bv_val);
    if (!name)
        return wrong(reader, "a name below that of the first record", value->bv_val);
    if (directory_tree_find(reader->tree, name))
        return wrong(reader, "each name once", value->bv_val);
    *entry = directory_tree_entry(reader->tree, name, reader->error);
    return *entry ? ESP_OK : reader->error->status;
}

static enum esp_status read_line(struct reader *reader, char *line, struct directory_entry **entry)
{
    struct berval type, value;
    int owned = 0;
    enum esp_status status;
    const size_t name = strcspn(line, ":");
    if (line[name] == ':' && line[name + 1] == '<') /* would read whatever file a line names */
        return wrong(reader, "values in the file itself", line);
    if (line[name] != ':' || name == 0 || ldif_parse_line2(line, &type, &value, &owned) != 0)
        return wrong(reader, "\"ATTRIBUTE: VALUE\"", line);
    type.bv_val[type.bv_len] = 0;
    if (!*entry)
        status = memchr(value.bv_val, 0, value.bv_len) ? wrong(reader, "a name", line)
                                                       : begin(reader, type.bv_val, &value, entry);
    else if (strcasecmp(type.bv_val, "changetype") == 0)
        status = wrong(reader, "entries, no changes", line);
    else
        status =
            directory_tree_add(reader->tree, *entry, type.bv_val, value.bv_val, value.bv_len, reader->error);
    if (owned)
        ber_memfree(value.bv_val);
    return status;
}

/* One record; lines that begin with a blank go on, those with '#' are remarks: ldif_getline() knows. */
static enum esp_status read_record(struct reader *reader, char *record)
{
    struct directory_entry *entry = NULL;
    enum esp_status status = ESP_OK;
    char *line;
    while (status == ESP_OK && (line = ldif_getline(&record)))
        if (*line && *line != '#')
            status = read_line(reader, line, &entry);
    return status;
}

/* Cuts the next record off `at`, at its blank line. */
static char *next_record(char **at, unsigned *line, unsigned *begins)
{
    while (**at == '\n' || (**at == '\r' && (*at)[1] == '\n')) {
        *line += **at == '\n';
        ++*at;
    }
    char *record = *at;
    *begins = *line;
    for (; **at; ++*at) {
        if (**at != '\n')
            continue;
        ++*line;
        if ((*at)[1] == '\n' || ((*at)[1] == '\r' && (*at)[2] == '\n')) {
            (*at)[1] = 0;
            *at += 2;
            ++*line;
            break;
        }
    }
    return *record ? record : NULL;
}

enum esp_status ldif_parse(const char *text, size_t length, const char *path, struct directory_tree *tree,
                           const char **base, struct esp_error *error)
{
    char *copy = malloc(length + 1), *at = copy, *record;
    struct reader reader = {.path = path, .tree = tree, .error = error};
    unsigned line = 1;
    reader.base = arena_alloc(&tree->arena, DIRECTORY_MOST_NAME);
    enum esp_status status = copy && reader.base ? ESP_OK : error_no_memory(error, "a directory");
    if (status == ESP_OK) {
        memcpy(copy, text, length);
        copy[length] = 0;
        if (strlen(copy) != length)
            status = error_set(error, ESP_SYNTAX, "%s: expected text, found a NUL byte", path);
    }
    while (status == ESP_OK && (record = next_record(&at, &line, &reader.line)))
        status = read_record(&reader, record);
    if (status == ESP_OK && tree->n == 0)
        status = error_set(error, ESP_SYNTAX, "%s: expected entries, found none", path);
    free(copy);
    if (status == ESP_OK)
        *base = reader.base;
    else
        directory_tree_clear(tree);
    return status;
}

static enum esp_status read_file(FILE *file, const char *path, char **text, size_t *length,
                                 struct esp_error *error)
{
    size_t size = 1 << 16, n = 0, got = 1;
    *text = malloc(size);
    while (*text && got > 0 && n <= 2 * (size_t)DIRECTORY_MOST_BYTES) {
        if (n == size) {
            char *grown = realloc(*text, 2 * size);
            if (!grown)
                break;
            *text = grown;
            size *= 2;
        }
        n += got = fread(*text + n, 1, size - n, file);
    }
    *length = n;
    if (!*text || (got > 0 && n == size && n <= 2 * (size_t)DIRECTORY_MOST_BYTES))
        return error_no_memory(error, "a directory");
    if (ferror(file))
        return error_errno(error, "%s cannot be read", path);
    return got == 0
               ? ESP_OK
               : error_set(error, ESP_LIMIT, "%s: expected at most %u MiB", path, DIRECTORY_MOST_BYTES >> 19);
}

enum esp_status ldif_load(const char *path, struct directory_tree *tree, const char **base,
                          struct esp_error *error)
{
    char *text = NULL;
    size_t length = 0;
    const bool standard = strcmp(path, "-") == 0;
    struct esp_error own;
    error = error ? error : &own;
    FILE *file = standard ? stdin : regular_file_open(path, "r", error);
    if (!file)
        return error->status;
    enum esp_status status = read_file(file, path, &text, &length, error);
    if (!standard)
        fclose(file);
    if (status == ESP_OK)
        status = ldif_parse(text, length, path, tree, base, error);
    free(text);
    return status;
}

/* ---- writing ---- */

static bool put(FILE *file, int kind, const char *name, const char *value, size_t length)
{
    char *line = ldif_put_wrap(kind, name, value, (ber_len_t)length, COLUMNS);
    if (line)
        fputs(line, file);
    ber_memfree(line);
    return line != NULL;
}

static bool write_entry(const struct directory_entry *entry, const char *base, FILE *file)
{
    char name[2 * DIRECTORY_MOST_NAME + 2];
    snprintf(name, sizeof name, "%s%s%s", entry->name, *entry->name ? "," : "", base);
    bool good = put(file, LDIF_PUT_VALUE, "dn", name, strlen(name));
    for (uint32_t i = 0; i < entry->n_values && good; i++)
        good = put(file, LDIF_PUT_VALUE, entry->values[i].attribute, entry->values[i].text,
                   entry->values[i].length);
    fputc('\n', file);
    return good;
}

enum esp_status ldif_write(struct directory_tree *tree, const char *base, FILE *file, struct esp_error *error)
{
    bool good = true;
    directory_tree_sort(tree);
    for (size_t i = 0; i < tree->n && good; i++)
        good = write_entry(tree->entries[i], base, file);
    return good ? ESP_OK : error_no_memory(error, "a directory's text");
}

enum esp_status ldif_save(struct directory_tree *tree, const char *base, const char *path,
                          struct esp_error *error)
{
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid()) >= sizeof temporary)
        return error_set(error, ESP_CONFIG, "the path \"%.60s...\" is too long", path);
    struct esp_error own;
    error = error ? error : &own;
    FILE *file = regular_file_open(temporary, "w", error);
    if (!file)
        return error->status;
    enum esp_status status = ldif_write(tree, base, file, error);
    if (status == ESP_OK && (fflush(file) != 0 || fsync(fileno(file)) != 0 || ferror(file)))
        status = error_errno(error, "%s cannot be written", temporary);
    if (fclose(file) != 0 && status == ESP_OK)
        status = error_errno(error, "%s cannot be written", temporary);
    if (status == ESP_OK && rename(temporary, path) != 0)
        status = error_errno(error, "%s cannot be renamed to %s", temporary, path);
    if (status != ESP_OK)
        unlink(temporary);
    return status;
}
