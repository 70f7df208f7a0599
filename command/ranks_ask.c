/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/ranks_ask.h"
#include "espalier.h"

#include <stdlib.h>
#include <string.h>

static enum esp_status ask_at(const char *server, const char *address, struct parallel_profile *profile,
                              struct esp_error *error)
{
    char *text = NULL;
    enum esp_status status = esp_administer(address, server, "ranks", NULL, 0, NULL, &text);
    if (status != ESP_OK)
        *error = *esp_last_error();
    else if (!*text)
        status = error_set(error, ESP_NOT_FOUND, "server %s has no ranks", server);
    else
        status = parallel_profile_read(text, strlen(text), profile, error);
    free(text);
    if (status == ESP_OK && !(profile->speed.latency_s > 0 && profile->speed.byte_s > 0))
        status =
            error_set(error, ESP_NOT_FOUND, "the ranks of server %s have not measured messages yet", server);
    return status;
}

unsigned ranks_ask_number(const char *server)
{
    struct parallel_profile profile = {0};
    struct esp_error error;
    /* Ranks that have not measured messages yet are there all the same. */
    ranks_ask(server, NULL, &profile, &error);
    return profile.ranks;
}

enum esp_status ranks_ask(const char *server, const char *address, struct parallel_profile *profile,
                          struct esp_error *error)
{
    struct esp_node *nodes;
    size_t n;
    if (address)
        return ask_at(server, address, profile, error);
    enum esp_status status = esp_tree(NULL, &nodes, &n);
    if (status != ESP_OK) {
        *error = *esp_last_error();
        return status;
    }
    status = error_set(error, ESP_NOT_FOUND, "the platform has no server \"%s\"", server);
    for (size_t i = 0; i < n; i++)
        if (nodes[i].role == ESP_ROLE_SERVER && strcmp(nodes[i].name, server) == 0)
            status = ask_at(server, nodes[i].address, profile, error);
    esp_tree_free(nodes);
    return status;
}
