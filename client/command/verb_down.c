/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier down: ends what 'espalier up' started.
 */
#include "config.h"

#include "client/command/command.h"
#include "client/command/deploy.h"
#include "client/command/platform_state.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 10000

static size_t count_daemons(const struct platform_record *records, size_t n)
{
    size_t daemons = 0;
    for (size_t i = 0; i < n; i++)
        daemons += strcmp(records[i].kind, "load") != 0 && strcmp(records[i].kind, "host") != 0 &&
                   platform_record_runs(&records[i]);
    return daemons;
}

/* What was started on other machines. One that is not reached is told; what is here is stopped all the same.
 */
static enum exit_code stop_elsewhere(const struct command_line *command, const struct platform_state *state,
                                     const struct platform_record *records, size_t n)
{
    const struct deploy deploy = {.state = *state, .command = command_option_value(command, "command")};
    enum exit_code code = EXIT_DONE;
    struct esp_error error;
    for (size_t i = 0; i < n; i++)
        if (strcmp(records[i].kind, "host") == 0 && deploy_down(&deploy, records[i].name, &error) != ESP_OK)
            code = command_fail(command, &error);
    return code;
}

enum exit_code verb_down(const struct command_line *command)
{
    struct esp_error error = {0};
    struct platform_state state;
    struct platform_record *records = NULL;
    size_t n;
    const char *name = command->n_operands ? command->operands[0] : PLATFORM_DEFAULT_NAME;
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
    size_t daemons = count_daemons(records, n);
    enum exit_code others = stop_elsewhere(command, &state, records, n);
    unsigned killed = platform_stop(&state, records, n, PATIENCE_MS);
    free(records);
    if (!command_option_value(command, "keep"))
        platform_state_remove(&state);
    platform_state_release(&state);
    if (others != EXIT_DONE)
        return others;
    if (command->json)
        return command_json(json_pack("{s:s, s:I, s:I}", "platform", state.name, "stopped",
                                      (json_int_t)daemons, "killed", (json_int_t)killed));
    printf("Platform '%s' is down: %zu daemons stopped", state.name, daemons);
    if (killed)
        printf(", %u processes had to be killed", killed);
    puts("");
    return command_flush();
}
