/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier directory show.
 */
#include "config.h"

#include "command/directory_command.h"
#include "command/table.h"
#include "services/directory/schema.h"
#include "util/text.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_wanted(const struct directory_entry *entry, int n, char **names)
{
    char cn[256];
    for (int i = 0; i < n; i++)
        for (const char *at = entry->name; *at; at = directory_name_parent(at)) {
            const struct directory_entry part = {.name = at};
            directory_entry_cn(&part, cn, sizeof cn);
            if (strcasecmp(cn, names[i]) == 0)
                return true;
        }
    return n == 0;
}

static const char *class_of(const struct directory_entry *entry)
{
    for (unsigned i = 0; schema_class(i); i++)
        if (directory_entry_is(entry, schema_class(i)))
            return schema_class(i);
    return NULL;
}

static bool is_short(const struct directory_value *value)
{
    return !memchr(value->text, '\n', value->length) && value->length <= 100;
}

/* "Parent=a:4780,b:4780" */
static void put_values(struct text *text, const struct directory_entry *entry, const char *attribute)
{
    bool first = true;
    const char *name = attribute + (strncasecmp(attribute, "espalier", 8) == 0 ? 8 : 0);
    for (uint32_t i = 0; i < entry->n_values; i++) {
        const struct directory_value *value = &entry->values[i];
        if (strcasecmp(value->attribute, attribute) != 0 || !is_short(value))
            continue;
        text_printf(text, "%s%s%s", first && text->length ? " " : "", first ? name : "", first ? "=" : ",");
        text_put(text, directory_value_text(value));
        first = false;
    }
}

/* What is short of it, in a line. */
static void summary(const struct directory_entry *entry, const char *class, char *buffer, size_t size)
{
    struct text text;
    text_open(&text, buffer, size);
    for (unsigned i = 1; schema_attribute(class, i); i++)
        put_values(&text, entry, schema_attribute(class, i));
}

static json_t *value_json(const struct directory_value *value)
{
    const char *text = directory_value_text(value);
    return json_stringn(text, value->length - (size_t)(text - value->text));
}

/* Of addresses there may be several: always a list. Of others the first value, as it is. */
static json_t *values_json(const struct directory_entry *entry, const char *attribute)
{
    if (strcmp(attribute, "espalierParent") != 0 && strcmp(attribute, "espalierAddress") != 0)
        return value_json(directory_value(entry, attribute));
    json_t *list = json_array();
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (strcasecmp(entry->values[i].attribute, attribute) == 0)
            json_array_append_new(list, value_json(&entry->values[i]));
    return list;
}

static json_t *entry_json(const struct directory_entry *entry, const char *class)
{
    json_t *object = json_pack("{s:s, s:s}", "name", entry->name, "class", class);
    for (unsigned i = 1; schema_attribute(class, i); i++)
        if (directory_value(entry, schema_attribute(class, i)))
            json_object_set_new(object, schema_attribute(class, i),
                                values_json(entry, schema_attribute(class, i)));
    return object;
}

int directory_run_show(struct directory_command *command, int n, char **names)
{
    static const char *const headings[] = {"name", "what", "says"};
    struct table table;
    size_t shown = 0;
    char text[1024];
    int code = directory_fetch(command);
    if (code != EXIT_DONE)
        return code;
    json_t *list = json_array();
    table_init(&table, 3, headings);
    for (size_t i = 0; i < command->tree.n; i++) {
        const struct directory_entry *entry = command->tree.entries[i];
        const char *class = class_of(entry);
        if (!class || !is_wanted(entry, n, names))
            continue;
        shown++;
        if (command->json)
            json_array_append_new(list, entry_json(entry, class));
        summary(entry, class, text, sizeof text);
        table_cell(&table, "%s", entry->name);
        table_cell(&table, "%s", class + 8);
        table_cell(&table, "%s", text);
    }
    if (command->json) {
        table_clear(&table);
        json_dumpf(list, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (shown) {
        table_print(&table, 0, stdout);
    } else {
        puts(n ? "the directory has no such entry" : "the directory has no entries of Espalier");
    }
    json_decref(list);
    return fflush(stdout) == 0 && !ferror(stdout) && (shown || n == 0) ? EXIT_DONE : EXIT_FAILED;
}
