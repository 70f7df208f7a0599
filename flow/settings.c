/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "flow/settings.h"
#include "core/flow/program_tree.h"

#include <stdio.h>
#include <string.h>

static bool is_parameter(const struct flow_program *program, const char *name, size_t length)
{
    for (unsigned i = 0; i < flow_program_n_parameters(program); i++) {
        const char *parameter = flow_program_parameter(program, i);
        if (strlen(parameter) == length && strncmp(parameter, name, length) == 0)
            return true;
    }
    return false;
}

static bool is_input(const struct flow_program *program, const struct statement *statement, const char *name,
                     size_t length)
{
    for (; statement; statement = statement->next) {
        if (statement->kind == STATEMENT_INPUT) {
            const char *input = program->names[statement->targets[0].name];
            if (strlen(input) == length && strncmp(input, name, length) == 0)
                return true;
        }
        if (is_input(program, statement->body, name, length) ||
            is_input(program, statement->otherwise, name, length))
            return true;
    }
    return false;
}

/* "n, r, A", cut to fit. */
static void list_inputs(const struct flow_program *program, const struct statement *statement, char *text,
                        size_t size)
{
    for (; statement; statement = statement->next) {
        size_t length = strlen(text);
        if (statement->kind == STATEMENT_INPUT)
            snprintf(text + length, size - length, "%s%s", length ? ", " : "",
                     program->names[statement->targets[0].name]);
        list_inputs(program, statement->body, text, size);
        list_inputs(program, statement->otherwise, text, size);
    }
}

static enum esp_status fail_unknown(const struct flow_program *program, const char *word,
                                    struct esp_error *error)
{
    char known[300] = "";
    for (unsigned i = 0; i < flow_program_n_parameters(program); i++) {
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s", length ? ", " : "",
                 flow_program_parameter(program, i));
    }
    list_inputs(program, program->statements, known, sizeof known);
    return error_set(error, ESP_INVALID, "the flow '%s' has no parameter and no input '%.*s': it has %s",
                     program->name, (int)strcspn(word, "=["), word, *known ? known : "none");
}

enum esp_status flow_settings_take(struct flow_program *program, const char *const *words, size_t n,
                                   struct inputs *inputs, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < n && status == ESP_OK; i++) {
        size_t length = strcspn(words[i], "=[");
        if (is_parameter(program, words[i], length))
            status = flow_program_set(program, words[i], error);
        else if (is_input(program, program->statements, words[i], length))
            status = inputs_add(inputs, words[i], error);
        else
            status = fail_unknown(program, words[i], error);
    }
    return status;
}
