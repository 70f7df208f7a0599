/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/command/apply.h"
#include "client/command/session.h"
#include "client/command/settle.h"
#include "client/command/way_in.h"

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
static bool has_ended(const struct platform_record *records, size_t n, const char *name)
{
    bool known = false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(records[i].kind, "redirector") != 0 || strcmp(records[i].name, name) != 0)
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

static enum exit_code revive(struct apply *apply, const struct command_line *command,
                             struct settings_redirector *redirector)
{
    struct deploy_daemon daemon = redirector_daemon(apply, redirector);
    struct settings_node *node = &redirector->node;
    char *listen = node->listen, address[256];
    struct launch launch = {0};
    struct esp_error error;
    if (!former_address(apply, node, address, sizeof address))
        return EXIT_DONE; /* the plan will start it anew */
    if (apply->dry) {
        command_progress(command, "%s: would be started at %s, where it was", node->name, address);
        apply->n_ended++;
        return EXIT_DONE;
    }
    node->listen = address;
    const enum esp_status status = apply_launch(apply, &daemon, &launch, &error);
    node->listen = listen;
    if (status != ESP_OK)
        return command_fail(command, &error);
    apply->revived = true;
    command_progress(command, "%s: started at %s, where it was", node->name, address);
    return EXIT_DONE;
}

enum exit_code apply_revive(struct apply *apply, const struct command_line *command)
{
    struct platform_record *records = NULL;
    size_t n = 0;
    struct esp_error error;
    enum exit_code code = EXIT_DONE;
    if (platform_record_list(&apply->deploy.state, &records, &n, &error) != ESP_OK)
        return command_fail(command, &error);
    for (size_t i = 0; i < apply->platform.n_redirectors && code == EXIT_DONE; i++) {
        struct settings_redirector *redirector = &apply->platform.redirectors[i];
        if (settings_is_here(redirector->node.host) && has_ended(records, n, redirector->node.name))
            code = revive(apply, command, redirector);
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

void apply_place_master(const struct apply *apply, struct settings_agent *agent)
{
    const struct config_strings *list = &apply->redirectors;
    if (list->n == 0)
        return;
    agent->redirector = list->items[0];
    agent->redirectors = (struct config_strings){list->items + 1, list->n - 1};
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
