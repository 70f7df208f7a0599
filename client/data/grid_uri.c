/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/grid_uri.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *scheme;
    bool has_host; /* "scheme://HOST/rest" is known too */
} schemes[] = {[GRID_MEMORY] = {"memory:", true},
               [GRID_FILE] = {"file:", true},
               [GRID_SERVER] = {"server:", false},
               [GRID_DATUM] = {"data:", false}};

static bool is_here(const char *host, size_t length)
{
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    return length == 0 || (length == 9 && strncmp(host, "localhost", 9) == 0) ||
           (length == strlen(own) && strncmp(host, own, length) == 0);
}

/* What stands behind the host; NULL: it is another host. */
static const char *behind_host(const char *rest, enum grid_place place)
{
    if (strncmp(rest, "//", 2) != 0)
        return rest;
    const char *slash = strchr(rest + 2, '/');
    if (!slash || !is_here(rest + 2, (size_t)(slash - rest - 2)))
        return NULL;
    return place == GRID_MEMORY ? slash + 1 : slash;
}

enum esp_status grid_uri_read(const char *text, enum grid_place *place, char **rest, struct esp_error *error)
{
    for (unsigned i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t length = strlen(schemes[i].scheme);
        if (strncmp(text, schemes[i].scheme, length) != 0)
            continue;
        const char *found =
            schemes[i].has_host ? behind_host(text + length, (enum grid_place)i) : text + length;
        if (!found)
            return error_set(error, ESP_INVALID,
                             "expected a place on this host, found \"%.200s\", which names another one",
                             text);
        if (!*found && i != GRID_SERVER)
            return error_set(error, ESP_INVALID, "expected a name behind the colon, found \"%.200s\"", text);
        *place = (enum grid_place)i;
        *rest = strdup(found);
        return *rest ? ESP_OK : error_no_memory(error, "a URI");
    }
    return error_set(error, ESP_INVALID,
                     "expected memory:KEY, file:PATH, server:NAME or data:IDENTITY, found \"%.200s\"", text);
}

static enum esp_status check_role(const struct grid_uri *uri, const char *text, bool is_output,
                                  struct esp_error *error)
{
    struct datum_id id;
    if (uri->place == (is_output ? GRID_DATUM : GRID_SERVER))
        return error_set(error, ESP_INVALID, "\"%.200s\" can be %s only", text,
                         is_output ? "an input" : "an output");
    return uri->place == GRID_DATUM ? datum_id_parse(uri->rest, &id, error) : ESP_OK;
}

enum esp_status grid_uris_read(struct grid_uris *uris, const char **list, const grpc_data_mode_t *modes,
                               bool outputs, struct esp_error *error)
{
    *uris = (struct grid_uris){0};
    size_t n = 0;
    grpc_data_mode_t mode = GRPC_VOLATILE;
    enum esp_status status = ESP_OK;
    while (list && list[n] && n < GRID_MOST_URIS)
        n++;
    if (list && list[n])
        return error_set(error, ESP_LIMIT, "expected at most %d URIs, found more", GRID_MOST_URIS);
    if (n == 0)
        return ESP_OK;
    uris->items = calloc(n, sizeof *uris->items);
    if (!uris->items)
        return error_no_memory(error, "a list of URIs");
    for (size_t i = 0; status == ESP_OK && i < n; i++) {
        struct grid_uri *uri = &uris->items[i];
        status = grid_uri_read(list[i], &uri->place, &uri->rest, error);
        if (status != ESP_OK)
            break;
        uris->n++;
        status = check_role(uri, list[i], outputs, error);
        if (modes && *modes != GRPC_END_LIST)
            mode = *modes++;
        uri->mode = mode;
        if (status == ESP_OK)
            status = grid_mode_check(mode, error);
    }
    return status;
}

void grid_uris_clear(struct grid_uris *uris)
{
    for (size_t i = 0; i < uris->n; i++)
        free(uris->items[i].rest);
    free(uris->items);
    *uris = (struct grid_uris){0};
}

char *grid_uris_text(const struct grid_uris *uris)
{
    size_t size = 1;
    for (size_t i = 0; i < uris->n; i++)
        size += strlen(uris->items[i].rest) + 16;
    char *text = calloc(1, size), *at = text;
    for (size_t i = 0; text && i < uris->n; i++)
        at += sprintf(at, "%s%s%s", i ? " " : "", schemes[uris->items[i].place].scheme, uris->items[i].rest);
    return text;
}

static const char *const names[] = {"GRPC_VOLATILE", "GRPC_STRICTLY_VOLATILE", "GRPC_STICKY",
                                    "GRPC_UNIQUE_STICKY", "GRPC_PERSISTENT"};

const char *grid_mode_name(grpc_data_mode_t mode)
{
    return mode >= 0 && (size_t)mode < sizeof names / sizeof *names ? names[mode] : "unknown";
}

enum esp_status grid_mode_check(grpc_data_mode_t mode, struct esp_error *error)
{
    if (mode >= 0 && (size_t)mode < sizeof names / sizeof *names)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "expected a mode from GRPC_VOLATILE to GRPC_PERSISTENT, found %d",
                     (int)mode);
}

bool grid_mode_stays(grpc_data_mode_t mode)
{
    return mode == GRPC_STICKY || mode == GRPC_UNIQUE_STICKY || mode == GRPC_PERSISTENT;
}
