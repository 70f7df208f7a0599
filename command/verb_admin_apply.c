/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier admin apply: the running tree becomes the one that a platform file describes.
 */
#include "config.h"

#include "command/apply.h"
#include "command/session.h"
#include "command/settle.h"
#include "command/verbs.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one step ---- */

/* Of the tree that the node is in, as it was when it was looked at. */
static uint64_t *generation_of(struct apply *apply, const struct esp_node *node)
{
    const struct view *view = &apply->orders->view;
    const struct esp_node *top = view_top(view, node);
    return &apply->generations[top ? top - view->nodes : node - view->nodes];
}

static enum exit_code move(struct apply *apply, const struct step *step)
{
    struct orders *orders = apply->orders;
    char *text = NULL, what[300], remark[MOVED_BYTES];
    enum exit_code code = admin_order(orders->command, &orders->view, step->node, "move", &step->parent, 1,
                                      generation_of(apply, step->node), &text);
    if (code == EXIT_DONE) {
        snprintf(what, sizeof what, "moved below %.200s", step->parent);
        snprintf(remark, sizeof remark, "was below %.100s%s%s", step->node->parent, *text ? ", " : "", text);
        orders_done(orders, step->name, what, remark);
    }
    free(text);
    return code;
}

static enum exit_code take_out(struct apply *apply, const struct step *step)
{
    struct orders *orders = apply->orders;
    enum exit_code code = orders_make_idle(orders, step->node, true, apply_patience_s(apply, 0));
    if (code == EXIT_DONE)
        code = orders_end(orders, step->node, "stop", true, generation_of(apply, step->node), NULL);
    if (code == EXIT_DONE)
        code = orders_wait_gone(orders->command, step->name, apply_patience_s(apply, APPLY_START_S));
    if (code == EXIT_DONE)
        orders_done(orders, step->name, "removed",
                    orders->kept.node == step->node ? orders->kept.remark : "");
    return code;
}

/* What one of them has is not kept by another one. */
static const struct esp_node **list_removals(const struct plan *plan, size_t *n)
{
    const struct esp_node **nodes = calloc(plan->n + 1, sizeof(struct esp_node *));
    *n = 0;
    for (size_t i = 0; nodes && i < plan->n; i++)
        if (plan->steps[i].kind == STEP_REMOVE)
            nodes[(*n)++] = plan->steps[i].node;
    return nodes;
}

static enum exit_code do_steps(struct apply *apply)
{
    enum exit_code code = EXIT_DONE;
    for (size_t i = 0, n = 1; i < apply->plan.n && code == EXIT_DONE; i += n, n = 1) {
        const struct step *step = &apply->plan.steps[i];
        if (step->kind == STEP_STAY)
            continue;
        code = step->kind == STEP_START  ? apply_start(apply, step, apply->plan.n - i, &n)
               : step->kind == STEP_MOVE ? move(apply, step)
                                         : take_out(apply, step);
    }
    return code;
}

static enum exit_code carry_out(struct apply *apply)
{
    struct orders *orders = apply->orders;
    const struct esp_node **leaving = list_removals(&apply->plan, &orders->n_leaving);
    struct esp_error error;
    if (!leaving) {
        error_no_memory(&error, "the nodes that are to go");
        return command_fail(orders->command, &error);
    }
    orders->leaving = leaving;
    const enum exit_code code = do_steps(apply);
    orders->leaving = NULL;
    orders->n_leaving = 0;
    free(leaving);
    return code;
}

/* ---- settings ---- */

/* Calls `use` for each daemon of the file that runs here and whose own file says something else now. */
static enum exit_code each_changed(struct apply *apply, const struct view *view,
                                   enum exit_code (*use)(struct apply *apply, const struct view *view,
                                                         const struct step *step,
                                                         struct deploy_daemon *daemon))
{
    enum exit_code code = EXIT_DONE;
    struct esp_error error;
    for (size_t i = 0; i < view->n && code == EXIT_DONE; i++) {
        const struct esp_node *node = &view->nodes[i];
        struct step step = {.name = node->name};
        bool differs = false;
        if (node->unreachable || !plan_find(&apply->platform, node->name, &step))
            continue;
        struct deploy_daemon daemon = apply_daemon(apply, &step);
        if (!settings_is_here(daemon.node->host))
            continue;
        if (deploy_differs(&apply->deploy, &daemon, &differs, &error) != ESP_OK)
            code = command_fail(apply->orders->command, &error);
        else if (differs)
            code = use(apply, view, &step, &daemon);
    }
    return code;
}

static enum exit_code say_changed(struct apply *apply, const struct view *view, const struct step *step,
                                  struct deploy_daemon *daemon)
{
    (void)view;
    (void)daemon;
    orders_done(apply->orders, step->name, "would be restarted", "its settings are others");
    return EXIT_DONE;
}

static enum exit_code renew(struct apply *apply, const struct view *view, const struct step *step,
                            struct deploy_daemon *daemon)
{
    struct launch launch;
    struct esp_error error;
    const struct esp_node *node = view_there(view, step->name);
    const enum exit_code code = node ? orders_spare(apply->orders, node, false) : EXIT_DONE;
    if (code != EXIT_DONE)
        return code; /* before its file is another one, by which it would be seen */
    if (apply_place(apply, view, step, &error) != ESP_OK ||
        deploy_write(&apply->deploy, daemon, &launch, &error) != ESP_OK)
        return command_fail(apply->orders->command, &error);
    return orders_restart(apply->orders, step->name, apply_patience_s(apply, 0));
}

/* ---- the whole ---- */

static void say_plan(const struct apply *apply)
{
    static const char *const verbs[] = {[STEP_STAY] = "would stay",
                                        [STEP_START] = "would be started",
                                        [STEP_RETURN] = "would be waited for until it has returned",
                                        [STEP_MOVE] = "would be moved",
                                        [STEP_REMOVE] = "would be removed"};
    for (size_t i = 0; i < apply->plan.n; i++) {
        const struct step *step = &apply->plan.steps[i];
        char what[300];
        if (apply_is_revived(apply, apply->plan.steps[i].name))
            continue; /* it was told */
        const bool placed = step->kind != STEP_REMOVE && *step->parent;
        snprintf(what, sizeof what, "%s%s%.200s", verbs[step->kind], placed ? " below " : "",
                 placed ? step->parent : "");
        orders_done(apply->orders, step->name, what, "");
    }
}

static void say_alone(const struct apply *apply)
{
    for (size_t i = 0; i < apply->plan.n_alone; i++)
        orders_done(apply->orders, apply->plan.alone[i]->name, "left alone",
                    "the file does not name it (--remove removes such)");
}

/* The counts first and then the tree again: whoever changes it in between is noticed by the counts. */
static enum exit_code look(struct apply *apply)
{
    struct orders *orders = apply->orders;
    struct view before = orders->view;
    orders->view = (struct view){0};
    enum exit_code code = EXIT_DONE;
    struct {
        char name[300];
        uint64_t generation;
    } tops[100];
    size_t n_tops = 0;
    for (size_t i = 0; i < before.n && code == EXIT_DONE; i++) {
        const struct esp_node *node = &before.nodes[i];
        if (node->unreachable || view_top(&before, node) != node || n_tops == 100)
            continue;
        tops[n_tops].generation = 0;
        snprintf(tops[n_tops].name, sizeof tops[0].name, "%s", node->name);
        code = admin_order(orders->command, &before, node, "look", NULL, 0, &tops[n_tops++].generation, NULL);
    }
    view_close(&before);
    if (code == EXIT_DONE)
        code = view_open(orders->command, &orders->view);
    apply->generations = calloc(orders->view.n + 1, sizeof *apply->generations);
    for (size_t i = 0; apply->generations && i < orders->view.n; i++)
        for (size_t k = 0; k < n_tops; k++)
            if (strcmp(orders->view.nodes[i].name, tops[k].name) == 0)
                apply->generations[i] = tops[k].generation;
    return code == EXIT_DONE && !apply->generations ? EXIT_FAILED : code;
}

static enum exit_code change(struct apply *apply)
{
    enum exit_code code = carry_out(apply);
    struct view now = {0};
    if (code == EXIT_DONE) {
        say_alone(apply); /* before restarts: they look at the tree anew, which the plan points into */
        code = view_open(apply->orders->command, &now);
    }
    if (code == EXIT_DONE)
        code = each_changed(apply, &now, renew);
    view_close(&now);
    return code;
}

/* With what was looked at. */
static enum exit_code compare(struct apply *apply)
{
    const struct command_line *command = apply->orders->command;
    struct whereabouts there;
    struct esp_error error;
    enum exit_code code = apply_whereabouts(apply, &there);
    const struct plan_options options = {.remove = command_option_value(command, "remove") != NULL,
                                         .by_agent = command_option_value(command, "agent") != NULL,
                                         .homes = there.homes,
                                         .running = there.running,
                                         .own = there.own,
                                         .n_running = there.n_running};
    if (code == EXIT_DONE &&
        (plan_make(&apply->platform, &apply->orders->view, &options, &apply->plan, &error) != ESP_OK ||
         apply_find_redirectors(apply, &apply->orders->view, &error) != ESP_OK))
        code = command_fail(command, &error);
    apply_whereabouts_release(&there);
    return code;
}

static enum exit_code plan(struct apply *apply)
{
    plan_release(&apply->plan);
    free(apply->generations);
    apply->generations = NULL;
    const enum exit_code code = look(apply);
    return code == EXIT_DONE ? compare(apply) : code;
}

/* Master agents start again to register with a new redirector, so what is left to do is planned anew behind
 * it. */
static enum exit_code add_redirectors(struct apply *apply)
{
    enum exit_code code = EXIT_DONE;
    size_t n = 0;
    while (n < apply->plan.n && apply->plan.steps[n].redirector && code == EXIT_DONE)
        code = apply_start_redirector(apply, &apply->plan.steps[n++]);
    if (n == 0 || code != EXIT_DONE)
        return code;
    code = apply_introduce(apply);
    return code == EXIT_DONE ? plan(apply) : code;
}

/* What returns by itself is waited for, and what is left to do is planned anew behind it. */
static enum exit_code bring_back(struct apply *apply)
{
    bool waited;
    const enum exit_code code = apply_bring_back(apply, &waited);
    return code == EXIT_DONE && waited ? plan(apply) : code;
}

static enum exit_code give(struct orders *orders, const void *arg)
{
    struct apply *apply = (struct apply *)arg;
    apply->orders = orders;
    if (orders->command->json)
        apply_list_revivals(apply, orders->list);
    enum exit_code code = apply_await_masters(apply);
    if (code == EXIT_DONE)
        code = plan(apply);
    if (code == EXIT_DONE && !apply->dry)
        code = apply_stays(apply);
    if (code == EXIT_DONE && !apply->dry)
        code = add_redirectors(apply);
    if (code == EXIT_DONE && !apply->dry)
        code = bring_back(apply);
    if (code == EXIT_DONE && apply->dry) {
        say_plan(apply);
        say_alone(apply);
        code = each_changed(apply, &orders->view, say_changed);
    } else if (code == EXIT_DONE) {
        code = change(apply);
    }
    if (code == EXIT_DONE && json_array_size(orders->list) == 0 && !orders->command->json && !orders->told)
        puts("The tree is as the file says.");
    return code;
}

/* ESPALIER_CONFIG, unless the command line says something, is the platform that 'up' started with the file.
 */
static void choose_platform(const struct command_line *command, const struct deploy *deploy)
{
    static const char *const ways[] = {"config", "platform", "agent", "redirector"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (command_option_value(command, ways[i]))
            return;
    snprintf(path, sizeof path, "%s/client.conf", deploy->state.dir);
    if (access(path, R_OK) == 0)
        setenv("ESPALIER_CONFIG", path, 1);
}

/* Whose daemons those are that it starts: of the one that is named, else of the one that 'up' started with
 * the file, else of the one whose client file leads there. */
static const char *platform_of(const struct command_line *command, char name[PLATFORM_MAX_NAME])
{
    const char *file = command->operands[0], *platform = command_option_value(command, "platform"),
               *config = command_option_value(command, "config");
    char path[PATH_MAX];
    struct platform_state state;
    if (platform)
        return platform;
    if (!config && platform_state_locate(file, &state, NULL) == ESP_OK) {
        snprintf(path, sizeof path, "%s/client.conf", state.dir);
        if (access(path, R_OK) == 0)
            return file;
    }
    if (!config)
        config = getenv("ESPALIER_CONFIG");
    return config && platform_state_of_config(config, name) ? name : file;
}

static enum esp_status prepare(const struct command_line *command, struct apply *apply,
                               struct esp_error *error)
{
    char own[PLATFORM_MAX_NAME];
    const char *file = command->operands[0], *name = platform_of(command, own);
    /* With what the file names: nothing is stopped that could not start again. */
    enum esp_status status = settings_check(SETTINGS_PLATFORM, file, error);
    if (status == ESP_OK)
        status = settings_load_platform(file, &apply->platform, error);
    if (status == ESP_OK)
        status = platform_state_acquire(name, !apply->dry, &apply->deploy.state, error);
    if (status == ESP_NOT_FOUND && apply->dry)
        status = platform_state_locate(name, &apply->deploy.state, error);
    if (status != ESP_OK)
        return status;
    snprintf(apply->deploy.files, sizeof apply->deploy.files, "%s",
             apply->platform.state_dir ? apply->platform.state_dir : apply->deploy.state.dir);
    apply->deploy.command = apply->platform.command;
    choose_platform(command, &apply->deploy);
    return ESP_OK;
}

/* What a dry run cannot see: nobody leads to the platform before that is done. */
static enum exit_code say_no_way_in(const struct apply *apply, const struct command_line *command)
{
    json_t *list = command->json ? json_array() : NULL;
    command_progress(command, "No %s runs: what else differs from the file is seen when one does.",
                     apply->platform.n_redirectors ? "redirector" : "master agent");
    if (!list)
        return EXIT_DONE;
    apply_list_revivals(apply, list);
    return command_json(list);
}

enum exit_code verb_admin_apply(const struct command_line *command)
{
    struct apply apply = {.deploy = {.state = {.lock = -1}},
                          .dry = command_option_value(command, "dry-run") != NULL};
    struct esp_error error;
    double told_s;
    if (session_timeout(command, &told_s, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    if (told_s > 0)
        apply.until_ns = clock_now_ns(&clock_system) + (int64_t)(told_s * 1e9);
    enum exit_code code =
        prepare(command, &apply, &error) == ESP_OK ? EXIT_DONE : command_fail(command, &error);
    if (code == EXIT_DONE)
        code = apply_revive(&apply, command);
    if (code == EXIT_DONE && apply_has_no_way_in(&apply))
        code = say_no_way_in(&apply, command);
    else if (code == EXIT_DONE)
        code = orders_run(command, give, &apply);
    plan_release(&apply.plan);
    free(apply.generations);
    platform_state_release(&apply.deploy.state);
    settings_destroy(&apply.platform.arena);
    return code;
}
