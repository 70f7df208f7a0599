/* SPDX-License-Identifier: Apache-2.0 */
#include "util/config.h"
#include "util/config_value.h"
#include "util/names.h"

#include <confuse.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* libconfuse keeps its scanner's state in globals, so one file is read at a time. It passes no user
 * pointer to callbacks either: `reading` is the present file, under this lock. */
static pthread_mutex_t scanner_lock = PTHREAD_MUTEX_INITIALIZER;

#define MAX_GIVEN 1024 /* most keys of one file that are checked for repetitions */

struct given {
    const cfg_opt_t *option;
    int line;
};

static struct reading {
    const struct config_schema *schema;
    const char *path;
    struct esp_error *error;
    enum esp_status status;
    int line; /* line of the fault; 0: no particular line */
    struct given given[MAX_GIVEN];
    size_t n_given;
    bool checking_end; /* the second pass, with END_MARK after the text */
} * reading;

/* A key of no table, appended to the text. If it turns up inside a section, a brace is missing (libconfuse
 * itself lets the end of the file end all sections). */
#define END_MARK "end-of-file"

static const struct config_schema empty_schema = {.title = "nothing"};

const struct config_key *config_key_find(const struct config_schema *schema, const char *name)
{
    for (const struct config_group *group = schema->groups; group && group->keys; group++)
        for (const struct config_key *key = group->keys; key->name; key++)
            if (strcmp(key->name, name) == 0)
                return key;
    return NULL;
}

const struct config_section *config_section_find(const struct config_schema *schema, const char *name)
{
    for (const struct config_section *section = schema->sections; section && section->name; section++)
        if (strcmp(section->name, name) == 0)
            return section;
    return NULL;
}

static size_t schema_n_names(const struct config_schema *schema)
{
    size_t n = 0;
    for (const struct config_group *group = schema->groups; group && group->keys; group++)
        for (const struct config_key *key = group->keys; key->name; key++)
            n++;
    for (const struct config_section *section = schema->sections; section && section->name; section++)
        n++;
    return n;
}

static const struct config_schema *schema_of(const cfg_t *cfg)
{
    if (strcmp(cfg->name, "root") == 0)
        return reading->schema;
    const struct config_section *section = config_section_find(reading->schema, cfg->name);
    return section ? section->schema : &empty_schema;
}

/* Returns the schema's key or section most similar to `name`, or NULL. */
static const char *schema_closest(const struct config_schema *schema, const char *name)
{
    size_t n = 0;
    const char **names = calloc(schema_n_names(schema) + 1, sizeof *names);
    if (!names)
        return NULL;
    for (const struct config_group *group = schema->groups; group && group->keys; group++)
        for (const struct config_key *key = group->keys; key->name; key++)
            names[n++] = key->name;
    for (const struct config_section *section = schema->sections; section && section->name; section++)
        names[n++] = section->name;
    const char *closest = names_closest(name, names, n);
    free(names);
    return closest;
}

/* Records the first fault of a file; later ones are often consequences. */
static void fault(int line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fault(int line, const char *format, ...)
{
    if (reading->status != ESP_OK)
        return;
    va_list arguments;
    va_start(arguments, format);
    reading->status = error_vset(reading->error, ESP_CONFIG, format, arguments);
    va_end(arguments);
    error_prefix(reading->error, "%s:%d", reading->path, line);
    reading->line = line;
}

/* An open quote includes the following text, so its fault appears elsewhere, as another one. */
static void blame_quote(const char *text)
{
    int line = config_open_quote(text);
    if (line == 0 || reading->line < line)
        return;
    reading->status = error_set(reading->error, ESP_CONFIG,
                                "%s:%d: expected a second quote at the end of the text, found the end of "
                                "the line",
                                reading->path, line);
}

static void fault_unknown(const cfg_t *cfg, const char *name)
{
    const struct config_schema *schema = schema_of(cfg);
    const char *closest = schema_closest(schema, name);
    if (reading->checking_end && strcmp(name, END_MARK) == 0)
        fault(cfg->line, "expected \"}\" at the end of section \"%s\", found the end of the file", cfg->name);
    else if (config_is_unit(name))
        fault(cfg->line, "a value with its unit is one word or stands in quotes (\"4 %s\"), found %s alone",
              name, name);
    else if (closest)
        fault(cfg->line, "unknown key \"%s\": did you mean \"%s\"?", name, closest);
    else
        fault(cfg->line, "unknown key \"%s\" in the configuration of %s %s", name,
              strchr("aeiou", schema->title[0]) ? "an" : "a", schema->title);
}

/* Replacements for libconfuse's messages; both take the same name. */
static const struct {
    const char *theirs, *ours;
} faults[] = {
    {"premature end of file", "expected a value, or \"}\" at the end of a list, found the end of the file"},
    {"unexpected token '%s'", "expected a key, or the value of one, found \"%s\""},
    {"unexpected closing brace", "expected a key, found \"}\", which closes nothing"},
    {"missing equal sign after option '%s'", "expected \"=\" and a value behind \"%s\", found neither"},
    {"missing opening brace for section '%s'", "expected \"{\" behind section \"%s\", found none"},
    {"missing title for section '%s'", "expected a name behind section \"%s\", found none"},
    {"attempt to append to non-list option '%s'",
     "expected \"=\" behind \"%s\", found \"+=\", which only lists take"},
};

/* Reports libconfuse's own message, or a better one. Its formats are compared in English: if they are
 * translated, the translation is shown. */
static void on_error(cfg_t *cfg, const char *format, va_list arguments)
{
    char text[256];
    if (reading->status != ESP_OK)
        return;
    if (strcmp(format, "no such option '%s'") == 0) {
        fault_unknown(cfg, va_arg(arguments, const char *));
        return;
    }
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(format, faults[i].theirs) == 0)
            format = faults[i].ours;
    vsnprintf(text, sizeof text, format, arguments);
    fault(cfg->line, "%s", text);
}

static const struct given *given_find(const cfg_opt_t *option)
{
    for (size_t i = 0; i < reading->n_given; i++)
        if (reading->given[i].option == option)
            return &reading->given[i];
    return NULL;
}

/* Called after each value that libconfuse has read, while it still knows the line. */
static int on_value(cfg_t *cfg, cfg_opt_t *option)
{
    const struct config_key *key = config_key_find(schema_of(cfg), option->name);
    const struct given *before = given_find(option);
    union {
        char *text;
        int64_t integer;
        double fraction;
    } scratch;
    struct arena arena = {0};
    struct esp_error error;
    if (!key || option->nvalues == 0)
        return 0;
    if (option->nvalues > CONFIG_MAX_ITEMS) {
        fault(cfg->line, "%s: expected at most %d values, found more", key->name, CONFIG_MAX_ITEMS);
        return -1;
    }
    if (before && !config_type_is_list(key->type)) {
        fault(cfg->line, "%s: expected once, found again (first in line %d)", key->name, before->line);
        return -1;
    }
    if (!before && reading->n_given < MAX_GIVEN)
        reading->given[reading->n_given++] = (struct given){option, cfg->line};
    enum esp_status status =
        config_read_value(key, cfg_opt_getnstr(option, option->nvalues - 1), &scratch, &arena, &error);
    arena_clear(&arena);
    if (status != ESP_OK)
        fault(cfg->line, "%s", error.text);
    return status == ESP_OK ? 0 : -1;
}

static int on_section(cfg_t *cfg, cfg_opt_t *option)
{
    const struct config_section *section = config_section_find(reading->schema, option->name);
    if (!section || option->nvalues <= section->most)
        return 0;
    fault(cfg->line, "section \"%s\": expected at most %zu, found more", section->name, section->most);
    return -1;
}

static void options_destroy(cfg_opt_t *options)
{
    for (cfg_opt_t *option = options; option && option->name; option++)
        if (option->type == CFGT_SEC)
            options_destroy(option->subopts);
    free(options);
}

/* Builds libconfuse's table from ours: every value is text there, so that units, ranges and messages are
 * ours. */
static cfg_opt_t *options_create(const struct config_schema *schema)
{
    size_t n = 0;
    cfg_opt_t *options = calloc(schema_n_names(schema) + 2, sizeof *options);
    if (!options)
        return NULL;
    for (const struct config_group *group = schema->groups; group && group->keys; group++)
        for (const struct config_key *key = group->keys; key->name; key++) {
            cfg_opt_t scalar = CFG_STR(key->name, NULL, CFGF_NODEFAULT);
            cfg_opt_t list = CFG_STR_LIST(key->name, NULL, CFGF_NODEFAULT);
            options[n] = config_type_is_list(key->type) ? list : scalar;
            options[n++].validcb = on_value;
        }
    for (const struct config_section *section = schema->sections; section && section->name; section++) {
        cfg_flag_t flags = CFGF_MULTI | (section->titled ? CFGF_TITLE | CFGF_NO_TITLE_DUPES : 0);
        cfg_opt_t option = CFG_SEC(section->name, options_create(section->schema), flags);
        options[n] = option;
        options[n++].validcb = on_section;
        if (!option.subopts) {
            options_destroy(options);
            return NULL;
        }
    }
    if (reading && reading->checking_end && schema == reading->schema) {
        cfg_opt_t mark = CFG_STR(END_MARK, NULL, CFGF_NODEFAULT);
        options[n++] = mark;
    }
    cfg_opt_t end = CFG_END();
    options[n] = end;
    return options;
}

/* Parses with libconfuse; the caller frees the tree (cfg_free). */
static enum esp_status scan(const char *text, cfg_t **tree, struct esp_error *error)
{
    cfg_opt_t *options = options_create(reading->schema);
    cfg_t *cfg = options ? cfg_init(options, CFGF_NONE) : NULL;
    options_destroy(options);
    if (!cfg)
        return error_no_memory(error, "a configuration");
    cfg_set_error_function(cfg, on_error);
    if (cfg_parse_buf(cfg, text) != CFG_SUCCESS)
        fault(cfg->line, "cannot be read as configuration");
    if (reading->status == ESP_OK)
        *tree = cfg;
    else
        cfg_free(cfg);
    return reading->status;
}

/* Parses a valid text a second time, to check that its sections end. */
static enum esp_status check_end(const char *text, struct esp_error *error)
{
    size_t size = strlen(text) + sizeof "\n" END_MARK " = yes\n";
    char *marked = malloc(size);
    cfg_t *tree = NULL;
    if (!marked)
        return error_no_memory(error, "a configuration");
    snprintf(marked, size, "%s\n" END_MARK " = yes\n", text);
    reading->checking_end = true;
    reading->n_given = 0;
    enum esp_status status = scan(marked, &tree, error);
    if (tree)
        cfg_free(tree);
    free(marked);
    return status;
}

static enum esp_status fill_list(const struct config_key *key, const cfg_opt_t *option,
                                 struct config_strings *strings, struct arena *arena, struct esp_error *error)
{
    unsigned n = option->nvalues;
    strings->items = arena_alloc(arena, (n + 1) * sizeof *strings->items);
    if (!strings->items)
        return error_no_memory(error, key->name);
    for (unsigned i = 0; i < n; i++, strings->n++) {
        enum esp_status status =
            config_read_value(key, option->values[i]->string, &strings->items[i], arena, error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

static enum esp_status fill_key(const struct config_key *key, cfg_t *cfg, void *field, const char *where,
                                struct arena *arena, struct esp_error *error)
{
    const cfg_opt_t *option = cfg ? cfg_getopt(cfg, key->name) : NULL;
    bool given = option && option->nvalues > 0;
    if (!given && key->required && cfg)
        return error_set(error, ESP_CONFIG, "%s: expected the key \"%s\" (%s), found none", where, key->name,
                         key->text);
    if (given && config_type_is_list(key->type))
        return fill_list(key, option, field, arena, error);
    const char *text = given ? option->values[0]->string : key->initial;
    if (!text || config_type_is_list(key->type))
        return ESP_OK;
    return config_read_value(key, text, field, arena, error);
}

static enum esp_status fill_sections(const struct config_section *section, cfg_t *cfg, char *settings,
                                     const char *path, struct arena *arena, struct esp_error *error);

/* Copies the tree into the struct; without a tree, the defaults. */
static enum esp_status fill(const struct config_schema *schema, cfg_t *cfg, void *settings, const char *where,
                            const char *path, struct arena *arena, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    memset(settings, 0, schema->size);
    for (const struct config_group *group = schema->groups; group && group->keys; group++)
        for (const struct config_key *key = group->keys; key->name && status == ESP_OK; key++)
            status = fill_key(key, cfg, (char *)settings + group->base + key->offset, where, arena, error);
    if (status == ESP_OK && cfg)
        status = fill_sections(schema->sections, cfg, settings, path, arena, error);
    return status;
}

static enum esp_status fill_section(const struct config_section *section, cfg_t *part, char *item,
                                    const char *path, struct arena *arena, struct esp_error *error)
{
    char where[400];
    const char *title = section->titled ? cfg_title(part) : NULL;
    snprintf(where, sizeof where, title ? "%s: section %s \"%s\"" : "%s: section %s", path, section->name,
             title);
    enum esp_status status = fill(section->schema, part, item, where, path, arena, error);
    if (status == ESP_OK && title) {
        char *copy = arena_strdup(arena, title);
        if (!copy)
            return error_no_memory(error, section->name);
        memcpy(item + section->title_offset, &copy, sizeof copy);
    }
    return status;
}

static enum esp_status fill_sections(const struct config_section *section, cfg_t *cfg, char *settings,
                                     const char *path, struct arena *arena, struct esp_error *error)
{
    for (; section && section->name; section++) {
        size_t n = cfg_size(cfg, section->name), size = section->schema->size;
        char *items = arena_alloc(arena, (n + 1) * size);
        if (!items)
            return error_no_memory(error, section->name);
        memcpy(settings + section->offset, &items, sizeof items);
        memcpy(settings + section->n_offset, &n, sizeof n);
        for (size_t i = 0; i < n; i++) {
            enum esp_status status = fill_section(section, cfg_getnsec(cfg, section->name, (unsigned)i),
                                                  items + i * size, path, arena, error);
            if (status != ESP_OK)
                return status;
        }
    }
    return ESP_OK;
}

enum esp_status config_parse(const struct config_schema *schema, const char *text, const char *path,
                             void *settings, struct arena *arena, struct esp_error *error)
{
    cfg_t *tree = NULL;
    struct reading *here = calloc(1, sizeof *here);
    memset(settings, 0, schema->size);
    if (!here)
        return error_no_memory(error, "a configuration");
    here->schema = schema;
    here->path = path;
    here->error = error;
    pthread_mutex_lock(&scanner_lock);
    reading = here;
    enum esp_status status = scan(text, &tree, error);
    if (status == ESP_OK)
        status = check_end(text, error);
    if (status != ESP_OK)
        blame_quote(text);
    if (status == ESP_OK)
        status = fill(schema, tree, settings, path, path, arena, error);
    if (tree)
        cfg_free(tree);
    reading = NULL;
    pthread_mutex_unlock(&scanner_lock);
    free(here);
    if (status != ESP_OK)
        memset(settings, 0, schema->size);
    return status;
}

enum esp_status config_defaults(const struct config_schema *schema, void *settings, struct arena *arena,
                                struct esp_error *error)
{
    return fill(schema, NULL, settings, "defaults", "defaults", arena, error);
}
