/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier directory: runs espalier-directory. It is a program of its own because it links libldap, whose ten
 * libraries this command should not wait for.
 */
#include "config.h"

#include "command/verbs.h"
#include "command/launch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options have the same names there: each is one word, with its value behind a '='. */
static char *option_word(const struct option_value *option)
{
    const size_t size = strlen(option->name) + strlen(option->value) + 4;
    char *word = malloc(size);
    if (word)
        snprintf(word, size, *option->value ? "--%s=%s" : "--%s", option->name, option->value);
    return word;
}

static enum exit_code run(const struct command_line *command, const char *verb)
{
    struct esp_error error = {0};
    char path[PATH_MAX];
    if (launch_find("espalier-directory", path, sizeof path, &error) != ESP_OK)
        return command_fail(command, &error);
    const char **words = calloc((size_t)command->n_operands + (size_t)command->n_options + 5, sizeof *words);
    if (!words) {
        error_no_memory(&error, "the arguments");
        return command_fail(command, &error);
    }
    size_t n = 0;
    words[n++] = path;
    for (int i = 0; i < command->n_options; i++)
        if (strcmp(command->options[i].name, "json") != 0 &&
            !(words[n++] = option_word(&command->options[i])))
            break;
    if (command->json)
        words[n++] = "--json";
    words[n++] = verb;
    for (int i = 0; i < command->n_operands; i++)
        words[n++] = command->operands[i];
    execv(path, (char **)words);
    error_errno(&error, "cannot start %s", path);
    free(words);
    return command_fail(command, &error);
}

enum exit_code verb_directory_export(const struct command_line *command)
{
    return run(command, "export");
}

enum exit_code verb_directory_import(const struct command_line *command)
{
    return run(command, "import");
}

enum exit_code verb_directory_show(const struct command_line *command)
{
    return run(command, "show");
}

enum exit_code verb_directory_client(const struct command_line *command)
{
    return run(command, "client");
}
