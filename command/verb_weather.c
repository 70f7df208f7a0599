/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier weather: what others leave of the servers' machines, and how good the links are: now, soon, and
 * how it was.
 */
#include "config.h"

#include "command/admin.h"
#include "command/session.h"
#include "command/verbs.h"
#include "command/weather.h"
#include "command/weather_summary.h"
#include "util/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is wanted ---- */

struct wanted {
    const char *node, *resource; /* NULL: all */
};

static enum exit_code read_wanted(const struct command_line *command, struct wanted *wanted)
{
    const char *names[16];
    unsigned n = 0;
    *wanted =
        (struct wanted){command_option_value(command, "node"), command_option_value(command, "resource")};
    if (wanted->resource && command_option_value(command, "summary") && outlook_unit(wanted->resource) &&
        !weather_summary_has(wanted->resource))
        return command_usage(
            command,
            "--summary: expected --resource availableCpu, freeMemory, freeDisk, bandwidthTcp "
            "or latencyTcp, which agents have heard of, found '%s' (without --summary, each "
            "node is asked for it)",
            wanted->resource);
    if (!wanted->resource || outlook_unit(wanted->resource))
        return EXIT_DONE;
    while (n < 16 && (names[n] = outlook_resource(n)))
        n++;
    const char *closest = names_closest(wanted->resource, names, n);
    return command_usage(command,
                         "--resource: expected availableCpu, currentCpu, freeMemory, freeDisk, bandwidthTcp, "
                         "latencyTcp or connectTimeTcp, found '%s'%s%s%s",
                         wanted->resource, closest ? "; did you mean '" : "", closest ? closest : "",
                         closest ? "'?" : "");
}

/* A node tells of itself and its links, and the one above it of links between brothers. */
static bool would_tell(const struct view *view, const struct esp_node *node, const struct wanted *wanted)
{
    if (node->role == ESP_ROLE_REDIRECTOR)
        return false;
    if (!wanted->node || strcmp(node->name, wanted->node) == 0)
        return true;
    for (size_t i = 0; i < view->n; i++)
        if (strcmp(view->nodes[i].name, wanted->node) == 0)
            return strcmp(view->nodes[i].parent, node->name) == 0;
    return false;
}

static bool may_tell(const struct view *view, const struct esp_node *node, const struct wanted *wanted)
{
    return !node->unreachable && would_tell(view, node, wanted);
}

static void tell_lost(const struct view *view, const struct wanted *wanted, struct missing *missing)
{
    for (size_t i = 0; i < view->n; i++)
        if (view->nodes[i].unreachable && would_tell(view, &view->nodes[i], wanted))
            missing_lost(missing, &view->nodes[i]);
}

/* ---- showing ---- */

static enum exit_code print(const struct command_line *command, const struct view *view,
                            const struct wanted *wanted, struct weather_rows *rows, struct missing *missing)
{
    weather_narrow(rows, wanted->node, wanted->resource);
    if (command->json)
        return weather_print_json(rows, missing);
    if (rows->first || missing->code == EXIT_DONE)
        weather_print(rows);
    for (size_t i = 0; i < view->n; i++)
        if (view->nodes[i].role == ESP_ROLE_SERVER && !view->nodes[i].unreachable &&
            !(view->nodes[i].cpu_available > 0) && !wanted->resource &&
            may_tell(view, &view->nodes[i], wanted))
            printf(view->nodes[i].senses ? "%s has read nothing of its machine yet\n"
                                         : "%s has no sensor of its machine\n",
                   view->nodes[i].name);
    return command_flush();
}

static enum exit_code show_all(const struct command_line *command, const struct view *view,
                               const struct wanted *wanted, struct missing *missing)
{
    struct weather_rows rows = {0};
    size_t n = 0, *asked = calloc(view->n + 1, sizeof *asked);
    for (size_t i = 0; i < view->n && asked; i++)
        if (may_tell(view, &view->nodes[i], wanted))
            asked[n++] = i;
    enum exit_code code = asked ? weather_ask_all(command, view, asked, n, &rows, missing) : EXIT_FAILED;
    free(asked);
    if (code == EXIT_DONE)
        code = print(command, view, wanted, &rows, missing);
    weather_clear(&rows);
    return code;
}

static enum exit_code show_summary(const struct command_line *command, const struct view *view,
                                   const struct wanted *wanted, struct missing *missing)
{
    return weather_summary(command, view, wanted->node, wanted->resource, missing);
}

/* Nodes that do not answer, or are lost, are told and missing. */
static enum exit_code show_wanted(const struct command_line *command, const struct view *view)
{
    struct wanted wanted;
    enum exit_code code = read_wanted(command, &wanted);
    if (code == EXIT_DONE && wanted.node && !view_find(command, view, wanted.node))
        code = EXIT_USAGE;
    if (code != EXIT_DONE)
        return code;
    struct missing missing = missing_begin(command);
    tell_lost(view, &wanted, &missing);
    code = command_option_value(command, "summary") ? show_summary(command, view, &wanted, &missing)
                                                    : show_all(command, view, &wanted, &missing);
    const enum exit_code partial = missing_end(&missing);
    return partial == EXIT_DONE ? code : partial;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct esp_node *)a)->name, ((const struct esp_node *)b)->name);
}

static enum exit_code show(const struct command_line *command)
{
    struct view view;
    enum exit_code code = view_open(command, &view);
    if (code != EXIT_DONE)
        return code;
    if (view.n)
        qsort(view.nodes, view.n, sizeof *view.nodes, by_name);
    code = show_wanted(command, &view);
    view_close(&view);
    return code;
}

enum exit_code verb_weather(const struct command_line *command)
{
    struct wanted wanted;
    enum exit_code code = read_wanted(command, &wanted);
    if (code == EXIT_DONE)
        code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    code = command_option_value(command, "watch") ? command_watch(command, show)
                                                  : (session_within(command, code), show(command));
    grpc_finalize();
    return code;
}
