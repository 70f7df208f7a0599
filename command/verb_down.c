/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier down: ends what 'espalier up' started.
 */
#include "config.h"

#include "command/admin.h"
#include "command/verbs.h"
#include "command/elsewhere.h"
#include "command/platform_state.h"
#include "command/session.h"

#include <grpc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 10000
#define ASK_S       3 /* for one answer to the question what would be lost */

static size_t count_daemons(const struct platform_record *records, size_t n)
{
    size_t daemons = 0;
    for (size_t i = 0; i < n; i++)
        daemons += strcmp(records[i].kind, "load") != 0 && strcmp(records[i].kind, "host") != 0 &&
                   platform_record_runs(&records[i]);
    return daemons;
}

/* ---- what would be lost ---- */

static bool runs(const struct platform_record *records, size_t n, const char *kind, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(records[i].kind, kind) == 0 && (!name || strcmp(records[i].name, name) == 0) &&
            (strcmp(kind, "host") == 0 || platform_record_runs(&records[i])))
            return true;
    return false;
}

/* Whether its servers, here and elsewhere, say that something would be lost, which is printed then. Who does
 * not answer is stopped all the same: it may be why the platform is to go. */
static enum exit_code ask_servers(const struct command_line *command, const struct platform_record *records,
                                  size_t n)
{
    struct orders orders = {.command = command};
    enum exit_code code = EXIT_DONE;
    if (esp_tree(NULL, &orders.view.nodes, &orders.view.n) != ESP_OK)
        return EXIT_DONE;
    for (size_t i = 0; i < orders.view.n && code == EXIT_DONE; i++) {
        const struct esp_node *node = &orders.view.nodes[i];
        if (!node->unreachable && (runs(records, n, "server", node->name) || runs(records, n, "host", NULL)))
            code = command_option_value(command, "keep") ? orders_spare(&orders, node, false)
                                                         : orders_spare_folder(&orders, node);
    }
    view_close(&orders.view);
    return code;
}

static enum exit_code spare_results(const struct command_line *command, const struct platform_state *state,
                                    const struct platform_record *records, size_t n)
{
    char path[PATH_MAX];
    const struct esp_options options = {.config = path, .call_timeout_s = ASK_S};
    snprintf(path, sizeof path, "%s/client.conf", state->dir);
    if (command_option_value(command, "force") || !runs(records, n, "master", NULL) ||
        esp_initialize(&options) != ESP_OK)
        return EXIT_DONE;
    const enum exit_code code = ask_servers(command, records, n);
    grpc_finalize();
    return code;
}

/* ---- all of it ---- */

static enum exit_code report(const struct command_line *command, const struct platform_state *state,
                             size_t daemons, unsigned killed)
{
    if (command->json)
        return command_json(json_pack("{s:s, s:I, s:I}", "platform", state->name, "stopped",
                                      (json_int_t)daemons, "killed", (json_int_t)killed));
    printf("Platform '%s' is down: %zu daemons stopped", state->name, daemons);
    if (killed)
        printf(", %u processes had to be killed", killed);
    puts("");
    return command_flush();
}

enum exit_code verb_down(const struct command_line *command)
{
    struct esp_error error = {0};
    struct elsewhere elsewhere = {.n = 0};
    bool again;
    struct platform_state state;
    struct platform_record *records = NULL;
    size_t n;
    const char *name = command->n_operands ? command->operands[0] : PLATFORM_DEFAULT_NAME;
    if (session_timeout(command, &elsewhere.timeout_s, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    if (elsewhere.timeout_s <= 0)
        elsewhere.timeout_s = DEPLOY_REMOTE_S;
    enum esp_status status = platform_state_acquire(name, false, &state, &error);
    if (status == ESP_NOT_FOUND) { /* not an input file: there is nothing to stop */
        command_fail(command, &error);
        return EXIT_FAILED;
    }
    if (status != ESP_OK)
        return command_fail(command, &error);
    if (platform_record_list(&state, &records, &n, &error) != ESP_OK) {
        platform_state_release(&state);
        return command_fail(command, &error);
    }
    enum exit_code others = spare_results(command, &state, records, n);
    if (others != EXIT_DONE) {
        free(records);
        platform_state_release(&state);
        return others;
    }
    const size_t daemons = count_daemons(records, n);
    elsewhere.deploy = (struct deploy){.state = state, .command = command_option_value(command, "command")};
    elsewhere_stop(&elsewhere, records, n);
    const unsigned killed = platform_stop(&state, records, n, PATIENCE_MS);
    others = elsewhere_await(&elsewhere, command, &again);
    free(records);
    if (!again && !command_option_value(command, "keep"))
        platform_state_remove(&state);
    platform_state_release(&state);
    return others == EXIT_DONE ? report(command, &state, daemons, killed) : others;
}
