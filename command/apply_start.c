/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps that start daemons: those that do not need each other side by side.
 */
#include "config.h"

#include "command/apply.h"
#include "command/machines.h"
#include "command/settle.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAST_S 0.001 /* of a time that is over: 0 would be any time */

double apply_patience_s(const struct apply *apply, double otherwise_s)
{
    if (apply->until_ns == 0)
        return otherwise_s;
    const double left_s = (double)(apply->until_ns - clock_now_ns(&clock_system)) / 1e9;
    return left_s > LEAST_S ? left_s : LEAST_S;
}

void apply_place_master(const struct apply *apply, struct settings_agent *agent)
{
    const struct config_strings *list = &apply->redirectors;
    if (list->n == 0)
        return;
    agent->redirector = list->items[0];
    agent->redirectors = (struct config_strings){list->items + 1, list->n - 1};
}

struct deploy_daemon apply_agent_daemon(struct apply *apply, const struct platform_agent *agent)
{
    struct settings_agent *settings = (struct settings_agent *)&agent->agent;
    return (struct deploy_daemon){.kind = SETTINGS_AGENT,
                                  .role = agent->parent ? "leader" : "master",
                                  .settings = settings,
                                  .node = &settings->node,
                                  .arena = &apply->platform.arena};
}

static struct deploy_daemon server_daemon(struct apply *apply, const struct platform_server *server)
{
    struct settings_sed *settings = (struct settings_sed *)&server->sed;
    return (struct deploy_daemon){.kind = SETTINGS_SED,
                                  .role = "server",
                                  .settings = settings,
                                  .node = &settings->node,
                                  .arena = &apply->platform.arena,
                                  .cpu_quota = server->cpu_quota};
}

/* Where its file says that it belongs: the address of its parent, or of the redirectors, as they are now. */
enum esp_status apply_place(struct apply *apply, const struct view *view, const struct step *step,
                            struct esp_error *error)
{
    struct arena *arena = &apply->platform.arena;
    const struct esp_node *above = NULL;
    if (!*step->parent) {
        apply_place_master(apply, &((struct platform_agent *)step->agent)->agent);
        return ESP_OK;
    }
    for (size_t i = 0; i < view->n; i++)
        if (strcmp(view->nodes[i].name, step->parent) == 0)
            above = &view->nodes[i];
    if (!above)
        return error_set(error, ESP_UNREACHABLE, "'%s' is not in the tree, which '%s' is to be below",
                         step->parent, step->name);
    char *address = arena_strdup(arena, above->address);
    if (!address)
        return error_no_memory(error, "an address");
    if (step->server)
        ((struct platform_server *)step->server)->sed.parent = address;
    else
        ((struct platform_agent *)step->agent)->agent.parent = address;
    return ESP_OK;
}

struct deploy_daemon apply_daemon(struct apply *apply, const struct step *step)
{
    return step->server ? server_daemon(apply, step->server) : apply_agent_daemon(apply, step->agent);
}

enum esp_status apply_launch(struct apply *apply, struct deploy_daemon *daemon, struct launch *launch,
                             struct esp_error *error)
{
    if (!settings_is_here(daemon->node->host))
        return deploy_there(&apply->deploy, daemon->node->host, daemon,
                            apply_patience_s(apply, DEPLOY_REMOTE_S), launch, error);
    enum esp_status status = deploy_here(&apply->deploy, daemon, launch, error);
    if (status == ESP_OK)
        status = deploy_wait(launch, (int64_t)(apply_patience_s(apply, APPLY_START_S) * 1e9), error);
    if (status != ESP_OK && launch->pid > 0) {
        launch_stop(launch);
        launch_show_log(launch);
    }
    return status;
}

/* ---- starting ---- */

#define SIDE_BY_SIDE 64   /* daemons of one go */
#define REFUGE_S     12.0 /* nodes look for their parent five seconds after they have found a refuge */
#define POLL_NS      (50 * NS_PER_MS)

struct starting {
    struct apply *apply;
    struct deploy_daemon daemon;
    struct launch launch;
    struct esp_error error;
    enum esp_status status;
};

static void start_it(void *arg)
{
    struct starting *starting = arg;
    starting->status = apply_launch(starting->apply, &starting->daemon, &starting->launch, &starting->error);
}

/* Those of this machine while the others are on their way. */
static void start_all(struct starting *starting, size_t n)
{
    struct machine_work work[SIDE_BY_SIDE] = {{NULL}};
    struct machines machines;
    for (size_t i = 0; i < n; i++) {
        const char *host = starting[i].daemon.node->host;
        if (starting[i].status == ESP_OK && !settings_is_here(host))
            work[i] = (struct machine_work){.host = host, .run = start_it, .arg = &starting[i]};
    }
    machines_begin(&machines, work, n);
    for (size_t i = 0; i < n; i++)
        if (!work[i].host && starting[i].status == ESP_OK)
            start_it(&starting[i]);
    machines_end(&machines);
}

/* Agents that have just started as well may have been slow to answer it: it is at a refuge then, from which
 * it soon goes where it belongs, and the plan must not take it for one of another tree. One that an
 * administrator has moved stays where it is, so it is not waited for any longer. */
static void await_parent(const struct apply *apply, const struct step *step)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    const double left_s = apply_patience_s(apply, REFUGE_S);
    const int64_t until_ns =
        clock_now_ns(&clock_system) + (int64_t)((left_s < REFUGE_S ? left_s : REFUGE_S) * 1e9);
    for (bool there = false; !there && clock_now_ns(&clock_system) < until_ns;) {
        struct view view = {0};
        const bool seen = esp_tree(NULL, &view.nodes, &view.n) == ESP_OK;
        const struct esp_node *node = seen ? view_there(&view, step->name) : NULL;
        there = node && strcmp(node->parent, step->parent) == 0;
        view_close(&view);
        if (!there)
            nanosleep(&pause, NULL);
    }
}

/* It runs; now the tree has to show it. */
static enum exit_code settle(struct apply *apply, const struct step *step, const struct starting *starting)
{
    const struct command_line *command = apply->orders->command;
    const char *remark = "";
    char what[300];
    if (starting->status != ESP_OK)
        return command_fail(command, &starting->error);
    const enum exit_code code =
        settle_in_tree(command, step->name, apply_patience_s(apply, APPLY_START_S), &remark);
    if (code == EXIT_DONE && *step->parent)
        await_parent(apply, step);
    snprintf(what, sizeof what, "started%s%.200s", *step->parent ? " below " : "", step->parent);
    if (code == EXIT_DONE)
        orders_done(apply->orders, step->name, what, remark);
    return code;
}

/* Neither is above the other one. */
static bool are_independent(const struct step *a, const struct step *b)
{
    return a->kind == STEP_START && b->kind == STEP_START && !a->redirector && !b->redirector &&
           ((a->server && b->server) || (a->agent && b->agent && strcmp(a->parent, b->parent) == 0));
}

enum exit_code apply_start(struct apply *apply, const struct step *steps, size_t most, size_t *n)
{
    const struct command_line *command = apply->orders->command;
    struct starting *starting = calloc(SIDE_BY_SIDE, sizeof *starting);
    struct view now = {0};
    *n = 1;
    while (*n < most && *n < SIDE_BY_SIDE && are_independent(&steps[0], &steps[*n]))
        ++*n;
    if (!starting) {
        struct esp_error error;
        error_no_memory(&error, "the daemons that are to be started");
        return command_fail(command, &error);
    }
    /* The tree has grown since the plan was made: parents may be among those that were started by it. */
    enum exit_code code = view_open(command, &now), one;
    for (size_t i = 0; i < *n && code == EXIT_DONE; i++) {
        starting[i].apply = apply;
        starting[i].daemon = apply_daemon(apply, &steps[i]);
        starting[i].status = apply_place(apply, &now, &steps[i], &starting[i].error);
    }
    view_close(&now);
    if (code == EXIT_DONE) {
        start_all(starting, *n);
        for (size_t i = 0; i < *n; i++)
            if ((one = settle(apply, &steps[i], &starting[i])) != EXIT_DONE)
                code = one;
    }
    free(starting);
    return code;
}
