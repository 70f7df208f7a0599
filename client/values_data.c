/* SPDX-License-Identifier: Apache-2.0
 *
 * Data in place of values: A=data:ID takes one, -o X=data: leaves one.
 */
#include "client/signature.h"
#include "client/values_storage.h"

#include "core/datum.h"

#include <stdlib.h>
#include <string.h>

bool values_is_data(const char *word)
{
    return strncmp(word, VALUES_DATA, strlen(VALUES_DATA)) == 0;
}

static enum esp_status check_formal(const struct esp_problem_argument *formal, struct esp_error *error)
{
    if (formal->n_dims > 0 && esp_type_size(formal->type) > 0)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "%s: only arrays of numbers and characters can be data, found %s",
                     formal->name, esp_type_name(formal->type));
}

enum esp_status values_take_datum(struct values *values, size_t index, const char *word,
                                  struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    struct esp_argument *argument = &values->arguments[index];
    struct value_slot *slot = &values->slots[index];
    struct esp_data_info *infos;
    size_t n;
    enum esp_status status = check_formal(formal, error);
    if (status != ESP_OK)
        return status;
    if (esp_data_look(word + strlen(VALUES_DATA), &infos, &n) != ESP_OK) {
        *error = *esp_last_error();
        return error_prefix(error, "%s", formal->name);
    }
    slot->datum = strdup(infos[0].id);
    argument->datum = slot->datum;
    argument->type = infos[0].type;
    argument->n_dims = infos[0].n_dims;
    memcpy(argument->dims, infos[0].dims, sizeof argument->dims);
    /* A vector is a matrix of one column, and the other way round. */
    while (argument->n_dims > formal->n_dims && argument->dims[argument->n_dims - 1] == 1)
        argument->n_dims--;
    while (argument->n_dims > 0 && argument->n_dims < formal->n_dims)
        argument->dims[argument->n_dims++] = 1;
    esp_data_free(infos);
    return slot->datum ? ESP_OK : error_no_memory(error, "the identity of a datum");
}

enum esp_status values_keep(struct values *values, size_t index, const char *word, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    struct value_slot *slot = &values->slots[index];
    const char *name = word + strlen(VALUES_DATA);
    enum datum_mode mode = DATUM_VOLATILE;
    enum esp_status status = check_formal(formal, error);
    if (status == ESP_OK && *name)
        status = datum_mode_parse(name, &mode, error);
    if (status != ESP_OK)
        return error_prefix(error, "-o %s", formal->name);
    slot->is_kept = values->some_saved = true;
    values->arguments[index].kept = &slot->kept;
    values->arguments[index].kept_mode = (enum esp_data_mode)mode;
    return ESP_OK;
}

enum esp_status values_prepare_datum(struct values *values, size_t index, struct esp_error *error)
{
    uint64_t count;
    bool wanted = argument_out(&values->problem->arguments[index]) && !values->slots[index].is_kept;
    enum esp_status status = wanted ? values_count(values, index, &count, error) : ESP_OK;
    if (wanted && status == ESP_OK)
        status =
            value_memory(values, index, count * esp_type_size(values->problem->arguments[index].type), error);
    return status;
}
