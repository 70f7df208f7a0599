/* SPDX-License-Identifier: Apache-2.0 */
#include "client/arguments/function.h"
#include "core/hierarchy/catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum esp_status function_create(const char *name, const struct describe_reply *described,
                                struct function **result, struct esp_error *error)
{
    struct function *function = calloc(1, sizeof *function);
    if (!function)
        return error_no_memory(error, "a function");
    enum esp_status status =
        problem_parse(described->text, strlen(described->text), name, &function->set, error);
    if (status == ESP_OK && !(function->problem = problem_find(function->set, name))) {
        problem_set_destroy(function->set);
        status = error_set(error, ESP_PROTOCOL, "asked for the description of \"%s\", got another's", name);
    } else if (status != ESP_OK) {
        error_prefix(error, "description received of \"%s\"", name);
    }
    if (status != ESP_OK) {
        free(function);
        return status;
    }
    const char *signatures = strstr(described->text, "\n" DESCRIBE_SIGNATURES);
    if (signatures) {
        signatures += 1 + strlen(DESCRIBE_SIGNATURES);
        function->signatures = strndup(signatures, strcspn(signatures, "\n")); /* or none */
    }
    function->digest = described->digest;
    function->servers = described->servers;
    atomic_init(&function->users, 1);
    *result = function;
    return ESP_OK;
}

struct function *function_use(struct function *function)
{
    atomic_fetch_add_explicit(&function->users, 1, memory_order_relaxed);
    return function;
}

void function_release(struct function *function)
{
    if (!function || atomic_fetch_sub_explicit(&function->users, 1, memory_order_acq_rel) != 1)
        return;
    problem_set_destroy(function->set);
    free(function->signatures);
    free(function);
}

enum esp_status function_tell_signatures(const struct function *function, struct esp_error *error)
{
    const size_t length = strlen(error->text);
    if (error->status == ESP_INVALID && function->signatures)
        snprintf(error->text + length, sizeof error->text - length, " (%s has several signatures: %s)",
                 function->problem->name, function->signatures);
    return error->status;
}
