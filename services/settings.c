/* SPDX-License-Identifier: Apache-2.0 */
#include "services/settings.h"
#include "core/problem/problem.h"
#include "core/choice/scheduler.h"
#include "core/choice/terms.h"
#include "services/hostfile.h"
#include "services/node_name.h"
#include "services/scheduler_library.h"
#include "services/settings_tables.h"
#include "util/certificates.h"
#include "util/listen_at.h"
#include "util/own_problems.h"
#include "util/process_limits.h"
#include "util/search_path.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const kind_names[SETTINGS_N_KINDS] = {
    [SETTINGS_CLIENT] = "client", [SETTINGS_REDIRECTOR] = "redirector", [SETTINGS_AGENT] = "agent",
    [SETTINGS_SED] = "sed",       [SETTINGS_PLATFORM] = "platform",
};

const char *settings_kind_name(enum settings_kind kind)
{
    return kind_names[kind];
}

const char *settings_kind_title(enum settings_kind kind)
{
    return settings_schemas[kind].title;
}

const struct config_schema *settings_schema(enum settings_kind kind)
{
    return &settings_schemas[kind];
}

/* ---- rules that the tables cannot express: between keys, and defaults that depend on the machine ---- */

bool settings_is_loopback(const char *address)
{
    char host[256];
    uint16_t port;
    return config_read_address(address, SETTINGS_PORT, host, sizeof host, &port, NULL) == ESP_OK &&
           (strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 || strcmp(host, "localhost") == 0);
}

static bool is_any(const char *host)
{
    return !*host || strcmp(host, "*") == 0 || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

/* Gets the name under which other nodes know the node, if the file publishes one, or it listens at all
 * addresses. False: they know an address, or a name that the daemon listens at. */
static bool told_name(const struct settings_node *node, char *host, size_t size)
{
    uint16_t port;
    struct in6_addr address;
    if (config_read_address(node->publish ? node->publish : node->listen, SETTINGS_PORT, host, size, &port,
                            NULL) != ESP_OK ||
        (!node->publish && !is_any(host)))
        return false;
    if (!node->publish && gethostname(host, size - 1) != 0)
        return false;
    return *host && inet_pton(AF_INET, host, &address) != 1 && inet_pton(AF_INET6, host, &address) != 1;
}

/* Whether other nodes cannot reach the node by its published name. */
static bool is_told_in_vain(const struct settings_node *node, char why[SETTINGS_WHY])
{
    char host[256] = "", text[LISTEN_TEXT], means[LISTEN_TEXT + 60];
    struct listen_at at;
    struct esp_error error;
    if (settings_is_loopback(node->publish ? node->publish : node->listen) ||
        !told_name(node, host, sizeof host))
        return false;
    if (listen_at_find(host, 0, &at, &error) != ESP_OK)
        snprintf(means, sizeof means, "which cannot be resolved here");
    else if (listen_at_is_loopback(&at))
        snprintf(means, sizeof means, "which means %s here (see /etc/hosts)",
                 listen_at_text(&at.items[0], text));
    else if (!node->publish && !listen_at_is_here(&at))
        snprintf(means, sizeof means, "which means %s, no address of this machine",
                 listen_at_text(&at.items[0], text));
    else
        return false;
    snprintf(why, SETTINGS_WHY,
             "others may not reach it: its published name is \"%.60s\", %s; give that name an address of the "
             "network, or publish an address or another name: publish = \"HOST\"",
             host, means);
    return true;
}

bool settings_is_shut_in(const struct settings_node *node, char why[SETTINGS_WHY])
{
    const char *listen = node->listen;
    char host[256], text[LISTEN_TEXT];
    uint16_t port;
    struct listen_at at;
    struct esp_error error;
    *why = 0;
    if (is_told_in_vain(node, why))
        return true;
    if (settings_is_loopback(listen) ||
        config_read_address(listen, SETTINGS_PORT, host, sizeof host, &port, &error) != ESP_OK ||
        listen_at_find(host, port, &at, &error) != ESP_OK || !listen_at_is_loopback(&at))
        return false;
    snprintf(why, SETTINGS_WHY,
             "listen = \"%.80s\" is reached from this machine only: \"%.60s\" means %s here (see "
             "/etc/hosts); give "
             "the name an address of the network, or write that address, or \"*:%u\" for all addresses",
             listen, host, listen_at_text(&at.items[0], text), port);
    return true;
}

/* Checks the host's spelling first, so that a misspelt one is not reported as a missing certificate. */
static enum esp_status check_host(const char *listen, struct esp_error *error)
{
    char host[256];
    uint16_t port;
    struct addrinfo *found = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    enum esp_status status = config_read_address(listen, SETTINGS_PORT, host, sizeof host, &port, error);
    if (status != ESP_OK || !*host || strcmp(host, "*") == 0)
        return status;
    int failure = getaddrinfo(host, NULL, &hints, &found);
    if (failure != 0)
        return error_set(error, ESP_CONFIG,
                         "listen = \"%s\": expected an address of this host, found \"%s\", which cannot be "
                         "resolved: %s",
                         listen, host, gai_strerror(failure));
    freeaddrinfo(found);
    return ESP_OK;
}

static enum esp_status check_tls(const struct settings_tls *tls, struct esp_error *error)
{
    int n = !!tls->ca + !!tls->certificate + !!tls->key;
    if (n == 0 || n == 3)
        return ESP_OK;
    return error_set(error, ESP_CONFIG,
                     "expected all of tls_ca, tls_certificate and tls_key, or none of them, found %d", n);
}

static enum esp_status check_node(const struct settings_node *node, struct esp_error *error)
{
    enum esp_status status = node_name_check(node->name, error);
    if (status == ESP_OK)
        status = check_tls(&node->tls, error);
    if (status != ESP_OK)
        return status;
    if (node->lease_ns < 2 * node->heartbeat_ns)
        return error_set(error, ESP_CONFIG,
                         "expected a lease of at least two heartbeats, or one late message ends it");
    if (node->http && !settings_is_loopback(node->http))
        return error_set(error, ESP_CONFIG,
                         "http = \"%s\": expected an address of loopback like \"127.0.0.1:" SETTINGS_HTTP_PORT
                         "\", as these pages are for this machine only",
                         node->http);
    const char *own = strrchr(node->listen, ':'), *told = node->publish ? strrchr(node->publish, ':') : NULL;
    if (told && strcmp(told, ":0") != 0 && own && strcmp(own, ":0") == 0)
        return error_set(error, ESP_CONFIG,
                         "publish = \"%s\" has a port: expected one in listen, too, found \"%s\"",
                         node->publish, node->listen);
    if (!node->tls.ca && !node->insecure && !settings_is_loopback(node->listen) &&
        check_host(node->listen, error) != ESP_OK)
        return ESP_CONFIG;
    if (!node->tls.ca && !node->insecure && !settings_is_loopback(node->listen))
        return error_set(error, ESP_CONFIG,
                         "listen = \"%s\" is beyond loopback: expected tls_ca, tls_certificate and tls_key, "
                         "or insecure = yes, found neither",
                         node->listen);
    return ESP_OK;
}

static enum esp_status finish_node(struct settings_node *node, enum settings_kind kind, struct arena *arena,
                                   struct esp_error *error)
{
    if (!node->name)
        node->name = node_name_default(kind_names[kind], node->listen, node->state_dir, arena);
    if (!node->name)
        return error_no_memory(error, "a name");
    return check_node(node, error);
}

enum esp_status settings_finish_redirector(void *settings, struct arena *arena, struct esp_error *error)
{
    struct settings_redirector *redirector = settings;
    return finish_node(&redirector->node, SETTINGS_REDIRECTOR, arena, error);
}

/* Checks the scheduler's name; core/ has the list of them. */
static enum esp_status check_scheduler(const char *name, struct esp_error *error)
{
    char known[200] = "";
    size_t n, used = 0;
    const struct esp_scheduler *table = scheduler_table(&n);
    if (*name && (scheduler_find(name) || strchr(name, '/')))
        return ESP_OK; /* a path is a library, which the agent itself loads */
    for (size_t i = 0; i < n && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                 i == 0      ? ""
                                 : i + 1 < n ? ", "
                                             : " or ",
                                 table[i].name);
    return error_set(error, ESP_CONFIG,
                     "scheduler: expected %s, or the path of a library (with a /), found \"%s\"", known,
                     name);
}

enum esp_status settings_finish_agent(void *settings, struct arena *arena, struct esp_error *error)
{
    struct settings_agent *agent = settings;
    if (agent->parent && agent->redirector)
        return error_set(error, ESP_CONFIG,
                         "expected parent (a leader agent) or redirector (a master agent), found both");
    if (agent->redirectors.n > 0 && !agent->redirector)
        return error_set(error, ESP_CONFIG,
                         "expected the key \"redirector\" beside \"redirectors\", found none");
    if (agent->parents.n > 0 && !agent->parent)
        return error_set(error, ESP_CONFIG, "expected the key \"parent\" beside \"parents\", found none");
    enum esp_status status = check_scheduler(agent->scheduler, error);
    if (status == ESP_OK)
        status = settings_finish_directory(&agent->directory, error);
    return status == ESP_OK ? finish_node(&agent->node, SETTINGS_AGENT, arena, error) : status;
}

static int64_t n_processors(void)
{
    struct process_limits limits;
    process_limits_read(NULL, &limits);
    return process_limits_processors(&limits);
}

static enum esp_status check_properties(const struct config_strings *properties, struct esp_error *error)
{
    if (properties->n > CAP_PROPERTIES)
        return error_set(error, ESP_CONFIG, "properties: expected at most %d words, found %zu",
                         CAP_PROPERTIES, properties->n);
    for (size_t i = 0; i < properties->n; i++) {
        const char *fault = property_fault(properties->items[i]);
        if (fault)
            return error_set(error, ESP_CONFIG, "properties: expected words without blanks, found \"%s\": %s",
                             properties->items[i], fault);
    }
    return ESP_OK;
}

/* "2x4" */
static enum esp_status read_grid(struct settings_sed *sed, struct esp_error *error)
{
    char behind;
    if (!sed->grid)
        return ESP_OK;
    if (sscanf(sed->grid, "%5ux%5u%c", &sed->grid_rows, &sed->grid_cols, &behind) != 2 ||
        sed->grid_rows == 0 || sed->grid_cols == 0)
        return error_set(error, ESP_CONFIG,
                         "grid: expected rows and columns of ranks, such as \"2x4\", found \"%.40s\"",
                         sed->grid);
    if ((int64_t)sed->grid_rows * sed->grid_cols > sed->ranks)
        return error_set(error, ESP_CONFIG,
                         "grid = \"%.40s\" needs %" PRId64
                         " ranks: expected at most as many as ranks = %" PRId64,
                         sed->grid, (int64_t)sed->grid_rows * sed->grid_cols, sed->ranks);
    return ESP_OK;
}

enum esp_status settings_finish_server(struct settings_sed *sed, struct arena *arena, struct esp_error *error)
{
    if (check_properties(&sed->properties, error) != ESP_OK)
        return error->status;
    if (read_grid(sed, error) != ESP_OK || settings_finish_directory(&sed->directory, error) != ESP_OK)
        return ESP_CONFIG;
    if (sed->hostfile && sed->ranks == 0)
        return error_set(error, ESP_CONFIG,
                         "hostfile says where ranks are: expected the key \"ranks\" beside it, found none");
    return finish_node(&sed->node, SETTINGS_SED, arena, error);
}

static enum esp_status finish_sed(void *settings, struct arena *arena, struct esp_error *error)
{
    struct settings_sed *sed = settings;
    if (!sed->parent && !sed->directory.url)
        return error_set(error, ESP_CONFIG,
                         "expected the key \"parent\" (address of the parent agent), found none");
    if (sed->problems.n == 0) {
        sed->problems.items = arena_alloc(arena, sizeof *sed->problems.items);
        if (!sed->problems.items || !(sed->problems.items[0] = arena_strdup(arena, own_problems())))
            return error_no_memory(error, "a list of problems");
        sed->problems.n = 1;
    }
    /* Only here, because `espalier up` also reads files for servers with other limits, or on other
     * machines. */
    if (sed->slots == 0)
        sed->slots = n_processors() > sed->threads ? n_processors() / sed->threads : 1;
    return settings_finish_server(sed, arena, error);
}

static enum esp_status finish_client(void *settings, struct arena *arena, struct esp_error *error)
{
    struct settings_client *client = settings;
    (void)arena;
    if (!client->redirector == (client->agents.n == 0))
        return error_set(error, ESP_CONFIG, "expected the key \"redirector\" or the key \"agents\", found %s",
                         client->redirector ? "both" : "neither");
    if (client->redirectors.n > 0 && !client->redirector)
        return error_set(error, ESP_CONFIG,
                         "expected the key \"redirector\" beside \"redirectors\", found none");
    return check_tls(&client->tls, error);
}

/* ---- reading ---- */

static enum esp_status (*const finish[SETTINGS_N_KINDS])(void *, struct arena *, struct esp_error *) = {
    [SETTINGS_CLIENT] = finish_client,
    [SETTINGS_REDIRECTOR] = settings_finish_redirector,
    [SETTINGS_AGENT] = settings_finish_agent,
    [SETTINGS_SED] = finish_sed,
    [SETTINGS_PLATFORM] = settings_finish_platform,
};

static enum esp_status keep_file(enum settings_kind kind, const char *path, void *settings,
                                 struct arena *arena, struct esp_error *error)
{
    struct settings_node *node = kind == SETTINGS_SED     ? &((struct settings_sed *)settings)->node
                                 : kind == SETTINGS_AGENT ? &((struct settings_agent *)settings)->node
                                                          : NULL;
    if (node && !(node->file = arena_strdup(arena, path)))
        return error_no_memory(error, "the name of a file");
    return ESP_OK;
}

/* `text` NULL: reads the file. */
static enum esp_status load(enum settings_kind kind, const char *text, const char *path, void *settings,
                            struct esp_error *error)
{
    const struct config_schema *schema = &settings_schemas[kind];
    struct arena arena = {0};
    enum esp_status status = text ? config_parse(schema, text, path, settings, &arena, error)
                                  : config_load(schema, path, settings, &arena, error);
    if (status == ESP_OK && (status = finish[kind](settings, &arena, error)) != ESP_OK)
        error_prefix(error, "%s", path);
    if (status == ESP_OK && !text)
        status = keep_file(kind, path, settings, &arena, error);
    if (status != ESP_OK) {
        arena_clear(&arena);
        memset(settings, 0, schema->size);
    } else {
        memcpy(settings, &arena, sizeof arena); /* the arena is the first member of each kind */
    }
    return status;
}

enum esp_status settings_load_client(const char *path, struct settings_client *settings,
                                     struct esp_error *error)
{
    return load(SETTINGS_CLIENT, NULL, path, settings, error);
}

enum esp_status settings_load_redirector(const char *path, struct settings_redirector *settings,
                                         struct esp_error *error)
{
    return load(SETTINGS_REDIRECTOR, NULL, path, settings, error);
}

enum esp_status settings_load_agent(const char *path, struct settings_agent *settings,
                                    struct esp_error *error)
{
    return load(SETTINGS_AGENT, NULL, path, settings, error);
}

enum esp_status settings_load_sed(const char *path, struct settings_sed *settings, struct esp_error *error)
{
    return load(SETTINGS_SED, NULL, path, settings, error);
}

enum esp_status settings_load_platform(const char *path, struct settings_platform *settings,
                                       struct esp_error *error)
{
    return load(SETTINGS_PLATFORM, NULL, path, settings, error);
}

enum esp_status settings_load(enum settings_kind kind, const char *path, union settings_any *settings,
                              struct esp_error *error)
{
    return load(kind, NULL, path, settings, error);
}

enum esp_status settings_parse(enum settings_kind kind, const char *text, const char *path, void *settings,
                               struct esp_error *error)
{
    return load(kind, text, path, settings, error);
}

void settings_destroy(struct arena *arena)
{
    struct arena copy = *arena; /* its blocks may contain the arena itself */
    arena_clear(&copy);
    *arena = copy;
}

/* ---- files named in a file ---- */

enum esp_status settings_check_certificates(const struct settings_tls *tls, struct esp_error *error)
{
    return tls->ca ? certificates_check(tls->ca, tls->certificate, tls->key, error) : ESP_OK;
}

enum esp_status settings_load_problems(const struct settings_sed *settings, const struct config_strings *own,
                                       struct problem_set **problems, struct esp_error *error)
{
    const char *const *paths = (const char *const *)own->items;
    return settings->directory.url ? problem_load_even_none(paths, own->n, problems, error)
                                   : problem_load_all(paths, own->n, problems, error);
}

/* Espalier's own problems exist once it is installed, and are not checked. */
static enum esp_status check_problems(const struct settings_sed *sed, struct esp_error *error)
{
    const struct config_strings *problems = &sed->problems;
    struct problem_set *set = NULL;
    if (problems->n == 1 && strcmp(problems->items[0], own_problems()) == 0 &&
        access(own_problems(), F_OK) != 0)
        return ESP_OK;
    enum esp_status status = settings_load_problems(sed, problems, &set, error);
    problem_set_destroy(set);
    return status;
}

#define SHOWN_PATH 240

/* Looks it up as a server started from here would. */
static enum esp_status check_bare_mpirun(const char *mpirun, struct esp_error *error)
{
    char path[4096];
    if (search_path_find(mpirun, path, sizeof path))
        return ESP_OK;
    return error_set(
        error, ESP_CONFIG,
        "mpirun: expected a program, found none that is called '%.60s' and can be executed in PATH "
        "(%.*s%s): install OpenMPI (openmpi-bin), or name it with its folder",
        mpirun, SHOWN_PATH, search_path(), strlen(search_path()) > SHOWN_PATH ? "..." : "");
}

static enum esp_status check_mpirun(const char *mpirun, struct esp_error *error)
{
    struct stat is;
    if (!strchr(mpirun, '/'))
        return check_bare_mpirun(mpirun, error);
    if (stat(mpirun, &is) != 0)
        return error_set(error, ESP_CONFIG, "mpirun: expected a program, found none at %s: %s", mpirun,
                         strerror(errno));
    if (!S_ISREG(is.st_mode) || access(mpirun, X_OK) != 0)
        return error_set(error, ESP_CONFIG, "mpirun: expected a program, but %s cannot be executed", mpirun);
    return ESP_OK;
}

static enum esp_status check_server_files(const struct settings_sed *sed, struct esp_error *error)
{
    enum esp_status status = settings_check_certificates(&sed->node.tls, error);
    if (status == ESP_OK && sed->ranks > 0)
        status = check_mpirun(sed->mpirun ? sed->mpirun : "mpirun", error);
    if (status == ESP_OK)
        status = settings_check_directory(&sed->directory, error);
    if (status == ESP_OK && sed->hostfile)
        status = hostfile_check(sed->hostfile, sed->ranks, error);
    return status == ESP_OK ? check_problems(sed, error) : status;
}

static enum esp_status check_agent_files(const struct settings_agent *agent, struct esp_error *error)
{
    enum esp_status status = settings_check_certificates(&agent->node.tls, error);
    if (status == ESP_OK)
        status = settings_check_directory(&agent->directory, error);
    return status == ESP_OK ? scheduler_library_check(agent->scheduler, error) : status;
}

/* Libraries of agents on other machines are not checked. */
static enum esp_status check_platform_agent(const struct settings_agent *agent, struct esp_error *error)
{
    return settings_is_here(agent->node.host) ? check_agent_files(agent, error)
                                              : settings_check_certificates(&agent->node.tls, error);
}

static enum esp_status check_platform_files(const struct settings_platform *platform, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; status == ESP_OK && i < platform->n_redirectors; i++)
        status = settings_check_certificates(&platform->redirectors[i].node.tls, error);
    for (size_t i = 0; status == ESP_OK && i < platform->n_masters; i++)
        status = check_platform_agent(&platform->masters[i].agent, error);
    for (size_t i = 0; status == ESP_OK && i < platform->n_leaders; i++)
        status = check_platform_agent(&platform->leaders[i].agent, error);
    for (size_t i = 0; status == ESP_OK && i < platform->n_servers; i++)
        if (settings_is_here(
                platform->servers[i].sed.node.host)) /* otherwise its files are on another machine */
            status = check_server_files(&platform->servers[i].sed, error);
    return status;
}

enum esp_status settings_check(enum settings_kind kind, const char *path, struct esp_error *error)
{
    union settings_any settings;
    enum esp_status status = load(kind, NULL, path, &settings, error);
    if (status != ESP_OK)
        return status;
    switch (kind) {
    case SETTINGS_CLIENT:
        status = settings_check_certificates(&settings.client.tls, error);
        break;
    case SETTINGS_REDIRECTOR:
        status = settings_check_certificates(&settings.redirector.node.tls, error);
        break;
    case SETTINGS_AGENT:
        status = check_agent_files(&settings.agent, error);
        break;
    case SETTINGS_SED:
        status = check_server_files(&settings.sed, error);
        break;
    case SETTINGS_PLATFORM:
        status = check_platform_files(&settings.platform, error);
        break;
    default:
        break;
    }
    if (status != ESP_OK)
        error_prefix(error, "%s", path);
    settings_destroy(&settings.arena);
    return status;
}

/* Whether the host of one of the addresses cannot be resolved here. */
static bool is_unknown_host(const char *key, char *const *addresses, size_t n, char remark[SETTINGS_WHY])
{
    char host[256];
    uint16_t port;
    struct listen_at at;
    struct esp_error error;
    for (size_t i = 0; i < n; i++) {
        if (!addresses[i] ||
            config_read_address(addresses[i], SETTINGS_PORT, host, sizeof host, &port, NULL) != ESP_OK ||
            listen_at_find(host, 0, &at, &error) == ESP_OK)
            continue;
        snprintf(remark, SETTINGS_WHY, "%s names \"%.200s\", and %.300s here", key, addresses[i], error.text);
        return true;
    }
    return false;
}

static bool remark_hosts(enum settings_kind kind, const union settings_any *settings,
                         char remark[SETTINGS_WHY])
{
    const struct settings_client *client = &settings->client;
    const struct settings_agent *agent = &settings->agent;
    const struct settings_sed *sed = &settings->sed;
    if (kind == SETTINGS_CLIENT)
        return is_unknown_host("redirector", &client->redirector, 1, remark) ||
               is_unknown_host("agents", client->agents.items, client->agents.n, remark);
    if (kind == SETTINGS_AGENT)
        return is_unknown_host("parent", &agent->parent, 1, remark) ||
               is_unknown_host("parents", agent->parents.items, agent->parents.n, remark) ||
               is_unknown_host("redirector", &agent->redirector, 1, remark) ||
               is_unknown_host("redirectors", agent->redirectors.items, agent->redirectors.n, remark);
    if (kind == SETTINGS_SED)
        return is_unknown_host("parent", &sed->parent, 1, remark) ||
               is_unknown_host("parents", sed->parents.items, sed->parents.n, remark);
    return false;
}

void settings_remark(enum settings_kind kind, const char *path, char remark[SETTINGS_WHY])
{
    union settings_any settings;
    struct esp_error error;
    const struct settings_node *node = NULL;
    *remark = 0;
    if (load(kind, NULL, path, &settings, &error) != ESP_OK)
        return;
    if (kind == SETTINGS_REDIRECTOR)
        node = &settings.redirector.node;
    else if (kind == SETTINGS_AGENT)
        node = &settings.agent.node;
    else if (kind == SETTINGS_SED)
        node = &settings.sed.node;
    if (!node || (!settings_is_shut_in(node, remark) && !is_unknown_host("listen", &node->listen, 1, remark)))
        remark_hosts(kind, &settings, remark);
    settings_destroy(&settings.arena);
}

/* ---- kind of a file ---- */

/* Finds it as a separate word: "based.conf" is not a server's file. */
static bool name_has_word(const char *path, const char *word)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const size_t length = strlen(word);
    for (const char *at = strstr(base, word); at; at = strstr(at + 1, word))
        if ((at == base || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[length]))
            return true;
    return false;
}

/* Finds the kind (of bits 1 << kind) named by a word in the file name; false: none. */
static bool named_kind(const char *path, unsigned kinds, enum settings_kind *kind)
{
    for (int i = 0; i < SETTINGS_N_KINDS; i++)
        if ((kinds >> i & 1) && name_has_word(path, kind_names[i])) {
            *kind = (enum settings_kind)i;
            return true;
        }
    const bool is_agent =
        (kinds >> SETTINGS_AGENT & 1) && (name_has_word(path, "master") || name_has_word(path, "leader"));
    if (is_agent)
        *kind = SETTINGS_AGENT;
    return is_agent;
}

/* Returns the kinds that have the fewest unknown keys in this file. */
static enum esp_status fitting_kinds(const char *path, unsigned *kinds, struct esp_error *error)
{
    size_t known, unknown, least = SIZE_MAX;
    for (int i = 0; i < SETTINGS_N_KINDS; i++) {
        enum esp_status status = config_count(&settings_schemas[i], path, &known, &unknown, error);
        if (status != ESP_OK)
            return status;
        if (unknown < least)
            *kinds = 0;
        if (unknown <= least) {
            *kinds |= 1U << i;
            least = unknown;
        }
    }
    return ESP_OK;
}

static void name_kinds(unsigned kinds, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < SETTINGS_N_KINDS && used < size; i++)
        if (kinds >> i & 1)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " and " : "",
                                     settings_schemas[i].title);
}

enum esp_status settings_guess_kind(const char *path, enum settings_kind *kind, char by[SETTINGS_BY],
                                    struct esp_error *error)
{
    unsigned kinds = 0;
    enum settings_kind named;
    char text[SETTINGS_BY - 60] = "";
    enum esp_status status = fitting_kinds(path, &kinds, error);
    if (status != ESP_OK)
        return status;
    *kind = SETTINGS_CLIENT;
    while (!(kinds >> *kind & 1))
        ++*kind;
    /* Keys that all daemons share suggest an agent, which is more frequent. */
    if (*kind == SETTINGS_REDIRECTOR && kinds >> SETTINGS_AGENT & 1)
        *kind = SETTINGS_AGENT;
    if (named_kind(path, kinds, kind))
        strcpy(by, "by its name");
    else if (kinds & (kinds - 1)) {
        name_kinds(kinds, text, sizeof text);
        snprintf(by, SETTINGS_BY, "guessed: its keys fit files of kind %s alike", text);
    } else if (named_kind(path, ~0U, &named)) {
        snprintf(by, SETTINGS_BY, "by its keys, though its name is that of a %s file",
                 settings_kind_title(named));
    } else {
        strcpy(by, "guessed from its keys");
    }
    return ESP_OK;
}

void settings_client_path(char *path, size_t size)
{
    const char *named = secure_getenv("ESPALIER_CONFIG"), *folder = secure_getenv("XDG_CONFIG_HOME");
    const char *home = secure_getenv("HOME");
    if (named && *named) {
        snprintf(path, size, "%s", named);
        return;
    }
    *path = 0;
    if (folder && *folder)
        snprintf(path, size, "%s/espalier/client.conf", folder);
    else if (home && *home)
        snprintf(path, size, "%s/.config/espalier/client.conf", home);
    if (!*path || access(path, F_OK) != 0)
        snprintf(path, size, "%s/client.conf", ESP_SYSCONFDIR);
}

/* ---- writing ---- */

enum esp_status settings_save(enum settings_kind kind, const void *settings, const char *heading,
                              const char *path, struct esp_error *error)
{
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid()) >= sizeof temporary)
        return error_set(error, ESP_INVALID, "the path \"%.100s...\" is too long", path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file) {
        error_errno(error, "cannot write \"%s\"", temporary);
        if (fd >= 0)
            close(fd);
        return ESP_SYSTEM;
    }
    config_write(&settings_schemas[kind], settings, heading, file);
    bool good = !ferror(file);
    if (fclose(file) == 0 && good && rename(temporary, path) == 0)
        return ESP_OK;
    error_errno(error, "cannot write \"%s\"", path);
    unlink(temporary);
    return ESP_SYSTEM;
}
