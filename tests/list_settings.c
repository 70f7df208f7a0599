/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the tables of services/settings as the manual is checked against them: one key a line, separated by
 * tabs: kind of file, section ("-": none), key, type, default, least, most, text.
 */
#include "services/settings.h"

#include <stdio.h>

static const char *const types[] = {
    [CONFIG_STRING] = "text",         [CONFIG_STRINGS] = "list of texts",
    [CONFIG_ADDRESS] = "address",     [CONFIG_ADDRESSES] = "list of addresses",
    [CONFIG_BOOL] = "yes or no",      [CONFIG_INTEGER] = "whole number",
    [CONFIG_DURATION] = "duration",   [CONFIG_SIZE] = "size",
    [CONFIG_FRACTION] = "percentage",
};

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

static void print_type(const struct config_key *key)
{
    if (key->type != CONFIG_CHOICE) {
        fputs(types[key->type], stdout);
        return;
    }
    for (size_t i = 0; key->choices[i]; i++)
        printf("%s%s", i > 0 ? ", " : "", key->choices[i]);
}

static void print_keys(const struct config_schema *schema, const char *kind, const char *section)
{
    for (const struct config_group *group = schema->groups; group && group->keys; group++)
        for (const struct config_key *key = group->keys; key->name; key++) {
            printf("%s\t%s\t%s\t", kind, section, key->name);
            print_type(key);
            printf("\t%s\t%s\t%s\t%s%s\n", or_dash(key->initial), or_dash(key->least), or_dash(key->most),
                   key->text, key->required ? " (must be given)" : "");
        }
}

int main(void)
{
    for (int i = 0; i < SETTINGS_N_KINDS; i++) {
        const struct config_schema *schema = settings_schema((enum settings_kind)i);
        const char *kind = settings_kind_name((enum settings_kind)i);
        print_keys(schema, kind, "-");
        for (const struct config_section *section = schema->sections; section && section->name; section++)
            print_keys(section->schema, kind, section->name);
    }
    return ferror(stdout) != 0;
}
