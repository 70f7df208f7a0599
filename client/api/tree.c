/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree as espalier.h shows it: redirectors, master agents and all nodes below them.
 */
#include "client/session/library.h"
#include "client/session/engine.h"
#include "client/session/session.h"
#include "core/hierarchy/absent.h"
#include "core/choice/terms.h"
#include "core/forecast/told_links.h"
#include "util/package.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(ESP_WEATHER_HISTORY == WEATHER_HISTORY, "histories are of one length");

/* Nodes in the order in which they arrive; the texts lie in the arena. */
struct forest {
    struct arena arena;
    struct esp_node *nodes;
    size_t n, capacity;
};

static void add_weather(struct esp_node *node, const struct extensions *extensions)
{
    struct weather weather;
    node->senses = extension_find(extensions, EXTENSION_SENSES) != NULL;
    if (!weather_get(extensions, &weather))
        return;
    node->senses = 1;
    node->cpu_available = weather.available;
    node->cpu_forecast = weather.forecast;
    node->cpu_error = weather.error;
    node->machine_memory_free = weather.memory_free < 1e18 ? (uint64_t)weather.memory_free : 0;
    node->machine_disk_free = weather.disk_free < 1e18 ? (uint64_t)weather.disk_free : 0;
    node->cpu_step_s = weather.step_ms / 1e3;
    node->n_cpu_history = weather.n;
    for (uint32_t i = 0; i < weather.n; i++)
        node->cpu_history[i] = weather.shares[i] / 250.0;
}

static double positive(const struct extensions *extensions, uint32_t tag)
{
    double value;
    return terms_get_real(extensions, tag, &value) && value > 0 && isfinite(value) ? value : 0;
}

static enum esp_status add_node(struct forest *forest, const struct node_record *from, const char *parent,
                                struct esp_error *error)
{
    if (forest->n == forest->capacity) {
        size_t capacity = forest->capacity ? 2 * forest->capacity : 64;
        void *grown = realloc(forest->nodes, capacity * sizeof *forest->nodes);
        if (!grown)
            return error_no_memory(error, "the tree");
        forest->nodes = grown;
        forest->capacity = capacity;
    }
    struct esp_node node = {.name = arena_strdup(&forest->arena, from->name),
                            .parent = arena_strdup(&forest->arena, parent),
                            .address = arena_strdup(&forest->arena, from->address),
                            .role = (enum esp_role)from->role,
                            .incarnation = from->incarnation,
                            .draining = from->draining,
                            .link_known = from->link.known,
                            .latency_s = from->link.latency_s,
                            .bandwidth_bps = from->link.bandwidth_bps,
                            .back_bps = terms_link(from).back_bps,
                            .age_s = from->age_s,
                            .unreachable = extension_find(&from->extensions, EXTENSION_UNREACHABLE) != NULL,
                            .speed_flops = from->speed_flops,
                            .slots = from->slots,
                            .threads = from->threads,
                            .queued = from->queued,
                            .running = from->running,
                            .memory_total = from->memory_total,
                            .memory_free = from->memory_free,
                            .completed = from->completed,
                            .failed = from->failed};
    node.loopback_only = extension_find(&from->extensions, EXTENSION_LOOPBACK_ONLY) != NULL;
    add_weather(&node, &from->extensions);
    uint64_t disabled, expected_ms;
    if (terms_get_integer(&from->extensions, EXTENSION_DISABLED, &disabled))
        node.disabled = (unsigned)disabled;
    if (node.unreachable && terms_get_integer(&from->extensions, EXTENSION_EXPECTED, &expected_ms))
        node.expected_s = (double)expected_ms / 1e3;
    node.host_bps = positive(&from->extensions, EXTENSION_HOST_RATE);
    node.host_latency_s = positive(&from->extensions, EXTENSION_HOST_LATENCY);
    const struct extension *left_out = extension_find(&from->extensions, EXTENSION_LEFT_OUT);
    if (left_out && left_out->length == sizeof node.left_out)
        memcpy(&node.left_out, left_out->value, sizeof node.left_out);
    if (!node.name || !node.parent || !node.address)
        return error_no_memory(error, "the tree");
    forest->nodes[forest->n++] = node;
    return ESP_OK;
}

/* Adds the nodes of a reply; its root gets `parent` unless it names one itself. */
static enum esp_status add_records(struct forest *forest, const struct tree_reply *tree, const char *parent,
                                   struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < tree->n_records; i++) {
        const struct node_record *record = &tree->records[i];
        const char *of = record->parent && *record->parent ? record->parent : i == 0 ? parent : "";
        status = add_node(forest, record, of, error);
    }
    return status;
}

static enum esp_status ask_tree(struct library *library, const char *address, struct message *reply,
                                struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_TREE, .tree = {.node = ""}};
    /* A large tree takes time, so a greeting first finds out whether the node is there. */
    char who[ROUTE_WHO];
    route_who(library->engine->route, address, who);
    enum esp_status status = route_greet(library->engine->route, who, address, NULL, NULL, error);
    if (status != ESP_OK)
        return status;
    status =
        deadline_call(library->transport, address, &request, library->engine->call_timeout_ms, reply, error);
    return status == ESP_OK ? status : error_prefix_at(error, who, address);
}

static enum esp_status add_tree(struct library *library, struct forest *forest, const char *address,
                                const char *parent, struct esp_error *error)
{
    struct message reply = {0};
    enum esp_status status = ask_tree(library, address, &reply, error);
    if (status == ESP_OK)
        status = add_records(forest, &reply.tree_reply, parent, error);
    message_clear(&reply);
    return status;
}

static bool has_children(const struct tree_reply *tree, const struct node_record *node)
{
    for (uint32_t i = 0; i < tree->n_records; i++)
        if (&tree->records[i] != node && strcmp(tree->records[i].parent, node->name) == 0)
            return true;
    return false;
}

/* The redirector lists its masters; these list the nodes below them. */
static enum esp_status add_redirector(struct library *library, struct forest *forest, const char *address,
                                      struct esp_error *error)
{
    struct message reply = {0};
    enum esp_status status = ask_tree(library, address, &reply, error);
    const struct tree_reply *tree = &reply.tree_reply;
    const char *root = status == ESP_OK && tree->n_records > 0 ? tree->records[0].name : "";
    for (uint32_t i = 0; status == ESP_OK && i < tree->n_records; i++) {
        const struct node_record *record = &tree->records[i];
        size_t before = forest->n;
        bool absent = extension_find(&record->extensions, EXTENSION_UNREACHABLE) != NULL;
        bool expand = !absent && record->role == ROLE_MASTER && !has_children(tree, record);
        if (expand && add_tree(library, forest, record->address, root, NULL) == ESP_OK && forest->n > before)
            continue;
        forest->n = before;
        status = add_node(forest, record, i > 0 && !*record->parent ? root : record->parent, error);
        if (status == ESP_OK)
            forest->nodes[before].unreachable = absent || expand;
    }
    message_clear(&reply);
    return status;
}

/* Adds the redirector alone: another one has already listed the masters. */
static enum esp_status add_only(struct library *library, struct forest *forest, const char *address,
                                struct esp_error *error)
{
    struct message reply = {0};
    enum esp_status status = ask_tree(library, address, &reply, error);
    if (status == ESP_OK && reply.tree_reply.n_records > 0)
        status = add_node(forest, &reply.tree_reply.records[0], "", error);
    message_clear(&reply);
    return status;
}

/* Without a redirector that answers: all known masters. */
static enum esp_status add_masters(struct library *library, struct forest *forest, struct esp_error *error)
{
    struct message reply = {0};
    enum esp_status status = route_locate(library->engine->route, &reply, error);
    bool any = false;
    for (uint32_t i = 0; status == ESP_OK && i < reply.locate_reply.n_masters; i++)
        any |= add_tree(library, forest, reply.locate_reply.masters[i].address, "", error) == ESP_OK;
    if (status == ESP_OK && !any)
        status = error->status;
    message_clear(&reply);
    return status;
}

static enum esp_status add_absent(struct forest *forest, const char *address, struct esp_error *error)
{
    const struct node_record absent = {.name = "(redirector)", .address = address, .role = ROLE_REDIRECTOR};
    enum esp_status status = add_node(forest, &absent, "", error);
    if (status == ESP_OK)
        forest->nodes[forest->n - 1].unreachable = 1;
    return status;
}

static bool is_not_there(enum esp_status status)
{
    return status == ESP_UNREACHABLE || status == ESP_TIMEOUT;
}

struct learned {
    struct forest *forest;
    enum esp_status status;
    struct esp_error *error;
};

static void take_learned(void *arg, const char *address, const struct message *reply,
                         const struct esp_error *why)
{
    struct learned *learned = arg;
    const struct node_record silent = {.name = "(master agent)", .address = address, .role = ROLE_MASTER};
    (void)why;
    if (learned->status != ESP_OK)
        return;
    if (reply) {
        learned->status = add_records(learned->forest, &reply->tree_reply, "", learned->error);
        return;
    }
    learned->status = add_node(learned->forest, &silent, "", learned->error);
    if (learned->status == ESP_OK)
        learned->forest->nodes[learned->forest->n - 1].unreachable = 1;
}

/* All redirectors are gone, but masters that were learned from them may be there. */
static enum esp_status add_learned(struct library *library, struct forest *forest, struct esp_error *error)
{
    const struct message request = {.kind = MESSAGE_TREE, .tree = {.node = ""}};
    struct learned learned = {.forest = forest, .error = error};
    const enum esp_status status = route_ask_all(
        library->engine->route, &request, library->engine->call_timeout_ms, take_learned, &learned, error);
    return status == ESP_OK ? learned.status : status;
}

/* Masters register with all redirectors, so the first one that answers lists them; of the others, only
 * their presence is shown. */
static enum esp_status add_redirectors(struct library *library, struct forest *forest,
                                       const char *const *redirectors, size_t n, struct esp_error *error)
{
    struct esp_error why, unread;
    bool seen = false;
    for (size_t i = 0; i < n; i++) {
        const size_t before = forest->n;
        enum esp_status status = seen ? add_only(library, forest, redirectors[i], &why)
                                      : add_redirector(library, forest, redirectors[i], &why);
        seen = seen || (status == ESP_OK && forest->n > before + 1);
        if (status != ESP_OK && i == 0)
            *error = why;
        if (status == ESP_OK)
            continue;
        forest->n = before;
        if (!is_not_there(status)) {
            *error = why;
            return status;
        }
        if ((status = add_absent(forest, redirectors[i], error)) != ESP_OK)
            return status;
    }
    bool any = false;
    for (size_t i = 0; i < forest->n; i++)
        any |= !forest->nodes[i].unreachable;
    if (any)
        return ESP_OK;
    if (route_has_masters(library->engine->route) && add_learned(library, forest, &unread) == ESP_OK)
        return ESP_OK;
    return error->status;
}

static enum esp_status grow(struct library *library, struct forest *forest, const char *address,
                            struct esp_error *error)
{
    size_t n;
    const char *const *redirectors = route_redirectors(library->engine->route, &n);
    if (address)
        return add_tree(library, forest, address, "", error);
    return n == 0 ? add_masters(library, forest, error)
                  : add_redirectors(library, forest, redirectors, n, error);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A node that is unreachable below one parent and present below another one is not lost: its former parent
 * has not learned of the move. Without memory it stays in the list. */
static void drop_moved(struct forest *forest)
{
    const char **living = malloc((forest->n + 1) * sizeof *living);
    size_t n_living = 0, kept = 0;
    for (size_t i = 0; living && i < forest->n; i++)
        if (!forest->nodes[i].unreachable)
            living[n_living++] = forest->nodes[i].name;
    if (living)
        qsort(living, n_living, sizeof *living, by_name);
    for (size_t i = 0; living && i < forest->n; i++) {
        const struct esp_node *node = &forest->nodes[i];
        if (!node->unreachable || !bsearch(&node->name, living, n_living, sizeof *living, by_name))
            forest->nodes[kept++] = *node;
    }
    if (living)
        forest->n = kept;
    free(living);
}

enum esp_status esp_tree(const char *address, struct esp_node **nodes, size_t *n)
{
    struct esp_error *error = library_error();
    if (!nodes || !n)
        return error_set(error, ESP_INVALID, "expected places for the tree, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct forest forest = {0};
    struct esp_node *package = NULL;
    enum esp_status status = grow(library, &forest, address, error);
    library_leave(status == ESP_OK);
    drop_moved(&forest);
    if (status == ESP_OK && !(package = package_create((forest.n + 1) * sizeof *package)))
        status = error_no_memory(error, "the tree");
    if (status == ESP_OK) {
        if (forest.n > 0)
            memcpy(package, forest.nodes, forest.n * sizeof *package);
        *package_arena(package) = forest.arena;
        *nodes = package;
        *n = forest.n;
    } else {
        arena_clear(&forest.arena);
    }
    free(forest.nodes);
    return status;
}

void esp_tree_free(struct esp_node *nodes)
{
    package_destroy(nodes);
}
