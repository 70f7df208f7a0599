/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of strings in the results of a call: shown, as JSON, and as lines of a file.
 */
#include "config.h"

#include "client/command/texts_out.h"

#include <stdio.h>
#include <string.h>

static const char *text_at(const struct value_slot *slot, uint64_t i)
{
    const char *text = ((char **)slot->memory)[i];
    return text ? text : "";
}

void values_print_texts(const struct values *values, size_t index)
{
    const struct value_slot *slot = &values->slots[index];
    printf("%s (%llu):\n", values->problem->arguments[index].name, (unsigned long long)slot->n_texts);
    for (uint64_t i = 0; i < slot->n_texts; i++)
        printf("  %s\n", text_at(slot, i));
}

json_t *values_json_texts(const struct values *values, size_t index)
{
    const struct value_slot *slot = &values->slots[index];
    json_t *list = json_array();
    for (uint64_t i = 0; i < slot->n_texts; i++)
        json_array_append_new(list, json_string(text_at(slot, i)));
    return list;
}

enum esp_status values_write_texts(const struct values *values, size_t index, struct esp_error *error)
{
    const struct value_slot *slot = &values->slots[index];
    FILE *stream = strcmp(slot->path, "-") == 0 ? stdout : fopen(slot->path, "we");
    if (!stream)
        return error_errno(error, "cannot write %s", slot->path);
    bool good = true;
    for (uint64_t i = 0; i < slot->n_texts; i++)
        good = fprintf(stream, "%s\n", text_at(slot, i)) >= 0 && good;
    good = fflush(stream) == 0 && good;
    if (stream != stdout)
        good = fclose(stream) == 0 && good;
    return good ? ESP_OK : error_errno(error, "cannot write %s", slot->path);
}
