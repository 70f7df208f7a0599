/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that are at a refuge, or in no tree, as those above them are dead: they go back by themselves when
 * the ones above run again, and are waited for.
 */
#include "config.h"

#include "command/apply.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RETURN_S   75.0 /* nodes look for their preferred parent once a minute at least */
#define SAY_S      2.0  /* before it is said that it is waited for */
#define POLL_NS    (100 * NS_PER_MS)
#define REGISTER_S 10.0           /* masters try their redirectors every five seconds at least */
#define TELL_NS    (4 * NS_PER_S) /* a node that is told where to go gets so long to be there */

/* ---- what the plan has to know ---- */

static enum esp_status list_running(const struct apply *apply, struct whereabouts *there,
                                    struct esp_error *error)
{
    enum esp_status status =
        platform_record_list(&apply->deploy.state, &there->records, &there->n_records, error);
    if (status != ESP_OK)
        return status;
    there->running = calloc(there->n_records + 1, sizeof *there->running);
    for (size_t i = 0; i < there->n_records; i++) {
        struct step step;
        there->own = there->own || plan_find(&apply->platform, there->records[i].name, &step);
    }
    for (size_t i = 0; there->running && i < there->n_records; i++)
        if (there->records[i].pid > 0 && strcmp(there->records[i].kind, "load") != 0 &&
            platform_record_runs(&there->records[i]))
            there->running[there->n_running++] = there->records[i].name;
    return there->running ? ESP_OK : error_no_memory(error, "the running daemons");
}

static bool is_running(const struct whereabouts *there, const char *name)
{
    for (size_t i = 0; i < there->n_running; i++)
        if (strcmp(there->running[i], name) == 0)
            return true;
    return false;
}

/* Whether the tree shows all master agents of the file that run here. */
static bool masters_are_there(const struct apply *apply, const struct whereabouts *there)
{
    struct view view = {0};
    bool all = esp_tree(NULL, &view.nodes, &view.n) == ESP_OK;
    for (size_t i = 0; i < apply->platform.n_masters && all; i++) {
        const char *name = apply->platform.masters[i].agent.node.name;
        all = !is_running(there, name) || view_there(&view, name);
    }
    view_close(&view);
    return all;
}

enum exit_code apply_await_masters(struct apply *apply)
{
    const double left_s = apply_patience_s(apply, REGISTER_S);
    const int64_t until_ns =
        clock_now_ns(&clock_system) + (int64_t)((left_s < REGISTER_S ? left_s : REGISTER_S) * 1e9);
    const struct timespec pause = {.tv_nsec = POLL_NS};
    struct whereabouts there = {0};
    struct esp_error error;
    const enum esp_status status = apply->n_revivals > 0 ? list_running(apply, &there, &error) : ESP_OK;
    while (status == ESP_OK && apply->n_revivals > 0 && !masters_are_there(apply, &there) &&
           clock_now_ns(&clock_system) < until_ns)
        nanosleep(&pause, NULL);
    apply_whereabouts_release(&there);
    return status == ESP_OK ? EXIT_DONE : command_fail(apply->orders->command, &error);
}

/* Where a node belongs that the file does not have elsewhere: one that does not tell is taken to stay. False:
 * nor is it of use to ask the others. */
static bool ask_home(const struct view *view, const struct esp_node *node, char **home)
{
    const struct esp_node *top = view_top(view, node);
    const enum esp_status status =
        top ? esp_administer(top->address, node->name, "home", NULL, 0, NULL, home) : ESP_NOT_FOUND;
    return status != ESP_TIMEOUT && status != ESP_UNREACHABLE;
}

enum exit_code apply_whereabouts(const struct apply *apply, struct whereabouts *there)
{
    const struct command_line *command = apply->orders->command;
    const struct view *view = &apply->orders->view;
    enum exit_code code = EXIT_DONE;
    bool tell = true;
    struct esp_error error;
    *there = (struct whereabouts){.n_homes = view->n, .homes = calloc(view->n + 1, sizeof *there->homes)};
    if (!there->homes)
        error_no_memory(&error, "where nodes belong");
    if (!there->homes || list_running(apply, there, &error) != ESP_OK)
        return command_fail(command, &error);
    for (size_t i = 0; i < view->n && code == EXIT_DONE; i++) {
        const struct esp_node *node = &view->nodes[i];
        struct step step;
        if (node->unreachable || !plan_find(&apply->platform, node->name, &step) || !*step.parent)
            continue;
        if (strcmp(step.parent, node->parent) == 0)
            tell = tell && ask_home(view, node, &there->homes[i]);
        else
            code = admin_order(command, view, node, "home", NULL, 0, NULL, &there->homes[i]);
    }
    return code;
}

void apply_whereabouts_release(struct whereabouts *there)
{
    for (size_t i = 0; there->homes && i < there->n_homes; i++)
        free(there->homes[i]);
    free(there->homes);
    free(there->running);
    free(there->records);
    *there = (struct whereabouts){0};
}

/* ---- who is to stay ---- */

enum exit_code apply_stays(struct apply *apply)
{
    struct orders *orders = apply->orders;
    enum exit_code code = EXIT_DONE;
    for (size_t i = 0; i < apply->plan.n && code == EXIT_DONE; i++) {
        const struct step *step = &apply->plan.steps[i];
        char *text = NULL, what[300], remark[300] = "";
        if (step->kind != STEP_STAY)
            continue;
        code = admin_order(orders->command, &orders->view, step->node, "stay", &step->parent, 1, NULL, &text);
        snprintf(what, sizeof what, "stays below %.200s", step->parent);
        if (text && *text)
            snprintf(remark, sizeof remark, "it would have gone back below %.200s", text);
        if (code == EXIT_DONE)
            orders_done(orders, step->name, what, remark);
        free(text);
    }
    return code;
}

/* ---- starting what they wait for ---- */

static bool is_startable(const struct plan *plan, const struct step *step)
{
    return step->kind == STEP_START && !plan_waits(plan, step);
}

static enum exit_code start_above(struct apply *apply)
{
    const struct plan *plan = &apply->plan;
    enum exit_code code = EXIT_DONE;
    for (size_t i = 0, n = 1; i < plan->n && code == EXIT_DONE; i += n, n = 1) {
        size_t most = 0;
        while (i + most < plan->n && is_startable(plan, &plan->steps[i + most]))
            most++;
        if (most > 0)
            code = apply_start(apply, &plan->steps[i], most, &n);
    }
    return code;
}

/* ---- waiting ---- */

static bool is_back(const struct view *view, const struct step *step)
{
    const struct esp_node *node = view_there(view, step->name);
    return node && (!*step->parent || strcmp(node->parent, step->parent) == 0);
}

/* "A, B": those that the tree does not show where they belong, with where they belong. How many. */
static size_t list_missing(const struct plan *plan, const struct view *view, char *text, size_t size)
{
    size_t missing = 0, length = 0;
    *text = 0;
    for (size_t i = 0; i < plan->n; i++) {
        const struct step *step = &plan->steps[i];
        if (step->kind != STEP_RETURN || is_back(view, step))
            continue;
        if (missing++ > 0 && length < size)
            length += (size_t)snprintf(text + length, size - length, ", ");
        if (length < size)
            length += (size_t)snprintf(text + length, size - length, "'%s'%s%s", step->name,
                                       *step->parent ? " below " : "", step->parent);
    }
    return missing;
}

/* Those at a refuge are told where their parent is now, as agents in another tree do not know it. What comes
 * of it the tree shows: who is on the way already, or nobody yet knows here, needs no word. */
static void tell_where(const struct plan *plan, const struct view *view)
{
    for (size_t i = 0; i < plan->n; i++) {
        const struct step *step = &plan->steps[i];
        if (step->kind != STEP_RETURN || is_back(view, step))
            continue;
        const struct esp_node *node = view_there(view, step->name), *parent = view_there(view, step->parent);
        const struct esp_node *top = node && parent ? view_top(view, node) : NULL;
        const char *address = parent ? parent->address : "";
        if (top)
            esp_administer(top->address, node->name, "home", &address, 1, NULL, NULL);
    }
}

static enum exit_code await(struct apply *apply)
{
    const struct command_line *command = apply->orders->command;
    const double patience_s = apply_patience_s(apply, RETURN_S);
    const int64_t begun_ns = clock_now_ns(&clock_system);
    const struct timespec pause = {.tv_nsec = POLL_NS};
    int64_t tell_ns = begun_ns;
    bool said = false;
    for (;; nanosleep(&pause, NULL)) {
        struct view view = {0};
        char missing[600];
        const bool seen = esp_tree(NULL, &view.nodes, &view.n) == ESP_OK;
        const double waited_s = (double)(clock_now_ns(&clock_system) - begun_ns) / 1e9;
        const size_t n = list_missing(&apply->plan, &view, missing, sizeof missing);
        if (clock_now_ns(&clock_system) >= tell_ns) {
            tell_where(&apply->plan, &view);
            tell_ns = clock_now_ns(&clock_system) + TELL_NS;
        }
        view_close(&view);
        if (seen && n == 0)
            return EXIT_DONE;
        if (waited_s >= patience_s) {
            struct esp_error error;
            error_set(
                &error, ESP_TIMEOUT,
                "after %.3g s %zu have not returned, though they run: %s; their logs tell why (one that "
                "says nothing there may be stopped: SIGCONT), and applying the file again goes on",
                patience_s, n, missing);
            return command_fail(command, &error);
        }
        if (!said && waited_s >= SAY_S)
            command_progress(command, "waiting for the return of %s", missing);
        said = waited_s >= SAY_S;
    }
}

enum exit_code apply_bring_back(struct apply *apply, bool *waited)
{
    *waited = false;
    for (size_t i = 0; i < apply->plan.n; i++)
        *waited = *waited || apply->plan.steps[i].kind == STEP_RETURN;
    if (!*waited)
        return EXIT_DONE;
    enum exit_code code = start_above(apply);
    if (code == EXIT_DONE)
        code = await(apply);
    for (size_t i = 0; i < apply->plan.n && code == EXIT_DONE; i++) {
        const struct step *step = &apply->plan.steps[i];
        char what[300], remark[300] = "";
        if (step->kind != STEP_RETURN)
            continue;
        snprintf(what, sizeof what, "has returned%s%.200s", *step->parent ? " below " : "", step->parent);
        if (step->node && !step->node->unreachable)
            snprintf(remark, sizeof remark, "was below %.200s", step->node->parent);
        orders_done(apply->orders, step->name, what, remark);
    }
    return code;
}
