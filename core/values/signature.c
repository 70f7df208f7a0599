/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/values/signature.h"
#include "core/problem/problem.h"

#include <string.h>

_Static_assert((int)ESP_TYPE_CHAR == (int)TYPE_CHAR + 1 && (int)ESP_TYPE_CALLBACK == (int)TYPE_CALLBACK + 1,
               "types are numbered alike");

const char *esp_type_name(enum esp_type type)
{
    if (type == ESP_TYPE_ANY || type > ESP_TYPE_CALLBACK)
        return "any";
    return base_type_name((enum base_type)(type - 1));
}

size_t esp_type_size(enum esp_type type)
{
    if (type == ESP_TYPE_ANY || type >= ESP_TYPE_STRING)
        return 0;
    return base_type_size((enum base_type)(type - 1));
}

const char *mode_name(enum esp_mode mode)
{
    return mode == ESP_MODE_IN ? "in" : mode == ESP_MODE_OUT ? "out" : "inout";
}

bool argument_in(const struct esp_problem_argument *argument)
{
    return argument->mode != ESP_MODE_OUT;
}

bool argument_out(const struct esp_problem_argument *argument)
{
    return argument->mode != ESP_MODE_IN;
}

const char *signature_shape(const struct esp_problem_argument *argument, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", argument->name);
    if (argument->section && *argument->section) {
        snprintf(text + used, used < size ? size - used : 0, "%s", argument->section);
        return text;
    }
    for (unsigned i = 0; i < argument->n_dims && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s%s", i ? ", " : "[", argument->dims[i],
                                 i + 1 == argument->n_dims ? "]" : "");
    if (argument->callback && used < size)
        snprintf(text + used, size - used, "%s", argument->callback);
    return text;
}

void signature_print(const struct esp_problem *problem, FILE *stream)
{
    fprintf(stream, "%s(", problem->name);
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *argument = &problem->arguments[i];
        char shape[256];
        fprintf(stream, "%s%s %s %s", i ? ", " : "", mode_name(argument->mode), esp_type_name(argument->type),
                signature_shape(argument, shape, sizeof shape));
        if (argument->initial)
            fprintf(stream, " = %s", argument->initial);
    }
    fputs(")\n", stream);
}

int signature_find(const struct esp_problem *problem, const char *name)
{
    for (size_t i = 0; i < problem->n_arguments; i++)
        if (strcmp(problem->arguments[i].name, name) == 0)
            return (int)i;
    return -1;
}
