/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/directory.h"
#include "services/directory/ldif.h"
#include "services/directory/schema.h"
#include "util/bytes.h"
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
#define JOINED  '\r' /* mark where ldif_getline() has joined lines */

/* Remarks written at both ends: a file that was cut between two entries would otherwise look like one
 * without the other entries. */
#define WHOLE "# whole up to the line \"# end\"\n"
#define END   "# end\n"

struct reader {
    const char *path;
    unsigned line; /* first line of the record */
    char *base;
    struct directory_tree *tree;
    struct esp_error *error;
};

static enum esp_status wrong(const struct reader *reader, const char *expected, const char *found)
{
    return error_set(reader->error, ESP_SYNTAX, "%s:%u: expected %s, found \"%.80s\"", reader->path,
                     reader->line, expected, found);
}

/* Adds the position to an error that the tree is full. */
static enum esp_status at_line(const struct reader *reader, enum esp_status status)
{
    if (status != ESP_LIMIT)
        return status;
    const struct esp_error why = *reader->error;
    return error_set(reader->error, status, "%s:%u: %s", reader->path, reader->line, why.text);
}

/* ---- reading ---- */

/* Returns the name below the base; NULL: it is not below it. Blanks after commas of the base are not
 * handled, because LDIF writers do not produce them. */
static const char *below_base(const struct reader *reader, char *name)
{
    const size_t n = strlen(name), m = strlen(reader->base);
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
        return error_set(reader->error, ESP_SYNTAX,
                         "%s:%u: expected a name below the base \"%.80s\", found \"%.80s\"", reader->path,
                         reader->line, reader->base, value->bv_val);
    if (directory_tree_find(reader->tree, name))
        return wrong(reader, "each name once", value->bv_val);
    *entry = directory_tree_entry(reader->tree, name, reader->error);
    return *entry ? ESP_OK : at_line(reader, reader->error->status);
}

/* Counts the next characters in the set, skipping the marks where lines were joined. */
static size_t count_of(const char **text, const char *set)
{
    size_t n = 0;
    for (; **text && (**text == JOINED || strchr(set, **text)); ++*text)
        n += **text != JOINED;
    return n;
}

/* Checks base64 first, because libldap would print errors to standard error. */
static bool is_base64(const char *text)
{
    count_of(&text, " ");
    const size_t n = count_of(&text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
    const size_t padding = count_of(&text, "=");
    return *text == 0 && padding <= 2 && (n + padding) % 4 == 0;
}

/* Splits a line. Refuses values that are neither text nor base64, because libldap would read them from any
 * file named there. *owned: the value must be freed by ber_memfree(). */
static enum esp_status split_line(const struct reader *reader, char *line, struct berval *type,
                                  struct berval *value, int *owned)
{
    const size_t name = strcspn(line, ":");
    if (line[name] == ':' && line[name + 1] == '<')
        return wrong(reader, "values in the file itself", line);
    if (line[name] == ':' && line[name + 1] == ':' && !is_base64(line + name + 2))
        return wrong(reader, "a whole text in base64 behind \"::\"", line);
    if (line[name] != ':' || name == 0 || ldif_parse_line2(line, type, value, owned) != 0)
        return wrong(reader, "\"ATTRIBUTE: VALUE\"", line);
    type->bv_val[type->bv_len] = 0;
    return ESP_OK;
}

static enum esp_status read_line(struct reader *reader, char *line, struct directory_entry **entry)
{
    struct berval type, value;
    int owned = 0;
    enum esp_status status = split_line(reader, line, &type, &value, &owned);
    if (status != ESP_OK)
        return status;
    if (!*entry)
        status = memchr(value.bv_val, 0, value.bv_len) ? wrong(reader, "a name", line)
                                                       : begin(reader, type.bv_val, &value, entry);
    else if (strcasecmp(type.bv_val, "changetype") == 0)
        status = wrong(reader, "entries, no changes", line);
    else if (strcasecmp(type.bv_val, "dn") == 0)
        status = wrong(reader, "one \"dn: NAME\" in a record, and an empty line before the next one",
                       value.bv_val);
    else
        status = at_line(reader, directory_tree_add(reader->tree, *entry, type.bv_val, value.bv_val,
                                                    value.bv_len, reader->error));
    if (owned)
        ber_memfree(value.bv_val);
    return status;
}

/* Reads one record; ldif_getline() handles continuation lines and remarks. */
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

/* Removes the next record, up to its blank line, from `at`. */
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

/* ---- the base ---- */

/* Result of scanning the names of all records. */
struct names {
    char top[DIRECTORY_MOST_NAME];
    bool has_units; /* below it */
};

/* Gets the name of a record; "": it has none, which is reported when it is parsed. Modifies the record. */
static void name_of_record(const struct reader *reader, char *record, char name[DIRECTORY_MOST_NAME])
{
    struct reader quiet = *reader;
    quiet.error = NULL;
    *name = 0;
    for (char *line; !*name && (line = ldif_getline(&record));) {
        struct berval type, value;
        int owned = 0;
        if (!*line || *line == '#')
            continue;
        if (split_line(&quiet, line, &type, &value, &owned) != ESP_OK)
            return;
        if (strcasecmp(type.bv_val, "dn") == 0)
            snprintf(name, DIRECTORY_MOST_NAME, "%s", value.bv_val);
        const bool is_name = strcasecmp(type.bv_val, "version") != 0;
        if (owned)
            ber_memfree(value.bv_val);
        if (is_name)
            return;
    }
}

/* Keeps the first name, or the highest one above it. */
static void note_top(struct names *names, const char *name)
{
    const size_t n = strlen(name), m = strlen(names->top);
    const bool is_above =
        n > 0 && n < m && names->top[m - n - 1] == ',' && strcasecmp(names->top + m - n, name) == 0;
    if (m == 0 || is_above)
        snprintf(names->top, sizeof names->top, "%s", name);
}

static void note_unit(struct names *names, const char *name)
{
    const char *base = schema_below_unit(name);
    names->has_units |= base && strcasecmp(base, names->top) == 0;
}

static enum esp_status for_each_name(struct reader *reader, const char *text, size_t length,
                                     void (*note)(struct names *names, const char *name), struct names *names)
{
    char *copy = strndup(text, length), *at = copy, *record, name[DIRECTORY_MOST_NAME];
    unsigned line = 1;
    if (!copy)
        return error_no_memory(reader->error, "a directory");
    while ((record = next_record(&at, &line, &reader->line))) {
        name_of_record(reader, record, name);
        note(names, name);
    }
    free(copy);
    return ESP_OK;
}

/* Finds the common base of all names. If the file has no record for the base itself, it is the part after
 * the unit that the entries lie in. */
static enum esp_status find_base(struct reader *reader, const char *text, size_t length)
{
    struct names names = {0};
    enum esp_status status = for_each_name(reader, text, length, note_top, &names);
    if (status == ESP_OK)
        status = for_each_name(reader, text, length, note_unit, &names);
    if (status != ESP_OK)
        return status;
    const char *base = names.has_units ? NULL : schema_below_unit(names.top);
    if (base && !*base)
        return error_set(reader->error, ESP_SYNTAX,
                         "%s: expected names that end in a base, such as \"%.80s," DIRECTORY_FILE_BASE
                         "\", found \"%.80s\"",
                         reader->path, names.top, names.top);
    strcpy(reader->base, base ? base : names.top);
    return ESP_OK;
}

static enum esp_status read_records(struct reader *reader, const char *text, size_t length)
{
    char *copy = strndup(text, length), *at = copy, *record;
    unsigned line = 1;
    enum esp_status status = copy ? ESP_OK : error_no_memory(reader->error, "a directory");
    while (status == ESP_OK && (record = next_record(&at, &line, &reader->line)))
        status = read_record(reader, record);
    free(copy);
    return status;
}

/* Files from other programs need no end mark. */
static bool is_cut(const char *text, size_t length)
{
    const size_t head = sizeof WHOLE - 1;
    return length >= head && memcmp(text, WHOLE, head) == 0 &&
           !memmem(text + head - 1, length - head + 1, "\n" END, sizeof END);
}

enum esp_status ldif_parse(const char *text, size_t length, const char *path, struct directory_tree *tree,
                           const char **base, struct esp_error *error)
{
    struct esp_error own;
    struct reader reader = {.path = path, .tree = tree, .error = error ? error : &own};
    reader.base = arena_alloc(&tree->arena, DIRECTORY_MOST_NAME);
    enum esp_status status = reader.base ? ESP_OK : error_no_memory(error, "a directory");
    if (status == ESP_OK && memchr(text, 0, length))
        status = error_set(error, ESP_SYNTAX, "%s: expected text, found a NUL byte", path);
    if (status == ESP_OK)
        status = find_base(&reader, text, length);
    if (status == ESP_OK)
        status = read_records(&reader, text, length);
    if (status == ESP_OK && tree->n == 0)
        status = error_set(error, ESP_SYNTAX, "%s: expected entries, found none", path);
    if (status == ESP_OK && is_cut(text, length))
        status =
            error_set(error, ESP_SYNTAX,
                      "%s: expected all that was written, up to the line \"# end\", found a file that was "
                      "cut (one that was shortened on purpose goes without its first line)",
                      path);
    if (status == ESP_OK)
        *base = reader.base;
    else
        directory_tree_clear(tree);
    return status;
}

static enum esp_status read_file(FILE *file, const char *path, char **text, size_t *length,
                                 struct esp_error *error)
{
    char most[BYTES_TEXT];
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
    return got == 0 ? ESP_OK
                    : error_set(error, ESP_LIMIT, "%s: expected at most %s", path,
                                bytes_text(2 * (uint64_t)DIRECTORY_MOST_BYTES, most));
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

/* Whether the entry has the value of its name, if that is "ou=...". */
static bool has_unit(const struct directory_entry *entry, const char *base)
{
    const size_t n = strcspn(base, ",");
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (strcasecmp(entry->values[i].attribute, "ou") == 0 && entry->values[i].length + 3 == n &&
            strncasecmp(entry->values[i].text, base + 3, n - 3) == 0)
            return true;
    return strncasecmp(base, "ou=", 3) != 0;
}

/* Writes the naming attribute of a base that had another name in its source. */
static bool put_unit(FILE *file, const char *base)
{
    static const char class[] = "organizationalUnit";
    const bool good = put(file, LDIF_PUT_VALUE, "objectClass", class, sizeof class - 1) &&
                      put(file, LDIF_PUT_VALUE, "ou", base + 3, strcspn(base + 3, ","));
    fputc('\n', file);
    return good;
}

static bool write_entry(const struct directory_entry *entry, const char *base, FILE *file)
{
    char name[2 * DIRECTORY_MOST_NAME + 2];
    snprintf(name, sizeof name, "%s%s%s", entry->name, *entry->name ? "," : "", base);
    bool good = put(file, LDIF_PUT_VALUE, "dn", name, strlen(name));
    if (good && !*entry->name && !has_unit(entry, base))
        return put_unit(file, base);
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
    fputs(WHOLE, file);
    for (size_t i = 0; i < tree->n && good; i++)
        good = write_entry(tree->entries[i], base, file);
    fputs(END, file);
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
    if (regular_file_replaceable(path, error) != ESP_OK)
        return error->status;
    FILE *file = regular_file_open(temporary, "w", error);
    if (!file)
        return error->status;
    enum esp_status status = ldif_write(tree, base, file, error);
    if (status == ESP_OK && (fflush(file) != 0 || fsync(fileno(file)) != 0 || ferror(file)))
        status = error_errno(error, "%s cannot be written", path);
    if (fclose(file) != 0 && status == ESP_OK)
        status = error_errno(error, "%s cannot be written", path);
    if (status == ESP_OK && rename(temporary, path) != 0)
        status = error_errno(error, "%s cannot be replaced", path);
    if (status != ESP_OK)
        unlink(temporary);
    return status;
}
