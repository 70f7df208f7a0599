/* SPDX-License-Identifier: Apache-2.0 */
#include "command/way_in.h"

#include <stdio.h>
#include <stdlib.h>

static void write_list(FILE *stream, const char *key, const char *const *addresses, size_t n)
{
    fprintf(stream, "%s = {", key);
    for (size_t i = 0; i < n; i++)
        fprintf(stream, "%s\"%s\"", i ? ", " : "", addresses[i]);
    fputs("}\n", stream);
}

/* The keys that say where the platform is, to be freed; NULL without memory. */
static char *text_of(const struct way_in *way)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return NULL;
    if (way->n_redirectors > 0)
        fprintf(stream, "redirector = \"%s\"\n", way->redirectors[0]);
    if (way->n_redirectors > 1)
        write_list(stream, "redirectors", way->redirectors + 1, way->n_redirectors - 1);
    if (way->n_redirectors == 0)
        write_list(stream, "agents", way->agents, way->n_agents);
    return fclose(stream) == 0 ? text : NULL;
}

enum esp_status way_in_write(const struct platform_state *state, const struct way_in *way, char *path,
                             size_t size, struct esp_error *error)
{
    struct settings_client client;
    char file[PLATFORM_PATH + 32];
    char *text = text_of(way);
    if (!text)
        return error_no_memory(error, "the client's file");
    snprintf(file, sizeof file, "%s/client.conf", state->dir);
    enum esp_status status = settings_parse(SETTINGS_CLIENT, text, file, &client, error);
    free(text);
    if (status != ESP_OK)
        return status;
    client.tls = way->tls;
    status = settings_save(SETTINGS_CLIENT, &client, "Written by 'espalier': how to reach this platform.",
                           file, error);
    settings_destroy(&client.arena);
    if (path)
        snprintf(path, size, "%s", file);
    return status;
}
