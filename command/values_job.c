/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of a job that another process has submitted: scalars and extents are known, the inputs
 * themselves are not.
 */
#include "config.h"

#include "command/values.h"
#include "core/values/signature.h"
#include "core/values/values_storage.h"

#include <stdlib.h>
#include <string.h>

/* Whether that argument comes back, or was given again. */
static bool is_known(const struct values *values, const struct argument *argument)
{
    int index = signature_find(values->problem, argument->name);
    return index >= 0 && (values->slots[index].memory || argument_out(&values->problem->arguments[index]));
}

/* The arrays that say where the elements of a compressed matrix stand may be inputs. */
static enum esp_status check_readable(const struct values *values, size_t index, struct esp_error *error)
{
    const struct argument *argument = values_argument(values, index);
    const struct argument *arguments = values->described->problems[0]->arguments;
    const char *name = values->problem->arguments[index].name;
    if (argument->storage < STORAGE_CSC || (values->some_saved && !values->slots[index].path) ||
        (is_known(values, &arguments[argument->pointers]) && is_known(values, &arguments[argument->indices])))
        return ESP_OK;
    return error_set(
        error, ESP_INVALID,
        "%s: where the elements of this matrix (%s) stand is known by who gave it: give it again "
        "with --input %s=@FILE",
        name, values->problem->arguments[index].storage, name);
}

/* The compressed matrix again, for the places of its elements; its results come into other memory. */
static enum esp_status keep_places(struct values *values, size_t index, const struct esp_argument *known,
                                   struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    const struct esp_argument *given = &values->arguments[index];
    if (!values->slots[index].given || values_argument(values, index)->storage < STORAGE_CSC)
        return ESP_OK;
    if (given->dims[0] != known->dims[0] || given->dims[1] != known->dims[1])
        return error_set(error, ESP_INVALID,
                         "--input %s: expected %lld x %lld, as the job had it, found %lld x %lld",
                         formal->name, (long long)known->dims[0], (long long)known->dims[1],
                         (long long)given->dims[0], (long long)given->dims[1]);
    free(values->slots[index].memory);
    values->slots[index].memory = values->arguments[index].data = NULL;
    return ESP_OK;
}

static enum esp_status take_extents(struct values *values, size_t index, const struct esp_argument *known,
                                    struct esp_error *error)
{
    struct esp_argument *argument = &values->arguments[index];
    bool again = values->slots[index].memory != NULL;
    enum esp_status status = keep_places(values, index, known, error);
    if (status == ESP_OK && again && argument->n_dims == 1 && known->n_dims == 1 &&
        argument->dims[0] != known->dims[0])
        status = error_set(error, ESP_INVALID, "--input: %s has %lld elements, in the job it had %lld",
                           values->problem->arguments[index].name, (long long)argument->dims[0],
                           (long long)known->dims[0]);
    argument->n_dims = known->n_dims;
    memcpy(argument->dims, known->dims, sizeof known->dims);
    if (!argument_out(&values->problem->arguments[index]))
        argument->data = NULL; /* nothing comes to it */
    return status;
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
        status = take_extents(values, i, known, error);
        if (status == ESP_OK && known->data)
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
