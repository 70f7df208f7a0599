/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/command/forecast_tables.h"
#include "client/command/table.h"

#include <string.h>

static const char *ground_text(const struct fast_server *server)
{
    static const char *const texts[] = {"not measured: work over speed", "measured",
                                        "extrapolated beyond what was measured",
                                        "measured with other options"};
    return server->excluded                                        ? server->excluded
           : (size_t)server->ground < sizeof texts / sizeof *texts ? texts[server->ground]
                                                                   : "";
}

/* Who told it matters where several do. */
static bool has_several_agents(const struct fast_server *servers, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(servers[i].agent, servers[0].agent) != 0)
            return true;
    return false;
}

static enum exit_code print_servers(const struct fast_server *servers, size_t n)
{
    static const char *const headings[] = {"server", ">computation", ">\302\261", ">transfers", ">queue",
                                           ">total", ">memory",      "by",        "agent"};
    const bool agents = has_several_agents(servers, n);
    struct table table;
    char text[6][QUANTITY_TEXT];
    table_init(&table, agents ? 9 : 8, headings);
    for (size_t i = 0; i < n; i++) {
        const struct fast_server *server = &servers[i];
        table_cell(&table, "%s", server->server);
        if (server->excluded) {
            for (int k = 0; k < 6; k++)
                table_cell(&table, "%s", "");
            table_cell(&table, "excluded: %s", server->excluded);
            if (agents)
                table_cell(&table, "%s", server->agent);
            continue;
        }
        table_cell(&table, "%s", quantity_seconds(server->compute_s, text[0]));
        table_cell(&table, "%s", quantity_seconds(server->error_s, text[1]));
        table_cell(&table, "%s", quantity_seconds(server->transfer_s, text[2]));
        table_cell(&table, "%s", quantity_seconds(server->queue_s, text[3]));
        table_cell(&table, "%s", quantity_seconds(server->total_s, text[4]));
        table_cell(&table, "%s", quantity_bytes(server->memory_bytes, text[5]));
        table_cell(&table, "%s", ground_text(server));
        if (agents)
            table_cell(&table, "%s", server->agent);
    }
    table_print(&table, 0, stdout);
    return command_flush();
}

static json_t *server_json(const struct fast_server *server)
{
    if (server->excluded)
        return json_pack("{s:s, s:s, s:s}", "server", server->server, "agent", server->agent, "excluded",
                         server->excluded);
    return json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:s}", "server", server->server, "agent",
                     server->agent, "address", server->address, "compute_s", server->compute_s, "error_s",
                     server->error_s, "transfer_s", server->transfer_s, "queue_s", server->queue_s, "total_s",
                     server->total_s, "memory_bytes", (json_int_t)server->memory_bytes, "by",
                     ground_text(server));
}

static enum exit_code print_json(const struct fast_server *servers, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, server_json(&servers[i]));
    return command_json(list);
}

/* ---- abstract problems ---- */

static void step_row(struct table *table, const struct fast_step *step, bool first)
{
    char text[QUANTITY_TEXT];
    const double columns[] = {step->best.compute_s, step->best.error_s, step->best.transfer_s,
                              step->best.queue_s, step->best.total_s};
    table_cell(table, "%s", step->problem);
    table_cell(table, "%s", step->why ? "" : step->best.server);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        table_cell(table, "%s", step->why ? "" : quantity_seconds(columns[i], text));
    table_cell(table, "%s", step->why ? step->why : ground_text(&step->best));
    table_cell(table, "%s", first ? step->text : "");
}

static enum exit_code print_steps(const struct fast_step *steps, size_t n)
{
    static const char *const headings[] = {"problem", "server", ">computation", ">\302\261", ">transfers",
                                           ">queue",  ">total", "by",           "rule"};
    struct table table;
    table_init(&table, 9, headings);
    for (size_t i = 0; i < n; i++)
        step_row(&table, &steps[i], i == 0 || steps[i].rule != steps[i - 1].rule);
    table_print(&table, 0, stdout);
    return command_flush();
}

static enum exit_code print_steps_json(const struct fast_step *steps, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *step =
            steps[i].why ? json_pack("{s:s}", "unknown", steps[i].why) : server_json(&steps[i].best);
        json_object_set_new(step, "rule", json_integer(steps[i].rule + 1));
        json_object_set_new(step, "problem", json_string(steps[i].problem));
        json_object_set_new(step, "text", json_string(steps[i].text));
        json_array_append_new(list, step);
    }
    return command_json(list);
}

enum exit_code forecast_show_servers(const struct command_line *command, const struct fast_server *servers,
                                     size_t n)
{
    return command->json ? print_json(servers, n) : print_servers(servers, n);
}

enum exit_code forecast_show_steps(const struct command_line *command, const struct fast_step *steps,
                                   size_t n)
{
    return command->json ? print_steps_json(steps, n) : print_steps(steps, n);
}
