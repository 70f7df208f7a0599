/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of a job that another process has submitted: scalars and extents are known, the inputs
 * themselves are not.
 */
#include "config.h"

#include "client/command/values.h"
#include "client/signature.h"
#include "client/values_storage.h"

#include <string.h>

/* The arrays that say where the elements of a compressed matrix stand may be inputs. */
static enum esp_status check_readable(const struct values *values, size_t index, struct esp_error *error)
{
    const struct value_slot *slot = &values->slots[index];
    if (values_argument(values, index)->storage < STORAGE_CSC || (values->some_saved && !slot->path))
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "%s: a compressed matrix (%s) cannot be read without the inputs of the call: 'espalier "
                     "call' can",
                     values->problem->arguments[index].name, values->problem->arguments[index].storage);
}

static enum esp_status take_scalar(struct values *values, size_t index, const void *data,
                                   struct esp_error *error)
{
    enum esp_status status = value_memory(values, index, 16, error);
    if (status == ESP_OK)
        memcpy(values->slots[index].memory, data, esp_type_size(values->problem->arguments[index].type));
    return status;
}

enum esp_status values_of_job(struct values *values, const struct esp_job *job, struct esp_error *error)
{
    const struct esp_problem *problem = values->problem;
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < problem->n_arguments && status == ESP_OK; i++) {
        const struct esp_argument *known = &job->arguments[i];
        values->arguments[i].n_dims = known->n_dims;
        memcpy(values->arguments[i].dims, known->dims, sizeof known->dims);
        if (known->data)
            status = take_scalar(values, i, known->data, error);
    }
    for (size_t i = 0; i < problem->n_arguments && status == ESP_OK; i++) {
        if (!argument_out(&problem->arguments[i]) || job->arguments[i].data)
            continue;
        status = check_readable(values, i, error);
        if (status == ESP_OK)
            status = values_prepare_output(values, i, error);
    }
    return status;
}
