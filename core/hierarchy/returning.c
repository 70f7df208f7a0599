/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/returning.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct returning_server {
    struct returning_server *next;
    int64_t until_ns;
    char *name;
    size_t n;
    uint64_t problems[];
};

static void drop(struct returning *returning, struct returning_server *server)
{
    LL_DELETE(returning->first, server);
    returning->n--;
    free(server->name);
    free(server);
}

static struct returning_server *find(const struct returning *returning, const char *name)
{
    struct returning_server *server;
    LL_FOREACH(returning->first, server)
    {
        if (strcmp(server->name, name) == 0)
            return server;
    }
    return NULL;
}

void returning_forget(struct returning *returning, const char *name)
{
    struct returning_server *server = find(returning, name);
    if (server)
        drop(returning, server);
}

void returning_note(struct returning *returning, const char *name, const uint64_t *problems, size_t n,
                    int64_t now_ns)
{
    returning_forget(returning, name);
    if (returning->n == RETURNING_MOST)
        drop(returning, returning->first);
    struct returning_server *server = calloc(1, sizeof *server + n * sizeof *problems);
    if (!server || !(server->name = strdup(name))) {
        free(server);
        return;
    }
    server->until_ns = now_ns + RETURNING_NS;
    server->n = n;
    if (n > 0)
        memcpy(server->problems, problems, n * sizeof *problems);
    LL_APPEND(returning->first, server);
    returning->n++;
}

bool returning_has(const struct returning *returning, const char *name, int64_t now_ns)
{
    const struct returning_server *server = find(returning, name);
    return server && now_ns < server->until_ns;
}

const char *returning_solver(const struct returning *returning, uint64_t problem, int64_t now_ns)
{
    const struct returning_server *server;
    LL_FOREACH(returning->first, server)
    {
        for (size_t i = 0; i < server->n && now_ns < server->until_ns; i++)
            if (server->problems[i] == problem)
                return server->name;
    }
    return NULL;
}

void returning_release(struct returning *returning)
{
    while (returning->first)
        drop(returning, returning->first);
}
