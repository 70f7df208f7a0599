/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/apply.h"
#include "command/session.h"
#include "command/settle.h"
#include "command/way_in.h"

#include <stdio.h>
#include <grpc.h>
#include <stdlib.h>
#include <string.h>

static struct deploy_daemon redirector_daemon(struct apply *apply,
                                              const struct settings_redirector *redirector)
{
    struct settings_redirector *settings = (struct settings_redirector *)redirector;
    return (struct deploy_daemon){.kind = SETTINGS_REDIRECTOR,
                                  .role = "redirector",
                                  .settings = settings,
                                  .node = &settings->node,
                                  .arena = &apply->platform.arena};
}

/* ---- those that do not run any more ---- */

/* Whether one of that name was started here, and none of them runs. */
static bool has_ended(const struct platform_record *records, size_t n, const char *kind, const char *name)
{
    bool known = false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(records[i].kind, kind) != 0 || strcmp(records[i].name, name) != 0)
            continue;
        if (platform_record_runs(&records[i]))
            return false;
        known = true;
    }
    return known;
}

/* The address at which it was, into `address`: one that was killed has left its address file, one that was
 * stopped in good order what it has noted for itself. False: that is not known. */
static bool former_address(const struct apply *apply, const struct settings_node *node, char *address,
                           size_t size)
{
    struct launch launch = {.name = node->name};
    if (node->address_file)
        snprintf(launch.address_file, sizeof launch.address_file, "%s", node->address_file);
    else
        snprintf(launch.address_file, sizeof launch.address_file, "%s/%s.address", apply->deploy.files,
                 node->name);
    if (!launch_ready(&launch) && node->state_dir)
        snprintf(launch.address_file, sizeof launch.address_file, "%s/" SETTINGS_FORMER_ADDRESS,
                 node->state_dir);
    else if (!launch_ready(&launch))
        snprintf(launch.address_file, sizeof launch.address_file, "%s/%s/" SETTINGS_FORMER_ADDRESS,
                 apply->deploy.files, node->name);
    if (!launch_ready(&launch))
        return false;
    snprintf(address, size, "%s", launch.address);
    return true;
}

bool apply_is_revived(const struct apply *apply, const char *name)
{
    for (size_t i = 0; i < apply->n_revivals; i++)
        if (strcmp(apply->revivals[i].name, name) == 0)
            return true;
    return false;
}

bool apply_has_no_way_in(const struct apply *apply)
{
    const struct settings_platform *platform = &apply->platform;
    return apply->dry && apply->n_revivals > 0 &&
           apply->n_revivals == (platform->n_redirectors ? platform->n_redirectors : platform->n_masters);
}

void apply_list_revivals(const struct apply *apply, json_t *list)
{
    for (size_t i = 0; i < apply->n_revivals; i++) {
        const struct revival *revival = &apply->revivals[i];
        char what[300];
        snprintf(what, sizeof what, "%s at %s, where it was", apply->dry ? "would be started" : "started",
                 revival->address);
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s}", "node", revival->name, "done", what, "remark", ""));
    }
}

/* One whose former address is not known is started anew by the plan. */
static enum exit_code revive(struct apply *apply, const struct command_line *command,
                             struct deploy_daemon *daemon)
{
    struct settings_node *node = daemon->node;
    struct revival *revival = &apply->revivals[apply->n_revivals];
    char *listen = node->listen;
    struct launch launch = {0};
    struct esp_error error;
    if (!former_address(apply, node, revival->address, sizeof revival->address))
        return EXIT_DONE;
    revival->name = node->name;
    apply->n_revivals++;
    if (apply->dry) {
        command_progress(command, "%s: would be started at %s, where it was", node->name, revival->address);
        return EXIT_DONE;
    }
    node->listen = revival->address;
    const enum esp_status status = apply_launch(apply, daemon, &launch, &error);
    node->listen = listen;
    if (status != ESP_OK)
        return command_fail(command, &error);
    command_progress(command, "%s: started at %s, where it was", node->name, revival->address);
    return EXIT_DONE;
}

enum exit_code apply_revive(struct apply *apply, const struct command_line *command)
{
    struct settings_platform *platform = &apply->platform;
    const bool masters = platform->n_redirectors == 0;
    const size_t most = masters ? platform->n_masters : platform->n_redirectors;
    struct platform_record *records = NULL;
    size_t n = 0;
    struct esp_error error;
    enum exit_code code = EXIT_DONE;
    apply->revivals = arena_alloc(&platform->arena, (most + 1) * sizeof *apply->revivals);
    if (!apply->revivals)
        error_no_memory(&error, "who leads to the platform");
    if (!apply->revivals || platform_record_list(&apply->deploy.state, &records, &n, &error) != ESP_OK)
        return command_fail(command, &error);
    for (size_t i = 0; i < most && code == EXIT_DONE; i++) {
        struct deploy_daemon daemon = masters ? apply_agent_daemon(apply, &platform->masters[i])
                                              : redirector_daemon(apply, &platform->redirectors[i]);
        if (settings_is_here(daemon.node->host) && has_ended(records, n, daemon.role, daemon.node->name))
            code = revive(apply, command, &daemon);
    }
    free(records);
    return code;
}

/* ---- where they are ---- */

static enum esp_status note(struct apply *apply, const char *address, struct esp_error *error)
{
    struct config_strings *list = &apply->redirectors;
    char *copy = arena_strdup(&apply->platform.arena, address);
    if (!copy)
        return error_no_memory(error, "an address");
    list->items[list->n++] = copy;
    return ESP_OK;
}

enum esp_status apply_find_redirectors(struct apply *apply, const struct view *view, struct esp_error *error)
{
    const size_t n = apply->platform.n_redirectors;
    enum esp_status status = ESP_OK;
    apply->redirectors =
        (struct config_strings){arena_alloc(&apply->platform.arena, (n + 1) * sizeof(char *)), 0};
    if (!apply->redirectors.items)
        return error_no_memory(error, "the redirectors");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < view->n && status == ESP_OK; k++) {
            const struct esp_node *node = &view->nodes[k];
            if (node->role == ESP_ROLE_REDIRECTOR && !node->unreachable &&
                strcmp(node->name, apply->platform.redirectors[i].node.name) == 0)
                status = note(apply, node->address, error);
        }
    return status;
}

/* ---- new ones ---- */

enum exit_code apply_start_redirector(struct apply *apply, const struct step *step)
{
    struct deploy_daemon daemon = redirector_daemon(apply, step->redirector);
    struct launch launch = {0};
    struct esp_error error;
    char what[300];
    if (apply_launch(apply, &daemon, &launch, &error) != ESP_OK ||
        note(apply, launch.address, &error) != ESP_OK)
        return command_fail(apply->orders->command, &error);
    snprintf(what, sizeof what, "started at %s", launch.address);
    orders_done(apply->orders, step->name, what, "");
    return EXIT_DONE;
}

/* It registers with the new ones when it has started again with its new file. */
static enum exit_code tell_master(struct apply *apply, const struct platform_agent *agent)
{
    struct deploy_daemon daemon = apply_agent_daemon(apply, agent);
    const char *name = daemon.node->name;
    struct launch launch;
    struct esp_error error;
    apply_place_master(apply, daemon.settings);
    if (!settings_is_here(daemon.node->host)) {
        orders_done(apply->orders, name, "left as it is",
                    "it runs on another machine, where its file has to name the new redirector");
        return EXIT_DONE;
    }
    if (deploy_write(&apply->deploy, &daemon, &launch, &error) != ESP_OK)
        return command_fail(apply->orders->command, &error);
    return orders_restart(apply->orders, name, apply_patience_s(apply, 0));
}

static bool is_there(const struct view *view, const char *name)
{
    for (size_t i = 0; i < view->n; i++)
        if (strcmp(view->nodes[i].name, name) == 0)
            return !view->nodes[i].unreachable;
    return false;
}

/* The file that clients of this platform read; a command that was told another way keeps that. */
static enum exit_code tell_clients(struct apply *apply)
{
    const struct command_line *command = apply->orders->command;
    struct way_in way = {.redirectors = (const char *const *)apply->redirectors.items,
                         .n_redirectors = apply->redirectors.n,
                         .tls = apply->platform.redirectors[0].node.tls};
    struct esp_error error;
    if (way_in_write(&apply->deploy.state, &way, NULL, 0, &error) != ESP_OK)
        return command_fail(command, &error);
    grpc_finalize();
    return session_open(command);
}

enum exit_code apply_introduce(struct apply *apply)
{
    const struct settings_platform *platform = &apply->platform;
    const struct command_line *command = apply->orders->command;
    enum exit_code code = EXIT_DONE;
    const char *remark;
    bool *there = calloc(platform->n_masters + 1, sizeof *there);
    if (!there)
        return EXIT_FAILED;
    for (size_t i = 0; i < platform->n_masters; i++)
        there[i] = is_there(&apply->orders->view, platform->masters[i].agent.node.name);
    for (size_t i = 0; i < platform->n_masters && code == EXIT_DONE; i++)
        if (there[i])
            code = tell_master(apply, &platform->masters[i]);
    if (code == EXIT_DONE)
        code = tell_clients(apply);
    for (size_t i = 0; i < platform->n_masters && code == EXIT_DONE; i++)
        if (there[i])
            code = settle_in_tree(command, platform->masters[i].agent.node.name,
                                  apply_patience_s(apply, APPLY_START_S), &remark);
    free(there);
    return code;
}
