/* SPDX-License-Identifier: Apache-2.0 */
#include "command/missing.h"

#include <stdio.h>

struct missing missing_begin(const struct command_line *command)
{
    return (struct missing){.command = command, .list = json_array(), .code = EXIT_DONE};
}

/* Whatever else is wrong is neither of the command line nor of a file. */
static enum exit_code code_of(enum esp_status status)
{
    return command_exit_code(status) == EXIT_UNREACHABLE ? EXIT_UNREACHABLE : EXIT_FAILED;
}

void missing_add(struct missing *missing, const char *node, enum esp_status status, const char *why)
{
    struct esp_error text;
    error_set(&text, status, "%s: %s", node, why);
    command_complain(missing->command->verb->name, text.text);
    json_array_append_new(missing->list,
                          json_pack("{s:s, s:o}", "node", node, "missing", command_json_text(why)));
    if (missing->code == EXIT_DONE)
        missing->code = code_of(status);
}

void missing_lost(struct missing *missing, const struct esp_node *node)
{
    char heard[64] = "", why[200];
    if (node->age_s > 0)
        snprintf(heard, sizeof heard, " (it was last heard of %.0f s ago)", node->age_s);
    snprintf(why, sizeof why, "it cannot be reached%s, and is left out%s", heard,
             node->role == ESP_ROLE_SERVER ? "" : " with all that is below it");
    missing_add(missing, node->name, ESP_UNREACHABLE, why);
}

void missing_all_lost(struct missing *missing, const struct view *view)
{
    for (size_t i = 0; i < view->n; i++)
        if (view->nodes[i].unreachable && view->nodes[i].role != ESP_ROLE_REDIRECTOR)
            missing_lost(missing, &view->nodes[i]);
}

void missing_json(struct missing *missing, json_t *listing)
{
    json_array_extend(listing, missing->list);
}

enum exit_code missing_end(struct missing *missing)
{
    json_decref(missing->list);
    missing->list = NULL;
    return missing->code;
}
