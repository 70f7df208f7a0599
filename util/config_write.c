/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes settings as a file, and compares two settings. */
#include "util/config_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Writes double quotes, and escapes what libconfuse would take for an escape or a variable. */
static void write_quoted(const char *text, FILE *file)
{
    fputc('"', file);
    for (; *text; text++) {
        if (strchr("\"\\$", *text))
            fputc('\\', file);
        if (*text == '\n')
            fputs("\\n", file);
        else
            fputc(*text, file);
    }
    fputc('"', file);
}

/* Chooses the largest unit that divides the value, so that it reads back exactly. */
static void write_quantity(const struct unit *units, uint64_t value, FILE *file)
{
    const struct unit *best = units;
    for (const struct unit *unit = units; unit->name; unit++)
        if (value % unit->factor == 0 && unit->factor > best->factor)
            best = unit;
    if (value == 0)
        best = units;
    fprintf(file, "\"%" PRIu64 " %s\"", value / best->factor, best->name);
}

void config_write_value(const struct config_key *key, const void *field, FILE *file)
{
    const struct config_strings *strings = field;
    switch (key->type) {
    case CONFIG_STRING:
    case CONFIG_ADDRESS:
        write_quoted(*(char *const *)field, file);
        break;
    case CONFIG_STRINGS:
    case CONFIG_ADDRESSES:
        fputs("{ ", file);
        for (size_t i = 0; i < strings->n; i++) {
            if (i > 0)
                fputs(", ", file);
            write_quoted(strings->items[i], file);
        }
        fputs(" }", file);
        break;
    case CONFIG_BOOL:
        fputs(*(const bool *)field ? "yes" : "no", file);
        break;
    case CONFIG_INTEGER:
        fprintf(file, "%" PRId64, *(const int64_t *)field);
        break;
    case CONFIG_DURATION:
        write_quantity(config_durations, (uint64_t) * (const int64_t *)field, file);
        break;
    case CONFIG_SIZE:
        write_quantity(config_sizes, *(const uint64_t *)field, file);
        break;
    case CONFIG_FRACTION: {
        uint64_t millionths = (uint64_t)llround(*(const double *)field * 1e8);
        fprintf(file, "\"%" PRIu64 ".%06" PRIu64 " %%\"", millionths / 1000000, millionths % 1000000);
        break;
    }
    case CONFIG_CHOICE:
        write_quoted(key->choices[*(const int *)field], file);
        break;
    }
}

void config_write(const struct config_schema *schema, const void *settings, const char *heading, FILE *file)
{
    if (heading)
        fprintf(file, "# %s\n", heading);
    for (const struct config_group *group = schema->groups; group && group->keys; group++)
        for (const struct config_key *key = group->keys; key->name; key++) {
            const void *field = (const char *)settings + group->base + key->offset;
            if (config_value_is_initial(key, field))
                continue;
            fprintf(file, "%s = ", key->name);
            config_write_value(key, field, file);
            fputc('\n', file);
        }
}

/* Without memory the values count as different. */
static bool is_same(const struct config_key *key, const void *a, const void *b)
{
    const bool initial = config_value_is_initial(key, a);
    char *texts[2] = {0};
    if (initial || config_value_is_initial(key, b))
        return initial && config_value_is_initial(key, b);
    for (int i = 0; i < 2; i++) {
        size_t length;
        FILE *file = open_memstream(&texts[i], &length);
        if (file) {
            config_write_value(key, i == 0 ? a : b, file);
            fclose(file);
        }
    }
    const bool same = texts[0] && texts[1] && strcmp(texts[0], texts[1]) == 0;
    free(texts[0]);
    free(texts[1]);
    return same;
}

void config_differences(const struct config_schema *schema, const void *was, const void *now, char *text,
                        size_t size)
{
    size_t used = 0;
    *text = 0;
    for (const struct config_group *group = schema->groups; group && group->keys; group++)
        for (const struct config_key *key = group->keys; key->name; key++) {
            const size_t at = group->base + key->offset;
            if (!key->live && used < size && !is_same(key, (const char *)was + at, (const char *)now + at))
                used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", key->name);
        }
}
