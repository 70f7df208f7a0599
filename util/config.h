/* SPDX-License-Identifier: Apache-2.0
 *
 * Configuration files: a table says which keys a file may have, and a file is read into a plain struct.
 *
 * Files are libconfuse's (key = value, lists in braces, titled sections, # comments). Every error names
 * file and line, what was expected and what was found. The tables are also what manual pages are checked
 * against, so a key, its default, its range and its text stand in one place.
 */
#ifndef UTIL_CONFIG_H
#define UTIL_CONFIG_H

#include "util/arena.h"
#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CONFIG_MAX_BYTES (1 << 20) /* a longer file is refused */
#define CONFIG_MAX_ITEMS 4096      /* values of one list, sections of one name */

/* What a key holds, and the type of the field it fills. */
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
    const char *initial;        /* default, as a file would have it; NULL: none */
    const char *least, *most;   /* inclusive bounds, as a file would have them; NULL: none */
    const char *const *choices; /* CONFIG_CHOICE: words, NULL at the end */
    const char *port;           /* CONFIG_ADDRESS(ES): appended where none is given; NULL: must be given */
    bool required;
    bool live;        /* a running daemon takes it over when it reads its file again */
    const char *text; /* one line for people */
};

/* Keys whose fields lie in a member at `base` of the settings: tables can be shared between files. */
struct config_group {
    const struct config_key *keys; /* ends with a row without a name */
    size_t base;
};

struct config_section;

/* A kind of file, or of section. */
struct config_schema {
    const char *title;                     /* for people: "server daemon" */
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
    bool titled;         /* titles are needed, and unique */
    size_t title_offset; /* of a char * in the item, when titled */
    size_t most;         /* how many there may be */
    const char *text;
};

/* Reads the file into `settings` (schema->size bytes, all overwritten; keys not given get their default).
 * What it points to lies in `arena`. ESP_NOT_FOUND when there is no such file, ESP_SYSTEM when it cannot
 * be read, ESP_CONFIG ("file:line: ...") when something in it is wrong, ESP_LIMIT when it is too long.
 * On failure `settings` is all zero. Any thread. */
enum esp_status config_load(const struct config_schema *schema, const char *path, void *settings,
                            struct arena *arena, struct esp_error *error);

/* The same from a text, which `path` names in messages. */
enum esp_status config_parse(const struct config_schema *schema, const char *text, const char *path,
                             void *settings, struct arena *arena, struct esp_error *error);

/* Every default, as from an empty file; required keys are left zero. */
enum esp_status config_defaults(const struct config_schema *schema, void *settings, struct arena *arena,
                                struct esp_error *error);

/* Writes `settings` (without sections) as a file that config_load reads back to the same, leaving out
 * what equals its default. `heading` becomes a comment, or is NULL. Whether writing succeeded is told by
 * ferror(file). */
void config_write(const struct config_schema *schema, const void *settings, const char *heading, FILE *file);

/* The names of the keys that `now` has otherwise than `was`, but for live ones: "listen, slots"; "": none. */
void config_differences(const struct config_schema *schema, const void *was, const void *now, char *text,
                        size_t size);

/* How many of the keys and sections at the top level of the file the schema knows, and how many it does
 * not: for telling which kind of file it is. Nothing is checked. */
enum esp_status config_count(const struct config_schema *schema, const char *path, size_t *known,
                             size_t *unknown, struct esp_error *error);

/* The values of single options, as on a command line. ESP_CONFIG with what was expected and found. */
enum esp_status config_read_duration(const char *text, int64_t *ns, struct esp_error *error);
enum esp_status config_read_size(const char *text, uint64_t *bytes, struct esp_error *error);

/* Splits "host:port" or "[host]:port"; `port` may be missing when `default_port` is not NULL. `host` gets
 * at most host_size bytes with its NUL, without brackets. */
enum esp_status config_read_address(const char *text, const char *default_port, char *host, size_t host_size,
                                    uint16_t *port, struct esp_error *error);
/* "host:port" of such a text, in the arena. */
enum esp_status config_whole_address(const char *text, const char *default_port, char **address,
                                     struct arena *arena, struct esp_error *error);

#endif
