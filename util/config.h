/* SPDX-License-Identifier: Apache-2.0
 *
 * Configuration files: a table lists the keys of a kind of file, and a file is read into a plain struct.
 *
 * Files have libconfuse's syntax (key = value, lists in braces, titled sections, # comments). Every error
 * names file and line, what was expected and what was found. Manual pages are checked against the tables,
 * so a key, its default, its range and its text are in one place. */
#ifndef UTIL_CONFIG_H
#define UTIL_CONFIG_H

#include "util/arena.h"
#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CONFIG_MAX_BYTES (1 << 20) /* most bytes of a file */
#define CONFIG_MAX_ITEMS 4096      /* most values of one list, and sections of one name */

/* The type of a key's value, and of the field that it fills. */
enum config_type {
    CONFIG_STRING,    /* char *; NULL when not given and without default */
    CONFIG_STRINGS,   /* struct config_strings: { "a", "b" } or one value */
    CONFIG_ADDRESS,   /* char *: "host:port", "[v6]:port"; stored with its port */
    CONFIG_ADDRESSES, /* struct config_strings of addresses */
    CONFIG_BOOL,      /* bool: yes/no, true/false, on/off */
    CONFIG_INTEGER,   /* int64_t */
    CONFIG_DURATION,  /* int64_t nanoseconds: "500 ms", 2s, "1 h"; units ns us ms s min h d */
    CONFIG_SIZE,      /* uint64_t bytes: "4 GiB", 64kB; units B kB KiB MB MiB GB GiB TB TiB, none is bytes */
    CONFIG_FRACTION,  /* double: "30 %" is 0.3 */
    CONFIG_CHOICE     /* int: the index of the word in `choices` */
};

struct config_strings {
    char **items;
    size_t n;
};

struct config_key {
    const char *name;
    enum config_type type;
    size_t offset;              /* of the field, from the base of its group */
    const char *initial;        /* default, as in a file; NULL: none */
    const char *least, *most;   /* inclusive bounds, as in a file; NULL: none */
    const char *const *choices; /* CONFIG_CHOICE: words, NULL at the end */
    const char *port;           /* CONFIG_ADDRESS(ES): the default port; NULL: the port must be given */
    bool required;
    bool live;        /* a running daemon applies a change when it reads its file again */
    const char *text; /* one line for users */
};

/* Keys whose fields lie in a member at `base` of the settings, so that kinds of files can share tables. */
struct config_group {
    const struct config_key *keys; /* ends with a row without a name */
    size_t base;
};

struct config_section;

/* A kind of file, or of section. */
struct config_schema {
    const char *title;                     /* for users: "server daemon" */
    size_t size;                           /* of the settings struct */
    const struct config_group *groups;     /* ends with a row without keys */
    const struct config_section *sections; /* ends with a row without a name; NULL: none */
};

/* A section `name { ... }` or `name "title" { ... }` that may come several times, as an array of structs. */
struct config_section {
    const char *name;
    const struct config_schema *schema;
    size_t offset;       /* of the pointer to the array, in the settings */
    size_t n_offset;     /* of its length, a size_t */
    bool titled;         /* each section needs a unique title */
    size_t title_offset; /* of a char * in the item, when titled */
    size_t most;         /* most sections */
    const char *text;
};

/* Reads the file into `settings` (schema->size bytes, all overwritten; missing keys get their default).
 * Pointers in it lead into `arena`. ESP_NOT_FOUND when there is no such file, ESP_SYSTEM when it cannot be
 * read, ESP_CONFIG ("file:line: ...") for an error in it, ESP_LIMIT when it is too long. On failure
 * `settings` is all zero. Any thread. */
enum esp_status config_load(const struct config_schema *schema, const char *path, void *settings,
                            struct arena *arena, struct esp_error *error);

/* Like config_load(), from a text, called `path` in messages. */
enum esp_status config_parse(const struct config_schema *schema, const char *text, const char *path,
                             void *settings, struct arena *arena, struct esp_error *error);

/* Sets all defaults, as for an empty file; required keys stay zero. */
enum esp_status config_defaults(const struct config_schema *schema, void *settings, struct arena *arena,
                                struct esp_error *error);

/* Writes `settings` (without sections) as a file that config_load() reads back identically, omitting
 * values equal to their default. `heading` becomes a comment, or is NULL. The caller checks ferror(file). */
void config_write(const struct config_schema *schema, const void *settings, const char *heading, FILE *file);

/* Lists the keys that differ between `was` and `now`, except live ones: "listen, slots"; "": none. */
void config_differences(const struct config_schema *schema, const void *was, const void *now, char *text,
                        size_t size);

/* Counts the keys and sections at the top level of the file that the schema knows, and those that it does
 * not, to recognise the kind of file. Checks nothing. */
enum esp_status config_count(const struct config_schema *schema, const char *path, size_t *known,
                             size_t *unknown, struct esp_error *error);

/* Read the values of single options, as on a command line. ESP_CONFIG says what was expected and found. */
enum esp_status config_read_duration(const char *text, int64_t *ns, struct esp_error *error);
enum esp_status config_read_size(const char *text, uint64_t *bytes, struct esp_error *error);

/* Splits "host:port" or "[host]:port"; `port` may be missing when `default_port` is not NULL. `host` gets
 * at most host_size bytes with its NUL, without brackets. */
enum esp_status config_read_address(const char *text, const char *default_port, char *host, size_t host_size,
                                    uint16_t *port, struct esp_error *error);
/* Writes "host:port" of such a text into the arena. */
enum esp_status config_whole_address(const char *text, const char *default_port, char **address,
                                     struct arena *arena, struct esp_error *error);

#endif
