/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier up: the daemons of a platform on this machine.
 */
#include "config.h"

#include "command/verbs.h"
#include "command/elsewhere.h"
#include "command/machines.h"
#include "command/session.h"
#include "command/table.h"
#include "command/way_in.h"
#include "core/problem/problem.h"
#include "services/settings.h"
#include "util/clock.h"
#include "util/own_problems.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS      (20 * NS_PER_MS)
#define SPEED_NS     (1500 * NS_PER_MS) /* servers measure for 350 ms */
#define STOP_THERE_S 20.0               /* for other machines, when nothing comes of it */

/* A daemon of another machine, from when it is wanted until its level of the tree is waited for. */
struct remote {
    struct up *up;
    struct deploy_daemon daemon;
    struct launch *launch;
    struct esp_error error;
    enum esp_status status;
};

struct up {
    const struct command_line *command;
    struct deploy deploy;
    struct settings_platform platform;
    struct launch *launches;
    size_t n_launches, n_started;
    struct remote *remotes; /* that are to be started */
    struct machine_work *work;
    size_t n_remotes;
    const struct launch *dead;   /* whose log tells more */
    struct esp_error tree_error; /* why the tree could not be had */
    int64_t begun_ns, patience_ns;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    interrupted = number;
}

static enum esp_status load_platform(struct up *up, struct esp_error *error)
{
    const struct command_line *command = up->command;
    if (command->n_operands)
        return settings_load_platform(command->operands[0], &up->platform, error);
    return settings_parse(SETTINGS_PLATFORM, default_platform, "the default platform", &up->platform, error);
}

static bool same_paths(const struct config_strings *a, const struct config_strings *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = strcmp(a->items[i], b->items[i]) == 0;
    return same;
}

/* Reading the file has given the platform's or the installed descriptions to servers that name none. */
static bool names_no_problems(const struct up *up, const struct settings_sed *sed)
{
    const struct config_strings installed = {(char *[]){(char *)(uintptr_t)own_problems()}, 1};
    return same_paths(&sed->problems, &installed) || sed->problems.items == up->platform.problems.items;
}

static bool has_problem(const struct problem_set *set, const char *name)
{
    for (size_t i = 0; i < set->n_problems; i++)
        if (strcmp(set->problems[i]->name, name) == 0)
            return true;
    return false;
}

/* Whether one set of descriptions has all problems that the other one has. */
static bool has_all_of(const struct config_strings *paths, const struct config_strings *others)
{
    struct problem_set *set = NULL, *other = NULL;
    bool all = problem_load_all((const char *const *)paths->items, paths->n, &set, NULL) == ESP_OK &&
               problem_load_all((const char *const *)others->items, others->n, &other, NULL) == ESP_OK;
    for (size_t i = 0; all && i < other->n_problems; i++)
        all = has_problem(set, other->problems[i]->name);
    problem_set_destroy(set);
    problem_set_destroy(other);
    return all;
}

/* Puts the paths of --problems behind those that a server has, or the installed ones where it has none.
 * Descriptions that describe all of these again take their place; the installed ones need not be there. */
static enum esp_status join_problems(struct arena *arena, struct config_strings *had,
                                     const struct config_strings *paths, struct esp_error *error)
{
    struct config_strings installed = {(char *[]){(char *)(uintptr_t)own_problems()}, 1};
    const struct config_strings *base = had->n > 0 ? had : &installed;
    struct config_strings joined = {arena_alloc(arena, (base->n + paths->n) * sizeof *joined.items), 0};
    struct problem_set *set = NULL;
    if (!joined.items)
        return error_no_memory(error, "the platform");
    for (size_t i = 0; i < base->n; i++)
        if (strcmp(base->items[i], own_problems()) != 0 || access(own_problems(), F_OK) == 0)
            joined.items[joined.n++] = base->items[i];
    if (joined.n == 0 || has_all_of(paths, &joined)) {
        *had = *paths;
        return ESP_OK;
    }
    for (size_t i = 0; i < paths->n; i++)
        joined.items[joined.n++] = paths->items[i];
    enum esp_status status = problem_load_all((const char *const *)joined.items, joined.n, &set, error);
    problem_set_destroy(set);
    if (status != ESP_OK)
        return error_prefix(error, "--problems");
    *had = joined;
    return ESP_OK;
}

/* --problems, for servers that name none. */
static enum esp_status add_problems(struct up *up, struct esp_error *error)
{
    const struct command_line *command = up->command;
    struct arena *arena = &up->platform.arena;
    struct config_strings paths = {0};
    enum esp_status status = ESP_OK;
    paths.items = arena_alloc(arena, ((size_t)command->n_options + 1) * sizeof *paths.items);
    for (int i = 0; paths.items && i < command->n_options; i++) {
        if (strcmp(command->options[i].name, "problems") != 0)
            continue;
        char path[PATH_MAX];
        if (!realpath(command->options[i].value, path))
            return error_set(error, ESP_NOT_FOUND, "%s: %s", command->options[i].value, strerror(errno));
        paths.items[paths.n++] = arena_strdup(arena, path);
    }
    if (!paths.items)
        return error_no_memory(error, "the platform");
    struct config_strings joined = {0}; /* of the servers that name none, which all have the same */
    for (size_t i = 0; paths.n && i < up->platform.n_servers && status == ESP_OK; i++) {
        struct settings_sed *sed = &up->platform.servers[i].sed;
        if (!names_no_problems(up, sed))
            continue;
        if (joined.n == 0) {
            joined = sed->problems;
            status = join_problems(arena, &joined, &paths, error);
        }
        sed->problems = joined;
    }
    return status;
}

/* How many servers of this machine take the memory that is there, as their sections do not say how much. */
static unsigned servers_here(const struct up *up)
{
    unsigned n = 0;
    for (size_t i = 0; i < up->platform.n_servers; i++) {
        const struct settings_sed *sed = &up->platform.servers[i].sed;
        n += settings_is_here(sed->node.host) && sed->memory_bytes == 0;
    }
    return n;
}

static enum esp_status start(struct up *up, const char *role, enum settings_kind kind, void *settings,
                             struct settings_node *node, double cpu_quota, struct esp_error *error)
{
    struct launch *launch = &up->launches[up->n_started];
    struct deploy_daemon daemon = {.kind = kind,
                                   .role = role,
                                   .settings = settings,
                                   .node = node,
                                   .arena = &up->platform.arena,
                                   .cpu_quota = cpu_quota,
                                   .together = kind == SETTINGS_SED ? servers_here(up) : 0};
    if (!settings_is_here(node->host)) {
        launch->kind = role; /* the rest comes with its start */
        launch->name = node->name;
        up->n_started++;
        up->remotes[up->n_remotes++] = (struct remote){.up = up, .daemon = daemon, .launch = launch};
        return ESP_OK;
    }
    enum esp_status status = deploy_here(&up->deploy, &daemon, launch, error);
    if (launch->pid > 0 || *launch->address)
        up->n_started++;
    return status;
}

static void start_remote(void *arg)
{
    struct remote *remote = arg;
    remote->status = deploy_there(&remote->up->deploy, remote->daemon.node->host, &remote->daemon,
                                  DEPLOY_REMOTE_S, remote->launch, &remote->error);
}

/* Those that are wanted now, side by side. The first failure, of however many. */
static enum esp_status start_remotes(struct up *up, struct esp_error *error)
{
    struct machines machines;
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < up->n_remotes; i++)
        up->work[i] = (struct machine_work){
            .host = up->remotes[i].daemon.node->host, .run = start_remote, .arg = &up->remotes[i]};
    machines_begin(&machines, up->work, up->n_remotes);
    machines_end(&machines);
    for (size_t i = 0; i < up->n_remotes; i++) {
        const struct remote *remote = &up->remotes[i];
        if (remote->status == ESP_OK) {
            command_progress(up->command, "%-10s %-12s at %s on %s", remote->daemon.role,
                             remote->launch->name, remote->launch->address, remote->daemon.node->host);
        } else if (status == ESP_OK) {
            *error = remote->error;
            status = remote->status;
        }
    }
    up->n_remotes = 0;
    return status;
}

static int64_t waited_ns(const struct up *up)
{
    return clock_now_ns(&clock_system) - up->begun_ns;
}

/* Whether it makes sense to go on waiting for `what`. */
static enum esp_status still_waiting(struct up *up, const char *what, struct esp_error *error)
{
    for (size_t i = 0; i < up->n_started; i++)
        if (launch_died(&up->launches[i], error)) {
            up->dead = &up->launches[i];
            return ESP_SYSTEM;
        }
    if (interrupted)
        return error_set(error, ESP_CANCELLED, "interrupted");
    if (waited_ns(up) >= up->patience_ns)
        return error_set(error, ESP_TIMEOUT, "%s was not there within %.3g s%s%s", what,
                         (double)up->patience_ns / 1e9, *up->tree_error.text ? ": " : "",
                         up->tree_error.text);
    const struct timespec pause = {0, POLL_NS};
    nanosleep(&pause, NULL);
    return ESP_OK;
}

static enum esp_status wait_addresses(struct up *up, struct esp_error *error)
{
    const enum esp_status started = start_remotes(up, error);
    if (started != ESP_OK)
        return started;
    for (size_t i = 0; i < up->n_started; i++) {
        struct launch *launch = &up->launches[i];
        if (*launch->address)
            continue;
        while (!launch_ready(launch)) {
            char what[256];
            snprintf(what, sizeof what, "the address of %s", launch->name);
            enum esp_status status = still_waiting(up, what, error);
            if (status != ESP_OK) {
                up->dead = up->dead ? up->dead : launch;
                return status;
            }
        }
        char quota[128] = "";
        quota_text(&launch->quota, launch->cpu_quota, quota, sizeof quota);
        command_progress(up->command, "%-10s %-12s at %s%s%s", launch->kind, launch->name, launch->address,
                         *quota ? ", " : "", quota);
    }
    return ESP_OK;
}

static char *address_of(const struct up *up, const char *name)
{
    for (size_t i = 0; i < up->n_started; i++)
        if (strcmp(up->launches[i].name, name) == 0 && *up->launches[i].address)
            return (char *)up->launches[i].address;
    return NULL;
}

static enum esp_status start_redirectors(struct up *up, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < up->platform.n_redirectors && status == ESP_OK; i++)
        status = start(up, "redirector", SETTINGS_REDIRECTOR, &up->platform.redirectors[i],
                       &up->platform.redirectors[i].node, 0, error);
    return status == ESP_OK ? wait_addresses(up, error) : status;
}

static enum esp_status start_masters(struct up *up, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    const size_t n = up->platform.n_redirectors;
    struct config_strings redirectors = {arena_alloc(&up->platform.arena, (n + 1) * sizeof(char *)), 0};
    if (!redirectors.items)
        return error_no_memory(error, "the platform");
    for (size_t i = 1; i < n; i++)
        redirectors.items[redirectors.n++] = up->launches[i].address;
    for (size_t i = 0; i < up->platform.n_masters && status == ESP_OK; i++) {
        struct settings_agent *agent = &up->platform.masters[i].agent;
        if (n > 0) {
            agent->redirector = up->launches[0].address;
            agent->redirectors = redirectors;
        }
        status = start(up, "master", SETTINGS_AGENT, agent, &agent->node, 0, error);
    }
    return status == ESP_OK ? wait_addresses(up, error) : status;
}

/* Level by level: a leader's file needs its parent's address. */
static enum esp_status start_leaders(struct up *up, struct esp_error *error)
{
    size_t left = up->platform.n_leaders;
    while (left) {
        size_t before = left;
        for (size_t i = 0; i < up->platform.n_leaders; i++) {
            struct platform_agent *leader = &up->platform.leaders[i];
            if (leader->agent.parent || !(leader->agent.parent = address_of(up, leader->parent)))
                continue;
            enum esp_status status =
                start(up, "leader", SETTINGS_AGENT, &leader->agent, &leader->agent.node, 0, error);
            if (status != ESP_OK)
                return status;
            left--;
        }
        enum esp_status status = wait_addresses(up, error);
        if (status != ESP_OK)
            return status;
        if (left == before)
            return error_set(error, ESP_CONFIG, "the leaders' parents do not lead to a master");
    }
    return ESP_OK;
}

static enum esp_status start_servers(struct up *up, struct esp_error *error)
{
    for (size_t i = 0; i < up->platform.n_servers; i++) {
        struct platform_server *server = &up->platform.servers[i];
        server->sed.parent = address_of(up, server->parent);
        enum esp_status status =
            start(up, "server", SETTINGS_SED, &server->sed, &server->sed.node, server->cpu_quota, error);
        if (status != ESP_OK)
            return status;
    }
    return wait_addresses(up, error);
}

/* What `call` and programs read to find this platform. */
static enum esp_status write_client_file(struct up *up, char *path, size_t size, struct esp_error *error)
{
    const struct settings_platform *platform = &up->platform;
    const size_t n = platform->n_redirectors ? platform->n_redirectors : platform->n_masters;
    const char **addresses = arena_alloc(&up->platform.arena, n * sizeof *addresses);
    if (!addresses)
        return error_no_memory(error, "the client's file");
    for (size_t i = 0; i < n; i++)
        addresses[i] = up->launches[i].address;
    const struct way_in way = {.redirectors = addresses,
                               .n_redirectors = platform->n_redirectors,
                               .agents = addresses,
                               .n_agents = platform->n_redirectors ? 0 : n,
                               .tls = platform->n_redirectors ? platform->redirectors[0].node.tls
                                                              : platform->masters[0].agent.node.tls};
    return way_in_write(&up->deploy.state, &way, path, size, error);
}

static bool in_tree(const struct esp_node *nodes, size_t n, const struct launch *launch)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(nodes[i].name, launch->name) == 0)
            return strcmp(launch->kind, "server") != 0 || nodes[i].speed_flops > 0;
    return false;
}

/* The first daemon that the others do not know yet, or NULL. */
static const struct launch *first_missing(struct up *up)
{
    struct esp_node *nodes = NULL;
    size_t n = 0;
    const struct launch *missing = &up->launches[0];
    if (esp_tree(NULL, &nodes, &n) == ESP_OK) {
        up->tree_error.text[0] = 0;
        missing = NULL;
        for (size_t i = 0; i < up->n_started && !missing; i++)
            if (!in_tree(nodes, n, &up->launches[i]))
                missing = &up->launches[i];
    } else
        up->tree_error = *esp_last_error();
    esp_tree_free(nodes);
    return missing;
}

/* Servers that share their descriptions must all be known for them; any problem at all will do else. */
static bool problems_known(const struct up *up)
{
    struct esp_problem_entry *entries = NULL;
    size_t n = 0, most = 0;
    bool all_alike = true;
    for (size_t i = 0; i < up->platform.n_servers; i++)
        all_alike = all_alike &&
                    same_paths(&up->platform.servers[i].sed.problems, &up->platform.servers[0].sed.problems);
    if (esp_problem_list(&entries, &n) == ESP_OK)
        for (size_t i = 0; i < n; i++)
            most = entries[i].servers > most ? entries[i].servers : most;
    esp_problem_list_free(entries);
    return most >= (all_alike ? up->platform.n_servers : up->platform.n_servers > 0);
}

/* Servers say what they are sure of when they start, and measure then: how many still have to. `first` has
 * the speed that each daemon was first seen with, 0 before. */
static size_t unmeasured(const struct up *up, double *first)
{
    struct esp_node *nodes = NULL;
    size_t n = 0, left = 0;
    if (esp_tree(NULL, &nodes, &n) != ESP_OK)
        return 0;
    for (size_t i = 0; i < up->n_started; i++)
        for (size_t j = 0; j < n; j++) {
            if (nodes[j].role != ESP_ROLE_SERVER || strcmp(nodes[j].name, up->launches[i].name) != 0)
                continue;
            if (first[i] == 0)
                first[i] = nodes[j].speed_flops;
            left += nodes[j].speed_flops == first[i];
        }
    esp_tree_free(nodes);
    return left;
}

/* Forecasts of the first minutes are as good as these measurements; a server without a problem to measure
 * with never has another speed, so the wait is short. */
static enum esp_status wait_speeds(struct up *up, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    double *first = calloc(up->n_started + 1, sizeof *first);
    int64_t until = clock_now_ns(&clock_system) + SPEED_NS;
    while (first && status == ESP_OK && unmeasured(up, first) && clock_now_ns(&clock_system) < until)
        status = still_waiting(up, "the speed of a server", error);
    free(first);
    return status == ESP_TIMEOUT ? ESP_OK : status;
}

static enum esp_status wait_tree(struct up *up, const char *client_file, struct esp_error *error)
{
    struct esp_options options = {.config = client_file};
    if (esp_initialize(&options) != ESP_OK) {
        *error = *esp_last_error();
        return error->status;
    }
    enum esp_status status = ESP_OK;
    const struct launch *missing;
    while (status == ESP_OK && ((missing = first_missing(up)) || !problems_known(up))) {
        char what[300];
        if (missing)
            snprintf(what, sizeof what, "%s %s", missing->kind, missing->name);
        else
            snprintf(what, sizeof what, "what the servers can solve");
        status = still_waiting(up, what, error);
        if (status != ESP_OK && missing && !up->dead)
            up->dead = missing;
    }
    if (status == ESP_OK)
        status = wait_speeds(up, error);
    grpc_finalize();
    return status;
}

static enum esp_status start_all(struct up *up, char *client_file, size_t size, struct esp_error *error)
{
    enum esp_status status;
    if ((status = start_redirectors(up, error)) != ESP_OK || (status = start_masters(up, error)) != ESP_OK ||
        (status = start_leaders(up, error)) != ESP_OK || (status = start_servers(up, error)) != ESP_OK ||
        (status = write_client_file(up, client_file, size, error)) != ESP_OK)
        return status;
    return wait_tree(up, client_file, error);
}

/* Here and on other machines. False: that failed, and was told. */
static bool stop_all(struct up *up)
{
    struct platform_record *records;
    struct elsewhere elsewhere = {.deploy = up->deploy, .timeout_s = STOP_THERE_S};
    struct esp_error error;
    size_t n;
    bool again;
    if (platform_record_list(&up->deploy.state, &records, &n, &error) != ESP_OK) {
        command_fail(up->command, &error);
        return false;
    }
    elsewhere_stop(&elsewhere, records, n);
    platform_stop(&up->deploy.state, records, n, 5000);
    const enum exit_code code = elsewhere_await(&elsewhere, up->command, &again);
    free(records);
    return code == EXIT_DONE;
}

/* Problems that no worker can call: told by the first server that has some, as most servers have the same. */
static void tell_left_out(const struct up *up)
{
    for (size_t i = 0; i < up->n_started; i++) {
        const struct launch *launch = &up->launches[i];
        if (strcmp(launch->kind, "server") != 0 || !*launch->log)
            continue;
        const unsigned n = launch_show_left_out(launch);
        if (n > LAUNCH_MOST_LEFT_OUT)
            fprintf(stderr, "%s: and %u more, see %s\n", launch->name, n - LAUNCH_MOST_LEFT_OUT, launch->log);
        if (n > 0)
            return;
    }
}

static enum exit_code report(const struct up *up, const char *client_file)
{
    tell_left_out(up);
    if (!up->command->json) {
        printf("Platform '%s' is up: %zu daemons in %.1f s, files in %s\n"
               "Programs find it with: export ESPALIER_CONFIG=%s\n",
               up->deploy.state.name, up->n_started, (double)waited_ns(up) / 1e9, up->deploy.files,
               client_file);
        return command_flush();
    }
    json_t *daemons = json_array();
    for (size_t i = 0; i < up->n_started; i++) {
        const struct launch *launch = &up->launches[i];
        char quota[128] = "";
        json_array_append_new(daemons,
                              json_pack("{s:s, s:s, s:I, s:s, s:o, s:o, s:s}", "kind", launch->kind, "name",
                                        launch->name, "pid", (json_int_t)launch->pid, "address",
                                        launch->address, "log", command_json_text(launch->log), "config",
                                        command_json_text(launch->config), "slowed",
                                        quota_text(&launch->quota, launch->cpu_quota, quota, sizeof quota)));
    }
    return command_json(json_pack("{s:s, s:o, s:o, s:o}", "platform", up->deploy.state.name, "folder",
                                  command_json_text(up->deploy.files), "client_config",
                                  command_json_text(client_file), "daemons", daemons));
}

/* Nobody may be left of an earlier platform of this name. */
static enum esp_status check_not_up(struct up *up, struct esp_error *error)
{
    struct platform_record *records;
    size_t n, running = 0;
    enum esp_status status = platform_record_list(&up->deploy.state, &records, &n, error);
    for (size_t i = 0; i < n; i++)
        running += platform_record_runs(&records[i]);
    if (status == ESP_OK && running)
        status =
            error_set(error, ESP_REFUSED, "platform '%s' is up already: 'espalier down%s%s' stops it",
                      up->deploy.state.name, strcmp(up->deploy.state.name, PLATFORM_DEFAULT_NAME) ? " " : "",
                      strcmp(up->deploy.state.name, PLATFORM_DEFAULT_NAME) ? up->deploy.state.name : "");
    else if (status == ESP_OK)
        platform_stop(&up->deploy.state, records, n, 0); /* its control groups */
    free(records);
    return status;
}

static enum esp_status check_network(struct esp_error *error)
{
    const enum esp_status status = esp_network_check();
    if (status != ESP_OK)
        *error = *esp_last_error();
    return status;
}

static enum esp_status prepare(struct up *up, struct esp_error *error)
{
    const char *name = command_option_value(up->command, "name"),
               *wait = command_option_value(up->command, "wait");
    int64_t ns = 30 * NS_PER_S;
    enum esp_status status;
    if (wait && (config_read_duration(wait, &ns, error) != ESP_OK || ns <= 0))
        return error_set(error, ESP_INVALID, "--wait: expected a time such as '30 s', found '%s'", wait);
    if (name && strchr(name, '/'))
        return error_set(error, ESP_INVALID,
                         "--name: expected letters, digits, '.', '_', '-', found '%.100s'", name);
    up->patience_ns = ns;
    up->begun_ns = clock_now_ns(&clock_system);
    if (!name)
        name = up->command->n_operands ? up->command->operands[0] : PLATFORM_DEFAULT_NAME;
    if ((status = load_platform(up, error)) != ESP_OK || (status = add_problems(up, error)) != ESP_OK ||
        (status = check_network(error)) != ESP_OK ||
        (status = platform_state_acquire(name, true, &up->deploy.state, error)) != ESP_OK ||
        (status = check_not_up(up, error)) != ESP_OK)
        return status;
    snprintf(up->deploy.files, sizeof up->deploy.files, "%s",
             up->platform.state_dir ? up->platform.state_dir : up->deploy.state.dir);
    if (up->platform.state_dir && mkdir(up->deploy.files, 0700) != 0 && errno != EEXIST)
        return error_errno(error, "cannot create %s", up->deploy.files);
    up->deploy.command = up->platform.command;
    up->n_launches =
        up->platform.n_redirectors + up->platform.n_masters + up->platform.n_leaders + up->platform.n_servers;
    up->launches = calloc(up->n_launches + 1, sizeof *up->launches);
    up->remotes = calloc(up->n_launches + 1, sizeof *up->remotes);
    up->work = calloc(up->n_launches + 1, sizeof *up->work);
    return up->launches && up->remotes && up->work ? ESP_OK : error_no_memory(error, "the platform");
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

enum exit_code verb_up(const struct command_line *command)
{
    struct up up = {.command = command, .deploy = {.state = {.lock = -1}}};
    struct esp_error error = {0};
    char client_file[PATH_MAX];
    enum exit_code code;
    if (prepare(&up, &error) != ESP_OK) {
        code = command_fail(command, &error);
    } else {
        catch_signals();
        if (start_all(&up, client_file, sizeof client_file, &error) == ESP_OK) {
            code = report(&up, client_file);
        } else {
            code = command_fail(command, &error);
            if (up.dead)
                launch_show_log(up.dead);
            if (stop_all(&up))
                fprintf(stderr, "All that was started has been stopped; logs are in %s\n", up.deploy.files);
            if (code == EXIT_UNREACHABLE)
                code = EXIT_FAILED;
        }
    }
    free(up.launches);
    free(up.remotes);
    free(up.work);
    settings_destroy(&up.platform.arena);
    platform_state_release(&up.deploy.state);
    return code;
}
