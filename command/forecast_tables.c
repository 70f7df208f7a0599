/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/forecast_tables.h"
#include "command/table.h"
#include "util/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a forecast stands on: in a column, and what that means. */
static const struct ground {
    const char *word, *text;
} grounds[] = {{"not measured", "work over speed ('espalier calibrate' makes it better)"},
               {"measured", ""},
               {"extrapolated", "beyond what was measured"},
               {"like others", "measured with other options"},
               {"by calls", "what calls took there, or on other servers"}};
#define GROUNDS (sizeof grounds / sizeof *grounds)

static const struct ground *ground_of(const struct fast_server *server)
{
    static const struct ground unknown = {"", ""};
    return (size_t)server->ground < GROUNDS ? &grounds[server->ground] : &unknown;
}

/* Over links of which no transfers of many bytes from here have told, so that it matters to what the call
 * takes. */
static bool is_rough(const struct fast_server *server)
{
    return !server->excluded && server->transfer_error_s > 0.4 * server->transfer_s &&
           server->transfer_error_s > server->total_s / 20;
}

static bool any_is_unknown(const struct fast_server *servers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!servers[i].excluded && servers[i].transfer_way == FAST_WAY_UNKNOWN)
            return true;
    return false;
}

static const char *transfer_text(const struct fast_server *server, char text[QUANTITY_TEXT])
{
    return server->transfer_way == FAST_WAY_UNKNOWN ? "?" : quantity_seconds(server->transfer_s, text);
}

static const char *way_text(const struct fast_server *server)
{
    static const char *const texts[] = {"not measured", "own link", "shortest path", "memory of this host"};
    const size_t way = (size_t)server->transfer_way;
    return way < sizeof texts / sizeof *texts ? texts[way] : "";
}

static bool any_is_rough(const struct fast_server *servers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_rough(&servers[i]))
            return true;
    return false;
}

static bool occurs(const struct fast_server *servers, size_t n, size_t ground)
{
    for (size_t i = 0; i < n; i++)
        if (!servers[i].excluded && (size_t)servers[i].ground == ground)
            return true;
    return false;
}

/* Where only workers compute, that need not be said. */
static bool any_on_ranks(const struct fast_server *servers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!servers[i].excluded && servers[i].by == FAST_BY_RANKS)
            return true;
    return false;
}

#define BY_TEXT 64
static const char *by_text(const struct fast_server *server, char text[BY_TEXT])
{
    if (server->by == FAST_BY_RANKS && server->grid_rows > 0)
        snprintf(text, BY_TEXT, "%u x %u ranks, blocks of %u", server->grid_rows, server->grid_cols,
                 server->grid_block);
    else
        snprintf(text, BY_TEXT, "%s",
                 server->by == FAST_BY_RANKS    ? "ranks"
                 : server->by == FAST_BY_WORKER ? "a worker"
                                                : "");
    return text;
}

static json_t *by_json(const struct fast_server *server)
{
    if (server->by == FAST_BY_RANKS && server->grid_rows > 0)
        return json_pack("{s:s, s:I, s:I, s:I}", "kind", "ranks", "rows", (json_int_t)server->grid_rows,
                         "cols", (json_int_t)server->grid_cols, "block", (json_int_t)server->grid_block);
    return json_pack("{s:s}", "kind", server->by == FAST_BY_RANKS ? "ranks" : "worker");
}

/* Who told it matters where several do. */
static bool has_several_agents(const struct fast_server *servers, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(servers[i].agent, servers[0].agent) != 0)
            return true;
    return false;
}

static void server_row(struct table *table, const struct fast_server *server, bool ranks, bool agents)
{
    char text[QUANTITY_TEXT], by[BY_TEXT];
    table_text_cell(table, server->server);
    table_cell(table, "%s", quantity_seconds(server->compute_s, text));
    table_cell(table, "%s", quantity_seconds(server->error_s, text));
    table_cell(table, "%s%s", is_rough(server) ? "~" : "", transfer_text(server, text));
    table_cell(table, "%s", quantity_seconds(server->queue_s, text));
    table_cell(table, "%s", quantity_seconds(server->total_s, text));
    table_cell(table, "%s", quantity_bytes(server->memory_bytes, text));
    table_cell(table, "%s", ground_of(server)->word);
    if (ranks)
        table_cell(table, "%s", by_text(server, by));
    if (agents)
        table_text_cell(table, server->agent);
}

/* In lines of their own: reasons are long. Those that cannot be reached are missing. */
static void print_excluded(const struct fast_server *servers, size_t n, bool agents)
{
    for (size_t i = 0; i < n; i++)
        if (servers[i].excluded && !servers[i].unreachable)
            printf("%s  excluded: %s%s%s%s\n", servers[i].server, servers[i].excluded,
                   agents && *servers[i].agent ? " (as told by " : "", agents ? servers[i].agent : "",
                   agents && *servers[i].agent ? ")" : "");
}

static enum exit_code print_servers(const struct fast_server *servers, size_t n)
{
    const char *headings[] = {"server", ">computing", ">±", ">transfers", ">queue",
                              ">total", ">memory",    "by", "agent",      "agent"};
    const bool agents = has_several_agents(servers, n), ranks = any_on_ranks(servers, n);
    struct table table;
    bool any = false;
    if (ranks)
        headings[8] = "computed by";
    table_init(&table, 8U + ranks + agents, headings);
    for (size_t i = 0; i < n; i++)
        if (!servers[i].excluded) {
            server_row(&table, &servers[i], ranks, agents);
            any = true;
        }
    if (any)
        table_print(&table, 0, stdout);
    for (size_t k = 0; k < GROUNDS; k++)
        if (*grounds[k].text && occurs(servers, n, k))
            printf("%s: %s\n", grounds[k].word, grounds[k].text);
    if (any_is_rough(servers, n))
        printf("~: may be off by half; calls from here with 256 kB and more will tell\n");
    if (any_is_unknown(servers, n))
        printf("?: no link there was measured; calls from here will tell\n");
    print_excluded(servers, n, agents);
    return command_flush();
}

static json_t *server_json(const struct fast_server *server)
{
    if (server->excluded)
        return json_pack("{s:s, s:s, s:s, s:b}", "server", server->server, "agent", server->agent, "excluded",
                         server->excluded, "unreachable", server->unreachable);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:s, s:s}", "server", server->server, "agent",
        server->agent, "address", server->address, "compute_s", server->compute_s, "error_s", server->error_s,
        "transfer_s", server->transfer_s, "transfer_error_s", server->transfer_error_s, "queue_s",
        server->queue_s, "total_s", server->total_s, "memory_bytes", (json_int_t)server->memory_bytes, "by",
        ground_of(server)->word, "transfer_by", way_text(server));
    if (server->by != FAST_BY_UNKNOWN)
        json_object_set_new(object, "computed_by", by_json(server));
    return object;
}

static enum exit_code print_json(const struct fast_server *servers, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, server_json(&servers[i]));
    return command_json(list);
}

/* ---- abstract problems ---- */

static bool any_step_on_ranks(const struct fast_step *steps, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!steps[i].why && steps[i].best.by == FAST_BY_RANKS)
            return true;
    return false;
}

static void step_row(struct table *table, const struct fast_step *step, bool ranks)
{
    char text[QUANTITY_TEXT], by[BY_TEXT];
    const double columns[] = {step->best.compute_s, step->best.error_s, step->best.transfer_s,
                              step->best.queue_s, step->best.total_s};
    table_cell(table, "%s", step->problem);
    table_cell(table, "%s", step->why ? "" : step->best.server);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        table_cell(table, "%s", step->why ? "" : quantity_seconds(columns[i], text));
    table_cell(table, "%s", step->why ? "unknown" : ground_of(&step->best)->word);
    table_cell(table, "%u", step->rule + 1);
    if (ranks)
        table_cell(table, "%s", step->why ? "" : by_text(&step->best, by));
}

/* Of several steps what all of them take, where that is known. */
static void print_rule(const struct fast_step *steps, size_t n)
{
    char text[QUANTITY_TEXT];
    double sum_s = 0;
    size_t i = 0;
    for (; i < n && steps[i].rule == steps[0].rule; i++)
        sum_s += steps[i].why ? HUGE_VAL : steps[i].best.total_s;
    printf("rule %u", steps[0].rule + 1);
    if (i > 1 && isfinite(sum_s))
        printf(" (in all %s)", quantity_seconds(sum_s, text));
    printf(": %s\n", steps[0].text);
}

/* Behind the table, as they are long: the rules, and why nothing is known of a step. */
static enum exit_code print_steps(const struct fast_step *steps, size_t n)
{
    static const char *const headings[] = {"problem", "server", ">computing", ">±",    ">transfers",
                                           ">queue",  ">total", "by",         ">rule", "computed by"};
    const bool ranks = any_step_on_ranks(steps, n);
    struct table table;
    table_init(&table, 9U + ranks, headings);
    for (size_t i = 0; i < n; i++)
        step_row(&table, &steps[i], ranks);
    table_print(&table, 0, stdout);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || steps[i].rule != steps[i - 1].rule)
            print_rule(&steps[i], n - i);
        if (steps[i].why)
            printf("unknown: %s\n", steps[i].why);
    }
    return command_flush();
}

static enum exit_code print_steps_json(const struct fast_step *steps, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *step =
            steps[i].why ? json_pack("{s:s}", "unknown", steps[i].why) : server_json(&steps[i].best);
        json_object_set_new(step, "rule", json_integer(steps[i].rule + 1));
        json_object_set_new(step, "problem", command_json_text(steps[i].problem));
        json_object_set_new(step, "text", command_json_text(steps[i].text));
        json_array_append_new(list, step);
    }
    return command_json(list);
}

/* Returns how many. */
static size_t names_of(const struct fast_server *servers, size_t n, const char **names)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (*servers[i].server != '(') /* all below an agent */
            names[found++] = servers[i].server;
    return found;
}

/* With the names that there are, as far as there is room. */
static enum exit_code no_server(const struct command_line *command, const char *name,
                                const struct fast_server *servers, size_t n)
{
    struct esp_error error;
    char list[sizeof error.text / 2] = "";
    const char **names = calloc(n + 1, sizeof *names);
    const size_t n_names = names ? names_of(servers, n, names) : 0;
    const char *closest = names_closest(name, names, n_names);
    size_t used = 0, listed = 0;
    for (; listed < n_names && used + strlen(names[listed]) + 32 < sizeof list; listed++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", listed ? ", " : "", names[listed]);
    if (listed < n_names)
        snprintf(list + used, sizeof list - used, " and %zu more", n_names - listed);
    error_set(&error, ESP_NO_SERVER, "--server: no agent knows a server named '%.64s'%s%s%s; there are: %s",
              name, closest ? "; did you mean '" : "", closest ? closest : "", closest ? "'?" : "",
              n_names ? list : "none");
    free(names);
    return command_fail(command, &error);
}

static bool is_named(const struct fast_server *servers, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(servers[i].server, name) == 0)
            return true;
    return false;
}

static void tell_unreachable(const struct command_line *command, const struct fast_server *servers, size_t n)
{
    struct esp_error text;
    for (size_t i = 0; i < n; i++)
        if (servers[i].unreachable) {
            error_set(&text, ESP_UNREACHABLE, "%s is left out: %s", servers[i].server, servers[i].excluded);
            command_complain(command->verb->name, text.text);
        }
}

enum exit_code forecast_show_servers(const struct command_line *command, const struct fast_server *servers,
                                     size_t n)
{
    const char *wanted = command_option_value(command, "server");
    bool any = false, whole = true;
    if (wanted && !is_named(servers, n, wanted))
        return no_server(command, wanted, servers, n);
    const enum exit_code code = command->json ? print_json(servers, n) : print_servers(servers, n);
    tell_unreachable(command, servers, n);
    for (size_t i = 0; i < n; i++) {
        any |= !servers[i].excluded;
        whole &= !servers[i].unreachable || (wanted && strcmp(servers[i].server, wanted) != 0);
    }
    return code == EXIT_DONE && !(any && whole) ? EXIT_UNREACHABLE : code;
}

enum exit_code forecast_show_steps(const struct command_line *command, const struct fast_step *steps,
                                   size_t n)
{
    return command->json ? print_steps_json(steps, n) : print_steps(steps, n);
}
