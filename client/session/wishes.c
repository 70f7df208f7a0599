/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/wishes.h"

#include "core/choice/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum esp_status check(const struct esp_call_options *options, struct esp_error *error)
{
    if (options->server && strlen(options->server) > CAP_NAME)
        return error_set(error, ESP_INVALID, "server: expected a name of at most %d bytes, found %zu",
                         CAP_NAME, strlen(options->server));
    if (!(options->finish_s >= 0) || isinf(options->finish_s))
        return error_set(error, ESP_INVALID, "finish_s: expected seconds >= 0 (0: whenever), found %g",
                         options->finish_s);
    if (options->n_properties > CAP_PROPERTIES)
        return error_set(error, ESP_INVALID, "properties: expected at most %d words, found %zu",
                         CAP_PROPERTIES, options->n_properties);
    if (options->n_properties && !options->properties)
        return error_set(error, ESP_INVALID, "properties: expected %zu words, found NULL",
                         options->n_properties);
    for (size_t i = 0; i < options->n_properties; i++) {
        const char *word = options->properties[i];
        const char *fault = word ? property_fault(word) : "it is NULL";
        if (fault)
            return error_set(error, ESP_INVALID,
                             "properties: expected words without blanks, found \"%s\": %s", word ? word : "",
                             fault);
    }
    return ESP_OK;
}

/* Copies the words into one block, behind the pointers to them. */
static char **copy_words(const char *const *words, size_t n)
{
    size_t bytes = n * sizeof(char *);
    for (size_t i = 0; i < n; i++)
        bytes += strlen(words[i]) + 1;
    char **copies = malloc(bytes);
    char *at = (char *)(copies + n);
    for (size_t i = 0; copies && i < n; i++) {
        copies[i] = at;
        at = stpcpy(at, words[i]) + 1;
    }
    return copies;
}

enum esp_status wishes_take(struct wishes *wishes, const struct esp_call_options *options,
                            struct esp_error *error)
{
    *wishes = (struct wishes){0};
    if (!options)
        return ESP_OK;
    if (check(options, error) != ESP_OK)
        return error->status;
    wishes->finish_s = options->finish_s;
    wishes->memory_bytes = options->memory_bytes;
    bool whole = true;
    if (options->server && *options->server)
        whole = (wishes->server = strdup(options->server)) != NULL;
    if (whole && options->n_properties) {
        wishes->properties = copy_words(options->properties, options->n_properties);
        wishes->n_properties = options->n_properties;
        whole = wishes->properties != NULL;
    }
    if (whole)
        return ESP_OK;
    wishes_release(wishes);
    return error_no_memory(error, "the constraints of a call");
}

bool wishes_any(const struct wishes *wishes)
{
    return wishes->server || wishes->n_properties || wishes->finish_s > 0 || wishes->memory_bytes;
}

enum esp_status wishes_tell(const struct wishes *wishes, double passed_s, struct message *submit,
                            struct esp_error *error)
{
    struct request *request = &submit->submit.request;
    struct arena *arena = &submit->arena;
    const double left_s = wishes->finish_s - passed_s;
    bool whole = true;
    if (wishes->finish_s > 0 && left_s <= 0)
        return error_set(error, ESP_TIMEOUT,
                         "the results were wanted within %.4g s, and no server had the call by then",
                         wishes->finish_s);
    if (wishes->server && *request->server && strcmp(wishes->server, request->server) != 0)
        return error_set(error, ESP_INVALID,
                         "server: \"%s\" is wanted, but what is passed cannot leave \"%s\" (a state, or a "
                         "unique datum)",
                         wishes->server, request->server);
    if (wishes->server)
        request->server = wishes->server;
    if (wishes->n_properties)
        whole = terms_add_texts(&request->extensions, EXTENSION_WANTED,
                                (const char *const *)wishes->properties, wishes->n_properties, arena);
    if (whole && wishes->finish_s > 0)
        whole = terms_add_real(&request->extensions, EXTENSION_FINISH, left_s, arena);
    if (whole && wishes->memory_bytes)
        whole = terms_add_integer(&request->extensions, EXTENSION_MOST_MEMORY, wishes->memory_bytes, arena);
    return whole ? ESP_OK : error_no_memory(error, "a request");
}

void wishes_release(struct wishes *wishes)
{
    free(wishes->server);
    free(wishes->properties);
    *wishes = (struct wishes){0};
}
