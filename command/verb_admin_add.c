/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier admin add: one more agent or server for a running platform.
 */
#include "config.h"

#include "command/admin.h"
#include "command/deploy.h"
#include "command/session.h"
#include "command/settle.h"
#include "command/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES (1024 * 1024)
#define PATIENCE_S 30.0

/* An agent's or a server's file, as it is to be started. */
struct addition {
    const struct command_line *command;
    struct deploy deploy;
    union {
        struct arena arena;
        struct settings_agent agent;
        struct settings_sed sed;
    } settings;
    struct deploy_daemon daemon;
    struct launch launch;
    double patience_s, remote_s; /* with a daemon that starts, and with another machine */
};

/* ---- the file ---- */

static enum esp_status read_text(const char *path, char *text, struct esp_error *error)
{
    FILE *stream = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!stream)
        return error_set(error, ESP_NOT_FOUND, "%s: %s", path, strerror(errno));
    size_t n = fread(text, 1, MOST_BYTES, stream);
    const bool good = !ferror(stream), whole = n < MOST_BYTES;
    if (stream != stdin)
        fclose(stream);
    text[n] = '\0';
    if (!good)
        return error_set(error, ESP_SYSTEM, "%s: cannot be read", path);
    return whole ? ESP_OK : error_set(error, ESP_LIMIT, "%s: has more than %d bytes", path, MOST_BYTES);
}

/* --as, the file's name, or its keys. */
static enum esp_status find_kind(const struct command_line *command, const char *path,
                                 enum settings_kind *kind, struct esp_error *error)
{
    const char *as = command_option_value(command, "as");
    char by[SETTINGS_BY];
    if (as && strcmp(as, settings_kind_name(SETTINGS_SED)) == 0)
        *kind = SETTINGS_SED;
    else if (as && strcmp(as, settings_kind_name(SETTINGS_AGENT)) == 0)
        *kind = SETTINGS_AGENT;
    else if (as || strcmp(path, "-") == 0)
        return error_set(error, ESP_INVALID, "--as: expected agent or sed, found %s", as ? as : "nothing");
    else if (settings_guess_kind(path, kind, by, error) != ESP_OK)
        return error->status;
    if (*kind == SETTINGS_SED || *kind == SETTINGS_AGENT)
        return ESP_OK;
    return error_set(error, ESP_CONFIG,
                     "%s: expected the file of an agent or a server, found one of a %s (--as says another)",
                     path, settings_kind_title(*kind));
}

/* The file as it is, but below that parent: true when it names one, whose place this takes. */
static bool load_below(struct addition *addition, enum settings_kind kind, const char *text, const char *path,
                       const char *parent)
{
    struct esp_error error;
    if (settings_parse(kind, text, path, &addition->settings, &error) != ESP_OK)
        return false; /* perhaps for want of a parent: told when that is there */
    char **own = kind == SETTINGS_SED ? &addition->settings.sed.parent : &addition->settings.agent.parent;
    char *copy = *own ? arena_strdup(&addition->settings.arena, parent) : NULL;
    if (copy)
        *own = copy;
    else
        settings_destroy(&addition->settings.arena);
    return copy != NULL;
}

/* The file, with the parent that --to names. */
static enum esp_status load(struct addition *addition, const char *path, const char *parent,
                            struct esp_error *error)
{
    char *text = malloc(MOST_BYTES + 1024);
    enum settings_kind kind;
    if (!text)
        return error_no_memory(error, "a file");
    enum esp_status status = find_kind(addition->command, path, &kind, error);
    if (status == ESP_OK)
        status = read_text(path, text, error);
    const char *shown = strcmp(path, "-") == 0 ? "standard input" : path;
    const bool placed = status == ESP_OK && parent && load_below(addition, kind, text, shown, parent);
    if (status == ESP_OK && parent && !placed)
        sprintf(text + strlen(text), "\nparent = \"%.500s\"\n", parent);
    if (status == ESP_OK && !placed)
        status = settings_parse(kind, text, shown, &addition->settings, error);
    free(text);
    if (status != ESP_OK)
        return status;
    const bool server = kind == SETTINGS_SED;
    addition->daemon =
        (struct deploy_daemon){.kind = kind,
                               .role = server                                                ? "server"
                                       : settings_agent_is_master(&addition->settings.agent) ? "master"
                                                                                             : "leader",
                               .settings = &addition->settings,
                               .node = server ? &addition->settings.sed.node : &addition->settings.agent.node,
                               .arena = &addition->settings.arena};
    return ESP_OK;
}

/* ---- starting it ---- */

/* The folder of the platform whose client.conf leads there; "default" when none of this machine does. */
static void platform_name(const struct command_line *command, char name[PLATFORM_MAX_NAME])
{
    const char *config = command_option_value(command, "config"),
               *named = command_option_value(command, "platform");
    if (!config)
        config = getenv("ESPALIER_CONFIG");
    if (named || !config || !platform_state_of_config(config, name))
        snprintf(name, PLATFORM_MAX_NAME, "%s", named ? named : PLATFORM_DEFAULT_NAME);
}

static enum esp_status start(struct addition *addition, struct esp_error *error)
{
    const char *host = command_option_value(addition->command, "host");
    struct deploy *deploy = &addition->deploy;
    char name[PLATFORM_MAX_NAME];
    platform_name(addition->command, name);
    enum esp_status status = platform_state_acquire(name, true, &deploy->state, error);
    if (status != ESP_OK)
        return status;
    snprintf(deploy->files, sizeof deploy->files, "%s", deploy->state.dir);
    deploy->command = command_option_value(addition->command, "command");
    if (!settings_is_here(host))
        return deploy_there(deploy, host, &addition->daemon, addition->remote_s, &addition->launch, error);
    status = deploy_here(deploy, &addition->daemon, &addition->launch, error);
    if (status == ESP_OK)
        status = deploy_wait(&addition->launch, (int64_t)(addition->patience_s * 1e9), error);
    if (status != ESP_OK && addition->launch.pid > 0) {
        launch_stop(&addition->launch);
        launch_show_log(&addition->launch);
    }
    return status;
}

static enum exit_code tell(const struct addition *addition, const char *remark)
{
    const struct launch *launch = &addition->launch;
    if (addition->command->json)
        return command_json(json_pack("{s:s, s:s, s:s, s:I, s:o, s:o}", "name", launch->name, "kind",
                                      launch->kind, "address", launch->address, "pid",
                                      (json_int_t)launch->pid, "log", command_json_text(launch->log),
                                      "remark", command_json_text(remark)));
    printf("%s: %s at %s%s%s\n", launch->name, launch->kind, launch->address, *remark ? ", " : "", remark);
    return command_flush();
}

/* Of this name there is none yet, or it is a dead one. */
static enum exit_code check_new(struct addition *addition, const struct view *view)
{
    const char *name = addition->daemon.node->name;
    for (size_t i = 0; i < view->n; i++)
        if (strcmp(view->nodes[i].name, name) == 0 && !view->nodes[i].unreachable) {
            struct esp_error error;
            error_set(&error, ESP_REFUSED,
                      "the platform has a %s named '%s' already, at %s: give this one another name",
                      esp_role_name(view->nodes[i].role), name, view->nodes[i].address);
            return command_fail(addition->command, &error);
        }
    return EXIT_DONE;
}

static enum exit_code add_to_tree(struct addition *addition, const char *path)
{
    const struct command_line *command = addition->command;
    const char *to = command_option_value(command, "to"), *remark = "";
    const struct esp_node *parent = NULL;
    struct view view;
    struct esp_error error = {0};
    enum exit_code code = view_open(command, &view);
    if (code == EXIT_DONE && to && !(parent = view_find(command, &view, to)))
        code = EXIT_USAGE;
    if (code == EXIT_DONE && load(addition, path, parent ? parent->address : NULL, &error) != ESP_OK)
        code = command_fail(command, &error);
    if (code == EXIT_DONE)
        code = check_new(addition, &view);
    if (code == EXIT_DONE && start(addition, &error) != ESP_OK)
        code = command_fail(command, &error);
    if (code == EXIT_DONE)
        code = settle_in_tree(command, addition->launch.name, addition->patience_s, &remark);
    view_close(&view);
    return code == EXIT_DONE ? tell(addition, remark) : code;
}

/* What a machine does for another one's command: nobody here knows the platform. */
static enum exit_code add_unseen(struct addition *addition, const char *path)
{
    struct esp_error error = {0};
    if (load(addition, path, NULL, &error) != ESP_OK || start(addition, &error) != ESP_OK)
        return command_fail(addition->command, &error);
    return tell(addition, "");
}

enum exit_code verb_admin_add(const struct command_line *command)
{
    struct addition addition = {.command = command, .deploy = {.state = {.lock = -1}}};
    const bool unseen = command_option_value(command, "no-wait") != NULL;
    struct esp_error error;
    if (session_timeout(command, &addition.patience_s, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    if (unseen && command_option_value(command, "to"))
        return command_usage(command, "--to needs a look at the tree, which --no-wait leaves out");
    addition.remote_s = addition.patience_s > 0 ? addition.patience_s : DEPLOY_REMOTE_S;
    if (addition.patience_s <= 0)
        addition.patience_s = PATIENCE_S;
    enum exit_code code = unseen ? EXIT_DONE : session_open(command);
    if (code != EXIT_DONE)
        return code;
    code =
        unseen ? add_unseen(&addition, command->operands[0]) : add_to_tree(&addition, command->operands[0]);
    if (!unseen)
        grpc_finalize();
    platform_state_release(&addition.deploy.state);
    settings_destroy(&addition.settings.arena);
    return code;
}
