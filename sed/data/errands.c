/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/data/errands.h"

#include <stdlib.h>

static bool submit(struct errands *errands, struct thread_job *job)
{
    return thread_pool_submit(errands->helpers, job);
}

enum esp_status errands_create(unsigned threads, struct errands **result, struct esp_error *error)
{
    struct errands *errands = calloc(1, sizeof *errands);
    if (!errands)
        return error_no_memory(error, "threads for data");
    enum esp_status status = thread_pool_create(threads, &errands->helpers, error);
    if (status != ESP_OK) {
        free(errands);
        return status;
    }
    errands->submit = submit;
    *result = errands;
    return ESP_OK;
}

void errands_destroy(struct errands *errands)
{
    if (!errands)
        return;
    thread_pool_destroy(errands->helpers);
    free(errands);
}
