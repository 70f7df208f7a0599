/* SPDX-License-Identifier: Apache-2.0 */
#include "command/constraints.h"

#include "util/config.h"

#include <string.h>

const char *constraints_bound(const struct command_line *command)
{
    const bool others = command_option_value(command, "property") ||
                        command_option_value(command, "deadline") || command_option_value(command, "memory");
    return others ? NULL : command_option_value(command, "server");
}

static enum esp_status read_properties(const struct command_line *command, struct constraint_words *words,
                                       struct esp_call_options *options, struct esp_error *error)
{
    for (int i = 0; i < command->n_options; i++) {
        const char *word = command->options[i].value;
        if (strcmp(command->options[i].name, "property") != 0)
            continue;
        const char *fault = property_fault(word);
        if (fault)
            return error_set(error, ESP_INVALID, "--property: expected a word, found '%s': %s", word, fault);
        if (options->n_properties == CAP_PROPERTIES)
            return error_set(error, ESP_INVALID, "--property: expected at most %d of them", CAP_PROPERTIES);
        words->properties[options->n_properties++] = word;
    }
    options->properties = words->properties;
    return ESP_OK;
}

enum esp_status constraints_read(const struct command_line *command, struct constraint_words *words,
                                 struct esp_call_options *options, struct esp_error *error)
{
    const char *deadline = command_option_value(command, "deadline");
    const char *memory = command_option_value(command, "memory");
    int64_t ns = 0;
    if (deadline && (config_read_duration(deadline, &ns, error) != ESP_OK || ns <= 0))
        return error_set(error, ESP_INVALID, "--deadline: expected a time such as '30 s', found '%s'",
                         deadline);
    if (memory &&
        (config_read_size(memory, &options->memory_bytes, error) != ESP_OK || options->memory_bytes == 0))
        return error_set(error, ESP_INVALID, "--memory: expected a size such as '2 GiB', found '%s'", memory);
    options->finish_s = (double)ns / 1e9;
    if (!constraints_bound(command))
        options->server = command_option_value(command, "server");
    return read_properties(command, words, options, error);
}
