/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "flow/servers.h"

#include <stdlib.h>
#include <string.h>

struct flow_handle {
    grpc_function_handle_t handle;
    enum { HANDLE_NEW, HANDLE_MADE, HANDLE_NO_PROBLEM } state;
};

static uint64_t handle_index(const struct flow_servers *servers, uint32_t server, uint32_t operation)
{
    uint64_t row = server == SERVERS_NONE ? servers->n : server;
    return row * servers->program->n_operations + operation;
}

static struct flow_handle *make_handle(struct flow_servers *servers, uint32_t server, uint32_t operation,
                                       struct esp_error *error)
{
    struct flow_handle *handle = &servers->handles[handle_index(servers, server, operation)];
    char *problem = (char *)servers->program->operations[operation]->name;
    if (handle->state != HANDLE_NEW)
        return handle;
    grpc_error_t code =
        server == SERVERS_NONE
            ? grpc_function_handle_default(&handle->handle, problem)
            : grpc_function_handle_init(&handle->handle, servers->servers[server].address, problem);
    if (code == GRPC_NO_ERROR) {
        handle->state = HANDLE_MADE;
    } else if (code == GRPC_FUNCTION_NOT_FOUND && server != SERVERS_NONE) {
        handle->state = HANDLE_NO_PROBLEM;
    } else {
        *error = *esp_last_error();
        return NULL;
    }
    return handle;
}

grpc_function_handle_t *flow_servers_handle(struct flow_servers *servers, uint32_t server, uint32_t operation,
                                            bool *bound, struct esp_error *error)
{
    struct flow_handle *handle = make_handle(servers, server, operation, error);
    *bound = handle && server != SERVERS_NONE && handle->state == HANDLE_MADE;
    if (handle && handle->state == HANDLE_NO_PROBLEM)
        handle = make_handle(servers, SERVERS_NONE, operation, error);
    return handle ? &handle->handle : NULL;
}

static bool is_problem(const struct flow_servers *servers, uint32_t operation)
{
    return servers->program->operations[operation]->problem != NULL;
}

static void look_for_problems(struct flow_servers *servers, uint32_t server)
{
    struct esp_error unread;
    for (uint32_t o = 0; o < servers->program->n_operations; o++) {
        struct flow_handle *handle = is_problem(servers, o) ? make_handle(servers, server, o, &unread) : NULL;
        servers->servers[server].n_problems += handle && handle->state == HANDLE_MADE;
    }
}

static int compare_speeds(const void *a, const void *b)
{
    const struct flow_server *x = a, *y = b;
    return x->speed != y->speed ? (x->speed < y->speed ? 1 : -1) : strcmp(x->name, y->name);
}

/* Behind all that have handles by their places: those with most problems first, in their order. */
static void choose_nodes(struct flow_servers *servers)
{
    unsigned most = 0;
    uint32_t n = 0, chosen = 0;
    for (uint32_t i = 0; i < servers->n; i++)
        most = servers->servers[i].n_problems > most ? servers->servers[i].n_problems : most;
    for (unsigned wanted = most; wanted > 0; wanted--)
        for (uint32_t i = 0; i < servers->n; i++)
            n += servers->servers[i].n_problems == wanted;
    if (servers->n_nodes == 0)
        servers->n_nodes = n;
    for (unsigned wanted = most; wanted > 0 && chosen < servers->n_nodes; wanted--)
        for (uint32_t i = 0; i < servers->n && chosen < servers->n_nodes; i++)
            if (servers->servers[i].n_problems == wanted)
                servers->nodes[chosen++] = i;
    for (uint32_t i = chosen; chosen > 0 && i < servers->n_nodes; i++)
        servers->nodes[i] = servers->nodes[i - chosen];
}

static bool is_there(const struct esp_node *node)
{
    return node->role == ESP_ROLE_SERVER && !node->unreachable && !node->draining && node->expected_s == 0;
}

static double speed_of(const struct esp_node *node)
{
    double share = node->cpu_forecast > 0 ? node->cpu_forecast : node->cpu_available;
    double busy = node->slots ? (double)(node->queued + node->running) / node->slots : 0;
    return node->speed_flops * (share > 0 ? share : 1) / (1 + busy);
}

static enum esp_status take(struct flow_servers *servers, const struct esp_node *nodes, size_t n,
                            struct esp_error *error)
{
    servers->servers = calloc(n + 1, sizeof *servers->servers);
    if (!servers->servers)
        return error_no_memory(error, "the servers of a flow");
    for (size_t i = 0; i < n; i++) {
        if (!is_there(&nodes[i]))
            continue;
        struct flow_server *server = &servers->servers[servers->n++];
        *server = (struct flow_server){.name = strdup(nodes[i].name),
                                       .address = strdup(nodes[i].address),
                                       .speed = speed_of(&nodes[i]),
                                       .memory_bytes = nodes[i].memory_total};
        if (!server->name || !server->address)
            return error_no_memory(error, "the servers of a flow");
    }
    qsort(servers->servers, servers->n, sizeof *servers->servers, compare_speeds);
    uint32_t most_nodes = servers->n_nodes > servers->n ? servers->n_nodes : servers->n;
    servers->nodes = calloc((size_t)most_nodes + 1, sizeof *servers->nodes);
    servers->handles =
        calloc(((size_t)servers->n + 1) * (servers->program->n_operations + 1), sizeof *servers->handles);
    return servers->nodes && servers->handles ? ESP_OK : error_no_memory(error, "the servers of a flow");
}

enum esp_status flow_servers_find(struct flow_servers *servers, const struct flow_program *program,
                                  uint32_t n_nodes, struct esp_error *error)
{
    struct esp_node *nodes;
    size_t n;
    *servers = (struct flow_servers){.program = program, .n_nodes = n_nodes};
    if (esp_tree(NULL, &nodes, &n) != ESP_OK) {
        *error = *esp_last_error();
        return error->status;
    }
    enum esp_status status = take(servers, nodes, n, error);
    esp_tree_free(nodes);
    for (uint32_t i = 0; i < servers->n && status == ESP_OK; i++)
        look_for_problems(servers, i);
    if (status == ESP_OK)
        choose_nodes(servers);
    if (status == ESP_OK &&
        (servers->n == 0 || servers->n_nodes == 0 || servers->servers[servers->nodes[0]].n_problems == 0))
        status = error_set(error, ESP_NO_SERVER, "none of %u servers has a problem of the flow '%s'",
                           servers->n, program->name);
    if (status != ESP_OK)
        flow_servers_clear(servers);
    return status;
}

void flow_servers_clear(struct flow_servers *servers)
{
    for (uint32_t i = 0; servers->handles && i <= servers->n; i++)
        for (uint32_t o = 0; o < servers->program->n_operations; o++) {
            struct flow_handle *handle = &servers->handles[(uint64_t)i * servers->program->n_operations + o];
            if (handle->state == HANDLE_MADE)
                grpc_function_handle_destruct(&handle->handle);
        }
    for (uint32_t i = 0; servers->servers && i < servers->n; i++) {
        free(servers->servers[i].name);
        free(servers->servers[i].address);
    }
    free(servers->servers);
    free(servers->nodes);
    free(servers->handles);
    *servers = (struct flow_servers){0};
}

uint32_t flow_servers_named(const struct flow_servers *servers, const char *name)
{
    for (uint32_t i = 0; i < servers->n; i++)
        if (strcmp(servers->servers[i].name, name) == 0)
            return i;
    return SERVERS_NONE;
}

enum esp_status flow_servers_lose(struct flow_servers *servers, uint32_t server, struct esp_error *error)
{
    uint32_t next = 0;
    servers->servers[server].is_lost = true;
    servers->servers[server].data_bytes = 0;
    for (uint32_t i = 0; i < servers->n_nodes; i++) {
        if (servers->nodes[i] != server)
            continue;
        uint32_t tried = 0;
        while (tried < servers->n &&
               (servers->servers[next].is_lost || servers->servers[next].n_problems == 0)) {
            next = (next + 1) % servers->n;
            tried++;
        }
        if (tried == servers->n)
            return error_set(error, ESP_NO_SERVER, "all servers of the flow are lost, the last one was %s",
                             servers->servers[server].name);
        servers->nodes[i] = next;
        next = (next + 1) % servers->n;
    }
    return ESP_OK;
}
